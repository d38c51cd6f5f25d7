"""Saving an encoder to a folder, and sharing it on the Hugging Face Hub."""

from pathlib import Path
from typing import Any, Self

from huggingface_hub import ModelCard, ModelHubMixin
from huggingface_hub.errors import HfHubHTTPError, HTTPError

from elmo_bench.base.downloads import offline
from elmo_bench.base.errors import UserError
from elmo_bench.elmo.beside import SOFTMAX, check_free, softmax_beside, vocabulary_name
from elmo_bench.elmo.bilm import BiLM
from elmo_bench.elmo.hub import is_repository, repository
from elmo_bench.elmo.model_card import ABOUT, PAPER, TEMPLATE, model_card
from elmo_bench.elmo.pretrained import checksum_of
from elmo_bench.elmo.together import write_together
from elmo_bench.elmo.weights import as_safetensors


class Shareable(
    ModelHubMixin,
    library_name=ABOUT["library_name"],
    tags=ABOUT["tags"],
    paper_url=PAPER,
    model_card_template=TEMPLATE,
):
    """`from_pretrained`, `save_pretrained` and `push_to_hub` of an encoder that was read from two `files`."""

    files: tuple[Path, Path]  # options, weights
    source: str  # their checksum
    bilm: BiLM

    def __new__(cls, *_: Any, **__: Any) -> Self:
        # Not the mixin's: it keeps the arguments, paths of this machine among them, to save them as config.json.
        return super(ModelHubMixin, cls).__new__(cls)

    @classmethod
    def from_pretrained(  # type: ignore[override]  # no config.json is read, so `__init__` alone says what fits
        cls,
        name_or_path: str | Path,
        *,
        revision: str | None = None,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        force_download: bool = False,
        local_files_only: bool = False,
        **keywords: Any,
    ) -> Self:
        """`cls(weights=name_or_path, **keywords)`; what stands before `keywords` is for a repository on the Hub.

        Raises UserError where there are no such weights. Nothing in the files is executed.
        """
        weights = str(name_or_path)
        if is_repository(weights) and not Path(weights).expanduser().exists():
            weights = str(
                repository(
                    weights,
                    revision=revision,
                    token=token,
                    cache_dir=cache_dir,
                    force_download=force_download,
                    local_files_only=local_files_only,
                )
            )
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
        """`options.json` and `weights.safetensors`, with the same numbers, and the softmax where one is beside them.

        Raises UserError if others lie there.
        """
        options, weights = self.files
        contents: dict[str, Path | bytes] = {"options.json": options, "weights.safetensors": weights}
        if (beside := softmax_beside(weights)) is not None:
            contents |= {SOFTMAX: beside[0], vocabulary_name(beside[1]): beside[1]}
        check_free(save_directory, contents)
        if checksum_of(*self.files) != self.source:
            raise UserError(f"{weights}: changed since this encoder was made from it; make it again")
        contents["weights.safetensors"] = as_safetensors(weights, {"from": self.source})
        with write_together(save_directory, contents) as handles:
            for name, content in contents.items():
                handles[name].write(content if isinstance(content, bytes) else content.read_bytes())

    def push_to_hub(self, repo_id: str, **keywords: Any) -> str:  # type: ignore[override]
        """Save to a repository on the Hub, made if need be; the address of the commit. Needs a token (`hf auth login`).

        `keywords` are the mixin's, among them `private`, `branch`, `commit_message` and `model_card_kwargs` (see
        `generate_model_card`). Raises UserError where the Hub refuses or is out of reach.
        """
        if offline():
            raise UserError(f"{repo_id}: nothing is uploaded while $ELMO_BENCH_OFFLINE or $HF_HUB_OFFLINE is set")
        about = {"repo_id": repo_id} | (keywords.pop("model_card_kwargs", None) or {})
        try:
            return super().push_to_hub(repo_id, model_card_kwargs=about, **keywords)
        except (HfHubHTTPError, HTTPError, OSError, ValueError, RuntimeError) as error:
            why = " ".join(str(error).split()) or type(error).__name__
            raise UserError(f"{repo_id}: not uploaded to the Hub ({why})") from None

    def generate_model_card(
        self, *, license: str = "unknown", language: str | list[str] | None = None, **more: Any
    ) -> ModelCard:
        """The card of these weights: `license` and `language` in the Hub's codes, `description` as text of your own."""
        return model_card(
            self.bilm.options,
            checksum=self.source,
            license=license,
            language=language,
            about=self._hub_mixin_info.model_card_data.to_dict(),
            **more,
        )
