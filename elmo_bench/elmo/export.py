"""A biLM in a folder: exported, or saved and shared.

It is exported in the published layout. huggingface_hub's ModelHubMixin saves and shares
it.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Self

import torch
from huggingface_hub import ModelCard, ModelCardData, ModelHubMixin

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.refusals import disk_errors
from elmo_bench.elmo.model import BiLM
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.pretrained import (
    SHIPPED,
    check_free,
    checksum_of,
    fetch_softmax,
    is_repository,
    locate,
    repository,
)
from elmo_bench.elmo.softmax_files import softmax_files
from elmo_bench.elmo.weights import load_files, write_hdf5, write_safetensors

PAPER = "https://aclanthology.org/N18-1202/"
ABOUT: Mapping[str, Any] = {
    "library_name": "elmo-bench",
    "tags": ["elmo", "bilm", "feature-extraction"],
}
TEMPLATE = Path(__file__).parent / "card.md.j2"
DTYPES = {"float32": torch.float32, "float16": torch.float16, "int8": torch.int8}
# Of from_pretrained.
HUB_OPTIONS = ("token", "cache_dir", "force_download", "local_files_only")
# A file's bytes, another file, or a function that writes it.
Content = bytes | Path | Callable[[IO[bytes]], None]


def model_card(
    options: BiLMOptions,
    *,
    checksum: str,
    license: str | None = None,
    language: str | list[str] | None = None,
    rows: Mapping[str, str] = MappingProxyType({}),
    **more: str,
) -> ModelCard:
    """The card of weights of this shape.

    `license` and `language` are codes of the Hub. Without a `license`, weights that
    ship have theirs. `rows` are added to the table; `more` may have `repo_id`, `title`
    and `description` (Markdown).
    """
    shipped = dict(SHIPPED.get(checksum, {}))
    shipped_license = shipped.pop("license", "unknown")
    with torch.device("meta"):
        bilm = BiLM(options)
    return ModelCard.from_template(
        ModelCardData(**ABOUT, license=license or shipped_license, language=language),
        template_str=TEMPLATE.read_text(encoding="utf-8"),
        paper_url=PAPER,
        options=options,
        parameters=sum(parameter.numel() for parameter in bilm.parameters()),
        checksum=checksum,
        rows={**shipped, **rows},
        **more,
    )


class Shareable(
    ModelHubMixin,
    library_name=ABOUT["library_name"],
    tags=ABOUT["tags"],
    paper_url=PAPER,
):
    """`from_pretrained`, `save_pretrained` and `push_to_hub` of an encoder.

    The encoder was read from two `files`.
    """

    files: tuple[Path, Path]  # options, weights; missing for a biLM in memory
    source: str  # their checksum
    bilm: BiLM  # their weights

    def __new__(cls, *_: Any, **__: Any) -> Self:
        # The mixin's would keep the arguments, local paths among them, and save them as
        # config.json.
        return super(ModelHubMixin, cls).__new__(cls)

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, name_or_path: str | Path, *, revision: str | None = None, **keywords: Any
    ) -> Self:
        """`cls(weights=name_or_path, **keywords)`.

        `revision` and HUB_OPTIONS are of a repository on the Hub. Nothing in the files
        is executed. Raises UserError if there are no such weights.
        """
        weights = str(name_or_path)
        if revision:
            weights = f"{weights}@{revision}"
        options = {}
        for name in HUB_OPTIONS:
            if name in keywords:
                options[name] = keywords.pop(name)
        on_hub = is_repository(weights) and not Path(weights).expanduser().exists()
        if options and on_hub:
            weights = str(repository(weights, **options))
        return cls(weights=weights, **keywords)

    def _save_pretrained(self, save_directory: Path) -> None:
        """Write options, weights as safetensors, and the softmax if there is one.

        The weights have the same numbers. Raises UserError if the folder has other
        weights.
        """
        if not hasattr(self, "files"):
            raise UserError(
                f"{save_directory}: these weights were not read from files. Save their "
                "training's output."
            )
        options, weights = self.files
        fetch_softmax(weights)
        contents: dict[str, Content] = {
            "options.json": options,
            **softmax_files(weights),
        }
        check_free(save_directory, [*contents, "weights.safetensors"])
        if checksum_of(*self.files) != self.source:
            raise UserError(
                f"{weights}: changed since this encoder was made. Make the encoder "
                "again."
            )
        if weights.suffix == ".safetensors":
            contents["weights.safetensors"] = weights
        else:
            about = {"from": self.source}
            contents["weights.safetensors"] = partial(
                write_safetensors, self.bilm, about=about, dtype=torch.float32
            )
        write_together(save_directory, contents)

    def generate_model_card(self, **more: Any) -> ModelCard:
        """The card of these weights; see `model_card`."""
        return model_card(self.bilm.options, checksum=self.source, **more)


def export(
    weights: str,
    out: str | Path,
    *,
    options: str | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Write the weights that `pretrained.locate` finds to a folder; returns the files.

    All files are written, or none. They have the published layout: `options.json`,
    `weights.hdf5` in float32 (AllenNLP loads both without changes), the softmax and its
    vocabulary if they are next to the weights or in their repository, and a card.
    Raises UserError if the folder has other weights, or (without `overwrite`) files of
    these names.
    """
    out = Path(out)
    options_file, weights_file = locate(weights, options)
    fetch_softmax(weights_file)
    softmax = softmax_files(weights_file)
    names = ["options.json", "weights.hdf5", *softmax, "README.md"]
    check_free(out, names)
    existing = [name for name in names if (out / name).exists()]
    if existing and not overwrite:
        raise UserError(
            f"{out}: has {existing[0]} already. Give another folder, or --overwrite."
        )
    bilm, checksum = load_files(options_file, weights_file)
    card = model_card(
        bilm.options,
        checksum=checksum,
        rows={"these files": "float32, exported from the weights with that checksum"},
    )
    contents: dict[str, Content] = {
        "options.json": json.dumps(bilm.options.to_json(), indent=1).encode(),
        "weights.hdf5": partial(write_hdf5, bilm),
        **softmax,
        "README.md": f"{card}\n".encode(),
    }
    write_together(out, contents)
    return [out / name for name in names]


def write_together(folder: Path, contents: Mapping[str, Content]) -> None:
    """Write files by name: they appear together, or none of them.

    Raises UserError as `files.atomic_write`.
    """
    with ExitStack() as stack:
        handles = [
            stack.enter_context(atomic_write(folder / name, "w+b")) for name in contents
        ]
        for handle, (name, content) in zip(handles, contents.items(), strict=True):
            with disk_errors(folder / name):
                if callable(content):
                    content(handle)
                elif isinstance(content, bytes):
                    handle.write(content)
                else:
                    handle.write(content.read_bytes())
                handle.flush()
