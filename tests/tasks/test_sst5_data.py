"""Reading the treebank: golden trees, and the real files."""

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.spec.task_files import task_yaml
from elmo_bench.tasks.sst5.data import Data, Phrase, parse, plain
from tests.golden_cases import for_each, golden
from tests.runs import DATA

CASES, OPTIONS = golden("sst_trees")["cases"], task_yaml("sst5")["data"]
TREES = (
    "(3 (2 It) (4 (4 (2 's) (4 lovely)) (2 .)))\n(1 (2 -LRB-) (1 (1 (2 co\\/written) (0 (2 by) (0 him))) (2 -RRB-)))\n"
)
SENTENCES = [Phrase(("It", "'s", "lovely", "."), 3), Phrase(("(", "co/written", "by", "him", ")"), 1)]


@for_each(CASES)
def test_equals_the_golden_reading(case, _):
    tree = parse(case["tree"])
    assert list(tree.tokens) == case["tokens"]
    assert [plain(token) for token in tree.tokens] == case["tokens_plain"]
    found = [{"tokens": list(tree.tokens[start:end]), "label": label} for label, start, end in tree.nodes]
    assert found == case["phrases"]
    for shortest, wanted in ((1, case["phrases"]), (4, case["phrases_min4"])):
        phrases = [Phrase(tuple(map(plain, phrase["tokens"])), phrase["label"]) for phrase in wanted]
        assert list(tree.phrases(shortest=shortest)) == phrases
    assert list(tree.phrases(shortest=None)) == [Phrase(tuple(case["tokens_plain"]), case["root_label"])]


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "sst").is_dir(), reason="needs sst in $ELMO_BENCH_DATA")
def test_open_suite_is_the_treebank():
    """Sentences as published; nodes counted as opening parentheses, long ones by a count of the raw text."""
    suite = Data(**OPTIONS).read("open", DATA)
    assert {split: len(phrases) for split, phrases in suite.items()} == {"train": 93567, "dev": 1101, "test": 2210}
    assert [sum(p.label == label for p in suite["test"]) for label in range(5)] == [279, 633, 389, 510, 399]
    assert all(len(phrase.tokens) >= 4 for phrase in suite["train"])
    assert suite["test"][0] == Phrase(("Effective", "but", "too-tepid", "biopic"), 2)
    for shortest, count in ((1, 318582), (None, 8544)):
        options = {**OPTIONS["open"], "phrases": shortest}
        assert len(Data(open=options).read("open", DATA)["train"]) == count
    assert (DATA / "sst/train.txt").read_text(encoding="utf-8").count("(") == 318582


@pytest.fixture
def root(tmp_path):
    """A data folder with the three files, made up."""
    (tmp_path / "sst").mkdir()
    for split in ("train", "dev", "test"):
        (tmp_path / "sst" / f"{split}.txt").write_bytes(TREES.encode())
    return tmp_path


@pytest.mark.parametrize("suite", ["open", "paper"])
def test_the_suites_of_the_yaml(root, suite):
    splits = Data(**OPTIONS).read(suite, root)
    assert splits["dev"] == splits["test"] == SENTENCES
    assert splits["train"] == [SENTENCES[0], SENTENCES[1], Phrase(("co/written", "by", "him", ")"), 1)]


@pytest.mark.parametrize(
    ("line", "tokens"),
    [("(3 stars) a film", 4), ("(3 (2 It) (4 works))", 2), ("(2 Good)", 1), ("(0(1 a)(2 b))", 2)],
)
def test_a_text_that_begins_in_brackets_is_no_tree(tmp_path, line, tokens):
    (tmp_path / "x.txt").write_text(f"{line}\n", encoding="utf-8")
    [read] = Data().read_file(tmp_path / "x.txt")
    assert (len(read.tokens), read.label is None) == (tokens, tokens == 4)


def test_empty_lines_of_a_text_are_skipped_with_a_note(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("a good film\n\n\xa0\nthe end\n", encoding="utf-8")
    with noted() as notes:
        assert [phrase.tokens for phrase in Data().read_file(path)] == [("a", "good", "film"), ("the", "end")]
    assert notes[0] == f"{path.name}: 2 empty lines skipped, the first is line 2"


def test_sentences_without_trees_are_read_as_training_reads_them_with_a_note(tmp_path):
    (path := tmp_path / "x.txt").write_text("-LRB- good -RRB- \\/ film\n2\t3\t-LRB- a\n", encoding="utf-8")
    with noted() as notes:
        read = Data().read_file(path)
    assert read == [Phrase(("(", "good", ")", "/", "film"), None), Phrase(("-LRB-", "a"), 2)]
    assert notes == ["x.txt: read as 1 sentences without gold, one a line, their tokens separated by spaces"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("good film\n(3 (2 a) (2 b))\n", r"x\.txt:2: a tree, but the first line is none\. Give trees alone, or none\."),
        ("\n", r"x\.txt: no sentences\. Give one a line\."),
    ],
)
def test_a_file_of_no_sentences_or_of_trees_among_them_is_one_line(tmp_path, text, message):
    (path := tmp_path / "x.txt").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        Data().read_file(path)


def test_a_space_that_parts_nothing_stays_in_its_token():
    assert parse("(2 (2 a\xa0b) (2 c))").tokens == ("a\xa0b", "c")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"phrases": 0}, "task.data.open.phrases=0: give a number of tokens from 1, or null"),
        ({"phrases": "all"}, "task.data.open.phrases=all: give a number"),
        ({"phrases": 9}, "task.data.open.phrases=9: no training phrase is as long. Lower it."),
    ],
)
def test_options_that_do_not_fit(root, change, message):
    with pytest.raises(UserError, match=message):
        Data(open={**OPTIONS["open"], **change}).read("open", root)
