"""`python -m elmo_bench status --experiment table1`: which runs of a sweep are done, and which are not."""

import argparse
from collections import Counter

from elmo_bench.base.errors import UserError
from elmo_bench.reporting.tables import markdown
from elmo_bench.runner.plan import planned
from elmo_bench.runner.standing import STATES, Standing, seconds_left, standings
from elmo_bench.runner.values import check_sweep


def main(arguments: list[str]) -> int:
    """Print the counts, what runs and what failed; or, with --missing or --failed, those runs alone.

    Raises UserError for an unknown experiment, for options that run.py refuses and for a damaged ledger.
    """
    parser = argparse.ArgumentParser(
        prog="python -m elmo_bench status", description="Which runs of a sweep are done, running, failed or missing."
    )
    parser.add_argument("--experiment", metavar="NAME", help="one of conf/experiment/*.yaml")
    parser.add_argument("--missing", action="store_true", help="only list the runs that a sweep would do")
    parser.add_argument("--failed", action="store_true", help="only list the runs that failed")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="as for run.py -m: suite=open seed=0,1")
    options = parser.parse_args(arguments)
    overrides = [*([f"experiment={options.experiment}"] if options.experiment else []), *options.overrides]
    if not overrides:
        raise UserError("give --experiment NAME, or the options of a sweep (encoder=none,glove,elmo seed=0,1)")
    if options.experiment and any(given.lstrip("+").startswith("experiment=") for given in options.overrides):
        raise UserError(f"--experiment {options.experiment} and experiment=… are two; give one of them")
    check_sweep(overrides)
    found = standings(planned(overrides))
    if options.missing or options.failed:
        wanted = {*(["missing", "stale", "failed"] if options.missing else []), *(["failed"] if options.failed else [])}
        for each in found:
            if each.state in wanted:
                print(_line(each))
        return 0
    print(f"{options.experiment or ' '.join(overrides)}: {_summary(found)}\n")
    print(_table(found))
    for each in found:
        if each.state in ("running", "failed"):
            print(f"\n{each.state}: {_line(each)}")
    return 0


def _line(each: Standing) -> str:
    """The run as run.py takes it; of a failed one the error too."""
    return " ".join(each.run.overrides) + (f"\n  {each.note}" if each.note else "")


def _summary(found: list[Standing]) -> str:
    counts = Counter(each.state for each in found)
    parts = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    if counts["done"] == len(found):
        return f"{len(found)} runs: {parts}"
    seconds, unknown = seconds_left(found)
    known = (
        f"about {readable(seconds)} left, one after the other" if seconds else "no like run to tell the time left by"
    )
    rest = f" and {unknown} runs without a like" if unknown and seconds else ""
    return f"{len(found)} runs: {parts}; {known}{rest}"


def _table(found: list[Standing]) -> str:
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for each in found:
        place = (each.run.suite, each.run.task, each.run.encoder)
        counts.setdefault(place, Counter())[each.state] += 1
    body = [[*place, *(str(count[state] or "") for state in STATES)] for place, count in counts.items()]
    return markdown(["suite", "task", "encoder", *STATES], body)


def readable(seconds: float) -> str:
    """Such as `3 h 20 min`, `12 min`, `40 s`."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min" if seconds >= 60 else f"{round(seconds)} s"
