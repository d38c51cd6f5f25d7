"""The headline of a page, and its picture: an encoder's gains in steps, the gains of
others, and the error reduction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from elmo_bench.reporting.comparisons import MARKS
from elmo_bench.reporting.figures import FAINT, INK, SURFACE, Drawing, lanes, look
from elmo_bench.reporting.formats import joined, signed
from elmo_bench.reporting.layouts.encoders import CONTROLS, leading, papers_reduction
from elmo_bench.reporting.names import BASELINE, SEEN, in_sentence, task_title
from elmo_bench.reporting.rows import lines_of
from elmo_bench.reporting.steps import (
    CONTEXT,
    LAYERS,
    UNSPLIT,
    WHOLE,
    WORD,
    gains_of,
    others_shown,
    step_gains,
    steps,
)
from elmo_bench.reporting.tables import present
from elmo_bench.spec.experiments import Experiment

# Encoders in a sentence, where they are no names of columns.
PROSE = {"elmo": "ELMo", BASELINE: "GloVe"}
OVER = PROSE[BASELINE]
WEIGHTS = "encoder.weights"
POINTS = {"textcoords": "offset points"}
SHORT = {WORD: "word", UNSPLIT: "rest"}  # on a phone
SHADES = {WORD: 0.3, LAYERS: 0.6, CONTEXT: 1.0, UNSPLIT: 0.8}  # of the bars of steps
Gain = Mapping[str, Any]  # a system with its comparison, as a line of a frame


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
    table = gains.assign(label=list(map(in_sentence, labels)))
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
    """Gains of one encoder with intervals, split into word vector, layers and context;
    below them the gains of others; to the side the error reduction.

    A line a task; None without a converged gain. Gains and steps that are not converged
    are in the table alone: a head that learned nothing would stretch the axis, and says
    nothing about an encoder.
    """
    name = leading(experiment, comparisons)
    gains = step_gains(systems, comparisons, experiment, name)
    whole = gains.pop(WHOLE).reset_index()
    drawn = whole[whole.both_converged.eq(True)]
    if drawn.empty:
        return None
    marks = _marks(systems, comparisons, experiment, name)
    converged_steps = {}
    for step, of_step in gains.items():
        converged_steps[step] = of_step[of_step.both_converged.eq(True)]
    lanes_ = []
    for line in lines_of(drawn):
        lanes_.append(_lane(line, converged_steps, marks, experiment, name))
    absent = ", ".join(whole[~whole.both_converged.eq(True)].title)
    left_out = f"not drawn, since not converged: {absent}" if absent else ""
    title = headline(name, drawn)
    suite = systems.suite.iloc[0]
    unsplit = f"not split without {_between(experiment, name)}" if gains else ""

    def paint(axes: Axes, phone: bool) -> None:
        _paint(axes, lanes_, name, unsplit=unsplit, left_out=left_out, phone=phone)

    texts = []
    for lane in lanes_:
        gain = signed(lane.gain["gain"], 1)
        texts.append(f"{lane.gain['title']} {gain} ({lane.gain['conclusion']})")
    alt = f"{title} {'; '.join(texts)}."
    if left_out:
        alt += f" N{left_out[1:]}."
    high = _slots(lanes_)[-1].bottom
    return Drawing(
        f"{suite}-gains",
        f"Gains of {PROSE.get(name, name)} over {OVER}, suite {suite}",
        alt,
        paint,
        message=title.rstrip("."),
        size=(13.0, 1.9 + 0.36 * high),
        phone_size=(6.4, 3.4 + 0.72 * high),
    )


def _between(experiment: Experiment, name: str) -> str:
    """The encoder that adds a word vector alone."""
    return steps(experiment, name)[WORD][0]


@dataclass(frozen=True)
class _Lane:
    """A task: the gain, its steps (none if one is missing), the gains of others over
    the baseline, and the paper's error reduction.
    """

    gain: Gain
    steps: Mapping[str, Gain]
    others: Mapping[str, Gain]
    papers_share: float | None


def _lane(
    gain: Gain,
    step_gains_: Mapping[str, pd.DataFrame],
    marks: Mapping[str, pd.DataFrame],
    experiment: Experiment,
    name: str,
) -> _Lane:
    basis = gain["basis"]
    own_steps = {
        step: table.loc[basis].to_dict()
        for step, table in step_gains_.items()
        if basis in table.index
    }
    if LAYERS in own_steps:
        own_steps.pop(UNSPLIT, None)
    is_whole = WORD in own_steps and len(own_steps) > 1
    others_ = {
        other: table.loc[basis].to_dict()
        for other, table in marks.items()
        if basis in table.index
    }
    share = None
    if name == experiment.encoder:
        share = papers_reduction(experiment, gain["task"])
    return _Lane(gain, own_steps if is_whole else {}, others_, share)


def _marks(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment, name: str
) -> dict[str, pd.DataFrame]:
    """The converged gains of the encoders that have a mark, by basis; controls last."""
    marks = {}
    for other in others_shown(systems, experiment, name):
        gains = gains_of(systems, comparisons, (other, BASELINE)).set_index("basis")
        marks[other] = gains[gains.both_converged.eq(True)]
    return marks


def _paint(
    axes: Axes,
    lanes_: Sequence[_Lane],
    name: str,
    *,
    unsplit: str,
    left_out: str,
    phone: bool,
) -> None:
    """Gains on the left and error reductions on the right, or below each other."""
    figure: Any = axes.figure
    figure.get_layout_engine().set(w_pad=0.15)  # a browser's font may be wider
    axes.remove()
    if phone:
        left, right = figure.subplots(2, 1, sharey=True, height_ratios=(1.6, 1))
    else:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(2.2, 1))
    slots = _slots(lanes_)
    left.set_ylim(slots[-1].bottom + 0.1, 0)
    colour = look([name])[name][0]
    for slot, lane in zip(slots, lanes_, strict=True):
        _bars(left, slot, lane, colour, unsplit=unsplit, phone=phone)
        _gain(left, slot.gain, lane.gain)
        for row, (other, gain) in enumerate(lane.others.items()):
            _gain(left, slot.other(row), gain, other)
        at, reduction = slot.middle, present(lane.gain["reduction"]) or 0.0
        _share(right, at, "ours", reduction, colour=colour)
        if lane.papers_share is not None:
            _share(right, at, "paper", lane.papers_share, colour=INK)
    below = [
        f"points over {OVER} on test; the 95 % intervals",
        "of a family hold together (steps: table 1)",
    ]
    if any(gain["seen"] for lane in lanes_ for gain in lane.others.values()):
        below.append(f"{SEEN} trained on examples of the task")
    left.set_xlabel("\n".join([*below, left_out]).strip())
    paper = (
        "\n(the paper: on its data)"
        if any(lane.papers_share is not None for lane in lanes_)
        else ""
    )
    right.set_xlabel(f"error reduction,\n% of {OVER}'s gap to 100{paper}")
    middles = [slot.middle for slot in slots]
    width = 12 if phone else 30
    for half in (left, right):
        lanes(half, [fill(lane.gain["title"], width) for lane in lanes_], middles)
        half.margins(x=0.12)
        half.spines["left"].set_visible(False)


class _Slot:
    """The heights of what is in a lane: steps, the gain below, others below it."""

    def __init__(self, top: float, lane: _Lane) -> None:
        self.steps = top + 0.8
        self.gain = top + 1.7
        self.bottom = top + 2.6 + 0.85 * len(lane.others)
        self.middle = (top + self.bottom) / 2

    def other(self, row: int) -> float:
        """The height of a row of others."""
        return self.gain + 0.85 * (row + 1)


def _slots(lanes_: Sequence[_Lane]) -> list[_Slot]:
    """A slot for each lane, one below the other."""
    slots: list[_Slot] = []
    for lane in lanes_:
        slots.append(_Slot(slots[-1].bottom if slots else 0.0, lane))
    return slots


def _mark_of(name: str) -> tuple[str, str]:
    """Colour and marker; a control is grey."""
    colour, marker = look([name])[name]
    return (FAINT if name in CONTROLS else colour), marker


def _bars(
    axes: Axes, slot: _Slot, lane: _Lane, colour: str, *, unsplit: str, phone: bool
) -> None:
    """The steps of a gain, one after the other; if one is a loss, below each other."""
    style: Any = {**POINTS, "va": "center"}
    at, mean = slot.steps, lane.gain["gain"]
    if not lane.steps:
        height = 0.8
        axes.barh(at, mean, height, facecolor=SURFACE, edgecolor=colour, linewidth=1.6)
        axes.annotate(unsplit, (max(0, mean), at), (9, 0), **style)
        return
    gains = [step["gain"] for step in lane.steps.values()]
    apart = min(gains) < 0 < max(gains)
    height = 0.8 / (len(gains) if apart else 1)
    start, end = 0.0, 0.0
    for number, (name, step) in enumerate(lane.steps.items()):
        y = at
        if apart:
            y += (number - (len(gains) - 1) / 2) * height
        shade = SHADES[name]
        axes.barh(y, step["gain"], height, left=start, color=colour, alpha=shade)
        start += step["gain"]
        end = max(end, start)
    names = SHORT if phone else {}
    texts = [_step(step, names.get(name, name)) for name, step in lane.steps.items()]
    text = ", ".join(texts)
    axes.annotate(fill(text, 30) if phone else text, (end, at), (9, 0), **style)


def _step(step: Gain, name: str) -> str:
    return joined(name, signed(step["gain"], 1), MARKS[step["verdict"]])


def _gain(axes: Axes, at: float, gain: Gain, name: str = "") -> None:
    """A mark with the interval of its family, and what the test says.

    name: of an encoder that the page is not about.
    """
    colour, marker = _mark_of(name) if name else (INK, "d")
    mean, verdict = gain["gain"], gain["verdict"]
    low, high = (gain["family_low"], gain["family_high"]) if verdict else (mean, mean)
    axes.plot(
        (low, high),
        (at, at),
        "|-",
        color=colour,
        markersize=7,
        linewidth=1.4,
        label=f"_{verdict}",  # for tests: no legend shows a label that begins so
    )
    axes.plot(mean, at, marker, color=colour, markersize=6)
    style: Any = {**POINTS, "va": "center", "color": colour}
    text = joined(name, signed(mean, 1), MARKS[verdict], gain["seen"])
    if not name:
        style["weight"] = "bold"
        text = joined(text, gain["conclusion"])
    axes.annotate(text, (max(0, high), at), (9, 0), **style)


def _share(axes: Axes, at: float, name: str, share: float, *, colour: str) -> None:
    """A mark with its name: ours a dot with the name above, the paper's a tick with the
    name below.
    """
    marker, size, side, up = (
        ("o", 9, "bottom", 10) if name == "ours" else ("|", 16, "top", -10)
    )
    axes.plot(share, at, marker, color=colour, markersize=size, markeredgewidth=2.4)
    style: Any = {**POINTS, "ha": "center", "va": side, "color": colour}
    axes.annotate(f"{name} {share:.1f}", (share, at), (0, up), **style)
