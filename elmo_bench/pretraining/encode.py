"""Text to train on, as numbers in memory.

Every token is the number of its word, every word is spelt once.

Text has one sentence a line, in UTF-8; plain, `.gz` or `.xz`; CRLF and a BOM are read.
Empty lines are left out, and lines of more than LONGEST characters, with a note. A file
that is missing, cut off or not UTF-8 raises a UserError with file and line. Files are
read as streams.

Shape letters: W distinct words, N tokens, S sentences, C characters.
"""

import glob
import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elmo_bench.base.arrays import read_arrays, write_arrays
from elmo_bench.base.downloads import Content
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.json import parse_json
from elmo_bench.base.notes import note
from elmo_bench.base.progress import progress
from elmo_bench.base.reading import check_regular, reader
from elmo_bench.pretraining.checkpoints import check_goes_on
from elmo_bench.pretraining.tokenisation import note_tokens
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.text.chars import (
    PAD_CHARACTER,
    SENTENCE_END,
    SENTENCE_START,
    WORD_LENGTH,
    words_ids,
)
from elmo_bench.text.columns import unescaped
from elmo_bench.text.vocabulary import tokeniser

VERSION = 2  # of how text is read: an encoded text of another version is made again
LONGEST = 20_000  # characters of a line
START, END = 0, 1  # the numbers of the sentence markers
WORDS_AT_ONCE = 2**17  # spelt; `words_ids` makes int64
TOKENS_AT_ONCE = 2**20  # counted and renumbered, which makes int64, too
ENCODED = "text.safetensors"  # the name of an encoded text in its folder
ARRAYS = ("tokens", "starts", "characters", "targets")  # of an encoded text


def shard_files(corpus: str | Sequence[str]) -> list[Path]:
    """The files of a path, a pattern, or a list of them, each once.

    Raises UserError if nothing matches.
    """
    several = isinstance(corpus, Sequence) and not isinstance(corpus, str)
    files: list[Path] = []
    for pattern in corpus if several else [corpus]:
        if not isinstance(pattern, str):
            raise UserError(f"corpus={pattern}: give a file or a pattern, such as ./1")
        paths = _matching(pattern)
        if not paths:
            raise UserError(
                f"{pattern}: no file matches. Check the path, and quote a pattern for "
                "the shell."
            )
        for path in paths:
            check_regular(path, once=False)
            if path.is_dir():
                raise UserError(f"{path}: a folder. Give a pattern: '{path}/*.txt'")
        files += paths
    if not files:
        raise UserError("corpus=[]: no file. Give a file or a pattern.")
    return list(dict.fromkeys(files))


def _matching(pattern: str) -> list[Path]:
    if Path(pattern).is_file():
        return [Path(pattern)]
    return sorted(map(Path, glob.glob(pattern, recursive=True)))  # noqa: PTH207


@dataclass(frozen=True)
class Corpus:
    """Files of text, and the name of the tokeniser for them.

    See `elmo_bench.text.vocabulary`. Raises UserError for an unknown tokeniser.
    """

    files: tuple[Path, ...]
    tokenizer: str = "spaces"

    def __post_init__(self) -> None:
        tokeniser(self.tokenizer)

    def __str__(self) -> str:
        names = ", ".join(map(str, self.files[:3]))
        more = ", …" if len(self.files) > 3 else ""
        return f"{names}{more}"

    @reader
    def sentences(self, file: Path) -> Iterator[list[str]]:
        """The tokenised sentences of one of the files."""
        split = tokeniser(self.tokenizer)
        long = []  # numbers of lines
        for number, line in read_lines(file):
            if len(line) > LONGEST:
                long.append(number)
                continue
            words = split(line)
            if not words:
                continue
            if "\\u{" in line:  # as `texts` and `embed` write and read
                words = [unescaped(word) for word in words]
            yield words
        if long:
            note(
                f"{len(long):,} line(s) of over {LONGEST:,} characters left out, the "
                f"first is line {long[0]}",
                file,
            )


@dataclass(frozen=True)
class Encoded:
    """A text as numbers of words.

    Words are sorted by the length of their spelling; the two markers come first.
    """

    tokens: np.ndarray  # int32 [N]
    starts: np.ndarray  # int64 [S + 1]: where sentences start, and the end of the last
    characters: np.ndarray  # int16 [W, C]
    targets: np.ndarray  # int32 [W]: vocabulary ids, <UNK> for a word outside
    vocabulary: TargetVocabulary
    digest: str  # SHA-256 of the files' bytes, tokeniser and choice of the vocabulary
    # Of a held-out text: how many of its sentences are in the training text.
    repeated: int = 0
    files: tuple[Path, ...] = ()  # that the text was read from

    @property
    def sentences(self) -> int:
        return len(self.starts) - 1

    @property
    def cells(self) -> int:
        """Targets of each direction: a sentence of n words has n + 1."""
        return len(self.tokens) + self.sentences


def encode(corpus: Corpus, vocabulary: TargetVocabulary | int) -> Encoded:
    """A corpus in memory.

    `vocabulary` is the one of the softmax, or how many of the most frequent words to
    take. Raises UserError if there are no sentences, and if a file changes while it is
    read. A note says if `spaces` is the tokeniser and the text seems raw.
    """
    contents = [Content(file) for file in corpus.files]
    digest = _digest(corpus, contents, vocabulary)
    words, tokens, starts = _numbered(corpus)
    for content in contents:
        content.check()
    counts = _counts(tokens, len(words))
    note_tokens(corpus.tokenizer, str(corpus), words, counts)
    if isinstance(vocabulary, int):
        frequencies = Counter(dict(zip(words, counts.tolist(), strict=True)))
        vocabulary = TargetVocabulary.of(
            frequencies, vocabulary, sentences=len(starts) - 1
        )
    characters = _spelt(words)  # WC
    lengths = (characters != PAD_CHARACTER).sum(axis=1)
    lengths[[START, END]] = 0  # the markers come first
    order = np.argsort(lengths, kind="stable")
    numbers = np.empty(len(order), np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    targets = np.array(vocabulary.ids(words), np.int32)
    for start in range(0, len(tokens), TOKENS_AT_ONCE):
        some = tokens[start : start + TOKENS_AT_ONCE]
        some[:] = numbers[some]
    return Encoded(
        tokens=tokens,
        starts=starts,
        characters=characters[order],
        targets=targets[order],
        vocabulary=vocabulary,
        digest=digest,
        files=corpus.files,
    )


def check_text(corpus: Corpus) -> None:
    """Read every line, in a fraction of the time that encoding the text takes.

    Raises UserError for a file that cannot be read to its end, and without a sentence.
    """
    is_empty = True
    with progress("check", total=len(corpus.files)) as meter:
        for file in corpus.files:
            for _, line in read_lines(file):
                is_empty = is_empty and not line.strip()
            meter.advance()
    if is_empty:
        raise _no_sentence(corpus)


def _no_sentence(corpus: Corpus) -> UserError:
    return UserError(
        f"{corpus}: no sentence in the whole text. Give text with one sentence a line."
    )


def _numbered(corpus: Corpus) -> tuple[list[str], np.ndarray, np.ndarray]:
    """(words, tokens, starts): words in order of appearance, behind the two markers.

    tokens int32 [N] are numbers of words; starts is of `Encoded`. Raises UserError if
    there are no sentences.
    """
    numbers = {SENTENCE_START: START, SENTENCE_END: END}
    tokens = array("i")
    starts = array("q", [0])
    with progress("encode", total=len(corpus.files)) as meter:
        for file in corpus.files:
            for sentence in corpus.sentences(file):
                tokens.extend(
                    [numbers.setdefault(word, len(numbers)) for word in sentence]
                )
                starts.append(len(tokens))
                meter.advance(len(sentence), steps=0)
            meter.advance()
    if len(starts) == 1:
        raise _no_sentence(corpus)
    # `frombuffer` makes no copy.
    numbered = np.frombuffer(tokens, np.int32)
    return list(numbers), numbered, np.frombuffer(starts, np.int64)


def _counts(tokens: np.ndarray, words: int) -> np.ndarray:
    """How often each word occurs, int64 [W]."""
    counts = np.zeros(words, np.int64)
    for start in range(0, len(tokens), TOKENS_AT_ONCE):
        some = tokens[start : start + TOKENS_AT_ONCE]
        counts += np.bincount(some, minlength=words)
    return counts


def _spelt(words: Sequence[str]) -> np.ndarray:
    """The characters of words, int16 [W, C]."""
    characters = np.empty((len(words), WORD_LENGTH), np.int16)
    for start in range(0, len(words), WORDS_AT_ONCE):
        some = words[start : start + WORDS_AT_ONCE]
        characters[start : start + WORDS_AT_ONCE] = words_ids(some)
    return characters


def encode_once(
    corpus: Corpus,
    folder: Path,
    vocabulary: TargetVocabulary | int,
    trained: Sequence[Path] = (),
) -> Encoded:
    """`encode`, stored in a folder and read from there the next time.

    It is encoded again if a byte of the text has changed. Raises UserError, and
    replaces nothing, if checkpoints in the folders `trained` are of another text.
    """
    path = folder / ENCODED
    contents = [Content(file) for file in corpus.files]
    digest = _digest(corpus, contents, vocabulary)
    if path.is_file():
        arrays, about = read_arrays(path)
        stored_digest, _, counts = about.partition(" ")
        if digest == stored_digest:
            stored = TargetVocabulary(parse_json(counts, path))
            return Encoded(
                **arrays,  # type: ignore[arg-type]
                vocabulary=stored,
                digest=digest,
                files=corpus.files,
            )
    for checkpoint_folder in trained:
        check_goes_on(checkpoint_folder, {"text": digest})
    check_text(corpus)
    encoded = encode(corpus, vocabulary)
    arrays = {name: getattr(encoded, name) for name in ARRAYS}
    # In letters and not in escapes: the header has a limit of 100 MB.
    counts = json.dumps(encoded.vocabulary, ensure_ascii=False)
    write_arrays(path, arrays, f"{encoded.digest} {counts}")
    return encoded


def _digest(
    corpus: Corpus, contents: Sequence[Content], vocabulary: TargetVocabulary | int
) -> str:
    files = [content.sha256 for content in contents]
    words = vocabulary if isinstance(vocabulary, int) else list(vocabulary)
    choices = json.dumps([VERSION, files, corpus.tokenizer, words])
    return hashlib.sha256(choices.encode()).hexdigest()
