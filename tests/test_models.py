"""Models by name, and recipes as they were published."""

import numpy as np
import pytest
import torch

from dualprune.data import in_memory
from dualprune.errors import InputError
from dualprune.train import MODELS, Setup, recipes
from dualprune.train.models import build
from dualprune.train.recipe import find_recipe


def parameters(model):
    return sum(each.numel() for each in model.parameters())


# Models


@pytest.mark.parametrize("name", MODELS["images"])
def test_logits_are_the_head_of_the_features(name):
    for channels, size in ((1, {"vgg16": 32, "cnn-wide": 12}.get(name, 8)), (3, 65)):
        model = build(name, "images", classes=7, shape=(channels, size))
        images = torch.randn(3, channels, size, size)
        assert model(images).isfinite().all(), "with the statistics of the batch"
        with torch.no_grad():
            features, logits = model.eval().features(images), model(images)
        assert features.shape == (3, model.head.in_features)
        assert logits.shape == (3, 7)
        torch.testing.assert_close(logits, model.head(features))


def test_weights_depend_on_the_seed_alone():
    images = in_memory(np.zeros((20, 32, 32, 3), np.uint8), np.arange(20) % 2, ("a", "b"))
    setup = Setup.of(images, None, model="resnet8")
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, other = setup.fresh_model(1).state_dict(), setup.fresh_model(2).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(6)
    for key, value in setup.fresh_model(1).state_dict().items():
        assert torch.equal(value, first[key]), key
    assert not torch.equal(first["head.weight"], other["head.weight"])


def test_the_cnn_has_the_parameters_counted_by_hand():
    for name, (a, b, c) in (("cnn", (32, 64, 128)), ("cnn-small", (16, 32, 64))):
        convolutions, normalisations = 9 * (3 * a + a * b + b * c), 2 * (a + b + c)
        model = build(name, "images", classes=10, shape=(3, 32))
        assert parameters(model) == convolutions + normalisations + 10 * c + 10


def test_the_three_layers_of_the_paper_have_as_many_weights_as_in_its_code():
    model = build("cnn-wide", "images", classes=100, shape=(3, 32))
    assert parameters(model) == 6_014_820
    assert not any("Norm" in type(each).__name__ for each in model.modules())
    with torch.no_grad():
        assert model.body(torch.zeros(1, 3, 32, 32)).shape == (1, 1024, 11, 11)
        assert model.body(torch.zeros(1, 3, 12, 12)).shape == (1, 1024, 1, 1)
    with pytest.raises(InputError, match="cnn-wide needs images of 12 pixels or more, got 11"):
        build("cnn-wide", "images", classes=100, shape=(3, 11))


def test_logits_are_computed_in_float32_where_the_body_is_not():
    model = build("resnet8", "images", classes=7, shape=(3, 8)).eval()
    images = torch.randn(5, 3, 8, 8)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert model.body(images).dtype == torch.bfloat16
        logits, features = model(images), model.last_features
    assert logits.dtype == features.dtype == torch.float32
    assert torch.equal(logits, model.head(features))
    assert not torch.equal(logits, logits.bfloat16().float()), "nothing is rounded after the body"


@pytest.mark.parametrize(
    ("name", "count"),
    [("resnet18", 11_689_512), ("resnet34", 21_797_672), ("resnet50", 25_557_032)],
)
def test_residual_networks_for_large_images_have_the_parameters_of_torchvision(name, count):
    assert parameters(build(name, "images", classes=1000, shape=(3, 224))) == count


def test_the_stem_halves_twice_above_64_pixels_only():
    for size, left in ((32, 4), (64, 8), (65, 3), (224, 7)):
        body = build("resnet18", "images", classes=2, shape=(3, size)).body.eval()
        with torch.no_grad():
            assert body(torch.zeros(1, 3, size, size)).shape == (1, 512, left, left)


def test_an_unknown_model_is_answered_with_the_known_ones():
    with pytest.raises(InputError, match="'resnet19'") as told:
        build("resnet19", "images", classes=2, shape=(1, 8))
    assert all(name in str(told.value) for name in MODELS["images"])


# Recipes

CIFAR = {"model": "resnet18", "epochs": 200, "record": 30, "batch": 128, "weight_decay": 5e-4}
CIFAR |= {"nesterov": True, "lr_end": 0.0, "iterations": None}
TINY = {"model": "resnet34", "epochs": 90, "record": 60, "batch": 256, "weight_decay": 1e-4}
PUBLISHED = {  # Cho et al., 2025, appendix A.2
    "cifar10": CIFAR | {"select": {"c_d": 5.5}},
    "cifar100": CIFAR | {"select": {"c_d": 4.0}},
    "cifar100-noise": CIFAR | {"record": 50, "select": {"c_d": 6.0}},
    "cifar100-noise40": CIFAR | {"record": 50, "select": {"c_d": 8.0}},
    "cifar100-corruption": CIFAR | {"select": {"c_d": 6.0}},
    "tiny-imagenet-noise": TINY | {"select": {"c_d": 6.0}, "iterations": None},
    "tiny-imagenet-corruption": TINY | {"select": {"c_d": 2.0}, "iterations": None},
    "imagenet": TINY
    | {"select": {"c_d": 11.0}, "iterations": 300_000, "nesterov": False, "lr_end": 1e-4},
}


def test_published_recipes_are_what_the_paper_says():
    assert {name for name, recipe in recipes().items() if recipe.published} == set(PUBLISHED)
    for name, settings in PUBLISHED.items():
        recipe = recipes()[name]
        said = settings | {"momentum": 0.9, "lr": 0.1, "crop": 4 / 32, "flip": True}
        assert {key: getattr(recipe, key) for key in said} == said, name
        batches = [recipe.batch_for(pruned) for pruned in (0.3, 0.5, 0.7, 0.8, 0.9)]
        smaller = [128, 128, 128, 64, 32] if name.startswith("cifar") else [256] * 5
        assert batches == smaller, name
        assert recipe.batch_for(0.0) == recipe.batch


def test_passes_count_epochs_or_iterations():
    known = recipes()
    assert known["cifar10"].passes(15_000, 50_000) == pytest.approx(60)
    every = [known["imagenet"].passes(kept, 1_281_167) for kept in (128_117, 1_281_167)]
    assert every == pytest.approx([300_000 * 256 / 1_281_167] * 2)


def test_auto_takes_what_the_machine_can_train():
    chosen = {
        (data, gpu): find_recipe("auto", data, gpu=gpu).name
        for data in ("cifar10", "imagenet", "digits", "fashion-mnist", "/some/folder")
        for gpu in (True, False)
    }
    own = {("cifar10", True): "cifar10", ("imagenet", True): "imagenet"}
    own |= {("digits", True): "digits", ("digits", False): "digits"}
    assert chosen == {key: own.get(key, "small") for key in chosen}
    assert find_recipe("cifar10", "digits", gpu=False).name == "cifar10"


def test_an_unknown_recipe_is_answered_with_the_known_ones():
    with pytest.raises(InputError, match="'cifar'; choose auto") as told:
        find_recipe("cifar", "cifar10", gpu=True)
    assert all(name in str(told.value) for name in recipes())
