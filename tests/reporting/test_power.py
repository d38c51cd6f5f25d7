"""What `compare` says of data of the user's own: which difference they show, and what two points would take."""

import pytest

from elmo_bench.__main__ import main
from elmo_bench.cli.compared import power
from elmo_bench.reporting.significance import Difference, Variance
from tests.reporting.ledgers import fill, stuck


def test_what_data_can_show_and_what_two_points_would_take():
    """By the noncentral t distribution (scipy.stats.nct), 4 degrees of freedom: 3.76 at 0.05, 5.12 at 0.05 / 3."""
    certain = Difference(0.0, (Variance(0.1, 2), Variance(0.1, 2)), Variance(0.0, 99))
    tested = Difference(0.0, (Variance(0.5, 2), Variance(0.5, 2)), Variance(0.0, 99))
    assert (tested.error, tested.df) == (1.0, 4.0)
    [line] = power([certain, tested], 1)
    assert "With 100 independent test items" in line and "a difference of 3.8 points" in line
    [of_three] = power([tested], 3)
    assert "a difference of 5.1 points" in of_three
    nearly_equal = Difference(0.0, (Variance(1e-6, 1), Variance(1e-6, 1)), Variance(0.0, 99))
    assert "So these data can show 2 points." in power([nearly_equal], 1)[0]
    assert "So these data can show 2 points." in power([certain], 1)[0]


@pytest.mark.parametrize("variance", [0.3, 30.0, 3000.0])
@pytest.mark.parametrize("df", [1, 2, 5, 400])
def test_with_as_many_more_two_points_are_found(df, variance):
    tested = Difference(0.0, (Variance(variance, df), Variance(variance, df)), Variance(0.1, 399))
    times = tested.repeats_for(2.0, 0.05)
    more = [Variance(part.value / times, part.df * times) for part in (*tested.seeds, tested.items)]
    assert Difference(0.0, tuple(more[:2]), more[2]).detectable_at(0.05) == pytest.approx(2.0, rel=1e-3)
    assert (times > 1) == (tested.detectable_at(0.05) > 2)


def test_runs_that_differ_on_no_item_say_nothing_of_what_data_can_show():
    assert power([Difference(0.0, (), Variance(0.0, 15))], 1) == []


def test_a_difference_that_no_score_can_have_is_not_named():
    vague = Difference(0.0, (Variance(900.0, 2), Variance(800.0, 2)), Variance(4.0, 99))
    [line] = power([vague], 1)
    assert line.startswith(
        "With 100 independent test items and these seeds, four of five comparisons find no difference."
    )


@pytest.mark.usefixtures("undrawn")
def test_a_pair_without_a_test_says_nothing_of_what_data_can_show(tmp_path, capsys):
    fill(tmp_path, "classification", "glove minilm", seeds=3, suite="reviews")

    def shown(*encoders):
        assert main(["compare", *encoders, "--ledger", str(tmp_path)]) == 0
        return [line for line in capsys.readouterr().out.splitlines() if " independent test items" in line]

    two = shown("minilm", "glove")
    for seed, lift in enumerate((0.2, -0.2)):
        stuck(tmp_path, "classification", "elmo", seed, suite="reviews", lift=lift)
    assert len(two) == 1 and shown("minilm", "glove", "elmo") == two and shown("elmo", "glove") == []
