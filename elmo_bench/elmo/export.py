"""A biLM in a folder: exported in the published layout, or saved and shared with huggingface_hub's ModelHubMixin."""

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
from elmo_bench.elmo.model import BiLM
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.pretrained import (
    SHIPPED,
    check_free,
    checksum_of,
    is_repository,
    locate,
    repository,
    softmax_files,
)
from elmo_bench.elmo.weights import load_files, write_hdf5, write_safetensors

PAPER = "https://aclanthology.org/N18-1202/"
ABOUT: Mapping[str, Any] = {"library_name": "elmo-bench", "tags": ["elmo", "bilm", "feature-extraction"]}
TEMPLATE = Path(__file__).parent / "card.md.j2"
DTYPES = {"float32": torch.float32, "float16": torch.float16, "int8": torch.int8}
HUB_OPTIONS = ("token", "cache_dir", "force_download", "local_files_only")  # of from_pretrained
Content = bytes | Path | Callable[[IO[bytes]], None]  # a file's bytes, another file, or a function that writes it


def model_card(
    options: BiLMOptions,
    *,
    checksum: str,
    license: str | None = None,
    language: str | list[str] | None = None,
    rows: Mapping[str, str] = MappingProxyType({}),
    **more: str,
) -> ModelCard:
    """The card of weights of this shape. `license` and `language` are codes of the Hub.

    Without a `license`, weights that ship have theirs. `rows` are added to the table; `more` may have `repo_id`,
    `title` and `description` (Markdown).
    """
    known = dict(SHIPPED.get(checksum, {}))
    known_license = known.pop("license", "unknown")
    with torch.device("meta"):
        parameters = sum(parameter.numel() for parameter in BiLM(options).parameters())
    return ModelCard.from_template(
        ModelCardData(**ABOUT, license=license or known_license, language=language),
        template_str=TEMPLATE.read_text(encoding="utf-8"),
        paper_url=PAPER,
        options=options,
        parameters=parameters,
        checksum=checksum,
        rows={**known, **rows},
        **more,
    )


class Shareable(ModelHubMixin, library_name=ABOUT["library_name"], tags=ABOUT["tags"], paper_url=PAPER):
    """`from_pretrained`, `save_pretrained` and `push_to_hub` of an encoder that was read from two `files`."""

    files: tuple[Path, Path]  # options, weights; missing if it was made of a biLM in memory
    source: str  # their checksum
    bilm: BiLM  # their weights

    def __new__(cls, *_: Any, **__: Any) -> Self:
        # The mixin's would keep the arguments, local paths among them, and save them as config.json.
        return super(ModelHubMixin, cls).__new__(cls)

    @classmethod
    def from_pretrained(cls, name_or_path: str | Path, *, revision: str | None = None, **keywords: Any) -> Self:  # type: ignore[override]
        """`cls(weights=name_or_path, **keywords)`; `revision` and HUB_OPTIONS of a repository on the Hub.

        Nothing in the files is executed. Raises UserError if there are no such weights.
        """
        weights = f"{name_or_path}@{revision}" if revision else str(name_or_path)
        options = {name: keywords.pop(name) for name in HUB_OPTIONS if name in keywords}
        if options and is_repository(weights) and not Path(weights).expanduser().exists():
            weights = str(repository(weights, **options))
        return cls(weights=weights, **keywords)

    def _save_pretrained(self, save_directory: Path) -> None:
        """Write options, weights with the same numbers as safetensors, and the softmax if there is one.

        Raises UserError if the folder has other weights.
        """
        if not hasattr(self, "files"):
            raise UserError(f"{save_directory}: these weights were not read from files. Save their training's output.")
        options, weights = self.files
        contents: dict[str, Content] = {"options.json": options, **softmax_files(weights)}
        check_free(save_directory, [*contents, "weights.safetensors"])
        if checksum_of(*self.files) != self.source:
            raise UserError(f"{weights}: changed since this encoder was made. Make the encoder again.")
        write = partial(write_safetensors, self.bilm, about={"from": self.source}, dtype=torch.float32)
        write_together(
            save_directory, contents | {"weights.safetensors": weights if weights.suffix == ".safetensors" else write}
        )

    def generate_model_card(self, **more: Any) -> ModelCard:
        """The card of these weights; see `model_card`."""
        return model_card(self.bilm.options, checksum=self.source, **more)


def export(weights: str, out: str | Path, *, options: str | None = None, overwrite: bool = False) -> list[Path]:
    """Write the weights that `pretrained.locate` finds to a folder, all files or none; returns the files.

    The files have the published layout: `options.json`, `weights.hdf5` in float32 (AllenNLP loads both without
    changes), the softmax and its vocabulary if they are next to the weights, and a card. Raises UserError if the folder
    has other weights, or (without `overwrite`) files of these names.
    """
    out = Path(out)
    options_file, weights_file = locate(weights, options)
    copied = softmax_files(weights_file)
    names = ["options.json", "weights.hdf5", *copied, "README.md"]
    check_free(out, names)
    if not overwrite and (there := [name for name in names if (out / name).exists()]):
        raise UserError(f"{out}: has {there[0]} already. Give another folder, or --overwrite.")
    bilm, checksum = load_files(options_file, weights_file)
    rows = {"these files": "float32, exported from the weights with that checksum"}
    card = model_card(bilm.options, checksum=checksum, rows=rows)
    contents: list[Content] = [json.dumps(bilm.options.to_json(), indent=1).encode(), partial(write_hdf5, bilm)]
    contents += [*copied.values(), f"{card}\n".encode()]
    write_together(out, dict(zip(names, contents, strict=True)))
    return [out / name for name in names]


def write_together(folder: Path, contents: Mapping[str, Content]) -> None:
    """Write files by name: they appear together, or none of them. Raises UserError as `files.atomic_write`."""
    with ExitStack() as stack:
        handles = [stack.enter_context(atomic_write(folder / name, "w+b")) for name in contents]
        for handle, content in zip(handles, contents.values(), strict=True):
            if callable(content):
                content(handle)
            else:
                handle.write(content if isinstance(content, bytes) else content.read_bytes())
            handle.flush()
