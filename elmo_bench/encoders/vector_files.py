"""The two forms in which word vectors lie on disk: GloVe text, and our compact safetensors.

A compact file holds `vectors` float [V, D] and `words` uint8, the UTF-8 text of all words joined by newlines. Its
metadata is one JSON text: safetensors writes several keys in any order, and equal tables should be equal files.
"""

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write


def write_compact(
    path: Path, words: Sequence[str], vectors: np.ndarray, metadata: Mapping[str, object] | None = None
) -> None:
    """Words and their vectors [V, D], in the precision that they come in, whole or not at all."""
    blob = np.frombuffer("\n".join(words).encode(), dtype=np.uint8)
    about = {"about": json.dumps(metadata or {}, sort_keys=True)}
    with atomic_write(path) as handle:
        handle.write(save({"vectors": np.ascontiguousarray(vectors), "words": blob}, metadata=about))


def read_compact(path: Path) -> tuple[list[str], np.ndarray, dict[str, object]]:
    """Words, vectors float32 [V, D] and metadata. Raises UserError where it is not such a file or is cut off."""
    try:
        with safe_open(path, framework="numpy") as tensors:
            blob = tensors.get_tensor("words").tobytes().decode()
            vectors = tensors.get_tensor("vectors").astype(np.float32)
            metadata = json.loads((tensors.metadata() or {}).get("about", "{}"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (SafetensorError, ValueError, OSError) as error:
        raise UserError(f"{path}: not a file of word vectors, or cut off ({error}); make or fetch it again") from None
    words = blob.split("\n") if blob else []
    if vectors.ndim != 2 or len(words) != len(vectors):
        raise UserError(
            f"{path}: {len(words)} words but vectors of shape {list(vectors.shape)}; make or fetch it again"
        )
    return words, vectors, metadata


def write_text(path: Path, words: Sequence[str], vectors: np.ndarray) -> None:
    """GloVe text, a word and its numbers a line; compressed where the name ends in .gz."""
    with atomic_write(path) as handle:
        lines = gzip.GzipFile(fileobj=handle, mode="wb", filename="", mtime=0) if path.suffix == ".gz" else handle
        for word, vector in zip(words, vectors, strict=True):
            lines.write(f"{word} {' '.join(f'{number:.5g}' for number in vector)}\n".encode())
        if lines is not handle:
            lines.close()
