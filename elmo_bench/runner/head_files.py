"""The file of a trained head.

It has the parameters, and what is needed to build the head again.
"""

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pydantic import Field
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.utils.hooks import RemovableHandle

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.json import parse_json
from elmo_bench.base.reading import reader, reading
from elmo_bench.ledger import RunPaths, Spec
from elmo_bench.ledger.model import Model
from elmo_bench.runner.heads import (
    HeadVocabulary,
    Lexicon,
    build_head,
    build_indexer,
    build_stores,
)
from elmo_bench.runner.prepare import Frozen
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.text.batch import Indexer
from elmo_bench.training.random_state import generators_kept

AGAIN = "Run it again with overwrite=true."
# What a head of a stranger's numbers may raise when it is built, or when it answers.
UNFIT = (
    TypeError,
    ValueError,
    KeyError,
    IndexError,
    RuntimeError,
    MemoryError,
    OverflowError,
)


class About(Model):
    """The metadata of the file."""

    spec: Spec
    vocabulary: HeadVocabulary
    lexicon: Lexicon
    encoders: dict[str, str]  # `Frozen.checksums`
    attempt: str = ""  # of the record; `keep_head` knows it
    # Trained on train and dev. Written only if it was.
    refit: bool = False
    # The column of each part of the user's data, if the run was on such data.
    columns: dict[str, str] = Field(default_factory=dict)


class KeptHead(NamedTuple):
    """The contents of the file."""

    tensors: dict[str, Tensor]
    about: About


def keep_head(
    head: Any, about: About, paths: RunPaths, attempt: str, *, refit: bool
) -> dict[str, Any]:
    """Write the trained head of a run; what its record says of the file.

    refit: it was trained on train and dev. Raises UserError if a number of the head is
    not finite: no look at the loss sees what the last step did.
    """
    for name, parameter in head.named_parameters():
        if not parameter.isfinite().all():
            raise UserError(
                f"the trained head: {name} has numbers that are not finite. "
                "Lower task.training.optimizer.lr."
            )
    update: dict[str, Any] = {"attempt": attempt}
    if refit:
        update["refit"] = True
    about = about.model_copy(update=update)
    file = paths.work / "head.safetensors"
    write_head(file, KeptHead(head.state_dict(), about))
    return {"file": str(file.relative_to(paths.folder)), "bytes": file.stat().st_size}


def write_head(path: Path, head: KeptHead) -> Path:
    """Write the trained parameters.

    A frozen encoder and the static table are not among them; of a tuned encoder they
    have what was trained.
    """
    tensors = {name: tensor.contiguous() for name, tensor in head.tensors.items()}
    about = json.dumps(head.about.to_json())
    with atomic_write(path) as handle:
        handle.write(save(tensors, {"about": about}))
    return path


@reader
def read_head(path: Path) -> KeptHead:
    """The head in this file.

    Raises UserError if there is none, or if anything in it has another form.
    """
    if not path.is_file():
        raise UserError(
            f"{path}: the head of this run is not here (heads are not committed). "
            f"{AGAIN}"
        )
    where = f"{path}: metadata"
    with reading(path, "a head that this version wrote", AGAIN):
        with safe_open(path, framework="pt") as file:
            about = parse_json((file.metadata() or {})["about"], where)
            names = file.keys()
            tensors = {name: file.get_tensor(name) for name in names}
        return KeptHead(tensors, About.read(about, where))


def build_kept(
    spec: RunSpec, setup: Setup, frozen: Frozen, saved: KeptHead, head_file: Path
) -> tuple[Any, Indexer]:
    """The head with its trained parameters, and what makes its batches.

    The head is first built without memory: the file's tensors bound its sizes and its
    layers, whatever numbers a spec holds. Raises UserError if the file is of other
    sizes, or was trained on other numbers of an encoder that draws them.
    """
    about = saved.about
    if about.encoders != frozen.checksums:
        raise UserError(
            f"{head_file}: trained with other random numbers in its encoder than are "
            f"drawn here, of another seed or by another version of torch. {AGAIN}"
        )
    parts = (spec, frozen, about.lexicon, about.vocabulary)
    try:
        with torch.device("meta"), _few_tensors(10 * len(saved.tensors) + 1000):
            wanted = build_head(*parts).state_dict()
        if shapes_of(wanted) != shapes_of(saved.tensors):
            raise ValueError("its tensors have other names or shapes")
        with generators_kept():
            head = build_head(*parts)
        head.load_state_dict(saved.tensors)
    except UNFIT as error:
        why = str(error).partition("\n")[0]
        raise UserError(
            f"{head_file}: does not fit the {spec.task} head of this version ({why}). "
            f"{AGAIN}"
        ) from None
    stores = build_stores(setup, frozen.encoders)
    return head.eval(), build_indexer(head.embedder, stores)


def shapes_of(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    """The shape of each parameter, by its name."""
    return {name: tensor.shape for name, tensor in tensors.items()}


def _few_tensors(most: int) -> RemovableHandle:
    """For `with`: a block in which no more parameters than this can be made.

    ValueError for one more.
    """
    numbers = itertools.count(1)

    def count(*_: Any) -> None:
        if next(numbers) > most:
            raise ValueError("its spec asks for far more tensors than it has")

    return register_module_parameter_registration_hook(count)
