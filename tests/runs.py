"""The main job cut down to a second or two: 60 sentences, two epochs, a tiny head, a tiny biLM."""

import json
import os
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.ledger import Record
from elmo_bench.runner.run import run
from elmo_bench.spec import conf_files, config, describe, run_spec, task_files
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import described  # noqa: F401  # for tests

ROOT = Path(__file__).parents[1]
CUTS = ROOT / "tests" / "data"  # what runs read in tests: small cuts of the real data
# The whole data of the open suite. Tests that read it are skipped on machines without it.
DATA = Path(os.environ.get("ELMO_BENCH_DATA") or ROOT / "no data are named")
GOLDEN = ROOT / "tests" / "golden" / "bilm"
VECTORS = CUTS / "vectors.safetensors"  # those that ship take a tenth of a second to unpack
SMALL = (
    "data.max_train=60", "task.training.epochs=2", "task.head.hidden=[8,4]", "trainer.threads=1", "logger=none",
    f"suite.vectors={VECTORS}",
)  # fmt: skip

OWN = {  # options of the tasks on data of the user's own, which read some of the small cuts
    "classification": [f"data.file={CUTS}/snli/snli_1.0_dev.jsonl", "data.text=sentence2"],
    "pairs": [f"data.file={CUTS}/snli/snli_1.0_dev.jsonl"],
    "tagging": [f"data.file={CUTS}/wnut17"],
}


def small(*overrides: str, encoder: str = "elmo") -> list[str]:
    """Overrides of such a run; later ones win."""
    weights = [f"encoder.weights={GOLDEN}"] if encoder.startswith("elmo") else []
    options = {}
    for option in [f"encoder={encoder}", *weights, *SMALL, *overrides]:
        options[option.partition("=")[0]] = option
    return [*options.values()]


def run_small(ledger: Path, *overrides: str, encoder: str = "elmo") -> Record:
    """The record of such a run in this process, through the runner alone; it must not be in the ledger yet."""
    record, skipped = run(compose("config", small(f"ledger={ledger}", *overrides, encoder=encoder)))
    assert not skipped
    return record


def result(record: Record) -> dict:
    """What two equal runs have in common: everything except when, where and how fast they ran."""
    told = ("spec", "hash", "scores", "layer_weights", "epochs", "parameters", "data")
    content = record.to_json()
    return {key: content[key] for key in told}


def rounded(record: Record) -> dict:
    """`result` to four digits, for runs whose frozen layers were computed in other batches: they differ by rounding."""
    return json.loads(json.dumps(result(record)), parse_float=lambda number: float(f"{float(number):.4g}"))


def files(folder: Path) -> list[str]:
    """Every file below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def printed(page: str, path: str, folder: str = "FOLDER") -> str:
    """The code of FOLDER/path that a page shows."""
    text = (ROOT / page).read_text(encoding="utf-8")
    end = rf"(?=    # {folder}/|    elmo-bench|\S)"
    [block] = re.findall(rf"(?m)^    # {folder}/{re.escape(path)}.*\n((?:    .*\n|\n)+?){end}", text)
    return textwrap.dedent(block)


def printed_folder(folder: Path) -> None:
    """Write the encoder and the task of docs/extend.md, as printed there, and data for it in `mydata`."""
    paths = [f"tasks/mytask/{part}.py" for part in ("data", "head", "metric")]
    paths += ["conf/task/mytask.yaml", "encoders/length.py", "conf/encoder/length.yaml"]
    files = {path: printed("docs/extend.md", path) for path in paths}
    for split in ("train", "dev", "test"):
        lines = [f"{label}\t{split} {label} {'word ' * (n % 3)}." for n, label in enumerate(["good", "bad"] * 6)]
        files[f"mydata/{split}.txt"] = "\n".join(lines) + "\n"
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def first_ones(cases: Iterable[Any], count: int) -> list[Any]:
    """Cases of a test, of which all but the first ones are slow: they run in `make test-all`."""
    listed = list(cases)
    return [*listed[:count], *(pytest.param(case, marks=pytest.mark.slow) for case in listed[count:])]


def first_rows(cases: Iterable[Sequence[Any]], count: int) -> list[Any]:
    """The same where a case is a value for each of several names."""
    listed = list(cases)
    return [*listed[:count], *(pytest.param(*case, marks=pytest.mark.slow) for case in listed[count:])]


def forget_configs() -> None:
    """Look up every yaml again: configs are remembered by their names, whatever folders are included.

    What a yaml with the same bytes holds stays in memory.
    """
    of_content = (conf_files._read_once, conf_files._parsed_once)
    for module in (config, conf_files, describe, run_spec, task_files):
        for member in vars(module).values():
            if hasattr(member, "cache_clear") and member not in of_content:
                member.cache_clear()
