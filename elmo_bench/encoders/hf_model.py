"""A transformer's network and tokeniser, from files that may come from anybody."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules import module as torch_module

from elmo_bench.base.errors import UserError
from elmo_bench.base.int8 import ENDING, read_tensors
from elmo_bench.base.json import read_json
from elmo_bench.base.reading import AGAIN, check_pointer, reader, reading
from elmo_bench.encoders.hf_adapter import has_adapter, merge_adapter
from elmo_bench.encoders.hf_files import files_of, only_files, weights_of
from elmo_bench.encoders.hf_tokenisers import SAFELY, load_tokeniser

SPARE = 10**6  # numbers that a network may have that its files lack
# Modules and parameters that any network may have: 8 layers have about 300, and 128
# experts in each of them 10,000.
PARTS = 20_000
MASKS = 2**26  # bytes of buffers, such as causal masks, that any network may have
# A key of config.json that names the file of weights.
WEIGHTS_KEY = "transformers_weights"
# A key of config.json that names a library, which transformers then imports.
LIBRARY_KEY = "quantization_config"


@reader
def load_model(folder: Path) -> tuple[Any, Any]:
    """A folder's model and tokeniser. Raises UserError."""
    try:
        import transformers
    except ImportError:
        raise UserError(
            "encoder=hf: transformers is not installed. "
            "Run pip install 'elmo-bench[hf]'."
        ) from None
    logging.getLogger(transformers.__name__).setLevel(logging.ERROR)
    with (
        reading(folder, "a model that transformers can load"),
        only_files(folder) as files,
    ):
        for path in files_of(folder):
            check_pointer(path)
        config = _config(files)
        tokeniser = load_tokeniser(files, name=folder)
        model, drawn = _network(config, files)
    # What transformers makes up has nothing else.
    if len(tokeniser.get_vocab().keys() - {*tokeniser.all_special_tokens}) <= 1:
        raise UserError(
            f"encoder.name={folder}: no tokeniser there. "
            "Save it with tokenizer.save_pretrained(folder)."
        )
    _check_weights(model, drawn, folder)
    if has_adapter(folder):
        model = merge_adapter(model, folder)
    return _text_part(model, folder), tokeniser


def _config(folder: Path) -> Any:
    """The configuration of a model, with sdpa attention, or eager if it has no other.

    What `config.json` says of attention is not used, since it may name a kernel to
    download. A network that is too large to be built is refused, whatever its weights
    hold: it has fewer layers than its files have bytes / 1000, fewer numbers than they
    have bytes, and few modules and buffers for their size. Raises UserError.
    """
    from transformers import AutoConfig, AutoModel

    path = folder / "config.json"
    size = sum(file.stat().st_size for file in weights_of(folder))
    settings = read_json(path)
    if not isinstance(settings, dict) or not _has_depth(settings, size):
        raise UserError(
            f"{path}: not the configuration of these weights. "
            "Save the model again with save_pretrained."
        )
    if _has_key(settings, WEIGHTS_KEY):
        raise UserError(
            f"{path}: names a file of weights ({WEIGHTS_KEY}), which may be any file. "
            "Remove that key."
        )
    if _has_key(settings, LIBRARY_KEY):
        raise UserError(
            f"{path}: chooses a library for its numbers ({LIBRARY_KEY}). Save the "
            "model in float32 or bfloat16."
        )
    config = AutoConfig.from_pretrained(folder, **SAFELY)
    for part in _parts(config):
        # Under a name of its own, such as n_layer.
        if not _is_depth(getattr(part, "num_hidden_layers", None), size):
            raise UserError(
                f"{path}: more layers than these weights hold. "
                "Save the model again with save_pretrained."
            )
    config._attn_implementation = "eager"
    with torch.device("meta"), _at_most(PARTS + size // 1000, path):
        model = AutoModel.from_config(config, trust_remote_code=False)
    numbers = model.num_parameters()
    if numbers > SPARE + 2 * size:  # a pooler may be missing
        raise UserError(
            f"{path}: {numbers:,} numbers, but the weights have {size:,} bytes. "
            "Save the model again."
        )
    buffers = sum(buffer.nbytes for buffer in model.buffers())
    if buffers > MASKS + 2 * size:
        raise UserError(
            f"{path}: masks and tables of {buffers:,} bytes, but the weights have "
            f"{size:,}. Save the model again."
        )
    config._attn_implementation = "sdpa" if model._supports_sdpa else "eager"
    return config


@contextmanager
def _at_most(parts: int, path: Path) -> Iterator[None]:
    """In the block, a network of more modules and parameters raises UserError.

    A configuration may ask for any number of them under many names, such as
    num_experts or block_sizes, so they are counted while they are made.
    """
    thread = threading.get_ident()
    count = 0

    def count_part(*_: Any) -> None:
        nonlocal count
        if threading.get_ident() != thread:  # the hooks are the process's
            return
        count += 1
        if count > parts:
            raise UserError(
                f"{path}: more layers or experts than these weights hold. "
                "Save the model again with save_pretrained."
            )

    hooks = (
        torch_module.register_module_module_registration_hook(count_part),
        torch_module.register_module_parameter_registration_hook(count_part),
    )
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _has_key(settings: Any, wanted: str) -> bool:
    """Whether a key has a value, at any level."""
    if isinstance(settings, list):
        return any(_has_key(item, wanted) for item in settings)
    if not isinstance(settings, dict):
        return False
    if settings.get(wanted) is not None:
        return True
    return _has_key([*settings.values()], wanted)


def _has_depth(settings: Any, size: int) -> bool:
    """Whether each setting that may be a number of layers is one, at any level."""
    if isinstance(settings, list):
        return all(_has_depth(item, size) for item in settings)
    if not isinstance(settings, dict):
        return True
    for key, value in settings.items():
        if "layers" in key and not _is_depth(value, size):
            return False
    return _has_depth([*settings.values()], size)


def _parts(config: Any) -> Iterator[Any]:
    """A configuration and those inside it, such as the text_config of Gemma 3."""
    yield config
    for name in config.sub_configs:
        part = getattr(config, name, None)
        if part is not None:
            yield from _parts(part)


def _is_depth(value: Any, size: int) -> bool:
    """Whether a value may be a number of layers, or a list of such numbers."""
    if isinstance(value, list):
        return all(_is_depth(item, size) for item in value)
    if value is None or isinstance(value, bool | str | dict):
        return True
    return 0 <= value <= max(8, size / 1000)


def _network(config: Any, files: Path) -> tuple[Any, set[str]]:
    """The network, and the names of its weights that the files lack."""
    from transformers import AutoModel

    weights = weights_of(files)[-1]
    if weights.name.endswith(ENDING):
        return _from_int8(config, weights)
    model, about = AutoModel.from_pretrained(
        files,
        use_safetensors=weights.suffix == ".safetensors",
        config=config,
        weights_only=True,
        dtype=torch.float32,
        ignore_mismatched_sizes=True,
        output_loading_info=True,
        **SAFELY,
    )
    mismatched = {name for name, *_ in about["mismatched_keys"]}
    return model, about["missing_keys"] | mismatched


def to_bfloat16(model: Any) -> None:
    """Convert the numbers of a network, in place, but not its frequencies.

    Rotary positions are multiples of frequencies (`inv_freq`), which transformers
    computes in float32: in bfloat16 the cosine of position 900 is wrong by up to 0.3.
    Other buffers, such as tables of positions, are added to vectors, so they have the
    type of these.
    """
    for parameter in model.parameters():
        parameter.data = parameter.data.to(torch.bfloat16)
    for name, buffer in model.named_buffers():
        if buffer.is_floating_point() and "freq" not in name.rpartition(".")[2]:
            buffer.data = buffer.data.to(torch.bfloat16)


def _from_int8(config: Any, weights: Path) -> tuple[Any, set[str]]:
    """`_network` from an int8 file (`int8.py`)."""
    from transformers import AutoModel

    model = AutoModel.from_config(config, trust_remote_code=False, dtype=torch.float32)
    prefix = f"{model.base_model_prefix}."
    tensors = {}
    for name, tensor in read_tensors(weights).items():
        tensors[name.removeprefix(prefix)] = tensor
    result = model.load_state_dict(tensors, strict=False)
    return model, set(result.missing_keys)


def _check_weights(model: Any, drawn: set[str], folder: Path) -> None:
    """Raises UserError if a weight is missing or not finite.

    drawn: the names of weights that the files lack, which transformers initialises at
    random. A pooler, and a decoder after an encoder, are not used.
    """
    unread = {"pooler"}
    if model.config.is_encoder_decoder:
        unread.add("decoder")
    lacking = sorted(name for name in drawn if not unread & set(name.split(".")))
    if lacking:
        raise UserError(
            f"encoder.name={folder}: {len(lacking)} of the weights in config.json are "
            f"missing in its files, or have another size, such as {lacking[0]}. Save "
            "the model again with save_pretrained."
        )
    for name, values in sorted(model.named_parameters()):
        if not values.isfinite().all():
            raise UserError(
                f"{folder}: '{name}' has numbers that are not finite. {AGAIN}"
            )


def _text_part(model: Any, folder: Path) -> Any:
    """The part of a network that reads text: its encoder, or its language model.

    Gemma 3, Qwen 3.5 and others read images, too. The language model is then a part
    whose configuration is the `text_config`. Raises UserError if there is none.
    """
    from transformers import PreTrainedModel

    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    config = model.config.get_text_config()
    if config is model.config:
        return model
    for part in model.modules():
        if isinstance(part, PreTrainedModel) and part.config is config:
            return part
    raise UserError(
        f"encoder.name={folder}: {type(model).__name__} does not only read text, and "
        "the part of its text_config was not found. Save its language model."
    )
