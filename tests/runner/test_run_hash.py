"""What makes a run another run: settings, data, weights; and what does not."""

import json
import shutil

import pytest

from elmo_bench.ledger import Record
from elmo_bench.runner.prepare import prepare
from tests.runs import CUTS, GOLDEN, described, run_small, small


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Record:
    """The record of the plain small run."""
    return run_small(tmp_path_factory.mktemp("ledger"))


def hash_of(*overrides, encoder="elmo"):
    """The hash of a run, which reads data and weights and trains nothing."""
    return prepare(*described(*small(*overrides, encoder=encoder))).spec.hash


@pytest.mark.parametrize(
    "overrides",
    [
        ["trainer.threads=2"], ["logger=csv"], ["store=off"], ["store=ram"], [f"data.root={CUTS}/."], ["seed=5"],
        ["overwrite=true"], ["predictions=true"], ["task.training.epochs=2"], ["mix=scalar", "place=input"],
        ["store=disk", "store.folder=elsewhere", "store.max_gb=1"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_changes_no_score_changes_no_hash(finished, overrides):
    assert hash_of(*overrides) == finished["hash"]


@pytest.mark.parametrize(
    "overrides",
    [
        ["task.training.optimizer.lr=0.002"], ["mix=last"], ["mix.penalty=0.0"], ["mix.layer_norm=token"],
        ["task.training.epochs=3"], ["task.training.batch=16"], ["data.max_train=50"], ["vectors.trainable=false"],
        ["task.data.open.dev=emerging.test.annotated"], ["task.version=5"], ["size=paper"],
        ["encoder.contextual.stateful=true", "store=off"],
        ["trainer.precision=bf16-mixed"], ["encoder.words=learned"], ["task.head.dropout=0.4"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_can_change_a_score_changes_the_hash(finished, overrides):
    assert hash_of(*overrides) != finished["hash"]


def copied_weights(folder):
    shutil.copytree(GOLDEN, folder)
    return folder


def test_other_contents_of_the_weights_are_another_run(finished, tmp_path):
    import h5py

    folder = copied_weights(tmp_path / "bilm")
    assert hash_of(f"encoder.weights={folder}") == finished["hash"]
    with h5py.File(folder / "weights.hdf5", "r+") as file:
        file["CNN_proj/b_proj"][0] += 1
    assert hash_of(f"encoder.weights={folder}") != finished["hash"]


def test_options_of_the_weights_are_part_of_them(finished, tmp_path):
    """Only options.json has the clips and the activation, which change every vector."""
    folder = copied_weights(tmp_path / "bilm")
    options = json.loads((folder / "options.json").read_text())
    options["lstm"]["cell_clip"] = 0.1
    (folder / "options.json").write_text(json.dumps(options))
    assert hash_of(f"encoder.weights={folder}") != finished["hash"]


def test_the_folder_of_the_weights_is_no_part_of_the_run_but_their_name_is(finished, tmp_path):
    folder = copied_weights(tmp_path / "elsewhere" / "bilm")
    assert hash_of(f"encoder.weights={folder}") == finished["hash"]
    assert hash_of(f"encoder.weights={folder.rename(folder.with_name('other'))}") != finished["hash"]


def test_the_digest_of_the_data_is_of_all_of_it(finished):
    prepared = prepare(*described(*small("data.max_train=null")))
    assert prepared.spec.contents == finished["spec"]["contents"]
