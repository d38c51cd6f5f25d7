"""Formats of the columns that several tables have: words, numbers, mean ± sd, seeds,
gains.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from elmo_bench.reporting.comparisons import MARKS
from elmo_bench.reporting.names import BASELINE, DAGGER, UNCONVERGED, beside_the_papers
from elmo_bench.reporting.rows import lines_of
from elmo_bench.reporting.tables import SEEN_PART, Format, Line, present
from elmo_bench.spec.variants import PaperFigures

REDUCTION = "error reduction"
VERDICT = "verdict"
SEEDS_OF_BOTH = "n of the two"


def with_minus(text: str) -> str:
    """The text with minus signs instead of hyphens."""
    return text.replace("-", "−")


def signed(number: float, digits: int = 2) -> str:
    """Rounded, always with a sign."""
    return with_minus(f"{number:+.{digits}f}")


def joined(*parts: str) -> str:
    """The parts that are not empty, with spaces between them."""
    return " ".join(part for part in parts if part)


def mean_and_sd(mean: float, sd: float | None) -> str:
    """Such as `40.12 ± 0.30`; without the deviation if there is none."""
    deviation = present(sd)
    text = f"{mean:.2f}" if deviation is None else f"{mean:.2f} ± {deviation:.2f}"
    return with_minus(text)


def words(heading: str, column: str, *, link: str = "anchor") -> Format:
    """An unchanged text."""
    return Format(
        heading, lambda line: present(line.get(column)) or "", {"": column}, link
    )


def number(
    heading: str,
    column: str,
    form: str = ".2f",
    *,
    suffix: str = "",
    link: str = "anchor",
    hint: str = "",
) -> Format:
    """A number in this form; empty where it is missing."""

    def text(line: Line) -> str:
        value = present(line.get(column))
        return "" if value is None else with_minus(f"{value:{form}}{suffix}")

    return Format(heading, text, {"": column}, link, hint=hint)


def spread(
    heading: str,
    name: str,
    *,
    prefix: str = "",
    count: str = "n",
    mark: str = "",
    more: Mapping[str, str] | None = None,
    **attributes: str,
) -> Format:
    """Mean ± sd of the columns `name`_mean and `name`_sd, and a mark.

    prefix: the beginning of all of these columns, in a wide table. more: parts after
    mean, sd and n.
    """

    def text(line: Line) -> str:
        mean = present(line.get(f"{prefix}{name}_mean"))
        if mean is None:
            return ""
        sign = present(line.get(f"{prefix}{mark}")) or ""
        return f"{mean_and_sd(mean, line.get(f'{prefix}{name}_sd'))} {sign}".rstrip()

    columns = {"mean": f"{name}_mean", "sd": f"{name}_sd", "n": count, **(more or {})}
    attributes = {"link": "anchor"} | attributes
    named = {key: f"{prefix}{column}" for key, column in attributes.items() if column}
    return Format(
        heading,
        text,
        {part: f"{prefix}{column}" for part, column in columns.items()},
        **named,
    )


def score(split: str, metric: str) -> Format:
    """Mean ± sd of the main score on dev or test, with the mark of systems whose gains
    have no verdict.
    """
    return spread(
        f"{split} {metric}", split, mark="mark", more={"converged": "converged"}
    )


def seeds() -> Format:
    """How many seeds, and which; the value is which."""

    def text(line: Line) -> str:
        return f"{line['n']} ({_listed(line['seeds'])})"

    return Format("seeds", text, {"": "seed_list"}, seeds="seeds")


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


def interval() -> Format:
    """The bounds of the 95 % interval as one text; apart for programs."""

    def text(line: Line) -> str:
        if present(line.get("low")) is None:
            return ""
        return f"{signed(line['low'])} … {signed(line['high'])}"

    return Format("95 %", text, {"low": "low", "high": "high"})


def p_value(heading: str, column: str) -> Format:
    """Three decimals, or that it is smaller."""

    def text(line: Line) -> str:
        p = present(line.get(column))
        if p is None:
            return ""
        return "< 0.001" if p < 0.001 else f"{p:.3f}"

    return Format(heading, text, {"": column})


def gain(heading: str) -> Format:
    """The difference of two means."""

    def text(line: Line) -> str:
        mean = present(line.get("gain"))
        return "" if mean is None else signed(mean)

    return Format(heading, text, {"mean": "gain", "se": "se"})


def gain_formats(over: str = BASELINE, *, split: str = "test") -> list[Format]:
    """Gain, interval, verdict, adjusted p, relative error reduction, and what could be
    detected.

    Also how many seeds each of the two has, where the numbers differ. over: empty if
    another column names it.
    """
    before = "" if split == "test" else f"{split} "
    after = f" over {over}" if over else ""
    return [
        gain(f"{before}gain{after}"),
        interval(),
        Format(
            VERDICT,
            _verdict,
            {"": "conclusion", SEEN_PART: "seen"},
            hint="conclusion",
            verdict="verdict",
            note="untested_note",
        ),
        p_value("p (Holm)", "p_holm"),
        number(REDUCTION, "reduction", ".1f", suffix=" %"),
        number("detectable", "detectable"),
        Format(
            SEEDS_OF_BOTH,
            _seeds_of_both,
            {"ours": "our_count", "other": "their_count"},
        ),
    ]


def _verdict(line: Line) -> str:
    if present(line.get("gain")) is None:
        return ""
    return joined(MARKS[line["verdict"]], line["conclusion"], line["seen"])


def _seeds_of_both(line: Line) -> str:
    ours = present(line.get("our_count"))
    return "" if ours is None else f"{ours} and {line['their_count']}"


# The columns of a comparison that `short_gain` and the cell around it read. A new one
# is named here, too.
SHORT_GAIN = (
    "gain",
    "family_low",
    "family_high",
    "verdict",
    "conclusion",
    "seen",
    "anchor",
)


def short_gain(line: Line, prefix: str = "") -> str:
    """A gain in one decimal with its marks and the interval of its family; empty
    without one.
    """
    mean = present(line.get(f"{prefix}gain"))
    if mean is None:
        return ""
    is_converged = line[f"{prefix}conclusion"] != UNCONVERGED
    mark = MARKS[line[f"{prefix}verdict"]] if is_converged else DAGGER
    interval_ = ""
    if present(line.get(f"{prefix}family_low")) is not None:
        low, high = line[f"{prefix}family_low"], line[f"{prefix}family_high"]
        interval_ = f"({_end(low)} to {_end(high)})"
    return with_minus(joined(f"{mean:+.1f}", mark, line[f"{prefix}seen"], interval_))


def gain_column(
    frame: pd.DataFrame, heading: str, gains: pd.DataFrame, by: str
) -> Format:
    """A gain as `short_gain` writes it, with a link to the run that has it.

    gains: by values of the frame's column `by`; what the column reads of them is added
    to the frame.
    """
    prefix = f"{heading} "
    for column in SHORT_GAIN:
        frame[f"{prefix}{column}"] = frame[by].map(gains[column])

    def text(line: Line) -> str:
        return short_gain(line, prefix)

    parts = {
        "mean": "gain",
        "low": "family_low",
        "high": "family_high",
        "verdict": "conclusion",
        SEEN_PART: "seen",
    }
    return Format(
        heading,
        text,
        {part: f"{prefix}{column}" for part, column in parts.items()},
        link=f"{prefix}anchor",
        hint=f"{prefix}conclusion",
        verdict=f"{prefix}verdict",
    )


def _end(bound: float) -> str:
    """An end of an interval; its second decimal shows on which side of zero it is."""
    rounded = f"{bound:.1f}"
    return f"{bound:.2f}" if float(rounded) == 0 else rounded


def judged(heading: str, *, prefix: str) -> Format:
    """In a wide table, a test score with the verdict of its gain over the baseline; see
    `with_judgements`.
    """
    parts = {"verdict": "judgement", SEEN_PART: "seen"}
    return spread(
        heading,
        "test",
        prefix=prefix,
        mark="judged_mark",
        more=parts,
        hint="judged_hint",
        verdict="verdict",
    )


# The columns that `judged` reads: those that `wide` repeats for each encoder. A new one
# is named here, too.
JUDGED = (
    "test_mean",
    "test_sd",
    "n",
    "anchor",
    "judgement",
    "judged_mark",
    "judged_hint",
    "verdict",
    "seen",
)


def with_judgements(systems: pd.DataFrame) -> pd.DataFrame:
    """Systems with their comparison over the baseline (`with_gains`), and what `judged`
    shows of it.
    """
    judgements = []
    marks = []
    hints = []
    for line in lines_of(systems):
        if present(line.get("gain")) is not None:
            judgements.append(line["conclusion"])
            hints.append(f"{short_gain(line)} over {BASELINE}: {line['conclusion']}")
            mark = MARKS[line["verdict"]] or line["mark"]
        else:
            hint = UNCONVERGED if line["mark"] == DAGGER else line["mark"]
            judgements.append(hint or None)
            hints.append(hint)
            mark = line["mark"]
        marks.append(joined(mark, line["seen"]))
    return systems.assign(judgement=judgements, judged_mark=marks, judged_hint=hints)


def paper_figures(
    systems: pd.DataFrame, paper: PaperFigures | None, keys: Sequence[str]
) -> tuple[pd.DataFrame, list[Format]]:
    """The paper's figure of each system in a column that is headed with its data; no
    column without any.

    keys: of each system, its variant in `paper`; empty for a system that the paper does
    not have.
    """
    if paper is None:
        return systems, []
    first = systems.iloc[0]
    figures = [paper.figures.get(key) for key in keys]
    table = systems.assign(
        paper_text=[str(figure) if figure else "" for figure in figures],
        paper_mean=[figure.mean if figure else None for figure in figures],
        paper_sd=[figure.sd if figure else None for figure in figures],
    )
    heading = f"paper: {beside_the_papers(first.task, first.suite, paper.scored)}"
    parts = {"mean": "paper_mean", "sd": "paper_sd"}
    return table, [Format(heading, lambda line: line["paper_text"], parts, link="")]
