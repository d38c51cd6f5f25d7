"""Parts of speech: reading, accuracy by hand, the linear softmax."""

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.tasks.pos.data import Data
from elmo_bench.tasks.pos.metric import Metric
from elmo_bench.text.tags import TaggedSentence as Sentence
from tests.golden_cases import score

# From UD English EWT's guidelines' kind of lines: a range, a word that is only understood.
CONLLU = """# text = I can't.
1\tI\tI\tPRON\tPRP\t_\t0\troot\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\t_\t1\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\t_

1\tNo\tno\tINTJ\tUH\t_\t0\troot\t_\t_
"""
READ = [Sentence(("I", "ca", "n't", "."), ("PRP", "MD", "RB", ".")), Sentence(("No",), ("UH",))]


def test_conllu(tmp_path):
    path = tmp_path / "x.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    assert Data().read_file(path) == READ


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("I PRP\nca MD\nn't RB\n. .\n\nNo UH\n", READ),
        ("I\nca\n\nNo\n", [Sentence(("I", "ca"), ("-", "-")), Sentence(("No",), ("-",))]),
        ("I ca n't go .\nNo\n", [Sentence(("I", "ca", "n't", "go", "."), ("-",) * 5), Sentence(("No",), ("-",))]),
        ("I ca\n", [Sentence(("I", "ca"), ("-", "-"))]),
    ],
)
def test_columns(tmp_path, text, read):
    path = tmp_path / "x.txt"
    path.write_text(text, encoding="utf-8")
    assert Data().read_file(path) == read


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.conllu", "1\tI\tPRP\n", "x.conllu:1: expected 10 columns, found 3"),
        ("x.conllu", CONLLU.replace("2\tca", "2x\tca"), "x.conllu:4: '2x' is not the number of a word"),
        ("x.conllu", CONLLU.replace("2\tca", "\tca"), "x.conllu:4: '' is not the number of a word"),
        ("x.conllu", "# nothing\n", "no sentences"),
        ("x.txt", "I PRP\nca\n", "x.txt:2: expected 2 columns, found 1"),
        (
            "x.txt",
            "I ca\nNo I ca\n",
            "found 3. Fix this line. A file of sentences, one a line, needs a line of more than",
        ),
        ("x.txt", "I PRP", "may be cut off. End the last line with a newline, or download"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path, name, text, said):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        Data().read_file(tmp_path / name)


@pytest.mark.parametrize(
    ("separator", "said"), [(" ", ["x.txt: read as 2 words with tags, a word a line"]), ("\t", [])]
)
def test_lines_that_may_be_short_sentences_are_read_as_columns_with_a_note(tmp_path, separator, said):
    (path := tmp_path / "x.txt").write_text("I saw Ada\nHe left early\n".replace(" ", separator), encoding="utf-8")
    with noted() as notes:
        assert Data().read_file(path) == [Sentence(("I", "He"), ("Ada", "early"))]
    assert notes == said
    with noted() as notes:  # of a file of a suite, which has a word a line
        Data().from_files({"folder": ".", "train": "x.txt"}, "train", tmp_path)
    assert notes == []


def test_accuracy_by_hand():
    gold, predicted = [["DT", "NN"], ["NN", "VB", "NN"]], [["DT", "VB"], ["NN", "VB", "DT"]]
    scores = score(Metric(), gold, predicted)
    assert scores["overall"] == {"accuracy": 60.0, "correct": 3, "tokens": 5}
    assert scores["by_type"]["NN"] == {"recall": pytest.approx(100 / 3), "correct": 1, "guessed": 1, "gold": 3}
    assert scores["by_type"]["VB"] == {"recall": 100.0, "correct": 1, "guessed": 2, "gold": 1}
    outcomes = Metric().counts(gold, predicted)
    assert (outcomes["correct"].tolist(), outcomes["tokens"].tolist()) == ([1, 2], [2, 3])
    assert np.isclose(100 * outcomes["correct"].sum() / outcomes["tokens"].sum(), 60)
    for wrong in ([["DT"]], [["DT", "NN"], ["NN", "VB"]]):
        with pytest.raises(ValueError, match="as many"):
            score(Metric(), gold, wrong)
