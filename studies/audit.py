"""How well `dualprune audit` finds labels that were flipped, beside cleanlab: see `docs/audit.md`.

    pip install cleanlab  # which dualprune itself does not need
    python -m studies.audit RUNS digits fashion-mnist cifar10
    python -m studies.audit

The first trains on the data sets named, keeps what it recorded in the folder RUNS and writes a line
per training, or per five of a cross-validation, into `studies/audit.jsonl`. What is recorded in
RUNS is judged again, what is only in the file is skipped. The second prints the file as tables.
"""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold
from torch import Tensor, nn
from torch.nn.functional import softmax

from dualprune.coreset import WrongLabels
from dualprune.data import flip_labels, load
from dualprune.method import Arrays
from dualprune.record import Recorder
from dualprune.run import Run
from dualprune.score import aum_prob
from dualprune.signatures import Array
from dualprune.suspects import audit
from dualprune.train import Setup
from dualprune.train.epoch import Plan
from dualprune.train.loop import fit, silent
from studies.lines import by_key, put_lines, read_lines, with_deviation

RESULTS = Path(__file__).with_suffix(".jsonl")
KEY = ("data", "share", "seed", "folds")
EPOCHS, FOLDS, IMAGES = 30, 5, 10_000  # the first of a data set that has more
SHARES, SEEDS = (0, 0.02, 0.05, 0.1, 0.2, 0.4), 3
FILTERS = ("prune_by_noise_rate", "low_self_confidence")  # cleanlab's default first
NAMES = {"digits": "digits", "fashion-mnist": "Fashion-MNIST", "cifar10": "CIFAR-10"}
CALLS = {"audit": "audit"} | {
    f"cleanlab {how}, folds": f"cleanlab{short}, 5 folds"
    for how, short in zip(FILTERS, ("", " `low`"), strict=True)
}


class Beliefs(Recorder):
    """Also keeps the probabilities of all classes: their sum over the epochs, and the last ones."""

    def start(self, samples: int, classes: int) -> "Beliefs":
        self.total, self.last = torch.zeros(2, samples, classes, dtype=torch.float64)
        return self

    def update(self, logits: Tensor, labels: Any, ids: Any, features: Tensor | None = None) -> None:
        super().update(logits, labels, ids, features)
        self.last[ids] = softmax(logits.detach().double(), 1)
        self.total[ids] += self.last[ids]


def cells() -> Iterator[tuple[float, int, bool]]:
    """Give noise share, seed and whether to cross-validate, the cheap ones first."""
    for folds in (False, True):
        yield from ((share, seed, folds) for seed in range(SEEDS) for share in SHARES)


def study(runs: Path, data: str) -> None:
    """Train what is neither in the file nor in RUNS yet, and judge what is in RUNS."""
    images, test = load(data, download=True)
    images = images.take(np.arange(len(images))[:IMAGES])
    for cell in cells():
        folder = runs / "-".join(map(str, (data, *cell)))
        file = folder / "probabilities.npz"
        if (data, *cell) in results() and not file.exists():
            continue
        share, seed, folds = cell
        labels, flipped = flip_labels(images.labels, share, len(images.class_names), seed)
        noisy, recipe = replace(images, labels=labels), "auto" if data == "digits" else "small"
        if not file.exists():  # what was interrupted is trained anew
            shutil.rmtree(folder, ignore_errors=True)
            setup = Setup.of(noisy, test, name=data, recipe=recipe)
            np.savez(file, **(cross_validated if folds else one_training)(setup, folder, seed))
        row = dict(zip(KEY, (data, *cell), strict=True)) | {"samples": len(labels)}
        row |= judged(labels, flipped, folder, dict(np.load(file)))
        put_lines(RESULTS, [row], KEY)  # another process may have added some meanwhile


def train(
    setup: Setup, ids: Array, folder: Path, seed: int, recorder: Recorder | None = None
) -> tuple[nn.Module, float]:
    """Train as `dualprune record` does; give the model and the seconds that it took."""
    model = setup.fresh_model(seed)
    done = fit(
        *(model, setup.batches, Plan(setup.recipe, ids, setup.recipe.batch, EPOCHS, EPOCHS, seed)),
        folder=folder / "checkpoint",
        settings=setup.settings(seed=seed),
        recorder=None if recorder is None else lambda _: recorder,
        tell=silent(""),
    )
    shutil.rmtree(folder / "checkpoint")
    return model, sum(epoch.seconds for epoch in done.history)


def one_training(setup: Setup, folder: Path, seed: int) -> dict[str, Any]:
    """Give the mean and the last probabilities of a training that saw all samples."""
    samples, classes = len(setup.data), len(setup.data.class_names)
    recorder = Beliefs(folder, samples=samples, classes=classes).start(samples, classes)
    _, seconds = train(setup, np.arange(samples), folder, seed, recorder)
    total, last = recorder.total.numpy(), recorder.last.numpy()
    return {"mean": total / EPOCHS, "last": last, "seconds": seconds}


def cross_validated(setup: Setup, folder: Path, seed: int) -> dict[str, Any]:
    """Give each sample the probabilities of a model that did not see it, as cleanlab recommends."""
    labels, seconds = setup.data.labels, 0.0
    found = np.zeros((len(labels), len(setup.data.class_names)))
    for rest, fold in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(labels, labels):
        model, took = train(setup, rest, folder, seed)
        model.eval()
        with torch.no_grad():
            raw = setup.batches.raw(torch.from_numpy(fold).split(500))
            logits = torch.cat([model(setup.batches.normalised(part)) for part in raw])
        found[fold], seconds = softmax(logits.double(), 1).numpy(), seconds + took
    return {"folds": found, "seconds": seconds}


def judged(
    labels: Array, flipped: Array, folder: Path, probabilities: dict[str, Array]
) -> dict[str, Any]:
    """Give what each score ranks lowest, and what each decision calls wrong, against the truth."""
    from cleanlab.filter import find_label_issues  # noqa: PLC0415 - printing does not need it
    from cleanlab.rank import get_label_quality_scores  # noqa: PLC0415

    wrong = np.isin(np.arange(len(labels)), flipped)
    seconds = round(float(probabilities.pop("seconds")), 1)
    scores, calls, more = {}, {}, {}
    if "folds" not in probabilities:
        scores, calls, wrong_labels = from_recording(Run(folder))
        more = {"estimate": [wrong_labels.estimate, wrong_labels.low, wrong_labels.high]}
    for name, each in probabilities.items():
        for method in ("self_confidence", "normalized_margin"):
            quality = get_label_quality_scores(labels, each, method=method)
            scores[f"cleanlab {method}, {name}"] = quality
        for how in () if name == "last" else FILTERS:
            issue = find_label_issues(labels, each, filter_by=how, n_jobs=1)
            calls[f"cleanlab {how}, {name}"] = issue
    ranked = {name: ranking(score, wrong) for name, score in scores.items()} if len(flipped) else {}
    called = {name: [int(c.sum()), int((c & wrong).sum())] for name, c in calls.items()}
    counts = {"flipped": len(flipped), "seconds": seconds, **more}
    return counts | {"ranked": ranked, "called": called}


def from_recording(run: Run) -> tuple[dict[str, Array], dict[str, Array], WrongLabels]:
    """Give the scores that need nothing but what `dualprune record` keeps, and audit's decision."""
    audited = audit(run)
    found = audited.columns
    by_id, arrays = np.argsort(found["id"]), Arrays([run])
    scores = {
        "audit": found["label_quality"][by_id],
        "mean margin, second half": run["margin"][EPOCHS // 2 :].mean(0, dtype=np.float64),
        "mean probability": arrays["confidence"],
        "mean probability margin": arrays.score(aum_prob, {"keep": "easy"}),
        "last probability": run["target_prob"][-1],
        "Dyn-Unc, lowest": arrays["dyn_unc"],
        "DUAL, lowest": arrays["dual"],
        "DUAL, highest": -arrays["dual"],
    }
    return scores, {"audit": found["is_label_issue"][by_id]}, audited.wrong


def ranking(score: Array, wrong: Array) -> list[float]:
    """Share of the wrong among as many lowest, and average precision."""
    lowest = np.argsort(score, kind="stable")[: wrong.sum()]
    return [round(float(wrong[lowest].mean()), 5), round(average_precision_score(wrong, -score), 5)]


def results() -> dict[tuple[Any, ...], dict[str, Any]]:
    """Read what was measured, by cell."""
    return by_key(read_lines(RESULTS), KEY)


def ranks() -> Iterator[str]:
    """Give a table of the flips among as many lowest-ranked labels, in percent, by score."""
    shares, rows = (0.05, 0.2, 0.4), [row for row in results().values() if row["ranked"]]
    cases = [(data, share) for data in NAMES for share in shares]
    yield f"| | {' | '.join(f'{NAMES[data]} {share:.0%}' for data, share in cases)} |"
    yield "|---" * (1 + len(cases)) + "|"
    for name in dict.fromkeys(name for row in rows for name in row["ranked"]):
        found: dict[Any, list[float]] = {case: [] for case in cases}
        for row in rows:
            if name in row["ranked"] and row["share"] in shares:
                found[row["data"], row["share"]].append(row["ranked"][name][0])
        entries = (with_deviation(values, unit=100) for values in found.values())
        yield f"| {name} | {' | '.join(entries)} |"


def estimates() -> Iterator[str]:
    """Give a table of how many labels `audit` takes for wrong, a column per seed."""
    yield f"| data | flipped | {' | '.join(f'seed {seed}' for seed in range(SEEDS))} |"
    yield "|---" * (2 + SEEDS) + "|"
    for data, title in NAMES.items():
        for share in SHARES:
            rows = [results().get((data, share, seed, False)) for seed in range(SEEDS)]
            known = [row for row in rows if row]
            entries = [_estimated(*row["estimate"]) for row in known]
            yield f"| {title} | {known[0]['flipped']:,} | {' | '.join(entries)} |"


def _estimated(estimate: int | None, low: int, high: int) -> str:
    number = "cannot be told" if estimate is None else f"{estimate:,}"
    return f"{number} ({low:,} to {high:,})"


def decisions() -> Iterator[str]:
    """Give a table of what is called wrong: precision, recall, error of the count, in percent."""
    yield f"| data | flipped | {' | '.join(CALLS.values())} |"
    yield "|---" * (2 + len(CALLS)) + "|"
    by_set: dict[str, list[Array]] = {}
    for data, title in NAMES.items():
        for share in SHARES:
            columns = [_called(data, share, name) for name in CALLS]
            if share:
                by_set.setdefault(title, []).append(np.array(columns))
            entries = (_entry(column, share) for column in columns)
            yield f"| {title} | {share:.0%} | {' | '.join(entries)} |"
    means = {f"mean of {name}": np.mean(shares, 0) for name, shares in by_set.items()}
    means["mean of all"] = np.mean([*means.values()], 0)
    for name, columns in means.items():
        yield f"| **{name}** | | {' | '.join(_entry(column, 1) for column in columns)} |"


def _called(data: str, share: float, name: str) -> Array:
    """Precision, recall, error of the count and number of labels called wrong: mean over seeds."""
    rows = [results().get((data, share, seed, "folds" in name)) for seed in range(SEEDS)]
    return np.array([_facts(row, name) for row in rows if row]).mean(0)


def _facts(row: dict[str, Any], name: str) -> list[float]:
    calls, right = row["called"][name]
    count = row["estimate"][0] if name == "audit" else calls
    error = abs((calls if count is None else count) - row["flipped"]) / row["samples"]
    return [right / max(calls, 1), right / max(row["flipped"], 1), error, calls]


def _entry(facts: Array, share: float) -> str:
    return (
        ", ".join(f"{100 * part:.1f}" for part in facts[:3]) if share else f"{facts[3]:,.0f} calls"
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[2:]:
        study(Path(sys.argv[1]), name)
    if len(sys.argv) == 1:
        print(*ranks(), "", *estimates(), "", *decisions(), sep="\n")
