"""The cases of whole models, of configs, and of the tasks' readers, which are found through their contract."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from elmo_bench.base import sources
from elmo_bench.encoders.hf import load_model
from elmo_bench.runner.kept_head import read_head, write_head
from elmo_bench.runner.model import Lexicon
from elmo_bench.spec.config import CONF, choices, compose, experiment_yaml
from elmo_bench.spec.experiments import Experiment, _load
from elmo_bench.spec.names import task_class
from elmo_bench.spec.run_spec import RunSpec
from tests.fuzz.cases import Case
from tests.test_bad_formats import COREF, NER, PREMISES, SRL, TREE, adapter, squad
from tests.tiny_bert import make_tiny_bert

CONLLU = "# id = 1\n1\tShe\tshe\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\tran\trun\tVERB\tVBD\t_\t0\troot\t_\t_\n\n"
TAGGED = "Ada\tNNP\nran\tVBD\n\nIt\tPRP\n"
PROPS = "-\t(ARG0*)\ngive\t(V*)\n-\t(ARG1*\n-\t*)\n\n-\n\n"
# Of each task: the files of its open suite, a file for `predict`, and the files that `score` compares.
TEXTS: dict[str, tuple[dict[str, str], str, tuple[str, ...]]] = {
    "ner": (
        {f"wnut17/{name}": NER * 5 for name in ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")},
        NER * 5, ("Ada B-person I-person\nran O O\n\nParis B-location O\n",),
    ),
    "sst5": ({f"sst/{split}.txt": TREE * 5 for split in ("train", "dev", "test")}, TREE * 5, ("3\t2\tIt works\n" * 5,)),
    "snli": (
        {"snli/snli_1.0_dev.jsonl": PREMISES, "snli/snli_1.0_test.jsonl": PREMISES[:2000].rpartition("\n")[0] + "\n"},
        PREMISES[:2000].rpartition("\n")[0] + "\n", ("neutral\tneutral\ta\tb\n-\tentailment\ta\tb\n",),
    ),
    "srl": ({f"ewt_propbank/{split}.conll": SRL * 2 for split in ("train", "dev", "test")}, SRL * 2, (PROPS, PROPS)),
    "coref": (
        {f"ontogum/{split}.v4_gold_conll": COREF for split in ("train", "dev", "test")}, COREF, (COREF, COREF)
    ),
    "squad": (
        {"squad/train-v1.1.part.json": squad(), "squad/dev-v1.1.json": squad(), "squad/new_wiki_v1.0.json": squad()},
        squad(), (squad(), json.dumps({"a1": "Paris", "b1": "in Rome"})),
    ),
    "pos": (
        {f"ud_ewt/en_ewt-ud-{split}.conllu": CONLLU * 3 for split in ("train", "dev", "test")}, TAGGED, (TAGGED.replace("\t", "\tNN\t"),)
    ),
}  # fmt: skip
FORMAT = {"snli": "x.jsonl", "squad": "x.json"}  # how the files of a task are damaged


def model_cases() -> list[Case]:
    """Kept heads, transformers, and tables of the Hub."""
    return [
        Case(reader="elmo_bench.runner.kept_head:read_head", make=_head,
             read=lambda folder: read_head(folder / "head.safetensors")),
        Case(reader="elmo_bench.encoders.hf:load_model", make=_bert, read=load_model, damaged="*.[js]*", examples=8),
        Case(reader="elmo_bench.base.sources:hub_table", make=_table, read=_read_table, examples=5),
    ]  # fmt: skip


def _head(folder: Path) -> None:
    torch.manual_seed(0)
    spec = RunSpec.of(compose("config", ["task=ner", "encoder=none"]))
    lexicon = Lexicon(["the", "cat"], 1, ["t", "h"])
    write_head(folder / "head.safetensors", nn.Linear(3, 2), spec, {"labels": ["O", "B-x"]}, lexicon)


def _bert(folder: Path) -> None:
    made = make_tiny_bert(folder / "made")
    for path in made.iterdir():
        path.rename(folder / path.name)
    made.rmdir()


def _table(folder: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = {"tokens": [["Ada", "ran"], ["It"]] * 5, "ner_tags": [[1, 0], [0]] * 5}
    parquet.write_table(pyarrow.table(columns), folder / "x.parquet")


def _read_table(folder: Path) -> Any:
    import datasets

    own, plain = folder / "cache", sources.hub_file
    sources.hub_file = lambda *_, **__: folder / "x.parquet"  # type: ignore[assignment]
    datasets.config.HF_DATASETS_CACHE = own
    datasets.disable_progress_bars()
    try:
        return sources.hub_table("a/b", "x", revision="1").to_list()
    finally:
        sources.hub_file = plain
        shutil.rmtree(own, ignore_errors=True)


def config_cases() -> list[Case]:
    """Options as `key=value`, and experiments."""
    return [
        Case(reader="elmo_bench.spec.config:compose", make=_options, examples=8,
             read=lambda folder: RunSpec.of(compose("config", _text(folder / "options.txt").split("\n")))),
        Case(reader="elmo_bench.spec.config:experiment_yaml", make=_experiment, read=_read_experiment),
    ]  # fmt: skip


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _options(folder: Path) -> None:
    given = "task=ner\nencoder=elmo\ntask.head.hidden=[8,4]\nmix.penalty=0.1\nplace=both\nseed=3\ndata.max_train=60"
    (folder / "options.txt").write_text(given)


def _experiment(folder: Path) -> None:
    (folder / "experiment").mkdir()
    shutil.copy(CONF / "experiment" / "table2.yaml", folder / "experiment" / "x.yaml")


def _read_experiment(folder: Path) -> Any:
    _load.cache_clear()
    experiment_yaml("x", folder)
    return Experiment.load("x", folder)


def task_cases() -> list[Case]:
    """For each task: a file to predict, the files of a suite, and the files to score."""
    return [case for task in choices("task") for case in _of_task(task)]


def _of_task(task: str) -> list[Case]:
    suite, text, scored = TEXTS[task]
    metric = task_class(task, "metric")()
    names = [f"{number}.txt" for number in range(len(scored))]

    def score(folder: Path) -> str:
        return str(metric.table(metric.score_files(*(folder / name for name in names))))

    return [
        Case(reader=f"{task}:read_file", make=_files({"x.txt": text}), format=FORMAT.get(task, ""),
             read=lambda folder: canonical(task, adapter(task).read_file(folder / "x.txt"))),
        Case(reader=f"{task}:read", make=_files(suite), format=FORMAT.get(task, ""), damaged="*/*",
             read=lambda folder: [canonical(task, some) for some in adapter(task).read("open", folder).values()]),
        Case(reader=f"{task}:score_files", make=_files(dict(zip(names, scored, strict=True))), read=score,
             format=FORMAT.get(task, "") if task == "squad" else ""),
    ]  # fmt: skip


def _files(texts: dict[str, str]) -> Callable[[Path], Any]:
    def make(folder: Path) -> None:
        for name, text in texts.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")

    return make


def canonical(task: str, examples: list[Any]) -> list[str]:
    """As the data digest sees them."""
    return [json.dumps(adapter(task).canonical(example)) for example in examples]
