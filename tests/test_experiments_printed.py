"""What the files of the experiments say the paper printed, against the paper's source."""

import json
import math
import re
from pathlib import Path

import pytest

from dualprune.experiments.experiment import experiments
from tests.latex_tables import NUMBER, Number, labels, plain, section, tables
from tests.printed import EXPECTED, printed

PAPER = Path(__file__).parents[2] / "shared" / "paper.tex"
ALL = list(experiments().values())

every_experiment = pytest.mark.parametrize("experiment", ALL, ids=lambda each: each.name)
with_paper = pytest.mark.skipif(not PAPER.exists(), reason="the paper's source is not at hand")

# The headers of tables of two halves, by the experiment of the first half.

PANELS = {
    "cifar10": ("CIFAR10", "CIFAR100"),
    "beta-90-cifar10": ("CIFAR-10", "CIFAR-100"),
    "beta-80-cifar10": ("CIFAR-10", "CIFAR-100"),
    "sampling-cifar10": ("CIFAR10", "CIFAR100"),
    "long-tail-cifar10-10": ("10", "100"),
    "long-tail-cifar100-10": ("10", "100"),
}


def panel_of(experiment):
    """Give the header and the position of its half."""
    for first, halves in PANELS.items():
        second = re.sub("10$", "100", first)
        if experiment.name in (first, second):
            position = (first, second).index(experiment.name)
            return {halves[position]}, position
    return set(), 0


def place_of(experiment, row, share):
    """Give the row and the headers under which the paper prints this entry."""
    share, panel = f"{share:.0%}", panel_of(experiment)[0]
    if experiment.kind == "agreement":
        return share, {row}
    if experiment.name.startswith("beta-"):
        header = "beta-Sampling" if row.endswith("+beta") else "Thresholding"
        return row.removesuffix("+beta"), {header} | panel
    return row, {share} | panel


def printed_in(table, experiment, row, share):
    """Give the numbers of a table that belong to this entry."""
    name, headers = place_of(experiment, row, share)
    names = (name, "Ours") if name == "DUAL" else (name,)
    return [n for n in table.numbers if n.row in names and headers <= set(n.headers)]


def is_source(table, experiment):
    sources = experiment.source.split(", ")
    return any(
        source in table.labels or source.removeprefix("table ") in table.caption
        for source in sources
    )


def in_text(source, experiment, value):
    """Say whether a section that the experiment names prints this number."""
    named = [name for name in experiment.source.split(", ") if name.startswith("Appendix_")]
    number = rf"(?<![\d.]){re.escape(f'{value:g}')}(?!\.?\d)"
    return any(re.search(number, section(source, name)) for name in named)


def entries(experiment):
    """Give row, share, value and deviation (or None) of each number in the file."""
    for row, values in experiment.printed.items():
        deviations = experiment.deviations.get(row, [None] * len(experiment.pruned))
        if row != "everything":
            for entry in zip(experiment.pruned, values, deviations, strict=True):
                if not math.isnan(entry[1]):
                    yield (row, *entry)


def compare(experiment, source, paper):
    """Give the numbers of the paper that the file repeats; every number of the file is in it."""
    confirmed = []
    for row, share, value, deviation in entries(experiment):
        same = [
            number
            for table in paper
            if is_source(table, experiment)
            for number in printed_in(table, experiment, row, share)
        ]
        entry = (experiment.name, row, share)
        assert same or (deviation is None and in_text(source, experiment, value)), entry
        assert {(n.value, n.deviation) for n in same} <= {(value, deviation)}, entry
        confirmed += [id(number) for number in same]
    return confirmed


@pytest.fixture(scope="module")
def source():
    return PAPER.read_text("utf-8")


@pytest.fixture(scope="module")
def paper(source):
    return tables(source)


def test_no_printed_number_has_changed_since_it_was_compared_with_the_paper():
    assert printed() == json.loads(EXPECTED.read_text()), (
        "compare with the paper's source at hand, then run `python -m tests.printed`"
    )


@with_paper
@every_experiment
def test_printed_numbers_are_those_of_the_paper(experiment, source, paper):
    compare(experiment, source, paper)


@with_paper
def test_no_number_of_any_table_of_the_paper_is_left_out(source, paper):
    repeated = {number for each in ALL for number in compare(each, source, paper)}
    numbers = [number for table in paper for number in table.numbers]
    assert [number for number in numbers if id(number) not in repeated] == []
    assert len(numbers) == 1207
    assert sum(number.deviation is not None for number in numbers) == 1076
    twice, again, only_in_text = 20, 3, 6  # one table is printed twice, dynamic-noise repeats some
    in_files = sum(len(list(entries(each))) for each in ALL)
    assert in_files == len(numbers) - twice + again + only_in_text


@with_paper
@every_experiment
def test_accuracy_on_all_the_data_is_that_of_the_caption(experiment, paper):
    position = panel_of(experiment)[1]
    captions = [NUMBER.findall(t.caption) for t in paper if is_source(t, experiment)]
    in_caption = {float(numbers[position]) for numbers in captions if numbers}
    everything = experiment.printed.get("everything")
    if everything is None:
        assert not in_caption
    else:
        assert in_caption == {everything}
        assert experiment.deviations.get("everything") is None


@with_paper
def test_every_table_and_figure_of_the_paper_is_an_experiment(source, paper):
    named = {name for each in ALL for name in each.source.split(", ")}
    assert set(labels(source, "fig:", "tab:", "tbl:")) <= named
    assert all(any(is_source(table, each) for each in ALL) for table in paper)
    unknown = named - set(labels(source, ""))
    assert unknown == {"table from ResNet-18 to VGG-16", "our own question"}


# The reader of tables.

LATEX = r"""
\begin{table}[ht]
\caption{\label{tab:a} Two halves. Everything gives 95.30\% and 78.91\%.}
\begin{tabular}{l c@{}c | cc}
\toprule
& \multicolumn{2}{c|}{\textbf{Left}} & \multicolumn{2}{c}{Right} \\
\cmidrule(lr){2-5}
Rate ($\rightarrow$) & \multicolumn{2}{c}{30\%} & 30\% & 50\% \\
\midrule
\textbf{A+ $\beta$ sampling} & \textbf{1.25} & {\scriptsize \num{ +-0.5 }}
& 2.25 & 3.25 \scriptsize{$\pm$ 0.7} \\
B & 4.5 & & 5.5 (+1.25) \scriptsize{$ \pm $0.06 } & \underline{6.5} \\
\end{tabular}
\begin{tabular}{lc}
\multicolumn{2}{c}{C \& D} \\
\hline
70\% & 0.41 \\
\midrule
\multicolumn{2}{c}{E} \\
80\% & 0.31
\end{tabular}
\end{table}
"""


def test_the_reader_finds_each_number_under_its_headers():
    (table,) = tables(LATEX)
    assert (table.labels, NUMBER.findall(table.caption)) == (["tab:a"], ["95.30", "78.91"])
    assert table.numbers == [
        Number("A+beta", ("Left", "30%"), 1.25, 0.5),
        Number("A+beta", ("Right", "30%"), 2.25, None),
        Number("A+beta", ("Right", "50%"), 3.25, 0.7),
        Number("B", ("Left", "30%"), 4.5, None),
        Number("B", ("Right", "30%"), 5.5, 0.06),
        Number("B", ("Right", "50%"), 6.5, None),
        Number("70%", ("C & D",), 0.41, None),
        Number("80%", ("E",), 0.31, None),
    ]


def test_a_number_too_many_under_a_header_is_not_passed_over():
    with pytest.raises(AssertionError, match=r"3\.25"):
        tables(LATEX.replace("3.25", "3.25 9.75"))


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (r"\textbf{DUAL+$\beta$ sampling}", "DUAL+beta"),
        (r" DUAL (R18$\rightarrow$R18) +$\beta$ sampling", "DUAL (R18->R18)+beta"),
        (r"CCS \& DUAL+$\beta$", "CCS & DUAL+beta"),
        (r"$30\%$", "30%"),
    ],
)
def test_words_of_a_cell(cell, words):
    assert plain(cell) == words
