"""Models of texts and tables: what they compute, and that they learn what can be learnt."""

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch.nn.functional import cross_entropy

from dualprune.data.tables import table_from
from dualprune.data.texts import texts_from
from dualprune.train.models.bag import bag
from dualprune.train.models.mlp import mlp

ROWS = 600


def texts_world():
    """The class is a pair of words: the same words in another order are the other class."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, ROWS)
    filler = [" ".join(draw.choice(["the", "a", "of", "in", "it"], 6)) for _ in range(ROWS)]
    words = np.array(["red not blue", "blue not red"])[labels]
    texts = [f"{before}, {word}" for before, word in zip(filler, words, strict=True)]
    return texts_from(pa.table({"text": texts, "label": labels}), text="text", label="label")


def table_world():
    """Exclusive or of the sign of a number and a category: no linear model knows it."""
    draw = np.random.default_rng(0)
    x, kind = draw.normal(size=ROWS), draw.integers(0, 2, ROWS)
    labels = (x > 0) ^ (kind == 1)
    columns = {"x": x, "kind": np.array(["a", "b"])[kind], "noise": draw.normal(size=ROWS)}
    return table_from(pa.table({**columns, "label": labels}), label="label")


WORLDS = [(texts_world, bag, 2e-2), (table_world, mlp, 1e-2)]


@pytest.mark.parametrize(("world", "model", "lr"), WORLDS)
def test_a_world_with_a_known_answer_is_learnt(world, model, lr):
    data = world()
    torch.manual_seed(0)
    net = model(2, *data.shape)
    optimizer = torch.optim.AdamW(net.parameters(), lr=lr)
    labels, train, test = torch.from_numpy(data.labels), np.arange(400), np.arange(400, ROWS)
    for _ in range(30):
        for ids in np.array_split(train, 8):
            optimizer.zero_grad()
            loss = cross_entropy(net(torch.from_numpy(data.batch(ids))), labels[ids])
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        correct = net.eval()(torch.from_numpy(data.batch(test))).argmax(1) == labels[test]
    assert correct.float().mean() > 0.9  # by chance 0.5


@pytest.mark.parametrize(("world", "model", "lr"), WORLDS)
def test_logits_are_the_head_of_the_features(world, model, lr):
    data = world()
    net = model(3, *data.shape)
    inputs = torch.from_numpy(data.batch(np.arange(5)))
    logits = net(inputs)
    assert logits.shape == (5, 3)
    assert net.last_features.shape == (5, net.head.in_features)
    torch.testing.assert_close(logits, net.head(net.features(inputs)))
    torch.testing.assert_close(net.last_features, net.features(inputs).detach())


@pytest.mark.parametrize(("world", "model", "lr"), WORLDS)
def test_a_sample_does_not_depend_on_its_batch(world, model, lr):
    """So a batch may have one sample, and padding to its longest changes nothing."""
    data = world()
    net = model(2, *data.shape)
    together = net(torch.from_numpy(data.batch(np.arange(20))))
    alone = [net(torch.from_numpy(data.batch(np.array([i])))) for i in range(20)]
    torch.testing.assert_close(torch.cat(alone), together)


def test_padding_has_no_weight_and_learns_nothing():
    net = bag(2, 10)
    short, long = torch.tensor([[3, 4]]), torch.tensor([[3, 4, 0, 0, 0]])
    torch.testing.assert_close(net(short), net(long))
    torch.testing.assert_close(net(torch.tensor([[3, 3, 4, 4]])), net(short))  # no sum
    cross_entropy(net(long), torch.tensor([1])).backward()
    gradient = net.body.weight.grad.abs().sum(1)
    assert gradient.nonzero().flatten().tolist() == [3, 4]
    nothing = net.features(torch.zeros(1, 4, dtype=torch.int32))
    assert nothing.abs().max() == 0, "a text without n-grams"
