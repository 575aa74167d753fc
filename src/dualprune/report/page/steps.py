"""What to do next: the commands and lines of code that a reader of the page can use as they are."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from dualprune.files import Place
from dualprune.report.facts import Facts, card_of_beta
from dualprune.report.page.pack import safe_text
from dualprune.report.page.summary import command, for_classes_of, named_data, select_again
from dualprune.urls import Url

_COUNT = Markup('<span class="count">{}</span>')  # `page.js` puts the number of the slider there


@dataclass(frozen=True)
class Places:
    """Names of the coreset's folder and of the run, as seen from beside that folder."""

    coreset: str
    run: str


def places(facts: Facts, folder: Place | None) -> Places:
    """Name the folders without where they are on this machine; of a store, with their URL."""
    run = facts.run.path
    if folder is None:
        return Places("CORESET", safe_text(_name(run)))
    if isinstance(run, Url) or isinstance(folder, Url):
        return Places(safe_text(_name(folder)), safe_text(_name(run)))
    run, home = run.resolve(), folder.resolve()
    return Places(safe_text(home.name), safe_text(os.path.relpath(run, home.parent)))


def _name(folder: Place) -> str:
    return str(folder) if isinstance(folder, Url) else folder.resolve().name


def steps(facts: Facts, at: Places) -> Iterator[tuple[str, str, str]]:
    """Give title, explanation and code of what can be done next."""
    if _is_demo(facts):
        own = command("prune", "photos", keep=0.5, out="pruned")
        yield "Prune your own images", "From a folder with one sub-folder per class.", own
        return
    if facts.coreset is not None:
        code = f"from dualprune import Coreset\nsmall = Coreset.load({at.coreset!r}).apply(dataset)"
        yield (
            "Train on what was kept",
            "dataset: what was recorded, in the same order (list, array, table, torch dataset).",
            code,
        )
    if another := another_share(facts, at):
        how = "Uses the recording, without training again. The slider below sets the number."
        yield "Keep another share", how, another
    if not facts.labels.judged:
        return
    labels = command("audit", at.run, *_content(facts), review="labels.csv")
    yield (
        "Review the labels",
        "Writes a file to correct in a spreadsheet; then prune again with --labels labels.csv.",
        labels,
    )


def _content(facts: Facts) -> list[str]:
    """Give the flags with which an audit shows the rows of a file, too."""
    training = None if facts.coreset is None else facts.coreset.card.training
    if training is None or not training.flags or not (data := named_data(training)):
        return []
    return ["--data", *data]


def another_share(facts: Facts, at: Places) -> Markup | None:
    """Give the command that keeps what the slider shows, if there is one."""
    if facts.what_if is None or _is_demo(facts):
        return None
    out = f"{at.coreset}-" if _was_pruned(facts) else "small-"
    kept = facts.samples if facts.coreset is None else facts.coreset.card.k
    number = _COUNT.format(max(2, kept // 2))
    words = [f"{_choosing(facts, at)} --keep ", f" --out {shlex.quote(out)}", ""]
    return number.join(words)


def _was_pruned(facts: Facts) -> bool:
    card = card_of_beta(facts.coreset)
    return card is not None and card.training is not None


def _choosing(facts: Facts, at: Places) -> str:
    """Give the command that chooses as the slider does, without its budget."""
    coreset, card = facts.coreset, card_of_beta(facts.coreset)
    if coreset is None or card is None:
        drops = facts.what_if is not None and facts.what_if.unscored == "drop"
        more = {"unscored": "drop"} if drops else {}
        return command("select", "beta", at.run, epochs=facts.epochs, **more)
    training, searched = card.training, card.search is not None  # `prune` takes no c_D
    if training is None or searched or not (data := named_data(training)):
        runs = [at.run, *["RUN"] * (len(card.runs) - 1)]
        return select_again(coreset, runs, seed=card.seed, epochs=card.epochs)
    run = at.coreset if at.run == f"{at.coreset}/run" else at.run
    flags: dict[str, Any] = {"seed": card.seed} if card.seed else {}
    if card.epochs != facts.run.epochs:
        flags["epochs"] = card.epochs
    if training.relabelled:
        flags["labels"] = "corrected.csv"
    flags |= for_classes_of(coreset)
    return command("prune", *data, run=run, **flags)


def classes_of_slider(facts: Facts) -> str:
    """Say what the slider's choice owes to the classes; nothing without labels.

    The rule is that of the command beside it.
    """
    rule = facts.what_if
    if rule is None or not facts.run.classes:
        return ""
    if rule.balance != "none":
        same = {"proportional": "share", "uniform": "number"}[rule.balance]
        return f" (the same {same} of every class)"
    if not rule.floor:
        return " (regardless of class)"
    if isinstance(rule.floor, float):
        return f" (at least {rule.floor:.0%} of each class's fair share)"
    return f" (at least {rule.floor:,} of every class)"


def edit_by_list(facts: Facts, at: Places) -> str | None:
    """Give the command that takes the file of ids which the page saves."""
    if facts.coreset is None or _is_demo(facts):
        return None
    return command("edit", at.coreset, drop="ids.csv", out="edited")


def _is_demo(facts: Facts) -> bool:
    """Tell whether neither the run nor the coreset is where a user could find it."""
    training = None if facts.coreset is None else facts.coreset.card.training
    return training is not None and training.workflow == "demo"
