"""Transformers and TRL: record what a model believes of each sample, while a Trainer trains it.

The samples get their ids before the trainer is built; the trainer stays as it is::

    trainer = Trainer(model, args, train_dataset=with_ids(train))  # or trl's SFTTrainer
    watch(trainer, "run")
    trainer.train()
"""

from dualprune.errors import needing

with needing("hf"):
    from dualprune.integrations.transformers.ids import with_ids
    from dualprune.integrations.transformers.pruning import prune_dynamically
    from dualprune.integrations.transformers.watching import watch

__all__ = ["prune_dynamically", "watch", "with_ids"]
