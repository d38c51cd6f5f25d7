"""Data of the user's own: the files and their forms, the columns, the rows that are left out, and the split."""

import errno
import gzip
import json
import os
import re
from collections import Counter
from pathlib import Path

import pyarrow.parquet
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.spec.names import task_class
from elmo_bench.text import parquet_rows, split_files
from elmo_bench.text.cut import cut_missing
from elmo_bench.text.labelled import Labelled
from elmo_bench.text.tables import read_table, write_table
from tests.hub import COMMIT, as_parquet

ROWS = [{"text": 'He said "no",\nthen left; twice', "label": "bad"}, {"text": "fine , café", "label": "good"}]
CSV = 'text,label\n"He said ""no"",\nthen left; twice",bad\n"fine , café",good\n'
MANY = [(f"text number {n} .", "good" if n % 4 else "bad") for n in range(100)]
NAMES = {"names": ["O", "B-X", "I-X"], "_type": "ClassLabel"}


def data(task="classification", **options):
    return task_class(task, "data")(**options)


def table(rows, *names, separator=","):
    return "".join(separator.join(row) + "\n" for row in [names, *rows])


def write(path: Path, content) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def read(path, task="classification", **options):
    """(the splits, the notes)"""
    with noted() as notes:
        return data(task, file=str(path), **options).read("x", None), notes


@pytest.mark.parametrize(
    ("task", "text", "more"),
    [("classification", "text", ""), ("pairs", "text1,text2", ",a film"), ("tagging", "tokens", "")],
)
def test_the_unnamed_column_that_pandas_writes_is_no_gold(tmp_path, task, text, more):
    path = Path(write(tmp_path / "x.csv", f",{text}\n0,good film indeed{more}\n1,bad film{more}\n"))
    assert [not example.gold for example in data(task).read_file(path)] == [True, True]


FORMS = {
    "a.csv": CSV,
    "b.csv": CSV.replace("text,label", "text;label").replace('",bad', '";bad').replace('",good', '";good'),
    "c.csv": b"\xef\xbb\xbf" + CSV.replace("\n", "\r\n").encode(),
    "d.csv.gz": gzip.compress(CSV.encode()),
    "e.tsv": CSV.replace("text,label", "text\tlabel").replace('",bad', '"\tbad').replace('",good', '"\tgood'),
    "f.jsonl": "".join(f"{json.dumps(row)}\n\n" for row in ROWS),
    "g.json": json.dumps(ROWS, indent=1),
    "h.parquet": as_parquet({name: [row[name] for row in ROWS] for name in ("text", "label")}),
    "i.csv": CSV.removesuffix("\n") + "\n\n",
    "j.csv": CSV.replace("text,label", "text, label "),
    "l.csv": "sep=;\n" + CSV.replace("text,label", "text;label").replace('",bad', '";bad').replace('",good', '";good'),
    "m.csv": "SEP=,\r\n" + CSV,
    "k.csv": CSV.replace("label\n", "label\r").replace("bad\n", "bad\r").replace("good\n", "good\r"),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_has_the_same_rows(tmp_path, name):
    with noted() as notes:
        assert read_table(Path(write(tmp_path / name, FORMS[name]))) == ROWS
    said = {  # CRLF is usual in such files
        "b": ["b.csv: columns are separated by ';'"],
        "l": ["l.csv: columns are separated by ';'"],
        "c": ["c.csv: begins with a byte order mark, which is left out"],
    }
    assert notes == said.get(name[0], [])


def test_a_table_that_was_written_is_read(tmp_path):
    for ending in ("csv", "tsv", "jsonl", "json", "parquet"):
        write_table(path := tmp_path / f"x.{ending}", ROWS)
        assert read_table(path) == ROWS


def test_a_tab_separated_file_without_quoting_keeps_its_quotation_marks(tmp_path):
    """Where the lines are whole rows, a mark at the start of a cell opens no quoted cell; else it does."""
    raw = 'text\tlabel\n"Wow," he said.\tgood\nfine\tgood\n"So it " was\tbad\n"all of it"\tbad\n'
    rows = read_table(Path(write(tmp_path / "a.tsv", raw)))
    assert [row["text"] for row in rows] == ['"Wow," he said.', "fine", '"So it " was', '"all of it"']
    quoted = raw.replace('"Wow," he said.', '"""Wow,"" he said."').replace('"So it " was', '"So\nit"')
    rows = read_table(Path(write(tmp_path / "b.tsv", quoted)))
    assert [row["text"] for row in rows] == ['"Wow," he said.', "fine", "So\nit", "all of it"]


@pytest.mark.parametrize("listed", [{"feature": NAMES, "_type": "List"}, [NAMES]])  # as in newer and older files
def test_numbers_of_classes_get_their_names_in_lists_too_and_other_numbers_are_no_class(tmp_path, listed):
    content = as_parquet(
        {"label": [1, -1], "tags": [[0, 1], [2]], "n": [1, 2]},
        {"label": NAMES, "tags": listed, "n": {"dtype": "int64", "_type": "Value"}},
    )
    assert read_table(Path(write(tmp_path / "x.parquet", content))) == [
        {"label": "B-X", "tags": ["O", "B-X"], "n": 1},
        {"label": None, "tags": ["I-X"], "n": 2},
    ]


def test_the_texts_of_categories_count_for_every_row(tmp_path, monkeypatch):
    column = pyarrow.array(["x" * 1000, "y"]).dictionary_encode().take(pyarrow.array([0, 1] * 50))
    listed = pyarrow.ListArray.from_arrays([0, 1], pyarrow.array(["x"]).dictionary_encode())
    for name, made, said in (("a", column, "1 GiB unpacked"), ("b", listed, "in lists")):
        pyarrow.parquet.write_table(pyarrow.table({"text": made}), path := tmp_path / f"{name}.parquet")
        with monkeypatch.context() as patch, pytest.raises(UserError, match=said):
            patch.setattr(parquet_rows, "LARGEST", 20_000)
            read_table(path)
    assert [row["text"] for row in read_table(tmp_path / "a.parquet")][:2] == ["x" * 1000, "y"]


GOOD = table(MANY, "text", "label")
BAD = {  # what is wrong: (name, content, options, what is said)
    "no label column": ("x.csv", table(MANY, "text", "stars"), {},
                        "no column that is named as label usually is. The columns are text, stars. Name one: data."),
    "no column": ("x.csv", table(MANY, "body", "stars"), {}, "Name them: data.text=COLUMN data.label=COLUMN"),
    "a named column first": ("x.csv", table(MANY, "body", "stars"), {"label": "zz"},
                             "no column 'zz'. The columns are body, stars. Name them: data.text=COLUMN data.label=COL"),
    "no text column": ("x.csv", table(MANY, "body", "label"), {}, "no column that is named as text usually is."),
    "a column that is none": ("x.csv", GOOD, {"label": "Label"}, "no column 'Label'. The columns are text, label."),
    "a column for text and label": ("x.csv", GOOD, {"text": "label"}, "column label is already data.text. The columns"),
    "a column for label and text": ("x.csv", GOOD, {"label": "text"}, "column text is already data.label. The columns"),
    "5,000 classes": ("x.csv", table([(f"a {n}", str(n)) for n in range(5000)], "text", "label"), {},
                      "label: 5,000 different values, of which at most 1,000 can be labels. Name another column"),
    "one label": ("x.csv", table([(text, "good") for text, _ in MANY], "text", "label"), {},
                  "label: the only label is good, so nothing can be learned."),
    "UTF-16": ("x.csv", GOOD.encode("utf-16"), {}, "x.csv:1: not UTF-8 text (UTF-16, as Excel writes; "
               "invalid start byte at byte 0). Convert it: iconv -f UTF-16 -t UTF-8 "),
    "Windows-1252": ("x.csv", f"{GOOD}caf".encode() + b"\xe9,bad\n", {}, "iconv -f CP1252 -t UTF-8 "),
    "seven rows with a cell too many": ("x.csv", GOOD + "a,b,c\n" * 7, {}, "x.csv:102: 3 cells in 2 columns. Fix this "
                                        "row. And 6 more like it: 103, 104, 105, 106, 107 …"),
    "two lines that are not JSON": ("x.jsonl", '{"a": 1}\n\n{"t\n{"a": 1}\n{"t\n', {},
                                    "x.jsonl:3: not valid JSON (cut off in the middle). And 1 more like it: 5"),
    "two numbers as text": ("x.jsonl", '{"text": 5, "label": "b"}\n' * 2, {}, "fix the row. And 1 more like it: 2"),
    "Excel's first line alone": ("x.csv", "sep=;\n", {}, "x.csv: no rows below its header."),
    "a header alone": ("x.csv", "text,label\n", {}, "x.csv: no rows below its header."),
    "nothing": ("x.csv", "", {}, "x.csv: the first line is empty. It must have the names of the columns."),
    "nothing in JSON": ("x.jsonl", "\n", {}, "x.jsonl: no rows. Give some."),
    "an open quote": ("x.csv", f'{GOOD}"a,b\nc,d\n', {}, "x.csv:102: not a row of a table (unexpected end of data). "
                      "Fix the quotes of this row."),
    "a name twice": ("x.csv", table(MANY, "text", "text"), {}, "x.csv: two columns are named 'text'. Rename one."),
    "a name twice in Parquet": ("x.parquet", as_parquet([[1], [2]], names=["a", "a"]), {},
                                "x.parquet: two columns are named 'a'. Rename one."),
    "a line without an object": ("x.jsonl", '{"text": "a", "label": "b"}\n[1]\n', {}, "x.jsonl:2: not an object"),
    "numbers as text": ("x.jsonl", '{"text": 5, "label": "b"}\n', {}, "train, row 1 has 5 where text belongs."),
    "lists of numbers as text": ("x.parquet", as_parquet({"text": [[1, 2]], "label": ["a"]}), {},
                                 "train, row 1 has [1, 2] where text belongs."),
    "a list as label": ("x.jsonl", '{"text": "a", "label": ["b"]}\n', {}, "row 1 has ['b'] where a label belongs"),
    "a damaged Parquet file": ("x.parquet", as_parquet({"text": ["a"]})[:-9], {}, "x.parquet: not a Parquet file, or "),
    "no labels at all": ("x.csv", table([("a", "")] * 9, "text", "label"), {}, "train: no texts with text and label."),
    "a folder without data": ("x/README.md", "# Data", {}, "no file of data. Those that end in .csv, "),
    "a folder without train": ("x/dev.csv", GOOD, {"more": "y.csv"}, "no file with train in its name (dev.csv, y.csv"),
    "two kinds of train": ("x/train.csv", GOOD, {"more": "train.tsv"}, "more than one train (train.csv, train.tsv)."),
    "too few to cut": ("x.csv", table(MANY[:2], "text", "label"), {}, "cut from 2 examples with 2 different texts (of"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_data_end_in_one_line(tmp_path, what):
    name, content, options, message = BAD[what]
    path = Path(write(tmp_path / name, content))
    if "more" in options:
        write(path.with_name(options["more"]), content)
    with pytest.raises(UserError, match=re.escape(message)):
        read(tmp_path / Path(name).parts[0], **{key: value for key, value in options.items() if key != "more"})


def test_a_large_file_a_missing_one_and_a_folder_for_a_file_are_refused(tmp_path):
    with (tmp_path / "x.csv").open("wb") as file:
        file.truncate(2**31)
    os.mkfifo(tmp_path / "p.csv")
    for options, message in (
        ({"file": tmp_path / "x.csv"}, "x.csv: 2.0 GiB; at most 1 GiB is read. Take a part of it."),
        ({"file": tmp_path / "y.csv"}, "y.csv: no such file"),
        ({"file": tmp_path / "p.csv"}, "p.csv: not a regular file"),
        ({"train": tmp_path}, ": a folder, not a file"),
        ({"file": "/"}, "^data.file=/: the root of all files. Give the folder of the data."),
        ({"file": write(tmp_path / "y.doc", "a")}, "y.doc: not a table. Give a file that ends in .csv, .tsv, "),
    ):
        with pytest.raises(UserError, match=message):
            data(**{key: str(path) for key, path in options.items()}).read("x", None)


@pytest.mark.parametrize(
    ("header", "options", "said"),
    [
        ("text,label", {}, "text=text, label=label"),
        ("Sentence,Sentiment", {}, "text=Sentence, label=Sentiment"),
        ("text,class,sentence,label", {}, "text=text (not sentence), label=label (not class)"),
        ("text,label,a/b,c", {"text": "a/b", "label": "c"}, "text=a/b, label=c"),
        ("document,sentence", {"label": "sentence"}, "text=document, label=sentence"),
    ],
)
def test_columns_are_guessed_or_given_and_noted(tmp_path, header, options, said):
    rows = [[text, label, text, label] for text, label in MANY]
    rows = [row[: header.count(",") + 1] for row in rows]
    splits, notes = read(write(tmp_path / "x.csv", table(rows, header)), tokenizer="treebank", **options)
    assert notes[0] == f"columns: {said}; texts are tokenised by treebank"
    assert splits["train"][0].texts == (("text", "number", "0", "."),)


def test_pairs_and_texts_that_are_tokens_already(tmp_path):
    rows = [{"first": ["It", f"is {n}"], "second": f"No. {n}", "gold": n % 2} for n in range(20)]
    path = write(tmp_path / "x.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    splits, notes = read(path, "pairs", tokenizer="treebank")
    assert notes[0] == "columns: premise=first, hypothesis=second, label=gold; texts are tokenised by treebank"
    assert {each.texts[0] for own in splits.values() for each in own} == {("It", f"is {n}") for n in range(20)}


def test_rows_without_text_or_label_are_left_out_and_counted_and_single_labels_are_named(tmp_path):
    rows = [*MANY, ("", "good"), (" ", "bad"), ("who knows", ""), ("a b", "odd")]
    splits, notes = read(write(tmp_path / "x.csv", table(rows, "text", "label")))
    assert sum(map(len, splits.values())) == 101
    left_out = "train: {} of 104 texts left out, because they have no {}"
    assert notes[1:3] == [left_out.format(2, "text"), left_out.format(1, "label")]
    assert notes[-1] == "labels that occur once, which no head can both learn and show: 1 (odd)"


def test_a_folder_has_a_file_for_each_split_or_one_file(tmp_path):
    for name in ("my-train.csv", "validation.csv", "test.csv"):
        write(tmp_path / "many" / name, GOOD.replace("text number", name))
    splits, notes = read(tmp_path / "many")
    assert notes[0] == "files: train=my-train.csv, dev=validation.csv, test=test.csv"
    assert [{each.texts[0][0] for each in splits[split]} for split in splits] == [
        {"my-train.csv"}, {"validation.csv"}, {"test.csv"}
    ]  # fmt: skip
    write(tmp_path / "one" / "whatever.csv", GOOD)
    write(tmp_path / "one" / "README.md", "text")
    write(tmp_path / "one" / "results" / "runs" / "one" / "seed0.json", "{}")
    assert sum(map(len, read(tmp_path / "one")[0].values())) == 100


def test_a_folder_that_cannot_be_read_is_named_with_its_option(tmp_path, monkeypatch):
    def walk(folder, onerror):
        onerror(PermissionError(errno.EACCES, "Permission denied", f"{folder}/inside"))

    monkeypatch.setattr(os, "walk", walk)
    with pytest.raises(UserError, match=r"^data\.file: \S+/inside cannot be read \(Permission denied\)\. Give"):
        read(tmp_path)


def labelled(rows):
    return [Labelled(((word,),), label) for word, label in rows]


def test_a_split_is_repeatable_keeps_the_shares_of_labels_and_parts_no_group():
    examples = labelled((f"{n // 2}", "abc"[(n // 2) % 10 // 4]) for n in range(200))  # two have one text
    splits = cut_missing({"train": examples}, lambda each: each.gold)
    assert splits == cut_missing({"train": [*examples]}, lambda each: each.gold)
    assert {split: len(own) for split, own in splits.items()} == {"train": 120, "dev": 40, "test": 40}
    groups = [{each.group for each in own} for own in splits.values()]
    assert sum(map(len, groups)) == len(set().union(*groups)) == 100
    for split, own in splits.items():
        counts = Counter(each.gold for each in own)
        for label, share in (("a", 0.4), ("b", 0.4), ("c", 0.2)):
            assert abs(counts[label] - share * len(own)) <= 2, split  # one group


def test_pairs_of_one_premise_stay_together():
    pairs = [Labelled(((f"p{n // 2}",), (f"h{n}",)), "ab"[n % 2]) for n in range(100)]
    splits = cut_missing({"train": pairs}, lambda each: each.gold)
    premises = [{each.texts[0] for each in own} for own in splits.values()]
    assert sum(map(len, premises)) == len(set().union(*premises)) == 50


def test_shares_are_within_one_example_and_only_what_is_missing_is_cut():
    examples = labelled((str(n), label) for n, label in enumerate("a" * 37 + "b" * 11 + "c" * 7))
    for missing, other in (("dev", "test"), ("test", "dev")):
        given = labelled([("x", "a")])
        splits = cut_missing({"train": [*examples], other: given}, lambda each: each.gold)
        assert (splits[other], [*splits]) == (given, ["train", "dev", "test"])
        counts = Counter(each.gold for each in splits[missing])
        assert all(abs(counts[label] - 0.2 * whole) <= 1 for label, whole in (("a", 37), ("b", 11), ("c", 7)))
        assert sorted(splits["train"] + splits[missing], key=repr) == sorted(examples, key=repr)


def test_a_data_set_of_the_hub_its_shards_and_a_folder_in_it(hub):
    def shard(first, count):
        columns = {"text": [text for text, _ in MANY], "label": [int(label == "good") for _, label in MANY]}
        part = {name: values[first : first + count] for name, values in columns.items()}
        return as_parquet(part, {"label": {"names": ["bad", "good"], "_type": "ClassLabel"}})

    files = {"data/train-00000-of-00002.parquet": shard(0, 40), "data/train-00001-of-00002.parquet": shard(40, 40),
             "data/test-00000-of-00001.parquet": shard(80, 20), "README.md": b"# x", "dataset_infos.json": b"{}",
             ".gitattributes": b""}  # fmt: skip
    hub.repositories["me/shards"] = files
    splits, notes = read("hub:me/shards")
    assert notes[0] == "files: train=train-00000-of-00002.parquet and 1 more, test=test-00000-of-00001.parquet"
    assert {split: len(own) for split, own in splits.items()} == {"train": 64, "dev": 16, "test": 20}
    assert {each.gold for each in splits["test"]} == {"good", "bad"}
    assert any(f"/resolve/{COMMIT}/data/train-00001-of-00002.parquet" in each for each in hub.asked)
    files = {f"{part}/{split}.csv": GOOD.encode() for part in "ab" for split in ("train", "test")}
    hub.repositories["me/folders"] = files
    assert len(read("hub:me/folders/b")[0]["test"]) == 100
    with pytest.raises(UserError, match=r"^hub:me/folders: more than one test \(a/test.csv, .* or a folder inside"):
        read("hub:me/folders")


def test_a_large_data_set_of_the_hub_is_refused_before_it_is_downloaded(hub, monkeypatch):
    hub.repositories["me/large"] = {"train-0.csv": GOOD.encode(), "train-1.csv": GOOD.encode(), "x.md": b"x" * 9000}
    monkeypatch.setattr(split_files, "LARGEST", len(GOOD) * 2 - 1)
    with pytest.raises(UserError, match=r"hub:me/large: its files have .* GiB; at most 1 GiB is read\. Download some"):
        read("hub:me/large")
    assert not any("resolve" in each for each in hub.asked)


def test_a_data_set_that_is_not_on_the_hub_or_cannot_be_asked_for_is_one_line(hub, monkeypatch):
    for name, message in (
        ("me/nothing", "hub:me/nothing: not on the Hub, or no network"),
        ("nothing", "data.file=hub:nothing: give hub:user/repo"),
    ):
        with pytest.raises(UserError, match=message):
            read(f"hub:{name}")
    hub.repositories["me/text"] = {"x.md": b"x"}
    with pytest.raises(UserError, match="no file of data"):
        read("hub:me/text")
    monkeypatch.setenv("ELMO_BENCH_OFFLINE", "1")
    with pytest.raises(UserError, match="without network"):
        read("hub:me/offline")
