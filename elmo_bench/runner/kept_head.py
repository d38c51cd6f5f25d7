"""`head.safetensors`: a trained head, and the plain data that building it again needs.

The file may come from a stranger. Its metadata holds the vocabulary, the lexicon, the spec and the encoders' checksums;
they are checked, and nothing in them chooses code or a file.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.json import parse_json
from elmo_bench.base.reading import reader, reading
from elmo_bench.runner.model import Lexicon
from elmo_bench.spec.run_spec import RunSpec


class KeptHead(NamedTuple):
    """The contents of the file."""

    tensors: dict[str, Tensor]
    spec: RunSpec
    vocabulary: dict[str, Any]  # what the head knows of the training data
    lexicon: Lexicon
    encoders: dict[str, str]  # `Frozen.checksums`


def write_head(path: Path, head: KeptHead) -> Path:
    """Write the trained parameters; the encoder and the static table are not among them."""
    about = {
        "spec": head.spec.to_json(),
        "vocabulary": head.vocabulary,
        "lexicon": dataclasses.asdict(head.lexicon),
        "encoders": head.encoders,
    }
    with atomic_write(path) as handle:
        handle.write(
            save({name: each.contiguous() for name, each in head.tensors.items()}, {"about": json.dumps(about)})
        )
    return path


@reader
def read_head(path: Path) -> KeptHead:
    """The head in this file. Raises UserError if there is none, or if anything in it has another form."""
    if not path.is_file():
        raise UserError(
            f"{path}: the head of this run is not here (heads are not committed). Run it with overwrite=true."
        )
    with reading(path, "a head that this version wrote", "Run it again with overwrite=true."):
        with safe_open(path, framework="pt") as kept:
            about = parse_json((kept.metadata() or {})["about"], f"{path}: metadata")
            tensors = {name: kept.get_tensor(name) for name in kept.keys()}  # noqa: SIM118
        spec, vocabulary, lexicon = about["spec"], about["vocabulary"], about["lexicon"]
        if not isinstance(vocabulary, dict) or not all(_is_known(value) for value in vocabulary.values()):
            raise ValueError("its vocabulary is not lists of words")
        words, repeated, characters = lexicon["words"], lexicon["repeated"], lexicon["characters"]
        if not (_is_words(words) and _is_words(characters) and type(repeated) is int and 0 <= repeated <= len(words)):
            raise ValueError("its lexicon is not lists of words and a number")
        if not isinstance(encoders := about["encoders"], dict) or not _is_words(list(encoders.values())):
            raise ValueError("its encoders are not checksums")
        return KeptHead(tensors, RunSpec.from_json(spec), vocabulary, Lexicon(words, repeated, characters), encoders)


def _is_known(value: Any) -> bool:
    """Labels, or how many there are."""
    return _is_words(value) or (type(value) is int and 0 < value <= 1_000_000)


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
