"""What is found out about data of the user's own: their labels, tags that do not fit, CoNLL-U, another language."""

import re
from pathlib import Path

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import measure
from elmo_bench.runner.prepare import prepare
from elmo_bench.spec.names import task_class
from elmo_bench.text.own_checks import folded
from tests.golden_cases import score
from tests.runs import described
from tests.tasks.test_own_tasks import CLASSES, SCHEMES, read, tagged
from tests.text.test_own_data import read as read_texts
from tests.text.test_own_data import table, write


def test_one_wrong_tag_leaves_the_scheme_and_is_named(tmp_path):
    _, notes = read(write(tmp_path / "x.conll", tagged(SCHEMES["BIO"]) + "x O\nLee I-P\nran O\n\n"))
    assert "tags: spans in BIO, read as BIO" in notes
    said = "tags that do not fit BIO: 1, which are in no span, as in seqeval's strict mode: I-P of “Lee ran”"
    assert said in notes
    assert "2 labels: P (27), L (9)" in notes  # spans, not tokens


CONLLU = """# meta::author = Ann, Bob
# sent_id = {0}
# text = I'm here
1-2\tI'm\t_\t_\t_\t_\t_\t_\t_\t_
1\tI\tI\tPRON\tPRP\t_\t0\troot\t_\t_
2\t'm\tbe\tAUX\tVBP\t_\t1\tcop\t_\t_
2.1\tx\t_\tX\t_\t_\t_\t_\t_\t_
3\there{0}\there\tADV\tRB\t_\t1\tadvmod\t_\t_

"""


@pytest.mark.parametrize("name", ["x.conllu", "x.txt"])
def test_conllu_has_its_words_and_the_column_that_is_named(tmp_path, name):
    path = write(tmp_path / name, "".join(map(CONLLU.format, range(9))))
    for options, tags in (({}, ("PRON", "AUX", "ADV")), ({"tags": "xpos"}, ("PRP", "VBP", "RB"))):
        splits, notes = read(path, **options)
        assert {each.tags for own in splits.values() for each in own} == {tags}
        assert splits["train"][0].tokens[:2] == ("I", "'m")
        assert f"columns: tokens=form, tags={options.get('tags', 'upos')}" in notes
    unknown = write(tmp_path / "new.conllu", re.sub("PRON|AUX|ADV", "_", CONLLU.format(0)))
    assert [each.tags for each in task_class("tagging", "data")().read_file(Path(unknown))] == [()]


def test_comments_of_column_files_are_no_tokens(tmp_path):
    text = "".join(f"# id {n}\tdomain=en\nAda _ _ B-P\n# _ _ O\nLi{n} _ _ B-P\nran _ _ O\n\n" for n in range(9))
    splits, _ = read(write(tmp_path / "x.conll", text))
    assert splits["train"][0].tokens[:2] == ("Ada", "#")
    said = r"x.conll:55: expected 4 columns, found 1\. Fix this line\. And 1 more like it: 57"
    with pytest.raises(UserError, match=said):
        read(write(tmp_path / "x.conll", text + "a\n\nb\n"))


def test_f1_of_plain_tags_is_called_accuracy():
    metric = task_class("tagging", "metric")()
    plain = score(metric, [["0", "1", "0"]], [["0", "1", "1"]])["overall"]
    spans = score(metric, [["B-X", "O", "B-X"]], [["B-X", "O", "O"]])["overall"]
    assert (measure("f1", plain), measure("f1", spans)) == ("accuracy", "f1")
    assert measure("accuracy", {"accuracy": 1.0}) == "accuracy"
    assert measure("f1", {"f1": 1.0}) == "f1"


def test_text_without_vectors_is_noted(tmp_path):
    rows = "".join(f"кот {n} the,{'ab'[n % 2]}\n" for n in range(60))
    file = write(tmp_path / "x.csv", "text,label\n" + rows)
    notes = prepare(*described(*CLASSES, f"data.file={file}")).notes
    assert "50 % of the words of dev and test have no vector in glove-6b; all vectors and" in notes[-1]
    floor = described(*CLASSES, f"data.file={file}", "encoder=tfidf")  # it has no vectors
    assert not any("no vector" in note for note in prepare(*floor).notes)


def test_a_single_type_of_spans_is_one_label(tmp_path):
    sentences = [f"Bo B-P\nran{number} O\n\n" for number in range(20)]
    _, notes = read(write(tmp_path / "x.conll", "".join(sentences)))
    assert "1 label: P (20)" in notes


def test_labels_are_listed_with_their_share_of_test_and_those_that_may_be_one(tmp_path):
    rows = [(f"text {n}", "good" if n % 4 else "bad") for n in range(100)]
    _, notes = read_texts(write(tmp_path / "x.csv", table(rows, "text", "label")))
    assert notes[-1] == "2 labels: good (75), bad (25); always good is right for 75.00 % of test"
    names = ["a", " A", "b  c", "b c", "1", "1.0", "01", "10", "1.5", *map(str, range(20, 30))]
    rows = [(f"text {n}", names[n % len(names)]) for n in range(400)]
    _, notes = read_texts(write(tmp_path / "y.csv", table(rows, "text", "label")))
    assert [each for each in notes if each.startswith("19 labels: ") and " and 7 more; always " in each]
    said = "labels that only case, white space or the form of a number distinguish: {}. Each counts in macro-F1; "
    which = "'01' and '1' and '1.0'; 'A' and 'a'; 'b  c' and 'b c'"
    assert f"{said.format(which)}data.alike=merge makes them one" in notes
    splits, notes = read_texts(write(tmp_path / "y.csv", table(rows, "text", "label")), alike="merge")
    assert not any("distinguish" in each for each in notes)
    merged = {each.gold for own in splits.values() for each in own}
    assert merged == {"a", "b c", "1", "10", "1.5", *map(str, range(20, 30))}


def test_labels_that_are_numbers_are_folded_to_one_form():
    forms = ["0", "000", "00.0", "007", "7.00", "1.50", "1.", ".0", "-01", "+1.0", "-0", "0x", "1.0.0", "--1"]
    assert list(map(folded, forms)) == ["0", "0", "0", "7", "7", "1.50", "1.", ".0", "-1", "1", "0", *forms[-3:]]


@pytest.mark.timeout(10)  # took minutes
@pytest.mark.parametrize("label", ["0" * 100_000 + "x", "1." + "0" * 100_000 + "x", "9" * 100_000 + ".0x"])
def test_a_label_of_many_digits_is_folded_at_once(label):
    assert folded(label) == label


def test_texts_with_several_labels_are_counted(tmp_path):
    for split, more in (
        ("train", [("x y", "good"), ("x y", "bad"), ("x y", "bad"), ("z", "bad"), ("z", "bad")]),
        ("test", []),
    ):
        rows = [(f"{split} {n}", "good" if n % 2 else "bad") for n in range(40)]
        write(tmp_path / f"{split}.csv", table([*rows, *more], "text", "label"))
    _, notes = read_texts(tmp_path)
    assert "occur with other labels too" in notes[-1]
    assert sum("occur with other labels" in each for each in notes) == 1
