"""compare: methods x shares kept x seeds on one data set, each trained and evaluated."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from torch import nn

from dualprune.arguments import checked
from dualprune.data import Columns, Images, load, only_readable, validation_split
from dualprune.errors import InputError
from dualprune.experiments.accuracy import cost_table
from dualprune.experiments.grid import Grid, Row, same_cost, stated
from dualprune.experiments.present import present, tabulate
from dualprune.experiments.results import Line
from dualprune.experiments.runner import OURS, InThisProcess, missing, run, run_loaded, workplace
from dualprune.experiments.search import candidates, most_trainings
from dualprune.experiments.setting import Setting
from dualprune.experiments.table import Table, as_markdown
from dualprune.files import on_disk, refuse_foreign, seal
from dualprune.method import Method, check_epochs, features_for, signals_for
from dualprune.run.signals import DEFAULT
from dualprune.select import budget
from dualprune.select.budget import share_of
from dualprune.train import Watch, silent
from dualprune.train.setup import refuse_size
from dualprune.workflows.given import given_data, name_of
from dualprune.workflows.request import check_request


@dataclass(frozen=True)
class Comparison:
    """Tables of what was compared, the lines of `results.jsonl` behind them, and the figures."""

    lines: list[Line]
    tables: list[Table]
    figures: list[Path]

    def __str__(self) -> str:
        return "\n".join(as_markdown(table) for table in self.tables)


@checked
def compare(
    data: Any,
    *,
    out: str | os.PathLike[str],
    text: str | None = None,
    label: str | None = None,
    ignore: Sequence[str] = (),
    methods: Sequence[str | Method] = ("dual+beta", "random"),
    keep: Sequence[float | str] = (0.5, 0.3, 0.1),
    prune: Sequence[float | str] = (),
    seeds: int = 3,
    model: str | nn.Module = "auto",
    recipe: str = "auto",
    size: int | None = None,
    download: bool = False,
    processes: int | None = 1,
    tell: Callable[[str], None] = lambda line: None,  # noqa: ARG005
    watch: Watch = silent,
) -> Comparison:
    """Train on all the data and on what each method keeps; one recording per seed serves them all.

    Beside them stand two ways that cost as much as training on what is kept and record nothing:
    all the data for fewer epochs, and another random part in every epoch.

    Where there are no test images, a tenth of every class is held out from the start. If it is
    interrupted, call it again: it resumes.

    Parameters
    ----------
    data
        As `prune` takes it.
    text, label, ignore
        Which columns of a file or table of rows hold the text and the label, and which to leave
        out.
    methods
        Names such as ``el2n`` or ``ccs``, or a `Method`, also with functions of your own. ``auto``
        tries candidates on held-out parts of the training data, for every seed and share by itself.
    keep
        How much to keep, each 0.3, "30%" or a number of samples.
    prune
        How much to prune, likewise, beside what `keep` says.
    seeds
        How often to repeat everything.
    model, recipe
        What to train and how; `auto` chooses by the data and the machine.
    size
        Side in pixels of the squares that the model sees of image files, if not the recipe's.
    processes
        How many trainings at a time, None for one per core. More than one are processes that
        import the calling script, which must then start under ``if __name__ == "__main__":``, and
        can be given functions of modules only.
    tell, watch
        Progress: a line after every training; the epochs of those in this process.
    """
    out = on_disk(out)
    columns = Columns(text, label, tuple(ignore))
    data = given_data(data, columns)
    wanted = [{"keep": part} for part in keep] + [{"prune": part} for part in prune]
    how = check_request(methods, wanted, model, recipe, data, columns, size=size)
    refuse_foreign(out, *OURS)
    samples, test = (
        load(data, download=download, out=out, size=how.decoded, columns=columns)
        if isinstance(data, str | Path)
        else (data, None)
    )
    refuse_size(samples, size)
    judged_on, samples = "test", only_readable(samples)
    if test is None:  # held out from the start, so that all methods choose as many of the same
        samples, test = validation_split(samples, 0.1, seed=0)
        judged_on = "validation"
    budgets = dict.fromkeys(budget(len(samples), **amount) for amount in wanted)
    setting = Setting.of(
        "compare", how, samples, test, seeds=seeds, model=model, judged_on=judged_on
    )
    seen = f" of {how.size} x {how.size}" if isinstance(samples, Images) and samples.files else ""
    setting = replace(setting, about=f"{Path(name_of(data)).name}{seen}, {setting.about}")
    grid = grid_of(setting, methods, [share_of(k, len(samples)) for k in budgets])
    if cells := sum(cell.row.is_auto for cell in missing(grid, out)):
        most = most_trainings(len(candidates(setting, grid.pruned[0])))
        tell(f"auto: at most {most} trainings for each of {cells} shares and seeds")
    return run_and_present(grid, out, processes, tell, watch)


def grid_of(
    setting: Setting,
    methods: Sequence[str | Method],
    pruned: Sequence[float],
    *,
    title: str = "Methods compared",
) -> Grid:
    """Give a grid of these methods, with a setting that records what they need."""
    rows = tuple(_row(method, pruned) for method in dict.fromkeys(methods))
    if twice := [name for name, count in Counter(row.name for row in rows).items() if count > 1]:
        raise InputError(
            f"two different methods are called {twice[0]!r}; give one of them another name: "
            "Method(..., name=...)"
        )
    static = [row.method_at(setting, share) for row in rows if row.is_static for share in pruned]
    if any(row.is_auto for row in rows):
        static += [method for share in pruned for method in candidates(setting, share).values()]
    check_epochs(static, setting.record)
    also = [name for name in signals_for(static) if name not in DEFAULT]
    setting = replace(setting, features=features_for(static, setting.record), also=also)
    return Grid(
        name=setting.name,
        kind="accuracy",
        title=title,
        setting=setting,
        rows=rows + same_cost(rows),
        pruned=tuple(pruned),
        seeds=setting.seeds,
        model=setting.model,
        whole=True,
    )


def _row(method: str | Method, pruned: Sequence[float]) -> Row:
    """InfoBatch skips of its easy samples what is pruned, up to nine tenths; IES has no share."""
    name = method if isinstance(method, str) else method.name
    skipped = {str(share): min(round(share, 12), 0.9) for share in pruned}
    return Row(name, method, dynamic={"prune": skipped} if method == "infobatch" else {})


def run_and_present(
    grid: Grid, out: Path, processes: int | None, tell: Callable[[str], None], watch: Watch
) -> Comparison:
    """Train what is missing, see how much methods agree, and write tables and figures."""
    lines = run_loaded(grid, out, processes=processes, tell=tell, watch=watch)
    agreement = _agreement(grid)
    agreed = run(agreement, out, pool=InThisProcess())
    figures = present(grid, lines, out, workplace(out))
    tables = [tabulate(grid, lines), cost_table(grid, lines), tabulate(agreement, agreed)]
    return Comparison(lines, [table for table in tables if table and table.rows], figures)


def _agreement(grid: Grid) -> Grid:
    """Give the grid that compares what the static methods keep and how their seeds rank.

    Every line depends on all rows and seeds, so with others it has lines of its own.
    """
    static = tuple(row for row in grid.rows if row.is_static)
    compared = {"rows": [stated(row) for row in static], "seeds": grid.seeds}
    return replace(
        grid,
        name=f"{grid.name}, agreement",
        kind="agreement",
        title="How much they agree",
        rows=static,
        scale=seal(compared)[:16],
        whole=False,
        pairs=list(combinations([row.name for row in static], 2)),
    )
