"""Reading documents: OntoGUM, CoNLL-2012 files, the Hub's table; and writing them."""

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.spec.task_files import task_yaml
from elmo_bench.tasks.coref.conll import Document, format_column, parse_column
from elmo_bench.tasks.coref.data import Data
from tests.golden_cases import for_each, golden
from tests.hub import from_hub
from tests.runs import DATA

COREF = Data(**task_yaml("coref")["data"] | {"width": 10, "window": 50})
COLUMNS = golden("coref_column")["cases"]


NAME = "bc/cctv/00/cctv_0001"
FILE = """#begin document (NAME); part 000
NAME   0   0   Ann   NN   *   -   -   -   Zhou_liangshuyi   *   (ARG0*)   (0|(7)
NAME   0   1   Lee   NN   *   -   -   -   Zhou_liangshuyi   *   (V*)   0)
NAME   0   2   /.   NN   *   -   -   -   Zhou_liangshuyi   *   *   -

NAME   0   0   Her   NN   *   -   -   -   -   *   (12|(0)
NAME   0   1   dog   NN   *   -   -   -   -   *   12)

#end document
#begin document (NAME); part 001
NAME   1   0   It   NN   *   -   -   -   #2   *   (12)
NAME   1   1   saw   NN   *   -   -   -   #2   *   -
NAME   1   2   it   NN   *   -   -   -   #2   *   (12)

#end document
""".replace("NAME", NAME)
ZHOU = ("Zhou_liangshuyi",) * 3 + ("-",) * 2
READ = [
    Document(NAME, "000", "bc", (("Ann", "Lee", "."), ("Her", "dog")), ZHOU, (((0, 1), (3, 3)),)),
    Document(NAME, "001", "bc", (("It", "saw", "it"),), ("#2",) * 3, (((0, 0), (2, 2)),)),
]


def write(path, text=FILE):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@for_each(COLUMNS)
def test_columns_of_brackets_equal_the_golden_ones(case, _):
    chains = parse_column(enumerate(case["column"]))
    assert {name: list(map(list, spans)) for name, spans in chains.items()} == case["clusters"]
    again = parse_column(enumerate(format_column(chains.values(), case["n_tokens"])))
    assert sorted(again.values()) == sorted(chains.values())


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace("   ", "\t"),
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("\n\n", "\n \t\n\n").replace("#end", "# a remark\n#end"),
        lambda text: text.replace("(0|(7)", "(7)|(0"),
    ],
)
def test_files_of_documents(tmp_path, capsys, change):
    assert COREF.read_file(write(tmp_path / "x.conll", change(FILE))) == READ
    said = " ".join(capsys.readouterr().err.split())
    assert "0 mentions are in two chains (kept in the first), 2 chains have one mention (dropped)" in said


def test_what_is_written_is_read_again(tmp_path):
    predicted = [[[(0, 4), (1, 2), (1, 1)], [(0, 0), (3, 4), (4, 4)]], [[[0, 1], [2, 2]]]]
    path = tmp_path / f"x{COREF.ending}"
    COREF.write(path, READ, predicted)
    again = COREF.read_file(path)
    assert [sorted(sorted(map(tuple, chain)) for chain in chains) for chains in predicted] == [
        sorted(map(list, document.clusters)) for document in again
    ]
    unchanged = ("name", "part", "genre", "sentences", "speakers")
    assert [[getattr(d, key) for key in unchanged] for d in again] == [
        [getattr(d, key) for key in unchanged] for d in READ
    ]
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "#begin document (bc/cctv/00/cctv_0001); part 000"
    assert {len(line.split("\t")) for line in lines if line and not line.startswith("#")} == {12}


def test_the_paper_suite_reads_files_or_folders_of_files(tmp_path):
    write(tmp_path / "conll2012" / "train" / "bc" / "00" / "a.v4_gold_conll")
    write(tmp_path / "conll2012" / "train" / "nw" / "b.v4_gold_conll", FILE.replace("bc/cctv/00/cctv", "nw/wsj/00/wsj"))
    write(tmp_path / "conll2012" / "dev.english.v4_gold_conll")
    write(tmp_path / "conll2012" / "test.english.v4_gold_conll")
    suite = COREF.read("paper", tmp_path)
    assert (suite["dev"], suite["test"], suite["train"][:2]) == (READ, READ, READ)
    assert [document.genre for document in suite["train"]] == ["bc", "bc", "nw", "nw"]
    assert COREF.vocabulary(suite["train"]) == {"genres": ["bc", "nw"]}


def test_mentions_and_documents_over_the_limits_of_the_head_are_noted(tmp_path):
    """Of four mentions, one has two tokens; of two documents, one has two sentences. Only training cuts documents."""
    for split in ("train", "dev", "test"):
        write(tmp_path / "conll2012" / f"{split}.english.v4_gold_conll")
    with noted() as notes:
        Data(**task_yaml("coref")["data"] | {"width": 1, "window": 1}).read("paper", tmp_path)
    mentions = "1 of 4 mentions are over 1 tokens long. They count, but are never found."
    documents = "1 of 2 documents have over 1 sentences: each epoch reads 1 of them in a row"
    assert [line for line in notes if "conll" not in line] == [
        f"train: {mentions}", f"train: {documents}", f"dev: {mentions}", f"test: {mentions}",
    ]  # fmt: skip


def test_documents_without_tokens_are_skipped_with_a_note(tmp_path):
    empty = f"#begin document ({NAME}); part 002\n#end document\n"
    with noted() as notes:
        assert COREF.read_file(write(tmp_path / "x.conll", FILE + empty)) == READ
    assert "x.conll: 1 documents without tokens are skipped" in notes


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "ontogum").is_dir(), reason="needs ontogum in $ELMO_BENCH_DATA")
def test_open_suite_is_ontogum(capsys):
    with noted():  # in this process other tests may have read these files
        suite = COREF.read("open", DATA)
    # Documents, tokens and lines with a bracket were counted in the raw files; one document in two chains, two or more.
    assert {split: len(documents) for split, documents in suite.items()} == {"train": 177, "dev": 30, "test": 30}
    tokens = {split: sum(len(document.tokens) for document in documents) for split, documents in suite.items()}
    raw = {}
    for split in suite:
        lines = (DATA / "ontogum" / f"{split}.v4_gold_conll").read_text(encoding="utf-8").splitlines()
        raw[split] = sum(bool(line) and not line.startswith("#") for line in lines)
    assert tokens == raw
    # The data's card counts 5,304 / 855 / 857 chains of two mentions or more; five more are left with one in train.
    assert [sum(len(d.clusters) for d in suite[split]) for split in suite] == [5299, 855, 857]
    assert all(len({s for c in d.clusters for s in c}) == sum(map(len, d.clusters)) for d in suite["train"])
    assert len(COREF.vocabulary(suite["train"])["genres"]) == 15 == len({d.genre for d in suite["test"]})
    said = " ".join(capsys.readouterr().err.split())
    assert "dev.v4_gold_conll: 1 mentions are in two chains" in said
    assert said.count("the first of them in gum/GUM_bio_emperor") == 1


SENTENCES = [
    {"part_id": 0, "words": ["Ann", "Lee", "/."], "speaker": "Zhou_liangshuyi", "coref_spans": [[0, 0, 1], [7, 0, 0]]},
    {"part_id": 0, "words": ["Her", "dog"], "speaker": None, "coref_spans": [[12, 0, 1], [0, 0, 0]]},
    {"part_id": 1, "words": ["It", "saw", "it"], "speaker": "#2", "coref_spans": [[12, 2, 2], [12, 0, 0]]},
]


def test_the_hubs_tables_hold_the_same_documents(monkeypatch):
    read, asked = from_hub(monkeypatch, "coref", {"document_id": [NAME], "sentences": [SENTENCES]})
    assert read == dict.fromkeys(("train", "dev", "test"), READ)
    files = [f"english_v4/{split}/0000.parquet" for split in ("train", "validation", "test")]
    assert asked == [("ontonotes/conll2012_ontonotesv5", file, "refs/convert/parquet") for file in files]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"words": ["a", None]}, f"document {NAME} has None where text belongs"),
        ({"speaker": 5}, f"document {NAME} has 5 where text belongs"),
        ({"part_id": None}, r"row 0 is not as expected \(TypeError"),
        ({"coref_spans": None}, r"row 0 is not as expected \(TypeError"),
        ({"coref_spans": [[0, None, 1]]}, r"row 0 is not as expected \(TypeError"),
        ({"coref_spans": [[0, 1]]}, r"row 0 is not as expected \(ValueError"),
        ({"coref_spans": [[0, 2, 3]]}, r"row 0 is not as expected \(ValueError\('span 2-3 in a sentence of 3 words"),
        ({"coref_spans": [[0, 2, 1]]}, r"row 0 .*span 2-1 in a sentence of 3 words"),
        ({"coref_spans": [[0, -1, 1]]}, r"row 0 .*span -1-1 in a sentence of 3 words"),
    ],
)
def test_a_damaged_table_of_the_hub_is_one_line(monkeypatch, changed, message):
    sentences = [SENTENCES[0] | changed, *SENTENCES[1:]]
    table = {"document_id": [NAME], "sentences": [sentences]}
    with pytest.raises(UserError, match=f"train/0000.parquet: {message}.* Use your own files instead"):
        from_hub(monkeypatch, "coref", table)


@pytest.mark.parametrize("row", [{"sentences": [None]}, {"sentences": [[{"words": ["a"]}]]}, {"document_id": [None]}])
def test_rows_of_the_hub_that_lack_something_are_one_line(monkeypatch, row):
    with pytest.raises(UserError, match=r"0000\.parquet: row 0 .* Use your own files instead"):
        from_hub(monkeypatch, "coref", {"document_id": [NAME], "sentences": [SENTENCES]} | row)
