"""The card (README.md) of a biLM: YAML for the Hugging Face Hub, a description and an example."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
from huggingface_hub import ModelCard, ModelCardData

from elmo_bench.elmo.model import BiLM
from elmo_bench.elmo.options import BiLMOptions

PAPER = "https://aclanthology.org/N18-1202/"
ABOUT: Mapping[str, Any] = {"library_name": "elmo-bench", "tags": ["elmo", "bilm", "feature-extraction"]}
TEMPLATE = """---
{{ card_data }}
---

# {{ title | default(repo_id, true) | default("A biLM (ELMo)", true) }}

A frozen biLM as described by [Peters et al. 2018]({{ paper }}). It turns a tokenised sentence into layers
`[{{ layers }}, T, {{ dim }}]`: the character vectors, then one layer for each pair of LSTMs.

| | |
|---|---|
{%- for name, value in rows %}
| {{ name }} | {{ value }} |
{%- endfor %}
{% if description %}
{{ description }}
{% endif %}
```python
from elmo_bench import ElmoEncoder

encoder = ElmoEncoder.from_pretrained("{{ repo_id | default("user/repo", true) }}")
[layers] = encoder.encode([["A", "sentence", "."]])
```

{{ files }}
"""
FILES = "`options.json` has the published schema, `weights.safetensors` the arrays under their published names."


def model_card(
    options: BiLMOptions,
    *,
    checksum: str,
    license: str = "unknown",
    language: str | list[str] | None = None,
    about: Mapping[str, Any] = ABOUT,
    rows: Mapping[str, str] = MappingProxyType({}),
    files: str = FILES,
    **more: str,
) -> ModelCard:
    """The card of weights of this shape. `license` and `language` are codes of the Hub, `about` is more YAML.

    `rows` are added to the table; `more` may have `repo_id`, `title` and `description` (Markdown).
    """
    with torch.device("meta"):
        parameters = sum(parameter.numel() for parameter in BiLM(options).parameters())
    filters = sum(number for _, number in options.filters)
    widths = ", ".join(str(width) for width, _ in options.filters)
    convolutions = f"{filters:,} filters of widths {widths}, {options.activation}"
    cells = f"{options.lstm_dim:,} cells projected to {options.projection_dim}"
    table = {
        "character CNN": f"{convolutions}, highway layers: {options.highways}",
        "LSTMs": f"{options.layers} in each direction, {cells}",
        "parameters": f"{parameters:,}",
        "checksum": f"`{checksum}`",
        **rows,
    }
    return ModelCard.from_template(
        ModelCardData(**about, license=license, language=language),
        template_str=TEMPLATE,
        paper=PAPER,
        layers=1 + options.layers,
        dim=2 * options.projection_dim,
        rows=[(name, " ".join(value.split()).replace("|", "\\|")) for name, value in table.items()],
        files=files,
        **more,
    )
