"""Tables as other programs write them: JSON in other forms, columns without names, lists in cells, folders."""

import json
import math
import re
from pathlib import Path

import pyarrow.parquet
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.runner.split_checks import check_splits
from elmo_bench.text import json_rows, parquet_rows, sizes
from elmo_bench.text.labelled import Labelled
from elmo_bench.text.split_files import files_of
from elmo_bench.text.tables import read_table, write_table
from tests.hub import as_parquet
from tests.text.test_own_data import MANY, NAMES, data, read, table, write

ROWS = [{"text": "a, b", "label": "x"}, {"text": 'NaN \\"', "label": "y"}, {"text": "c", "label": "x"}]
COLUMNS = {name: [row[name] for row in ROWS] for name in ("text", "label")}
JSON = {  # name: (content, the note)
    "list.json": (json.dumps(ROWS), None),
    "printed.json": (json.dumps(ROWS, indent=1), None),
    "lines.json": ("\n\n".join(map(json.dumps, ROWS)), None),
    "lines.jsonl": ("\n".join(map(json.dumps, ROWS)) + "\n", None),
    "key.json": (json.dumps({"version": "1", "data": ROWS}, indent=1), "the rows are under 'data'"),
    "key-on-a-line.json": (json.dumps({"rows": ROWS, "n": 3}), "the rows are under 'rows'"),
    "list-of-columns.json": (json.dumps(COLUMNS), "read as columns"),
    "columns.json": (json.dumps({n: dict(zip("012", c, strict=True)) for n, c in COLUMNS.items()}), "read as columns"),
    "index.json": (json.dumps({str(n): row for n, row in enumerate(ROWS)}), "each value is read as a row"),
    "split.json": (json.dumps({"columns": ["text", "label"], "index": [0, 1, 2],
                               "data": [[*row.values()] for row in ROWS]}), "the rows are lists under 'data'"),
    "table.json": (json.dumps({"schema": {"fields": []}, "data": ROWS}), "the rows are under 'data'"),
}  # fmt: skip
POOLS = []  # threads of pyarrow may use a pool after its test


@pytest.mark.parametrize("name", JSON)
def test_json_has_its_rows_in_every_form(tmp_path, name):
    content, said = JSON[name]
    with noted() as notes:
        assert read_table(Path(write(tmp_path / name, content))) == ROWS
    assert notes == ([f"{name}: {said}"] if said else [])


def test_nan_is_a_missing_value_and_text_stays(tmp_path):
    rows = [{"text": 'NaN, "NaN"', "label": math.nan}, {"text": "x", "label": "b"}]
    for name, content in (("x.jsonl", "\n".join(map(json.dumps, rows))), ("x.json", json.dumps(rows, indent=1))):
        with noted() as notes:
            read_back = read_table(Path(write(tmp_path / name, content)))
        assert read_back == [{"text": 'NaN, "NaN"', "label": None}, rows[1]]
        assert notes == [f"{name}: NaN is read as a missing value"]


def test_one_sentence_in_json_is_a_row(tmp_path):
    row = {"tokens": ["a", "b"], "gold": ["X", "Y"], "predicted": ["X", "X"]}
    for name in ("x.json", "x.jsonl"):
        write_table(path := tmp_path / name, [row])
        assert read_table(path) == [row]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.json", json.dumps({"train": ROWS, "test": ROWS}), "x.json: rows under train, test. Write a file for each"),
        (
            "x.json",
            '{\n "a": [1,\n',
            "x.json:2: not valid JSON (cut off in the middle). Give an object on each line, or",
        ),
        ("x.json", '{"data": ', "not valid JSON (cut off in the middle). Give an object on each line, or one list of "),
        ("x.json", "[1, 2]", "x.json:1: not an object with names and values. Give an object on each line, or one list"),
        ("x.jsonl", '{"a": 1}\n[1]\n', "x.jsonl:2: not an object with names and values. Fix this line."),
        ("x.jsonl", '{"a": Infinity}\n{"a": 1}\n', "x.jsonl:1: not valid JSON"),
    ],
)
def test_json_that_is_no_table_is_one_line(tmp_path, name, content, message):
    with pytest.raises(UserError, match=re.escape(message)):
        read_table(Path(write(tmp_path / name, content)))


def test_columns_without_names_are_left_out_where_they_are_several(tmp_path):
    rows = "".join(f"good,text {n},,,x\n" for n in range(3))
    read_back = read_table(Path(write(tmp_path / "x.csv", f"v1,v2,, ,\n{rows}")))
    assert read_back == [{"v1": "good", "v2": f"text {n}"} for n in range(3)]
    assert read_table(Path(write(tmp_path / "y.csv", ",text\n0,a\n"))) == [{"": "0", "text": "a"}]


LISTS = ["[1, 2, 0]", "[1 2 0]", "['a', 'b']", '["a", "b"]', "['a' 'b'\n 'c']", "array([1, 2])", "array(['a'])", " [] ",
         "[0.5, -1]", "[1]"]  # fmt: skip


@pytest.mark.parametrize("cell", LISTS)
def test_lists_that_a_program_printed_into_cells_are_refused(tmp_path, cell):
    escaped = cell.replace('"', '""')
    for task, header, row in (
        ("tagging", "tokens,tags", f'a b c,"{escaped}"\n'),
        ("tagging", "tokens,tags", f'"{escaped}",X Y Z\n'),
        ("classification", "text,label", f'"{escaped}",x\n'),
        ("classification", "text,label", f'a,"{escaped}"\n'),
    ):
        with pytest.raises(
            UserError, match=r"is a list in one cell, such as .*\. Write words and spaces, or JSON lines"
        ):
            read(write(tmp_path / "x.csv", f"{header}\n{row * 9}"), task)


def test_text_in_brackets_is_no_list(tmp_path):
    rows = [(f"[{text}]" if text.endswith("0 .") else text, label) for text, label in MANY]
    assert sum(map(len, read(write(tmp_path / "x.csv", table(rows, "text", "label")))[0].values())) == 100


FOLDERS = [  # files, {split: files}, unused
    (("train.csv", "eval.csv"), {"train": "train.csv", "dev": "eval.csv"}, ()),
    (("train.csv", "dev.csv", "eval.csv"), {"train": "train.csv", "dev": "dev.csv", "test": "eval.csv"}, ()),
    (("train.csv", "dev.csv", "test.csv", "eval.csv"), {"train": "train.csv", "dev": "dev.csv", "test": "test.csv"},
     ("eval.csv",)),
    (("train.csv", "validate.csv"), {"train": "train.csv", "dev": "validate.csv"}, ()),
    (("train.csv", "holdout.csv"), {"train": "train.csv", "test": "holdout.csv"}, ()),
    (("train.csv", "held-out.csv"), {"train": "train.csv", "test": "held-out.csv"}, ()),
    (("train.csv", "held_out_eval.csv"), {"train": "train.csv", "dev": "held_out_eval.csv"}, ()),
    (("train.csv", "unseen.csv", "val.csv"), {"train": "train.csv", "dev": "val.csv", "test": "unseen.csv"}, ()),
    (("traindata.csv", "testdata.csv"), {"train": "traindata.csv", "test": "testdata.csv"}, ()),
    (("trainData.csv", "devset.csv"), {"train": "trainData.csv", "dev": "devset.csv"}, ()),
    (("Training_Set.csv", "Test_Set.csv"), {"train": "Training_Set.csv", "test": "Test_Set.csv"}, ()),
    (("train.csv", "blind.csv", "more.csv"), {"train": "train.csv"}, ("blind.csv", "more.csv")),
    (("train.csv", ".ipynb_checkpoints/test-checkpoint.csv", ".cache/a/train.csv"), {"train": "train.csv"}, ()),
    (("train.csv", "train-test.csv"), {"train": "train.csv"}, ("train-test.csv",)),
]  # fmt: skip


@pytest.mark.parametrize("split", ["file", "train", "test"])
@pytest.mark.parametrize("address", ["https://me:secret@host/x.csv", "s3://me:secret@x/y"])
def test_an_address_is_refused_without_its_password(split, address):
    file, by_split = (address, {}) if split == "file" else (None, {split: address})
    with pytest.raises(UserError, match=r"an address\. Download the file") as error:
        files_of(file, by_split, lambda path: True)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(("names", "splits", "unused"), FOLDERS, ids=["+".join(names) for names, *_ in FOLDERS])
def test_the_files_of_a_folder_are_used_or_named(tmp_path, names, splits, unused):
    for name in names:
        write(tmp_path / "x" / name, table([(f"{name} {text}", label) for text, label in MANY], "text", "label"))
    used = files_of(str(tmp_path / "x"), {}, data().reads)
    assert {split: path.name for split, [path] in used.items()} == splits
    _, notes = read(tmp_path / "x")
    said = f"files that no split uses: {', '.join(unused)}. Give data.train=, data.dev= and data.test=FILE to use them"
    assert (said in notes) == bool(unused)
    assert bool(unused) == any("no split uses" in each for each in notes)


@pytest.mark.parametrize("other", ["train (1).csv", "train_old.csv", "a/train.csv"])
def test_copies_of_a_split_are_not_joined(tmp_path, other):
    for name in ("train.csv", other):
        write(tmp_path / "x" / name, table(MANY, "text", "label"))
    with pytest.raises(UserError, match=r"x: more than one train \(.*train.*\)\. Give data\.train=FILE"):
        files_of(str(tmp_path / "x"), {}, data().reads)


def test_parts_of_a_split_are_joined(tmp_path):
    names = ["train-00000-of-00002-b42a775f407cee45.csv", "train-00001-of-00002-0f3fb6c1fb5fae6a.csv"]
    for name in names:
        write(tmp_path / "x" / name, table(MANY, "text", "label"))
    [paths] = files_of(str(tmp_path / "x"), {}, data().reads).values()
    assert [path.name for path in paths] == names


@pytest.mark.parametrize(("key", "most"), [("MOST_ROWS_OF_ALL", 250), ("MOST_CELLS", 500), ("LARGEST", 5500)])
def test_all_files_of_a_run_have_one_limit(tmp_path, monkeypatch, key, most):
    for split in ("train", "dev", "test"):
        write(tmp_path / "x" / f"{split}.csv", table(MANY, "text", "label"))
    monkeypatch.setattr(sizes, key, most)
    with pytest.raises(UserError, match=rf"test\.csv: with the files before it, more than {most:,} "):
        read(tmp_path / "x")


@pytest.mark.parametrize("shift", range(10))
def test_pairs_and_their_mirror_images_are_in_one_split(tmp_path, shift):
    """Drawn pairs of which half are there the other way round, too, some in chains of three texts."""
    rows = []
    for n in range(60):
        one, other = f"How old is {n} ?", f"What is the age of {n * (7 + shift) % 60} ?"
        rows.append((one, other, str(n % 2)))
        rows += [(other, one, str(n % 2))] if n % 2 else []
    splits, notes = read(write(tmp_path / "x.csv", table(rows, "question1", "question2", "label")), "pairs")
    assert any("equal texts together, swapped pairs too, seed 0" in each for each in notes)
    assert {len(own) > 0 for own in splits.values()} == {True}
    with noted():
        counts = check_splits(splits, "x")
    assert (counts["test_in_train"], counts["dev_in_train"], counts["test_in_dev"]) == (0, 0, 0)


def test_pairs_without_mirror_images_are_cut_as_before(tmp_path):
    rows = [(f"p {n // 3}", f"h {n}", "ab"[n % 2]) for n in range(60)]
    _, notes = read(write(tmp_path / "x.csv", table(rows, "first", "second", "label")), "pairs")
    assert "test: 12 examples cut from train, equal texts together, seed 0" in notes


def test_swapped_pairs_of_given_splits_are_counted():
    pairs = [Labelled(((f"a{n}",), (f"b{n}",)), "xy"[n % 2]) for n in range(12)]
    swapped = [Labelled(pair.texts[::-1], pair.gold) for pair in pairs[:8]]
    with noted() as notes:
        check_splits({"train": pairs, "dev": pairs, "test": [*swapped, *pairs[:0]]}, "x")
    assert "test: the texts of 8 of 8 examples are in train too" in notes


CELLS = ["a\rb", "\r", 'quote " and \r return', "tab\tand\rreturn", "comma, \r", "line\nand \r", "ends with\r"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_a_return_alone_in_a_cell_is_read_back(tmp_path, ending):
    rows = [{"text": cell, "gold": "a", "predicted": "b"} for cell in CELLS]
    write_table(path := tmp_path / f"x.{ending}", rows)
    assert read_table(path) == rows
    assert data().example(rows[0], {"text": "text", "label": "gold"}, "x").gold == "a"


def test_a_cell_that_is_split_since_marks_are_text_is_noted(tmp_path):
    content = 'text\tlabel\n"a\tb\nc"\td\nfine\tgood\n'
    with noted() as notes:
        rows = read_table(Path(write(tmp_path / "x.tsv", content)))
    assert [row["text"] for row in rows] == ['"a', 'c"', "fine"]
    what = "quotation marks are text here and each line is a row, since a cell begins with a mark and does not end so"
    assert notes == [f"x.tsv: {what}: line 2"]


SPOKEN = 'text\tlabel\n"all of it"\tbad\n"So" he\tgood\n' + "fine\tgood\nno\tbad\n" * 9


@pytest.mark.parametrize(
    ("dev", "text"),
    [
        ('text\tlabel\n"all of it"\tbad\nfine\tgood\n', '"all of it"'),
        ('"text"\t"label"\n"all of it"\t"bad"\n"fine"\t"good"\n', "all of it"),
        ('text\tlabel\n"all ""of"" it"\tbad\nfine\tgood\n', 'all "of" it'),
        ('text\tlabel\n"all of\nit"\tbad\nfine\tgood\n', "all of it"),
    ],
)
def test_files_of_one_data_set_are_quoted_alike(tmp_path, dev, text):
    write(tmp_path / "x" / "train.tsv", SPOKEN)
    path = Path(write(tmp_path / "x" / "dev.tsv", dev))
    splits, notes = read(tmp_path / "x")
    assert " ".join(splits["dev"][0].texts[0]) == text
    said = "dev.tsv: quotation marks are text here and each line is a row, as in another file of these data: line 2"
    assert (said in notes) == text.startswith('"')
    with noted() as notes:
        data().read_file(path)
    assert ("dev.tsv: quotation marks around a whole cell are left out: line 2" in notes) == text.startswith('"')


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("# comment\ntext,label\na,b\n", "2: 2 cells in 1 columns. The columns were read as # comment, separated by "
         "','. The first line must have the names, between , ; or tabs"),
        ("id|text|label\n1|a|x\n2|b, c|y\n", "3: 2 cells in 1 columns. The columns were read as id|text|label"),
        ("text,label\na,b,c\nd,e,f\n", "2: 3 cells in 2 columns. The columns were read as text, label"),
        ('"text", "label"\n"a, b", "pos, neg"\n', "2: 3 cells in 2 columns. Remove the space before a quotation mark"),
        ("text,label\na,b\na,b,c\n", "3: 3 cells in 2 columns. Fix this row"),
    ],
)  # fmt: skip
def test_a_header_that_was_not_understood_is_shown(tmp_path, content, said):
    with pytest.raises(UserError, match=re.escape(f"x.csv:{said}")):
        read_table(Path(write(tmp_path / "x.csv", content)))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", "a,b\n" * 300), ("x.tsv", "a\tb\n" * 300), ("x.jsonl", '{"a":1}\n' * 300),
        ("x.json", json.dumps([{"a": 1}] * 300)), ("x.json", json.dumps({"a": [1] * 3000})),
        ("x.json", json.dumps({"a": {str(n): {} for n in range(300)}})), ("x.csv", "a,b\n" + '"\n\n",b\n' * 300),
        ("x.jsonl", json.dumps({"a": [[]] * 3000}) + "\n{}\n"), ("x.csv", ",".join(map(str, range(3000))) + "\n"),
        ("x.json", "[" + "[],\n" * 3000 + "[]]"),
    ],
)  # fmt: skip
def test_rows_and_cells_have_a_limit(tmp_path, monkeypatch, name, content):
    for module, key, most in ((sizes, "MOST_ROWS", 200), (sizes, "MOST_CELLS", 2000), (json_rows, "MOST_ROWS", 200)):
        monkeypatch.setattr(module, key, most)
    with pytest.raises(
        UserError, match=r"x\.\w+(:\d+)?: more than 2,?0+ (rows|cells|objects)\. Take a part of the file"
    ):
        read_table(Path(write(tmp_path / name, content)))


SHARED = "x" * 50_000


@pytest.mark.parametrize(
    "column",
    [
        pytest.param([SHARED] * 500, id="texts"),
        pytest.param([[SHARED] * 50] * 10, id="lists of texts"),
        pytest.param([{"a": [{"b": SHARED}]}] * 500, id="texts in lists in structs"),
        pytest.param([*"ab" * 1000, *[SHARED] * 500], id="texts after short ones"),
        pytest.param([[7] * 500_000], id="one list of one number"),
    ],
)
def test_a_small_file_is_refused_before_it_is_unpacked(tmp_path, monkeypatch, column):
    path = Path(write(tmp_path / "x.parquet", as_parquet({"text": column})))
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(parquet_rows, "LARGEST", 2**20)
    usual = pyarrow.default_memory_pool()
    pool = pyarrow.proxy_memory_pool(usual)  # counts what is allocated from here on
    POOLS.append(pool)
    pyarrow.set_memory_pool(pool)
    try:
        with pytest.raises(UserError, match="1 GiB unpacked"):
            read_table(path)
    finally:
        pyarrow.set_memory_pool(usual)
    assert pool.max_memory() < 2**20


def test_every_type_of_a_parquet_file_is_read_as_it_was_written(tmp_path):
    row = {"text": "a", "bytes": b"a", "tags": ["a", "b"], "a": {"b": ["c"]}, "n": 1, "x": 0.5, "yes": True}
    (path := tmp_path / "x.parquet").write_bytes(as_parquet({name: [cell, None] for name, cell in row.items()}))
    assert read_table(path) == [row, dict.fromkeys(row)]
    kinds = [pyarrow.string_view(), pyarrow.large_string(), pyarrow.dictionary(pyarrow.int8(), pyarrow.string())]
    made = {str(kind): pyarrow.array(["a", None], kind) for kind in kinds}
    path.write_bytes(as_parquet(made))
    assert read_table(path) == [dict.fromkeys(made, "a"), dict.fromkeys(made)]
    text = pyarrow.string()
    kinds = [pyarrow.list_(text, 1), pyarrow.large_list(text), pyarrow.list_view(text), pyarrow.map_(text, text)]
    cells = [["a"], ["a"], ["a"], [("a", "b")]]
    made = {str(kind): pyarrow.array([cell, None], kind) for kind, cell in zip(kinds, cells, strict=True)}
    path.write_bytes(as_parquet(made))
    assert read_table(path) == [dict(zip(made, cells, strict=True)), dict.fromkeys(made)]


@pytest.mark.parametrize(
    "about",
    [
        {"info": {"features": {"label": NAMES, "dropped": NAMES}}},
        {"info": {"features": {"label": {"names": 5}}}},
        {"info": {"features": None}},
        {"info": {}},
        {},
        [],
    ],
)
def test_a_description_of_other_columns_makes_no_file_damaged(tmp_path, about):
    made = pyarrow.table({"label": [1]}).replace_schema_metadata({"huggingface": json.dumps(about)})
    pyarrow.parquet.write_table(made, path := tmp_path / "x.parquet")
    has_names = "dropped" in str(about)
    assert read_table(path) == [{"label": "B-X" if has_names else 1}]
