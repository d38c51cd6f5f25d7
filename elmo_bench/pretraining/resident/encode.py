"""A corpus as numbers in memory: every token the number of its word, every distinct word spelt once.

Shape letters: W distinct words, N tokens, S sentences, C characters.
"""

import json
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.progress import console, progress
from elmo_bench.base.reading import reader, reading
from elmo_bench.pretraining.corpus import Corpus, Skipped
from elmo_bench.pretraining.processes import in_order
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.text.chars import PAD_CHARACTER, SENTENCE_END, SENTENCE_START, words_ids

START, END = 0, 1  # the numbers of the sentence markers
ARRAYS = ("tokens", "starts", "heldout_tokens", "heldout_starts", "characters", "targets")


@dataclass(frozen=True)
class Encoded:
    """Text as numbers of words. Words are sorted by the length of their spelling; the two markers come first."""

    tokens: np.ndarray  # int32 [N]
    starts: np.ndarray  # int64 [S + 1]: where each sentence starts, and the end of the last
    heldout_tokens: np.ndarray
    heldout_starts: np.ndarray
    characters: np.ndarray  # int16 [W, C]
    targets: np.ndarray  # int32 [W]: the vocabulary id of each word, <UNK> for a word outside

    @property
    def lengths(self) -> np.ndarray:
        """int64 [W]: the number of ids of a word before the padding characters; it never falls."""
        return (self.characters != PAD_CHARACTER).sum(axis=1)


class _Numbers(dict[str, int]):
    """Words in order of appearance."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


def _read(corpus: Corpus, file: Path) -> tuple[list[str], np.ndarray, np.ndarray, Skipped]:
    """Distinct words of a file, its tokens as their numbers int32 [N], its sentence lengths int64 [S]."""
    numbers, tokens, lengths, skipped = _Numbers(), array("i"), array("q"), Skipped()
    for sentence in corpus.sentences(file, skipped):
        tokens.extend(map(numbers.__getitem__, sentence))
        lengths.append(len(sentence))
    return list(numbers), np.array(tokens, np.int32), np.array(lengths, np.int64), skipped


def encode(
    corpus: Corpus, heldout: Corpus | None, folder: Path, *, words: int, threads: int
) -> tuple[Encoded, TargetVocabulary]:
    """Read a corpus and a held-out text, with one process a file; the arrays are kept in `folder` and read from there
    the next time.

    The vocabulary has the `words` most frequent words of the corpus. Raises UserError if there are no sentences.
    """
    heldout = heldout or Corpus((), corpus.tokenizer)
    files = [*corpus.files, *heldout.files]
    about = json.dumps(
        {"files": [[path.name, path.stat().st_size] for path in files], "tokenizer": corpus.tokenizer, "words": words}
    )
    if (folder / "about.json").is_file() and (folder / "about.json").read_bytes() == about.encode():
        return read_encoded(folder), TargetVocabulary.read(folder / "vocabulary.txt")
    (folder / "about.json").unlink(missing_ok=True)
    processes = min(len(files), threads)
    numbers, counts, skipped = _Numbers({SENTENCE_START: START, SENTENCE_END: END}), np.zeros(0, np.int64), Skipped()
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    with progress("encode", total=len(files)) as meter:
        for place, (found, local, lengths, left) in enumerate(in_order(partial(_read, corpus), files, processes)):
            translated = np.array([numbers[word] for word in found], np.int32)
            tokens = translated[local] if len(found) else local
            parts.append((tokens, lengths))
            counts = np.pad(counts, (0, len(numbers) - len(counts)))
            if place < len(corpus.files):
                counts += np.bincount(tokens, minlength=len(numbers))
                skipped.lines, skipped.first = skipped.lines + left.lines, skipped.first or left.first
            meter.advance(len(tokens))
        if skipped.lines:
            meter.say(str(skipped))
    split = len(corpus.files)
    sentences = sum(len(lengths) for _, lengths in parts[:split])
    if not sentences:
        raise UserError(f"{corpus.files[0]}: no sentence in the whole corpus. Give text with a sentence a line.")
    spelt = list(numbers)
    vocabulary = TargetVocabulary.of(
        Counter(dict(zip(spelt, counts.tolist(), strict=True))), words, sentences=sentences
    )
    chunks = (spelt[start : start + 2**17] for start in range(0, len(spelt), 2**17))  # words_ids makes int64
    characters = np.concatenate([words_ids(chunk).astype(np.int16) for chunk in chunks])  # WC
    order = np.argsort((characters != PAD_CHARACTER).sum(axis=1), kind="stable")
    order = np.concatenate([[START, END], order[(order != START) & (order != END)]])  # their length is the least
    renumbered = np.empty(len(order), np.int32)
    renumbered[order] = np.arange(len(order), dtype=np.int32)
    arrays = [*_joined(parts[:split], renumbered), *_joined(parts[split:], renumbered)]
    targets = np.array(vocabulary.ids(spelt), np.int32)[order]
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in zip(ARRAYS, [*arrays, characters[order], targets], strict=True):
        with atomic_write(folder / f"{name}.npy") as handle:
            np.save(handle, values)
    vocabulary.write(folder / "vocabulary.txt")
    with atomic_write(folder / "about.json", "w") as handle:
        handle.write(about)
    encoded = read_encoded(folder)
    console.print(
        f"{sentences:,} sentences, {len(encoded.tokens):,} tokens, {len(spelt):,} distinct words", highlight=False
    )
    return encoded, vocabulary


@reader
def read_encoded(folder: Path) -> Encoded:
    """The arrays that `encode` left in a folder, in memory. Raises UserError."""
    with reading(folder, "an encoded text", "Remove it and start again."):
        arrays = {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in ARRAYS}
        if any(array.dtype.kind != "i" or array.ndim != 1 + (name == "characters") for name, array in arrays.items()):
            raise ValueError("not arrays of whole numbers")
        return Encoded(**arrays)


def _joined(parts: Sequence[tuple[np.ndarray, np.ndarray]], renumbered: np.ndarray) -> Iterator[np.ndarray]:
    """Tokens int32 [N] and starts int64 [S + 1] of several files."""
    lengths = np.concatenate([np.zeros(1, np.int64), *(lengths for _, lengths in parts)])
    yield renumbered[np.concatenate([np.zeros(0, np.int32), *(tokens for tokens, _ in parts)])]
    yield np.cumsum(lengths)
