"""Slices of test: their units, counted by hand; what a head predicts for mistyped text; what a run may lack."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from elmo_bench.__main__ import main
from elmo_bench.encoders.static import load_static
from elmo_bench.ledger import RunPaths, of_split, read_outcomes, read_slices, write_slices
from elmo_bench.runner.data import build_data, read_splits, training_fraction
from elmo_bench.runner.slices import ScoredSplit, _of_examples
from elmo_bench.spec.config import compose
from elmo_bench.tasks.coref.document import Document
from elmo_bench.tasks.deprel.sentence import Sentence as Arcs
from elmo_bench.tasks.ner.metric import Metric
from elmo_bench.tasks.squad.question import Passage, Question
from elmo_bench.tasks.wsd.sentence import Sentence as Senses
from elmo_bench.tasks.wsd.sentence import Target
from elmo_bench.text.mistyped import mistype
from elmo_bench.text.sentence import TaggedSentence as Sentence
from elmo_bench.text.tags import spans
from tests.runs import run_small, small

TOTALS = ("correct", "guessed", "gold")


def data_of(task):
    return build_data(compose("config", [f"task={task}"]))


def has(*words):
    return lambda found: not set(words).isdisjoint(found)


@pytest.fixture(scope="module", params=[pytest.param("none", marks=pytest.mark.slow), "elmo"])
def made(request, tmp_path_factory):
    """(ledger, record, the options that made it) of a run with predictions and a head."""
    ledger = tmp_path_factory.mktemp("ledger")
    options = ["predictions=true", "data.max_train=150", "task.training.optimizer.lr=0.02", f"ledger={ledger}"]
    options.insert(0, "task.training.epochs=12")
    return ledger, run_small(ledger, *options[:-1], encoder=request.param), small(*options, encoder=request.param)


def test_the_parts_of_test_are_its_entities_counted_by_hand(made, capsys):
    ledger, record, options = made
    assert main(["slices", "task=ner", *options]) == 0
    said = capsys.readouterr().out
    paths = RunPaths.of(ledger, record)
    slices, stored = read_slices(paths), of_split(read_outcomes(paths), "test")
    assert list(slices) == ["unseen", "seen", "novector", "vector", "mistyped"]
    for one, other in (("unseen", "seen"), ("novector", "vector")):
        for name in TOTALS:  # every entity of either side is in one of them
            assert (slices[one][name] + slices[other][name]).tolist() == stored[name].tolist()
    config = compose("config", ["task=ner", *options])
    splits = read_splits(config, build_data(config))
    train = {word.lower() for each in training_fraction(splits["train"], seed=0, limit=150) for word in each.tokens}
    lookup = load_static("glove-6b").lookup
    rare = {
        "unseen": lambda word: word.lower() not in train,
        "novector": lambda word: lookup(word) is None,
    }
    for name, is_rare in rare.items():
        count = sum(
            any(is_rare(word) and any(map(str.isalpha, word)) for word in each.tokens[first : last + 1])
            for each in splits["test"]
            for _, first, last in spans(each.tags)
        )
        assert slices[name]["gold"].sum() == count > 0
    assert "| 5 % of the letters mistyped | 100.0 % |" in " ".join(said.split())


def test_mistyped_is_what_predict_gives_on_mistyped_text(made, tmp_path, capsys):
    ledger, record, options = made
    paths = RunPaths.of(ledger, record)
    assert main(["slices", "task=ner", *options]) == 0
    config = compose("config", ["task=ner", *options])
    test = read_splits(config, build_data(config))["test"]
    with (tmp_path / "mistyped.conll").open("w", encoding="utf-8") as file:
        for sentence in test:
            file.writelines(f"{own} {tag}\n" for own, tag in zip(mistype(sentence.tokens), sentence.tags, strict=True))
            file.write("\n")
    weights = [f"--weights={config.encoder.weights}"] if record["spec"]["encoder"] == "elmo" else []
    arguments = [str(paths.record), str(tmp_path / "mistyped.conll"), str(tmp_path / "out.conll")]
    assert main(["predict", *arguments, *weights]) == 0
    scores = Metric().score_files(tmp_path / "out.conll")["overall"]
    found = read_slices(paths)["mistyped"]
    assert [found[name].sum() for name in TOTALS] == [scores[name] for name in TOTALS]


def test_what_a_run_keeps_decides_which_slices_there_are(made, tmp_path, capsys):
    ledger, record, options = made
    assert main(["slices", "task=ner", *options]) == 0
    whole = read_slices(RunPaths.of(ledger, record))
    copy = tmp_path / "copy"
    shutil.copytree(ledger, copy)
    options = [*options[:-1], f"ledger={copy}"]
    paths = RunPaths.of(copy, record)
    capsys.readouterr()
    before = paths.slices.stat().st_mtime_ns
    assert main(["slices", "task=ner", *options]) == 0  # they are there
    assert paths.slices.stat().st_mtime_ns == before

    (paths.work / "test.predictions.conll").unlink()
    assert main(["slices", "task=ner", "overwrite=true", *options]) == 0  # the head predicts the same again
    assert same(read_slices(paths), whole)

    paths.slices.unlink()
    shutil.copy(RunPaths.of(ledger, record).work / "test.predictions.conll", paths.work)
    (paths.work / "head.safetensors").unlink()
    capsys.readouterr()
    assert main(["slices", "task=ner", *options]) == 2
    said = capsys.readouterr()
    assert "no head is kept here (heads are not committed). Run it again with overwrite=true." in said.err
    assert said.err.count("\n") == 1
    assert same(read_slices(paths), {name: whole[name] for name in whole if name != "mistyped"})

    paths.slices.unlink()
    predictions = paths.work / "test.predictions.conll"
    predictions.write_text(
        predictions.read_text().replace(" O\n", " B-person\n", 5), encoding="utf-8"
    )  # of another run
    assert main(["slices", "task=ner", *options]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n"), paths.slices.exists()) == ("no slices\n", 1, False)


def same(ours, theirs):
    return ours.keys() == theirs.keys() and all(
        np.array_equal(values, theirs[name][key]) for name in ours for key, values in ours[name].items()
    )


def test_mistakes_are_one_line(made, tmp_path, capsys):
    _, record, options = made
    assert main(["slices", "task=ner", *options, "seed=7"]) == 2
    assert "no record of these runs (1). Make them first." in capsys.readouterr().err
    ledger = tmp_path / "other"
    paths = RunPaths.of(ledger, record)
    assert main(["slices", "task=ner", *options[:-1], f"ledger={ledger}"]) == 2
    assert not paths.slices.exists()


def test_entities():
    sentence = Sentence(("Anna", "Lee", "met", "Bo", "in", "Rome"), ("B-P", "I-P", "O", "B-P", "O", "B-L"))
    predicted = ["B-P", "O", "B-P", "I-P", "O", "B-L"]
    within = data_of("ner").within
    assert within(sentence, predicted, has("Lee", "Rome")) == (
        ["B-P", "I-P", "O", "O", "O", "B-L"],
        ["O", "O", "O", "O", "O", "B-L"],
    )
    assert within(sentence, predicted, has("Bo"))[1] == ["O", "O", "B-P", "I-P", "O", "O"]


def test_chains():
    document = Document("d", "0", "x", (("Anna", "saw", "Bo", "."), ("She", "left", ".")), ("-",) * 7, ())
    gold = (((0, 0), (4, 4)), ((2, 2), (5, 6)))
    document = Document(document.name, "0", "x", document.sentences, document.speakers, gold)
    predicted = [[(0, 0), (2, 2)], [(4, 4), (5, 5)]]
    assert data_of("coref").within(document, predicted, has("Bo")) == ([gold[1]], [predicted[0]])
    assert data_of("coref").within(document, predicted, lambda words: "Bo" not in words) == ([gold[0]], [predicted[1]])


def test_words_and_senses():
    arcs = Arcs(("I", "saw", "Bo"), (1, -1, 1), ("nsubj", "root", "obj"))
    assert data_of("deprel").within(arcs, ["a", "b", "c"], has("Bo", "I")) == (["nsubj", "obj"], ["a", "c"])
    assert data_of("deprel").within(arcs, ["a", "b", "c"], has("none")) is None
    targets = (Target("1", 0, 1, "i", "NOUN", ("k",)), Target("2", 1, 3, "see", "VERB", ("l",)))
    senses = Senses(("I", "saw", "Bo"), targets)
    assert data_of("wsd").within(senses, [("k",), ()], has("Bo")) == ([targets[1]], [()])
    assert data_of("wsd").within(senses, [("k",), ()], has("none")) is None


def test_questions_are_asked_for_their_own_words_and_those_of_their_answers():
    passage = Passage("Bo lives in Rome", ("Bo", "lives", "in", "Rome"), ((0, 2), (3, 8), (9, 11), (12, 16)))
    question = Question("1", ("Where", "is", "he", "?"), passage, ("Rome",), ((3, 3),))
    assert set(question.slice_words) == {"Where", "is", "he", "?", "Rome"}


def test_examples_are_chosen_by_all_of_their_words_and_keep_their_clusters():
    examples = [SimpleNamespace(texts=texts) for texts in ((("a", "x"), ("b",)), (("a",), ("b",)), (("c",), ("x",)))]
    split = ScoredSplit(None, None, "", examples, {"unseen": has("x"), "seen": {"x"}.isdisjoint})
    stored = {"correct": np.array([1, 0, 1]), "cluster": np.array([0, 0, 1])}
    found = _of_examples(split, stored)
    assert {name: {key: values.tolist() for key, values in own.items()} for name, own in found.items()} == {
        "unseen": {"correct": [1, 1], "cluster": [0, 1]},
        "seen": {"correct": [0], "cluster": [0]},
    }


def test_pairs_are_sliced_without_a_head_or_predictions(tmp_path, capsys):
    options = ["task=snli", "data.max_train=200", "task.training.epochs=1", "encoder=none", f"ledger={tmp_path}"]
    options += ["logger=none", "trainer.threads=1", "task.head.hidden=[8,8]"]
    assert main(["run", *options]) == 0
    [file] = tmp_path.glob("open/snli/none/*/seed0/head.safetensors")
    file.unlink()
    assert main(["slices", *options]) == 2  # without `mistyped`
    [record] = [*tmp_path.glob("open/snli/none/*/seed0.json")]
    paths = RunPaths(tmp_path, "open", "snli", "none", record.parent.name, 0)
    slices, stored = read_slices(paths), of_split(read_outcomes(paths), "test")
    assert set(slices) >= {"unseen", "seen"}
    assert len(slices["unseen"]["correct"]) + len(slices["seen"]["correct"]) == len(stored["correct"])
    assert slices["unseen"]["correct"].sum() + slices["seen"]["correct"].sum() == stored["correct"].sum()
    write_slices(paths, {})
    assert read_slices(paths) == {}
