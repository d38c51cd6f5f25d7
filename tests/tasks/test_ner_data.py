"""Reading the suites: CoNLL columns, and a stand-in of the Hub on loopback."""

import shutil

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.spec.task_files import task_yaml
from elmo_bench.tasks.ner.data import Data
from elmo_bench.text.tags import TaggedSentence as Sentence
from tests.hub import as_parquet, from_hub

OPTIONS = task_yaml("ner")["data"]
NER = Data(**OPTIONS)

CONLL = """-DOCSTART- -X- -X- O

EU NNP B-NP I-ORG
rejects VBZ B-VP O
German JJ B-NP I-MISC

Peter NNP B-NP I-PER
Blackburn NNP I-NP I-PER
London NNP I-NP I-LOC
Paris NNP I-NP B-LOC

"""
READ = [
    Sentence(("EU", "rejects", "German"), ("B-ORG", "O", "B-MISC")),
    Sentence(("Peter", "Blackburn", "London", "Paris"), ("B-PER", "I-PER", "B-LOC", "B-LOC")),
]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace(" ", "\t"),
        lambda text: text.replace("I-MISC\n\n", "B-MISC\n \t\n\n"),
        lambda text: text.rstrip("\n") + "\n",
    ],
)
def test_paper_suite_from_files(tmp_path, change):
    folder = tmp_path / "conll2003"
    folder.mkdir()
    for name in ("eng.train", "eng.testa", "test.txt"):  # either naming
        (folder / name).write_text(change(CONLL), encoding="utf-8", newline="")
    assert NER.read("paper", tmp_path) == {"train": READ, "dev": READ, "test": READ}


def test_paper_suite_from_the_hub_and_a_missing_and_a_damaged_file(hub, tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "tables")
    good = as_parquet({"tokens": [[*s.tokens] for s in READ], "ner_tags": [[3, 0, 7], [1, 2, 5, 5]]})
    files = {f"conll2003/{split}/0000.parquet": good for split in ("train", "validation", "test")}
    hub.repositories["eriktks/conll2003"] = files
    data, where = Data(paper={**OPTIONS["paper"], "source": "hub"}), "^eriktks/conll2003@refs/convert/parquet/conll2003"
    assert data.read("paper", None) == dict.fromkeys(("train", "dev", "test"), READ)
    assert {each.split()[0] for each in hub.asked} == {"HEAD", "GET"}
    shutil.rmtree(tmp_path / "hub")
    del files["conll2003/validation/0000.parquet"]
    with pytest.raises(UserError, match=rf"{where}/validation/0000\.parquet: not on the Hub, .* Use your own files"):
        data.read("paper", None)
    files |= {name: content[: len(content) // 2] for name, content in files.items()}
    shutil.rmtree(tmp_path / "hub")
    with pytest.raises(UserError, match=rf"{where}/train/0000\.parquet: not a parquet file"):
        data.read("paper", None)
    shutil.rmtree(tmp_path / "hub")
    monkeypatch.setenv("ELMO_BENCH_OFFLINE", "1")
    with pytest.raises(UserError, match=rf"{where}/train/0000\.parquet: not on the Hub, or no"):
        data.read("paper", None)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"tokens": [["a"]], "ner_tags": [[9]]}, "row 0 has tags outside hub.labels, or not one for each token"),
        ({"tokens": [None], "ner_tags": [[0]]}, "row 0 has tags outside hub.labels, or not one for each token"),
        ({"tokens": [["a"]], "ner_tags": [None]}, "row 0 has tags outside hub.labels, or not one for each token"),
        ({"tokens": [["a"]], "ner_tags": [[None]]}, "row 0 has tags outside hub.labels, or not one for each token"),
        ({"tokens": [["a"]], "ner_tags": [[0.0]]}, "row 0 has tags outside hub.labels, or not one for each token"),
        ({"tokens": [["a"]], "tags": [[0]]}, "no column ner_tags. Check hub in the task's yaml"),
        ({"tokens": [["a", None]], "ner_tags": [[0, 0]]}, "row 0 has None where text belongs. Use your own files"),
    ],
)
def test_hub_tables_of_another_shape(monkeypatch, table, message):
    with pytest.raises(UserError, match=message):
        from_hub(monkeypatch, "ner", table)


def test_rows_of_a_hub_table_without_tokens_are_counted(monkeypatch):
    with noted() as notes:
        splits, _ = from_hub(monkeypatch, "ner", {"tokens": [["a"], [], []], "ner_tags": [[0], [], []]})
    assert [len(split) for split in splits.values()] == [1, 1, 1]
    assert notes[0] == "eriktks/conll2003/conll2003/train/0000.parquet: 2 rows without tokens skipped"


SCHEMES = {
    "BIO": "B-ORG O B-MISC\nB-PER I-PER B-LOC B-LOC",
    "BIOES": "S-ORG O S-MISC\nB-PER E-PER S-LOC S-LOC",
    "BILOU": "U-ORG O U-MISC\nB-PER L-PER U-LOC U-LOC",
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_other_schemes_are_read_with_a_note(tmp_path, scheme):
    path = tmp_path / "x.conll"
    rows = [zip(s.tokens, tags.split(), strict=True) for s, tags in zip(READ, SCHEMES[scheme].split("\n"), strict=True)]
    path.write_text("\n\n".join("\n".join(map(" ".join, each)) for each in rows) + "\n", encoding="utf-8")
    with noted() as notes:
        assert NER.read_file(path) == READ
    assert notes == ([] if scheme == "BIO" else [f"{path.name}: the tags are {scheme}, and are converted to BIO"])
    path.write_text(path.read_text() + "\nx S-A\ny U-B\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"is not a tag: expected O or B-TYPE, I-TYPE\. Fix"):
        NER.read_file(path)


@pytest.mark.parametrize("text", ["Anna lives\nPeter\n", "Anna lives\n\nPeter\n"])
def test_sentences_without_tags_may_be_a_line_each(tmp_path, text):
    path = tmp_path / "plain.txt"
    path.write_text(text, encoding="utf-8")
    with noted() as notes:
        assert NER.read_file(path) == [Sentence(("Anna", "lives"), ("-", "-")), Sentence(("Peter",), ("-",))]
    assert notes[-1] == f"{path.name}: read as 2 sentences without gold, one a line, their tokens separated by spaces"


@pytest.mark.parametrize("text", ["New\u00a0York\nis\n", "-DOCSTART-\n\nNew\u00a0York\nis\n"])
def test_a_file_of_tokens_alone_may_begin_with_a_no_break_space_or_a_document(tmp_path, text):
    path = tmp_path / "tokens.txt"
    path.write_text(text, encoding="utf-8")
    assert [sentence.tokens for sentence in Data().read_file(path)] == [("New\u00a0York", "is")]


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("We flew in a B-52\nIt was a long way home\n", ["B-52", "home"]),
        ("I like vitamin B\nwe play in O\n", ["B", "O"]),
    ],
)
def test_a_sentence_that_ends_like_a_tag_makes_no_columns_of_a_plain_file(tmp_path, text, last):
    (path := tmp_path / "text.txt").write_text(text, encoding="utf-8")
    assert [each.tokens[-1] for each in Data().read_file(path)] == last


def test_of_a_file_of_predictions_a_note_says_what_is_gold(tmp_path, capsys):
    (path := tmp_path / "test.conll").write_text("Anna B-PER O\nsleeps O O\n\n", encoding="utf-8")
    assert Data().read_file(path)[0].tags == ("O", "O")
    assert "gold is the last of three columns; where `predict` wrote them" in capsys.readouterr().err


@pytest.mark.parametrize("tokens", ["Anna", 1, None, []])
def test_a_text_in_memory_that_is_no_list_of_tokens_is_one_line(tokens):
    with pytest.raises(UserError, match=r"^sentence 2: give a list of tokens\.$"):
        Data().of_texts([["Anna"], tokens])
