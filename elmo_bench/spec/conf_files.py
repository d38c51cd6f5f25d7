"""The yaml files of `conf/` and of included folders: finding them and reading them."""

import itertools
import math
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import config_folders
from elmo_bench.base.reading import reader
from elmo_bench.base.sources import as_list
from elmo_bench.spec.options import guess

MOST_NODES = 100_000  # of a yaml
CONF = Path(__file__).resolve().parents[1] / "conf"


def choices(group: str) -> list[str]:
    """The names that a config group offers.

    These are the yaml files of `conf/<group>` and of included folders.
    """
    return sorted(config_files(group))


def config_file(group: str, name: Any, folder: Path = CONF) -> Path:
    """The yaml file of a choice.

    Raises UserError, with the names that the group offers, if there is none.
    """
    files = config_files(group, folder)
    if isinstance(name, str) and name in files:
        return files[name]
    offered = ", ".join(sorted(files))
    hint = guess(str(name), files)
    if not hint and group in ("task", "encoder"):
        hint = (
            "; or give the folder that has it: --include FOLDER, "
            "or set $ELMO_BENCH_INCLUDE"
        )
    raise UserError(f"{group}={name}: unknown {group}; choose one of: {offered}{hint}")


def config_files(group: str, folder: Path = CONF) -> dict[str, Path]:
    """The yaml file of each choice of a group, by the name of the choice.

    The included folders extend the configs of the installation.
    """
    folders = config_folders(folder) if folder == CONF else [folder]
    files: dict[str, Path] = {}
    for conf in reversed(folders):  # the installation comes last: its files win
        for path in (conf / group).glob("*.yaml"):
            files[path.stem] = path
    return files


@reader
def experiment_yaml(name: Any, folder: Path = CONF) -> dict[str, Any]:
    """`conf/experiment/<name>.yaml` as plain data.

    Its sweep is a list of mappings from options to lists of values. Raises UserError
    for an unknown name and a damaged file.
    """
    path = config_file("experiment", name, folder)
    content = plain_yaml(path)
    missing = {"about", "sweep"} - content.keys()
    if missing:
        keys = " and ".join(sorted(missing))
        raise UserError(f"{path}: no {keys}. See the others in its folder.")
    parts = as_list(content["sweep"])
    if not parts or not all(_maps_options(part) for part in parts):
        raise UserError(
            f"{path}: sweep: not a mapping from options to values, "
            "or a list of them. Fix it."
        )
    sweep = []
    for part in parts:
        sweep.append({option: as_list(values) for option, values in part.items()})
    return content | {"sweep": sweep}


def _maps_options(part: Any) -> bool:
    return isinstance(part, dict) and all(isinstance(key, str) for key in part)


def plain_yaml(path: Path) -> dict[str, Any]:
    """The content of a yaml as plain data, interpolations unresolved.

    A file that is not there has the content {}. Raises UserError.
    """
    source = path.read_bytes() if path.is_file() else b""
    return _parsed_once(path, source)


@cache
def _parsed_once(path: Path, source: bytes) -> dict[str, Any]:
    """The content of a yaml with this source: a file that changes is parsed again.

    Parsing an experiment's yaml would take a fifth of composing each run of it.
    """
    content, _ = load_yaml(path)
    return OmegaConf.to_container(content)  # type: ignore[return-value]


def load_yaml(path: Path) -> tuple[DictConfig, list[Any]]:
    """(the content of a yaml without its `defaults`, the `defaults`).

    Raises UserError.
    """
    content = _content(path)
    if not isinstance(content, DictConfig):
        raise UserError(
            f"{path}: a list, not a mapping. Write names and values into it."
        )
    node = OmegaConf.create({"list": content.pop("defaults", [])})
    plain: Any = OmegaConf.to_container(node)
    defaults = plain["list"]
    if not _is_list_of_names(defaults):
        raise UserError(
            f"{path}: defaults is not a list of names. See the others in its folder."
        )
    return content, defaults


def copied(config: DictConfig | ListConfig) -> Any:
    """A deep copy. `copy.deepcopy` takes several times as long."""
    return pickle.loads(pickle.dumps(config))


def _content(path: Path) -> DictConfig | ListConfig:
    try:
        return copied(_read_once(path, path.read_bytes()))
    except (
        yaml.YAMLError,
        UnicodeDecodeError,
        OSError,
        OmegaConfBaseException,
        RecursionError,
    ) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else f"{path}"
        why = getattr(error, "problem", first_line(error))
        raise UserError(f"{where} cannot be read as YAML ({why}). Fix it.") from None


@cache
def _read_once(path: Path, source: bytes) -> DictConfig | ListConfig:
    """The content of a yaml with this source: a file that changes is read again."""
    _check_aliases(path)
    return OmegaConf.load(path)


def _check_aliases(path: Path) -> None:
    """Raises UserError for aliases that expand to more than MOST_NODES nodes.

    A few nested aliases take seconds and gigabytes to expand.
    """
    text = path.read_text(encoding="utf-8")
    if "&" not in text or "*" not in text:
        return
    sizes: dict[int, float] = {}

    def size(node: yaml.Node | None) -> float:
        if not isinstance(node, yaml.CollectionNode):
            return 1
        if id(node) not in sizes:
            sizes[id(node)] = math.inf  # of an alias inside itself
            parts: Any = node.value
            if isinstance(node, yaml.MappingNode):
                parts = itertools.chain.from_iterable(parts)
            sizes[id(node)] = 1 + sum(map(size, parts))
        return sizes[id(node)]

    if size(yaml.compose(text, yaml.SafeLoader)) > MOST_NODES:
        raise UserError(
            f"{path}: its aliases stand for more than {MOST_NODES:,} values. "
            "Write them out."
        )


def _is_list_of_names(defaults: Any) -> bool:
    if not isinstance(defaults, list):
        return False
    return all(isinstance(entry, str | dict) for entry in defaults)


def first_line(error: Exception) -> str:
    """The first line of an error's message."""
    if isinstance(error, RecursionError):
        return "too many lists or mappings inside each other"
    return str(error).strip().splitlines()[0]
