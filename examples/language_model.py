"""A language model: garbage among its texts is not kept, if the recording ends in time.

    python examples/language_model.py [EPOCHS]

Learn that a recording needs no classes, and when it has to end. A fifth of 300 texts are random
words; the others follow a rule that a tiny Llama learns. With the first ten epochs, DUAL+beta keeps
no garbage up to a share of 80 % kept. By epoch 20 the model has begun to memorise garbage, which
then looks hard instead of hopeless: from 40 % kept on, DUAL+beta keeps more of it than a random
choice does (`language_model.png`).
"""

import sys

import numpy as np
import torch
from datasets import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

import dualprune
from dualprune.integrations.transformers import watch, with_ids
from dualprune.report.figures import figure

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
texts, length, words = 300, 16, 50
rng = np.random.default_rng(0)
step, first = rng.integers(1, 4, size=(texts, 1)), rng.integers(words, size=(texts, 1))
tokens = (first + step * np.arange(length)) % words  # in steps of 1, 2 or 3
garbage = np.arange(texts) % 5 == 0
tokens[garbage] = rng.integers(words, size=(garbage.sum(), length))
train = Dataset.from_dict({"input_ids": tokens.tolist(), "labels": tokens.tolist()})

torch.manual_seed(0)
size = {"hidden_size": 32, "intermediate_size": 64, "vocab_size": words}
layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": length}
model = LlamaForCausalLM(LlamaConfig(**size, **layers, pad_token_id=0))
args = TrainingArguments(
    "language_model/trainer",
    num_train_epochs=epochs,
    per_device_train_batch_size=16,
    learning_rate=5e-3,
    use_cpu=True,
    dataloader_pin_memory=False,
    save_strategy="no",
    report_to="none",
    disable_tqdm=True,
)
trainer = Trainer(model, args, train_dataset=with_ids(train))
watch(trainer, "language_model/run")
trainer.train()

run, shares = "language_model/run", np.linspace(0.1, 0.9, 9)
axes = (canvas := figure(6, 4)).subplots()
for method, first in (("dual+beta", epochs), ("dual+beta", epochs // 2), ("random", epochs)):
    kept = [dualprune.choose(run, method, keep=float(k), epochs=first) for k in shares]
    found = [garbage[coreset.ids].mean() for coreset in kept]
    axes.plot(shares, found, label=f"{method}, first {first} epochs")
axes.set(xlabel="share kept", ylabel="share of garbage in it", ylim=(-0.01, 0.6))
axes.legend(loc="upper left")
canvas.savefig("language_model.png")
