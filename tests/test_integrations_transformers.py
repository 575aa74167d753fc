"""watch() in real trainings with Transformers and TRL: killed, resumed, in two processes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")
pytest.importorskip("trl")

from datasets import Dataset, concatenate_datasets
from torch.utils.data import DataLoader
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainerCallback,
)
from trl import SFTConfig, SFTTrainer

from dualprune import Indexed, Method, Run, choose
from dualprune.errors import InputError
from dualprune.integrations.torch import PrunedSampler
from dualprune.integrations.transformers import watch, with_ids

from .language import TEXTS, llama, losses_by_hand, texts, tokenizer
from .test_torchrun import check_run
from .torchrun_job import CLASSES, labels_of, logits_of
from .transformers_job import (
    SAMPLES,
    STEPS,
    Model,
    arguments,
    data,
    fit,
    infobatch,
    make_trainer,
    pruned,
)


def first_epochs(path):
    files = sorted(path.glob("attempts/*/start.json"))
    return [json.loads(file.read_text())["first_epoch"] for file in files]


def check_finite(path, *counts):
    assert np.isfinite(Run(path)["loss"]).sum(axis=1).tolist() == list(counts)


# ---------------------------------------------------------------------------- classification


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"train": Indexed([{"input_ids": [i], "labels": labels_of(i)} for i in range(SAMPLES)])},
        {"gradient_accumulation_steps": 3, "steps": 5},
        {"bf16": True},
        {"label_smoothing_factor": 0.1},
        {"dataloader_num_workers": 2},
        {"eval_strategy": "steps", "eval_steps": 5},
        {"train_sampling_strategy": "group_by_length"},
    ],
    ids=lambda options: next(iter(options), "plain"),
)
def test_a_classifier_is_recorded(tmp_path, options):
    fit(tmp_path / "run", tmp_path, **options)
    check_run(tmp_path / "run", SAMPLES, 3)


def test_a_trainer_that_computes_its_own_loss(tmp_path):
    class Own(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            labels = inputs.pop("labels")
            return torch.nn.functional.cross_entropy(model(**inputs).logits, labels)

    trainer = make_trainer(tmp_path)
    trainer.__class__ = Own
    watch(trainer, tmp_path / "run", strict=True)
    trainer.train()
    check_run(tmp_path / "run", SAMPLES, 3)


def test_ids_are_of_the_dataset_that_got_them(tmp_path):
    """A part of the data, in another order, as after a filter and a shuffle."""
    part = with_ids(data()).select(range(150)).shuffle(seed=0).select(range(60))
    fit(tmp_path / "run", tmp_path, train=part, recording={"samples": SAMPLES}, num_train_epochs=1)
    run, ids = Run(tmp_path / "run"), sorted(part["sample_id"])
    assert run.samples == SAMPLES
    assert np.flatnonzero(np.isfinite(run["loss"][0])).tolist() == ids


def test_afterwards_the_model_and_evaluation_are_as_before(tmp_path):
    trainer = fit(tmp_path / "run", tmp_path)
    model = trainer.model
    assert not {**model._forward_hooks, **model._forward_pre_hooks}
    expected = torch.nn.functional.cross_entropy(
        logits_of(torch.arange(SAMPLES), 3), labels_of(torch.arange(SAMPLES))
    )
    assert trainer.evaluate()["eval_loss"] == pytest.approx(expected.item(), rel=1e-5)
    assert Run(tmp_path / "run").epochs == 3


def bert(**options):
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "vocab_size": SAMPLES}
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "num_labels": CLASSES}
    return BertForSequenceClassification(BertConfig(**sizes, **layers, **options))


def test_recording_does_not_change_a_training(tmp_path):
    """With dropout, so that the state of the random generator matters."""

    def train(**recording):
        trainer = make_trainer(tmp_path, model=bert(), learning_rate=1e-3, num_train_epochs=2)
        if recording:
            watch(trainer, tmp_path / "run", strict=True, **recording)
        trainer.train()
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        return trainer.model.state_dict()

    plain, recorded, passed = train(), train(signals=["loss"]), train(eval_steps=4)
    for name, weights in plain.items():
        assert torch.equal(weights, recorded[name])
        assert torch.equal(weights, passed[name])


# ---------------------------------------------------------------------------- language models


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"label_smoothing_factor": 0.1},
        {"gradient_checkpointing": True},
        {"gradient_accumulation_steps": 2},
    ],
    ids=lambda options: next(iter(options), "plain"),
)
def test_a_language_model_is_recorded_by_its_mean_token_losses(tmp_path, options):
    words, model = tokenizer(), llama()
    trainer = Trainer(
        model,
        arguments(tmp_path, num_train_epochs=2, **options),
        train_dataset=with_ids(texts()).map(lambda row: words(row["text"])),
        data_collator=DataCollatorForLanguageModeling(words, mlm=False),
    )
    watch(trainer, tmp_path / "run", strict=True)
    trainer.train()
    run = Run(tmp_path / "run")
    by_hand = losses_by_hand(model, [words(text)["input_ids"] for text in texts()["text"]])
    np.testing.assert_allclose(run["loss"], [by_hand] * 2, rtol=1e-5)
    assert run.classes is None
    method = Method("dual", "beta", score_knobs={"window": 2})
    assert len(choose(run, method, keep=0.2).ids) == TEXTS // 5


def sft(folder, train, eval_dataset=None, **options):
    here = {"report_to": "none", "disable_tqdm": True, "use_cpu": True, "bf16": False}
    here |= {"dataloader_pin_memory": False, "gradient_checkpointing": False}
    here |= {"save_strategy": "no", "logging_strategy": "no", "num_train_epochs": 2}
    args = SFTConfig(folder, **{**here, "learning_rate": 0.0, **options})
    return SFTTrainer(
        llama(), args, train_dataset=train, eval_dataset=eval_dataset, processing_class=tokenizer()
    )


@pytest.mark.filterwarnings("ignore:`label_smoothing_factor` is deprecated:FutureWarning")
@pytest.mark.parametrize(
    "options",
    [
        {"shuffle_dataset": True},
        {"label_smoothing_factor": 0.1},
        {"gradient_checkpointing": True},
        {"gradient_accumulation_steps": 2, "dataloader_num_workers": 2},
        {"eval_strategy": "steps", "eval_steps": 2},
        {"loss_type": "dft"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_an_unmodified_sft_trainer_is_recorded(tmp_path, options):
    trainer = sft(tmp_path, with_ids(texts()), with_ids(texts()), **options)
    watch(trainer, tmp_path / "run", strict=True)
    trainer.train()
    words = tokenizer()
    rows = [[*words(text)["input_ids"], words.eos_token_id] for text in texts()["text"]]
    run, by_hand = Run(tmp_path / "run"), losses_by_hand(trainer.model, rows)
    np.testing.assert_allclose(run["loss"], [by_hand] * 2, rtol=1e-5)
    assert [parts[0].facts["duplicates"] for parts in run._epochs] == [0, 0]


@pytest.mark.parametrize("recording", [{}, {"eval_steps": [3, 7]}], ids=["training", "passes"])
def test_the_loss_of_a_completion_is_that_of_its_tokens_alone(tmp_path, recording):
    rows = [text.split() for text in texts()["text"]]
    prompts = [" ".join(row[:2]) for row in rows]
    completions = [" ".join(["", *row[2:]]) for row in rows]
    split = Dataset.from_dict({"prompt": prompts, "completion": completions})
    trainer = sft(tmp_path, with_ids(split))
    watch(trainer, tmp_path / "run", strict=True, **recording)
    outputs = set()
    trainer.model.register_forward_hook(lambda *call: outputs.add(type(call[-1]).__name__))
    trainer.train()
    assert outputs == {"FusedCausalLMOutput"}  # never all logits
    words = tokenizer()
    rows = [words(" ".join(row))["input_ids"] + [words.eos_token_id] for row in rows]
    by_hand = losses_by_hand(trainer.model, rows, first_target=2)
    run = Run(tmp_path / "run")
    np.testing.assert_allclose(run["loss"], [by_hand] * 2, rtol=1e-5)
    assert run.steps == ([3, 7] if recording else [None, None])


# ---------------------------------------------------------------------------- resuming


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Four epochs with a checkpoint after every step."""
    folder = tmp_path_factory.mktemp("recorded")
    fit(folder / "run", folder, num_train_epochs=4, save_strategy="steps", save_steps=1)
    return folder


@pytest.mark.parametrize(
    ("step", "epoch"),
    [(1, 1), (STEPS + 7, 2), (2 * STEPS - 1, 2), (2 * STEPS, 3), (4 * STEPS, 5)],
    ids=["first step", "inside", "before the last step", "last step", "end of training"],
)
def test_resumed_where_people_store_checkpoints(recorded, tmp_path, step, epoch):
    shutil.copytree(recorded / "run", tmp_path / "run")
    checkpoint = str(recorded / f"checkpoint-{step}")
    fit(tmp_path / "run", tmp_path, resume=checkpoint, num_train_epochs=5)
    assert first_epochs(tmp_path / "run") == [1, epoch]
    if epoch > 1:
        check_run(tmp_path / "run", SAMPLES, 5)
    else:  # which begins the run again
        check_finite(tmp_path / "run", SAMPLES - 16, *[SAMPLES] * 4)


def test_resumed_after_the_end_nothing_changes(recorded, tmp_path):
    shutil.copytree(recorded / "run", tmp_path / "run")
    checkpoint = str(recorded / f"checkpoint-{4 * STEPS}")
    fit(tmp_path / "run", tmp_path, resume=checkpoint, num_train_epochs=4)
    assert first_epochs(tmp_path / "run") == [1]
    check_run(tmp_path / "run", SAMPLES, 4)


def test_resumed_with_gradient_accumulation(tmp_path):
    options = {"gradient_accumulation_steps": 3, "steps": 5, "save_strategy": "steps"}
    options["restore_callback_states_from_checkpoint"] = True
    fit(tmp_path / "run", tmp_path, save_steps=7, **options)
    checkpoint = str(tmp_path / "checkpoint-7")
    fit(tmp_path / "run", tmp_path, resume=checkpoint, save_steps=50, **options)
    assert first_epochs(tmp_path / "run") == [1, 2]
    check_run(tmp_path / "run", SAMPLES, 3)


class Crash(TrainerCallback):
    """Ends a training when its checkpoint of this step is on disk."""

    def __init__(self, step, error=ZeroDivisionError):
        self.step, self.error = step, error

    def on_save(self, args, state, control, **_):
        if state.global_step == self.step:
            raise self.error


@pytest.mark.parametrize("strategy", ["steps", "epoch"])
def test_an_epoch_is_there_as_soon_as_a_checkpoint_of_its_end(tmp_path, strategy):
    options = {"save_strategy": strategy, "save_steps": STEPS}
    with pytest.raises(ZeroDivisionError):
        fit(tmp_path / "run", tmp_path, Crash(2 * STEPS), **options)
    fit(tmp_path / "run", tmp_path, resume=True, **options)
    assert first_epochs(tmp_path / "run") == [1, 3]
    check_run(tmp_path / "run", SAMPLES, 3)


def test_max_steps_inside_an_epoch_and_more_steps_later(tmp_path):
    options = {"save_strategy": "steps", "save_steps": STEPS + 5}
    with pytest.raises(ZeroDivisionError):
        fit(tmp_path / "run", tmp_path, Crash(STEPS + 5), max_steps=STEPS + 5, **options)
    check_finite(tmp_path / "run", SAMPLES, 5 * 16)
    fit(tmp_path / "run", tmp_path, resume=True, **options)
    check_run(tmp_path / "run", SAMPLES, 3)


class StopAfterEvaluation(TrainerCallback):
    def on_evaluate(self, args, state, control, **_):
        control.should_training_stop = True


def test_an_epoch_that_is_stopped_early_is_recorded(tmp_path):
    options = {"eval_strategy": "steps", "eval_steps": STEPS + 5}
    fit(tmp_path / "run", tmp_path, StopAfterEvaluation(), **options)
    check_finite(tmp_path / "run", SAMPLES, 5 * 16)


def test_a_cell_run_twice_begins_again(tmp_path):
    model, options = Model(), {"save_strategy": "steps", "save_steps": 5}
    crash = Crash(10, KeyboardInterrupt)
    trainer = make_trainer(tmp_path, crash, model=model, **options)
    watch(trainer, tmp_path / "run", strict=True)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            trainer.train()
    crash.step = None
    trainer.train()
    check_run(tmp_path / "run", SAMPLES, 3)
    crash.step = 10
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    trainer = fit(tmp_path / "run", tmp_path, model=model)
    check_run(tmp_path / "run", SAMPLES, 3)
    trainer.train()
    check_run(tmp_path / "run", SAMPLES, 3)
    watch(trainer, tmp_path / "run", strict=True)
    trainer.train()
    check_run(tmp_path / "run", SAMPLES, 3)
    assert first_epochs(tmp_path / "run") == [1] * 7


def test_recording_that_begins_in_the_middle_of_a_training(tmp_path):
    """Epoch 3 of the training is epoch 1 of the run, also for a training that resumes later."""
    options = {"save_strategy": "epoch", "num_train_epochs": 5}
    make_trainer(tmp_path, **options | {"num_train_epochs": 2}).train()
    checkpoint = str(tmp_path / f"checkpoint-{2 * STEPS}")
    with pytest.warns(UserWarning, match="resumes at epoch 3: it is recorded as epoch 1"):
        fit(tmp_path / "run", tmp_path, resume=checkpoint, **options)
    assert Run(tmp_path / "run").epochs == 3
    fit(tmp_path / "run", tmp_path, resume=str(tmp_path / f"checkpoint-{4 * STEPS}"), **options)
    assert first_epochs(tmp_path / "run") == [1, 3]
    assert Run(tmp_path / "run").epochs == 3


# ---------------------------------------------------------------------------- processes


def script(tmp_path, *launcher, code=0, **config):
    """Run the job as a script; it must end with this code."""
    config |= {"run": str(tmp_path / "run"), "folder": str(tmp_path / "checkpoints")}
    command = [sys.executable, *launcher, "-m", "tests.transformers_job", json.dumps(config)]
    own = {"OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    log, root = tmp_path / "log", Path(__file__).parents[1]
    with log.open("w") as out:
        process = subprocess.run(
            command,
            cwd=root,
            stdout=out,
            stderr=out,
            timeout=180,
            check=False,
            env=os.environ | own,
        )
    assert process.returncode == code, log.read_text()


def test_killed_inside_an_epoch_and_resumed_inside_it(tmp_path):
    step, options = 2 * STEPS + 5, {"save_strategy": "steps", "num_train_epochs": 4}
    script(tmp_path, code=-signal.SIGKILL, kill=step + 2, save_steps=step, **options)
    fit(tmp_path / "run", tmp_path / "checkpoints", resume=True, **options)
    check_finite(tmp_path / "run", SAMPLES, SAMPLES, (STEPS - 5) * 16 - 5, SAMPLES)


def test_two_processes_record_and_resume(tmp_path):
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    resume = {"resume": str(tmp_path / "checkpoints" / "checkpoint-10"), "num_train_epochs": 3}
    options = {"steps": 7, "save_strategy": "steps", "save_steps": 5, "num_train_epochs": 2}
    passes = {"run": str(tmp_path / "passes"), "recording": {"eval_steps": 7}}
    jobs = {"then": [resume, passes, passes | resume], "pruned_into": str(tmp_path / "pruned")}
    script(tmp_path, *launcher, **jobs, **options)
    for run in (tmp_path / "run", tmp_path / "passes"):
        check_run(run, SAMPLES, 3)
        assert first_epochs(run) == [1, 2]
        parts = sorted(run.glob("attempts/*/*/part*"))
        assert [part.name[:11] for part in parts] == ["part-0-of-2", "part-1-of-2"] * 4
    both = [json.loads((tmp_path / f"pruned-{rank}").read_text()) for rank in range(2)]
    one = pruned(tmp_path, learning_rate=0.0)[1]
    assert both[0][1] == both[1][1] == one.weights
    assert [
        sorted({*ids, *others}) for ids, others in zip(both[0][0], both[1][0], strict=True)
    ] == one.ids


# ---------------------------------------------------------------------------- dynamic pruning


def pruned_by_hand(epochs=4):
    """The same training as a plain loop; gives the weights of its layer and of its samples."""
    model, sampler = Model(), PrunedSampler(range(SAMPLES), infobatch(), seed=5)
    optimizer, weights = torch.optim.SGD(model.parameters(), lr=0.1), []
    labelled = Indexed([(i, labels_of(i)) for i in range(SAMPLES)])
    for _ in range(epochs):
        for _, labels, ids in DataLoader(labelled, 16, sampler=sampler):
            logits = model(ids[:, None]).logits
            losses = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
            optimizer.zero_grad()
            sampler.weigh(losses, ids).backward()
            optimizer.step()
        weights.append(sampler.weights.tolist())
    return model.head.weight, weights


def test_dynamic_pruning_is_that_of_a_plain_loop(tmp_path):
    layer, weights = pruned_by_hand()
    trainer, trained = pruned(tmp_path, eval_strategy="epoch")
    torch.testing.assert_close(trainer.model.head.weight, layer)
    assert trained.weights == weights
    assert trained.ids == [[i for i, w in enumerate(epoch) if w] for epoch in weights]
    assert [len(ids) < SAMPLES for ids in trained.ids] == [False, True, True, True]


def test_dynamic_pruning_with_gradient_accumulation(tmp_path):
    """Of equally large batches: two half ones are a whole one."""
    halves = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 2}
    layers = []
    for options in ({}, halves):
        model = bert(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        model.trained_on = []
        pruned(tmp_path, samples=192, epochs=1, model=model, **options)
        layers.append(model.classifier.weight)
    torch.testing.assert_close(*layers)


def test_dynamic_pruning_refuses_what_would_be_wrong(tmp_path):
    shuffled = with_ids(data()).shuffle(seed=0)
    with pytest.raises(InputError, match="in the order in which it got its ids"):
        pruned(tmp_path, train=shuffled)
    trainer, _ = pruned(tmp_path, save_strategy="epoch", epochs=1)
    with pytest.raises(InputError, match="cannot be resumed, here at step 13"):
        trainer.train(resume_from_checkpoint=True)


# ---------------------------------------------------------------------------- passes


@pytest.mark.parametrize(
    ("eval_steps", "expected"), [(STEPS, [13, 26, 39]), ([STEPS, 26, 39, 99], [13, 26, 39])]
)
def test_passes_are_epochs_in_evaluation_mode(tmp_path, eval_steps, expected):
    """At the last step of each epoch, when the model still is in it."""
    trainer = fit(tmp_path / "run", tmp_path, recording={"eval_steps": eval_steps})
    check_run(tmp_path / "run", SAMPLES, 3)
    run = Run(tmp_path / "run")
    assert run.steps == expected
    assert run.description.mode == "eval"
    assert trainer.model.training


@pytest.mark.parametrize(("step", "epoch"), [(9, 3), (8, 3), (7, 2), (3, 1)])
def test_passes_of_a_resumed_training(tmp_path, step, epoch):
    options = {"save_strategy": "steps", "save_steps": 1, "recording": {"eval_steps": 4}}
    fit(tmp_path / "run", tmp_path, max_steps=13, **options)
    checkpoint = str(tmp_path / f"checkpoint-{step}")
    fit(tmp_path / "run", tmp_path, resume=checkpoint, max_steps=20, **options)
    assert first_epochs(tmp_path / "run") == [1, epoch]
    assert Run(tmp_path / "run").steps == [4, 8, 12, 16, 20]
    check_finite(tmp_path / "run", *[SAMPLES] * 5)


# ---------------------------------------------------------------------------- the page


def test_the_page_runs_as_it_stands(tmp_path, monkeypatch):
    text = (Path(__file__).parents[1] / "docs" / "transformers.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    names = {"model": bert(), "args": arguments("out", num_train_epochs=10), "train": data()}
    prepared = sft(tmp_path, with_ids(texts()))
    names |= {"lm": prepared.model, "config": prepared.args, "tokenizer": tokenizer()}
    names["texts"] = texts()
    for block in re.findall(r"```python\n(.+?)```", text, re.DOTALL):
        exec(compile(block, "transformers.md", "exec"), names)
    assert len(names["small"]) == SAMPLES * 3 // 10 + 1
    assert Run("sft").steps == [2, 4, 6, 8, 10, 12]


# ---------------------------------------------------------------------------- what goes wrong


def packed(folder):
    return sft(folder, with_ids(texts()), packing=True, max_length=16)


def in_parts(folder):
    return make_trainer(folder, train=concatenate_datasets([with_ids(data())] * 2))


def streaming(folder):
    return make_trainer(folder, train=with_ids(data()).to_iterable_dataset(), max_steps=3)


def other_ids(folder):
    keys = [f"photo{i}" for i in range(SAMPLES)]
    return make_trainer(folder, train=data().add_column("sample_id", keys))


REFUSED = {
    "no ids": (lambda folder: make_trainer(folder, train=data()), "train_dataset=with_ids"),
    "no Indexed": (lambda folder: make_trainer(folder, train=[{}]), "a list, carries no ids"),
    "streaming": (streaming, "a IterableDataset, carries no ids"),
    "other ids": (other_ids, "must hold positions from 0.* like .*photo0"),
    "packed": (packed, "packing=False"),
    "joined": (in_parts, "with_ids\\(concatenate_datasets"),
}


@pytest.mark.filterwarnings("ignore::UserWarning:trl")
@pytest.mark.parametrize("wrong", REFUSED)
def test_data_without_ids_of_its_own_is_refused_with_what_to_do(tmp_path, wrong):
    make, message = REFUSED[wrong]
    trainer = make(tmp_path)
    with pytest.raises(InputError, match=message):
        watch(trainer, tmp_path / "run")


def test_other_mistakes_are_named(tmp_path):
    with pytest.raises(InputError, match="already has a column sample_id"):
        with_ids(with_ids(data()))
    with pytest.raises(InputError, match="got dict"):
        with_ids({"train": data()})
    for steps in (0, [3, 0], 1.5):
        with pytest.raises(InputError, match="eval_steps"):
            watch(make_trainer(tmp_path), tmp_path / "run", eval_steps=steps)


def broken(outputs):
    raise ZeroDivisionError("of the user's own signal")


def unlabelled(trainer):
    trainer.data_collator = lambda rows: {"input_ids": torch.tensor([r["input_ids"] for r in rows])}
    trainer.compute_loss_func = lambda outputs, labels, num_items_in_batch: outputs.logits.sum()


def transformed(trainer):
    def without_ids(rows):
        return {"input_ids": rows["input_ids"], "labels": rows["label"]}

    trainer.train_dataset.set_transform(without_ids)


def regression(trainer):
    trainer.train_dataset = with_ids(data().map(lambda row: {"label": row["label"] / 3}))
    trainer.model = bert(problem_type="regression")
    trainer.model.num_labels, trainer.model.classifier = 1, torch.nn.Linear(16, 1)
    trainer.model_wrapped = trainer.model


class Tuples(Model):
    def forward(self, input_ids, labels=None):
        return super().forward(input_ids, labels).to_tuple()


def tuples(trainer):
    trainer.model = trainer.model_wrapped = Tuples()


WRONG = {
    "a tuple": (tuples, {}, "the model gave tuple"),
    "regression": (regression, {}, "neither 0 nor 1"),
    "a file": (lambda trainer: None, {}, "not a run"),
    "a signal": (lambda trainer: None, {"signals": [broken]}, "of the user's own signal"),
    "no labels": (unlabelled, {}, "the batch has no labels"),
    "no ids": (transformed, {}, "no sample_id reached the model"),
}


@pytest.mark.parametrize("passes", [{}, {"eval_steps": 5}], ids=["training", "passes"])
@pytest.mark.parametrize("wrong", WRONG)
def test_no_training_is_stopped_unless_strict(tmp_path, wrong, passes):
    change, knobs, message = WRONG[wrong]
    if wrong == "a file":
        (tmp_path / "run").write_text("")
    for strict in (False, True):
        trainer = make_trainer(tmp_path)
        watch(trainer, tmp_path / "run", strict=strict, **knobs, **passes)
        change(trainer)
        if strict:
            with pytest.raises((InputError, ZeroDivisionError), match=message):
                trainer.train()
        else:
            with pytest.warns(RuntimeWarning, match=f"training goes on: .*{message}") as warned:
                trainer.train()
            assert trainer.state.global_step == 3 * STEPS
            assert len([w for w in warned if w.category is RuntimeWarning]) == 1


def test_a_run_of_another_kind_is_not_continued(tmp_path):
    fit(tmp_path / "run", tmp_path)
    with pytest.raises(InputError, match="mode is 'train', not 'eval'"):
        fit(tmp_path / "run", tmp_path, recording={"eval_steps": 5})
    check_run(tmp_path / "run", SAMPLES, 3)
