"""The headline of a page, and its picture: an encoder's gains with their parts, and the error reduction."""

from collections.abc import Sequence
from functools import partial
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes

from elmo_bench.reporting.canvas import INK, SURFACE, Drawing, lanes, look
from elmo_bench.reporting.encoders import Picked, leading, parts, printed_reduction
from elmo_bench.reporting.gains import Gain
from elmo_bench.reporting.rows import BASELINE
from elmo_bench.reporting.table import signed
from elmo_bench.spec.experiments import Experiment

PROSE = {"elmo": "ELMo", BASELINE: "GloVe"}  # encoders in a sentence, where they are no names of columns
OVER = PROSE[BASELINE]
WEIGHTS = "encoder.weights"


def headline(name: str, picked: Sequence[Picked]) -> str:
    """What the gains of an encoder show, in one sentence; a question if none was tested."""
    gains = [(one.group, one.gains[name]) for one in picked if name in one.gains]
    titles = [group.info.title for group, _ in gains]
    called = [group.label() if titles.count(group.info.title) > 1 else group.info.title for group, _ in gains]
    tested = [(gain.verdict, title, abs(gain.mean)) for title, (_, gain) in zip(called, gains, strict=True)]
    small = any(one.rows[name].spec.settings.get(WEIGHTS) == "mini" for one in picked if name in one.rows)
    said, plain = list[str](), name
    name = "a small " * small + PROSE.get(name, name)
    for verdict, does, over in (("ahead", "gains", "over"), ("behind", "loses", "to"), ("tie", "", "")):
        own = {title[0].lower() + title[1:]: mean for its, title, mean in tested if its == verdict}
        where = _listed([*own], len({title for its, title, _ in tested if its}))
        if own and does:
            amount = " to ".join(dict.fromkeys(f"{mean:.1f}" for mean in (min(own.values()), max(own.values()))))
            said.append(f"{name} {does} {amount} points {over} {OVER} on {where}")
        elif own:
            what = "no difference was shown"
            said.append(f"on {where} {what}" if said else f"{what} between {name} and {OVER} on {where}")
    sentence = f"{'; '.join(said)}." if said else f"what is {name} worth over {OVER}?"
    return sentence if sentence.startswith(f"{plain} ") else f"{sentence[0].upper()}{sentence[1:]}"


def _listed(names: Sequence[str], count: int) -> str:
    """The names or, of many, their number."""
    if len(names) > 3:
        return f"{len(names)} of {count} tasks"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def picture(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> Drawing | None:
    """Gains of one encoder with intervals, split into word vector and context; beside them the error reduction.

    A line a task; None without a converged gain. Gains that are not converged are in the table alone: a head that
    learned nothing would stretch the axis, and says nothing about an encoder.
    """
    name = leading(experiment, picked)
    whole, *split = parts(experiment, name).values()
    compared = [one for one in picked if whole in one.tests]
    drawn = {one: one.tests[whole] for one in compared if one.tests[whole].converged}
    if not drawn:
        return None
    halves = {one: [one.tests[pair] for pair in split] if {*split} <= one.tests.keys() else [] for one in drawn}
    absent = ", ".join(one.group.label() for one in compared if one not in drawn)
    left_out = f"not drawn, since not converged: {absent}" if absent else ""
    title, colour = headline(name, [*drawn]), look([name])[name][0]

    def paint(axes: Axes, *, phone: bool = False) -> None:
        figure: Any = axes.figure
        figure.get_layout_engine().set(w_pad=0.15)  # a browser's font may be wider
        axes.remove()
        ratios: Any = {"height_ratios": (1.3, 1)} if phone else {"width_ratios": (1.8, 1)}
        left, right = figure.subplots(1 + phone, 2 - phone, sharey=True, **ratios)
        left.set_ylim(len(drawn) - 0.45, -0.62)
        for at, (one, gain) in enumerate(drawn.items()):
            unsplit = f"not split: no run of {split[0][0]}" if split else ""
            _bars(left, at, gain, halves[one], colour, word="word" if phone else "word vector", other=unsplit)
            _share(right, at, "ours", gain.reduction or 0.0, colour=colour)
            if name == experiment.encoder and (share := printed_reduction(experiment, one)) is not None:
                _share(right, at, "paper", share, colour=INK)
        shades, of_parts = "; pale: word vector, full: context" * bool(split), " (of the parts: table 1)" * bool(split)
        below = f"points over {OVER} on test{shades}\nand the 95 % interval over seeds and items{of_parts}\n{left_out}"
        left.set_xlabel(below.strip())
        paper = "\n(the paper: on its data)" * (name == experiment.encoder)
        right.set_xlabel(f"error reduction, % of {OVER}'s gap to 100{paper}")
        for half in (left, right):
            lanes(half, [fill(one.group.label(), 30) for one in drawn])
            half.margins(x=0.12)
            half.spines["left"].set_visible(False)

    said = [f"{one.group.label()} {signed(gain.mean, 1)} ({gain.said})" for one, gain in drawn.items()]
    alt = f"{title} {'; '.join(said)}." + f" N{left_out[1:]}." * bool(left_out)
    about, size = f"Gains of {PROSE.get(name, name)} over {OVER}, suite {suite}", (13.0, 1.5 + 0.95 * len(drawn))
    stem, message, tall = f"{suite}-gains", title.rstrip("."), (6.4, 3 + 1.7 * len(drawn))
    narrow = Drawing(f"{stem}-phone", about, alt, partial(paint, phone=True), message=message, size=tall)
    return Drawing(stem, about, alt, paint, message=message, size=size, narrow=narrow)


def _bars(axes: Axes, at: int, gain: Gain, halves: Sequence[Gain], colour: str, *, word: str, other: str) -> None:
    """A gain's parts in one lane, or in two if one of them is a loss; below them the gain with its interval."""
    apart, start, below = (0.1 if halves and halves[0].mean * halves[1].mean < 0 else 0.0), 0.0, at + 0.3
    for lane, part, alpha in zip((at - apart, at + apart), halves, (0.4, 1.0), strict=False):
        axes.barh(lane, part.mean, 0.18 if apart else 0.34, left=start, color=colour, alpha=alpha)
        start += part.mean
    if not halves:
        axes.barh(at, gain.mean, 0.34, facecolor=SURFACE, edgecolor=colour, linewidth=1.6)
    low, high = gain.difference.interval if gain.difference else (gain.mean, gain.mean)
    axes.plot((low, high), (below, below), "|-", color=INK, markersize=7, linewidth=1.4)
    axes.plot(gain.mean, below, "d", color=INK, markersize=6)
    named = zip(halves, (word, "context"), strict=False)
    split = ", ".join(" ".join(filter(None, [signed(part.mean, 1), part.mark, name])) for part, name in named) or other
    style: dict[str, Any] = {"textcoords": "offset points", "va": "center"}
    axes.annotate(split, (max(0, gain.mean, *(part.mean for part in halves[:1])), at), (9, 0), **style)
    said = f"{signed(gain.mean, 1)} {gain.mark} {gain.said}"
    axes.annotate(said, (max(0, high), below), (9, 0), weight="bold", **style)


def _share(axes: Axes, at: int, name: str, share: float, *, colour: str) -> None:
    """A mark with its name: ours a dot with the name above, the paper's a tick with the name below."""
    marker, size, side, up = ("o", 9, "bottom", 10) if name == "ours" else ("|", 16, "top", -10)
    axes.plot(share, at, marker, color=colour, markersize=size, markeredgewidth=2.4)
    text = f"{name} {share:.1f}"
    axes.annotate(text, (share, at), (0, up), textcoords="offset points", ha="center", va=side, color=colour)
