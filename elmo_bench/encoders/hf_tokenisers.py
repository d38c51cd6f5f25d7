"""The tokeniser of a transformer's folder.

If the folder has a `tokenizer.json`, this file decides the pieces. transformers 5 makes
many tokenisers from the name of a class in `tokenizer_config.json`, and takes only the
vocabulary from `tokenizer.json`. If the class does not fit (camembertv2 has a WordPiece
under RobertaTokenizerFast), each word falls into letters or unknown pieces, without an
error.
"""

from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import console
from elmo_bench.encoders.checks import TEXTS
from elmo_bench.encoders.hf_files import TOKENISER
from elmo_bench.encoders.hf_words import SAMPLES

SAFELY: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
QUOTES = ("``", "Yes", "''", "``No''", '"', "--", "-LRB-", "THE", "tHe")
COMPARED = (*SAMPLES, *TEXTS, QUOTES)


def load_tokeniser(files: Path, *, name: Path) -> Any:
    """The fast tokeniser of the model whose `files` are in this folder.

    Compared are the pieces of a few sentences, as words and as text, without markers: a
    class may take these from `tokenizer_config.json`. `name` of the model begins an
    error. Raises UserError, and what transformers raises for files that it cannot read.
    """
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    tokeniser = _of_class(files)
    file = files / TOKENISER
    if tokeniser is not None and not tokeniser.is_fast:
        raise UserError(
            f"encoder.name={name}: its tokeniser does not number words. "
            "Give a model with a fast tokeniser."
        )
    if not file.is_file():
        return tokeniser
    wanted = _pieces(Tokenizer.from_file(str(file)))
    if tokeniser is not None and _pieces(tokeniser.backend_tokenizer) == wanted:
        return tokeniser
    kind = "its tokeniser's class" if tokeniser is None else type(tokeniser).__name__
    # This class makes nothing out of its name.
    of_file = PreTrainedTokenizerFast.from_pretrained(files, **SAFELY)
    if _pieces(of_file.backend_tokenizer) != wanted:
        raise UserError(
            f"encoder.name={name}: {kind} of transformers does not give the pieces of "
            f"{TOKENISER}, and tokenizer_config.json changes these. "
            "Save the tokeniser that the model was trained with."
        )
    problem = f"{kind} does not give the pieces of {TOKENISER}, so the file is used"
    console.print(f"{name}: {problem}", highlight=False)
    return of_file


def _of_class(files: Path) -> Any:
    """The tokeniser that transformers makes.

    None if it cannot make one of this class from `tokenizer.json`.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(files, **SAFELY)
    except (AttributeError, LookupError, NameError, TypeError, ValueError) as error:
        if not (files / TOKENISER).is_file():
            raise
        if "trust_remote_code" in str(error):  # code of the folder stays refused
            raise
        return None


def _pieces(backend: Any) -> list[Any]:
    """The ids of COMPARED, as words and as text.

    `backend` loses its truncation and padding.
    """
    backend.no_truncation()
    backend.no_padding()
    pieces = []
    for words in COMPARED:
        pieces.append(_ids(backend, list(words), is_pretokenized=True))
        pieces.append(_ids(backend, " ".join(words), is_pretokenized=False))
    return pieces


def _ids(backend: Any, text: Any, *, is_pretokenized: bool) -> list[int] | None:
    """The pieces of a sentence.

    None if the tokeniser has no piece for a character and none for unknown ones.
    """
    try:
        coded = backend.encode(
            text, is_pretokenized=is_pretokenized, add_special_tokens=False
        )
    except Exception:  # tokenizers raises no other kind
        return None
    return [*coded.ids]
