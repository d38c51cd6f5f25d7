"""Figures: nothing is cut off or covered, and the words match the drawing."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from elmo_bench.reporting import figures as figures_module
from elmo_bench.reporting.charts import chart, log_ticks
from elmo_bench.reporting.comparisons import compare
from elmo_bench.reporting.figures import Drawing, look
from elmo_bench.reporting.layouts import variants
from elmo_bench.reporting.layouts.fractions import pairs
from elmo_bench.spec.conf_files import choices
from tests.reporting.frames import board_of, experiment_in, figures_in, runs_in, tables_in
from tests.reporting.ledgers import fill, stuck, today
from tests.runs import first_ones


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """By stem; of two tasks with less data, one of them on two data sets, in two versions and sizes."""
    ledger = tmp_path_factory.mktemp("runs")
    for task, options in (("squad", {}), ("ner", {}), ("ner", {"version": 99, "size": "paper", "data": "other"})):
        for fraction in (1.0, 0.1):
            fill(ledger, task, "glove elmo", seeds=2, train_fraction=fraction, **options)
    return {figure.stem: figure for figure in board_of(ledger).figures}


def pixels(figure, *, phone=False):
    """The drawing as matplotlib itself paints it [height, width, 3]."""
    with figures_module.style():
        canvas = FigureCanvasAgg(figure.canvas(figure.phone_size if phone else figure.size, phone=phone))
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3]


def test_the_tests_of_all_learning_curves_are_one_family(tmp_path):
    for task in ("ner", "snli"):
        for fraction in (1.0, 0.1):
            fill(tmp_path, task, "glove elmo", seeds=3, train_fraction=fraction)
    systems, comparisons, experiment = experiment_in(tmp_path, "figure1")
    snli = systems[systems.task == "snli"]
    alone = compare(runs_in(tmp_path), pairs(snli, experiment))
    both = comparisons[comparisons.ours.isin(snli.hash)]
    assert list(both.ours) == list(alone.ours) and len(alone) == 2
    assert list(both.p) == list(alone.p) and list(both.p_holm) != list(alone.p_holm)


@pytest.mark.parametrize("number", first_ones(range(8), 0))
def test_nothing_touches_the_edge(figures, number):
    """There what is cut off would end."""
    assert len(figures) == 8
    figure = list(figures.values())[number]
    for phone in (False, True)[: 2 if figure.phone_size else 1]:
        image = pixels(figure, phone=phone)
        edges = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
        assert (edges == 255).all()


def test_long_names_are_whole(figures):
    for stem in ("open-gains", "open-figure2-elmo"):
        version, protocol = today()
        for apart in (
            f"version={version}, protocol {protocol}, size=cpu, ",
            f"version=99, protocol {protocol}, size=paper, ",
        ):
            assert apart.partition(",")[0] in figures[stem].svg
            assert apart in figures[stem].alt
    assert "the 95 % intervals" in figures["open-gains"].svg


def test_every_encoder_has_one_colour_and_marker():
    """Those that ship have different ones; others have theirs by name, in whatever company."""
    shipped = look(choices("encoder"))
    assert len({*shipped.values()}) == len(shipped)
    for name in ("random", "bert-base-cased", "elmo, encoder.weights=mine"):
        assert look([name])[name] == look(["glove", "mine", name])[name]
        assert name in shipped or look([name])[name] not in shipped.values()


def test_gains_that_are_not_converged_are_not_drawn(tmp_path):
    fill(tmp_path, "squad ner", "glove", seeds=2)
    fill(tmp_path, "squad", "elmo", seeds=2)
    for seed in (0, 1):
        stuck(tmp_path, "ner", "elmo", seed)
    [gains] = [figure for figure in board_of(tmp_path).figures if figure.stem == "open-gains"]
    assert "not drawn, since not converged: Named entities" in gains.svg
    assert gains.alt.endswith("Not drawn, since not converged: Named entities.")
    assert "Named entities +" not in gains.alt


def test_a_figure_of_variants_has_dots_in_a_band_and_says_how_many_differences_hold(tmp_path):
    fill(tmp_path, "snli ner", "elmo", seeds=3)
    fill(tmp_path, "snli", "elmo", seeds=3, place="input", lift=-0.2)
    fill(tmp_path, "snli", "elmo", seeds=3, place="output")
    for seed in range(3):
        stuck(tmp_path, "ner", "elmo", seed, place="output")
    tables, [figure] = tables_in(tmp_path, "table3"), figures_in(tmp_path, "table3")
    assert len(tables) == 2
    start = "Where the encoder enters: 1 of 2 differences from the task's own place held on dev; the largest is −"
    assert figure.message.startswith(start) and figure.message.endswith("points (input only; Inference)")
    assert "Inference, output only: " in figure.alt and "Named entities" not in figure.alt  # not converged
    assert figure.size[0] == 10


def test_a_figure_of_more_variants_than_fit_has_the_largest_differences(tmp_path, monkeypatch):
    """With hundreds of lanes nothing can be read, and matplotlib finds no room for the axes."""
    fill(tmp_path, "snli", "elmo", seeds=2)
    fill(tmp_path, "snli", "elmo", seeds=2, place="input", lift=-0.2)
    fill(tmp_path, "snli", "elmo", seeds=2, place="output", lift=-0.1)
    [whole] = figures_in(tmp_path, "table3")
    monkeypatch.setattr(variants, "MOST_LANES", 1)
    [cut] = figures_in(tmp_path, "table3")
    assert ("input only" in cut.alt) and ("output only" in whole.alt) and ("output only" not in cut.alt)
    assert cut.title == f"{whole.title}, the 1 largest of 2" and cut.message == whole.message
    assert cut.size[1] < whole.size[1]


def test_ticks_are_few_and_round():
    assert log_ticks(107, 3424) == [100, 200, 500, 1000, 2000]
    assert log_ticks(0.01, 1) == [0.01, 0.03, 0.1, 0.3, 1]
    assert log_ticks(1, 1e8) == [1, 100, 1e4, 1e6, 1e8]
    assert log_ticks(110, 190) == [110, 190]


def test_names_at_the_ends_of_lines_do_not_overlap():
    """Lines that end within a hundredth of the axis."""
    points = [(name, x, y + x) for name, y in zip("abcd", (0, 0.001, 0.002, 0.9), strict=True) for x in (1.0, 10.0)]
    figure = chart("stem", "title", pd.DataFrame(points, columns=["name", "steps", "score"]), message="message")
    heights = sorted(float(y) for y in re.findall(r' y="([\d.]+)"[^>]*>[a-d]<', figure.svg))
    assert len(heights) == 4 and min(b - a for a, b in pairwise(heights)) > 13  # points: the size of the font


def test_the_last_bits_of_a_coordinate_do_not_show():
    """They differ between processors, and a committed file is compared with what another machine draws."""
    first, second = (
        Drawing("stem", "title", "alt", lambda axes, phone: axes.plot([0, 1], [0, 1], "o-"), size=(width, 2.0))
        for width in (3.0, 3.0 + 2**-40)
    )
    assert first.svg == second.svg
    assert set(re.findall(r'(?:href="|url\()#(\w+)', first.svg)) <= set(re.findall(r'id="(\w+)"', first.svg))
