"""LoRA adapters (Hu et al. 2021) of a network, as the library `peft` saves them.

An adapter is two files in the folder of its base model: a configuration, and small
matrices whose products are added to weights. The configuration may come from anybody,
so it chooses no class and no other file: only its numbers are given to `peft`.
"""

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import read_json
from elmo_bench.base.notes import note
from elmo_bench.base.reading import reader, reading

if TYPE_CHECKING:  # a finished run is found without torch
    from torch import Tensor

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
FILES = (CONFIG, WEIGHTS)
MERGE = "Merge it with model.merge_and_unload() and save the model."
PREFIX = "base_model.model."  # of the names that `peft` saves
# Settings of a configuration that say which weights change, and how.
SETTINGS = (
    *("r", "lora_alpha", "target_modules", "exclude_modules", "bias", "use_rslora"),
    *("fan_in_fan_out", "rank_pattern", "alpha_pattern", "layers_to_transform"),
    *("layers_pattern", "lora_bias"),
)
# Of these, the ones that `peft` reads as regular expressions, or as names of modules,
# which are enough. A stranger's expression could take hours.
PATTERNS = (
    *("target_modules", "exclude_modules", "layers_pattern"),
    *("rank_pattern", "alpha_pattern"),
)
NAME = re.compile(r"[\w.]+")
ALL = "all-linear"  # of target_modules
# Settings that change nothing once the adapter is trained.
UNUSED = (
    *("peft_type", "peft_version", "base_model_name_or_path", "revision", "task_type"),
    *("inference_mode", "lora_dropout", "auto_mapping", "modules_to_save"),
    *("loftq_config", "eva_config", "corda_config", "qalora_group_size"),
    *("megatron_core", "ensure_weight_tying", "runtime_config"),
)


def has_adapter(folder: Path) -> bool:
    """Whether there is an adapter with the model."""
    return any((folder / name).is_file() for name in FILES)


def merge_adapter(model: Any, folder: Path) -> Any:
    """The network with the adapter of its folder.

    Raises UserError for an adapter that is not LoRA or does not fit the network, and
    if `peft` is not installed.
    """
    settings, tensors = read_adapter(folder)
    try:
        import peft
    except ImportError:
        raise UserError(
            f"{folder}: has an adapter, and peft is not installed. Run pip install "
            f"'elmo-bench[adapters]'. Or: {MERGE}"
        ) from None
    with reading(folder / CONFIG, "the LoRA adapter of this model", MERGE):
        ours = _for_network(tensors, model)
        _check_ranks(settings, ours)
        with warnings.catch_warnings():  # of peft, about transformers
            warnings.simplefilter("ignore", FutureWarning)
            adapted = peft.PeftModel(model, peft.LoraConfig(**settings))
        result = peft.set_peft_model_state_dict(adapted, ours)
        _check_all_read(result)
        merged = adapted.merge_and_unload(safe_merge=True)
    note("its LoRA adapter is merged into the model", folder)
    return merged


@reader
def read_adapter(folder: Path) -> tuple[dict[str, Any], dict[str, "Tensor"]]:
    """The settings that `peft` needs, and the tensors by their names in the file.

    Raises UserError for an adapter that is not LoRA, and for damaged files.
    """
    path = folder / WEIGHTS
    if not (folder / CONFIG).is_file() or not path.is_file():
        raise UserError(
            f"{folder}: an adapter needs {CONFIG} and {WEIGHTS}. Save it again with "
            "save_pretrained, or remove its files."
        )
    settings = _settings(folder / CONFIG)
    with reading(path, "the weights of an adapter"):
        from safetensors.torch import load_file

        return settings, load_file(path)


def _settings(path: Path) -> dict[str, Any]:
    """The settings of a LoRA adapter that `peft` needs. Raises UserError for others."""
    config = read_json(path)
    kind = config.get("peft_type") if isinstance(config, dict) else None
    if kind != "LORA":
        raise UserError(f"{path}: an adapter of kind {kind!r:.40}, not LORA. {MERGE}")
    for name, value in config.items():
        is_random = name == "init_lora_weights" and value in (True, "gaussian")
        if value and not is_random and name not in (*SETTINGS, *UNUSED):
            raise UserError(
                f"{path}: {name:.60} is a setting that is not supported. {MERGE}"
            )
    settings = {}
    for name in SETTINGS:
        if config.get(name) is not None:
            settings[name] = config[name]
    for name in PATTERNS:
        if settings.get(name):
            _check_names(settings[name], f"{path}: {name}")
    return settings


def _check_names(value: Any, where: str) -> None:
    """Raise UserError unless all texts of a setting are names of modules.

    value: a text, a list of texts, or texts with their numbers.
    """
    for text in value if isinstance(value, list | dict) else [value]:
        is_name = isinstance(text, str) and NAME.fullmatch(text)
        if not is_name and text != ALL:
            raise UserError(
                f"{where} has {text!r:.60}, expected names of modules. List them, "
                f"or: {MERGE}"
            )


def _for_network(tensors: dict[str, "Tensor"], model: Any) -> dict[str, "Tensor"]:
    """The tensors under the names of a network without a head.

    An adapter of a model with a head has names such as `bert.encoder…`. A head that was
    trained with it is not used.
    """
    inner = f"{model.base_model_prefix}."
    parameters = {name for name, _ in model.named_parameters()}
    ours = {}
    for name, tensor in tensors.items():
        inside = name.removeprefix(PREFIX).removeprefix(inner)
        if "lora_" in name or inside in parameters:
            ours[PREFIX + inside] = tensor
    return ours


def _check_ranks(settings: dict[str, Any], tensors: dict[str, "Tensor"]) -> None:
    """Raises ValueError for ranks that the file does not hold: they take memory."""
    ranks = {int(settings.get("r", 0)), *settings.get("rank_pattern", {}).values()}
    largest = max((min(tensor.shape) for tensor in tensors.values()), default=0)
    if not all(0 < rank <= largest for rank in ranks):
        raise ValueError(f"ranks {sorted(ranks)}, but its matrices have {largest}")


def _check_all_read(result: Any) -> None:
    """Raises ValueError for tensors that the network or the file lacks."""
    missing = [name for name in result.missing_keys if "lora_" in name]
    wrong = sorted([*result.unexpected_keys, *missing])
    if wrong:
        raise ValueError(f"{wrong[0]} is in the file or the network alone")
