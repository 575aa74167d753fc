"""Attacks in parts, two processes at a time, and the file of sealed lines that adds them up.

Every decision of an attack is a function of its kind, seed and number, so that it can be repeated
alone. A part is a range of numbers; one that was stopped leaves no line and is done again.
"""

import hashlib
import json
import os
import re
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path
from random import Random
from typing import NamedTuple

import torch

import dualprune
from dualprune.files import seal

PROCESSES = 2
LONGEST = 300  # seconds for one number
MEMORY = Path("/dev/shm")  # a disk would only be slower


class Finding(str):
    """An outcome that must not be; findings that differ only after " | " are alike."""

    __slots__ = ()


class Kind(NamedTuple):
    """An attack, and how many numbers a long run, a part and the test of every change have.

    `prepare(home)` gives a function of a number and a random generator, which yields a word for
    each thing that it tried.
    """

    prepare: object
    aim: int
    part: int
    short: int


def run(kinds, parts, seed):
    """Do all parts and give the line of each as soon as it is finished."""
    context = get_context("forkserver")  # it has imported everything, and has no threads
    running = {}
    try:
        while parts or running:
            while parts and len(running) < PROCESSES:
                kind, numbers = parts.pop(0)
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(
                    target=work, args=(kinds[kind].prepare, kind, seed, numbers, theirs)
                )
                process.start()
                theirs.close()
                running[ours] = process, kind, numbers, [], time.monotonic()
            for pipe in wait(running):
                process, kind, numbers, results, start = running[pipe]
                try:
                    results.append(pipe.recv())
                except EOFError:
                    del running[pipe]
                    if rest := after_the_end(process, numbers, results):
                        parts.insert(0, (kind, rest))
                    yield line_of(kind, seed, numbers, results, time.monotonic() - start)
    finally:
        for process, *_ in running.values():
            process.kill()


def after_the_end(process, numbers, results):
    """Give the numbers that are left because one of them ended its process: a finding."""
    process.join()
    if process.exitcode == 1:
        raise SystemExit("an attack could not be prepared")
    if len(results) < len(numbers):
        hangs = process.exitcode == -signal.SIGALRM
        results.append(({}, ["hangs" if hangs else f"ends with code {process.exitcode}"]))
    return numbers[len(results) :]


def line_of(kind, seed, numbers, results, seconds):
    counts = sum((Counter(words) for words, _ in results), Counter())
    found = [(n, text) for n, (_, texts) in zip(numbers, results, strict=False) for text in texts]
    return {
        "kind": kind,
        "seed": seed,
        "part": [numbers.start, numbers.start + len(results)],
        "counts": dict(sorted(counts.items())),
        "findings": found,
        "seconds": round(seconds, 1),
        "code": code(),
    }


def work(prepare, kind, seed, numbers, pipe):
    """Do the attacks of these numbers and send what came of each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as home:
        os.chdir(home)
        attack = prepare(Path(home))
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        for number in numbers:
            signal.alarm(LONGEST)
            outcomes = attacked(attack, number, Random(f"{kind} {seed} {number}"))
            texts = [text.replace(home, ".")[:1000] for text in outcomes if type(text) is Finding]
            pipe.send((Counter(text for text in outcomes if type(text) is str), texts))
        signal.alarm(0)


def attacked(attack, number, chance):
    outcomes = []
    try:
        for outcome in attack(number, chance):
            outcomes.append(outcome)  # noqa: PERF402 - those before an error count
    except Exception as error:  # noqa: BLE001 - what an attack does not expect is a finding
        outcomes.append(raw("unexpected", error))
    return outcomes


def raw(what, error, given=""):
    """Give a finding: an error that is not of ours, and the last line of ours that it passed."""
    frames = [(Path(f.filename), f) for f in traceback.extract_tb(error.__traceback__)]
    ours = [f"{path.name} {f.name}" for path, f in frames if "dualprune" in path.parts]
    place = ours[-1] if ours else f"{frames[-1][0].name}:{frames[-1][1].lineno}"
    return Finding(f"{what}: {type(error).__name__} from {place} | {error!s:.300}; {given!s:.300}")


def code():
    """Digest of the library: what other code withstood says nothing of this one."""
    root = Path(dualprune.__file__).parent
    files = sorted(path for path in root.rglob("*") if path.suffix in (".py", ".toml", ".js"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def append(path, line):
    """Add a line; what a killed process left of its last one is cut off first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        file.write((json.dumps({**line, "seal": seal(line)}) + "\n").encode())


def read(path):
    """Read all whole lines, and refuse one that was changed."""
    *whole, _ = path.read_bytes().split(b"\n") if path.exists() else [b""]
    lines = [json.loads(text) for text in whole]
    for number, line in enumerate(lines, 1):
        if line.pop("seal") != seal(line):
            raise SystemExit(f"line {number} of {path} is not what was written")
    return lines


def missing(kind, numbers, size, seed, lines):
    """Give the parts that no line of this code and seed covers."""
    key = (kind, seed, code())
    own = [line for line in lines if (line["kind"], line["seed"], line["code"]) == key]
    done = {number for line in own for number in range(*line["part"])}
    left = [number for number in numbers if number not in done]
    while left:
        row = [n for place, n in enumerate(left[:size]) if n == left[0] + place]
        yield kind, range(row[0], row[-1] + 1)
        left = left[len(row) :]


def table(lines):
    """Give totals by kind and every finding, with how to repeat it, as Markdown."""
    yield "| kind | code | tried | outcomes | findings | process hours |"
    yield "|---|---|---:|---|---:|---:|"
    for key in dict.fromkeys((line["kind"], line["code"]) for line in lines):
        own = [line for line in lines if (line["kind"], line["code"]) == key]
        counts = sum((Counter(line["counts"]) for line in own), Counter())
        found = sum(len(line["findings"]) for line in own)
        words = "; ".join(f"{word}: {count:,}" for word, count in counts.most_common())
        hours = sum(line["seconds"] for line in own) / 3600
        tried = sum(counts.values()) + found
        yield f"| {' | '.join(key)} | {tried:,} | {words} | {found:,} | {hours:.2f} |"
    alike = {}
    for line in lines:
        for number, text in line["findings"]:
            again = f"python -m torture {line['kind']} --seed {line['seed']} --only {number}"
            key = line["kind"], re.sub(r"[0-9a-f]{8,}|\d+", "#", text.partition(" | ")[0])
            alike.setdefault(key, []).append(f"`{again}`: {text}")
    for same in alike.values():
        yield f"\n{len(same)} x, first {same[0]}"
