"""The metric against figures that conlleval.pl printed (tests/golden/conlleval.json), and the score command."""

import numpy as np
import pytest

from elmo_bench.tasks.ner.metric import Metric
from tests.golden_cases import for_each, golden, score

CASES = golden("conlleval")["cases"]
METRIC = Metric()


def rounded(figures: dict) -> dict:
    return {key: f"{value:.2f}" for key, value in figures.items()}


@for_each(CASES)
def test_equals_conlleval(case, tmp_path):
    scores = score(METRIC, case["gold"], case["pred"])
    assert rounded(scores["overall"]) == rounded(case["overall"])
    assert {kind: rounded(row) for kind, row in scores.get("by_type", {}).items()} == {
        kind: rounded(row) for kind, row in case["by_type"].items()
    }
    outcomes = METRIC.counts(case["gold"], case["pred"])
    for name in ("correct", "guessed", "gold"):
        assert outcomes[name].shape == (len(case["gold"]),)
        assert outcomes[name].dtype == np.uint32
        assert outcomes[name].sum() == case["overall"][name]
        for kind, row in case["by_type"].items():
            assert outcomes[f"type:{kind}.{name}"].sum() == row[name]
    if case["overall"]["tokens"]:
        path = tmp_path / "predictions.txt"
        pairs = [zip(g, p, strict=True) for g, p in zip(case["gold"], case["pred"], strict=True)]
        path.write_text("\n\n".join("\n".join(f"w\t{g} {p}" for g, p in rows) for rows in pairs), encoding="utf-8")
        assert METRIC.score_files(path) == scores


BREAKS = [
    "-X- O O", "-X- -X- O", "-X- B-LOC I-PER", "-X- no tag", "-X-", "-X-\tO\tO", "  -X- O O  ", "-X- O O\n-X- O O",
    "\n-X- O O\n", "   ", "\t", "\n\n\n", "\r", "-X- O O\r",
]  # fmt: skip


@pytest.mark.parametrize("line", BREAKS)
def test_any_line_that_ends_a_sentence_for_conlleval_leaves_its_figures(line, tmp_path):
    """Sentences of the recorded figures are ended by blank lines; conlleval.pl of 2004-01-26 takes -X- for one.

    On the first file it says: 2 tokens, 2 phrases; found: 2 phrases; correct: 2.
    """
    path = tmp_path / "predictions.txt"
    path.write_text(f"Anna B-PER B-PER\n{line}\nRome I-PER I-PER\n", encoding="utf-8")
    overall = METRIC.score_files(path)["overall"]
    assert [overall[name] for name in ("tokens", "gold", "guessed", "correct", "accuracy")] == [2, 2, 2, 2, 100]
    for case in [case for case in CASES[::9] if len(case["gold"]) > 1 and case["overall"]["tokens"]]:
        pairs = [zip(g, p, strict=True) for g, p in zip(case["gold"], case["pred"], strict=True)]
        blocks = ["\n".join(f"-x- -X- {g} {p}" for g, p in rows) for rows in pairs]
        path.write_bytes(f"\n{line}\n".join(["", *blocks, ""]).encode())
        scores = METRIC.score_files(path)
        assert rounded(scores["overall"]) == rounded(case["overall"])
        assert {kind: rounded(row) for kind, row in scores.get("by_type", {}).items()} == {
            kind: rounded(row) for kind, row in case["by_type"].items()
        }


@pytest.mark.slow
@pytest.mark.timeout(30)
def test_a_sentence_of_66000_tokens():
    """Time grows with the tokens: it was quadratic, and over a minute. The counts exceed 16 bits."""
    gold, predicted = ["B-X", "I-X", "B-X"] * 22_000, ["B-X", "B-X", "B-X"] * 22_000
    overall = score(METRIC, [gold], [predicted])["overall"]
    assert (overall["gold"], overall["guessed"], overall["correct"]) == (44_000, 66_000, 22_000)
    assert METRIC.counts([gold], [predicted])["guessed"].tolist() == [66_000]
