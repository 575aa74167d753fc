"""DUAL from a run on disk, against pyarrow reading the same columns; and writing an epoch."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.run_by_hand import NOTHING_ODD, start

from benchmarks.timing import SAMPLES, interleaved
from dualprune.files import draft
from dualprune.method import Arrays
from dualprune.run import Run
from dualprune.run.part import write_rows
from dualprune.run.writer import write_part
from dualprune.score import dual

SIGNALS = ("loss", "margin", "rival", "entropy", "error_norm")
EPOCHS = 60

_PEAK = """
import sys
from pathlib import Path
from dualprune.run import Run
from dualprune.method import Arrays
from dualprune.score import dual
Arrays([Run(sys.argv[1])]).score(dual)
status = Path("/proc/self/status").read_text()  # ru_maxrss would count the parent's memory too
print(status.partition("VmHWM:")[2].split()[0])
"""


def _columns(rng: np.random.Generator) -> dict[str, np.ndarray]:
    floats = {name: rng.gamma(1, 1, SAMPLES).astype(np.float32) for name in SIGNALS}
    classes = {name: rng.integers(0, 1000, SAMPLES).astype(np.int32) for name in ("label", "rival")}
    return {"id": np.arange(SAMPLES), "label": classes["label"]} | floats | classes


def _make_run(root: Path, columns: dict[str, np.ndarray]) -> list[Path]:
    attempt = start(root, SAMPLES, 1000, SIGNALS)
    for epoch in range(1, EPOCHS + 1):
        columns["loss"] = np.roll(columns["loss"], 1)
        write_part(attempt, epoch, 0, columns, NOTHING_ODD)
    return sorted(attempt.folder.rglob("*.parquet"))


def _read(files: list[Path]) -> None:
    for file in files:
        pq.read_table(file, columns=["loss"], page_checksum_verification=True)


def _write(table: pa.Table, file: Path) -> None:
    pq.write_table(table, file, compression="none", use_dictionary=False, write_page_checksum=True)


def _part(columns: dict[str, np.ndarray], file: Path) -> None:
    with draft(file.parent, file.name) as content:
        write_rows(content, columns, columns["id"], {})


def rows() -> Iterator[tuple[str, str, str]]:
    columns = _columns(np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as folder:
        root, scratch = Path(folder) / "run", Path(folder) / "scratch.parquet"
        files = _make_run(root, columns)
        table = pa.table(columns)
        best = interleaved(
            {"read": lambda: _read(files), "score": lambda: Arrays([Run(root)]).score(dual)}, 7
        )
        written = interleaved(
            {"pyarrow": lambda: _write(table, scratch), "part": lambda: _part(columns, scratch)}, 7
        )
        size = files[0].stat().st_size
        peak = subprocess.run(
            [sys.executable, "-c", _PEAK, str(root)], capture_output=True, check=True, text=True
        )
    yield "dual from disk / pyarrow read", f"{best['score'] / best['read']:.2f}x", "at most 2x"
    yield "peak memory of dual from disk", f"{int(peak.stdout) / 2**20:.2f} GB", "under 1 GB"
    yield (
        "write a part / pyarrow write",
        f"{written['part'] / written['pyarrow']:.2f}x",
        "at most 2x",
    )
    yield "bytes per sample and epoch", f"{size / SAMPLES:.1f}", "reported (logits: 4,000)"
