"""Reading SNLI in the forms in use: parses, raw text, the Hub's tables."""

import json

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.spec.task_files import task_yaml
from elmo_bench.tasks.snli.data import Data, Pair, cut_by_premise, read_pairs
from elmo_bench.tasks.snli.metric import Metric
from tests.hub import from_hub

OPTIONS = task_yaml("snli")["data"]
# Three lines as in SNLI's own files (more keys, raw sentences), and what an eye reads in them.
LINES = [
    {"annotator_labels": ["neutral"], "captionID": "4705552913.jpg#2", "gold_label": "neutral",
     "sentence1": "Two women (sisters) don't talk.", "sentence1_parse": "(ROOT (S (NP (CD Two))))",
     "sentence1_binary_parse": "( ( Two ( women ( -LRB- ( sisters -RRB- ) ) ) ) ( ( ( do n't ) talk ) . ) )",
     "sentence2": "Sleeping.", "sentence2_binary_parse": "Sleeping"},
    {"gold_label": "-", "sentence1": "A man sings.", "sentence2": "He's loud."},
    {"gold_label": "contradiction", "sentence1": 'A "man" sings.', "sentence1_binary_parse": "",
     "sentence2": "Nobody."},
]  # fmt: skip
PAIRS = [
    Pair(("Two", "women", "(", "sisters", ")", "do", "n't", "talk", "."), ("Sleeping",), "neutral"),
    Pair(("A", "man", "sings", "."), ("He", "'s", "loud", "."), "-"),
    Pair(("A", "``", "man", "''", "sings", "."), ("Nobody", "."), "contradiction"),
]
TEXT = "".join(json.dumps(line) + "\n" for line in LINES)


@pytest.fixture
def root(tmp_path):
    """A data folder with the three files of suite=paper, made up."""
    (tmp_path / "snli_1.0").mkdir()
    for split in ("train", "dev", "test"):
        (tmp_path / "snli_1.0" / f"snli_1.0_{split}.jsonl").write_bytes(TEXT.encode())
    return tmp_path


def test_a_sentence_is_the_leaves_of_its_parse_or_else_cut(root):
    assert read_pairs(root / "snli_1.0/snli_1.0_dev.jsonl", tokenizer="treebank") == PAIRS


def test_pairs_without_a_gold_label_are_dropped_counted_and_said(root, capsys):
    splits = Data(**OPTIONS).read("paper", root)
    assert splits == {split: [PAIRS[0], PAIRS[2]] for split in ("train", "dev", "test")}
    said = capsys.readouterr().err.splitlines()
    assert said == [f"{split}: 1 pairs without a gold label dropped, 2 kept" for split in ("train", "dev", "test")]


def test_dev_is_cut_by_premise_and_always_the_same():
    pairs = [Pair((f"p{number // 3}",), (f"h{number}",), "neutral") for number in range(60)]
    rest, dev = cut_by_premise(pairs, pairs=10, seed=0)
    assert len(dev) == 12
    assert sorted(rest + dev, key=pairs.index) == pairs
    assert not {pair.premise for pair in rest} & {pair.premise for pair in dev}
    assert rest == sorted(rest, key=pairs.index)
    assert dev == sorted(dev, key=pairs.index)
    assert cut_by_premise(pairs, pairs=10, seed=0) == (rest, dev)
    assert cut_by_premise(pairs, pairs=10, seed=1) != (rest, dev)
    for wanted in (0, 60, 100):
        with pytest.raises(UserError, match=f"cut.pairs={wanted}: dev would hold"):
            cut_by_premise(pairs, pairs=wanted, seed=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokenizer": "words"}, "tokenizer=words: unknown. Choose spaces or treebank"),
        ({"dev": None, "cut": {"pairs": 9, "seed": 0}}, "cut.pairs=9: dev would hold 2 of 2 pairs"),
        ({"dev": None, "cut": 3}, "^task.data.paper.cut=3: give the whole numbers pairs and seed$"),
        ({"dev": None, "cut": {"pairs": 9, "seed": None}}, "^task.data.paper.cut=.*: give the whole numbers"),
    ],
)
def test_options_that_do_not_fit(root, change, message):
    with pytest.raises(UserError, match=message):
        Data(tokenizer="treebank", paper={**OPTIONS["paper"], **change}).read("paper", root)


def test_predictions_are_written_as_score_reads_them(tmp_path):
    """A file for `predict` may lack labels; the output marks these pairs, and the scorer leaves them out."""
    path = tmp_path / "x.jsonl"
    path.write_text(TEXT + '{"sentence1": "A b.", "sentence2": "C\\td."}\n', encoding="utf-8")
    data = Data(**OPTIONS)
    pairs = data.read_file(path)
    assert pairs == [*PAIRS, Pair(("A", "b", "."), ("C", "d", "."), "-")]
    written = tmp_path / f"predictions{data.ending}"
    data.write(written, pairs, ["neutral", "neutral", "entailment", "entailment"])
    assert written.read_text(encoding="utf-8").splitlines()[1:3] == [
        "-\tneutral\tA man sings .\tHe 's loud .",
        "contradiction\tentailment\tA `` man '' sings .\tNobody .",
    ]
    assert Metric().score_files(written)["overall"] == {"accuracy": 50, "correct": 1, "pairs": 2, "left_out": 2}


def test_paper_suite_from_the_hubs_layout(monkeypatch):
    columns = {
        "premise": ["Two women (sisters) don't talk.", "A man sings.", 'A "man" sings.'],
        "hypothesis": ["Sleeping", "He's loud.", "Nobody."],
        "label": [1, -1, 2],
    }
    with noted() as notes:
        found, _ = from_hub(monkeypatch, "snli", columns)
    assert found == {split: [PAIRS[0], PAIRS[2]] for split in ("train", "dev", "test")}
    assert "dev: 1 pairs without a gold label dropped, 2 kept" in notes


def test_snlis_table_is_refused_with_the_file_to_give(tmp_path):
    (path := tmp_path / "snli_1.0_test.txt").write_text("gold_label\tsentence1_binary_parse\n", encoding="utf-8")
    with pytest.raises(
        UserError, match=r"txt: SNLI's table with tabs \(\.txt\)\. Give the \.jsonl file of the same name\.$"
    ):
        Data(tokenizer="treebank").read_file(path)


def test_new_pairs_may_have_null_as_their_label(tmp_path):
    line = json.dumps({"gold_label": None, "sentence1": "A dog runs.", "sentence2": "A dog moves."})
    (path := tmp_path / "new.jsonl").write_text(f"{line}\n", encoding="utf-8")
    assert [pair.label for pair in Data(tokenizer="treebank").read_file(path)] == ["-"]
