"""Damage one file: an error of ours that names it, or exactly the same values."""

import resource

from dualprune.errors import DualpruneError
from torture.instances import FILES, find, write_all
from torture.parts import Finding, raw

ADDRESSES = 2**34  # bytes, so that a size that a file states cannot take the machine


def prepare(home):
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    write_all(home)
    originals = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    known = {kind: (find(home, kind)[0], FILES[kind][1](home)) for kind in FILES}

    def attack(number, chance):
        kind, damage = [*FILES][number % len(FILES)], chance.choice(DAMAGES)
        path, before = known[kind]
        changes = damage(path, originals, chance)
        if all(originals.get(path) == data for path, data in changes.items()):
            yield "not damaged"
            return
        for path, data in changes.items():
            replace(path, data)
        yield verdict(kind, damage.__name__, changes, home, before)
        for path in changes:
            replace(path, originals.get(path))

    return attack


def replace(path, data):
    path.unlink(missing_ok=True)
    if data is not None:
        path.write_bytes(data)


def verdict(kind, damage, changes, home, before):
    what, where = f"{kind}, {damage}", ", ".join(map(str, changes))
    try:
        after = FILES[kind][1](home)
    except DualpruneError as error:
        names = {name for path in changes for name in (path.name, str(path.parent))}
        named = any(name in str(error) for name in names)
        return "refused" if named else Finding(f"{what}: no file is named | {where}: {error}")
    except Exception as error:  # noqa: BLE001 - any other exception is what this looks for
        return raw(what, error, where)
    if after == before:
        return "unchanged"
    if kind == "results.jsonl" and after.items() <= before.items():
        return "last lines lost"  # as if killed while writing: these cells are done again
    return Finding(f"{what}: other values without a word | {where}")


def flip_bits(path, originals, chance):
    data = bytearray(originals[path])
    for _ in range(chance.choice([1, 1, 1, 2, 8])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return {path: bytes(data)}


def cut(path, originals, chance):
    return {path: originals[path][: chance.randrange(len(originals[path]))]}


def lose_block(path, originals, chance):
    """Zero a block, fill it with noise, or leave it out."""
    data, size = originals[path], chance.choice([1, 4, 8, 64, 512])
    start = chance.randrange(len(data))
    block = chance.choice([bytes(size), chance.randbytes(size), b""])
    return {path: data[:start] + block + data[start + size :]}


def swap(path, originals, chance):
    other = chance.choice([*originals])
    return {path: originals[other], other: originals[path]}


def duplicate(path, originals, chance):
    """Put a copy somewhere else, over another file, or behind the file itself."""
    other = chance.choice([*originals])
    names = (path.name, f"copy of {path.name}", path.name.replace("0", "1"), other.name)
    target = other.with_name(chance.choice(names))
    target = path if target.is_dir() else target
    return {target: originals[path] * (1 + (target == path))}


DAMAGES = (flip_bits, flip_bits, flip_bits, cut, lose_block, swap, duplicate)
