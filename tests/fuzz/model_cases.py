"""The readers of weights, vectors, heads, checkpoints, transformers and tables of the Hub."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from elmo_bench.base import sources
from elmo_bench.base.checkpoints import read_checkpoint
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.weights import load, save_safetensors
from elmo_bench.encoders.cove import read_lstms
from elmo_bench.encoders.flair import read_language_model
from elmo_bench.encoders.hf import load_model
from elmo_bench.encoders.int8 import read_tensors, write_int8
from elmo_bench.encoders.ngrams import NGrams
from elmo_bench.encoders.precomputed import open_layers
from elmo_bench.encoders.rows import Rows
from elmo_bench.encoders.torch_pickle import read_saved
from elmo_bench.encoders.vector_files import read_compact, write_compact
from elmo_bench.runner.kept_head import KeptHead, read_head, write_head
from elmo_bench.runner.model import Lexicon
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec
from tests.elmo.bilms import RELU, random_bilm
from tests.fuzz.cases import Case, file_of, not_finite
from tests.runs import GOLDEN
from tests.tiny_bert import make_tiny_bert

WEIGHTS = {
    "hdf5": "weights.hdf5",
    "float16": "weights.safetensors",
    "bfloat16": "weights.safetensors",
    "int8": "weights.safetensors",
}


def model_cases() -> list[Case]:
    """Whole models and their parts."""
    return [
        *(
            Case(
                reader="elmo_bench.elmo.weights:load",
                variant=dtype,
                make=partial(_bilm, dtype=dtype),
                read=_load(name),
                wrong=lambda bilm: not_finite([parameter.numpy() for parameter in bilm.parameters()]),
            )
            for dtype, name in WEIGHTS.items()
        ),
        *(
            Case(
                reader="elmo_bench.encoders.vector_files:read_compact",
                variant=dtype,
                make=partial(_compact, dtype=dtype),
                read=_read_compact,
                wrong=not_finite,
            )
            for dtype in ("float32", "int8")
        ),
        Case(
            reader="elmo_bench.elmo.options:BiLMOptions.from_file",
            make=file_of("options.json", json.dumps(RELU.to_json())),
            read=lambda folder: BiLMOptions.from_file(folder / "options.json").to_json(),
        ),
        Case(
            reader="elmo_bench.encoders.int8:read_tensors",
            make=lambda folder: write_int8(folder / "x.safetensors", {"a": torch.ones(100, 100), "b": torch.ones(3)}),
            read=lambda folder: list(read_tensors(folder / "x.safetensors").values()),
            wrong=not_finite,
        ),
        *(
            Case(
                reader="elmo_bench.encoders.precomputed:open_layers",
                variant=name,
                make=partial(_layers, name=name),
                read=partial(_read_layers, name=name),
                wrong=not_finite,
            )
            for name in ("x.hdf5", "x.safetensors")
        ),
        Case(
            reader="elmo_bench.encoders.cove:read_lstms",
            make=_lstms,
            read=lambda folder: read_lstms(folder / "x.pth"),
            format="x.ckpt",
            wrong=lambda lstms: not_finite(parameter.numpy() for parameter in lstms.parameters()),
        ),
        Case(
            reader="elmo_bench.encoders.flair:read_language_model",
            make=lambda folder: shutil.copy(GOLDEN.parent / "flair" / "backward.pt", folder / "x.pt"),
            read=lambda folder: read_language_model(folder / "x.pt"),
            format="x.ckpt",
            wrong=lambda model: not_finite(parameter.numpy() for parameter in model.network.parameters()),
        ),
        *(
            Case(
                reader="elmo_bench.encoders.torch_pickle:read_saved",
                variant=format_,
                make=partial(_saved, zipped=format_ == "x.ckpt"),
                read=lambda folder: read_saved(folder / "x.pt", "a file"),
                format=format_,
            )
            for format_ in ("x.ckpt", "x.legacy")
        ),
        Case(
            reader="elmo_bench.base.checkpoints:read_checkpoint",
            make=_checkpoint,
            read=lambda folder: read_checkpoint(folder / "last.ckpt"),
        ),
        Case(
            reader="elmo_bench.runner.kept_head:read_head",
            make=_head,
            read=lambda folder: read_head(folder / "head.safetensors"),
        ),
        Case(reader="elmo_bench.encoders.hf:load_model", make=_bert, read=load_model, damaged="*.[js]*", examples=8),
        Case(
            reader="elmo_bench.encoders.hf:load_model",
            variant=".bin",
            make=_pickled_bert,
            read=load_model,
            damaged="*.bin",
            format="x.ckpt",
            examples=8,
        ),
        Case(reader="elmo_bench.base.sources:hub_table", make=_table, read=_read_table, examples=5),
    ]


def _bilm(folder: Path, *, dtype: str) -> None:
    if dtype == "hdf5":
        for name in ("options.json", "weights.hdf5"):
            shutil.copy(GOLDEN / name, folder / name)
        return
    (folder / "options.json").write_text(json.dumps(RELU.to_json()))
    if dtype == "bfloat16":  # which other programs write
        save_safetensors(random_bilm(RELU), folder / "weights.safetensors", about={}, dtype=torch.float16)
        tensors = {name: tensor.bfloat16() for name, tensor in load_file(folder / "weights.safetensors").items()}
        save_file(tensors, folder / "weights.safetensors")
        return
    save_safetensors(random_bilm(RELU), folder / "weights.safetensors", about={"a": 1}, dtype=getattr(torch, dtype))


def _load(weights: str) -> Callable[[Path], Any]:
    return lambda folder: load(BiLMOptions.from_file(folder / "options.json"), folder / weights)


def _compact(folder: Path, *, dtype: str) -> None:
    vectors = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    ngrams = NGrams(Rows.of(vectors[:5], dtype), 3, 4)
    write_compact(folder / "v.safetensors", [f"w{n}" for n in range(20)], vectors, {"n": 1}, dtype=dtype, ngrams=ngrams)


def _read_compact(folder: Path) -> Any:
    found = read_compact(folder / "v.safetensors", {"w1", "w2", "w19"})
    return [found.vectors] + ([found.ngrams.vectors(["unseen", "x"])] if found.ngrams else [])


def _layers(folder: Path, *, name: str) -> None:
    index = json.dumps({"a b": "0", "c": "1"})
    tensors = {"0": torch.ones(3, 2, 4), "1": torch.zeros(3, 1, 4)}
    if name == "x.hdf5":
        with h5py.File(folder / name, "w") as file:
            for key, tensor in tensors.items():
                file[key] = tensor.numpy()
            file.create_dataset("sentence_to_index", data=[index], dtype=h5py.string_dtype())
    else:
        save_file(tensors, folder / name, {"sentence_to_index": index})


def _read_layers(folder: Path, *, name: str) -> Any:
    found = open_layers(folder / name)
    return [found.read(each).numpy() for each in found.index.values()]


def _lstms(folder: Path) -> None:
    torch.manual_seed(0)
    torch.save(nn.LSTM(3, 2, num_layers=2, bidirectional=True).state_dict(), folder / "x.pth")


def _saved(folder: Path, *, zipped: bool) -> None:
    value = {"a": torch.ones(3, 4), "b": [1, 2.5, None, True, b"x", "y"], "c": {"d": (torch.zeros(2).half(), 2**40)}}
    torch.save(value, folder / "x.pt", _use_new_zipfile_serialization=zipped, pickle_protocol=4)


def _checkpoint(folder: Path) -> None:
    torch.manual_seed(0)
    state = {"state_dict": {"a": torch.randn(3, 4), "b": torch.zeros(2)}, "callbacks": {"x": {"wait": 1}}, "epoch": 3}
    torch.save(state, folder / "last.ckpt")


def _head(folder: Path) -> None:
    torch.manual_seed(0)
    spec = RunSpec.of(compose("config", ["task=ner", "encoder=none"]))
    lexicon = Lexicon(["the", "cat"], 1, ["t", "h"])
    head = KeptHead(nn.Linear(3, 2).state_dict(), spec, {"labels": ["O", "B-x"]}, lexicon, {})
    write_head(folder / "head.safetensors", head)


def _bert(folder: Path) -> None:
    made = make_tiny_bert(folder / "made")
    for path in made.iterdir():
        path.rename(folder / path.name)
    made.rmdir()


def _pickled_bert(folder: Path) -> None:
    _bert(folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def _table(folder: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = {"tokens": [["Ada", "ran"], ["It"]] * 5, "ner_tags": [[1, 0], [0]] * 5}
    parquet.write_table(pyarrow.table(columns), folder / "x.parquet")


def _read_table(folder: Path) -> Any:
    import datasets

    plain, sources.hub_file = sources.hub_file, lambda *_, **__: folder / "x.parquet"  # type: ignore[assignment]
    before, datasets.config.HF_DATASETS_CACHE = datasets.config.HF_DATASETS_CACHE, folder / "cache"
    datasets.disable_progress_bars()
    try:
        return sources.hub_table("a/b", "x", revision="1").to_list()
    finally:
        sources.hub_file, datasets.config.HF_DATASETS_CACHE = plain, before
