"""The paper's tables and their kin, each from the runs that differ in its options alone.

An experiment sorts rows into variants by what they changed; whichever command made them, they are found.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from elmo_bench.reporting.gains import Gain, Gains, holm_over
from elmo_bench.reporting.like import Group
from elmo_bench.reporting.paper import column
from elmo_bench.reporting.scores import gain_cells, gain_columns, heading, seeds, untested
from elmo_bench.reporting.select import BASELINE, Row
from elmo_bench.reporting.table import SCORE, Cell, Column, Table, printed, score, without_empty, words


@dataclass(frozen=True)
class Experiment:
    """Which rows belong together, and what each is held against."""

    name: str
    title: str
    about: str  # one sentence
    variant: Callable[[Row], str | None]  # of a row; None where it has no place here
    # The variant that the others are held against, or for each its own; None: the encoder's plain run.
    reference: str | Mapping[str, str] | None
    over: str  # what to call that
    needs: Callable[[set[str]], bool]  # whether these variants of a task make a table
    spelled: dict[str, str]  # variants in the order of the table; others come behind, as they are
    across: bool = False  # whether its variants are encoders
    heading: str = "variant"
    encoder: str = "elmo"  # the paper's; another is named beside the variant

    def tables(self, suite: str, groups: Sequence[Group], gain: Gains) -> list[Table]:
        """A table a task that has enough variants, p adjusted over all of them."""
        picked = [(group, self.rows(group)) for group in groups]
        picked = [(group, rows) for group, rows in picked if rows]
        gains = holm_over([found for _, rows in picked for found in self._gains(rows, gain)])
        by_pair = {(found.ours.anchor, found.theirs.anchor): found for found in gains}
        return [self._table(suite, group, rows, by_pair) for group, rows in picked]

    def rows(self, group: Group) -> list[tuple[str, Row]]:
        """(variant, row) in the order of the table; empty where the ledger has too few of them."""
        found = [(variant, row) for row in group.whole if (variant := self.variant(row)) is not None]
        if self.across:
            kept = self.needs({variant for variant, _ in found})
        else:
            own = {e: {v for v, row in found if row.encoder == e} for e in {row.encoder for _, row in found}}
            found = [pair for pair in found if pair[0] == BASELINE or self.needs(own[pair[1].encoder])]
            kept = any(variant != BASELINE for variant, _ in found)
        order = list(self.spelled)
        rank = {name: (order.index(name) if name in order else len(order), _as_number(name)) for name, _ in found}
        return sorted(found, key=lambda pair: (rank[pair[0]], pair[1].encoder)) if kept else []

    def _gains(self, rows: Sequence[tuple[str, Row]], gain: Gains) -> list[Gain]:
        pairs = [(row, self._against(variant, row, rows)) for variant, row in rows]
        return [found for row, against in pairs if against and (found := gain(row, against))]

    def _against(self, variant: str, row: Row, rows: Sequence[tuple[str, Row]]) -> Row | None:
        """The reference, like the row; but for the baseline, of the same encoder. None for the reference itself."""
        wanted = self.reference.get(variant, "") if isinstance(self.reference, Mapping) else self.reference
        for name, other in rows:
            fits = not other.variation if wanted is None else name == wanted
            if fits and other is not row and row.like(other) and (name == BASELINE or other.encoder == row.encoder):
                return other
        return None

    def _table(
        self, suite: str, group: Group, rows: Sequence[tuple[str, Row]], gains: dict[tuple[str, str], Gain]
    ) -> Table:
        paper = column(group.task, suite, self.name)
        metric = rows[0][1].newest["metric"]
        columns = [Column(self.heading, words=True), Column(f"dev {metric}", SCORE), Column(f"test {metric}", SCORE)]
        columns += [Column("seeds"), *gain_columns(self.over)]
        columns += [Column(paper.heading, ("mean", "sd"))] if paper else []
        body: list[list[Cell]] = []
        mine = []
        for variant, row in rows:
            against = self._against(variant, row, rows)
            found = gains.get((row.anchor, against.anchor)) if against else None
            mine += [found] if found else []
            own = self.across or variant == BASELINE or row.encoder == self.encoder
            name = self.spelled.get(variant, variant) if own else f"{row.encoder}: {self.spelled.get(variant, variant)}"
            name = ", ".join([name, *([row.apart] if row.apart else [])])
            body.append([
                words(name, run=row.anchor),
                *(score(row.summary(split), run=row.anchor) for split in ("dev", "test")),
                seeds(row),
                *gain_cells(found),
                *([printed(paper.variants.get(variant) if own else None)] if paper else []),
            ])  # fmt: skip
        title = f"{self.title}: {heading(group)}, suite {suite}"
        return Table(
            f"{group.stem}-{self.name}",
            title,
            *without_empty(columns, body),
            [group.task] * len(body),
            notes=untested(mine),
        )


def _as_number(name: str) -> float:
    """So that λ=10 stands behind λ=2."""
    try:
        return float(name.partition("=")[2] or name)
    except ValueError:
        return 0.0
