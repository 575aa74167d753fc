"""`dualprune import`: what other tools wrote, as a run."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from dualprune import DamagedError, InputError, MissingError, Run, choose
from dualprune.integrations.importers import import_run
from tests.batches import DEFAULT, batch, reference
from tests.commands import dualprune
from tests.run_by_hand import trajectories

EPOCHS, SAMPLES = 12, 40


@pytest.fixture
def loss():
    return trajectories(EPOCHS, SAMPLES).astype(np.float32)


def save(path, columns):
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        tab = {"delimiter": "\t"} if path.suffix == ".tsv" else {}
        pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(**tab))
    return path


def shuffled(columns):
    order = np.random.default_rng(0).permutation(len(columns["id"]))
    return {name: np.asarray(column)[order] for name, column in columns.items()}


def long(loss, **more):
    epochs, samples = loss.shape
    columns = {
        "id": np.tile(np.arange(samples), epochs),
        "epoch": np.repeat(np.arange(epochs), samples),
        "loss": loss.ravel(),
    }
    return columns | more


@pytest.mark.parametrize("end", ["csv", "tsv", "parquet"])
def test_a_long_table_becomes_the_run_of_its_losses(tmp_path, loss, end):
    path = save(tmp_path / f"losses.{end}", shuffled(long(loss)))
    run = import_run(path, tmp_path / "run")
    np.testing.assert_allclose(run["loss"], loss, rtol=1e-6)
    assert (run.classes, run.description.notes) == (None, f"imported from losses.{end}")
    assert len(choose(run, "dual+beta", keep=9)) == 9


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_wide_table_of_probabilities_becomes_losses(tmp_path, loss, end):
    columns = {f"prob_{epoch + 1}": np.exp(-loss[epoch]) for epoch in reversed(range(EPOCHS))}
    labels = np.array(["cat", "dog"])[np.arange(SAMPLES) % 2]
    path = save(tmp_path / f"p.{end}", {"label": labels, **columns})
    run = import_run(path, tmp_path / "run")
    np.testing.assert_allclose(run["loss"], loss, rtol=1e-4, atol=1e-6)
    assert run.description.class_names == ["cat", "dog"]
    assert run["labels"].tolist() == [i % 2 for i in range(SAMPLES)]


def test_ids_that_are_text_become_names_in_the_order_in_which_they_come(tmp_path, loss):
    columns = long(loss, id=np.tile([f"text-{SAMPLES - i}" for i in range(SAMPLES)], EPOCHS))
    run = import_run(save(tmp_path / "a.csv", columns), tmp_path / "run")
    assert run.names["name"][:2].tolist() == ["text-40", "text-39"]
    np.testing.assert_allclose(run["loss"], loss, rtol=1e-6)
    assert choose(run, keep=9).columns["name"][0] == "text-40"


def test_rows_and_cells_that_are_missing_are_missing(tmp_path):
    path = tmp_path / "losses.csv"
    path.write_text("id,epoch,loss,label\n0,5,0.5,1\n2,5,,1\n0,6,0.25,1\n3,6,1,0\n")
    run = import_run(path, tmp_path / "run")
    nan = np.nan
    np.testing.assert_array_equal(run["loss"], [[0.5, nan, nan, nan], [0.25, nan, nan, 1]])
    assert run["labels"].tolist() == [1, -1, -1, 0]


@pytest.mark.parametrize("values", ["loss", "prob"])
def test_an_array_of_losses_or_probabilities(tmp_path, loss, values):
    np.save(tmp_path / "a.npy", loss if values == "loss" else np.exp(-loss))
    np.save(tmp_path / "y.npy", np.arange(SAMPLES) % 3)
    run = import_run(tmp_path / "a.npy", tmp_path / "run", values=values, labels=tmp_path / "y.npy")
    np.testing.assert_allclose(run["loss"], loss, rtol=1e-4, atol=1e-6)
    assert run.classes == 3


def logits_of(epoch):
    return batch(SAMPLES, 3, seed=epoch)[0], batch(SAMPLES, 3, seed=0)[1]


def check_signals(run, epochs=EPOCHS):
    assert run.epochs == epochs
    for name in DEFAULT:
        expected = [reference(*logits_of(epoch))[name].numpy() for epoch in range(epochs)]
        np.testing.assert_allclose(run[name], expected, rtol=1e-4, atol=1e-5, err_msg=name)
    assert run["labels"].tolist() == logits_of(0)[1].tolist()


def test_probabilities_of_all_classes_become_all_signals(tmp_path):
    p = np.stack([logits_of(epoch)[0].softmax(1).numpy() for epoch in range(EPOCHS)])
    np.save(tmp_path / "p.npy", p)
    np.save(tmp_path / "y.npy", logits_of(0)[1].numpy())
    check_signals(import_run(tmp_path / "p.npy", tmp_path / "run", labels=tmp_path / "y.npy"))


@pytest.mark.parametrize("given", ["", "npy"])
def test_a_folder_of_tdds_or_dual_gives_all_signals_and_the_labels(tmp_path, given):
    folder = tmp_path / "saved" / "npy"
    folder.mkdir(parents=True)
    for epoch in range(EPOCHS):
        logits, labels = logits_of(epoch)
        order = np.random.default_rng(epoch).permutation(SAMPLES)
        loss = reference(logits, labels)["loss"].numpy().astype(np.float32)
        # its own training saves no first epoch: the folder is not there yet
        for name, array in {
            "Loss": loss,
            "Output": logits.numpy(),
            "Index": np.arange(SAMPLES),
        }.items():
            np.save(folder / f"{epoch + 1}_{name}.npy", array[order])
    check_signals(import_run(tmp_path / "saved" / given, tmp_path / "run"))
    np.save(folder / "3_Loss.npy", np.load(folder / "3_Loss.npy")[::-1])
    with pytest.raises(InputError, match=r"the losses of sample .* are not those of its outputs"):
        import_run(folder, tmp_path / "other")
    (folder / "4_Loss.npy").unlink()
    with pytest.raises(InputError, match=r"lacks epoch 4: 4_Loss.npy"):
        import_run(folder, tmp_path / "other")


def test_cartography_gives_all_signals_and_guids_become_names(tmp_path):
    folder = tmp_path / "training_dynamics"
    folder.mkdir()
    for epoch in range(EPOCHS):
        logits, labels = logits_of(epoch)
        with (folder / f"dynamics_epoch_{epoch}.jsonl").open("w") as file:
            for i in range(SAMPLES):
                row = {"guid": f"g{i}", f"logits_epoch_{epoch}": logits[i].tolist()}
                file.write(json.dumps({**row, "gold": int(labels[i])}) + "\n")
    run = import_run(tmp_path, tmp_path / "run")
    check_signals(run)
    assert run.names["name"].tolist() == [f"g{i}" for i in range(SAMPLES)]


AUM = """sample_id,num_measurements,target_logit,target_val,other_logit,other_val,margin,aum
s1,1,0,3.74,2,2.48,1.26,1.26
s1,2,0,4.59,2,3.44,1.15,1.205
s2,1,1,-0.09,0,3.11,-3.2,-3.2
"""


def test_aum_records_give_margins_and_rivals_and_no_dual(tmp_path):
    (tmp_path / "full_aum_records.csv").write_text(AUM)
    run = import_run(tmp_path, tmp_path / "run")
    np.testing.assert_allclose(run["margin"], [[1.26, -3.2], [1.15, np.nan]], rtol=1e-6)
    assert run["rival"].tolist() == [[2, 0], [2, -1]]
    assert run["labels"].tolist() == [0, 1]
    with pytest.raises(MissingError, match="there is no 'target_prob'"):
        choose(run, "dual+beta", keep=0.5)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "a.csv",
            "id,epoch,accuracy\n0,1,2\n",
            r"columns id, epoch, accuracy. Name them id, epoch",
        ),
        ("a.csv", "sample_id,aum\ns1,2\n", "holds sums only: make AUMCalculator with compressed"),
        ("a.csv", "id,epoch,loss\n", "has no rows"),
        ("a.csv", "id,epoch,loss\n0,1,2\n0,1,3\n", "sample 0 occurs twice in epoch 1"),
        ("a.csv", "id,epoch,loss\nx,1,2\nx,1,3\n", "sample 'x' occurs twice in epoch 1"),
        ("a.csv", "id,epoch,loss\n0,1,-2\n", "the loss of id 0 is -2.0"),
        ("a.csv", "id,epoch,loss\n0,1,high\n", "loss must be an array of real numbers"),
        ("a.csv", "id,epoch,prob\n0,1,1.5\n", r"prob must be from 0 to 1, got 1.5; is it a loss\?"),
        ("a.csv", "id,epoch,loss\n0,1.5,1\n", "epoch must be whole numbers"),
        ("a.csv", "id,epoch,loss\n0,,1\n1,1,1\n", "1 rows have no epoch"),
        (
            "a.csv",
            "id,epoch,loss\n7000,1,1\n",
            "ids from 7000 to 7000 of 1 samples are no positions",
        ),
        ("a.csv", "id,epoch,loss,label\n0,1,1,0\n0,2,1,1\n", "sample 0 has two different labels"),
        ("a.csv", "id,epoch,loss,label\n0,1,1,-1\n", "label -1 is no class"),
        ("a.csv", "id,epoch,margin,rival,label\n0,1,1,1,cat\n", "rival is the number of a class"),
        ("a.csv", "loss_1,loss_2,margin_1\n1,1,1\n", "margin has not all of the epochs 1-2"),
        ("a.csv", "id,epoch,loss\n0,1\n", "a.csv is damaged"),
        ("a.txt", "1 2 3", "nothing that can be imported; give a .csv"),
        ("a.parquet", "no parquet", "a.parquet is damaged"),
        ("a.npy", "no array", "a.npy is damaged"),
    ],
)
def test_what_cannot_be_imported_is_refused_in_words_and_leaves_nothing(
    tmp_path, name, content, said
):
    (tmp_path / name).write_text(content)
    with pytest.raises((InputError, DamagedError), match=said):
        import_run(tmp_path / name, tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("shape", "more", "said"),
    [
        ((4,), {"values": "loss"}, r"has shape \(4,\); it must be \(epochs, samples\)"),
        ((4, 3), {}, r"say what .* holds with values \(--values\): 'loss' or 'prob'"),
        ((4, 3, 2), {}, "probabilities, which need labels"),
        ((4, 3), {"values": "loss", "labels": "y.npy"}, r"y.npy has shape \(5,\); .* 3 samples"),
        ((4, 5, 2), {"labels": "y.npy"}, "the last axis must be probabilities, which sum to 1"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_in_words(tmp_path, monkeypatch, shape, more, said):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.ones(shape))
    np.save("y.npy", np.zeros(5, int))
    with pytest.raises(InputError, match=said):
        import_run("a.npy", "run", **more)


def test_pickles_are_not_opened(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[{}]], object), allow_pickle=True)
    with pytest.raises(DamagedError, match=r"a.npy is damaged"):
        import_run(tmp_path / "a.npy", tmp_path / "run", values="loss")


def test_the_command_prints_the_path_and_what_is_there(tmp_path, loss):
    path = save(tmp_path / "losses.csv", long(loss))
    code, out, err = dualprune("import", path, "--out", tmp_path / "run")
    assert (code, out) == (0, f"{tmp_path / 'run'}\n")
    assert err == "40 samples, 12 epochs, no labels; loss\n"
    assert Run(tmp_path / "run").epochs == EPOCHS
    code, _, err = dualprune("import", path, "--out", tmp_path / "run")
    assert (code, "already there; choose a new or empty folder" in err) == (2, True)
