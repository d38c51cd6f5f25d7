"""Standard errors with items in larger clusters: articles of SQuAD, documents of the English Web Treebank, and
neighbouring sentences of WNUT-17.

    python benchmarks/clusters.py --data FOLDER        # --ledger results/runs

Verdicts cluster the questions about a passage and the predicates of a sentence. Passages of one article, or sentences
of one document, were drawn together too. WNUT-17's sentences come from threads and articles, in their order, but the
data do not say where one ends: NEIGHBOURS of them count as one. Of each step of table 1: its standard error, as
published and by these larger clusters, and both p.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from elmo_bench.base.files import read_lines
from elmo_bench.base.progress import console
from elmo_bench.ledger import CLUSTER, RunPaths, read_all, read_outcomes
from elmo_bench.reporting.comparisons import compare
from elmo_bench.reporting.frame import runs, shown, systems
from elmo_bench.reporting.pairs import pairs_of
from elmo_bench.runner.data import build_data, read_splits
from elmo_bench.spec.config import compose
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec

ROOT = Path(__file__).resolve().parents[1]
NEIGHBOURS = 10
STEPS = (
    ("elmo_word", "glove"),
    ("elmo", "elmo_word"),
    ("elmo", "glove"),
    ("elmo_alone", "elmo_word"),
    ("elmo", "elmo_alone"),
)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Standard errors with larger clusters of items.")
    parser.add_argument("--data", type=Path, required=True, help="the folder with the data of the open suite")
    parser.add_argument("--ledger", type=Path, default=ROOT / "results/runs")
    options = parser.parse_args()
    console.quiet = True  # what the readers of the data say
    frame = runs(options.ledger, read_all(options.ledger, metrics=metric_of).records)
    print("| task | step | standard error | by larger clusters | p | by larger clusters |")
    print("|---|---|---:|---:|---:|---:|")
    readers = {
        "squad": clustered("squad", options.data, articles(options.data)),
        "srl": clustered("srl", options.data, documents()),
        "ner": neighbours,
    }
    for task, read_larger in readers.items():
        for ours, theirs in STEPS:
            usual = step(frame, task, ours, theirs, read_outcomes)
            other = step(frame, task, ours, theirs, read_larger)
            cells = [task, f"{ours} − {theirs}", f"{usual.se:.3f}"]
            cells += [f"{other.se:.3f} ({other.se / usual.se - 1:+.0%})", f"{usual.p:.1g}", f"{other.p:.1g}"]
            print(f"| {' | '.join(cells)} |")
    return 0


def step(frame: pd.DataFrame, task: str, ours: str, theirs: str, read: Callable[[RunPaths], Any]) -> Any:
    """The comparison of two encoders on a task of the open suite, on test, by their default runs."""
    defaults = frame.spec.map(lambda spec: not spec.changes)
    table = systems(shown(frame[defaults & (frame.suite == "open") & (frame.task == task)]))
    by_label = table.set_index("run_label").hash
    [row] = compare(frame, pairs_of([(by_label[ours], by_label[theirs])]), read=read).itertuples()
    return row


def clustered(task: str, data: Path, larger: dict[Any, str]) -> Callable[[RunPaths], Any]:
    """Outcomes whose clusters are the larger ones of the examples' groups."""
    config = compose("config", [f"task={task}", "encoder=glove", "suite=open", f"data.root={data}"])
    spec, setup = RunSpec.of(config), Setup.of(config)
    test = read_splits(build_data(spec, setup), spec, setup)["test"]
    groups = dict.fromkeys(example.group for example in test)  # records number them in this order
    names = [larger[key_of(group)] for group in groups]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    of_group = np.array([numbers[name] for name in names])

    def read(paths: RunPaths) -> Any:
        outcomes = dict(read_outcomes(paths))
        outcomes[CLUSTER] = of_group[outcomes[CLUSTER]]
        return outcomes

    return read


def neighbours(paths: RunPaths) -> Any:
    """Outcomes of test whose items are clustered in the order of the file, NEIGHBOURS of them at a time."""
    outcomes = dict(read_outcomes(paths))
    outcomes[CLUSTER] = np.arange(len(outcomes["correct"])) // NEIGHBOURS
    return outcomes


def key_of(group: Any) -> Any:
    """What `articles` and `documents` know a group by: a passage's text, a sentence's number."""
    return group if isinstance(group, str) else group.number


def articles(data: Path) -> dict[Any, str]:
    """The title of each passage of SQuAD's development set, which is the test split."""
    content = json.loads((data / "squad/dev-v1.1.json").read_text(encoding="utf-8"))
    return {passage["context"]: each["title"] for each in content["data"] for passage in each["paragraphs"]}


def documents() -> dict[Any, str]:
    """The document of each sentence of the test split that ships, by its number."""
    names: dict[Any, str] = {}
    number, ended = -1, True
    for _, line in read_lines(ROOT / "elmo_bench/data/ewt_propbank/test.conll.xz"):
        if ended and line.strip():
            number += 1
            names[number] = line.split("\t")[0]
        ended = not line.strip()
    return names


if __name__ == "__main__":
    sys.exit(main())
