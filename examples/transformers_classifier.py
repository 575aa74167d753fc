"""Transformers: two lines record what a Trainer does, here with a tiny BERT on made-up sentences.

    python examples/transformers_classifier.py [EPOCHS]

Learn that the trainer needs only ids in its data and one call of `watch`. The sentences are
about cats or dogs; every tenth one is about both and can be labelled either way.
`transformers_classifier.png` shows that DUAL finds these. No model is downloaded.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

import dualprune
from dualprune import Run, score
from dualprune.integrations.transformers import watch, with_ids
from dualprune.report.figures import draw_moons

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
samples, length, words = 400, 8, 60
rng = np.random.default_rng(0)
labels = rng.integers(2, size=samples)
tokens = rng.integers(2, words, size=(samples, length))
tokens[:, 0] = labels  # word 0 is "cat", word 1 is "dog"
both = np.arange(samples) % 10 == 0
tokens[both, :2] = [0, 1]
train = Dataset.from_dict({"input_ids": tokens.tolist(), "label": labels.tolist()})

torch.manual_seed(0)
size = {"hidden_size": 32, "intermediate_size": 64, "vocab_size": words}
layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": length}
model = BertForSequenceClassification(BertConfig(**size, **layers))
args = TrainingArguments(
    "transformers_classifier/trainer",
    num_train_epochs=epochs,
    per_device_train_batch_size=32,
    learning_rate=2e-3,
    use_cpu=True,
    dataloader_pin_memory=False,
    save_strategy="no",
    report_to="none",
    disable_tqdm=True,
)
trainer = Trainer(model, args, train_dataset=with_ids(train))
watch(trainer, "transformers_classifier/run")
trainer.train()

coreset = dualprune.choose("transformers_classifier/run", "dual", keep=0.1)
print(f"{both[coreset.ids].mean():.0%} of the samples kept by DUAL are about both")
p = Run("transformers_classifier/run")["target_prob"]
panels = {"about both (red)": both, "10 % kept by DUAL (red)": coreset.mask}
draw_moons(Path("transformers_classifier.png"), score.variability(p), score.confidence(p), panels)
