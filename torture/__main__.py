"""Attack the library and print a table of what was tried and found.

python -m torture [KIND ...] --seed S --count N --out FOLDER
python -m torture --table FOLDER
"""

import argparse
import os
from pathlib import Path

from torture import faults, flips, fuzz, hostile, kills, readers, writers
from torture.parts import PROCESSES, Kind, append, missing, read, run, table

KINDS = {
    "flips": Kind(flips.prepare, aim=100_000, part=5_000, short=400),
    "fuzz": Kind(fuzz.prepare, aim=100_000, part=5_000, short=400),
    "hostile": Kind(hostile.prepare, aim=1_000, part=100, short=24),
    "faults": Kind(faults.prepare, aim=faults.COMBINATIONS, part=20, short=18),
    "writers": Kind(writers.prepare, aim=1_000, part=250, short=8),
    "readers": Kind(readers.prepare, aim=300, part=30, short=2),
    "kills": Kind(kills.prepare, aim=8_000, part=250, short=12),
}


def main():
    """Do what is missing of these kinds; the exit code is 1 if there is any finding."""
    parser = argparse.ArgumentParser(prog="torture", description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, help="numbers of each kind; default: a long run")
    parser.add_argument("--short", action="store_true", help="as many as in every test")
    parser.add_argument("--only", type=int, help="repeat one number, without writing its line")
    parser.add_argument("--out", type=Path, default=Path("tortured"))
    parser.add_argument("--table", type=Path, metavar="FOLDER", help="print what is there so far")
    words = parser.parse_args()
    if unknown := {*words.kinds} - {*KINDS}:
        parser.error(f"there is no kind {unknown.pop()}; choose from {', '.join(KINDS)}")
    lines = [] if words.only is not None else read((words.table or words.out) / "torture.jsonl")
    if words.table is None:
        for line in run(KINDS, list(parts(words, lines)), words.seed):
            lines.append(line)
            if words.only is None:
                append(words.out / "torture.jsonl", line)
    print("\n".join(table(lines)))
    return int(any(line["findings"] for line in lines))


def parts(words, lines):
    for name in words.kinds or KINDS:
        kind = KINDS[name]
        count = words.count or (kind.short if words.short else kind.aim)
        numbers = range(count) if words.only is None else range(words.only, words.only + 1)
        size = min(kind.part, -(-count // PROCESSES))
        yield from missing(name, numbers, size, words.seed, lines)


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    raise SystemExit(main())
