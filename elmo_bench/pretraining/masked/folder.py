"""What a trained masked language model is on disk: configuration, weights, tokenizer and card."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import ModelCard, ModelCardData
from safetensors.torch import save

from elmo_bench.base.files import atomic_write, sha256_of
from elmo_bench.base.int8 import write_int8
from elmo_bench.pretraining.card import STORED, command_line, hardware, licence_of
from elmo_bench.pretraining.masked.text import SPECIAL
from elmo_bench.pretraining.masked.train import Training

INT8, FLOAT16 = "model.int8.safetensors", "model.safetensors"
TIED = "cls.predictions.decoder."  # the output layer is the embedding of the pieces
ABOUT: Mapping[str, Any] = {"library_name": "transformers", "pipeline_tag": "fill-mask", "tags": ["elmo-bench", "bert"]}
RECIPE = (
    "batch", "width", "share", "learning_rate", "warmup", "betas", "epsilon", "weight_decay", "clip", "dropout",
    "precision", "tokenizer_lines", "seed",
)  # fmt: skip
TEMPLATE = """---
{{ card_data }}
---

# {{ title }}

A small BERT, trained from scratch as a masked language model with whole-word masking. elmo-bench reads
this folder with `encoder=hf encoder.name=FOLDER`{{ plain }}.

| | |
|---|---|
{%- for name, value in rows %}
| {{ name }} | {{ value }} |
{%- endfor %}

To make it again:

    {{ command }}

| file | bytes | SHA-256 |
|---|---:|---|
{%- for name, size, digest in files %}
| `{{ name }}` | {{ size }} | `{{ digest }}` |
{%- endfor %}

The held-out loss is the mean cross-entropy, in nats, at masked pieces with fixed masks, measured on the stored weights.
Rows "alone" hold sentences that do not see each other, as an encoder reads them; rows "together" hold consecutive
sentences that do. Losses of models with other pieces or masks are not comparable.
"""


def save_tokenizer(folder: Path, tokenizer: str, *, longest: int) -> None:
    """Write `tokenizer.json` and its configuration, as `transformers` reads them."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    pad, unk, cls, sep, mask = SPECIAL
    PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tokenizer),
        pad_token=pad, unk_token=unk, cls_token=cls, sep_token=sep, mask_token=mask, model_max_length=longest,
    ).save_pretrained(folder)  # fmt: skip


def weights_of(model: Any) -> dict[str, torch.Tensor]:
    """The tensors that are stored: all but the output layer, which is tied."""
    return {name: tensor for name, tensor in model.state_dict().items() if not name.startswith(TIED)}


def save_model(model: Any, folder: Path, *, dtype: str) -> None:
    """Write `config.json` and the weights, as int8 (see `base/int8.py`) or float16."""
    with atomic_write(folder / "config.json", "w") as file:
        json.dump({**model.config.to_diff_dict(), "architectures": ["BertForMaskedLM"]}, file, indent=1, default=str)
    if dtype == "int8":
        write_int8(folder / INT8, weights_of(model))
        return
    with atomic_write(folder / FLOAT16) as file:
        half = {name: tensor.half().cpu().contiguous() for name, tensor in weights_of(model).items()}
        file.write(save(half, metadata={"format": "pt"}))


def save_card(
    training: Training,
    *,
    text: Mapping[str, Any],
    heldout: Mapping[str, float],
    arguments: Sequence[str],
) -> None:
    """Write `README.md` from the run; `text` has the names of the files and the counts of `text.Rows`."""
    config, model, out = training.config, training.model, training.out
    shape = model.config
    files = [out / "config.json", out / (INT8 if config.dtype == "int8" else FLOAT16), out / "tokenizer.json"]
    code, named = licence_of(str(config.licence))
    embedding = shape.vocab_size * shape.hidden_size
    names = text["files"]
    rows = {
        "shape": f"BERT with {shape.num_hidden_layers} blocks, {shape.hidden_size} wide, {shape.num_attention_heads} "
        f"heads; layers `[{1 + shape.num_hidden_layers}, T, {shape.hidden_size}]`; {config.width} positions",
        "parameters": f"{sum(each.numel() for each in model.parameters()):,}, of them {embedding:,} in the embeddings "
        "of the pieces, which are also the output layer",
        "pieces": f"{shape.vocab_size:,}, cased WordPiece",
        "text": f"{names[0]}{f' to {names[-1]}, {len(names)} files' if len(names) > 1 else ''}: "
        f"{text['words']:,} words, {text['pieces']:,} pieces, {text['sentences']:,} sentences",
        "licence of the text": str(config.licence),
        "masks": f"{config.share:.0%} of the words, whole; 80 % [MASK], 10 % random, 10 % unchanged; new in each pass",
        "recipe": "AdamW, " + ", ".join(f"{name} {config[name]}" for name in RECIPE),
        "read": f"{training.steps:,} steps, {training.pieces:,} pieces, {training.passes:.2f} passes over the text, "
        "half of them with each sentence alone",
        "cost": f"{training.clock.seconds / 60:.1f} minutes with compilation, {hardware(training.device.type)}, torch "
        f"{torch.__version__}",
        "stored": STORED[config.dtype],
        **{f"held-out loss, rows {name}": f"**{loss:.4f}**" for name, loss in heldout.items()},
    }
    card = ModelCard.from_template(
        ModelCardData(**ABOUT, **named, license=code, language="en"),
        template_str=TEMPLATE,
        title=out.name,
        plain="" if config.dtype == "int8" else ", and so does `transformers`",
        rows=list(rows.items()),
        command=command_line("pretrain-masked", arguments),
        files=[(file.name, f"{file.stat().st_size:,}", sha256_of(file)) for file in files],
    )
    with atomic_write(out / "README.md", "w") as file:
        file.write(str(card) + "\n")
