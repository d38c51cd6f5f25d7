"""Frozen unless asked: what a run changes of its encoder, keeps, predicts with, resumes and records."""

from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.encoders import tuned_memory
from elmo_bench.encoders.tuning import Texts
from elmo_bench.ledger import RunPaths
from elmo_bench.runner.prepare import prepare
from elmo_bench.runner.refit import refit
from elmo_bench.runner.train import build, train
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.training import module
from elmo_bench.training.callbacks import Checkpoints
from elmo_bench.training.quiet import quiet
from tests.runs import CUTS, GOLDEN, VECTORS, described, first_ones, result, run_small, small

TUNE = "encoder.contextual.tune"
FAST = "encoder.tune_lr=0.01"
PART = "embedder.tuned.numbers."


def tuned_run(way, tiny_bert):
    """The options and the encoder of a run that tunes ELMo, or the tiny BERT in this way."""
    if way == "elmo":
        return [f"{TUNE}=full"], "elmo"
    pytest.importorskip("peft")
    return [f"encoder.name={tiny_bert}", f"{TUNE}={way}"], "hf"


@pytest.fixture(scope="module")
def frozen(tmp_path_factory, tiny_bert):
    """The record of the run of the tiny BERT that tunes nothing."""
    options, encoder = tuned_run("full", tiny_bert)
    return run_small(tmp_path_factory.mktemp("frozen"), *options, f"{TUNE}=none", encoder=encoder)


def numbers_of(encoder):
    network = encoder.bilm if hasattr(encoder, "bilm") else encoder.model
    return {name: value.clone() for name, value in network.state_dict().items()}


def trained_encoder(tmp_path, *options, encoder):
    """The numbers of a run's encoder before and after its training."""
    prepared = prepare(*described(*small(*options, encoder=encoder)))
    [encoder] = prepared.frozen.encoders.values()
    before = numbers_of(encoder)
    with quiet():
        train(prepared, tmp_path)
    return before, numbers_of(encoder)


def changed(before, after):
    return {name for name, value in before.items() if not torch.equal(value, after[name])}


@pytest.mark.parametrize("way", first_ones(["elmo", "none"], 1))
def test_a_frozen_encoder_is_equal_bit_for_bit_after_training(tmp_path, tiny_bert, way):
    options, encoder = tuned_run(way, tiny_bert)
    before, after = trained_encoder(tmp_path, *options, f"{TUNE}=none", encoder=encoder)
    assert before
    assert not changed(before, after)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["elmo", "lora", "full"])
def test_a_tuned_encoder_changes_where_it_was_asked_to(tmp_path, tiny_bert, way):
    options, encoder = tuned_run(way, tiny_bert)
    names = changed(*trained_encoder(tmp_path, *options, encoder=encoder))
    some = {
        "elmo": {"characters.embedding", "lstms.0.weight", "lstms.1.bias"},
        "lora": {"encoder.layer.1.attention.self.value.lora_B.default.weight"},
        "full": {"embeddings.word_embeddings.weight", "encoder.layer.1.output.dense.bias"},
    }
    assert some[way] <= names
    assert way != "lora" or all("lora_" in name for name in names)


def test_while_the_head_learns_alone_the_encoder_stays(tmp_path, monkeypatch, tiny_bert):
    monkeypatch.setattr(module, "head_alone", lambda epochs: epochs)
    options, encoder = tuned_run("full", tiny_bert)
    assert not changed(*trained_encoder(tmp_path, *options, encoder=encoder))


@pytest.mark.slow
def test_and_the_run_is_the_frozen_one(tmp_path, monkeypatch, tiny_bert, frozen):
    monkeypatch.setattr(module, "head_alone", lambda epochs: epochs)
    options, encoder = tuned_run("full", tiny_bert)
    rested = run_small(tmp_path, *options, encoder=encoder)
    assert rested.curves.train_loss == pytest.approx(frozen.curves.train_loss, rel=1e-5)


@pytest.mark.parametrize("way", first_ones(["lora", "full"], 1))
def test_the_record_says_what_was_trained_and_the_head_keeps_it(tmp_path, tiny_bert, frozen, way):
    options, encoder = tuned_run(way, tiny_bert)
    record = run_small(tmp_path, *options, encoder=encoder)
    assert frozen.parameters.tuned is None
    assert "tuned" not in frozen.to_json()["parameters"]
    tuned = record.parameters.tuned
    head = load_file(RunPaths.of(tmp_path, record).work / "head.safetensors")
    kept = {name: values for name, values in head.items() if name.startswith(PART)}
    assert tuned.way == way
    assert tuned.count == sum(values.numel() for values in kept.values())
    assert record.parameters.trainable == frozen.parameters.trainable + tuned.count
    whole = record.parameters.trainable + record.parameters.frozen
    new = tuned.count if way == "lora" else 0
    assert whole == frozen.parameters.trainable + frozen.parameters.frozen + new
    assert record.changes[TUNE] == way
    assert record.spec.contents == frozen.spec.contents
    assert record.hash != frozen.hash


@pytest.mark.slow
@pytest.mark.parametrize("way", first_ones(["lora", "elmo", "full"], 1))
def test_predict_reads_with_the_tuned_encoder(tmp_path, tiny_bert, way):
    options, encoder = tuned_run(way, tiny_bert)
    options += ["predictions=true", "data.max_train=200", "encoder.tune_lr=0.05"]
    record = run_small(tmp_path / "runs", *options, encoder=encoder)
    weights = GOLDEN if way == "elmo" else tiny_bert
    paths = RunPaths.of(tmp_path / "runs", record)
    text, out = CUTS / "wnut17" / "emerging.test.annotated", tmp_path / "out.conll"
    given = ["--weights", str(weights), "--vectors", str(VECTORS)]
    assert main(["predict", str(paths.record), str(text), str(out), *given]) == 0
    assert out.read_bytes() == (paths.work / "test.predictions.conll").read_bytes()
    # With zeros in place of the tuned numbers the answers differ.
    head = paths.work / "head.safetensors"
    about, tensors = _contents(head)
    assert any(name.startswith(PART) for name in tensors)
    _write(head, about, {name: values * (0 if name.startswith(PART) else 1) for name, values in tensors.items()})
    assert main(["predict", str(paths.record), str(text), str(out), "--overwrite", *given]) == 0
    assert out.read_bytes() != (paths.work / "test.predictions.conll").read_bytes()


def _contents(path):
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        return file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def _write(path, about, tensors):
    from safetensors.torch import save_file

    save_file(tensors, path, about)


@pytest.mark.slow
@pytest.mark.parametrize("way", first_ones(["full", "elmo", "lora"], 1))
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path, tiny_bert, monkeypatch, way):
    options, encoder = tuned_run(way, tiny_bert)
    options += [FAST, "task.training.epochs=3"]
    whole = run_small(tmp_path / "whole", *options, encoder=encoder)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        write, ends = Checkpoints.on_train_epoch_end, count(1)

        def stop(*given):
            write(*given)
            if next(ends) == 2:
                raise KeyboardInterrupt

        patch.setattr(Checkpoints, "on_train_epoch_end", stop)
        run_small(tmp_path / "runs", *options, encoder=encoder)
    record = run_small(tmp_path / "runs", *options, encoder=encoder)
    assert result(record) == result(whole)
    assert record.curves.train_loss == whole.curves.train_loss
    ours, theirs = (
        load_file(RunPaths.of(tmp_path / folder, each).work / "head.safetensors")
        for folder, each in (("runs", record), ("whole", whole))
    )
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(values, theirs[name]) for name, values in ours.items())


def test_coreference_tunes_on_the_sentences_of_a_document_that_it_reads(tmp_path, monkeypatch):
    read = []
    whole = Texts.layers
    monkeypatch.setattr(Texts, "layers", lambda texts, tuned: read.append(texts) or whole(texts, tuned))
    spec, setup = described("task=coref", f"encoder.weights={GOLDEN}", f"{TUNE}=full", "data.max_train=2")
    trained = build(prepare(spec, replace(setup, vectors=str(VECTORS), suite_vectors=str(VECTORS))))
    head = trained.module.head.train()
    batch = next(iter(trained.loaders.loader("train")))
    head.loss(batch).backward()
    assert read
    assert all(parameter.grad is not None for parameter in head.embedder.tuned.parameters())


@pytest.mark.slow
def test_a_refit_starts_from_the_encoder_as_it_was(tmp_path):
    """The same head and encoder result whether or not the run was trained before."""
    described_run = described(*small(f"{TUNE}=full", FAST, encoder="elmo"))
    numbers = []
    for folder in ("trained", "fresh"):
        prepared = prepare(*described_run)
        with quiet():
            if folder == "trained":
                train(prepared, tmp_path / folder)
            module_ = refit(prepared, 1, tmp_path / folder).trained.module
        numbers.append(module_.head.state_dict())
    ours, theirs = numbers
    assert any(name.startswith(PART) for name in ours)
    assert all(torch.equal(values, theirs[name]) for name, values in ours.items())


def test_none_is_no_setting():
    usual, asked = (described(*small(*options))[0] for options in ((), (f"{TUNE}=none",)))
    assert usual == asked
    assert not [option for option in usual.settings if "tune" in option]
    assert not asked.changes.keys() & {TUNE, "encoder.tune_lr"}


def test_a_rate_is_part_of_a_tuned_run_alone():
    frozen = described(*small("encoder.tune_lr=0.1"))[0]
    assert frozen == described(*small())[0]
    full = described(*small(f"{TUNE}=full"))[0]
    assert full.settings["encoder.tune_lr"] == 3e-5
    assert full == described(*small(f"{TUNE}=full", "encoder.tune_lr=3e-5"))[0]
    assert full != described(*small(f"{TUNE}=full", FAST))[0]
    record = SimpleNamespace(spec=SimpleNamespace(to_json=full.to_json), changes=None)
    assert RunSpec.of_record(record).encoders()[""]["tune"] == "full"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["encoder=glove"], "no option of this encoder, which cannot be tuned"),
        (["encoder=none"], "no option of this encoder, which cannot be tuned"),
        (["encoder=elmo_bert_mini"], "no option of this encoder, which cannot be tuned"),
        (["encoder=precomputed", "encoder.name=a.hdf5"], "no option of this encoder, which cannot be tuned"),
        (["encoder=elmo_word"], "encoder=elmo_word with mix=first reads the lowest layer alone"),
        (["encoder=elmo", "task=wsd"], "the head of task=wsd learns without gradients"),
        (["encoder=elmo", "encoder.tune_lr=0"], "encoder.tune_lr=0: give a number above 0"),
    ],
)
def test_what_cannot_be_tuned_ends_in_a_line(tmp_path, refused, options, said):
    line = refused("run", *options, f"{TUNE}=full", f"ledger={tmp_path}")
    assert said in line


def test_another_way_ends_in_a_line(tmp_path, refused):
    assert "give one of: none, lora, full" in refused("run", f"{TUNE}=half", f"ledger={tmp_path}")
    line = refused("run", "encoder=elmo_bert_mini", f"+{TUNE}=full", f"ledger={tmp_path}")
    assert "is a stack, which cannot be tuned" in line
    for part in ("+encoder.contextual.parts.x=elmo", "encoder.contextual.parts.elmo=null"):
        assert "not the options of one encoder" in refused("run", "encoder=elmo_bert_mini", part, f"ledger={tmp_path}")
    assert "ELMo has no attention" in refused("run", *small(f"{TUNE}=lora", f"ledger={tmp_path}"))


def test_too_little_memory_ends_before_training(tmp_path, monkeypatch):
    monkeypatch.setattr(tuned_memory, "available_memory", lambda: 2**20)
    prepared = prepare(*described(*small(f"{TUNE}=full", encoder="elmo")))
    with pytest.raises(UserError, match="tune=full: training takes about"):
        build(prepared)
    build(prepare(*described(*small(encoder="elmo"))))
