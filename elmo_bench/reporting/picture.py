"""The picture of the page: what an encoder gains on each task, how much of it is context, and the errors that go."""

from collections.abc import Sequence
from textwrap import fill

from matplotlib.axes import Axes

from elmo_bench.reporting.canvas import FAINT, INK, SURFACE, Drawing, look
from elmo_bench.reporting.encoders import Picked, leading, parts, printed_reduction
from elmo_bench.reporting.gains import Gain
from elmo_bench.reporting.rows import BASELINE
from elmo_bench.reporting.significance import relative_reduction
from elmo_bench.reporting.table import signed
from elmo_bench.spec.experiments import Experiment


def headline(name: str, picked: Sequence[Picked]) -> str:
    """What the gains of an encoder show, in one sentence; a question if none was tested."""
    by_verdict: dict[str, dict[str, float]] = {"ahead": {}, "behind": {}, "tie": {}}
    for one in picked:
        if (gain := one.gains.get(name)) and gain.verdict:
            title = one.group.label()
            by_verdict[gain.verdict][title[0].lower() + title[1:]] = abs(gain.mean)
    said, count = list[str](), sum(map(len, by_verdict.values()))
    for verdict, own in by_verdict.items():
        if own and verdict == "tie":
            where, what = _listed([*own], count), "no difference was shown"
            said.append(f"on {where} {what}" if said else f"{what} between {name} and {BASELINE} on {where}")
        elif own:
            low, high = f"{min(own.values()):.1f}", f"{max(own.values()):.1f}"
            amount = low if low == high else f"{low} to {high}"
            does = "gains" if verdict == "ahead" else "loses"
            said.append(f"{name} {does} {amount} points over {BASELINE} on {_listed([*own], count)}")
    text = "; ".join(said) or f"What is {name} worth over {BASELINE}?"
    return text if text.startswith(name) else text[0].upper() + text[1:]


def _listed(names: Sequence[str], count: int) -> str:
    """The names or, of many, their number."""
    if len(names) > 3:
        return f"{len(names)} of {count} tasks"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def picture(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> Drawing | None:
    """Gains of one encoder with intervals, split into word vector and context; beside them the errors removed.

    A line a task; none without a converged gain. Gains that are not converged are in the table alone: a head that
    learned nothing would stretch the axis, and says nothing about an encoder.
    """
    name = leading(experiment, picked)
    whole, *split = parts(experiment, name).values()
    drawn = [one for one in picked if (gain := one.tests.get(whole)) and gain.converged]
    if not drawn:
        return None
    left_out = [one.group.label() for one in picked if whole in one.tests and one not in drawn]
    halves = [[one.tests[pair].mean for pair in split] if {*split} <= one.tests.keys() else [] for one in drawn]
    shares = [
        (_fewer(one.tests[whole]), printed_reduction(experiment, one) if name == experiment.encoder else None)
        for one in drawn
    ]
    unsplit = f"not split: no run of {split[0][0]}" if split else ""
    title, colour = headline(name, drawn), look([name])[name][0]

    def paint(axes: Axes) -> None:
        figure = axes.figure
        axes.remove()
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.8, 1))
        figure.suptitle(fill(title, 90), x=0.01, ha="left", weight="bold", size=16)
        for at, one in enumerate(drawn):
            _bars(left, at, one.tests[whole], halves[at], colour, other=unsplit)
            _errors(right, at, *shares[at], colour)
        left.set_yticks(range(len(drawn)), [one.group.label("\n") for one in drawn], size=13)
        left.set_ylim(len(drawn) - 0.45, -0.62)
        for one, label in (
            (left, f"points over {BASELINE} on test, and the 95 % interval over seeds and items"),
            (right, f"share of {BASELINE}'s errors removed, %\n(the paper: on its data)"),
        ):
            one.axvline(0, color=FAINT, linewidth=1)
            one.set_xlabel(label, size=12)
            one.grid(visible=False, axis="y")
            one.tick_params(axis="y", length=0)
            one.tick_params(axis="x", labelsize=12)
            one.margins(x=0.12)
            one.spines["left"].set_visible(False)

    said = [
        f"{one.group.label()} {signed(one.tests[whole].mean)} ({one.tests[whole].said})"
        + (f", word vector {signed(own[0])}, context {signed(own[1])}" if own else "")
        + f", {share[0]:.1f} % of the errors" * (share[0] is not None)
        for one, own, share in zip(drawn, halves, shares, strict=True)
    ]
    alt = f"{title}. {'; '.join(said)}." + f" Not drawn, as not converged: {', '.join(left_out)}." * bool(left_out)
    size = (13.0, 1.5 + 0.95 * len(drawn))
    return Drawing(f"{suite}-gains", f"Gains of {name} over {BASELINE}, suite {suite}", alt, paint, size=size)


def _bars(axes: Axes, at: int, gain: Gain, halves: Sequence[float], colour: str, *, other: str) -> None:
    """A gain's parts in one lane, or in two if one of them is a loss; below them the gain with its interval."""
    apart, start = (0.1 if len(halves) == 2 and halves[0] * halves[1] < 0 else 0.0), 0.0
    for lane, part, alpha in zip((-apart, apart), halves, (0.4, 1.0), strict=False):
        axes.barh(at + lane, part, 0.18 if apart else 0.34, left=start, color=colour, alpha=alpha)
        start += part
    if not halves:
        axes.barh(at, gain.mean, 0.34, facecolor=SURFACE, edgecolor=colour, linewidth=1.6)
    low, high = gain.difference.interval if gain.difference else (gain.mean, gain.mean)
    axes.plot((low, high), (at + 0.3, at + 0.3), "|-", color=INK, markersize=7, linewidth=1.4)
    axes.plot(gain.mean, at + 0.3, "d", color=INK, markersize=6)
    split = f"{signed(halves[0], 1)} word vector, {signed(halves[1], 1)} context" if halves else other
    said = {0: (split, max(0, gain.mean, *halves[:1]), "normal")}
    said[0.3] = (f"{signed(gain.mean, 1)} {gain.mark} {gain.said}", max(high, 0), "bold")
    for lane, (text, right, weight) in said.items():
        axes.annotate(text, (right, at + lane), (9, 0), textcoords="offset points", va="center", size=13, weight=weight)


def _errors(axes: Axes, at: int, ours: float | None, paper: float | None, colour: str) -> None:
    """Two shares in percent, each named."""
    for share, name, marker, ink, up in ((ours, "ours", "o", colour, 1), (paper, "paper", "|", INK, -1)):
        if share is not None:
            axes.plot(share, at, marker, color=ink, markersize=9 if up > 0 else 16, markeredgewidth=2.4)
            text, place = f"{name} {share:.1f}", {"va": "bottom" if up > 0 else "top", "ha": "center"}
            axes.annotate(text, (share, at), (0, 10 * up), textcoords="offset points", size=13, color=ink, **place)


def _fewer(gain: Gain) -> float | None:
    return relative_reduction(gain.ours.summary("test").mean, gain.theirs.summary("test").mean)
