"""Wrong types, shapes and values for commands, functions and sealed files: only our errors."""

import json
import shutil
from copy import deepcopy
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import typer
from tests.commands import dualprune
from tests.photos import striped

from dualprune import Coreset, Method, Recorder, Run, audit, choose
from dualprune.cli.__main__ import COMMANDS, load_command
from dualprune.data import load
from dualprune.errors import DualpruneError
from dualprune.files import read_json, seal, write_json
from dualprune.report.facts import gather
from dualprune.report.page.summary import repeat, rows
from dualprune.run.health import examine
from dualprune.score.scored import Scored
from torture import instances
from torture.parts import Finding, raw

TEXTS = ("", "x", "dual", "dual+beta", "30%", "loss", "../x", "\ud800", "a\0b", "9" * 5000)
JUNK = (
    *(
        None,
        True,
        -1,
        0,
        1,
        3,
        33,
        2**31,
        2**63,
        2**70,
        -0.5,
        0.5,
        1e308,
        float("nan"),
        float("inf"),
    ),
    *([], [1], [None], [[1], [2, 3]], ["x", "x"], {}, {"a": 1}, {"window": -1}, {"loss": "|O"}),
    *TEXTS,
)
ARRAYS = (
    *(b"x", (1, 2), {1}, object(), Path("x"), np.float32(1), np.arange(33), np.arange(33.0)),
    *(np.full(33, np.nan), np.ones((33, 5)), np.ones((5, 33)), np.ones((33, 0)), np.zeros(0)),
    *(np.array(["x"] * 33), np.array([None] * 33), np.arange(33, dtype=np.uint64) + 2**63),
    *(torch.zeros(4, 5), torch.zeros(4), torch.arange(4), torch.full((4, 5), torch.inf)),
    *(torch.zeros(4, 5, dtype=torch.int64), torch.tensor([0, 99, -1, 2]), torch.zeros(4, 5, 1)),
    *(torch.zeros(4, dtype=torch.bool), torch.zeros(4, 5, dtype=torch.complex64)),
)


def prepare(home):
    instances.write_all(home)
    images = striped(12, 2)
    np.savez(home / "tiny.npz", x=images.pixels, y=images.labels)
    ways = (forge, forge, call, type_words)
    typer.main.get_command = cache(typer.main.get_command)  # as slow as most commands themselves

    def attack(number, chance):
        shutil.rmtree(home / "new", ignore_errors=True)
        yield from ways[number % len(ways)](home, chance)

    return attack


# Sealed files


def forge(home, chance):
    """Change what a file says, seal it again, and use it."""
    kind = chance.choice([*FORGED])
    path, reader = instances.find(home, kind)
    data = path.read_bytes()
    written = FORGED[kind](path, chance)
    try:
        reader(home)
        use(home, reader)
        yield "forged file read"
    except DualpruneError:
        yield "forged file refused"
    except Exception as error:  # noqa: BLE001 - any other exception is what this looks for
        yield raw(f"forged {kind}", error)
    written.unlink()
    path.write_bytes(data)


def use(home, reader):
    if reader is instances.read_run:
        examine(home / "run")
        choose(home / "run", "aum+beta", keep=9)
    if reader is instances.read_coreset:
        coreset = Coreset.load(home / "coreset")
        facts = gather(Run(home / "run"), coreset)
        repr((coreset, coreset.mask, coreset.to_arrow(), [*rows(facts)], repeat(coreset)))


def changed(content, chance):
    """Replace, remove or add something, at any depth."""
    keys = [*content] if isinstance(content, dict) else [*range(len(content))]
    deep = [key for key in keys if isinstance(content[key], dict | list) and content[key]]
    how, key = chance.random(), chance.choice(keys)
    if deep and how < 0.5:
        key = chance.choice(deep)
        content[key] = changed(content[key], chance)
    elif how < 0.6:
        del content[key]
    elif how < 0.7 and isinstance(content, dict):
        content[chance.choice(["x", "name", "folder", "values", "__class__"])] = content[key]
    else:
        content[key] = deepcopy(chance.choice((*JUNK, [[[[]]]] * 50, "x" * 10**5)))
    return content


def forge_json(path, chance):
    write_json(path, changed(read_json(path), chance))
    return path


def resealed(text, chance):
    content = json.loads(text)
    del content["seal"]
    content = changed(content, chance)
    return json.dumps({**content, "seal": seal(content)})


def forge_line(path, chance):
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([*others, resealed(first, chance), ""]))
    return path


def forge_scores(path, chance):
    table = pq.read_table(path)
    card = resealed(table.schema.metadata[b"dualprune"], chance)
    pq.write_table(table.replace_schema_metadata({"dualprune": card}), path)
    return path


def forge_part(path, chance):
    """Write a part whose footer lies, under the name that fits its footer."""
    table, sink = pq.read_table(path), pa.BufferOutputStream()
    facts = changed(json.loads(table.schema.metadata[b"dualprune"]), chance)
    pq.write_table(table.replace_schema_metadata({"dualprune": json.dumps(facts)}), sink)
    data = sink.getvalue().to_pybytes()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    path.unlink()
    path = path.with_name(f"part-0-of-1-{sha256(footer).hexdigest()[:32]}.parquet")
    path.write_bytes(data)
    return path


FORGED = {
    **{kind: forge_json for kind in instances.FILES if kind.endswith((".json", "of parts"))},
    "results.jsonl": forge_line,
    "scores": forge_scores,
    "part": forge_part,
}

# Functions


def call(home, chance):
    """Call a public function with some arguments that are right and some that are not."""
    name = chance.choice([*CALLS])
    function, right = CALLS[name]
    wrong = {key: chance.choice(TEXTS if key == "path" else (*JUNK, *ARRAYS)) for key in right}
    given = {key: wrong[key] if chance.random() < 0.3 else right[key] for key in right}
    try:
        function(home, **given)
        yield "call done"
    except DualpruneError:
        yield "call refused"
    except Exception as error:  # noqa: BLE001 - any other exception is what this looks for
        yield raw(name, error, given)


def end_epoch(home, state=None, features=None, step=None, **batch):
    signals = ("loss", "kl_step") if state is not None else ("loss",)
    recorder = Recorder(home / "new", samples=33, classes=5, signals=signals)
    if state is not None:
        recorder.load_state_dict(state)
    recorder.update(**(batch or BATCH))
    recorder.end_epoch(features=features, step=step)


def look(home, name, epochs):
    run = Run(home / "run")
    run.has(name)
    run[name]
    run.features(epochs)
    [*run.map(lambda **block: 1, [name], epochs=epochs)]


BATCH = {"logits": torch.ones(4, 5), "labels": torch.arange(4), "ids": torch.arange(4)}
STATE = {"kl_step.previous": torch.zeros(33, 5), "kl_step.stored_in": torch.ones(33)}
ABOUT = {"samples": 33, "classes": 5, "signals": ["loss"], "mode": "eval", "data": "", "notes": ""}
ABOUT |= {"class_names": [*"abcde"], "names": ["x"] * 33, "source": np.arange(33)}
METHOD = {"score": "dual", "selector": "beta", "score_knobs": {"window": 5}, "name": "mine"}
METHOD |= {"select_knobs": {"c_d": 4.0}, "reads": {"confidence": "el2n"}, "epochs": 3, "runs": 2}
CHOICE = {"runs": ["run"], "method": "aum+top", "keep": 9, "seed": 0, "epochs": 2}
CALLS = {  # what is called, and arguments that are right
    "Recorder": (lambda home, **given: Recorder(home / "new", **given), ABOUT),
    "Recorder.update": (end_epoch, BATCH),
    "Recorder.end_epoch": (end_epoch, {"features": np.ones((33, 2)), "step": 3}),
    "Recorder.load_state_dict": (end_epoch, {"state": STATE}),
    "Run": (lambda _, path: Run(path), {"path": "run"}),
    "Run[]": (look, {"name": "loss", "epochs": 2}),
    "choose": (lambda _, **given: choose(**given), CHOICE),
    "audit": (lambda _, path, epochs: audit(path, epochs=epochs), {"path": "run", "epochs": 2}),
    "Coreset.load": (lambda _, path: Coreset.load(path), {"path": "coreset"}),
    "Coreset.save": (lambda _, path: Coreset.load("coreset").save(path), {"path": "new"}),
    "Coreset.apply": (lambda _, x: Coreset.load("coreset").apply(x), {"x": np.arange(33)}),
    "Method": (lambda _, **given: Method(**given), METHOD),
    "Scored.load": (lambda _, path: Scored.load(path), {"path": "scores/dual.parquet"}),
    "load": (lambda _, path: load(path), {"path": "tiny.npz"}),
}

# Commands

PLACES = ("nothing", "", "run", "coreset", "results.jsonl", "scores/dual.parquet", "\x1b", ".")
LIKELY = {"--out": "new", "--keep": "9", "--run": "run", "--coreset": "coreset", "--score": "aum"}
LONG = {"compare": "nothing", "reproduce": "nothing"}  # refused before they train
FEW = {"--epochs": ("1", "2", "0", "x"), "--recipe": ("digits",)}  # of those that may train
NEVER = ("--help", "--download", "--check", "--iterations")


def type_words(home, chance):
    """Type a command with flags that it has and values that it may not take."""
    words = list(words_of(chance))
    try:
        code, _, said = dualprune(*words)
        fine = code in (0, 1, 2) and "Traceback" not in said
        word = "command refused" if code else "command done"
        yield word if fine else Finding(f"{words[0]}: exit code {code} | {words}: {said}")
    except Exception as error:  # noqa: BLE001 - any other exception is what this looks for
        yield raw(words[0], error, words)


def words_of(chance):
    yield (name := chance.choice(sorted(COMMANDS.keys() - {"demo"})))
    command = load_command(name)
    if hasattr(command, "commands"):
        yield (name := chance.choice(sorted(command.commands)))
        command = command.commands[name]
    for parameter in command.params:
        flag = max(parameter.opts, key=len)
        if parameter.param_type_name == "argument":
            yield LONG.get(name) or chance.choice([*PLACES, "run", "run", "tiny.npz", "tiny.npz"])
        elif flag not in NEVER and (parameter.required or flag in FEW or chance.random() < 0.4):
            yield flag
            if not parameter.is_flag:
                yield value(flag, chance)


def value(flag, chance):
    if flag in FEW or (flag in LIKELY and chance.random() < 0.6):
        return LIKELY.get(flag) or chance.choice(FEW[flag])
    simple = [str(junk) for junk in JUNK if isinstance(junk, int | float | str)]
    text = chance.choice([*simple, *PLACES])
    return text.replace("\0", "").encode("utf-8", "replace").decode()
