"""Finding a biLM by name or path."""

from pathlib import Path

from elmo_bench.encoders.bilm import BiLM
from elmo_bench.encoders.options import BiLMOptions
from elmo_bench.encoders.static import cache_folder
from elmo_bench.encoders.weights import load
from elmo_bench.errors import UserError
from elmo_bench.files import sha256_of

MINI = Path(__file__).parent / "mini"
_BASE = "https://allennlp.s3.amazonaws.com/models/elmo"
# The published models (facts sheet 2.7): folder under the base address, which also begins the file names.
PUBLISHED = {
    "small": "2x1024_128_2048cnn_1xhighway",
    "medium": "2x2048_256_2048cnn_1xhighway",
    "original": "2x4096_512_2048cnn_2xhighway",
    "original_5.5B": "2x4096_512_2048cnn_2xhighway_5.5B",
}


def load_bilm(name_or_path: str) -> tuple[BiLM, str]:
    """The frozen biLM of a known name, or of a folder with `options.json` and weights; and its name in a hash.

    That is the SHA-256 of the weights and the beginning of that of the options (clips and activation stand there).

    Raises UserError where the files are not there or do not fit.
    """
    options, weights = locate(name_or_path)
    return load(BiLMOptions.from_file(options), weights), f"{sha256_of(weights)} options {sha256_of(options)[:12]}"


def locate(name_or_path: str) -> tuple[Path, Path]:
    """(options, weights) of a name or folder: `*options.json` and one `*.hdf5` or `*weights.safetensors`."""
    if name_or_path in PUBLISHED:
        folder, stem = cache_folder() / "elmo" / name_or_path, PUBLISHED[name_or_path]
        if not folder.is_dir():
            files = f"elmo_{stem}_weights.hdf5 and elmo_{stem}_options.json"
            raise UserError(
                f"encoder.weights={name_or_path}: fetch {files} from {_BASE}/{stem}/ and put them in {folder}"
            )
    else:
        folder = MINI if name_or_path == "mini" else Path(name_or_path).expanduser()
        if not folder.is_dir():
            known = ", ".join(["mini", *PUBLISHED])
            raise UserError(
                f"encoder.weights={name_or_path}: no such folder, and not one of the known weights: {known}"
            )
    return _only(folder, "*options.json"), _only(folder, "*.hdf5", "*weights.safetensors")


def _only(folder: Path, *patterns: str) -> Path:
    found = sorted(path for pattern in patterns for path in folder.glob(pattern))
    if len(found) != 1:
        raise UserError(
            f"{folder}: {len(found) or 'no'} files match {' or '.join(patterns)}; exactly one is needed here"
        )
    return found[0]
