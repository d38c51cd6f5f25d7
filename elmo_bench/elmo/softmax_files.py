"""The softmax and the vocabulary next to a weights file, by their names."""

from pathlib import Path

from elmo_bench.base.errors import UserError

FORMS = (".hdf5", ".h5", ".safetensors")  # endings of weights files
SOFTMAX = "softmax.safetensors"
VOCABULARY = "vocabulary.txt"
ENDINGS = ("", ".gz", ".xz")  # of the vocabulary


def softmax_of(weights: Path) -> tuple[Path, Path] | None:
    """(softmax, vocabulary) of a weights file, or None.

    Raises UserError for a softmax without its vocabulary.
    """
    prefix = ""
    if "weights" in weights.stem:
        prefix, _, _ = weights.stem.partition("weights")
    softmax = weights.with_name(prefix + SOFTMAX)
    if not softmax.is_file():
        return None
    if "weights" not in weights.stem:
        _check_alone(weights, softmax)
    names = [f"{prefix}{VOCABULARY}{ending}" for ending in ENDINGS]
    for name in names:
        vocabulary = weights.with_name(name)
        if vocabulary.is_file():
            return softmax, vocabulary
    raise UserError(f"{softmax}: its vocabulary is missing. Put {names[0]} next to it.")


def _check_alone(weights: Path, softmax: Path) -> None:
    """Raise UserError if a softmax may be of other weights in the same folder."""
    others = []
    for path in sorted(weights.parent.iterdir()):
        is_softmax = path.name.endswith(SOFTMAX)
        if path.suffix in FORMS and path != weights and not is_softmax:
            others.append(path.name)
    if others:
        raise UserError(
            f"{softmax}: of {weights.name} or of {others[0]}? Call the weights "
            "x-weights and the softmax x-softmax, with one x."
        )


def softmax_files(weights: Path) -> dict[str, Path]:
    """The softmax and the vocabulary of a weights file, if there are any.

    By the names that they have next to `weights.…`.
    """
    pair = softmax_of(weights)
    if pair is None:
        return {}
    files = {}
    for kind, path in zip((SOFTMAX, VOCABULARY), pair, strict=True):
        start = path.name.index(kind)
        files[path.name[start:]] = path
    return files
