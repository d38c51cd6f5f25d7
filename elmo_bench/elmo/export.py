"""Export weights to a folder in the published layout, which AllenNLP loads without changes."""

import json
from contextlib import suppress
from functools import partial
from pathlib import Path

import torch
from huggingface_hub import metadata_load

from elmo_bench.base.errors import UserError
from elmo_bench.base.reading import reader
from elmo_bench.elmo.model_card import model_card
from elmo_bench.elmo.pretrained import SOFTMAX, check_free, load_files, locate, softmax_files
from elmo_bench.elmo.sharing import Content, write_together
from elmo_bench.elmo.weights import write_hdf5, write_safetensors

# The names of bilm-tf (`dump_weights`, its save folder).
WEIGHTS = {"hdf5": "weights.hdf5", "safetensors": "weights.safetensors"}
DTYPES = {"float32": torch.float32, "float16": torch.float16, "int8": torch.int8}
CARD, ORIGIN = "README.md", "ORIGIN.md"


def export(
    weights: str,
    out: Path,
    *,
    options: str | None = None,
    kind: str = "hdf5",
    dtype: str = "float32",
    overwrite: bool = False,
) -> list[Path]:
    """Write the weights that `pretrained.locate` finds to a folder, all files or none; returns the files.

    The files: `options.json`, `weights.hdf5` or `weights.safetensors`, the softmax and its vocabulary if they are next
    to the weights, a card, and the card that the weights came with. Raises UserError if the folder has other weights,
    or (without `overwrite`) files of these names.
    """
    if dtype == "int8" and kind != "safetensors":
        raise UserError("export: int8 is stored as safetensors only. Add --format safetensors.")
    options_file, weights_file = locate(weights, options)
    copied = softmax_files(weights_file)
    if (origin := _card_of(weights_file)) is not None:
        copied[ORIGIN] = origin
    names = ["options.json", WEIGHTS[kind], *copied, CARD]
    check_free(out, names)
    if not overwrite and (there := [name for name in names if (out / name).exists()]):
        raise UserError(f"{out}: has {there[0]} already. Give another folder, or --overwrite.")
    bilm, checksum = load_files(options_file, weights_file)
    card = model_card(
        bilm.options,
        checksum=checksum,
        license=_licence(origin),
        rows={"these files": f"{dtype}, exported from the weights with that checksum"},
        description=f"For the training data and the licence see [{ORIGIN}]({ORIGIN})." if origin else "",
        files=_files(names),
    )
    write = write_hdf5 if kind == "hdf5" else partial(write_safetensors, about={"from": checksum})
    contents: dict[str, Content] = {
        "options.json": json.dumps(bilm.options.to_json(), indent=1).encode(),
        WEIGHTS[kind]: lambda file: write(bilm, file, dtype=DTYPES[dtype]),
        **copied,
        CARD: f"{card}\n".encode(),
    }
    write_together(out, contents)
    return [out / name for name in contents]


def _card_of(weights: Path) -> Path | None:
    """`x.md` of `x-weights.safetensors`, as for the shipped weights; else the README.md of the folder, if any."""
    name = weights.stem.partition("weights")[0].rstrip("-_.") if "weights" in weights.stem else ""
    candidates = [weights.with_name(f"{name}.md")] if name else []
    return next((path for path in [*candidates, weights.with_name(CARD)] if path.is_file()), None)


@reader
def _licence(card: Path | None) -> str:
    """The Hub's code of the licence, in the YAML of a card."""
    with suppress(Exception):  # the README.md may be anything
        return str(((card and metadata_load(card)) or {})["license"])
    return "unknown"


def _files(names: list[str]) -> str:
    what = {
        "options.json": "the shape in the published schema, with 262 characters as AllenNLP expects",
        "weights.hdf5": "the arrays under their published names, as AllenNLP loads them",
        "weights.safetensors": "the arrays under their published names",
        SOFTMAX: "the output layer of the language model: for perplexity and further training",
        "vocabulary.txt": "the words of the softmax, one `word<TAB>count` per line",
        ORIGIN: "the card that the weights came with",
    }
    rows = [f"| `{name}` | {text} |" for name in names for start, text in what.items() if name.startswith(start)]
    return "\n".join(["| file | |", "|---|---|", *rows])
