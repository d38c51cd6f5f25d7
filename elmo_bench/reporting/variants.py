"""A table a task: the variants of an experiment, each compared with its reference."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes

from elmo_bench.base.json import canonical
from elmo_bench.reporting.canvas import GRID, SURFACE, WIDTH, Drawing, Made, lanes, look
from elmo_bench.reporting.gains import Gain, Gains, family_of
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, LABELS, Row
from elmo_bench.reporting.significance import Summary, summarise
from elmo_bench.reporting.table import Line, gain_cells, make_table, number, printed, scores, signed, spread
from elmo_bench.spec.experiments import Experiment, Variant
from elmo_bench.spec.settings import RATE

EXPLORATORY_ON_DEV = "Exploratory, and judged on dev, as the paper's ablations are."

VariantRow = tuple[Variant, Row]
Controls = Mapping[str, Row]  # runs on control labels, by everything else in their specs


def made(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """A table for each group that has enough rows, and a figure of all. The tests are one family, judged on dev."""
    picked = [(group, own) for group in groups if (own := rows(experiment, group))]
    pairs = [(pair[1], reference(experiment, pair, own)) for _, own in picked for pair in own]
    gains, controls = family_of(pairs, gain, split="dev"), controls_of(groups)
    tables, over = [], experiment.over or str(experiment.reference)
    for group, own in picked:
        paper, lines = experiment.paper.get(group.task), list[Line]()
        for variant, row in own:
            its_gain, alone = gains.get(row.anchor), _own(experiment, (variant, row))
            selective = selectivity(row, controls)
            lines.append(
                {
                    experiment.heading: _name(experiment, (variant, row), own),
                    **scores(row, group.measure),
                    "selectivity": spread(selective) if selective else None,
                    **gain_cells(its_gain, over, split="dev"),
                    "test gain": number(its_gain.on("test") if its_gain else None, "+.2f"),
                    **printed(paper, variant.key if alone else None, group),
                }
            )
        notes = [EXPLORATORY_ON_DEV, *(_at_best(own) if experiment.axis else [])]
        tables.append(make_table(*group.titles(experiment), lines, notes=notes))
    return tables, _figure(experiment, suite, picked, gains)


def rows(experiment: Experiment, group: Group) -> list[VariantRow]:
    """The rows of the table in order, other encoders last; empty if the group has too few of them.

    An encoder needs `least` variants, counting those that have an encoder of their own; rows of these are shown if
    any encoder has enough. At least one row of the table needs a reference.
    """
    every = [(variant, row) for row in group.rows if (variant := experiment.variant_of(row.spec))]
    fixed = {variant.key for variant, _ in every if variant.encoder}
    own = {row.encoder: {v.key for v, other in every if other.encoder == row.encoder} | fixed for _, row in every}
    enough = {encoder for encoder, keys in own.items() if len(keys) >= experiment.least}
    kept = [(v, row) for v, row in every if row.encoder in enough or (v.encoder and enough)]
    if not any(reference(experiment, pair, kept) for pair in kept):
        return []
    return sorted(kept, key=lambda pair: ("" if _own(experiment, pair) else pair[1].encoder, experiment.rank(pair[0])))


def reference(experiment: Experiment, pair: VariantRow, among: Sequence[VariantRow]) -> Row | None:
    """The row that a row is compared with; None for the reference itself, or if the row is missing."""
    return next((other[1] for other in among if is_reference(experiment, pair, other)), None)


def is_reference(experiment: Experiment, pair: VariantRow, other: VariantRow) -> bool:
    """Whether a row is compared with another, of the same encoder unless the other's variant has a fixed one.

    An encoder in another's position is compared with the first reference alone.
    """
    (variant, row), (its, theirs) = pair, other
    keys = experiment.references("" if _rest(pair) else variant.key)  # with another change it is not the reference
    keys = keys if variant.encoder or row.encoder == experiment.encoder else keys[:1]
    fits = its.key in keys and not _rest(other) if experiment.reference is not None else not theirs.variation
    return fits and theirs is not row and (its.encoder is not None or theirs.encoder == row.encoder)


def controls_of(groups: Iterable[Group]) -> Controls:
    """The rows on control labels."""
    return {_but_labels(row): row for group in groups if group.basis.labels for row in group.rows}


def selectivity(row: Row, controls: Controls) -> Summary | None:
    """A probe's score on true labels less its score on control labels, over the seeds that both runs have, on test.

    None for a run on control labels, and without a control or a common seed. Source: Hewitt and Liang (2019), Designing
    and interpreting probes with control tasks.
    """
    control = None if row.basis.labels else controls.get(_but_labels(row))
    if control is None:
        return None
    ours, theirs = row.scores("test"), control.scores("test")
    common = sorted(ours.keys() & theirs.keys())
    return summarise(ours[seed] - theirs[seed] for seed in common) if common else None


def _but_labels(row: Row) -> str:
    spec = row.spec
    settings = {option: value for option, value in spec.settings.items() if option != LABELS}
    contents = {name: value for name, value in (spec.contents or {}).items() if name != "data"}
    return canonical([spec.suite, spec.task, spec.encoder, spec.size, settings, contents])


def _own(experiment: Experiment, pair: VariantRow) -> bool:
    """Whether the variant alone says what was run, as it has the experiment's encoder or a fixed one."""
    variant, row = pair
    return variant.encoder is not None or row.encoder == experiment.encoder


def _name(experiment: Experiment, pair: VariantRow, among: Sequence[VariantRow]) -> str:
    """The row's name in the table, with its encoder if the table has several in one position, and other changes."""
    variant, row = pair
    name = ", ".join([variant.name, *_rest(pair)])
    several = not all(_own(experiment, other) for other in among)
    return f"{row.encoder}: {name}" if several and variant.encoder is None else name


def _rest(pair: VariantRow) -> list[str]:
    """The changes of a run on an axis that are not on it, such as another dropout with each learning rate."""
    variant, row = pair
    return [f"{key}={value}" for key, value in row.variation.items() if key not in (*variant.options, RATE)]


def _at_best(own: Sequence[VariantRow]) -> list[str]:
    """What each encoder gains over the baseline, both with the best of their variants: a sentence each."""
    best = {row.encoder: (row.summary("dev").mean, variant.name) for variant, row in sorted(own, key=_dev)}
    base, at = best.pop(BASELINE, (0.0, ""))
    return [
        f"Each at its best on dev: {name} (at {its}) is {signed(dev - base)} over {BASELINE} (at {at})."
        for name, (dev, its) in sorted(best.items())
        if at
    ]


def _dev(pair: VariantRow) -> float:
    return pair[1].summary("dev").mean


def _figure(
    experiment: Experiment, suite: str, picked: Sequence[tuple[Group, list[VariantRow]]], gains: dict[str, Gain]
) -> list[Drawing]:
    """Differences from the reference on dev, by task: a dot is a mean, and a small one a seed.

    The band is one standard deviation of the reference's seeds. Gains that are not converged are not drawn.
    """
    prefix = "" if experiment.heading == "variant" else f"{experiment.heading} "
    every = [
        (group, prefix + _name(experiment, pair, own), gain)
        for group, own in picked
        for pair in own
        if (gain := gains.get(pair[1].anchor)) and gain.converged
    ]
    if not every:
        return []
    lines: list[tuple[str, Gain | None]] = []
    for group, _, _ in every:  # first a line with the name of the task
        if (group.label(), None) not in lines:
            lines += [(group.label(), None), *((name, gain) for own, name, gain in every if own is group)]
    looks = look(gain.ours.encoder for _, _, gain in every)
    over, tested = experiment.over or str(experiment.reference), [gain for _, _, gain in every if gain.verdict]
    held = sum(gain.verdict != "tie" for gain in tested)
    group, name, most = max(every, key=lambda each: abs(each[2].mean))
    said = f"{held or 'none'} of {len(tested)} differences from {over} held on dev; " if tested else ""
    message = f"{experiment.caption}: {said}the largest is {signed(most.mean, 1)} points ({name}; {group.label()})"

    def paint(axes: Axes, apart: str = " ") -> None:
        lanes(axes, [name for name, _ in lines])
        for y, gain in ((y, gain) for y, (_, gain) in enumerate(lines) if gain):
            (colour, marker), reference = looks[gain.ours.encoder], gain.theirs.summary("dev")
            axes.fill_betweenx((y - 0.5, y + 0.5), -(reference.sd or 0), reference.sd or 0, color=GRID, linewidth=0)
            for score in gain.ours.scores("dev").values():
                axes.plot(score - reference.mean, y, "o", color=colour, markersize=3.5, alpha=0.55)
            face = SURFACE if gain.verdict in ("tie", "") else colour
            axes.plot(gain.mean, y, marker, color=colour, markerfacecolor=face, markeredgewidth=1.6, markersize=10)
        for tick, (_, drawn) in zip(axes.get_yticklabels(), lines, strict=True):
            tick.set_fontweight("normal" if drawn else "bold")
        axes.set_ylim(len(lines) - 0.4, -0.6)
        below = f"grey: ± one standard deviation of its seeds;{apart}hollow: a tie or not tested"
        # Aligned right: where names are long, it is wider than the axes.
        axes.set_xlabel(f"points from {over} on dev\n{below}", loc="right", multialignment="right")

    title = f"{experiment.caption}: differences from {over} on dev, suite {suite}"
    alt = "; ".join(f"{group.label()}, {name}: {signed(gain.mean)} ({gain.said})" for group, name, gain in every)
    stem, alt, high = f"{suite}-{experiment.name}", f"{message}. {alt}.", 1.6 + 0.36 * len(lines)
    tall, thin = (6.4, high + 0.6), partial(paint, apart="\n")
    narrow = Drawing(f"{stem}-phone", title, alt, thin, message=message, size=tall)
    return [Drawing(stem, title, alt, paint, message=message, size=(WIDTH, high), narrow=narrow)]
