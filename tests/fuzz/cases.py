"""For each reader (see `elmo_bench.base.reading`): sound files, how they are read, and which of them are damaged."""

import gzip
import json
import lzma
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import zstandard

from elmo_bench.base.checkpoints import read_checkpoint
from elmo_bench.base.files import read_lines, unpack
from elmo_bench.base.json import read_json
from elmo_bench.elmo.embed import lines, parts
from elmo_bench.elmo.export import _licence
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.weights import load, save_safetensors
from elmo_bench.encoders.cache_files import StoreFolder
from elmo_bench.encoders.glove_text import read_text
from elmo_bench.encoders.int8 import read_tensors, write_int8
from elmo_bench.encoders.ngrams import NGrams
from elmo_bench.encoders.rows import Rows
from elmo_bench.encoders.vector_files import read_compact, write_compact
from elmo_bench.ledger import RunPaths
from elmo_bench.ledger.lease import new_lease, read_lease
from elmo_bench.ledger.store import put_failure, read_all, read_failure, read_outcomes, read_record
from elmo_bench.pretraining.cooccurrence import cooccurrence
from elmo_bench.pretraining.corpus import Corpus
from elmo_bench.pretraining.masked import pretrain as masked
from elmo_bench.pretraining.resident.encode import encode, read_encoded
from elmo_bench.pretraining.training import COLUMNS, Curve
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.text.columns import read_columns
from tests.elmo.bilms import RELU, random_bilm
from tests.ledger.records import ATTEMPT, make_record, store_record
from tests.runs import GOLDEN

TEXT = "the old cats sleep .\nvery old dogs bark .\n\nbirds sing .\n" * 5
VECTORS = "".join(f"word{n} {n}.5 -0.25 1e-3\n" for n in range(20))
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": lambda text: text,
    ".gz": partial(gzip.compress, mtime=0),
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One way to read files. `make` writes sound ones to an empty folder, `read` reads that folder."""

    reader: str  # module:qualified name of a function with `@reader`; or task:part of a task's contract
    make: Callable[[Path], Any]
    read: Callable[[Path], Any]
    variant: str = ""
    damaged: str = "*"  # the names of the files that are damaged
    format: str = ""  # how they are damaged, if not by their name: a name with an ending of mutate.FORMATS
    wrong: Callable[[Any], str | None] | None = None  # what is wrong with a result
    examples: int = 25  # in the default tests

    @property
    def name(self) -> str:
        return self.reader.removeprefix("elmo_bench.") + (f"[{self.variant}]" if self.variant else "")


def not_finite(*arrays: Any) -> str | None:
    return None if all(np.isfinite(np.asarray(each)).all() for each in arrays) else "numbers that are not finite"


def _bilm(folder: Path, *, dtype: torch.dtype) -> None:
    (folder / "options.json").write_text(json.dumps(RELU.to_json()))
    save_safetensors(random_bilm(RELU), folder / "weights.safetensors", about={"a": 1}, dtype=dtype)


def _golden(folder: Path) -> None:
    for name in ("options.json", "weights.hdf5"):
        (folder / name).write_bytes((GOLDEN / name).read_bytes())


def _load(weights: str) -> Callable[[Path], Any]:
    return lambda folder: load(BiLMOptions.from_file(folder / "options.json"), folder / weights)


def _weights_wrong(bilm: Any) -> str | None:
    return not_finite(*(parameter.numpy() for parameter in bilm.parameters()))


def _compact(folder: Path, *, dtype: str) -> None:
    vectors = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    ngrams = NGrams(Rows.of(vectors[:5], dtype), 3, 4)
    write_compact(folder / "v.safetensors", [f"w{n}" for n in range(20)], vectors, {"n": 1}, dtype=dtype, ngrams=ngrams)


def _read_compact(folder: Path) -> Any:
    found = read_compact(folder / "v.safetensors", {"w1", "w2", "w19"})
    return [found.vectors] + ([found.ngrams.vectors(["unseen", "x"])] if found.ngrams else [])


def _zipped(folder: Path, member: str, text: str) -> None:
    with zipfile.ZipFile(folder / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, text)


def _checkpoint(folder: Path) -> None:
    torch.manual_seed(0)
    state = {"state_dict": {"a": torch.randn(3, 4), "b": torch.zeros(2)}, "callbacks": {"x": {"wait": 1}}, "epoch": 3}
    torch.save(state, folder / "last.ckpt")


def _store(folder: Path) -> StoreFolder:
    return StoreFolder(folder, "own", layers=2, dim=3, dtype=torch.float32, max_bytes=1e9)


def _keys() -> list[bytes]:
    return [bytes([number]) * 16 for number in range(4)]


def _fill(folder: Path) -> None:
    layers = [np.random.default_rng(n).normal(size=(2, n, 3)).astype(np.float32) for n in range(4)]
    found = _store(folder).add(_keys(), layers)
    next(iter(found.values())).path.rename(folder / "own" / "0.safetensors")


def _entries(folder: Path) -> Any:
    found = dict(_store(folder).entries(_keys(), set()))
    return [layers for entry in found.values() if (layers := entry.read()) is not None]


def _record(folder: Path) -> RunPaths:
    return RunPaths.of(folder / "runs", make_record())


def _failure(folder: Path) -> None:
    record = make_record()
    failure = {key: record[key] for key in ("schema", "attempt", "spec", "seed", "created")}  # type: ignore[literal-required]
    paths = RunPaths.of(folder / "runs", record)
    put_failure(paths, {**failure, "error": "x", "user_error": True, "traceback": "y"})  # type: ignore[typeddict-item]


def _lease(folder: Path) -> None:
    lease = new_lease(attempt=ATTEMPT, spec=make_record()["spec"], seed=0)
    (folder / "seed0.lease").write_text(json.dumps(lease))


def _ledger(folder: Path) -> None:
    store_record(folder / "runs")
    _failure(folder)


MASKED = {"files": ["a"], "heldout": [], "vocabulary": 9, "tokenizer_lines": 1, "width": 4}


def _masked(folder: Path) -> None:
    from safetensors.numpy import save_file

    about = {**MASKED, "sentences": 1, "words": 2, "pieces": 3}
    rows = np.zeros((5, 4), np.int16)
    save_file({"both": rows, "alone": rows + 1}, folder / "text.safetensors", {"about": json.dumps(about)})


def _encoded(folder: Path) -> None:
    (folder / "in.txt").write_text(TEXT)
    encode(Corpus((folder / "in.txt",)), None, folder, words=5, threads=1)
    (folder / "in.txt").unlink()


def _part(folder: Path) -> None:
    part = parts.Part(first=0, lengths=[2, 0], texts=["a b", ""], fingerprint="f" * 64, bytes=80)
    (folder / "00000.json").write_text(json.dumps(vars(part)))
    (folder / "settings.json").write_text(json.dumps({"mode": "all", "batch-size": None}))
    (folder / "data").mkdir()
    (folder / "data" / "00000.f32").write_bytes(bytes(80))


def _read_parts(folder: Path) -> Any:
    with parts.open_parts(folder, {"mode": "all", "batch-size": None}, suffix=".f32", overwrite=False) as found:
        return list(found)


def _texts(reader: str, name: str, text: str, read: Callable[[Path], Any], **more: Any) -> list[Case]:
    """A case for each compression."""
    return [
        Case(
            reader=reader,
            variant=ending,
            make=lambda folder, ending=ending: (folder / f"{name}{ending}").write_bytes(PACK[ending](text.encode())),  # type: ignore[misc]
            read=lambda folder, ending=ending: read(folder / f"{name}{ending}"),  # type: ignore[misc]
            **more,
        )
        for ending in PACK
    ]


def _curve(folder: Path) -> None:
    (folder / "curve.csv").write_text(",".join(COLUMNS) + "\n" + "".join(f"{n},1,2,3,4\n" for n in range(9)))


def _file(name: str, text: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


CARD = "---\nlicense: mit\ntags: [a, b]\n---\n# A card\n"
WORDS = "<S>\t5\n</S>\t5\n<UNK>\t0\nthe\t9\ncats\t3\n"


@cache
def cases() -> tuple[Case, ...]:
    """All cases: of the package, and of the tasks."""
    from tests.fuzz.more_cases import config_cases, model_cases, task_cases

    package = [
        *_texts("elmo_bench.base.files:read_lines", "in.txt", TEXT, lambda path: list(read_lines(path))),
        Case(reader="elmo_bench.pretraining.corpus:Corpus.sentences", make=_file("in.txt", TEXT),
             read=lambda folder: list(Corpus((folder / "in.txt",), "treebank").sentences(folder / "in.txt"))),
        Case(reader="elmo_bench.pretraining.cooccurrence:cooccurrence", make=_file("in.txt", TEXT),
             read=lambda folder: cooccurrence([folder / "in.txt"], ["the", "cats"], window=2)),
        Case(reader="elmo_bench.text.columns:read_columns", make=_file("in.txt", "a B-x\nb\tO\n\nc O\n"),
             read=lambda folder: list(read_columns(folder / "in.txt"))),
        *_texts("elmo_bench.encoders.glove_text:read_text", "v.txt", VECTORS, lambda path: [read_text(path)[1]],
                wrong=lambda result: not_finite(*result)),
        Case(reader="elmo_bench.elmo.embed.lines:read", make=_file("in.txt", TEXT),
             read=lambda folder: list(lines.parts(lines.read(folder / "in.txt")))),
        Case(reader="elmo_bench.encoders.glove_text:read_text", variant=".zip", wrong=lambda result: not_finite(*result),
             make=lambda folder: _zipped(folder, "v.txt", VECTORS), read=lambda folder: [read_text(folder / "x.zip")[1]]),
        Case(reader="elmo_bench.base.files:unpack", make=lambda folder: _zipped(folder, "a/b.txt", TEXT),
             read=lambda folder: unpack(folder / "x.zip", "a/b.txt", folder / "out")),
        Case(reader="elmo_bench.base.json:read_json", make=_file("x.json", json.dumps(make_record())),
             read=lambda folder: read_json(folder / "x.json")),
        Case(reader="elmo_bench.base.checkpoints:read_checkpoint", make=_checkpoint,
             read=lambda folder: read_checkpoint(folder / "last.ckpt")),
        Case(reader="elmo_bench.elmo.options:BiLMOptions.from_file", make=_file("options.json", json.dumps(RELU.to_json())),
             read=lambda folder: BiLMOptions.from_file(folder / "options.json").to_json()),
        Case(reader="elmo_bench.elmo.weights:load", variant="hdf5", make=_golden, read=_load("weights.hdf5"),
             wrong=_weights_wrong),
        *(Case(reader="elmo_bench.elmo.weights:load", variant=str(dtype)[6:], make=partial(_bilm, dtype=dtype),
               read=_load("weights.safetensors"), wrong=_weights_wrong) for dtype in (torch.float16, torch.int8)),
        Case(reader="elmo_bench.encoders.int8:read_tensors",
             make=lambda folder: write_int8(folder / "x.safetensors", {"a": torch.ones(100, 100), "b": torch.ones(3)}),
             read=lambda folder: read_tensors(folder / "x.safetensors").values(), wrong=lambda result: not_finite(*result)),
        *(Case(reader="elmo_bench.encoders.vector_files:read_compact", variant=dtype, make=partial(_compact, dtype=dtype),
               read=_read_compact, wrong=lambda result: not_finite(*result)) for dtype in ("float32", "int8")),
        Case(reader="elmo_bench.encoders.cache_files:StoreFolder.entries", make=_fill, read=_entries),
        Case(reader="elmo_bench.ledger.store:read_record", make=lambda folder: store_record(folder / "runs"),
             damaged="seed0.json", read=lambda folder: read_record(_record(folder).record)),
        Case(reader="elmo_bench.ledger.store:read_outcomes", make=lambda folder: store_record(folder / "runs"),
             damaged="*.npz", read=lambda folder: read_outcomes(_record(folder))),
        Case(reader="elmo_bench.ledger.store:read_failure", make=_failure,
             read=lambda folder: read_failure(_record(folder).failure)),
        Case(reader="elmo_bench.ledger.store:read_all", make=_ledger, read=lambda folder: read_all(folder / "runs")),
        Case(reader="elmo_bench.ledger.lease:read_lease", make=_lease,
             read=lambda folder: read_lease(folder / "seed0.lease")),
        Case(reader="elmo_bench.pretraining.vocabulary:TargetVocabulary.read", make=_file("vocabulary.txt", WORDS),
             read=lambda folder: TargetVocabulary.read(folder / "vocabulary.txt")),
        Case(reader="elmo_bench.pretraining.masked.pretrain:read_text", make=_masked,
             read=lambda folder: masked.read_text(folder / "text.safetensors", MASKED)),
        Case(reader="elmo_bench.pretraining.resident.encode:read_encoded", make=_encoded, damaged="*.npy", read=read_encoded),
        Case(reader="elmo_bench.pretraining.training:Curve.resume", make=_curve,
             read=lambda folder: Curve(folder / "curve.csv", COLUMNS).resume(5)),
        Case(reader="elmo_bench.elmo.embed.parts:read_part", make=_part, damaged="0*.json", read=_read_parts),
        Case(reader="elmo_bench.elmo.embed.parts:read_settings", make=_part, damaged="settings.json", read=_read_parts),
        Case(reader="elmo_bench.elmo.export:_licence", make=_file("README.md", CARD),
             read=lambda folder: _licence(folder / "README.md")),
    ]  # fmt: skip
    return (*package, *model_cases(), *config_cases(), *task_cases())


def sound(case: Case, folder: Path) -> dict[str, bytes]:
    """The content of a case's sound files by their names; they are written to an empty folder, and read there."""
    folder.mkdir(parents=True)
    case.make(folder)
    files: Mapping[str, bytes] = {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    result = case.read(folder)
    assert case.wrong is None or case.wrong(result) is None
    return dict(sorted(files.items()))

