"""Worth against cost: which encoders are drawn, the Pareto front, and a page without costs."""

import copy
import io

import matplotlib.image
import numpy as np
import pytest
from elmo_bench.reporting.layouts.worth import Point, _rate, found, front

from elmo_bench.cli import report
from elmo_bench.ledger import read_ledger
from elmo_bench.ledger.costs import encoder_part, write_cost
from elmo_bench.reporting.costs import by_machine, most_of, stale
from elmo_bench.reporting.gains import gains_from
from elmo_bench.reporting.leaderboard import leaderboard
from elmo_bench.reporting.rows import select
from tests.ledger.records import make_cost
from tests.reporting.ledgers import add, spec_of, stuck

SPEEDS = {"glove": 400_000.0, "elmo": 2_000.0, "mybert": 6_000.0}
SIZES = {"glove": 16, "elmo": 28, "mybert": 27}


def cost_of(encoder, *, weights="w", speed=None):
    spec, speed = spec_of("ner", encoder), speed or SPEEDS[encoder]
    return make_cost(
        encoder,
        settings=encoder_part(spec.settings),
        contents={"weights": weights},
        rates={"1": [speed / 4] * 3, "32": [speed, 0.9 * speed, 1.1 * speed]},
        stored=SIZES[encoder] * 2**20,
    )


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """elmo has two tasks, mybert one of them."""
    folder = tmp_path_factory.mktemp("worth") / "runs"
    for encoder, tasks in (
        ("none", ["ner"]),
        ("glove", ["ner", "snli"]),
        ("elmo", ["ner", "snli"]),
        ("mybert", ["ner"]),
    ):
        for task in tasks:
            for seed in (0, 1):
                add(folder, task, encoder, seed)
    return folder


@pytest.fixture(scope="module")
def board(ledger):
    def board(costs):
        return leaderboard(select(read_ledger(ledger)[0]), [], ledger=ledger, command="", costs=costs)

    return board


def section(board):
    return next((each for each in board.suites[0].sections if each.name == "worth"), None)


def column(table, name):
    at = [each.name for each in table.columns].index(name)
    return {row[0].text: row[at].text for row in table.rows}


def test_each_encoder_with_a_cost_and_a_gain_is_in_the_table_and_figures(board):
    shown = section(board([*map(cost_of, SPEEDS)]))
    [table] = shown.tables
    assert column(table, "best tokens/s") == {
        "glove": "400,000 (360,000 to 440,000)",
        "elmo": "2,000 (1,800 to 2,200)",
        "mybert": "6,000 (5,400 to 6,600)",
    }
    assert column(table, "tokens/s, batch 1")["elmo"] == "500 (500 to 500)"
    assert column(table, "stored MiB") == {"glove": "16.0", "elmo": "28.0", "mybert": "27.0"}
    # ner alone has all of them, and there mybert is ahead of elmo, which is slower and larger.
    assert "Named entities" in table.title
    assert column(table, "Pareto front") == {
        "glove": "tokens/s and stored MiB", "elmo": "", "mybert": "tokens/s and stored MiB",
    }  # fmt: skip
    assert [figure.stem for figure in shown.figures] == ["open-worth-speed", "open-worth-size"]
    assert "Pareto front: glove, mybert." in shown.figures[0].alt
    assert "elmo: 2,000 tokens/s, +" in shown.figures[0].alt


def test_a_gain_of_a_run_that_is_not_converged_is_marked(tmp_path):
    add(tmp_path, "ner", "glove", 0)
    stuck(tmp_path, "ner", "elmo", 0)
    costs = [cost_of("glove"), cost_of("elmo")]
    made = leaderboard(select(read_ledger(tmp_path)[0]), [], ledger=tmp_path, command="", costs=costs)
    [table] = section(made).tables
    gains = column(table, "gain over glove")
    assert gains["glove"] == "" and gains["elmo"].endswith(" †")
    assert any(note.startswith("† not converged") for note in table.notes)


def test_nothing_of_a_figure_is_cut_off(board):
    for figure in section(board([*map(cost_of, SPEEDS)])).figures:
        image = matplotlib.image.imread(io.BytesIO(figure.png))[..., :3]
        edges = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
        assert (edges == 1).all(), figure.stem
    assert ">100k</text>" in section(board([*map(cost_of, SPEEDS)])).figures[0].svg


def test_without_mybert_the_gain_is_the_mean_over_both_tasks(board, ledger):
    [table] = section(board([cost_of("glove"), cost_of("elmo")])).tables
    rows = select(read_ledger(ledger)[0]).rows
    means = {(row.spec.task, row.encoder): row.summary("test").mean for row in rows}
    wanted = sum(means[task, "elmo"] - means[task, "glove"] for task in ("ner", "snli")) / 2
    assert column(table, "gain over glove")["elmo"] == f"{wanted:+.2f}"
    low, high = map(float, column(table, "95 %")["elmo"].replace("−", "-").split(" … "))
    assert low < wanted < high and abs((low + high) / 2 - wanted) < 0.01


@pytest.mark.parametrize("costs", [[], ["elmo"], ["glove"]])
def test_without_the_costs_of_two_encoders_there_is_no_section(board, costs):
    assert section(board([cost_of(name) for name in costs])) is None


def test_figures_of_other_weights_are_not_shown_and_noticed(board, ledger):
    costs = [cost_of("glove"), cost_of("elmo", weights="older"), cost_of("mybert")]
    assert set(column(section(board(costs)).tables[0], "batch")) == {"glove", "mybert"}
    rows = select(read_ledger(ledger)[0]).rows
    assert stale(costs, rows) == ["elmo"]
    assert stale(costs[::2], rows) == []


def test_machines_are_not_mixed(board):
    costs = [*map(cost_of, SPEEDS)]
    fast = [copy.deepcopy(cost_of(name, speed=10 * SPEEDS[name])) for name in ("glove", "elmo")]
    for cost in fast:
        cost["machine"]["device"] = "Some GPU"
    shown = section(board([*costs, *fast]))
    assert [table.stem for table in shown.tables] == ["open-worth", "open-worth-2"]
    assert column(shown.tables[1], "best tokens/s")["elmo"].startswith("20,000")
    assert [figure.stem for figure in shown.figures] == ["open-worth-speed", "open-worth-size", "open-worth-speed-2"]


def test_the_machine_with_most_of_the_rows_is_taken(ledger):
    rows = [row for row in select(read_ledger(ledger)[0]).rows if row.encoder in ("elmo", "glove")]
    one, both = copy.deepcopy(cost_of("elmo")), [cost_of("elmo"), cost_of("glove")]
    one["machine"]["device"] = "A GPU"
    assert most_of([one, *both], rows).machine == "Some CPU (X 2), 1 thread"
    assert most_of([one], rows).machine == "A GPU"
    assert most_of([cost_of("mybert")], rows) is None


def test_the_front_is_what_nothing_else_beats():
    class Fixed(Point):
        gain = property(lambda self: self.gains[0])

    cost = lambda cost: cost["stored_bytes"]  # noqa: E731
    points = {
        name: Fixed(make_cost(stored=stored), (gain,))
        for name, (stored, gain) in {
            "cheap": (1, 0.0), "same": (1, 0.0), "worse": (2, -1.0), "mid": (5, 2.0), "best": (9, 5.0),
            "dear": (10, 5.0), "unknown": (None, 9.0),
        }.items()
    }  # fmt: skip
    assert front(points, cost) == ["cheap", "same", "mid", "best"]


def test_encoders_without_a_common_task_are_left_out_from_the_one_with_fewest(tmp_path):
    for encoder, tasks in (("glove", ["ner", "snli"]), ("elmo", ["ner"]), ("mybert", ["snli"])):
        for task in tasks:
            add(tmp_path, task, encoder, 0)
    rows = {(row.spec.task, row.encoder): row for row in select(read_ledger(tmp_path)[0]).rows}
    gain = gains_from(tmp_path)
    by_task = {
        "ner": {"elmo": gain(rows["ner", "elmo"], rows["ner", "glove"])},
        "snli": {"mybert": gain(rows["snli", "mybert"], rows["snli", "glove"])},
    }
    [costs] = by_machine(map(cost_of, SPEEDS))
    tasks, points = found(by_task, costs)
    assert tasks == ["snli"] and [*points] == ["glove", "mybert"]
    assert points["mybert"].interval is None and points["mybert"].said == "no difference shown"  # a single seed


@pytest.mark.usefixtures("undrawn")
def test_a_report_reads_the_folder_of_costs_and_names_a_damaged_file(ledger, tmp_path, capsys):
    pages = []
    for name, costs in (("with", SPEEDS), ("without", ())):
        for encoder in costs:
            write_cost(tmp_path / name, cost_of(encoder))
        out = tmp_path / "out" / name
        assert report.main(["--ledger", str(ledger), "--costs", str(tmp_path / name), "--out", str(out)]) == 0
        pages.append({path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()})
    assert b"Worth against cost" in pages[0]["README.md"] and "open-worth-size.svg" in pages[0]
    assert b"Worth against cost" not in pages[1]["README.md"] and b"Worth against cost" not in pages[1]["index.html"]
    (damaged,) = (tmp_path / "with").glob("*/elmo-*.json")
    damaged.write_text("{")
    out = str(tmp_path / "out" / "with")
    capsys.readouterr()
    assert report.main(["--ledger", str(ledger), "--costs", str(tmp_path / "with"), "--out", out]) == 2
    assert str(damaged) in capsys.readouterr().err


def test_files_have_the_median_that_people_see_also_of_an_even_number_of_rounds():
    cost = make_cost("glove", rates={"1": [1.0, 2.0, 4.0, 9.0]})
    assert (_rate(cost, "1").text, _rate(cost, "1").values) == ("3 (1 to 9)", (3.0, 1.0, 9.0))
