"""For each reader (see `elmo_bench.base.reading`): how sound files are made, and how they are read."""

import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

import datasets
import numpy as np
import pyarrow
import torch
from pyarrow import parquet
from safetensors.torch import save_file

from elmo_bench.base import arrays, hub
from elmo_bench.base.int8 import quantised
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.weights import write_safetensors
from elmo_bench.encoders.hf_files import check_names
from elmo_bench.encoders.layer_files import write_layers
from elmo_bench.ledger import Holder, RunPaths, joined, of_split, types_of
from elmo_bench.ledger.costs import write_cost
from elmo_bench.ledger.store import read_outcomes
from elmo_bench.pretraining.encode import Corpus
from elmo_bench.runner.head_files import About, KeptHead, write_head
from elmo_bench.runner.heads import Lexicon
from elmo_bench.spec.conf_files import CONF, choices
from elmo_bench.spec.config import compose
from elmo_bench.spec.names import task_class
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.text.sizes import lines_of
from tests.elmo.bilms import RELU, random_bilm
from tests.ledger.records import OUTCOMES, make_cost, make_record, store_record
from tests.runs import GOLDEN, OWN
from tests.suites import CONLLU, SCORED, SUITES
from tests.tiny_bert import make_adapter, make_tiny_bert
from tests.whole.test_bad_formats import PAIR, adapter, pairs

TEXT = "the old cats sleep .\nvery old dogs bark .\n\nbirds sing .\n" * 5
VECTORS = "".join(f"word{n} {n}.5 -0.25 1e-3\n" for n in range(20))
WORD2VEC = f"2 3\nthe {'1234' * 3}\nnaïve {'1234' * 3}\n"  # 1234: a small number
OPTIONS = "task=ner\nencoder=elmo\ntask.head.hidden=[8,4]\nmix.penalty=0.1\nplace=both\nseed=3\ndata.max_train=60"
HOLDER = Holder(spec=make_record().spec, seed=0, machine="m", pid=1)
FASTTEXT = GOLDEN.parent / "fasttext"
PACK: dict[str, Any] = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}


@dataclass(frozen=True, kw_only=True)
class Case:
    """`make` writes sound files to an empty folder; `read` gets that folder."""

    reader: str  # in elmo_bench, as module:name; or task:function of a task's contract
    make: Callable[[Path], Any]
    read: Callable[[Path], Any]
    damaged: str = "*"  # the names of the files that are damaged
    packed: str = ""  # a name that says how they are packed, if theirs does not
    finite: bool = True  # the arrays of a result have finite numbers
    mutants: int = 12  # in the default tests


def files(contents: Mapping[str, str | bytes], folder: Path) -> None:
    """Write these files to a folder."""
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def one(reader: str, make: Any, name: str = "x.txt", read: Any = None, **more: Any) -> Case:
    """A reader of a file: its content or a function that writes it; `read` gets reader and file."""
    function = resolve_name(f"elmo_bench.{reader}")
    return Case(
        reader=f"elmo_bench.{reader}", **more,
        make=lambda folder: make(folder / name) if callable(make) else files({name: make}, folder),
        read=lambda folder: read(function, folder / name) if read else function(folder / name),
    )  # fmt: skip


def of_task(task: str) -> list[Case]:
    """The readers of a task's `data.py` and `metric.py`."""
    suite, metric = SUITES[task], task_class(task, "metric")()
    predicted, compared = [*suite.values()][-1], {f"{n}.txt": text for n, text in enumerate(SCORED[task])}
    packed = {"squad": "x.json"}.get(task, "")

    def canonical(examples: list[Any]) -> str:
        return json.dumps([adapter(task).canonical(example) for example in examples])

    return [
        Case(reader=f"{task}:read_file", packed=packed,
             make=partial(files, {"x": {"pos": "Ada\tNNP\n", "snli": pairs(PAIR) * 9}.get(task, predicted)}),
             read=lambda folder: canonical(adapter(task).read_file(folder / "x"))),
        Case(reader=f"{task}:read", make=partial(files, suite), packed=packed,
             read=lambda folder: [canonical(split) for split in adapter(task).read("open", folder).values()]),
        Case(reader=f"{task}:score_files", make=partial(files, compared), packed=packed,
             read=lambda folder: metric.table(metric.score_files(*(folder / name for name in compared)))),
    ]  # fmt: skip


def of_own(task: str) -> list[Case]:
    """What a task on data of the user's own reads."""
    data, metric = task_class(task, "data"), task_class(task, "metric")()
    path = Path(OWN[task][0].removeprefix("data.file="))
    content = (path if path.is_file() else path / "emerging.dev.conll").read_bytes()[:6000].rpartition(b"\n")[0] + b"\n"
    name, columns = f"x{path.suffix}", {"text": "sentence2"} if task == "classification" else {}
    scored = {"tagging": "Ada B-X B-X\nran O O\n"}.get(task, '{"gold": "a", "predicted": "b"}\n' * 5)

    def canonical(examples: list[Any]) -> str:
        return json.dumps([data().canonical(example) for example in examples])

    return [
        Case(reader=f"{task}:read_file", make=partial(files, {name: content}),
             read=lambda folder: canonical(data(**columns).read_file(folder / name))),
        Case(reader=f"{task}:read", make=partial(files, {name: content}), read=lambda folder: [
            canonical(own) for own in data(file=str(folder / name), **columns).read("x", None).values()]),
        Case(reader=f"{task}:score_files", make=partial(files, {name: scored}),
             read=lambda folder: metric.table(metric.score_files(folder / name))),
    ]  # fmt: skip


def of_ledger(function: str, damaged: str, read: Callable[[Any, RunPaths], Any]) -> Case:
    """A reader of a ledger with a record and a cost."""
    reader, record = resolve_name(f"elmo_bench.ledger.{function}"), make_record()

    def make(folder: Path) -> None:
        paths = store_record(folder)
        np.savez(paths.outcomes, **joined({"dev": {}, "test": OUTCOMES | {"type:A.gold": np.array([1, 0, 300])}}))
        write_cost(folder / "costs", make_cost())

    return Case(reader=f"elmo_bench.ledger.{function}", make=make, damaged=damaged,
                read=lambda folder: read(reader, RunPaths.of(folder, record)))  # fmt: skip


def of_text() -> list[Case]:
    """Readers of text, plain or compressed."""
    archive, zip_ = io.BytesIO(), "x.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x.txt", VECTORS)
    compressed = ("base.files:read_lines", "encoders.static:read_text", "encoders.binary_vectors:read_word2vec")
    return [
        *(one(name, pack(text.encode()), f"x{end}", finite=text != WORD2VEC) for name, text in zip(compressed,
            (TEXT, VECTORS, WORD2VEC), strict=True) for end, pack in PACK.items()),
        one("encoders.static:read_text", archive.getvalue(), zip_),
        one("base.files:unpack", archive.getvalue(), zip_, lambda read, path: read(path, "x.txt", path.parent / "o")),
        one("encoders.binary_vectors:read_fasttext", (FASTTEXT / "skipgram.bin").read_bytes(), "x.bin", finite=False),
        one("base.json:read_json", json.dumps(make_record().to_json()), "x.json"),
        one("reporting.receipts:read_receipt", json.dumps({"inputs": "0" * 64, "files": {"a": "1" * 64}}), "x.json"),
        one("ledger.locks:read_holder", json.dumps(HOLDER.to_json()), "x.json"),
        one("elmo.options:BiLMOptions.from_file", json.dumps(RELU.to_json()), "x.json"),
        one("elmo.embed:read", TEXT),
        one("text.columns:read_columns", "a B-x\nb\tO\n\nc O\n"),
        one("text.sizes:lines_of", TEXT, mutants=8),
        *(one("text.csv_rows:form_of_csv", PACK[name[5:]](b"sep=;\r\na;b\r\n"), name,
              lambda read, path: read(path, ".csv"), mutants=8)
          for name in ("x.csv", "x.csv.xz")),
        *(one("text.tables:read_table", pack(text.encode()), f"x{ending}") for ending, text, pack in (
            (".csv", 'a,b\n"1, 2",x\n3,y\n' * 3, bytes), (".tsv.gz", "a\tb\n1\tx\n", gzip.compress),
            (".jsonl", '{"a": "1", "b": ["x", 2]}\n' * 5, bytes), (".json", '[{"a": "1"}, {"a": "2"}]\n', bytes))),
        *(one("text.json_rows:rows_of_json", text, "x.json", lambda read, path: read(path, lines_of(path)))
          for text in ('{"data": [{"a": NaN}]}', '{"a": ["1", "2"], "b": [1, 2]}', '{"a": {"0": 1}, "b": {"0": 1}}')),
        one("text.token_labels:read_conllu", CONLLU),
        one("pretraining.vocabulary:TargetVocabulary.read", "<S>\t5\n</S>\t5\n<UNK>\t0\nthe\t9\ncats\t3\n"),
        one("pretraining.encode:Corpus.sentences", TEXT, read=lambda read, path: read(Corpus((path,), "spaces"), path)),
        one("spec.config:compose", OPTIONS, mutants=8, read=lambda compose, path: RunSpec.of(
            compose("config", path.read_text(encoding="utf-8", errors="replace").split("\n")))),
        one("spec.conf_files:experiment_yaml", (CONF / "experiment" / "table2.yaml").read_text(), "experiment/x.yaml",
            lambda read, path: read("x", path.parents[1])),
    ]  # fmt: skip


def of_arrays() -> list[Case]:
    """Readers of weights, vectors, layers and tables."""
    vectors, tensors = np.ones((20, 4), np.float32), "x.safetensors"
    words = lzma.compress("\n".join(f"w{n}" for n in range(20)).encode())
    compact = {"words": torch.tensor([*words], dtype=torch.uint8), "vectors": torch.ones(20, 4, dtype=torch.int8),
               "vectors.scales": torch.ones(20)}  # fmt: skip
    spec: Any = RunSpec.of(compose("config", ["task=ner", "encoder=none"])).to_json()
    lexicon = Lexicon(words=["the"], repeated=1, characters=["t"])
    about = About(spec=spec, vocabulary={"labels": ["O"]}, lexicon=lexicon, encoders={})
    layers, index = {"0": torch.ones(3, 2, 4)}, {"sentence_to_index": '{"a b": "0"}'}
    lstm = torch.nn.LSTM(3, 2, num_layers=2, bidirectional=True).state_dict()
    table = pyarrow.table({"tokens": [["Ada", "ran"], ["It"]] * 5, "ner_tags": [[1, 0], [0]] * 5})

    def read_table(read: Any, path: Path) -> Any:
        own = patch.object(datasets.config, "HF_DATASETS_CACHE", path.parent / "cache")
        with own, patch.object(hub, "hub_file", lambda *_, **__: path):
            return read("a/b", "x", revision="1").to_list()

    def int8_weights(path: Path) -> None:
        with path.open("wb") as file:
            write_safetensors(random_bilm(RELU), file, about={}, dtype=torch.int8)

    return [
        one("elmo.weights:load", int8_weights,
            tensors, lambda read, path: [*read(RELU, path).parameters()]),
        one("elmo.weights:load", (GOLDEN / "weights.hdf5").read_bytes(), "x.hdf5",
            lambda read, path: [*read(BiLMOptions.from_file(GOLDEN / "options.json"), path).parameters()]),
        one("encoders.vector_files:read_compact", lambda path: save_file(compact, path),
            tensors, lambda read, path: read(path)[1].take([1, 19]), finite=False),
        one("base.int8:read_tensors", lambda path: save_file(quantised({"a": torch.ones(100, 100)}), path), tensors),
        one("pretraining.tokenisation:read_tokenizer",
            lambda path: save_file(layers, path, {"tokenizer": "spaces"}), tensors, finite=False),
        one("encoders.precomputed:open_layers", lambda path: save_file(layers, path, index), tensors,
            lambda read, path: read(path).read("0")),
        one("encoders.cove:read_lstms", lambda path: torch.save(lstm, path), "x.ckpt",
            lambda read, path: [*read(path).parameters()], finite=False),
        one("base.files:read_checkpoint", lambda path: torch.save({"a": torch.ones(3)}, path), "x.ckpt",
            finite=False),
        one("runner.head_files:read_head", lambda path: write_head(path, KeptHead(
            dict(torch.nn.Linear(3, 2).state_dict()), about)), tensors, finite=False),
        one("text.parquet_rows:rows_of_parquet", lambda path: parquet.write_table(table, path), "x.parquet", mutants=8),
        one("base.hub:hub_table", lambda path: parquet.write_table(table, path), read=read_table, mutants=5),
        one("base.arrays:read_arrays", lambda path: arrays.write_arrays(path, {"a": vectors}, "of words"), tensors),
        Case(reader="elmo_bench.encoders.hf_files:check_names", read=lambda path: check_names(sorted(path.iterdir())),
             make=partial(files, {"model.safetensors.index.json": '{"weight_map": {"a": "model-1.safetensors"}}',
                 "tokenizer_config.json": '{"a": [{"b": "x"}]}', "model-1.safetensors": ""}), damaged="*.json"),
        one("encoders.hf_model:load_model", make_tiny_bert, "bert", damaged="*.[js]*", mutants=8),
        one("encoders.hf_adapter:read_adapter", make_adapter, "lora", lambda read, path: read(path)[1],
            damaged="adapter*", finite=False),
        one("encoders.layer_files:read_layers", lambda path: write_layers(path, {"1" * 32: layers["0"]}, max_bytes=1e9),
            tensors, lambda read, path: read(path, {"1" * 32})),
    ]  # fmt: skip


def cases() -> list[Case]:
    """All of them."""
    return [
        *of_text(), *of_arrays(),
        *(case for task in choices("task") for case in (of_own if task in OWN else of_task)(task)),
        of_ledger("store:read_record", "seed0.json", lambda read, paths: read(paths.record)),
        of_ledger("store:read_outcomes", "seed0.npz", lambda read, paths: read(paths)),
        of_ledger("archives:read_arrays", "seed0.npz", lambda read, paths: read(paths.outcomes)),
        of_ledger("outcomes:check_stored", "seed0.npz", lambda _, paths: types_of(read_outcomes(paths), "test")),
        of_ledger("by_type:check_table", "seed0.npz",
                  lambda _, paths: of_split(read_outcomes(paths), "test", {"correct"})),
        of_ledger("store:read_all", "*", lambda read, paths: read(paths.ledger)),
        of_ledger("costs:read_costs", "*", lambda read, paths: read(paths.ledger / "costs")),
    ]  # fmt: skip
