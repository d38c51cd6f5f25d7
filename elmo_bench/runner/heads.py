"""The file of a trained head: its parameters, and what is needed to build it again."""

import json
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.json import parse_json
from elmo_bench.base.reading import reader, reading
from elmo_bench.ledger import Spec
from elmo_bench.ledger.model import Model
from elmo_bench.runner.prepare import Lexicon

AGAIN = "Run it again with overwrite=true."


class About(Model):
    """The metadata of the file."""

    spec: Spec
    # Labels, or how many there are.
    vocabulary: dict[str, list[str] | Annotated[int, Field(gt=0, le=1_000_000)]]
    lexicon: Lexicon
    encoders: dict[str, str]  # `Frozen.checksums`
    attempt: str = ""  # of the record; heads of earlier versions lack it


class KeptHead(NamedTuple):
    """The contents of the file."""

    tensors: dict[str, Tensor]
    about: About


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
