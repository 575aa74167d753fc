"""The kept part of every kind of container: by position, and the same kind comes back."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dualprune import InputError, choose
from dualprune.coreset.taking import Subset, count, take
from tests.run_by_hand import trajectories, write_run


@pytest.fixture
def coreset(tmp_path):
    return choose(write_run(tmp_path / "run", trajectories()), "random", keep=9, seed=3)


def frame(library, columns, rows):
    """Columns as a table, in an order of the index that is not that of the positions."""
    table = pytest.importorskip(library).DataFrame(columns)
    return table.set_index(np.arange(rows)[::-1]) if library == "pandas" else table


def series(library, values):
    return frame(library, {"x": values}, len(values))["x"]


def dataset(values):
    return pytest.importorskip("datasets").Dataset.from_dict({"x": values})


def tensor(values):
    return pytest.importorskip("torch").tensor(values)


KINDS = {
    "list": (list, list),
    "tuple": (tuple, list),
    "array": (np.array, np.ndarray.tolist),
    "masked array": (np.ma.array, lambda x: x.tolist()),
    "tensor": (tensor, lambda x: x.tolist()),
    "pandas Series": (lambda v: series("pandas", v), lambda x: x.tolist()),
    "pandas DataFrame": (lambda v: frame("pandas", {"x": v}, len(v)), lambda x: x["x"].tolist()),
    "pandas Categorical": (lambda v: series("pandas", v).astype("category"), lambda x: x.tolist()),
    "pandas Index": (lambda v: pytest.importorskip("pandas").Index(v), lambda x: x.tolist()),
    "polars Series": (lambda v: series("polars", v), lambda x: x.to_list()),
    "polars DataFrame": (lambda v: frame("polars", {"x": v}, len(v)), lambda x: x["x"].to_list()),
    "pyarrow Table": (lambda v: pa.table({"x": v}), lambda x: x["x"].to_pylist()),
    "pyarrow RecordBatch": (lambda v: pa.record_batch({"x": v}), lambda x: x["x"].to_pylist()),
    "pyarrow Array": (pa.array, lambda x: x.to_pylist()),
    "pyarrow ChunkedArray": (lambda v: pa.chunked_array([v[:2], v[2:]]), lambda x: x.to_pylist()),
    **{
        f"sparse {form}": (
            lambda v, form=form: sparse.coo_array(np.array([v]).T).asformat(form),
            lambda x: x.toarray()[:, 0].tolist(),
        )
        for form in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")
    },
    "sparse matrix": (
        lambda v: sparse.csr_matrix(np.array([v]).T),
        lambda x: x.toarray()[:, 0].tolist(),
    ),
    "datasets.Dataset": (dataset, lambda x: x["x"][:]),
    "dataset": (lambda v: range(v[0], v[0] + len(v)), list),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_the_same_kind_comes_back_by_position(kind, data):
    make, values_of = KINDS[kind]
    first, size = data.draw(st.integers(0, 100)), data.draw(st.integers(2, 30))
    ids = np.array(sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1))))
    values = list(range(first, first + size))
    whole = make(values)
    part = take(whole, ids)
    assert type(part) is (Subset if kind == "dataset" else type(whole))
    assert getattr(part, "dtype", None) == getattr(whole, "dtype", None)
    assert values_of(part) == [values[i] for i in ids]
    assert (count(whole), count(part)) == (size, len(ids))
    assert values_of(take(whole, np.arange(size))) == values


@pytest.mark.parametrize("kind", KINDS)
def test_a_coreset_applies_to_each_kind_and_refuses_another_size(kind, coreset):
    make, values_of = KINDS[kind]
    assert values_of(coreset.apply(make(list(range(40))))) == coreset.ids.tolist()
    with pytest.raises(InputError, match="of 40 samples, the data has 39"):
        coreset.apply(make(list(range(39))))


def test_pandas_keeps_its_index_and_attributes(coreset):
    whole = frame("pandas", {"x": range(40), "y": list("ab") * 20}, 40)
    whole.attrs["source"] = "a file"
    part = coreset.apply(whole)
    assert part.index.tolist() == (39 - coreset.ids).tolist()
    assert part.attrs == {"source": "a file"}
    part.loc[part.index[0], "x"] = -1
    assert whole["x"].min() == 0


def test_arrow_keeps_its_metadata(coreset):
    whole = pa.table({"x": range(40)}).replace_schema_metadata({"source": "a file"})
    assert coreset.apply(whole).schema.metadata == {b"source": b"a file"}


def test_targets_that_are_a_series_are_taken_by_position(coreset):
    class Pictures(list):
        targets = series("pandas", list(range(40)))

    assert Subset(Pictures(), coreset.ids).targets.tolist() == coreset.ids.tolist()


def test_a_part_of_a_dataset_has_parts(coreset):
    part = Subset([*range(40)], coreset.ids)
    assert [*part[2:4]] == [*part[[2, 3]]] == [part[2], part[3]] == coreset.ids[2:4].tolist()


def test_columns_by_name_are_refused_with_what_to_do(coreset):
    with pytest.raises(InputError, match="a dict has no order of samples; give its values"):
        coreset.apply(dict.fromkeys(range(40), "x"))
