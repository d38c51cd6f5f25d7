"""Encoders on a suite: what each is, its rank over tasks, gains and cost; a table of all, and worth against cost."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pandas as pd

from elmo_bench.ledger.costs import EncoderCost, encoder_key
from elmo_bench.reporting.canvas import Made, chart
from elmo_bench.reporting.console import processor
from elmo_bench.reporting.encoders import Picked, leading
from elmo_bench.reporting.gains import Gain, Gains, Rank, standings
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.significance import mean_interval
from elmo_bench.reporting.table import Cell, Line, Table, interval, judged, make_table, number
from elmo_bench.spec.config import choices, config_file
from elmo_bench.spec.experiments import Experiment

RANKED = (
    "mean rank: over the tasks ({}), among the encoders that are converged on each of them; 1 is best. In brackets its "
    "95 % interval, from the tests of all pairs on all tasks (Holm)."
)
TITLE = "Worth against cost"
NOTE = (
    "Costs: {}, one thread; median (and range) of {} passes over {:,} tokens in all. load: processor seconds, with the "
    "libraries that the encoder imports. peak: above the process without encoder."
)
SINGLE, SPEED = "1", "best tokens/s"
WEIGHTS = Path("elmo_bench/weights")  # in the repository


@dataclass(frozen=True)
class Card:
    """An encoder on a suite."""

    name: str
    about: str  # what it is, in a sentence; empty if its yaml does not say so
    link: str  # its model card, a path in the repository; empty if none ships
    rows: dict[Group, Row]  # in the order of tasks
    gains: dict[Group, Gain]  # over the baseline
    rank: Rank | None  # None: not converged on every task, or nothing to be ranked with
    cost: EncoderCost | None

    @property
    def anchor(self) -> str:
        """Its address on a page."""
        return "encoder-" + "-".join(re.findall(r"[\w.]+", self.name))


def cards(main: Experiment, picked: Sequence[Picked], gain: Gains, costs: Iterable[EncoderCost]) -> list[Card]:
    """A card for each encoder that the main experiment shows, best mean rank first, then those without a rank.

    Ranks are over the tasks with a converged run of the encoder that the page is about.
    """
    compared = [one for one in picked if len(one.rows) > 1]
    by_task = {one.group.task: one.rows for one in compared[::-1]}  # of several groups the first, which has most rows
    rows = {name: row for one in compared[::-1] for name, row in one.rows.items()}
    lead = leading(main, picked)
    tasks = [task for task, own in by_task.items() if lead in own and not own[lead].mark] or [*by_task]
    ranked = [name for name in rows if all(name in by_task[task] and not by_task[task][name].mark for task in tasks)]
    complete = {task: {name: by_task[task][name] for name in ranked} for task in tasks}
    ranks = standings(complete, gain).ranks if len(ranked) > 1 else {}
    known = costs_of((row for one in compared for row in one.rows.values()), costs)
    every = []
    for name, row in rows.items():
        own = {one.group: one.rows[name] for one in compared if name in one.rows}
        gains = {one.group: one.gains[name] for one in compared if name in one.gains}
        measured = [known.get(each.anchor) for each in own.values()]
        cost = measured[0] if all(measured) else None
        every.append(Card(name, about(row), link(row), own, gains, ranks.get(name), cost))
    return sorted(every, key=lambda card: (card.rank is None, card.rank or (), main.position(card.name)))


def overview(suite: str, cards: Sequence[Card]) -> Table:
    """Encoders by tasks: test scores with their verdicts over the baseline, mean ranks, and speed; then chance."""
    widest_first = sorted(cards, key=lambda card: -len(card.rows))
    groups = list(dict.fromkeys(group for card in widest_first for group in card.rows))
    lines: list[Line] = []
    for card in cards:
        rank = Cell("{:.2f} ({:.2f} to {:.2f})".format(*card.rank), card.rank._asdict()) if card.rank else None
        rows = {group: card.rows.get(group) for group in groups}
        scored = {group.heading: judged(row, card.gains.get(group)) if row else None for group, row in rows.items()}
        speed = {SPEED: cost_cells(card.cost)[SPEED]} if card.cost else {}
        lines.append({"encoder": card.name, "mean rank": rank, **scored, **speed})
    guessed = {group: group.chance for group in groups if group.chance[0] is not None}
    if guessed:
        lines.append({"encoder": "chance", **{group.heading: number(score) for group, (score, _) in guessed.items()}})
    ranked = [card.rows for card in cards if card.rank]
    shared = [group for group in groups if all(group in own and not own[group].mark for own in ranked)]
    note = RANKED.format(", ".join(dict.fromkeys(group.info.title for group in shared)))
    told = "; ".join(f"{group.info.title}: {how}" for group, (_, how) in guessed.items())
    notes = [note] * any(card.rank for card in cards) + [f"chance: {told}."] * bool(told)
    return make_table(f"{suite}-encoders", f"Encoders by tasks, suite {suite}: test scores", lines, notes=notes)


def worth(suite: str, cards: Sequence[Card]) -> Made:
    """A table, the baseline first, and a figure; nothing without costs of two encoders that share a task.

    An encoder that is not converged on a task is in neither.
    """
    base = next((card for card in cards if card.name == BASELINE and card.cost), None)
    converged = [card for card in cards if card.gains and all(each.converged for each in card.gains.values())]
    known = [(card, card.cost) for card in converged if card.cost]
    groups = [group for group in base.rows if all(group in card.gains for card, _ in known)] if base else []
    if not (base and base.cost and known and groups):
        return [], []
    over, points = f"gain over {BASELINE}", [(BASELINE, cost_cells(base.cost)[SPEED].order, 0.0, 0.0)]
    lines: list[Line] = [{"encoder": BASELINE, over: None, "95 %": None, **cost_cells(base.cost)}]
    for card, cost in known:
        own = [card.gains[group] for group in groups]
        mean, tested = fmean(each.mean for each in own), [each.difference for each in own if each.difference]
        bounds, cells = mean_interval(tested) if len(tested) == len(own) else None, cost_cells(cost)
        gained = {over: number(mean, "+.2f"), "95 %": interval(bounds) if bounds else None}
        lines.append({"encoder": card.name, **gained, **cells})
        points.append((card.name, cells[SPEED].order, mean, (bounds[1] - bounds[0]) / 2 if bounds else nan))
    frame = pd.DataFrame(points, columns=["encoder", "tokens/s, best batch", f"points over {BASELINE} on test", "sd"])
    best, speed, most, _ = max(points[1:], key=lambda point: point[2])
    of = groups[0].info.title if len(groups) == 1 else f"mean of {len(groups)} tasks"
    message = f"{best} gains most, {most:.1f} points ({of}), and reads {speed:,.0f} tokens/s; {BASELINE} reads "
    message += f"{points[0][1]:,.0f}"
    stem, title = f"{suite}-worth", f"{TITLE}: {of}, suite {suite}"
    passes = len(base.cost["tokens_per_second"]["1"])
    note = f"Gains: {', '.join(group.info.title for group in groups)}. "
    note += NOTE.format(processor(base.cost["environment"]), passes, base.cost["tokens"])
    return [make_table(stem, title, lines, notes=[note])], [chart(f"{stem}-speed", title, frame, message=message)]


def about(row: Row) -> str:
    """The sentence after the command at the top of the encoder's yaml; of one that has no yaml, of its kind's."""
    name, kind = row.spec.encoder, str(row.spec.settings.get("encoder.contextual.kind"))
    path = config_file("encoder", name if name in choices("encoder") else kind)
    text = re.sub(r"\n# ", " ", path.read_text(encoding="utf-8")) if path else ""
    said = re.search(r"elmo-bench run encoder=[^:\n]*: (.+?)(?:\.(?:\s|$)|\n)", text)
    return f"{said[1][0].upper()}{said[1][1:]}." if said else ""


def link(row: Row) -> str:
    """The card of its weights, or of its static vectors: a path in the repository; empty if none ships."""
    settings = row.spec.settings
    kind = settings.get("encoder.contextual.kind", settings["encoder.words"])
    key = {"elmo": "encoder.weights", "hf": "encoder.contextual.weights", "static": "encoder.vectors"}.get(kind, "")
    path = WEIGHTS / f"{'elmo-' * (kind == 'elmo')}{settings.get(key)}.md"
    return path.as_posix() if (Path(__file__).parents[2] / path).is_file() else ""


def cost_cells(cost: EncoderCost) -> Line:
    """Medians over the passes, with the range of rates."""
    rates: Mapping[str, Any] = cost["tokens_per_second"]
    best = max(rates, key=lambda batch: median(rates[batch]))  # of equal ones the smallest
    ranges = {}
    for batch in (SINGLE, best):
        values = {"": median(rates[batch]), "low": min(rates[batch]), "high": max(rates[batch])}
        ranges[batch] = Cell("{:,.0f} ({:,.0f} to {:,.0f})".format(*values.values()), values)
    return {
        "tokens/s, batch 1": ranges[SINGLE],
        SPEED: ranges[best],
        "batch": number(int(best), ","),
        "load, s": number(cost["load_seconds"]),
        "peak MiB": number(cost["memory_mib"], ",.0f"),
        "frozen numbers": number(cost["parameters"], ","),
    }


def costs_of(rows: Iterable[Row], costs: Iterable[EncoderCost]) -> dict[str, EncoderCost]:
    """The costs of the frozen encoders of these rows, by anchor: with the same weights, of one machine and text.

    Of several machines the one that has most of the rows.
    """
    keys = {row.anchor: encoder_key(row.spec.settings, row.spec.contents) for row in rows}
    places: dict[tuple[str, str], dict[str, EncoderCost]] = {}
    for cost in sorted(costs, key=lambda cost: cost["created"]):
        key = encoder_key(cost["settings"], cost["contents"])
        own = places.setdefault((processor(cost["environment"]), cost["text"]), {})
        own |= {anchor: cost for anchor, its in keys.items() if its == key}
    return max((own for _, own in sorted(places.items())), key=len, default={})
