"""Encoders on a suite: what each is, how it ranks over tasks, what it gains and what it costs; and a table of all."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.ledger.costs import EncoderCost
from elmo_bench.reporting.costs import SPEED, cost_cells, costs_of
from elmo_bench.reporting.encoders import picked
from elmo_bench.reporting.gains import Gain, Gains
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.ranks import Rank, standings
from elmo_bench.reporting.rows import Row
from elmo_bench.reporting.table import Cell, Line, Table, make_table, signed, spread
from elmo_bench.spec.config import choices, config_file
from elmo_bench.spec.experiments import Experiment

RANKED = (
    "mean rank: over the tasks ({}), among the encoders that are converged on each of them; 1 is best. In brackets its "
    "95 % interval, from the tests of all pairs on all tasks (Holm)."
)
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


def cards(main: Experiment, groups: Sequence[Group], gain: Gains, costs: Iterable[EncoderCost]) -> list[Card]:
    """A card for each encoder that the main experiment shows, best mean rank first, then those without a rank."""
    compared = [one for one in picked(main, groups, gain) if len(one.rows) > 1]
    by_task = {one.group.task: one.rows for one in compared[::-1]}  # of several groups the first, which has most rows
    rows = {name: row for one in compared[::-1] for name, row in one.rows.items()}
    ranked = [name for name in rows if all(name in own and not own[name].mark for own in by_task.values())]
    complete = {task: {name: own[name] for name in ranked} for task, own in by_task.items()}
    ranks = standings(complete, gain).ranks if len(ranked) > 1 else {}
    known = costs_of(rows.values(), costs)
    every = [
        Card(
            name,
            about(row),
            link(row),
            {one.group: one.rows[name] for one in compared if name in one.rows},
            {one.group: one.gains[name] for one in compared if name in one.gains},
            ranks.get(name),
            known.get(row.anchor),
        )
        for name, row in rows.items()
    ]
    return sorted(every, key=lambda card: (card.rank is None, card.rank or (), main.position(card.name)))


def overview(suite: str, cards: Sequence[Card]) -> Table:
    """Encoders by tasks: test scores with their verdicts over the baseline, mean ranks, and speed; then chance."""
    groups = list(dict.fromkeys(group for card in cards for group in card.rows))
    lines: list[Line] = []
    for card in cards:
        rank = card.rank and f"{card.rank.mean:.2f} ({card.rank.low:.2f} to {card.rank.high:.2f})"
        line: Line = {"encoder": card.name}
        line["mean rank"] = (
            Cell(rank, dict(zip(("mean", "low", "high"), card.rank, strict=True))) if card.rank else None
        )
        line |= {group.heading: _score(row, card.gains.get(group)) for group, row in card.rows.items()}
        lines.append(line | ({SPEED: cost_cells(card.cost)[SPEED]} if card.cost else {}))
    chance = {group.heading: Cell(f"{group.chance:.2f}", {"mean": group.chance}, hint=group.chance_said)
              for group in groups if group.chance is not None}  # fmt: skip
    if lines and chance:
        lines.append({"encoder": "chance", **chance})
    note = RANKED.format(", ".join(dict.fromkeys(group.info.title for group in groups)))
    told = "; ".join(f"{group.info.title}: {group.chance_said}" for group in groups if group.chance is not None)
    notes = [note] * any(card.rank for card in cards) + [f"chance: {told}."] * bool(told)
    return make_table(f"{suite}-encoders", f"Encoders by tasks, suite {suite}: test scores", lines, notes=notes)


def _score(row: Row, gain: Gain | None) -> Cell:
    hint = f"{signed(gain.mean)} over {gain.theirs.encoder}: {gain.said}" if gain else ""
    return spread(row.summary("test"), run=row.anchor, mark=(gain.mark if gain else "") or row.mark, hint=hint)


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
