"""What was chosen, in the hands of others: pandas, Polars and DuckDB see the same table."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from dualprune import Coreset, Recorder, choose

COLUMNS = ["id", "label", "score", "confidence", "why", "kept"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    noise, ids = torch.Generator().manual_seed(0), torch.arange(200)
    with Recorder(folder / "run", samples=200, classes=4) as recorder:
        for _ in range(12):
            recorder.update(torch.randn(200, 4, generator=noise), ids % 4, ids)
            recorder.end_epoch()
    coreset = choose(folder / "run", "dual+beta", keep=60)
    return coreset, coreset.save(folder / "small") / "coreset.parquet"


def by_pandas(file):
    return pd.read_parquet(file).to_dict("list")


def by_polars(file):
    return pl.read_parquet(file).to_dict(as_series=False)


def by_duckdb(file):
    found = duckdb.sql(f"FROM '{file}'")
    return dict(zip(found.columns, map(list, zip(*found.fetchall(), strict=True)), strict=True))


@pytest.mark.parametrize("read", [by_pandas, by_polars, by_duckdb])
def test_the_same_table_opens_everywhere(saved, read):
    coreset, file = saved
    table = read(file)
    assert list(table) == COLUMNS
    assert table["id"] == list(range(200))
    kept = [i for i, kept in zip(table["id"], table["kept"], strict=True) if kept]
    assert kept == coreset.ids.tolist()
    np.testing.assert_array_equal(table["score"], coreset.columns["score"])
    assert {why for why, kept in zip(table["why"], table["kept"], strict=True) if kept} == {
        "sampled"
    }


def test_ids_are_sorted_and_contiguous_as_datasets_likes_them(saved):
    """Selecting rows of an Arrow table is fast only where the ids ascend."""
    ids = Coreset.load(saved[1].parent).ids
    assert ids.dtype == np.int64
    assert ids.flags["C_CONTIGUOUS"]
    assert (np.diff(ids) > 0).all()
