"""The verdicts of table 1, for whoever tests some of its differences alone."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from elmo_bench.reporting.comparisons import MARKS, compare
from elmo_bench.reporting.families import REVERSED
from elmo_bench.reporting.frame import shown, systems
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.selection import candidates
from elmo_bench.reporting.tables import layout_of
from elmo_bench.spec.experiments import MAIN, Experiment


class Verdict(NamedTuple):
    """What table 1 says of a difference."""

    verdict: str  # ahead, behind or tie
    p_holm: float
    tests: int  # that are adjusted together

    @property
    def reason(self) -> str:
        """The verdict and why it may differ from one of fewer tests."""
        p = "< 0.001" if self.p_holm < 0.001 else f"{self.p_holm:.3f}"
        mark = MARKS[self.verdict]
        return f"{mark} {self.verdict}: p {p}, adjusted for {self.tests} tests"


def table1_verdicts(
    runs: pd.DataFrame, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], Verdict]:
    """The verdicts of the main experiment on these pairs of hashes, of one suite.

    A pair that it does not test, in either order, has no verdict.
    """
    experiment = Experiment.load(MAIN)
    layout = layout_of(experiment)
    selected = layout.select(candidates(systems(shown(runs)), experiment), experiment)
    if selected.empty:
        return {}
    tested = layout.pairs(selected, experiment)
    wanted = {*pairs, *((theirs, ours) for ours, theirs in pairs)}
    keys = zip(tested.ours, tested.theirs, strict=True)
    is_wanted = pd.Series([key in wanted for key in keys], tested.index, bool)
    families = set(tested[is_wanted].family)
    comparisons = compare(runs, tested[tested.family.isin(families)])
    verdicts = {}
    for row in rows_of(comparisons[comparisons.verdict != ""]):
        tests = int(comparisons[comparisons.family == row.family].p.notna().sum())
        reverse = REVERSED[row.verdict]
        verdicts[row.ours, row.theirs] = Verdict(row.verdict, row.p_holm, tests)
        verdicts[row.theirs, row.ours] = Verdict(reverse, row.p_holm, tests)
    return {pair: verdicts[pair] for pair in pairs if pair in verdicts}
