"""A tiny causal language model, a tokenizer made of a word list, and its losses by hand."""

import numpy as np
import torch
from datasets import Dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEXTS, WORDS = 45, 30


def tokenizer():
    words = {"<pad>": 0, "<eos>": 1, "<unk>": 2} | {f"w{i}": i + 3 for i in range(WORDS)}
    model = Tokenizer(WordLevel(words, unk_token="<unk>"))
    model.pre_tokenizer = Whitespace()
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=model, **special)


def llama(seed=0):
    torch.manual_seed(seed)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "vocab_size": WORDS + 3}
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 64}
    return LlamaForCausalLM(LlamaConfig(**sizes, **layers, pad_token_id=0, eos_token_id=1))


def texts():
    """Texts of 3 to 12 words."""
    rng = np.random.default_rng(0)
    rows = [rng.integers(WORDS, size=rng.integers(3, 13)) for _ in range(TEXTS)]
    return Dataset.from_dict({"text": [" ".join(f"w{i}" for i in row) for row in rows]})


@torch.no_grad()
def losses_by_hand(model, rows, first_target=1):
    """Mean loss of each row's tokens from `first_target` on; one row at a time, without padding."""
    model.eval()
    losses = []
    for row in rows:
        logits = model(torch.tensor([row])).logits[0].double().log_softmax(1)
        tokens = range(first_target, len(row))
        losses.append(np.mean([-logits[t - 1, row[t]].item() for t in tokens]))
    return np.array(losses)
