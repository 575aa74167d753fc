"""What to do next: the commands and lines of code that a reader of the page can use as they are."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from dualprune.report.facts import Facts
from dualprune.report.page.pack import safe_text
from dualprune.report.page.summary import command, select_again

_COUNT = Markup('<span class="count">{}</span>')  # `page.js` puts the number of the slider there


@dataclass(frozen=True)
class Places:
    """Names of the coreset's folder and of the run, as seen from beside that folder."""

    coreset: str
    run: str


def places(facts: Facts, folder: Path | None) -> Places:
    """Name the folders without where they are on this machine."""
    run = facts.run.path.resolve()
    if folder is None:
        return Places("CORESET", safe_text(run.name))
    home = folder.resolve()
    return Places(safe_text(home.name), safe_text(os.path.relpath(run, home.parent)))


def steps(facts: Facts, at: Places) -> Iterator[tuple[str, str, str]]:
    """Give title, explanation and code of what can be done next."""
    if _is_demo(facts):
        own = command("prune", "photos", keep=0.5, out="pruned")
        yield "Prune your own images", "From a folder with one sub-folder per class.", own
        return
    if facts.coreset is not None:
        code = f"from dualprune import Coreset\nsmall = Coreset.load({at.coreset!r}).apply(dataset)"
        yield "Train on what was kept", "An array, or a dataset in the order of the ids.", code
    if another := another_share(facts, at):
        how = "Uses the recording, without training again. The slider below sets the number."
        yield "Keep another share", how, another
    if not facts.labels.judged:
        return
    labels = command("audit", at.run, review="labels.csv")
    yield (
        "Review the labels",
        "Writes suspects to correct in a spreadsheet; then prune with --labels.",
        labels,
    )


def another_share(facts: Facts, at: Places) -> Markup | None:
    """Give the command that keeps what the slider shows, if there is one."""
    if facts.what_if is None or _is_demo(facts):
        return None
    card, out = None if facts.coreset is None else facts.coreset.card, "small-"
    if card is None or (card.score, card.selector) != ("dual", "beta"):
        start = command("select", "beta", at.run, epochs=facts.epochs)
    elif card.training is None:
        runs = [at.run, *["RUN"] * (len(card.runs) - 1)]
        start = select_again(card, runs, seed=card.seed, epochs=card.epochs)
    else:
        run = at.coreset if at.run == f"{at.coreset}/run" else at.run
        seed = {"seed": card.seed} if card.seed else {}
        start = command("prune", safe_text(card.training.data), run=run, **seed)
        out = f"{at.coreset}-"
    number = _COUNT.format(max(2, (facts.samples if card is None else card.k) // 2))
    return number.join([f"{start} --keep ", f" --out {shlex.quote(out)}", ""])


def edit_by_list(facts: Facts, at: Places) -> str | None:
    """Give the command that takes the file of ids which the page saves."""
    if _is_demo(facts):
        return None
    return command("edit", at.coreset, drop="ids.csv", out="edited")


def _is_demo(facts: Facts) -> bool:
    """Tell whether neither the run nor the coreset is where a user could find it."""
    training = None if facts.coreset is None else facts.coreset.card.training
    return training is not None and training.workflow == "demo"
