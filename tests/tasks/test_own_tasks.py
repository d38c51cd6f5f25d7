"""The tasks on data of the user's own: tags and their schemes, figures, options, identity, and new text."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.ledger import RunPaths
from elmo_bench.runner.data import build_data, data_digest, read_splits
from elmo_bench.runner.trained import installed
from elmo_bench.spec.config import compose
from elmo_bench.spec.names import task_class
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.settings import check_run
from elmo_bench.text.tables import read_table
from tests.golden_cases import score
from tests.runs import OWN, described, first_rows, run_small
from tests.text.test_own_data import GOOD, write

WORDS = ["Ada", "King", "of", "New", "York", "met", "Bo", "Li"]
# The spans Ada King, New York and Bo, and behind it Li of its type.
SCHEMES = {
    "BIO": "B-P I-P O B-L I-L O B-P B-P",
    "IOB1": "I-P I-P O I-L I-L O I-P B-P",
    "BIOES": "B-P E-P O B-L E-L O S-P S-P",
    "BILOU": "B-P L-P O B-L L-L O U-P U-P",
}
PLAIN = "NNP NNP IN NNP NNP VBD NNP O"


def tagged(tags: str, times=9, words=WORDS, columns=("_",) * 0) -> str:
    rows = [" ".join([word, *columns, tag]) for word, tag in zip(words, tags.split(), strict=False)]
    return "".join(
        "\n".join([f"{n} {' '.join([*columns, rows[2].split()[-1]])}", *rows]) + "\n\n" for n in range(times)
    )


def read(path, task="tagging", **options):
    with noted() as notes:
        return task_class(task, "data")(file=str(path), **options).read("x", None), notes


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("columns", [(), ("_",), ("_", "NN", "x")])
def test_each_scheme_is_recognised_noted_and_converted(tmp_path, scheme, columns):
    splits, notes = read(write(tmp_path / "x.conll", tagged(SCHEMES[scheme], columns=columns)))
    assert f"tags: spans in {scheme}, read as BIO" in notes
    assert {each.tags[1:] for own in splits.values() for each in own} == {tuple(SCHEMES["BIO"].split())}
    labels = task_class("tagging", "data")().vocabulary(splits["train"])["labels"]
    assert labels == ["O", *(f"{letter}-{kind}" for kind in "LP" for letter in "BIUL")]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_figures_equal_those_of_seqeval_whatever_the_scheme(tmp_path, scheme):
    """From `seqeval.metrics` with mode strict, on gold and a guess that joins the last two spans to one of BIO."""
    from seqeval.metrics import f1_score
    from seqeval.scheme import BILOU, IOB1, IOB2, IOBES

    gold = SCHEMES[scheme].split()
    guess = {"BIO": "B-P I-P O B-L I-L O B-P I-P", "IOB1": "I-P I-P O I-L I-L O I-P I-P",
             "BIOES": "B-P E-P O B-L E-L O B-P E-P",
             "BILOU": "B-P L-P O B-L L-L O B-P L-P"}[scheme].split()  # fmt: skip
    known = {"BIO": IOB2, "IOB1": IOB1, "BIOES": IOBES, "BILOU": BILOU}[scheme]
    expected = 100 * f1_score([gold], [guess], mode="strict", scheme=known)
    sides = []
    for name, tags in (("gold", gold), ("guess", guess)):
        splits, _ = read(write(tmp_path / f"{name}.conll", tagged(" ".join(tags))))
        sides.append([each.tags[1:] for each in splits["test"]])
    scores = score(task_class("tagging", "metric")(), *sides)
    assert scores["overall"]["f1"] == pytest.approx(expected)
    assert 50 < expected < 60


def test_plain_tags_are_labels_and_their_f1_is_the_accuracy(tmp_path):
    from sklearn.metrics import accuracy_score

    splits, notes = read(write(tmp_path / "x.conll", tagged(PLAIN)))
    assert "tags: plain, a label for each token" in notes
    assert splits["test"][0].tags[1:] == tuple(PLAIN.split())
    assert task_class("tagging", "data")().vocabulary(splits["train"])["labels"] == ["U-IN", "U-NNP", "U-O", "U-VBD"]
    gold, guess = PLAIN.split(), ["NNP", "IN", "IN", "NNP", "O", "VBD", "VBD", "O"]
    scores = score(task_class("tagging", "metric")(), [gold], [guess])
    assert scores["overall"]["f1"] == pytest.approx(100 * accuracy_score(gold, guess))


@pytest.mark.parametrize(("tags", "kept"), [(PLAIN, ["U-NNP"]), (SCHEMES["BIO"], ["B-P"])])
def test_slices_are_of_spans_or_of_plain_tags(tmp_path, tags, kept):
    data = task_class("tagging", "data")(file=write(tmp_path / "x.conll", tagged(tags)))
    example = data.read("x", None)["test"][0]
    guess = [*example.gold]
    gold, predicted = data.within(example, guess, lambda words: words[0] == "Bo")
    assert gold == predicted
    assert [tag for tag in gold if tag != "O"] == kept
    assert data.within(example, guess, lambda words: False) in (None, (["O"] * 9, ["O"] * 9))
    if tags == PLAIN:  # O is a label as any other: a slice of it alone counts
        cut = data.within(replace(example, tags=("O",) * 9), ["U-O"] * 8 + ["U-VBD"], lambda words: True)
        counted = score(task_class("tagging", "metric")(), [cut[0]], [cut[1]])["overall"]
        assert (counted["gold"], counted["correct"]) == (9, 8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            tagged(SCHEMES["BIO"]) + "x PERSON\n",
            "tags: PERSON: not in one scheme (BIO, IOB1, IOE2, "
            "BIOES, BILOU, BMES, BMEWO) with B-L. Use one, or decide: data.scheme=plain reads each tag as a label.",
        ),
        (tagged(SCHEMES["BIOES"]) + "x U-P\n", "tags: letters of two: not in one scheme"),
        (tagged(SCHEMES["BIO"]) + "x\n", "x.conll:91: expected 2 columns, found 1."),
        ("\n\n", "x.conll: no sentences."),
    ],
)
def test_bad_tags_end_in_one_line(tmp_path, content, message):
    with pytest.raises(UserError, match=re.escape(message)):
        read(write(tmp_path / "x.conll", content))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"tokens": ["a", "b"], "ner_tags": ["O"]}, "train, row 1 has 2 tokens and 1 tags. Give one for each token."),
        ({"tokens": ["a", "b"], "ner_tags": ["O", "O", "O"]}, "train, row 1 has 2 tokens and 3 tags."),
        ({"tokens": ["a"], "ner_tags": [["O"]]}, "train, row 1 has [['O']] where tags belong."),
        ({"tokens": ["a"]}, "no column that is named as tags usually is."),
    ],
)
def test_tags_of_a_table_are_one_for_each_token(tmp_path, row, message):
    with pytest.raises(UserError, match=re.escape(message)):
        read(write(tmp_path / "x.jsonl", json.dumps(row) + "\n"))


def test_predictions_leave_gold_of_another_name_as_it_is(tmp_path):
    data, path = task_class("classification", "data")(text="text", label="genre"), tmp_path / "x.csv"
    examples = data.read_file(Path(write(path, "text,gold\nnice food,reviews\n")))
    data.write(path, examples, ["news"])
    assert path.read_text().splitlines() == ["text,gold,predicted", "nice food,reviews,news"]


def test_accuracy_and_macro_f1_equal_those_of_scikit_learn(tmp_path):
    from sklearn.metrics import accuracy_score, f1_score

    rng = np.random.default_rng(0)
    gold, guess = (rng.choice(["a", "b", "c", side], 200).tolist() for side in ("d", "e"))
    metric = task_class("classification", "metric")()
    overall = score(metric, gold, guess)["overall"]
    assert overall["accuracy"] == pytest.approx(100 * accuracy_score(gold, guess))
    assert overall["macro_f1"] == pytest.approx(100 * f1_score(gold, guess, average="macro"))
    assert "macro-F1" in metric.table(score(metric, gold, guess))
    path = Path(write(tmp_path / "x.csv", "gold,predicted\n,b\n,a\n"))
    with pytest.raises(UserError, match=r"no row has a gold label\. Fill in the column gold; of a column"):
        metric.score_files(path)


CLASSES = ("task=classification", "encoder=none")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("task=ner", "data.file=x.csv"), "data.file: task=ner reads a suite. For data of your own: task="),
        ((*CLASSES, "data.file=x.csv", "data.train=y.csv"), "data.file and data.train are both given. Give one"),
        (CLASSES, "task=classification: give data.file=FILE, or data.train=FILE (and data.dev=FILE data.test=FILE)"),
        ((*CLASSES, "data.file=x.csv", "data.dev=y.csv"), "data.dev and data.test go with data.train"),
        ((*CLASSES, "data.file=x.csv", "data.tags=t"), "data.tags: task=classification has no such column. It has: "
                                                      "data.text, data.label"),
        ((*CLASSES, "data.file=open.csv"), "suite open: the name of a suite, not of data of your own. "),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(UserError, match=re.escape(message)):
        check_run(compose("config", options))


def test_a_suite_has_the_name_of_its_file_or_the_one_that_is_given():
    for options, name in (
        (["data.file=some/my reviews.csv.gz"], "my_reviews"),
        (["data.train=some/a.csv"], "a"),
        (["data.train=some/train.csv"], "some"),
        (["data.file=hub:user/repo"], "user.repo"),
        (["data.file=open.csv", "suite.name=mine"], "mine"),
        (["data.file=train.csv"], "train"),  # an option of the task's data, too
    ):
        config = compose("config", ["task=classification", *options])
        check_run(config)
        assert (config.suite.name, RunSpec.of(config).suite) == (name, name)


def spec_and_digest(path):
    run = described(*CLASSES, f"data.file={path}")
    data = build_data(*run)
    return run[0], data_digest(data, read_splits(data, *run))


def test_a_run_is_known_by_its_data_and_their_name(tmp_path):
    (spec, digest), (other_spec, other) = (
        spec_and_digest(write(tmp_path / folder / "x.csv", content))
        for folder, content in (("a", GOOD), ("b", GOOD.replace("9 .,good", "9 .,bad", 1)))
    )
    assert spec == other_spec
    assert str(tmp_path) not in json.dumps(spec.to_json())
    assert digest != other
    assert spec.with_contents({"data": digest}).hash != spec.with_contents({"data": other}).hash
    renamed, same = spec_and_digest(write(tmp_path / "y.csv", GOOD))
    assert (renamed.suite, same) == ("y", digest)


def test_the_columns_of_a_record_are_used_for_new_text_and_its_files_are_not_opened(tmp_path):
    spec, _ = described("task=classification", f"data.file={tmp_path}/x.csv", "data.text=a b", "data.label=c/d")
    _, setup = installed(RunSpec(**spec.to_json()))
    assert (setup.data["text"], setup.data["label"], setup.data["tokenizer"]) == ("a b", "c/d", "treebank")
    harmful = replace(spec, settings={**spec.settings, "data.file": "/etc/passwd", "task.data.train": "passwd"})
    _, setup = installed(RunSpec(**harmful.to_json()))
    assert [setup.data[key] for key in ("file", "train", "dev", "test")] == [None] * 4


@pytest.mark.parametrize(
    ("task", "content", "out"),
    first_rows(
        [
            ("tagging", "Ada\nran\n\nBo\n", ["new.conll", "new.jsonl"]),
            ("classification", "id,sentence2\n1,A dog sleeps .\n2,\n3,A man runs .\n", ["new.parquet", "new.tsv"]),
        ],
        1,
    ),
)
def test_a_kept_head_predicts_new_text_in_every_form(tmp_path, task, content, out, capsys):
    name = {"classification": "new.csv", "tagging": "new.txt"}[task]
    record = run_small(tmp_path / "runs", f"task={task}", *OWN[task], "task.training.least_steps=null",
                       "task.training.epochs=1", encoder="none")  # fmt: skip
    paths = RunPaths.of(tmp_path / "runs", record)
    new, gold = Path(write(tmp_path / name, content)), Path(OWN[task][0].removeprefix("data.file="))
    gold = gold if gold.is_file() else gold / "emerging.dev.conll"
    data = task_class(task, "data")(**{"text": "sentence2"} if task == "classification" else {})
    for each in out:
        path = tmp_path / "out" / each
        assert main(["predict", str(paths.record), str(new), str(path)]) == 0
        assert main(["score", task, str(path)]) == 2  # it has no gold
        if task == "classification":  # the row without text is there, without a prediction
            guesses = [row["predicted"] for row in read_table(path)]
            assert [bool(guess) for guess in guesses] == [True, False, True]
        assert "no row has a gold label" in capsys.readouterr().err
        assert [each.texts for each in data.read_file(path)] == [each.texts for each in data.read_file(new)]
        assert main(["predict", str(paths.record), str(gold), str(path), "--overwrite"]) == 0
        assert main(["score", task, str(path), "--json"]) == 0
        capsys.readouterr()


@pytest.mark.slow
def test_predict_takes_the_names_of_columns(tmp_path, refused):
    options = ("task=classification", *OWN["classification"], "task.training.least_steps=null")
    record = run_small(tmp_path / "runs", *options, "task.training.epochs=1", encoder="none")
    assert any(" of test" in each for each in record.data.notes)
    path, out = RunPaths.of(tmp_path / "runs", record).record, str(tmp_path / "out.csv")
    new = write(tmp_path / "new.csv", "body\na dog\n")
    assert "Name one: data.text=COLUMN" in refused("predict", path, new, out)
    assert main(["predict", str(path), new, out, "data.text=body"]) == 0
    empty = write(tmp_path / "empty.csv", "text\n")  # the name of OUT comes first
    said = "out.conll: not a name of a table. Give one that ends in .csv"
    assert said in refused("predict", path, empty, tmp_path / "out.conll")
    for option in ("data.tags=body", "body", "data.text="):
        said = "not the option of a column of task=classification. It has: data.text=COLUMN, data.label"
        assert said in refused("predict", path, new, out, option, "--overwrite")


def test_files_of_predictions_are_scored_as_spans_in_the_scheme_of_their_gold(tmp_path):
    metric = task_class("tagging", "metric")()
    scored = {}
    for scheme, gold, guess in (("BIO", "B-P I-P O", "B-P O O"), ("BIOES", "B-P E-P O", "S-P O O")):
        rows = "\n".join(" ".join(row) for row in zip("abc", gold.split(), guess.split(), strict=True))
        (path := tmp_path / scheme).write_text(f"{rows}\n\n", encoding="utf-8")
        scored[scheme] = metric.score_files(path)["overall"]["f1"]
    assert scored == {"BIO": 0.0, "BIOES": 0.0}  # the span differs, though its first tag may be right
    path.write_text("a B-P PER\nb O O\n\n", encoding="utf-8")
    with pytest.raises(UserError, match="the gold tags are spans in BIO, but 'PER' is not a tag"):
        metric.score_files(path)


def test_segments_without_an_outside_are_two_tags(tmp_path):
    splits, _ = read(write(tmp_path / "a.conll", "".join(f"a{k} B-S\nb I-S\nc B-S\n\n" for k in range(12))))
    assert {tag for each in splits["train"] for tag in each.tags} == {"B-S", "I-S"}


def test_a_list_as_python_prints_it_is_refused(tmp_path):
    text = "tokens,tags\n" + "\"['a', 'b']\",\"['X', 'Y']\"\n" * 9
    with pytest.raises(UserError, match="tokens is a list in one cell"):
        read(write(tmp_path / "a.csv", text))
