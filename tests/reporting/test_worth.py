"""Worth against cost: which encoders are in it, and a page without costs."""

import pytest

from elmo_bench.cli import report
from elmo_bench.ledger.costs import EncoderCost, encoder_part, write_cost
from elmo_bench.reporting.costs import costs_of
from tests.ledger.records import make_cost
from tests.reporting.frames import board_of, sections_of, systems_in, texts
from tests.reporting.ledgers import fill, spec_of, stuck
from tests.runs import first_ones

SPEEDS = {"glove": 400_000.0, "elmo": 2_000.0, "mybert": 6_000.0, "elmo_word": 2_000.0}


def cost_of(encoder, *, weights="w"):
    spec, speed = spec_of("ner", encoder), SPEEDS[encoder]
    rates = {"1": [speed / 4] * 3, "32": [speed, 0.9 * speed, 1.1 * speed]}
    return make_cost(encoder, settings=encoder_part(spec.settings), contents={"weights": weights}, rates=rates)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """elmo has two tasks, mybert one of them."""
    folder = tmp_path_factory.mktemp("worth") / "runs"
    fill(folder, "ner snli", "glove elmo", seeds=2)
    fill(folder, "ner", "mybert", seeds=2)
    return folder


def section(board):
    return sections_of(board).get("worth")


def column(table, name):
    return {line["encoder"]: line[name] for line in texts(table)}


def test_encoders_with_most_tasks_have_a_table_and_a_figure_and_all_have_others_on_shared_tasks(ledger):
    shown = section(board_of(ledger, [*map(cost_of, SPEEDS)]))
    [widest, table], [of_widest, figure] = shown.tables, shown.figures
    assert [*column(widest, "encoder")] == ["glove", "elmo"] and "mean of 2 tasks" in widest.title
    assert "mybert" not in of_widest.alt and "mybert: " in figure.alt
    assert column(table, "best tokens/s") == {
        "glove": "400,000 (360,000 to 440,000)",
        "elmo": "2,000 (1,800 to 2,200)",
        "mybert": "6,000 (5,400 to 6,600)",
    }
    assert column(table, "tokens/s, batch 1")["elmo"] == "500 (500 to 500)"
    assert "Named entities" in table.title  # the one task that all of them have
    assert "elmo: " in figure.alt and " at 2,000" in figure.alt


def test_the_same_tasks_are_shown_once(tmp_path):
    """elmo and mybert have two tasks each, and share the one that elmo_word has."""
    tasks_of = {"glove": "ner snli sst5", "elmo": "ner snli", "mybert": "ner sst5", "elmo_word": "ner"}
    for encoder, tasks in tasks_of.items():
        fill(tmp_path, tasks, encoder, seeds=2)
    [table] = section(board_of(tmp_path, [*map(cost_of, SPEEDS)])).tables
    assert {*column(table, "encoder")} == {*SPEEDS} and "Named entities" in table.title


@pytest.mark.slow
def test_an_encoder_that_is_not_converged_enters_no_mean(tmp_path):
    fill(tmp_path, "ner snli", "glove elmo", seeds=2)
    fill(tmp_path, "ner", "mybert", seeds=2)
    for seed in (0, 1):
        stuck(tmp_path, "snli", "mybert", seed)
    shown = section(board_of(tmp_path, [*map(cost_of, SPEEDS)]))
    [table], [figure] = shown.tables, shown.figures
    means = {(row.task, row.encoder): row.test_mean for row in systems_in(tmp_path).itertuples()}
    wanted = sum(means[task, "elmo"] - means[task, "glove"] for task in ("ner", "snli")) / 2
    assert column(table, "gain over glove") == {"glove": "", "elmo": f"{wanted:+.2f}"}
    low, high = map(float, column(table, "95 %")["elmo"].replace("−", "-").split(" … "))
    assert low < wanted < high and abs((low + high) / 2 - wanted) < 0.01
    assert "mybert" not in figure.alt and f"{wanted:.1f} points (mean of 2 tasks)" in figure.message


def test_no_encoder_that_loses_is_said_to_gain_and_a_gpu_has_a_note_of_its_own(tmp_path):
    fill(tmp_path, "ner", "glove", seeds=2)
    fill(tmp_path, "ner", "elmo", seeds=2, lift=-0.2)
    shown = section(board_of(tmp_path, [cost_of("glove"), cost_of("elmo")]))
    [figure] = shown.figures
    assert figure.message.startswith("no encoder gains over glove; elmo comes nearest, −")
    assert "bars: 95 % interval of each test alone" in figure.svg
    assert "One thread. load: processor seconds" in shown.tables[0].notes[0]
    on_gpu = []
    for cost in (cost_of("glove"), cost_of("elmo")):
        content = cost.to_json()
        content["environment"]["device"] = "A GPU"
        on_gpu.append(EncoderCost.read(content, "cost"))
    [table] = section(board_of(tmp_path, on_gpu)).tables
    assert table.notes[0].startswith("Gains: ") and "Costs: A GPU; " in table.notes[0]
    assert "wall time" in table.notes[0] and "thread" not in table.notes[0]


@pytest.mark.parametrize("costs", first_ones([["elmo"], [], ["glove"]], 1))
def test_without_the_costs_of_two_encoders_there_is_no_section(ledger, costs):
    assert section(board_of(ledger, [cost_of(name) for name in costs])) is None


def test_one_machine_is_taken_and_costs_of_other_weights_are_not(ledger):
    table = systems_in(ledger)
    other = cost_of("elmo").to_json()
    other["environment"]["device"] = "A GPU"
    one = EncoderCost.read(other, "cost")
    assert {cost.environment.device for cost in costs_of(table, [one]).values()} == {"A GPU"}
    known = costs_of(table, [one, cost_of("elmo"), cost_of("glove")])
    assert {cost.environment.device for cost in known.values()} == {"cpu"}
    older = costs_of(table, [cost_of("elmo", weights="older"), cost_of("glove")])
    assert {cost.encoder for cost in older.values()} == {"glove"}


@pytest.mark.usefixtures("undrawn")
def test_a_report_reads_the_folder_of_costs_and_names_a_damaged_file(ledger, tmp_path, capsys):
    costs, out = tmp_path / "costs", tmp_path / "out"
    for encoder in SPEEDS:
        write_cost(costs, cost_of(encoder))
    (damaged,) = costs.glob("*/mybert-*.json")
    damaged.write_text("{")
    assert report.main(["--ledger", str(ledger), "--costs", str(costs), "--out", str(out)]) == 1
    assert str(damaged) in capsys.readouterr().err
    assert "Worth against cost" in (out / "README.md").read_text(encoding="utf-8")
