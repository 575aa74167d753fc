"""Read the tables of a LaTeX source: every number under its headers, beside the name of its row.

Only what the paper uses: commands around numbers, deviations behind a plus-minus or in a column of
their own, gains in brackets, headers over several columns, tables side by side, one below the other
and in several `tabular`s.
"""

import re
from collections import defaultdict
from typing import NamedTuple

NUMBER = re.compile(r"\d+\.\d+")
GAIN = re.compile(r"\([+-]\d+\.\d+\)")
RULE = re.compile(r"\\(?:top|mid|bottom)rule|\\hline|\\cmidrule(?:\(\w+\))?\{[^}]*\}")


class Number(NamedTuple):
    """A value and its deviation, as printed; `headers` are what stands above it."""

    row: str
    headers: tuple[str, ...]
    value: float
    deviation: float | None


class Table(NamedTuple):
    labels: list[str]
    caption: str
    numbers: list[Number]


def tables(source):
    """Give every table environment that holds numbers."""
    found = [_table(part) for part in _environments(source, r"table\*?")]
    return [table for table in found if table.numbers]


def section(source, label):
    """Give the text from a label to the next section."""
    start = source.index(f"\\label{{{label}}}")
    return re.split(r"\\(?:sub)*section\b", source[start:])[0]


def labels(source, *kinds):
    return [each for each in re.findall(r"\\label\{([^}]*)\}", source) if each.startswith(kinds)]


def _table(text):
    caption = _group(text, text.index(r"\caption") + len(r"\caption"))[0]
    numbers = [each for part in _environments(text, "tabular") for each in _numbers(part)]
    return Table(labels(text, ""), caption, numbers)


def _environments(text, name):
    return re.findall(rf"(?s)\\begin\{{{name}\}}(.*?)\\end\{{{name}\}}", text)


def _numbers(tabular):
    """Keep the headers above until other headers come; a line with a number is a row."""
    headers, numbers, closed = [], [], False
    body = _group(tabular, 0)[1]
    for line in re.split(r"\\\\", RULE.sub("", body)):
        cells = [each for cell in re.split(r"(?<!\\)&", line) for each in _spread(cell)]
        if any(NUMBER.search(cell) for cell in cells):
            numbers += _of_row(cells, headers)
            closed = True
        elif any(cell.strip() for cell in cells):
            headers = [cells] if closed else [*headers, cells]
            closed = False
    return numbers


def _of_row(cells, headers):
    """Read a value under each header; what stands under the same headers belongs together."""
    below = defaultdict(str)
    for position, cell in enumerate(cells[1:], 1):
        above = (header[position] for header in headers if position < len(header))
        below[tuple(filter(None, map(plain, above)))] += cell
    for above, cell in below.items():
        value, *deviation = map(float, NUMBER.findall(GAIN.sub("", cell)))
        assert len(deviation) == len(re.findall(r"\\pm|\+-", cell)) <= 1, cell
        yield Number(plain(cells[0]), above, value, *(deviation or [None]))


def _spread(cell):
    """Repeat a cell over several columns as often as there are columns."""
    if r"\multicolumn" not in cell:
        return [cell]
    count, rest = _group(cell, cell.index(r"\multicolumn") + len(r"\multicolumn"))
    text, behind = _group(_group(rest, 0)[1], 0)
    return [text + behind] * int(count)


def _group(text, start):
    """Give what the first braces from `start` on enclose, and what comes behind them."""
    start = text.index("{", start)
    depth = 0
    for position in range(start, len(text)):
        escaped = text[position - 1] == "\\"
        depth += 0 if escaped else {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[start + 1 : position], text[position + 1 :]
    raise ValueError(f"the braces from {text[start : start + 40]!r} on are not closed")


def plain(cell):
    """Give the words of a cell, without commands, braces and dollars."""
    words = cell.replace(r"\beta", "beta").replace(r"\rightarrow", "->")
    words = re.sub(r"\\(?=[%&])", "", words)
    words = re.sub(r"\\[a-z]+|[{}$]", "", words).replace(" sampling", "")
    return re.sub(r"\s*\+\s*", "+", " ".join(words.split()))
