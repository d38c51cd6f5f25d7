"""`load(record).predict(texts)`, `predict --probabilities`, and an exported head: one head, the same answers."""

import csv
import itertools
import json
import os
import pickle
import shutil
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

import elmo_bench
from elmo_bench.__main__ import main
from elmo_bench.ledger import RunPaths
from elmo_bench.ledger.paths import LEVELS
from elmo_bench.runner import prepare, trained
from elmo_bench.runner.export import export_head
from elmo_bench.runner.head_files import read_head
from elmo_bench.spec.run_spec import RunSpec
from tests.runs import GOLDEN, OWN, ROOT, VECTORS, run_small

TEXTS = ["A man sleeps .", "", "Two women ride a zzyzx bicycle outside .", "nobody"]
PAIRS = [("A man sleeps .", "A man is awake ."), ("", "x"), ("Two dogs run .", "Animals move .")]
FEW = ["task.training.epochs=1", f"encoder.vectors={VECTORS}", "task.training.least_steps=null"]
SIZES = {
    "classification": ["task.head.hidden=[8,8]"],
    "pairs": ["task.head.hidden=[8,8]"],
    "tagging": ["task.head.hidden=[8,4]"],
}


@pytest.fixture(scope="module")
def records(tmp_path_factory, small_data):
    """`records(task) -> path`: the record of a small run with static words, made once for each task."""
    made = {}

    def record_of(task):
        if task not in made:
            ledger = tmp_path_factory.mktemp(task)
            options = [f"task={task}", *OWN[task], *FEW, *SIZES[task]]
            made[task] = RunPaths.of(ledger, run_small(ledger, *options, encoder="glove")).record
        return made[task]

    return record_of


def predicted_file(record, rows, names, folder, *flags):
    """The rows that the command writes for these texts."""
    given, out = folder / "given.csv", folder / "out.csv"
    with given.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)
    columns = [f"data.{name}={name}" for name in names]
    command = ["predict", str(record), str(given), str(out), *columns, "--vectors", str(VECTORS), *flags]
    command.append("--overwrite")
    assert main(command) == 0
    with out.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_texts_have_the_answers_of_a_file(records, tmp_path):
    record = records("classification")
    rows = predicted_file(record, [[text] for text in TEXTS], ["text"], tmp_path, "--probabilities")
    head = elmo_bench.load(record, vectors=str(VECTORS))
    answers = head.predict(TEXTS)
    assert [answer or "" for answer in answers] == [row["predicted"] for row in rows]
    assert answers[1] is None and None not in (answers[0], *answers[2:])
    shares = head.probabilities(TEXTS)
    labels = list(shares.columns)
    assert len(labels) == 3 and shares.loc[1].isna().all()
    for place in (0, 2, 3):
        line = shares.loc[place]
        assert line.sum() == pytest.approx(1) and line.idxmax() == answers[place]
        written = [float(rows[place][f"probability {label}"]) for label in labels]
        assert written == pytest.approx(line.tolist(), abs=1e-6)
    assert rows[1][f"probability {labels[0]}"] == ""
    assert main(["score", "classification", str(tmp_path / "out.csv")]) == 2  # the file has no gold


def test_calls_one_after_another_have_the_answers_of_one(records):
    """Words that a head meets first get their vectors then."""
    record = records("classification")
    together = elmo_bench.load(record, vectors=str(VECTORS)).predict(TEXTS)
    head = elmo_bench.load(record, vectors=str(VECTORS))
    assert [head.predict([text])[0] for text in TEXTS] == together
    assert head.predict([]) == []


def test_a_call_with_new_words_reads_these_words_alone_and_caches_nothing(records, monkeypatch):
    read, built = [], []
    monkeypatch.setattr(prepare, "load_static", counted(read, prepare.load_static))
    monkeypatch.setattr(trained, "build_kept", counted(built, trained.build_kept))
    head = elmo_bench.load(records("classification"), vectors=str(VECTORS))
    head.predict(["A man sleeps ."])
    assert len(read) == len(built) == 1
    head.predict(["A man zzyzx qqxyz ."])  # no word has a vector
    assert read[1:] == [((str(VECTORS), {"zzyzx", "qqxyz"}), {"cached": False})]
    head.predict(["zzyzx zzyzx"])
    assert len(read) == 2 and len(built) == 1
    new = new_word(records("classification"))
    head.predict([f"zzyzx {new}"])
    assert read[2:] == [((str(VECTORS), {new}), {"cached": False})]
    assert len(built) == 2


def new_word(record):
    """A word that has a vector, and that training did not have."""
    trained_on = read_head(record.with_suffix("") / "head.safetensors").about.lexicon["words"]
    lower = filter(str.islower, elmo_bench.load_static(str(VECTORS)).words)
    return next(word for word in lower if word not in {*trained_on, *" ".join(TEXTS).split()})


def counted(calls, function):
    """The function; `calls` gets the arguments of each call."""

    def counts(*positional, **named):
        calls.append((positional, named))
        return function(*positional, **named)

    return counts


@pytest.mark.parametrize(("first", "part"), [([], "build_kept"), (TEXTS, "build_kept"), (TEXTS, "with_words")])
@pytest.mark.parametrize("error", [KeyboardInterrupt, elmo_bench.UserError])
def test_a_call_that_fails_changes_nothing(records, monkeypatch, first, part, error):
    record = records("classification")
    texts = [*TEXTS, new_word(record)]
    expected = elmo_bench.load(record, vectors=str(VECTORS)).probabilities(texts)
    head = elmo_bench.load(record, vectors=str(VECTORS))
    head.predict(first)
    sound = getattr(trained, part)
    monkeypatch.setattr(trained, part, fails(error))
    for _ in range(2):
        with pytest.raises(error):
            head.predict(texts)
    monkeypatch.setattr(trained, part, sound)
    pd.testing.assert_frame_equal(head.probabilities(texts), expected)


def fails(error):
    """A function that raises this error."""

    def fail(*_, **__):
        raise error("stopped")

    return fail


def test_threads_that_share_a_head_are_in_it_one_at_a_time_and_have_the_answers_of_one(records, monkeypatch):
    record = records("classification")
    texts = [" ".join(words) for words in itertools.permutations(TEXTS[2].split(), 3)][:40]
    expected = elmo_bench.load(record, vectors=str(VECTORS)).probabilities(texts)
    head = elmo_bench.load(record, vectors=str(VECTORS))
    inside = []
    most = []
    with_words = trained.TrainedHead._with_words

    def slow(self, words):
        inside.append(words)
        most.append(len(inside))
        time.sleep(0.01)
        inside.pop()
        return with_words(self, words)

    monkeypatch.setattr(trained.TrainedHead, "_with_words", slow)
    filters = list(warnings.filters)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda text: head.probabilities([text]), texts))
    assert len(most) == len(texts) and max(most) == 1
    assert warnings.filters == filters  # which threads share
    assert pd.concat(found).to_numpy() == pytest.approx(expected.to_numpy(), abs=1e-6)
    assert pickle.loads(pickle.dumps(head)).predict(texts) == head.predict(texts)


@pytest.mark.slow
def test_pairs_are_tuples_and_tokens_are_lists(records, tmp_path):
    record = records("pairs")
    rows = predicted_file(record, PAIRS, ["premise", "hypothesis"], tmp_path, "--probabilities")
    head = elmo_bench.load(record, vectors=str(VECTORS))
    assert [answer or "" for answer in head.predict(PAIRS)] == [row["predicted"] for row in rows]
    tokens = [(premise.split(), hypothesis.split()) for premise, hypothesis in PAIRS]
    assert head.predict(tokens) == head.predict(PAIRS)
    with pytest.raises(elmo_bench.UserError, match="text 1: not a tuple"):
        head.predict(["one text"])


SENTENCES = [["Marvolo", "sailed", "home"], [], ["to", "Quibbleton"]]


@pytest.mark.slow
def test_tags_have_the_probabilities_of_a_file(records, tmp_path):
    record = records("tagging")
    given, out = tmp_path / "given.jsonl", tmp_path / "out.jsonl"
    given.write_text("".join(json.dumps({"tokens": tokens}) + "\n" for tokens in SENTENCES))
    assert main(["predict", str(record), str(given), str(out), "--probabilities", "--vectors", str(VECTORS)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    head = elmo_bench.load(record, vectors=str(VECTORS))
    answers = head.predict(SENTENCES)
    assert [answer or [] for answer in answers] == [row["predicted"] for row in rows]
    shares = head.probabilities(SENTENCES)
    assert [token for *_, token in shares.index] == [*SENTENCES[0], *SENTENCES[2]]
    assert shares.sum(axis=1).tolist() == pytest.approx([1] * 5)
    tags = list(shares.columns)
    assert tags[0] == "O" and not any(tag.startswith(("U-", "L-")) for tag in tags)
    assert {tag for answer in answers for tag in answer or ()} <= {*tags}
    for number in (0, 2):
        for tag in tags:
            assert rows[number][f"probability {tag}"] == pytest.approx(shares.loc[number][tag].tolist(), abs=1e-6)
    assert rows[1]["probability O"] is None
    for none in ([], [[]]):
        assert head.probabilities(none).empty and [*head.probabilities(none).columns] == tags
        assert head.probabilities(none).index.names == shares.index.names


def test_probabilities_go_into_a_table(records, tmp_path, refused):
    given, out = tmp_path / "given.conll", tmp_path / "out.conll"
    given.write_text("Marvolo\nsailed\n")
    said = refused("predict", records("tagging"), given, out, "--probabilities", "--vectors", VECTORS)
    assert "out.conll: --probabilities adds columns with names" in said and ".jsonl" in said
    assert not out.exists()


def test_tags_of_sentences_and_no_probabilities_in_a_suite(records, elmo_run):
    sentences = [["Marvolo", "sailed"], ["to", "Quibbleton"]]
    own = elmo_bench.load(records("tagging"), vectors=str(VECTORS))
    ner = elmo_bench.load(RunPaths.of(*elmo_run).record, weights=str(GOLDEN), vectors=str(VECTORS))
    for head in (own, ner):
        assert [len(tags) for tags in head.predict(sentences)] == [2, 2]
    with pytest.raises(elmo_bench.UserError, match="gives no probabilities of labels"):
        ner.probabilities(sentences)
    for wrong in (["Marvolo sailed"], [[]], [[5]]):
        with pytest.raises(elmo_bench.UserError, match="sentence 1"):
            ner.predict(wrong)
    assert not any(tag.startswith("U-") for tags in own.predict(sentences) for tag in tags)


def test_probabilities_of_a_suite_s_task_are_refused(elmo_run, tmp_path, refused):
    given = tmp_path / "few.conll"
    given.write_text("Marvolo\nsailed\n")
    record = RunPaths.of(*elmo_run).record
    frozen = ["--weights", GOLDEN, "--vectors", VECTORS]
    said = refused("predict", record, given, tmp_path / "out.conll", "--probabilities", *frozen)
    assert "task=ner gives no probabilities of labels." in said
    assert not (tmp_path / "out.conll").exists()


def test_an_exported_head_moves(records, tmp_path, capsys):
    """The folder alone has the answers of the run, after the ledger is out of reach."""
    record = records("classification")
    expected = elmo_bench.load(record, vectors=str(VECTORS)).predict(TEXTS)
    capsys.readouterr()
    assert main(["export", str(record), str(tmp_path / "exported")]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = ["seed0.json", "seed0/head.safetensors", "README.md"]
    assert [line.split("  ")[0] for line in lines] == [str(tmp_path / "exported" / name) for name in names]
    shutil.move(tmp_path / "exported", tmp_path / "elsewhere")
    moved = tmp_path / "elsewhere" / "seed0.json"
    assert elmo_bench.load(moved, vectors=str(VECTORS)).predict(TEXTS) == expected
    card = (tmp_path / "elsewhere" / "README.md").read_text(encoding="utf-8")
    checksum = json.loads(moved.read_text())["spec"]["contents"]["vectors"]
    assert f"checksum `{checksum}`; not published: bring the file" in card
    assert 'elmo_bench.load("seed0.json", vectors="PATH")' in card
    assert "predict seed0.json FILE OUT --vectors PATH" in card


ELSEWHERE = """
import json, sys, elmo_bench
head = elmo_bench.load("head/seed0.json", vectors=sys.argv[1])
print(json.dumps([head.predict(json.loads(sys.argv[2])), head.probabilities(json.loads(sys.argv[2])).values.tolist()]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classification", "tagging"])
def test_an_exported_head_works_in_a_process_that_sees_no_ledger(records, tmp_path, task):
    """As on another machine: a copy of the folder, another working folder and home, and the ledger is away."""
    record = records(task)
    texts = TEXTS[:1] if task == "classification" else SENTENCES[:1]
    here = elmo_bench.load(record, vectors=str(VECTORS))
    expected = [here.predict(texts), here.probabilities(texts).values.tolist()]
    assert main(["export", str(record), str(tmp_path / "exported")]) == 0
    machine = tmp_path / "machine"
    machine.mkdir()
    shutil.move(tmp_path / "exported", machine / "head")
    command = [sys.executable, "-c", ELSEWHERE, str(VECTORS), json.dumps(texts)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(machine), "XDG_CACHE_HOME": str(machine)}
    ledger = record.parents[LEVELS]
    away = ledger.rename(ledger.with_name("away"))
    try:
        ended = subprocess.run(command, cwd=machine, env=environment, capture_output=True, text=True, check=False)
    finally:
        away.rename(ledger)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1]) == expected


def test_an_export_writes_over_nothing_unless_it_is_told_to(records, tmp_path, refused, capsys):
    record = records("classification")
    (tmp_path / "README.md").write_text("mine")
    assert "README.md: exists. Add --overwrite" in refused("export", record, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    assert main(["export", str(record), str(tmp_path), "--overwrite"]) == 0
    assert (tmp_path / "README.md").read_text().startswith("# A head of classification on glove")
    assert "goes with weights" in refused("export", record, tmp_path / "b", "--options-file", "x")
    shutil.copy(record, tmp_path / "seed7.json")
    assert "the head of this run is not here" in refused("export", tmp_path / "seed7.json", tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_missing_record_is_an_exception(tmp_path):
    with pytest.raises(elmo_bench.UserError, match="no such file"):
        elmo_bench.load(tmp_path / "seed0.json")


def test_what_is_no_path_of_a_record_is_refused(records):
    record = elmo_bench.ledger.read_record(records("classification"))
    with pytest.raises(elmo_bench.UserError) as raised:
        elmo_bench.load(record)
    advice = str(raised.value).partition("such as elmo_bench.")[2].removesuffix(".")
    assert "load: this is a Record, not the path of a record." in str(raised.value)
    called = advice.replace("results/runs", str(records("classification").parents[LEVELS]))
    assert eval(called, {"results": elmo_bench.results}) == str(records("classification"))
    with pytest.raises(elmo_bench.UserError, match="this is a Series, not the path"):
        elmo_bench.load(pd.Series(["a", "b"]))


def test_a_head_that_needs_a_gpu_is_refused_with_a_sentence(records, monkeypatch, tmp_path):
    parts = {"": {"kind": "elmo", "precision": "tf32"}}
    monkeypatch.setattr(RunSpec, "encoders", lambda _: parts)
    said = r"tf32, which needs a GPU, .* Run it again with encoder\.precision=float32\."
    for use in (elmo_bench.load, lambda record: export_head(record, tmp_path / "card", overwrite=False)):
        with pytest.raises(elmo_bench.UserError, match=said):
            use(records("classification"))
    assert not (tmp_path / "card").exists()
