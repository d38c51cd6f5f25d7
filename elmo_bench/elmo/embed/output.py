"""What an output is to the rest: how a part's values become a piece of it, and how the pieces become the whole."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import console
from elmo_bench.elmo.embed.lines import MAPPED
from elmo_bench.elmo.embed.parts import Parts

Shape = Callable[[int], tuple[int, ...]]  # the number of tokens -> the shape of what is written for a sentence


class Output(Protocol):
    """HDF5 (`hdf5.py`) or a folder of npz shards (`npz.py`)."""

    path: Path
    name: str
    suffix: str  # of the file that holds a part's values
    per_sentence: int  # bytes beside the values
    twice: bool  # whether parts and output lie on the disk together before the end

    def check_free(self, *, overwrite: bool) -> None:
        """Raises UserError where something is there already that may not be replaced."""
        ...

    def seal(self, values: Path, part: Path, *, first: int, lengths: Sequence[int], shape: Shape) -> None:
        """Make a part's file out of its values (float32, one sentence after the other), which then go."""
        ...

    def finish(self, parts: Parts, shape: Shape) -> int:
        """Make the output out of the parts, by one rename at the end: a kill before it costs only this. Its bytes."""
        ...


def parts_folder(path: Path) -> Path:
    """Where the parts of an output lie until it is whole."""
    return path.with_name(f"{path.name}.parts")


def taken(path: Path) -> UserError:
    """The error that says that an output is there."""
    parts = parts_folder(path)
    return UserError(f"{path}: is there already; --overwrite replaces it" + f", going on with {parts}" * parts.exists())


def sentence_to_index(parts: Parts) -> dict[str, str] | None:
    """Each line with its index, a repeated line with its last, as AllenNLP wrote it; None above MAPPED lines."""
    if parts.sentences > MAPPED:
        console.print(f"more than {MAPPED:,} sentences: sentence_to_index is left out", highlight=False)
        return None
    mapping = {text: str(part.first + row) for part in parts for row, text in enumerate(part.texts or [])}
    if repeated := parts.sentences - len(mapping):
        console.print(
            f"sentence_to_index: {repeated:,} lines repeat another one; it names the last of each", highlight=False
        )
    return mapping
