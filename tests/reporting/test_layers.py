"""Layer weights: of the best epoch, over seeds, by place."""

from elmo_bench.ledger import read_ledger
from elmo_bench.reporting.figures.heat import LARGE, SMALL, hatch_of
from elmo_bench.reporting.layers import layer_tables, learned, mixes_of
from elmo_bench.reporting.like import groups
from elmo_bench.reporting.select import select
from tests.reporting.ledgers import add


def test_they_are_those_of_the_best_epoch_over_seeds(make_record):
    def after(first, gamma):
        return [
            {"input": {"weights": [first, 1 - first], "gamma": gamma}},
            {"input": {"weights": [1.0, 0.0], "gamma": 9.0}},
        ]

    records = [
        make_record(seed=0, layer_weights=after(0.2, 1.0), epochs={"run": 2, "best": 1}),
        make_record(seed=1, layer_weights=after(0.4, 2.0), epochs={"run": 2, "best": 1}),
        make_record(encoder="glove", layer_weights=[]),
    ]
    rows = select(records).rows
    [mix] = [mix for row in rows for mix in mixes_of(row)]
    assert (mix.place, mix.gamma.mean, [round(w.mean, 12) for w in mix.weights]) == ("input", 1.5, [0.3, 0.7])
    [table] = layer_tables(groups(rows))
    assert [cell.text for cell in table.rows[0]][2:4] == ["input", "1.50 ± 0.71"]
    assert layer_tables(groups(select(records[2:]).rows)) == []


def test_a_place_that_the_plain_run_has_not_comes_from_the_run_that_differs_in_it_alone(tmp_path):
    plain = add(tmp_path, "ner", "elmo", 0)
    both = add(tmp_path, "ner", "elmo", 0, place="both")
    add(tmp_path, "ner", "elmo", 0, place="output")
    add(tmp_path, "ner", "elmo", 0, kind="last")  # learns no weights
    [group] = groups(select(read_ledger(tmp_path)).rows)
    found = {mix.place: mix.row.newest["hash"] for mix in learned(group)}
    assert found == {"input": plain["hash"], "output": both["hash"]}


def test_cells_are_marked_as_the_papers():
    marks = [hatch_of(weight, 3) for weight in (0.33, 0.34, 0.66, 0.67)]
    assert marks == [SMALL, None, None, LARGE]
