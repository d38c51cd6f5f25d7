"""The forms of files of tagged sentences: what is decided from all of a file, and what `data.columns=` decides."""

import os
import random
import re
from contextlib import suppress
from pathlib import Path

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.spec.names import task_class
from elmo_bench.tasks.tagging import forms
from tests.fuzz.damage import damaged
from tests.fuzz.test_readers import bounded
from tests.tasks.test_own_tasks import read
from tests.text.test_own_data import write

TOKENS = ["Ada", "Smith", "met", "Li", "-", "#1", "in", "New", "York", "_", "5", "."]
TAGS = ["B-P", "I-P", "O", "B-P", "O", "O", "O", "B-L", "I-L", "O", "O", "O"]
CONLLU = "{id}\t{token}\t{token}\t{tag}\t_\t_\t0\tdep\t_\t{misc}"


def rendered(kind: str, sentences: list[list[tuple[str, str]]]) -> str:
    """The sentences in a form."""
    text = "# A first line of the file\n# global\n" if kind.startswith(("conllu", "germeval", "uner")) else ""
    for number, sentence in enumerate(sentences):
        if kind in ("conllu", "conllu with other comments", "germeval", "uner"):
            text += f"# sent_id = {number}\n"
        if kind in ("conllu with other comments", "uner"):
            text += "#sent\n# visual-style 1 bgColor:blue\n# a remark of some words\n"
        if kind == "columns with comments":
            text += f"# id {number}\tdomain=en\n#sent={number}\n# a remark of some words\n"
        if kind == "conllu with an empty node":
            text += "0.1\tx\t_\tX\t_\t_\t_\t_\t_\t_\n1-2\tx\t_\t_\t_\t_\t_\t_\t_\t_\n"
        for place, (token, tag) in enumerate(sentence, 1):
            misc = "Gloss=to go there" if kind == "conllu with spaces" and place % 2 else "_"
            text += {
                "c": CONLLU.format(id=place, token=token, tag=tag, misc=misc),
                "i": f"{place} {token} NN {tag}",
                "z": f"{place - 1}\t{token}\t{tag}",
                "g": f"{place}\t{token}\tO\t{tag}",
                "u": f"{place}\t{token}\t{tag}\t-\t-",
                "t": f"{token}\t{tag}",
                "s": f"{token} {tag}",
                "v": f'"{token}",{tag}' if token == "." else f"{token},{tag}",
                "m": f"{token};{tag}",
                "w": f"{token} {token}\tNN\t{tag}" if tag != "O" else f"{token}\tNN\t{tag}",
            }[FORMS[kind][0]]
            text += "\n"
        text += "\n"
    return text


FORMS = {  # kind: (how a line is written, the name of the file)
    "conllu": ("c", "x.conllu"),
    "conllu in a text file": ("c", "x.txt"),
    "conllu with other comments": ("c", "x.conllu"),
    "conllu with spaces": ("c", "x.conllu"),
    "conllu with an empty node": ("c", "x.conllu"),
    "conllu with a broken name": ("c", "x.data"),
    "indexed": ("i", "x.conll"),
    "indexed from 0": ("z", "x.conll"),
    "germeval": ("g", "x.tsv"),
    "uner": ("u", "x.iob2"),
    "called tsv": ("t", "x.tsv"),
    "called csv": ("v", "x.csv"),
    "called csv with semicolons": ("m", "x.csv"),
    "columns": ("s", "x.bio"),
    "columns with comments": ("s", "x.conll"),
    "spaces in tokens": ("w", "x.conll"),
}


@pytest.mark.parametrize("kind", FORMS)
def test_drawn_sentences_are_read_from_every_form(tmp_path, kind):
    rng = random.Random(0)
    sentences = [[("-", "O")], [("_", "O")], [("#1", "O"), ("-", "O")]]
    for _ in range(30):
        start = rng.choice((0, 3, 4, 7, 8, 9))
        sentences.append([*zip(TOKENS[start:], TAGS[start:], strict=True)][: rng.randrange(2, 9)])
    sentences = [sentence for sentence in sentences if sentence[0][1] != "I-L"]
    options = {"tags": "upos"} if FORMS[kind][0] == "c" else {}
    path = Path(write(tmp_path / FORMS[kind][1], rendered(kind, sentences)))
    with noted():
        examples = task_class("tagging", "data")(**options).read_file(path)
    read_back = [[*zip(example.tokens, example.tags, strict=True)] for example in examples]
    if FORMS[kind][0] == "w":
        assert any(" " in token for sentence in read_back for token, _ in sentence)
        read_back = [[(token.split()[0], tag) for token, tag in sentence] for sentence in read_back]
    assert read_back == sentences


def test_what_is_unusual_is_said(tmp_path):
    sentences = [[*zip(TOKENS, TAGS, strict=True)]] * 2
    said = {
        "indexed": "columns: the first counts tokens; tokens=2, tags=4 of 4",
        "uner": "columns: the first counts tokens; tokens=2, tags=3 of 5",
        "columns": None,
    }
    for kind, what in said.items():
        path = Path(write(tmp_path / FORMS[kind][1], rendered(kind, sentences)))
        with noted() as notes:
            task_class("tagging", "data")().read_file(path)
        asked = f"{path.name}: {what}. data.columns=TOKENS:TAGS chooses others"
        assert notes == [*([asked] if what else []), "columns: tokens=tokens, tags=tags"]


@pytest.mark.parametrize(("separator", "is_noted"), [(" ", True), ("\t", False)])
def test_words_that_may_be_a_sentence_a_line_are_read_as_columns_with_a_note(tmp_path, separator, is_noted):
    """By `predict`; data to train on have a word a line, and a record needs no note of it."""
    sentences = [f"I{n} saw Ada\nHe left early\n\n" for n in range(10)]
    path = Path(write(tmp_path / "x.txt", "".join(sentences).replace(" ", separator)))
    said = "x.txt: read as 20 words with tags, a word a line"
    with noted() as notes:
        task_class("tagging", "data")().read_file(path)
    assert (said in notes) == is_noted
    with noted() as notes:
        task_class("tagging", "data")(file=str(path)).read("x", None)
    assert said not in notes


NESTED = "".join(f"1\tAda{n}\tB-P\tO\n2\tLi\tI-P\tB-X\n3\tran\tO\tO\n\n" for n in range(9))
WORDS = "".join(f"the{n} DT B-NP O\ncat NN I-NP B-X\nran VB O O\n\n" for n in range(9))


@pytest.mark.parametrize(
    ("content", "columns", "sentence", "said"),
    [
        (NESTED, None, "Li/B-X ran/O", "tokens=2, tags=4 of 4 (spans are in 3 too)"),
        (NESTED, "2:3", "Li/I-P ran/O", ""),
        (WORDS, None, "cat/B-X ran/O", "tokens=1, tags=4 of 4 (spans are in 3 too)"),
        (WORDS, "1:3", "cat/I-NP ran/O", ""),
        (WORDS, "1:2", "cat/NN ran/VB", ""),
    ],
)
def test_columns_are_chosen(tmp_path, content, columns, sentence, said):
    splits, notes = read(write(tmp_path / "x.conll", content), columns=columns)
    first = splits["train"][0]
    pairs = [f"{token}/{tag}" for token, tag in zip(first.tokens, first.tags, strict=True)]
    assert " ".join(pairs[1:]) == sentence
    assert any("data.columns=TOKENS:TAGS" in each for each in notes) == bool(said)
    assert not said or any(said in each for each in notes)


@pytest.mark.parametrize(
    ("name", "content", "tokens", "tags"),
    [
        ("x.txt", "1\tEU\n2\trejects\n\n1\tAda\n2\tran\n", "EU rejects Ada ran", ""),
        ("x.txt", "1 EU\n2 rejects\n\n3 Ada\n4 ran\n", "EU rejects Ada ran", ""),
        ("x.conll", "1 EU B-O\n2 rejects O\n\n3 Ada B-P\n4 ran O\n", "EU rejects Ada ran", "B-O O B-P O"),
        ("x.conll", "7 CD\n\n8 CD\n", "7 8", "CD CD"),
        ("x.csv", "EU;B-O\nrejects;O\n;\nAda;B-P\nran;O\n;\n;\n", "EU rejects Ada ran", "B-O O B-P O"),
        ("x.csv", "EU,NN,B-O\nrejects,VB,O\n,,\nAda,NN,B-P\n", "EU rejects Ada", "B-O O B-P"),
    ],
)
def test_numbers_of_tokens_are_no_tokens_and_lines_of_empty_cells_end_sentences(tmp_path, name, content, tokens, tags):
    with noted() as notes:
        examples = task_class("tagging", "data")().read_file(Path(write(tmp_path / name, content)))
    assert len(examples) == 2
    assert " ".join(token for each in examples for token in each.tokens) == tokens
    assert " ".join(tag for each in examples for tag in each.tags) == tags
    said = "columns: the first counts tokens; tokens=2 of 2, no tags"
    assert any(said in each for each in notes) == (name == "x.txt")


NUMBERED = "12 EU B-O\n40 rejects O\n\n7 Ada B-P\n7 ran O\n\n"
DOCUMENTS = "doc1 EU B-O\ndoc1 rejects O\n\ndoc2 Ada B-P\ndoc2 ran O\n\ndoc2 Stop O\n\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (NUMBERED, "only whole numbers"),
        (DOCUMENTS, "one value in each sentence, such as doc1"),
        (re.sub(r"(doc\d) (\w+)", r"\1 0 \2", DOCUMENTS), "one value in each sentence, such as doc1"),
        (re.sub(r"doc(\d)", r"\1", DOCUMENTS), "one value in each sentence, such as 1"),
    ],
)
def test_a_guessed_column_without_words_is_refused_and_a_named_one_obeyed(tmp_path, content, said):
    path = Path(write(tmp_path / "x.conll", content))
    how = "Name the columns: data.columns=TOKENS:TAGS, such as 2:3."
    with pytest.raises(UserError, match=f"x.conll: column 1 should have the tokens, but has {said}. {how}"):
        task_class("tagging", "data")().read_file(path)
    examples = task_class("tagging", "data")(columns="1:3").read_file(path)
    assert examples[0].tokens == tuple(line.split()[0] for line in content.splitlines()[:2])


@pytest.mark.parametrize("options", [{"tokens": "sent", "tags": "own"}, {"tags": "own"}])
def test_a_table_with_a_row_of_empty_cells_stays_one(tmp_path, options):
    header = f"{options.get('tokens', 'tokens')},own\n"
    path = Path(write(tmp_path / "x.csv", f"{header}Ada ran,B-P O\n,\nLi ran,B-P O\n"))
    examples = task_class("tagging", "data")(**options).read_file(path)
    assert [example.tokens for example in examples] == [("Ada", "ran"), (), ("Li", "ran")]


ROWS = "sentence_id,words,labels\n" + "".join(
    f"{n},{word}{n},{tag}\n" for n in range(9) for word, tag in (("Ada", "B-P"), ("Li", "I-P"), ("ran", "O"))
)
KAGGLE = "Sentence #,Word,POS,Tag\n" + "".join(
    f'{"Sentence: " + str(n) if place == 0 else ""},{word}{n},NN,{tag}\n'
    for n in range(9) for place, (word, tag) in enumerate((("Ada", "B-P"), ("Li", "I-P"), ("ran", "O")))
)  # fmt: skip


@pytest.mark.parametrize(("content", "column"), [(ROWS, "sentence_id"), (KAGGLE, "Sentence #")])
def test_rows_of_one_token_are_sentences_by_a_column(tmp_path, content, column):
    path = write(tmp_path / "x.csv", content)
    splits, _ = read(path, sentence=column)
    assert {sentence.tags for own in splits.values() for sentence in own} == {("B-P", "I-P", "O")}
    assert splits["train"][0].tokens[0].startswith("Ada")
    assert sum(map(len, splits.values())) == 9
    assert splits["train"][0].row[column] in content  # so predictions can be joined to the rows


TABLE = "words,labels\n" + "a,X\nb,Y\n" * 9


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("x.csv", ROWS, {}, "all 27 sentences have one token. If a row is a token, name the column that all rows of a "
         "sentence share: data.sentence=sentence_id. For single words use task=classification."),
        ("x.csv", KAGGLE, {}, "data.sentence='Sentence #'."),
        ("x.csv", TABLE, {}, "data.sentence=COLUMN."),
        ("x.csv", "n,words,labels\n1,a,X\n2,b,Y\n", {"sentence": "n"}, "data.sentence=n differs in each row."),
        ("x.conll", "a X\n\nb Y\n\n" * 9, {}, "one token. Remove the blank lines between the tokens of a sentence."),
        ("x.tsv", "a\tX\n\nb\tY\n\n" * 9, {}, "one token. Remove the blank lines between the tokens of a sentence."),
        ("x.csv", ROWS, {"sentence": "id"}, "data.sentence=id: no such column. The columns are sentence_id, words"),
        ("x.csv", "Ada,B-P\nran,O\n" * 9, {}, "The columns are Ada, B-P. Name them: data.tokens=COLUMN "
         "data.tags=COLUMN, or the columns of a token a line: data.columns=1:2"),
        ("x.conll", WORDS, {"columns": "1:5"}, "x.conll: data.columns=1:5, but its lines have 4 columns."),
        ("x.conll", WORDS, {"columns": "2"}, "data.columns=2: not a form of files. Give conllu, table, or the columns"),
        ("x.conll", WORDS, {"columns": "0:1"}, "data.columns=0:1: not a form of files."),
        ("x.conll", WORDS, {"columns": "conllu"}, "x.conll:1: expected 10 columns, found 1."),
        ("x.conll", WORDS, {"columns": "table"}, "x.conll: not a table."),
        ("x.conllu", CONLLU.format(id=1, token="a", tag="X", misc="_") + "\n2\tb\n", {}, "x.conllu:2: expected 10 "),
        ("x.conll", WORDS + "a\n", {}, "x.conll:37: expected 4 columns, found 1. Fix this line."),
        ("x.conll", "# only\n# comments\n", {}, "x.conll: no sentences."),
    ],
)  # fmt: skip
def test_what_is_no_sentence_is_refused_with_the_option(tmp_path, name, content, options, message):
    with pytest.raises(UserError, match=re.escape(message)):
        read(write(tmp_path / name, content), **options)


def test_a_table_called_tsv_stays_one(tmp_path):
    rows = "".join(f"Ada Li ran {n}\tB-P I-P O O\n" for n in range(9))
    for content in (f"tokens\ttags\n{rows}", f"tokens\ttags\n\n{rows}"):
        splits, _ = read(write(tmp_path / "x.tsv", content))
        assert splits["train"][0].tags == ("B-P", "I-P", "O", "O")


def test_new_text_of_one_token_a_sentence_is_predicted(tmp_path):
    path = Path(write(tmp_path / "x.conll", "Ada\n\nLi\n\n"))
    assert [example.tokens for example in task_class("tagging", "data")().read_file(path)] == [("Ada",), ("Li",)]


@pytest.mark.parametrize("tag", ["", " "])
def test_tags_that_are_all_missing_are_no_tags(tmp_path, tag):
    content = f"n,words,tags\n1,Ada,{tag}\n1,ran,{tag}\n2,Li,B-P\n2,ran,O\n"
    path = Path(write(tmp_path / "x.csv", content))
    examples = task_class("tagging", "data")(sentence="n").read_file(path)
    assert [example.tags for example in examples] == [(), ("B-P", "O")]


def test_lines_have_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(forms, "MOST_LINES", 100)
    for name, line in (("x.conll", "a X\n"), ("x.conllu", CONLLU.format(id=1, token="a", tag="X", misc="_") + "\n")):
        path = Path(write(tmp_path / name, line * 101))
        with pytest.raises(UserError, match=r"more than 100 lines. Take a part of the file."):
            task_class("tagging", "data")().read_file(path)


@pytest.mark.parametrize("kind", FORMS)
def test_a_damaged_file_of_any_form_ends_in_sentences_or_in_one_line(tmp_path, kind):
    sentences = [[*zip(TOKENS, TAGS, strict=True)]] * 4
    name, content = FORMS[kind][1], rendered(kind, sentences).encode()
    for number in range(int(os.environ.get("MUTANTS", "10"))):
        path = tmp_path / name
        path.write_bytes(damaged(random.Random(f"{kind} {number}"), name, content))
        for options in ({}, {"columns": "2:3"}, {"columns": "conllu"}, {"scheme": "BIO"}):
            with suppress(UserError), noted(), bounded():
                for example in task_class("tagging", "data")(**options).read_file(path):
                    assert len(example.tags) in (0, len(example.tokens))
