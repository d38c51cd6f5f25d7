"""Files of predictions on the user's data, texts of a program, odd bytes: what is left out, kept and noted."""

import math
import re
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.spec.names import task_class
from elmo_bench.tasks.tagging.forms import read_form
from elmo_bench.text.own_texts import rows_of_texts, with_probabilities
from elmo_bench.text.tables import read_table, write_table
from tests.text.test_own_data import data, read, write

PREDICTIONS = [  # content of a file of predictions, items that are scored, what is noted
    ("gold,predicted\na,b\nb,b\n", 2, []),
    ("gold,predicted\na,b\n,a\n", 1, ["x.csv: 1 of 2 rows have no gold label and are left out; 1 are scored"]),
    ("gold,predicted\na,\nb,b\n", 1, ["x.csv: 1 of 2 rows have no prediction and are left out; 1 are scored"]),
    ("gold,predicted\n,\nb,b\n", 1, ["x.csv: 1 of 2 rows have no gold label and are left out; 1 are scored"]),
    ("gold,predicted\n  ,a\nb,b\n", 1, ["x.csv: 1 of 2 rows have no gold label and are left out; 1 are scored"]),
    ("gold,predicted\na,  \nb,b\n", 1, ["x.csv: 1 of 2 rows have no prediction and are left out; 1 are scored"]),
    ("gold,predicted\n" + ",a\n" * 8 + "b,b\n" * 291, 291,
     ["x.csv: 8 of 299 rows have no gold label and are left out; 291 are scored"]),
    ("gold,predicted\n,b\n,a\n", "no row has a gold label. Fill in the column gold", []),
    ("gold,predicted\na,\nb,\n", "no row has a prediction. Predict the file again.", []),
    ("gold\na\n", "row 1: no predicted. `predict` writes files that have both columns.", []),
]  # fmt: skip


@pytest.mark.parametrize(("content", "scored", "said"), PREDICTIONS)
def test_rows_without_gold_are_left_out_of_a_score_and_noted(tmp_path, content, scored, said):
    path = Path(write(tmp_path / "x.csv", content))
    with noted() as notes:
        if isinstance(scored, str):
            with pytest.raises(UserError, match=re.escape(scored)):
                task_class("classification", "metric")().score_files(path)
        else:
            assert task_class("pairs", "metric")().score_files(path)["overall"]["items"] == scored
    assert notes == said


@pytest.mark.parametrize("labels", [("1", "1.0"), ("Spam", "spam")])
def test_labels_that_only_their_spelling_distinguishes_are_noted(tmp_path, labels):
    path = Path(write(tmp_path / "x.csv", f"gold,predicted\n{','.join(labels)}\n"))
    with noted() as notes:
        task_class("classification", "metric")().score_files(path)
    what = "x.csv: labels that only case, white space or the form of a number distinguish"
    assert notes == [f"{what}: {labels[0]!r} and {labels[1]!r}. Each counts alone. Write them alike"]


@pytest.mark.parametrize(
    ("task", "content", "replaced"),
    [
        ("classification", "text,label,predicted\na b,x,y\n", ["predicted"]),
        ("classification", "text,label,gold\na b,x,y\n", ["gold"]),
        ("classification", "text,gold\na b,x\n", []),
        ("classification", "text,label,gold\na b,,x\n", []),
        ("classification", "text,label,gold\na b,y,y\nc d,,x\n", ["gold"]),
        ("tagging", "tokens,tags,gold,predicted\nAda ran,B-P O,x,y\n", ["gold", "predicted"]),
        ("tagging", "tokens,gold\nAda ran,B-P O\n", []),
    ],
)
def test_columns_of_the_user_that_are_replaced_are_noted(tmp_path, task, content, replaced):
    reader = data(task)
    examples = reader.read_file(Path(write(tmp_path / "x.csv", content)))
    with noted() as notes:
        guess = ["O", "O"] if task == "tagging" else "z"
        reader.write(tmp_path / "out.csv", examples, [guess] * len(examples))
    said = "out.csv: the column {} of the input is replaced, since predictions have this name. Rename it in the input"
    assert notes == [f"{said.format(name)} to keep it" for name in replaced]


def test_probabilities_of_the_user_that_are_replaced_are_noted(tmp_path):
    path = Path(write(tmp_path / "x.csv", "text,probability a,probability b\nx,0.1,0.2\n"))
    with noted() as notes:
        [example] = with_probabilities(data().read_file(path), [{"a": 0.75, "c": 0.25}])
    assert example.row == {"text": "x", "probability a": 0.75, "probability b": "0.2", "probability c": 0.25}
    assert notes[-1].startswith("the column probability a of the input is replaced")


def test_an_empty_cell_of_a_single_column_is_a_row(tmp_path):
    """Excel and spreadsheets write it as a blank line."""
    path = Path(write(tmp_path / "x.csv", "text\na dog\n\n\na cat\n\n"))
    reader = data()
    examples = reader.read_file(path)
    assert [example.texts for example in examples] == [(("a", "dog"),), ((),), ((),), (("a", "cat"),)]
    reader.write(tmp_path / "out.csv", examples, ["x", None, None, "y"])
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines == ["text,gold,predicted", "a dog,,x", ",,", ",,", "a cat,,y"]


def test_new_texts_are_read_from_the_columns_of_the_training_data(tmp_path):
    reader = data()
    reader.columns_of_train = {"text": "review", "label": "stars"}
    path = Path(write(tmp_path / "x.csv", "text,review,stars,label\na title,a body,5,x\n"))
    [example] = reader.read_file(path)
    assert (example.texts, example.gold) == ((("a", "body"),), "5")
    path = Path(write(tmp_path / "y.csv", "text,label\na title,x\n"))  # it has other columns
    [example] = reader.read_file(path)
    assert (example.texts, example.gold) == ((("a", "title"),), "x")


def test_gold_that_is_not_a_number_is_missing(tmp_path):
    """As pandas writes a column of numbers, of which some are missing."""
    write_table(
        path := tmp_path / "x.parquet", [{"gold": 1.0, "predicted": "1.0"}, {"gold": math.nan, "predicted": "x"}]
    )
    assert task_class("classification", "metric")().score_files(path)["overall"] == {
        "accuracy": 100, "correct": 1, "items": 1, "macro_f1": 100,
    }  # fmt: skip


def test_sentences_without_gold_are_left_out_of_a_score_and_noted(tmp_path):
    path = Path(write(tmp_path / "x.conll", "Ada B-P B-P\nran O O\n\nBo - B-P\n\n"))
    with noted() as notes:
        overall = task_class("tagging", "metric")().score_files(path)["overall"]
    assert (overall["gold"], overall["guessed"], overall["tokens"]) == (1, 1, 2)
    assert notes[0] == "x.conll: 1 of 2 rows have no gold label and are left out; 1 are scored"


CSV_FORMS = [  # the bytes before the names, separator, end of a line
    (b"", ",", "\n"), (b"", ";", "\n"), (b"", "\t", "\n"), (b"", ",", "\r\n"), (b"", ";", "\r\n"),
    (b"\xef\xbb\xbf", ",", "\n"), (b"\xef\xbb\xbf", ";", "\r\n"), (b"\xef\xbb\xbf", "\t", "\r\n"),
    (b"sep=;\n", ";", "\n"), (b"sep=|\r\n", "|", "\r\n"), (b"\xef\xbb\xbfsep=|\r\n", "|", "\r\n"),
]  # fmt: skip


@pytest.mark.parametrize(("start", "separator", "end"), CSV_FORMS)
def test_predictions_are_written_as_the_table_that_was_read(tmp_path, start, separator, end):
    lines = [["text", "n"], ["a b", "1"], ["", "2"], [f"c{separator} d", "3"]]
    cells = [[f'"{cell}"' if separator in cell else cell for cell in line] for line in lines]
    path, out = tmp_path / "x.csv", tmp_path / "out.csv"
    path.write_bytes(start + "".join(separator.join(line) + end for line in cells).encode())
    reader = data()
    with noted() as notes:
        examples = reader.read_file(path)
    assert any(each == "x.csv: 1 of 3 texts have no text, so they get no prediction" for each in notes)
    reader.write(out, examples, ["x", None, "y"])
    added = zip(cells, (["gold", "predicted"], ["", "x"], ["", ""], ["", "y"]), strict=True)
    assert out.read_bytes() == start + "".join(separator.join([*line, *more]) + end for line, more in added).encode()
    assert [row["predicted"] for row in read_table(out)] == ["x", "", "y"]


def test_predictions_in_another_form_are_written_as_usual(tmp_path):
    path, out = Path(write(tmp_path / "x.csv", "text;n\r\na b;1\r\n")), tmp_path / "out.tsv"
    reader = data()
    reader.write(out, reader.read_file(path), ["x"])
    assert out.read_text() == "text\tn\tgold\tpredicted\na b\t1\t\tx\n"


def test_a_file_without_any_text_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"x\.csv: no row has text\. Name another column\."):
        data().read_file(Path(write(tmp_path / "x.csv", "text,label\n,a\n ,b\n")))


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.json", "x.jsonl", "x.conll", "x.txt"])
def test_zero_bytes_are_noted(tmp_path, name):
    sound = {".csv": "text,label\na,b\n", ".tsv": "text\tlabel\na\tb\n", ".json": '[{"text": "a"}]\n',
             ".jsonl": '{"text": "a"}\n{"text": "b"}\n'}.get(Path(name).suffix, "Ada B-P\nran O\n\n")  # fmt: skip
    path = tmp_path / name
    read = read_table if Path(name).suffix in (".csv", ".tsv", ".json", ".jsonl") else read_form
    for content, is_noted in ((sound, False), (sound.replace("a", "a\0", 1), True)):
        path.write_text(content)
        with noted() as notes, suppress(UserError):
            read(path) if read is read_table else read(path, None)
        assert any("has a NUL byte: the file may be" in each for each in notes) == is_noted


CELL = st.text(st.sampled_from([*"ab ,;\t\n\r\"'|é\xa0\u2028[]#"]), max_size=6)


def with_line_feeds(rows):
    """A line in a cell ends in LF when a CSV file is read, however it was written."""
    return [{name: re.sub(r"\r*\n", "\n", cell) for name, cell in row.items()} for row in rows]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=4))
def test_whatever_is_written_is_read_back(tmp_path, ending, cells):
    rows = [{"text": text, "more": more, "gold": "x"} for text, more in cells]
    write_table(path := tmp_path / f"x.{ending}", rows)
    assert read_table(path) == (rows if ending in ("jsonl", "parquet") else with_line_feeds(rows))


@pytest.mark.parametrize("form", ["text;n\r\na;1\r\n", "\ufefftext\tn\r\na\t1\r\n", "sep=|\ntext|n\na|1\n"])
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=4))
def test_whatever_is_written_in_the_form_of_another_file_is_read_back(tmp_path, form, cells):
    (like := tmp_path / "like.csv").write_text(form, newline="")
    rows = [{"text": text, "n": more, "gold": "x"} for text, more in cells]
    write_table(path := tmp_path / "x.csv", rows, like=like)
    assert read_table(path) == with_line_feeds(rows)


NO_LIST = "a list of texts is wanted, and this is"
HOW = '. Give a list, such as list(frame["text"]), or of pairs list(zip(frame["a"], frame["b"])).'
PAIR = ("premise", "hypothesis")
NO_TUPLE = "not a tuple (premise, hypothesis). Give one."
WRONG = [
    ("A text.", ("text",), f"{NO_LIST} a single text{HOW}"),
    (5, ("text",), f"{NO_LIST} 5{HOW}"),
    ({"text": ["a", "b"]}, ("text",), f"{NO_LIST} a dict{HOW}"),
    ({"a", "b"}, ("text",), f"{NO_LIST} a set{HOW}"),
    (pd.DataFrame({"text": ["a", "b"]}), ("text",), f"{NO_LIST} a DataFrame{HOW}"),
    (pd.DataFrame({"premise": ["a"], "hypothesis": ["b"]}), PAIR, f"{NO_LIST} a DataFrame{HOW}"),
    ([("a", "b", "c")], PAIR, f"text 1: {NO_TUPLE}"),
    ([1, 2], PAIR, f"text 1: {NO_TUPLE}"),
    ([("a", "b"), "ab"], PAIR, f"text 2: {NO_TUPLE}"),
    ([{"premise": "a", "hypothesis": "b"}], PAIR, f"text 1: {NO_TUPLE}"),
    ([{"a", "b"}], PAIR, f"text 1: {NO_TUPLE}"),
]


@pytest.mark.parametrize(("texts", "parts", "sentence"), WRONG)
def test_texts_of_another_form_are_refused(texts, parts, sentence):
    with pytest.raises(UserError) as raised:
        rows_of_texts(texts, parts)
    assert str(raised.value) == sentence


@pytest.mark.parametrize("form", [list, tuple, iter, pd.Series, lambda texts: map(list, texts)])
@pytest.mark.parametrize("task", ["ner", "tagging"])
def test_lists_and_columns_and_iterators_have_the_same_examples(task, form):
    data = task_class(task, "data")()
    sentences = [["Marvolo", "sailed"], ["to", "Quibbleton"]]
    assert [[*example.tokens] for example in data.of_texts(form(sentences))] == sentences


def test_missing_values_are_empty_texts():
    data = task_class("pairs", "data")()
    empty = [example.texts for example in data.of_texts([("a b", missing) for missing in (math.nan, None, pd.NA)])]
    assert empty == [(("a", "b"), ())] * 3
    column = pd.Series(["a b", None], dtype="string")  # whose missing value is pandas.NA
    texts = [example.texts for example in task_class("classification", "data")().of_texts(column)]
    assert texts == [(("a", "b"),), ((),)]


def test_printed_lists_are_refused_in_every_file(tmp_path):
    write(tmp_path / "x" / "train.jsonl", '{"text": ["a", "b"], "label": "x"}\n{"text": ["c"], "label": "y"}\n' * 9)
    write(tmp_path / "x" / "test.csv", "text,label\n\"['a', 'b']\",x\n\"['c']\",y\n")
    with pytest.raises(UserError, match="text is a list in one cell"):
        read(tmp_path / "x")
