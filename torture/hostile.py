"""Names, archives, arrays, pictures and pages as an enemy would make them."""

import csv
import hashlib
import io
import os
import pickle
import shutil
import string
import unicodedata
from pathlib import Path

import numpy as np
from PIL import Image
from tests.beliefs import between_two, write_beliefs
from tests.browsing import CHROMIUM, addresses, ask, open_browser, visit
from tests.commands import dualprune
from tests.damaging import Touch
from tests.hostile import HOSTILE, write_hostile
from tests.test_data_archives import member, tar_gz

from dualprune.data import load, write_tree
from dualprune.data.archive import read_members
from dualprune.data.download import Pinned
from dualprune.errors import DualpruneError
from torture.parts import Finding

PIECES = (
    *("\x1b[2J", "\x9b31m", "\n", "\r", "\t", "\x7f", "\u202e", "\u2028", "\udcff", "\udce9", "🦔"),
    *("../", "..\\", "~", "*", "$(x)", "`x`", "-rf", "=cmd()", "+1", "@x", "'", '"', "<b>", "&"),
    *("%s", "{0}", "{{7*7}}", "[red]", "\\", " ", "é", "e\u0301", "x" * 60, "nul", "İ", "ß"),
)
SCRIPTS = (
    *("<script>", "</script>", "window.hacked=1", "<img src=x onerror=window.hacked=1>", "-->"),
    *('"', "'", ">", "`", "\\", "${window.hacked=1}", "javascript:window.hacked=1", "]]>", "\0"),
    *("<svg onload=window.hacked=1>", "&lt;", "\\u003c", "{{7*7}}", "<base href=//x.test/>"),
)
COMMANDS = {
    **dict.fromkeys(("doctor", "report", "audit", "score dual", "reproduce"), ()),
    **dict.fromkeys(("record", "compare", "train"), ("--out",)),
    **dict.fromkeys(("prune", "select top"), ("--keep", "--out")),
}
PAGES = 25  # every so many numbers, a page is opened in a browser
PICTURE = io.BytesIO()
Image.new("RGB", (9, 7), (200, 10, 10)).save(PICTURE, "PNG")


def prepare(home):
    case = home / "case"

    def attack(number, chance):
        shutil.rmtree(case, ignore_errors=True)
        case.mkdir()
        trick = pages if number % PAGES == 0 else TRICKS[number % len(TRICKS)]
        yield from trick(case, chance)
        if [*home.iterdir()] != [case] or Path("/tmp/owned").exists():
            yield Finding(f"{trick.__name__}: something was written elsewhere")
        if (case / "canary").exists():
            yield Finding(f"{trick.__name__}: a pickle was loaded")

    return attack


def file_name(chance):
    name = "".join(chance.choices(PIECES, k=chance.randint(1, 4))).replace("/", "_")
    return f"x{os.fsdecode(os.fsencode(name)[:200])}"[name[0] not in ".-" :]


def run_command(*words):
    """Run a command: it must refuse or do it, and print no name that a terminal obeys.

    The path that it was given last may be printed as it is, for another program.
    """
    code, printed, said = dualprune(*words)
    yield f"{words[0]} " + ("refused" if code else "done")
    if code not in (0, 1, 2):
        yield Finding(f"{words[0]}: exit code {code} | {said}")
    for place, text in (("printed", printed.replace(str(words[-1]), "")), ("said", said)):
        if any(unicodedata.category(c) == "Cc" and c not in "\n\t" for c in text):
            yield Finding(f"control characters are {place} as they are | {words}: {text!r:.300}")


def names(home, chance):
    """Name classes and files; load, copy, record, audit and report them."""
    for folder in {file_name(chance) for _ in range(4)} | {"a", "b"}:
        (home / "photos" / folder).mkdir(parents=True)
        for name in {file_name(chance) for _ in range(3)}:
            (home / "photos" / folder / f"{name}.png").write_bytes(PICTURE.getvalue())
    images, _ = load(home / "photos")
    assert len({*images.names}) == len(images) == len([*home.glob("photos/*/*.png")])
    write_tree(images, home / "copied", "copy")
    assert load(home / "copied")[0].names == images.names
    count = len(images.class_names)
    belief = np.random.default_rng(0).uniform(0.1, 0.9, (3, len(images)))
    beliefs = between_two(belief, images.labels, (images.labels + 1) % count, count)
    named = {"class_names": [*images.class_names], "names": [*images.names]}
    run = write_beliefs(home / "run", beliefs, images.labels, **named).path
    yield from run_command("audit", run, "--out", home / "audit")
    with (home / "audit/audit.csv").open(newline="") as file:
        texts = [cell for row in csv.reader(file) for cell in row[1:4]]
    if formulas := [cell for cell in texts if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]:
        yield Finding(f"audit.csv holds a formula | {formulas}")
    yield from run_command("doctor", run)
    yield from run_command("report", run, "--out", home / f"{file_name(chance)}.html")


def paths(home, chance):
    """Give hostile paths, names and amounts to commands."""
    one, two = home / file_name(chance), home / file_name(chance)
    if chance.random() < 0.5:
        one.mkdir()
        (one / file_name(chance)).write_text("x")
    command = chance.choice([*COMMANDS])
    flags = {"--keep": chance.choice(["0.5", one.name]), "--out": two}
    chosen = [word for flag in COMMANDS[command] for word in (flag, flags[flag])]
    yield from run_command(*command.split(), one, *chosen)


def archives(home, chance):
    """Put links, devices, other folders, duplicates and bombs into an archive."""
    good = {"a.bin": bytes(range(64)), "b.bin": bytes(64)}
    members = [member(f"set/{name}", data) for name, data in good.items()]
    for _ in range(chance.randint(1, 4)):
        name = chance.choice(
            [
                "../x",
                "/tmp/owned",
                "set/../../x",
                "x/a.bin",
                "set/a.bin",
                "./set/a.bin",
                "set/t.txt",
            ]
        )
        data = chance.choice([b"", b"owned", bytes(64), bytes(2**21)])
        facts = {"type": chance.choice("01234567").encode(), "linkname": "/etc/passwd"}
        members.insert(chance.randrange(len(members) + 1), member(name, data, **facts))
    data = tar_gz(members)[: None if chance.random() < 0.8 else chance.randrange(99)]
    (home / "a.tar.gz").write_bytes(data)
    pinned = Pinned(len(data), hashlib.sha256(data).hexdigest())
    try:
        found = read_members(home / "a.tar.gz", pinned, "set", dict.fromkeys(good, 64), ["t.txt"])
    except DualpruneError:
        yield "archive refused"
        return
    sound = {name: found[name] for name in good} == good
    yield "archive read" if sound else Finding(f"archives: other content | {members}")


def arrays(home, chance):
    """Offer pickles, headers that lie and damaged archives as an .npz."""
    touch, content = Touch(home / "canary"), io.BytesIO()
    plain = {"x": np.zeros((4, 3, 3), np.uint8), "y": np.arange(4) % 2}
    if chance.random() < 0.5:
        plain[chance.choice("xy")] = np.array([touch] * 4, object)
    chance.choice([np.savez, np.savez_compressed])(content, **plain)
    data = content.getvalue() if chance.random() < 0.9 else pickle.dumps(touch)
    for old, new in ((b"|u1", b"|O1"), (b"(4, 3, 3)", b"(9, 9, 9)"), (b"'<i8'", b"'|O8'")):
        data = data.replace(old, new) if chance.random() < 0.2 else data
    data = bytearray(data)
    for _ in range(chance.choice([0, 1, 8])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    (home / "data.npz").write_bytes(data)
    try:
        load(home / "data.npz")
        yield "arrays loaded"
    except DualpruneError:
        yield "arrays refused"


def pages(home, chance):
    """Open a page whose every name is hostile: no script but ours runs, nothing is asked for."""
    made = ["".join(chance.choices((*SCRIPTS, *string.ascii_letters), k=6)) for _ in range(10)]
    known = chance.sample(HOSTILE, 4)
    page = write_hostile(home, (*known, *made), "page", trained=chance.random() < 0.5)
    if not CHROMIUM.exists():
        yield "page written, no browser here"
        return
    with open_browser() as browser:
        wrong = visit(browser, page)
        wrong += [a for a in addresses(browser) if not a.startswith(("data:", page.as_uri()))]
        safe = ask(browser, "window.hacked === undefined && document.title.endsWith('dualprune')")
    yield "page opened" if safe and not wrong else Finding(f"a page is not safe | {wrong}, {made}")


TRICKS = (names, paths, archives, arrays)
