"""Saving an encoder to a folder, and sharing it on the Hugging Face Hub."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Self

from huggingface_hub import ModelCard, ModelHubMixin
from huggingface_hub.errors import HfHubHTTPError, HTTPError

from elmo_bench.base.downloads import offline
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.elmo.frozen import FrozenBiLM
from elmo_bench.elmo.hub import is_repository, repository
from elmo_bench.elmo.model_card import ABOUT, PAPER, TEMPLATE, model_card
from elmo_bench.elmo.pretrained import check_free, checksum_of, softmax_files
from elmo_bench.elmo.weights import as_safetensors

Content = bytes | Path | Callable[[IO[bytes]], None]  # a file's bytes, another file, or a function that writes it


class Shareable(
    ModelHubMixin,
    library_name=ABOUT["library_name"],
    tags=ABOUT["tags"],
    paper_url=PAPER,
    model_card_template=TEMPLATE,
):
    """`from_pretrained`, `save_pretrained` and `push_to_hub` of an encoder that was read from two `files`."""

    files: tuple[Path, Path]  # options, weights; missing if it was made of a biLM in memory
    source: str  # their checksum
    frozen: FrozenBiLM  # their weights

    def __new__(cls, *_: Any, **__: Any) -> Self:
        # The mixin's would keep the arguments, local paths among them, and save them as config.json.
        return super(ModelHubMixin, cls).__new__(cls)

    @classmethod
    def from_pretrained(  # type: ignore[override]  # no config.json is read: `__init__` alone has the options
        cls, name_or_path: str | Path, *, revision: str | None = None, token: str | bool | None = None,
        cache_dir: str | Path | None = None, force_download: bool = False, local_files_only: bool = False,
        **keywords: Any,
    ) -> Self:  # fmt: skip
        """`cls(weights=name_or_path, **keywords)`; the other options are for a repository on the Hub.

        Nothing in the files is executed. Raises UserError if there are no such weights.
        """
        weights = str(name_or_path)
        if is_repository(weights) and not Path(weights).expanduser().exists():
            options: dict[str, Any] = {"token": token, "cache_dir": cache_dir, "force_download": force_download}
            weights = str(repository(weights, revision=revision, local_files_only=local_files_only, **options))
        return cls(weights=weights, **keywords)

    def save_pretrained(self, save_directory: str | Path, **keywords: Any) -> str | None:  # type: ignore[override]
        """Save options, weights and, unless there is a README.md, a card; `from_pretrained` gives the same vectors.

        `keywords` are the mixin's, among them `model_card_kwargs` (see `generate_model_card`). Raises UserError.
        """
        try:
            return super().save_pretrained(save_directory, **keywords)
        except OSError as error:
            raise UserError(f"{save_directory}: cannot be written ({error.strerror or error})") from None

    def _save_pretrained(self, save_directory: Path) -> None:
        """Write `options.json`, `weights.safetensors` with the same numbers, and the softmax if there is one.

        Raises UserError if the folder has other weights.
        """
        if not hasattr(self, "files"):
            raise UserError(f"{save_directory}: these weights were not read from files. Save their training's output.")
        options, weights = self.files
        copied = {"options.json": options, **softmax_files(weights)}
        check_free(save_directory, [*copied, "weights.safetensors"])
        if checksum_of(*self.files) != self.source:
            raise UserError(f"{weights}: changed since this encoder was made. Make the encoder again.")
        write_together(
            save_directory,
            copied | {"weights.safetensors": as_safetensors(weights, self.frozen.options, {"from": self.source})},
        )

    def push_to_hub(self, repo_id: str, **keywords: Any) -> str:  # type: ignore[override]
        """Save to a repository on the Hub, made if needed; returns the commit's address. `hf auth login` first.

        `keywords` are the mixin's, among them `private`, `branch`, `commit_message` and `model_card_kwargs` (see
        `generate_model_card`). Raises UserError if the Hub refuses or cannot be reached.
        """
        if offline():
            raise UserError(
                f"{repo_id}: not uploaded, because $ELMO_BENCH_OFFLINE or $HF_HUB_OFFLINE is set. Unset it."
            )
        about = {"repo_id": repo_id} | (keywords.pop("model_card_kwargs", None) or {})
        try:
            return super().push_to_hub(repo_id, model_card_kwargs=about, **keywords)
        except (HfHubHTTPError, HTTPError, OSError, ValueError, RuntimeError) as error:
            why = " ".join(str(error).split()) or type(error).__name__
            raise UserError(f"{repo_id}: not uploaded to the Hub ({why})") from None

    def generate_model_card(
        self, *, license: str = "unknown", language: str | list[str] | None = None, **more: Any
    ) -> ModelCard:
        """The card of these weights: `license` and `language` are codes of the Hub, `description` is free text."""
        about = self._hub_mixin_info.model_card_data.to_dict()
        options = self.frozen.options
        return model_card(options, checksum=self.source, license=license, language=language, about=about, **more)


def write_together(folder: Path, contents: Mapping[str, Content]) -> None:
    """Write files by name: they appear together, or none of them.

    Raises UserError as `files.atomic_write`.
    """
    with ExitStack() as stack:
        handles = [stack.enter_context(atomic_write(folder / name, "w+b")) for name in contents]
        for handle, content in zip(handles, contents.values(), strict=True):
            if callable(content):
                content(handle)
            else:
                handle.write(content if isinstance(content, bytes) else content.read_bytes())
            handle.flush()
