"""The headline of a page, and its picture: an encoder's gains with their parts, and the
error reduction.
"""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from elmo_bench.reporting.comparisons import MARKS
from elmo_bench.reporting.figures import INK, SURFACE, Drawing, lanes, look
from elmo_bench.reporting.formats import signed
from elmo_bench.reporting.layouts.encoders import Pair, leading, papers_reduction, parts
from elmo_bench.reporting.names import BASELINE, task_title
from elmo_bench.reporting.rows import lines_of
from elmo_bench.reporting.tables import present, with_gains
from elmo_bench.spec.experiments import Experiment

# Encoders in a sentence, where they are no names of columns.
PROSE = {"elmo": "ELMo", BASELINE: "GloVe"}
OVER = PROSE[BASELINE]
WEIGHTS = "encoder.weights"
POINTS = {"textcoords": "offset points"}
Gain = Mapping[str, Any]  # a system with its comparison, as a line of a frame


def gains_of(
    systems: pd.DataFrame, comparisons: pd.DataFrame, pair: Pair
) -> pd.DataFrame:
    """The systems of the first encoder of a pair that are compared with the second, in
    the order of tasks.
    """
    ours, theirs = pair
    tests = comparisons[
        (comparisons.our_name == ours) & (comparisons.their_name == theirs)
    ]
    table = with_gains(systems[systems.name == ours], tests)
    return table[table.gain.notna()]


def headline(name: str, gains: pd.DataFrame) -> str:
    """What the gains of an encoder show, in one sentence; a question if none was
    tested.

    gains: by task, with the columns of `gains_of`.
    """
    prose = PROSE.get(name, name)
    if any(spec.settings.get(WEIGHTS) == "mini" for spec in gains.spec):
        prose = f"a small {prose}"
    titles = [task_title(task) for task in gains.task]
    labels = []
    for title, label in zip(titles, gains.title, strict=True):
        labels.append(label if titles.count(title) > 1 else title)
    table = gains.assign(label=[label[0].lower() + label[1:] for label in labels])
    tested = table[table.verdict != ""].drop_duplicates("label", keep="last")
    clauses = []
    for verdict, does, over in (("ahead", "gains", "over"), ("behind", "loses", "to")):
        group = tested[tested.verdict == verdict]
        if len(group):
            amounts = _amounts(group.gain.abs())
            where = _listed(list(group.label), len(tested))
            clauses.append(f"{prose} {does} {amounts} points {over} {OVER} on {where}")
    ties = tested[tested.verdict == "tie"]
    if len(ties):
        where, what = _listed(list(ties.label), len(tested)), "no difference was shown"
        clauses.append(
            f"on {where} {what}"
            if clauses
            else f"{what} between {prose} and {OVER} on {where}"
        )
    sentence = (
        f"{'; '.join(clauses)}." if clauses else f"what is {prose} worth over {OVER}?"
    )
    if sentence.startswith(f"{name} "):
        return sentence
    return f"{sentence[0].upper()}{sentence[1:]}"


def _amounts(gains: pd.Series) -> str:
    """The smallest and the largest; one of them if they are the same."""
    return " to ".join(dict.fromkeys([f"{gains.min():.1f}", f"{gains.max():.1f}"]))


def _listed(names: Sequence[str], count: int) -> str:
    """The names or, of many, their number."""
    if len(names) > 3:
        return f"{len(names)} of {count} tasks"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def picture(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> Drawing | None:
    """Gains of one encoder with intervals, split into word vector and context; beside
    them the error reduction.

    A line a task; None without a converged gain. Gains that are not converged are in
    the table alone: a head that learned nothing would stretch the axis, and says
    nothing about an encoder.
    """
    name = leading(experiment, comparisons)
    whole, *between = parts(experiment, name).values()
    gains = gains_of(systems, comparisons, whole)
    drawn = gains[gains.both_converged.eq(True)]
    if drawn.empty:
        return None
    halves = [
        gains_of(systems, comparisons, pair).set_index("basis") for pair in between
    ]
    lanes_ = [_Lane(line, halves, experiment, name) for line in lines_of(drawn)]
    absent = ", ".join(gains[~gains.both_converged.eq(True)].title)
    left_out = f"not drawn, since not converged: {absent}" if absent else ""
    title = headline(name, drawn)
    suite = systems.suite.iloc[0]

    def paint(axes: Axes, phone: bool) -> None:
        _paint(axes, lanes_, name, between=between, left_out=left_out, phone=phone)

    texts = []
    for lane in lanes_:
        gain = signed(lane.gain["gain"], 1)
        texts.append(f"{lane.gain['title']} {gain} ({lane.gain['conclusion']})")
    alt = f"{title} {'; '.join(texts)}."
    if left_out:
        alt += f" N{left_out[1:]}."
    return Drawing(
        f"{suite}-gains",
        f"Gains of {PROSE.get(name, name)} over {OVER}, suite {suite}",
        alt,
        paint,
        message=title.rstrip("."),
        size=(13.0, 1.5 + 0.95 * len(lanes_)),
        phone_size=(6.4, 3 + 1.7 * len(lanes_)),
    )


class _Lane:
    """A task: the gain, its parts (none if one is missing), and the paper's error
    reduction.
    """

    def __init__(
        self,
        gain: Gain,
        halves: Sequence[pd.DataFrame],
        experiment: Experiment,
        name: str,
    ) -> None:
        basis = gain["basis"]
        split = all(basis in half.index for half in halves)
        self.gain = gain
        self.halves = [half.loc[basis].to_dict() for half in halves] if split else []
        self.papers_share = (
            papers_reduction(experiment, gain["task"])
            if name == experiment.encoder
            else None
        )


def _paint(
    axes: Axes,
    lanes_: Sequence[_Lane],
    name: str,
    *,
    between: Sequence[Pair],
    left_out: str,
    phone: bool,
) -> None:
    """Gains on the left and error reductions on the right, or below each other."""
    figure: Any = axes.figure
    figure.get_layout_engine().set(w_pad=0.15)  # a browser's font may be wider
    axes.remove()
    if phone:
        left, right = figure.subplots(2, 1, sharey=True, height_ratios=(1.3, 1))
    else:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.8, 1))
    left.set_ylim(len(lanes_) - 0.45, -0.62)
    colour = look([name])[name][0]
    unsplit = f"not split: no run of {between[0][0]}" if between else ""
    for at, lane in enumerate(lanes_):
        _bars(
            left,
            at,
            lane,
            colour,
            word="word" if phone else "word vector",
            unsplit=unsplit,
        )
        _share(right, at, "ours", present(lane.gain["reduction"]) or 0.0, colour=colour)
        if lane.papers_share is not None:
            _share(right, at, "paper", lane.papers_share, colour=INK)
    shades = "; pale: word vector, full: context" if between else ""
    of_parts = " (of the parts: table 1)" if between else ""
    below = (
        f"points over {OVER} on test{shades}\n"
        f"and the 95 % interval over seeds and items{of_parts}\n"
        f"{left_out}"
    )
    left.set_xlabel(below.strip())
    paper = (
        "\n(the paper: on its data)"
        if any(lane.papers_share is not None for lane in lanes_)
        else ""
    )
    right.set_xlabel(f"error reduction, % of {OVER}'s gap to 100{paper}")
    for half in (left, right):
        lanes(half, [fill(lane.gain["title"], 30) for lane in lanes_])
        half.margins(x=0.12)
        half.spines["left"].set_visible(False)


def _bars(
    axes: Axes, at: int, lane: _Lane, colour: str, *, word: str, unsplit: str
) -> None:
    """A gain's parts in one lane, or in two if one of them is a loss; below them the
    gain with its interval.
    """
    gain, halves = lane.gain, lane.halves
    mean = gain["gain"]
    apart = 0.1 if halves and halves[0]["gain"] * halves[1]["gain"] < 0 else 0.0
    start, below = 0.0, at + 0.3
    for y, half, alpha in zip(
        (at - apart, at + apart), halves, (0.4, 1.0), strict=False
    ):
        axes.barh(
            y,
            half["gain"],
            0.18 if apart else 0.34,
            left=start,
            color=colour,
            alpha=alpha,
        )
        start += half["gain"]
    if not halves:
        axes.barh(at, mean, 0.34, facecolor=SURFACE, edgecolor=colour, linewidth=1.6)
    tested = gain["difference"] is not None
    low, high = (gain["low"], gain["high"]) if tested else (mean, mean)
    axes.plot((low, high), (below, below), "|-", color=INK, markersize=7, linewidth=1.4)
    axes.plot(mean, below, "d", color=INK, markersize=6)
    texts = [
        _half(half, name) for half, name in zip(halves, (word, "context"), strict=False)
    ]
    style: Any = {**POINTS, "va": "center"}
    end = max(0, mean, *(half["gain"] for half in halves[:1]))
    axes.annotate(", ".join(texts) or unsplit, (end, at), (9, 0), **style)
    conclusion = f"{signed(mean, 1)} {MARKS[gain['verdict']]} {gain['conclusion']}"
    axes.annotate(conclusion, (max(0, high), below), (9, 0), weight="bold", **style)


def _half(half: Gain, name: str) -> str:
    parts_ = (signed(half["gain"], 1), MARKS[half["verdict"]], name)
    return " ".join(part for part in parts_ if part)


def _share(axes: Axes, at: int, name: str, share: float, *, colour: str) -> None:
    """A mark with its name: ours a dot with the name above, the paper's a tick with the
    name below.
    """
    marker, size, side, up = (
        ("o", 9, "bottom", 10) if name == "ours" else ("|", 16, "top", -10)
    )
    axes.plot(share, at, marker, color=colour, markersize=size, markeredgewidth=2.4)
    style: Any = {**POINTS, "ha": "center", "va": side, "color": colour}
    axes.annotate(f"{name} {share:.1f}", (share, at), (0, up), **style)
