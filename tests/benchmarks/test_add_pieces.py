"""`benchmarks/add_pieces.py`: runs from before pieces were a part of the contents get the hash that they have now."""

import copy
import json
import os
import re
import shutil

import pytest

from elmo_bench.__main__ import main
from elmo_bench.encoders import hf
from elmo_bench.encoders.hf import HfEncoder
from elmo_bench.ledger import RunPaths, read_record
from elmo_bench.ledger.costs import write_cost
from elmo_bench.runner.run import run
from elmo_bench.spec.config import compose
from tests.ledger.records import changed, make_cost, put
from tests.runs import GOLDEN, ROOT, SMALL, VECTORS, files

pytest.importorskip("transformers")
PARTS = "encoder.contextual.parts"


@pytest.fixture
def add_pieces(monkeypatch, capsys):
    """`add_pieces(arguments) -> (exit code, lines)`: the script."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import add_pieces

    def call(*arguments):
        capsys.readouterr()
        code = add_pieces.main([*map(str, arguments)])
        return code, capsys.readouterr().out.splitlines()

    return call


@pytest.fixture(scope="module")
def usual(tiny_bert, tmp_path_factory):
    """`old_and_new` of a transformer alone, made once; see `copied`."""
    return old_and_new(tmp_path_factory.mktemp("usual"), tiny_bert)


def copied(usual, folder):
    """The same in a folder of the test's own."""
    ledger, before, today = usual
    shutil.copytree(ledger.parent, folder, dirs_exist_ok=True)
    return folder / ledger.name, copy.deepcopy(before), copy.deepcopy(today)


def old_and_new(ledger, tiny_bert, *options, encoder="hf"):
    """(the ledger of a run before pieces counted, its record, the record that it has today)."""
    weights = {
        "hf": [f"encoder.name={tiny_bert}"],
        "elmo_bert_mini": [f"{PARTS}.elmo.weights={GOLDEN}", f"{PARTS}.bert_mini.weights={tiny_bert}"],
    }[encoder]
    options = [f"encoder={encoder}", *SMALL, *weights, "store=ram", *options]
    today, _ = run(compose("config", [*options, f"ledger={ledger / 'today'}"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hf, "load", loaded_before)
        before, _ = run(compose("config", [*options, f"ledger={ledger / 'before'}"]))
    return ledger / "before", before, today


def loaded_before(**options):
    """The encoder as loaded before pieces counted."""
    encoder = HfEncoder(**options)
    encoder.checksum = re.sub(" pieces [0-9a-f]{64}", "", encoder.checksum)
    return encoder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoder", "options"),
    [
        ("hf", ()),
        ("elmo_bert_mini", ()),
        pytest.param("hf", ("encoder.contextual.precision=bfloat16",), marks=pytest.mark.slow),
    ],
    ids=["alone", "stack", "rounded"],
)
def test_a_moved_run_is_the_run_of_today(tiny_bert, usual, tmp_path, add_pieces, *, encoder, options):
    if encoder == "hf" and not options:
        ledger, before, today = copied(usual, tmp_path)
    else:
        ledger, before, today = old_and_new(tmp_path, tiny_bert, *options, encoder=encoder)
    assert before.hash != today.hash
    assert add_pieces(ledger, "--weights", tiny_bert) == (0, ["1 records moved"])
    paths = RunPaths.of(ledger, today)
    moved = read_record(paths.record)
    assert moved.spec == today.spec
    other = {"spec", "hash", "kept"}
    assert moved.model_dump(exclude=other) == before.model_dump(exclude=other)
    assert moved.kept.bytes == (paths.folder / moved.kept.file).stat().st_size
    assert files(ledger) == files(tmp_path / "today")
    assert main(["check", str(ledger)]) == 0
    (tmp_path / "text.conll").write_text("Anna O\n\n")
    weights = f"elmo={GOLDEN},bert_mini={tiny_bert}" if encoder == "elmo_bert_mini" else str(tiny_bert)
    out = tmp_path / "out.conll"
    assert main(["predict", str(paths.record), str(tmp_path / "text.conll"), str(out), "--vectors", str(VECTORS),
                 "--weights", weights]) == 0  # fmt: skip
    assert add_pieces(ledger, "--weights", tiny_bert) == (0, ["0 records moved"])


@pytest.mark.slow
@pytest.mark.parametrize("last", ["write_record", "move_work", "unlink"])
def test_a_killed_script_is_started_again(tiny_bert, usual, tmp_path, add_pieces, *, monkeypatch, last):
    """It is killed before it does this, first."""
    ledger, before, today = copied(usual, tmp_path)
    import add_pieces as script

    def kill(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if last == "unlink":
            patch.setattr(type(ledger), "rmdir", kill)
        else:
            patch.setattr(script, last, kill)
        with pytest.raises(KeyboardInterrupt):
            add_pieces(ledger, "--weights", tiny_bert)
    assert RunPaths.of(ledger, before).record.exists()
    assert add_pieces(ledger, "--weights", tiny_bert) == (0, ["1 records moved"])
    assert files(ledger) == files(tmp_path / "today")
    assert read_record(RunPaths.of(ledger, today).record).outcomes == before.outcomes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("files", "made with other files of tiny-bert than are here"),
        ("version", "made with tokenizers 0.1.0, here is"),
        ("unnamed", "where tiny-bert is, no record says"),
        ("present", "is another record of this run"),
    ],
)
def test_a_run_that_may_be_another_stays(tiny_bert, usual, tmp_path, add_pieces, *, change, said):
    ledger, before, today = copied(usual, tmp_path)
    if change == "version":
        older = changed(before, {"environment/packages/tokenizers": "0.1.0"})
        put(RunPaths.of(ledger, before).record, older)
    own = tiny_bert
    if change == "files":
        from tests.tiny_bert import make_tiny_bert

        own = make_tiny_bert(tmp_path / "tiny-bert", seed=1)
    if change == "present":
        os.renames(RunPaths.of(tmp_path / "today", today).folder, RunPaths.of(ledger, today).folder)
    listed = files(ledger)
    code, [moved, problem] = add_pieces(ledger, *([] if change == "unnamed" else ["--weights", own]))
    assert (code, moved) == (1, "0 records moved")
    assert problem.startswith(f"{RunPaths.of(ledger, before).record}: ")
    assert said in problem
    assert files(ledger) == listed


def test_other_runs_stay_and_measurements_move(tiny_bert, tmp_path, add_pieces, elmo_run):
    shutil.copytree(elmo_run[0], tmp_path / "runs")
    encoder = HfEncoder(weights=str(tiny_bert))
    files_alone = encoder.checksum.partition(" ")[0]
    settings = {"encoder.words": "static", "encoder.contextual.kind": "hf", "encoder.contextual.weights": "tiny-bert"}
    cost = make_cost("tiny-bert", settings=settings, contents={"weights": files_alone, "vectors": "a" * 64})
    before = write_cost(tmp_path / "costs", cost)
    other = write_cost(tmp_path / "costs", make_cost())
    listed = files(tmp_path / "runs")
    given = (tmp_path / "runs", "--weights", tiny_bert, "--costs", tmp_path / "costs")
    assert add_pieces(*given) == (0, ["0 records moved"])
    assert files(tmp_path / "runs") == listed
    [path] = {*other.parent.iterdir()} - {other}
    assert path != before
    assert json.loads(path.read_text())["contents"] == {"weights": encoder.checksum, "vectors": "a" * 64}
