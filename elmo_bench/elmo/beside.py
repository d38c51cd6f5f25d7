"""The softmax and the vocabulary that may lie beside the weights of a biLM. The published files have none."""

from collections.abc import Iterable
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.hub import is_repository, repository
from elmo_bench.elmo.pretrained import OPTIONS, PUBLISHED, WEIGHTS, locate

SOFTMAX, VOCABULARY = "softmax.safetensors", "vocabulary.txt"
ENDINGS = ("", ".gz", ".xz", ".zst")  # of the vocabulary
HUB = (f"*{SOFTMAX}", f"*{VOCABULARY}*")


def softmax_beside(weights: Path) -> tuple[Path, Path] | None:
    """(softmax, vocabulary) of a weights file, None where there is no softmax.

    Of `x-weights.safetensors` they are `x-softmax.safetensors` and `x-vocabulary.txt`, plain or compressed; of a file
    without "weights" in its name they have no `x`. Raises UserError for a softmax without its vocabulary.
    """
    prefix = weights.stem.partition("weights")[0] if "weights" in weights.stem else ""
    softmax = weights.with_name(prefix + SOFTMAX)
    if not softmax.is_file():
        return None
    names = [f"{prefix}{VOCABULARY}{ending}" for ending in ENDINGS]
    if found := [path for name in names if (path := weights.with_name(name)).is_file()]:
        return softmax, found[0]
    raise UserError(f"{softmax}: no {names[0]} beside it, so nobody knows which words its rows are; put it there")


def vocabulary_name(vocabulary: Path) -> str:
    """What a vocabulary file is called beside `weights.…`: `vocabulary.txt`, and its ending if it is compressed."""
    return VOCABULARY + (vocabulary.suffix if vocabulary.suffix in ENDINGS else "")


def check_free(folder: Path, names: Iterable[str]) -> None:
    """Raise UserError where other files than `names` in a folder would be taken for parts of the same biLM."""
    found = {path.name for pattern in (*OPTIONS, *WEIGHTS, *HUB) for path in folder.glob(pattern)}
    if others := found - set(names):
        raise UserError(f"{folder}: holds {min(others)} already; save to a folder without weights")


def locate_with_softmax(weights: str) -> tuple[Path, Path, Path, Path]:
    """(options, weights, softmax, vocabulary) of what `pretrained.locate` takes. Raises UserError where there is none.

    Nothing is downloaded for the names of published files.
    """
    path = Path(weights).expanduser()
    if weights not in PUBLISHED:
        if is_repository(weights) and not path.exists():
            weights = str(repository(weights, also=HUB))
        options, file = locate(weights)
        if (found := softmax_beside(file)) is not None:
            return options, file, *found
        if weights == "mini":
            raise UserError("weights=mini: the softmax of these weights is not shipped; see `finetune`, which fits one")
    raise UserError(
        f"weights={weights}: no softmax beside these weights (published files have none), and without one a biLM has "
        "no perplexity; `finetune` fits one to your text first"
    )
