"""Text to train on, and as numbers in memory: every token the number of its word, every distinct word spelt once.

Text has one sentence a line, in UTF-8; plain, `.gz`, `.xz` or `.zst`; CRLF and a BOM are read. Empty lines are left
out, and lines of more than LONGEST characters, with a note. A file that is missing, cut off or not UTF-8 raises a
UserError with file and line. Files are read as streams.

Shape letters: W distinct words, N tokens, S sentences, C characters.
"""

import glob
import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, disk_errors, read_lines, sha256_of
from elmo_bench.base.notes import note
from elmo_bench.base.progress import progress
from elmo_bench.base.reading import reader, reading
from elmo_bench.text.chars import PAD_CHARACTER, SENTENCE_END, SENTENCE_START, words_ids
from elmo_bench.text.columns import check_ended
from elmo_bench.text.vocabulary import tokeniser

LONGEST = 20_000  # characters of a line
DIGITS = 18  # of a count, at most
UNKNOWN = "<UNK>"
MARKERS = (SENTENCE_START, SENTENCE_END, UNKNOWN)


def shard_files(corpus: str | Sequence[str]) -> list[Path]:
    """The files of a path, a pattern, or a list of them, each once. Raises UserError if nothing matches."""
    files: list[Path] = []
    for pattern in [corpus] if isinstance(corpus, str) else corpus:
        paths = sorted(map(Path, glob.glob(str(pattern), recursive=True)))  # noqa: PTH207  absolute patterns too
        if not paths and Path(pattern).is_file():  # notes[1].txt
            paths = [Path(pattern)]
        if not paths:
            raise UserError(f"corpus={pattern}: no file matches. Check the path, and quote a pattern for the shell.")
        files += paths
    return list(dict.fromkeys(files))


@dataclass(frozen=True)
class Corpus:
    """Files of text, and the name of the tokeniser for them (`elmo_bench.text.vocabulary`)."""

    files: tuple[Path, ...]
    tokenizer: str = "spaces"

    def lines(self, file: Path) -> Iterator[str]:
        """The lines of one of the files that are sentences."""
        long: list[int] = []
        for number, line in read_lines(file, longest=LONGEST):
            if len(line) > LONGEST:
                long.append(number)
            elif line and not line.isspace():
                yield line
        if long:
            note(f"{len(long):,} line(s) of over {LONGEST:,} characters left out, the first is line {long[0]}", file)

    @reader
    def sentences(self, file: Path) -> Iterator[list[str]]:
        """The tokenised sentences of one of the files."""
        return filter(None, map(tokeniser(self.tokenizer), self.lines(file)))


def sentences(path: Path) -> Iterator[list[str]]:
    """The sentences of a tokenised file."""
    return Corpus((path,)).sentences(path)


@dataclass(frozen=True)
class TargetVocabulary:
    """The three markers, then words by falling frequency, as the sampler of the softmax assumes.

    `counts` has how often each occurs: `<S>` and `</S>` as often as there are sentences, `<UNK>` as often as there are
    tokens outside the vocabulary. It may be empty.
    """

    words: tuple[str, ...]
    counts: tuple[int, ...] = ()

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def ids(self, words: Sequence[str]) -> list[int]:
        """The id of each word; `<UNK>` for a word outside the vocabulary."""
        unknown = MARKERS.index(UNKNOWN)
        return [self._index.get(word, unknown) for word in words]

    @classmethod
    def of(cls, counts: Counter[str], size: int, *, sentences: int = 0) -> "TargetVocabulary":
        """The `size` most frequent words (ties by spelling) behind the markers.

        Tokens spelt like a marker count as `<UNK>`.
        """
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        kept = [(word, count) for word, count in ordered[: size + len(MARKERS)] if word not in MARKERS][:size]
        unknown = counts.total() - sum(count for _, count in kept)
        return cls(
            (*MARKERS, *(word for word, _ in kept)), (sentences, sentences, unknown, *(count for _, count in kept))
        )

    def write(self, path: Path) -> None:
        """One `word<TAB>count` a line, written atomically."""
        with atomic_write(path, "w") as file:
            file.writelines(f"{word}\t{count}\n" for word, count in zip(self.words, self.counts, strict=True))

    @classmethod
    @reader
    def read(cls, path: Path) -> "TargetVocabulary":
        """Read what `write` wrote. Raises UserError, with file and line, if it is damaged."""
        counts: dict[str, int] = {}
        for number, line in read_lines(path):
            word, tab, count = line.partition("\t")
            if not (word and tab and count.isascii() and count.isdigit() and len(count) <= DIGITS):
                raise UserError(f"{path}:{number}: expected word<TAB>count. Give a vocabulary that `pretrain` wrote.")
            if word in counts:
                raise UserError(f"{path}:{number}: '{word}' occurs a second time. Remove one of the lines.")
            if number <= len(MARKERS) and word != MARKERS[number - 1]:
                raise UserError(f"{path}:{number}: expected {MARKERS[number - 1]}. The markers come first.")
            counts[word] = int(count)
        if len(counts) < len(MARKERS):
            raise UserError(f"{path}: ends before its {len(MARKERS)} markers")
        check_ended(path)
        return cls(tuple(counts), tuple(counts.values()))


START, END = 0, 1  # the numbers of the sentence markers
ARRAYS = ("tokens", "starts", "characters", "targets")


@dataclass(frozen=True)
class Encoded:
    """A text as numbers of words. Words are sorted by the length of their spelling; the two markers come first."""

    tokens: np.ndarray  # int32 [N]
    starts: np.ndarray  # int64 [S + 1]: where each sentence starts, and the end of the last
    characters: np.ndarray  # int16 [W, C]
    targets: np.ndarray  # int32 [W]: the vocabulary id of each word, <UNK> for a word outside
    vocabulary: TargetVocabulary
    digest: str  # SHA-256 of the files' bytes, the tokeniser and the choice of the vocabulary

    @property
    def sentences(self) -> int:
        """S."""
        return len(self.starts) - 1

    @property
    def cells(self) -> int:
        """Targets of each direction: a sentence of n words has n + 1."""
        return len(self.tokens) + self.sentences


def encode(corpus: Corpus, vocabulary: TargetVocabulary | int) -> Encoded:
    """A corpus in memory; `vocabulary` is the one of the softmax, or how many of the most frequent words to take.

    Raises UserError if there are no sentences.
    """
    digest = _digest(corpus, vocabulary)
    numbers = {SENTENCE_START: START, SENTENCE_END: END}  # words in order of appearance
    tokens, starts = array("i"), array("q", [0])
    with progress("encode", total=len(corpus.files)) as meter:
        for file in corpus.files:
            for sentence in corpus.sentences(file):
                tokens.extend([numbers.setdefault(word, len(numbers)) for word in sentence])
                starts.append(len(tokens))
                meter.advance(len(sentence), steps=0)
            meter.advance()
    if len(starts) == 1:
        names = ", ".join(map(str, corpus.files[:3])) + (", …" if len(corpus.files) > 3 else "")
        raise UserError(f"{names}: no sentence in the whole text. Give text with one sentence a line.")
    words, numbered = list(numbers), np.array(tokens, np.int32)
    if isinstance(vocabulary, int):
        counts = np.bincount(numbered, minlength=len(words)).tolist()
        counted = Counter(dict(zip(words, counts, strict=True)))
        vocabulary = TargetVocabulary.of(counted, vocabulary, sentences=len(starts) - 1)
    chunks = (words[start : start + 2**17] for start in range(0, len(words), 2**17))  # words_ids makes int64
    characters = np.concatenate([words_ids(chunk).astype(np.int16) for chunk in chunks])  # WC
    order = np.argsort((characters != PAD_CHARACTER).sum(axis=1), kind="stable")
    order = np.concatenate([[START, END], order[(order != START) & (order != END)]])  # their length is the least
    renumbered = np.empty(len(order), np.int32)
    renumbered[order] = np.arange(len(order), dtype=np.int32)
    return Encoded(
        tokens=renumbered[numbered],
        starts=np.array(starts, np.int64),
        characters=characters[order],
        targets=np.array(vocabulary.ids(words), np.int32)[order],
        vocabulary=vocabulary,
        digest=digest,
    )


def encode_once(corpus: Corpus, folder: Path, vocabulary: TargetVocabulary | int) -> Encoded:
    """`encode`, kept in a folder and read from there the next time, unless a byte of the text has changed."""
    if (folder / "text.safetensors").is_file() and (kept := read_encoded(folder)).digest == _digest(corpus, vocabulary):
        return kept
    encoded = encode(corpus, vocabulary)
    encoded.vocabulary.write(folder / "vocabulary.txt")
    with atomic_write(folder / "text.safetensors") as handle:
        handle.write(save({name: getattr(encoded, name) for name in ARRAYS}, {"digest": encoded.digest}))
    return encoded


@reader
def read_encoded(folder: Path) -> Encoded:
    """Reads what `encode_once` left in a folder. Raises UserError."""
    path, vocabulary = folder / "text.safetensors", TargetVocabulary.read(folder / "vocabulary.txt")
    with reading(path, "an encoded text", "Remove it and start again."), safe_open(path, framework="numpy") as file:
        arrays, about = {name: file.get_tensor(name) for name in ARRAYS}, file.metadata()
        tokens, starts, characters, targets = arrays.values()
        if [array.dtype.kind + str(array.ndim) for array in arrays.values()] != ["i1", "i1", "i2", "i1"]:
            raise ValueError("not arrays of whole numbers")
        ends = [starts[0], *np.diff(starts).clip(max=0), starts[-1] - len(tokens), len(targets) - len(characters)]
        if any(ends) or min(tokens.min(), targets.min()) < 0 or tokens.max() >= len(targets):
            raise ValueError("its numbers do not fit together")
        if targets.max() >= len(vocabulary):
            raise ValueError("its vocabulary is another one")
        return Encoded(**arrays, vocabulary=vocabulary, digest=about["digest"])


def _digest(corpus: Corpus, vocabulary: TargetVocabulary | int) -> str:
    with disk_errors(corpus.files[0]):
        files = [sha256_of(file) for file in corpus.files]
    words = vocabulary if isinstance(vocabulary, int) else vocabulary.words
    return hashlib.sha256(json.dumps([files, corpus.tokenizer, words]).encode()).hexdigest()
