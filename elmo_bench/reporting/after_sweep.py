"""The commands that a sweep prints at its end, some of which a run prints too.

Importing this imports no pandas and no torch.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from elmo_bench.ledger import Record, RunPaths, score_of, work_minutes_of
from elmo_bench.spec.describe import label_of, needs_gpu
from elmo_bench.spec.experiments import FRACTION
from elmo_bench.spec.options import spelled
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.sweeps import LEDGER
from elmo_bench.spec.task_files import floor_of, reads_own_data, task_yaml

KEPT = (".csv", ".tsv", ".jsonl", ".conll", ".conllu")  # endings of files to predict
Next = tuple[list[str], str]  # a command, and what it is for
# The flags of `predict` for the parts of a run that have no published name.
Flags = Callable[[Record], list[str]]


def after_sweep(
    records: Sequence[Record], ledger: Path, flags: Flags
) -> Iterator[Next]:
    """What comes after these runs: their comparison, the page, the best head in use."""
    encoders = list(dict.fromkeys(record.spec.encoder for record in records))
    suites = {record.spec.suite for record in records}
    are_default = not any(label_of(RunSpec.of_record(record)) for record in records)
    if are_default and len(encoders) > 1 and len(suites) == 1:
        # The encoder before the baseline, as in "elmo minus glove".
        where = ["--suite", *suites, *in_ledger(ledger)]
        compare = ["compare", *reversed(encoders), *where]
        yield compare, "tests, costs, and scores by label"
    yield report_command(ledger)
    on_own_data = [record for record in records if reads_own_data(record.spec.task)]
    if on_own_data and len({record.spec.suite for record in on_own_data}) == 1:
        yield from _in_use(on_own_data, ledger, flags)


def in_ledger(ledger: Path) -> list[str]:
    """The option that names a ledger; none for the default one."""
    return [] if ledger == LEDGER else ["--ledger", str(ledger)]


def report_command(ledger: Path) -> Next:
    """`report` on a ledger."""
    command = ["report", *in_ledger(ledger)]
    return command, "tables and a page from all runs that are done"


def _in_use(records: Sequence[Record], ledger: Path, flags: Flags) -> Iterator[Next]:
    """`predict` by the best on dev, and by the floor; for each score that selects and
    each data set, such as two columns of labels.
    """
    groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in records:
        groups[_data_and_score(record)].append(record)
    common = set.intersection(*map(set, groups))
    for names, of_score in groups.items():
        different = ", ".join(name for name in names if name not in common)
        which = f" ({different})" if different else ""
        best = best_on_dev(of_score)
        what = f"the best on dev{which}, in use; another system: its record"
        if not needs_gpu(RunSpec.of_record(best)):  # else it cannot predict
            yield predict_command(best, ledger, flags), what
        floors = []
        for record in of_score:
            if record.spec.encoder == floor_of(record.spec.task):
                floors.append(record)
        if floors and best.hash not in {floor.hash for floor in floors}:
            why = f"the floor{which}, if the answer above is to use it"
            yield predict_command(best_on_dev(floors), ledger, flags), why


def _data_and_score(record: Record) -> tuple[str, ...]:
    """What runs have in common whose scores on dev can be compared."""
    settings = record.spec.settings
    options = []
    for key, value in settings.items():
        if key.startswith("data.") and key not in FRACTION and value is not None:
            options.append(f"{key}={spelled(value)}")
    return (record.metric, record.spec.task, *sorted(options))


def predict_command(record: Record, ledger: Path, flags: Flags) -> list[str]:
    """`predict` by the head of a record, with a file of the form of the run's data."""
    path = RunPaths.of(ledger, record).record
    ending = _ending(record)
    return ["predict", str(path), f"NEW{ending}", f"OUT{ending}", *flags(record)]


def _ending(record: Record) -> str:
    """The ending of files like those that a run read; of packed ones CSV."""
    settings = record.spec.settings
    file = settings.get("data.file") or settings.get("data.train") or ""
    ending = Path(str(file)).suffix
    if ending in KEPT:
        return ending
    has_columns = "columns" in (task_yaml(record.spec.task).get("data") or {})
    return ".conll" if has_columns else ".csv"


def best_on_dev(records: Sequence[Record]) -> Record:
    """The first seed of the run with the highest mean score on dev, of equal ones of
    the quickest.
    """
    seeds: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        seeds[record.hash].append(record)

    def goodness(run: str) -> tuple[float, float]:
        score = fmean(score_of(record, "dev") for record in seeds[run])
        return score, -fmean(work_minutes_of(record) for record in seeds[run])

    best = max(seeds, key=goodness)
    return min(seeds[best], key=lambda record: record.seed)
