"""The figures of srl-eval.pl on all recorded cases, from tags and from files."""

import pytest

from elmo_bench.tasks.srl.metric import Metric
from elmo_bench.tasks.srl.props import read_props
from tests.golden_cases import for_each, golden, score
from tests.runs import DATA

CASES = golden("srl")["cases"]
METRIC = Metric()
KEYS = ("overall", "labels", "excluded", "n_props", "perfect_props")


def printed(value):
    """Percentages to two decimals, counts as they are."""
    if isinstance(value, dict):
        return {key: printed(item) for key, item in value.items()}
    return f"{value:.2f}" if isinstance(value, float) else value


def brackets(tags):
    """A column, by rules of this test: a phrase ends where the next tag does not continue its label with I."""
    cells = []
    for place, tag in enumerate(tags):
        before = tags[place - 1] if place else "O"
        behind = tags[place + 1] if place + 1 < len(tags) else "O"
        opens = tag != "O" and (tag[0] == "B" or before[2:] != tag[2:])
        closes = tag != "O" and (behind[0] != "I" or behind[2:] != tag[2:])
        cells.append(f"({tag[2:]}" * opens + "*" + ")" * closes)
    return cells


def props(sentences, side):
    """The props file of a case, in the conventions of the golden cases."""
    lines = []
    for sentence in sentences:
        told = [p for p in sentence["predicates"] if p[side] is not None]
        at = {p["index"] for p in told}
        columns = [brackets(p[side]) for p in sorted(told, key=lambda p: p["index"])]
        rows = ["word" if token in at else "-" for token in range(sentence["n_tokens"])]
        lines += ["  ".join(row) for row in zip(rows, *columns, strict=True)] + [""]
    return "\n".join(lines) + "\n"


@for_each(CASES)
def test_equals_the_golden_figures(case, tmp_path):
    for side in ("gold", "pred"):
        (tmp_path / f"{side}.props").write_text(props(case["sentences"], side), encoding="utf-8")
    expected = printed({key: case[key] for key in KEYS})
    assert printed(METRIC.score_files(tmp_path / "gold.props", tmp_path / "pred.props")) == expected
    propositions = [p for sentence in case["sentences"] for p in sentence["predicates"]]
    if all(p["gold"] and p["pred"] for p in propositions):  # a run has all of them
        gold, predicted = ([p[side] for p in propositions] for side in ("gold", "pred"))
        scores = printed(score(METRIC, gold, predicted))
        assert scores["by_type"] == expected["labels"] | expected["excluded"]
        figures = {key: expected[key] for key in ("n_props", "perfect_props")}
        assert scores["overall"] == expected["overall"] | figures
        counts = METRIC.counts(gold, predicted)
        rows = {f"type:{name}.": row for name, row in (case["labels"] | case["excluded"]).items()}
        rows[""] = case["overall"]
        assert {name: int(column.sum()) for name, column in counts.items()} == {
            start + name: row[name] for start, row in rows.items() for name in ("correct", "excess", "missed")
        }
        perfect = ((counts["excess"] == 0) & (counts["missed"] == 0)).mean()
        assert f"{100 * perfect:.2f}" == expected["perfect_props"]


GOLD = "-\t(A0*)\ngive\t(V*)\n-\t(A1*\n-\t*)\n\n-\n\nrun\t(V*)\n-\t(A0*)\n"


def write(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        (lambda text: text, (3, 0, 0)),
        (lambda text: text.replace("(A1*\n-\t*)", "(A1*\n-\t*A1)"), (3, 0, 0)),
        (lambda text: text.replace("give", "grant"), (1, 0, 2)),  # called something else: all is missed
        (lambda text: text.replace("run\t(V*)\n-\t(A0*)", "-\n-"), (2, 0, 1)),
        (lambda text: text.replace("-\n\n", "be\t(A3*)\n\n"), (3, 0, 0)),  # one more than the gold has
        (lambda text: text.replace("(V*)\n-\t(A1*\n-\t*)", "*\n-\t(V*)\n-\t(A1*)"), (2, 1, 1)),
        # Brackets within brackets: the outer phrase counts as one of pieces, which equals no single phrase.
        (lambda text: text.replace("(A1*\n-\t*)", "(A1(A2*)\n-\t*)"), (2, 2, 1)),
    ],
)
def test_files_by_hand(tmp_path, change, counts):
    gold, predicted = write(tmp_path, "gold.props", GOLD), write(tmp_path, "pred.props", change(GOLD))
    overall = METRIC.score_files(gold, predicted)["overall"]
    assert (overall["correct"], overall["excess"], overall["missed"]) == counts


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "ewt_propbank").is_dir(), reason="needs ewt_propbank in $ELMO_BENCH_DATA")
@pytest.mark.parametrize(("split", "count", "roles"), [("dev", 4963, 9479), ("test", 4795, 9250)])
def test_real_gold_files(split, count, roles):
    """Propositions as published; `roles` are the opening brackets of the raw file but V, C-V and glued C-X."""
    path = DATA / "ewt_propbank" / f"{split}.props"
    assert sum(len(sentence.props) for sentence in read_props(path)) == count
    scores = METRIC.score_files(path, path)
    assert scores["n_props"] == count
    assert scores["overall"] == {
        "correct": roles, "excess": 0, "missed": 0, "precision": 100, "recall": 100, "f1": 100
    }  # fmt: skip
    assert scores["excluded"]["V"]["correct"] == count
