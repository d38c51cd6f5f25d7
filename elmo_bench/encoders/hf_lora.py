"""What a run trains of a transformer that it tunes: all of it, or new LoRA adapters.

Adapters (Hu et al. 2021) are small matrices beside the query and value projections of
attention, whose product is added to these. The second one starts at zero, so the
network starts unchanged.
"""

from typing import Any

import torch
from torch import nn

from elmo_bench.base.errors import UserError

RANK = 8  # Hu et al. 2021, table 9, RoBERTa base: r of query and value
ALPHA = 8  # as above
# What models call the projections of query and value.
PROJECTIONS = (
    ("query", "value"),  # BERT, RoBERTa, ELECTRA
    ("q_proj", "v_proj"),  # Llama, Qwen, OPT, BART
    ("q_lin", "v_lin"),  # DistilBERT
    ("query_proj", "value_proj"),  # DeBERTa
    ("q", "v"),  # T5, MPNet
)


def prepare_training(network: nn.Module, tune: str, *, name: str, seed: int) -> None:
    """Let a network's numbers need gradients: all with `full`, adapters with `lora`.

    name: of the model, which begins the error. seed: of adapters. Raises UserError.
    """
    if tune == "lora":
        _add_adapters(network, name=name, seed=seed)
    else:
        network.requires_grad_(True)


def _add_adapters(network: nn.Module, *, name: str, seed: int) -> None:
    """Freeze a network and give its attention new adapters, drawn with a seed.

    Raises UserError without `peft`, and for a network without projections of query and
    value.
    """
    try:
        import peft
    except ImportError:
        raise UserError(
            "encoder.contextual.tune=lora: peft is not installed. "
            "Run pip install 'elmo-bench[adapters]'."
        ) from None
    targets = _projections(network, name)
    settings: dict[str, Any] = {"r": RANK, "lora_alpha": ALPHA, "lora_dropout": 0.0}
    config = peft.LoraConfig(target_modules=targets, **settings)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # no GPU's generator
        peft.inject_adapter_in_model(config, network)
    for parameter_name, parameter in network.named_parameters():
        parameter.requires_grad_("lora_" in parameter_name)


def _projections(network: nn.Module, name: str) -> list[str]:
    """The full names of the projections of query and value. Raises UserError."""
    linear = []
    for module_name, module in network.named_modules():
        if isinstance(module, nn.Linear):
            linear.append(module_name)
    ends = {module_name.rpartition(".")[2] for module_name in linear}
    for pair in PROJECTIONS:
        if ends >= {*pair}:
            return [part for part in linear if part.rpartition(".")[2] in pair]
    raise UserError(
        f"encoder.contextual.tune=lora: {name} has no attention whose projections of "
        "query and value are known. Choose tune=full."
    )
