"""The top of the page of data of the user's own: which system to use, in place of the paper's table 1."""

import re

import pandas as pd
import pytest

from elmo_bench.reporting.advice import advice_pairs
from elmo_bench.reporting.answer import BEST
from elmo_bench.reporting.comparisons import compare
from elmo_bench.reporting.console import overviews
from elmo_bench.reporting.formats import signed
from elmo_bench.reporting.names import DAGGER, NOT_CONVERGED, OWN_NOT_CONVERGED, QUICK_RUNS, why_dagger
from elmo_bench.reporting.pages import html_page, markdown_page
from elmo_bench.reporting.rows import rows_of
from tests.reporting.frames import board_of, runs_in, systems_in
from tests.reporting.ledgers import add, fill

TASK = "classification"


def answers_of(ledger):
    [suite] = rows_of(board_of(ledger).suites)
    return suite.answers


def systems_of(answer):
    return [row[0] for row in answer.tables[0].texts()]


def test_the_page_begins_with_the_systems_best_on_dev_first_and_the_answer_of_the_sweep(tmp_path):
    records = fill(tmp_path, TASK, "glove elmo", seeds=3, suite="reviews")
    records += fill(tmp_path, TASK, "glove", seeds=3, suite="reviews", head="linear", lift=-0.1)
    records += fill(tmp_path, TASK, "tfidf", suite="reviews")
    board = board_of(tmp_path)
    [suite] = rows_of(board.suites)
    [answer] = suite.answers
    assert systems_of(answer) == ["elmo", "glove", "glove, head=linear", "tfidf"]
    [of_sweep] = overviews(records, tmp_path)
    assert of_sweep.splitlines()[-1] == answer.sentences[0]
    assert (suite.picture, suite.table1, suite.others) == (None, None, None)
    page = markdown_page(board, {})
    assert (
        page.index("glove, head=linear")
        > page.index(f"**{answer.sentences[0]}**")
        > page.index("## Your data: reviews")
    )
    top = page[: page.index("## How to read this")]
    assert "Table 1, suite" not in top and "elmo_word" not in top and "paper's figures" not in page
    html = "".join(html_page(board, {}, ledger=tmp_path, out=tmp_path / "out"))
    assert "Which encoder for your data?" in html and html.index('class="answer"') < html.index('id="limits"')


def test_the_interval_of_the_answer_is_that_of_its_family(tmp_path):
    fill(tmp_path, TASK, "glove elmo minilm", seeds=3, suite="reviews")
    fill(tmp_path, TASK, "tfidf", suite="reviews")
    [answer] = answers_of(tmp_path)
    systems = systems_in(tmp_path)
    tests = compare(runs_in(tmp_path), advice_pairs(systems))
    assert len(tests) == 5
    best = systems.sort_values("dev_mean").hash.iloc[-1]
    floor = systems[systems.encoder == "tfidf"].hash.iloc[0]
    [test] = rows_of(tests[tests.ours.isin([best, floor]) & tests.theirs.isin([best, floor])])
    sign = 1 if test.ours == best else -1
    low, high = sorted([sign * test.family_low, sign * test.family_high])
    interval = f"({signed(sign * test.gain, 1)} points on test, {signed(low, 1)} to {signed(high, 1)})"
    assert interval in answer.sentences[0]
    assert f"The tests of this table ({len(tests)}) are judged together" in answer.tables[0].notes[0]
    cell = answer.tables[0].texts()[0][answer.tables[0].columns.index("gain over tfidf")]
    low, high = re.search(r"\((\S+) to (\S+)\)", cell).groups()
    assert [float(end.replace("−", "-")) for end in (low, high)] == pytest.approx(
        sorted([sign * test.family_low, sign * test.family_high]), abs=0.05
    )


@pytest.mark.parametrize(
    ("tasks", "marks", "amounts", "note"),
    [
        (["ner", "ner"], [DAGGER, ""], ["", ""], NOT_CONVERGED),
        (["ner", "ner"], ["", ""], ["", ""], NOT_CONVERGED),  # of a wide table rows are those of the first system
        (["ner", TASK], [DAGGER, DAGGER], ["", ""], NOT_CONVERGED),
        ([TASK, TASK], [DAGGER, ""], ["", ""], OWN_NOT_CONVERGED),
        ([TASK, TASK], [DAGGER, ""], ["quick=true", ""], QUICK_RUNS),
        ([TASK, TASK], ["", DAGGER], ["quick=true", ""], OWN_NOT_CONVERGED),
    ],
)
def test_a_dagger_is_explained_by_the_data(tasks, marks, amounts, note):
    assert why_dagger(pd.DataFrame({"task": tasks, "mark": marks, "fraction": amounts})) == note


def test_of_many_systems_the_best_on_dev_and_the_floor_are_shown(tmp_path):
    for number in range(BEST + 2):
        settings = {"task.training.optimizer.lr": 0.001 * (number + 1)}
        add(tmp_path, TASK, "glove", 0, suite="reviews", settings=settings, lift=0.01 * number)
    add(tmp_path, TASK, "tfidf", 0, suite="reviews", lift=-0.3)
    [answer] = answers_of(tmp_path)
    by_dev = systems_in(tmp_path).sort_values("dev_mean", ascending=False)
    best = by_dev[by_dev.encoder == "glove"].dev_mean[:BEST]
    assert [float(row[1]) for row in answer.tables[0].texts()[:-1]] == pytest.approx(list(best), abs=0.005)
    assert len(best) == BEST and systems_of(answer)[-1] == "tfidf"


def test_each_data_set_has_its_own_answer_and_fractions_have_none(tmp_path):
    for label in ("tone", "topic"):
        more = {"suite": "reviews", "data": label, "settings": {"data.label": label}}
        fill(tmp_path, TASK, "glove elmo", seeds=2, **more)
    fill(tmp_path, TASK, "glove elmo", seeds=2, suite="reviews", train_fraction=0.1)
    answers = answers_of(tmp_path)
    assert {answer.sentences[0].partition(":")[0] for answer in answers} == {
        "classification, data.label=tone", "classification, data.label=topic",
    }  # fmt: skip
    assert len(answers) == 2
    stems = [table.stem for answer in answers for table in answer.tables]
    assert len(set(stems)) == len(stems)


def test_a_single_system_is_a_table_without_an_answer_and_the_suite_open_has_none(tmp_path):
    add(tmp_path / "own", TASK, "glove", 0, suite="reviews")
    [answer] = answers_of(tmp_path / "own")
    assert not answer.sentences and systems_of(answer) == ["glove"]
    fill(tmp_path / "open", "ner", "glove elmo", seeds=2)
    assert answers_of(tmp_path / "open") == []
