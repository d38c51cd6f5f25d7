"""Text to train on, as numbers in memory and as batches: every token the number of its word, every word spelt once.

Text has one sentence a line, in UTF-8; plain, `.gz` or `.xz`; CRLF and a BOM are read. Empty lines are left
out, and lines of more than LONGEST characters, with a note. A file that is missing, cut off or not UTF-8 raises a
UserError with file and line. Files are read as streams.

Shape letters: W distinct words, N tokens, S sentences, C characters, T steps, B sentences of a batch; a leading 2 is
the direction.
"""

import glob
import hashlib
import json
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from elmo_bench.base.arrays import read_arrays, write_arrays
from elmo_bench.base.downloads import Content
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.json import parse_json
from elmo_bench.base.notes import note
from elmo_bench.base.progress import progress
from elmo_bench.base.reading import check_regular, reader
from elmo_bench.text.chars import PAD_CHARACTER, SENTENCE_END, SENTENCE_START, words_ids
from elmo_bench.text.columns import check_ended, escaped, unescaped
from elmo_bench.text.vocabulary import tokeniser

VERSION = 2  # of how text is read: an encoded text of another version is made again
LONGEST = 20_000  # characters of a line
UNKNOWN = "<UNK>"
MARKERS = (SENTENCE_START, SENTENCE_END, UNKNOWN)
START, END = 0, 1  # the numbers of the sentence markers
OUTSIDE = -1  # the target after a sentence's end


def shard_files(corpus: str | Sequence[str]) -> list[Path]:
    """The files of a path, a pattern, or a list of them, each once. Raises UserError if nothing matches."""
    files: list[Path] = []
    for pattern in corpus if isinstance(corpus, Sequence) and not isinstance(corpus, str) else [corpus]:
        if not isinstance(pattern, str):
            raise UserError(f"corpus={pattern}: give a file or a pattern, such as ./1")
        found = [pattern] if Path(pattern).is_file() else glob.glob(pattern, recursive=True)  # noqa: PTH207
        if not (paths := sorted(map(Path, found))):
            raise UserError(f"{pattern}: no file matches. Check the path, and quote a pattern for the shell.")
        for path in paths:
            check_regular(path, once=False)
        files += paths
    return list(dict.fromkeys(files))


@dataclass(frozen=True)
class Corpus:
    """Files of text, and the name of the tokeniser for them (`elmo_bench.text.vocabulary`)."""

    files: tuple[Path, ...]
    tokenizer: str = "spaces"

    @reader
    def sentences(self, file: Path) -> Iterator[list[str]]:
        """The tokenised sentences of one of the files."""
        split, long = tokeniser(self.tokenizer), []
        for number, line in read_lines(file):
            if len(line) > LONGEST:
                long.append(number)
            elif words := split(line):
                yield [*map(unescaped, words)] if "\\u{" in line else words  # as `texts` and `embed` write and read
        if long:
            note(f"{len(long):,} line(s) of over {LONGEST:,} characters left out, the first is line {long[0]}", file)


class TargetVocabulary(dict[str, int]):
    """The three markers, then words by falling frequency, as the sampler of the softmax assumes: how often each occurs.

    `<S>` and `</S>` occur as often as there are sentences, `<UNK>` as often as there are tokens outside the vocabulary.
    """

    def ids(self, words: Sequence[str]) -> list[int]:
        """The id of each word; `<UNK>` for a word outside the vocabulary."""
        index = {word: number for number, word in enumerate(self)}
        return [index.get(word, index[UNKNOWN]) for word in words]

    @classmethod
    def of(cls, counts: Counter[str], size: int, *, sentences: int = 0) -> "TargetVocabulary":
        """The `size` most frequent words (ties by spelling) behind the markers.

        Tokens spelt like a marker count as `<UNK>`.
        """
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        kept = dict([pair for pair in ordered[: size + len(MARKERS)] if pair[0] not in MARKERS][:size])
        return cls(dict.fromkeys(MARKERS, sentences) | {UNKNOWN: counts.total() - sum(kept.values())} | kept)

    def write(self, path: Path) -> None:
        """One `word<TAB>count` a line, written atomically."""
        with atomic_write(path, "w") as file:
            file.writelines(f"{escaped(word)}\t{count}\n" for word, count in self.items())

    @classmethod
    @reader
    def read(cls, path: Path) -> "TargetVocabulary":
        """Read what `write` wrote. Raises UserError, with file and line, if it is damaged."""
        counts, advice = cls(), "Give a vocabulary that `pretrain` wrote."
        for number, line in read_lines(path):
            word, _, count = line.partition("\t")
            word = unescaped(word)
            if not re.fullmatch(r"[^\t]+\t[0-9]{1,18}", line) or word in counts:
                raise UserError(f"{path}:{number}: expected word<TAB>count, each word once. {advice}")
            counts[word] = int(count)
        if (*counts,)[: len(MARKERS)] != MARKERS:
            raise UserError(f"{path}: does not begin with {', '.join(MARKERS)}. {advice}")
        check_ended(path)
        return counts


@dataclass(frozen=True)
class Encoded:
    """A text as numbers of words. Words are sorted by the length of their spelling; the two markers come first."""

    tokens: np.ndarray  # int32 [N]
    starts: np.ndarray  # int64 [S + 1]: where each sentence starts, and the end of the last
    characters: np.ndarray  # int16 [W, C]
    targets: np.ndarray  # int32 [W]: the vocabulary id of each word, <UNK> for a word outside
    vocabulary: TargetVocabulary
    digest: str  # SHA-256 of the files' bytes, the tokeniser and the choice of the vocabulary
    repeated: int = 0  # of a held-out text: how many of its sentences are in the training text

    @property
    def sentences(self) -> int:
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
    lengths = (characters != PAD_CHARACTER).sum(axis=1)
    lengths[[START, END]] = 0  # the markers come first
    order = np.argsort(lengths, kind="stable")
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


def encode_heldout(corpus: Corpus, text: Encoded, trained: Corpus) -> Encoded:
    """Encode a held-out text with the vocabulary of the training text, and count the sentences of both.

    Raises UserError for a file that is in both.
    """
    known = {Content(file).sha256: file for file in trained.files}
    if same := [file for file in corpus.files if Content(file).sha256 in known]:
        raise UserError(f"heldout={same[0]}: the text of corpus={known[Content(same[0]).sha256]}. Hold out other text.")
    heldout = encode(corpus, text.vocabulary)
    numbers = {word.tobytes(): number for number, word in enumerate(text.characters)}
    renumbered = np.array([numbers.get(word.tobytes(), OUTSIDE) for word in heldout.characters], np.int32)
    own = [each.tobytes() for each in np.split(renumbered[heldout.tokens], heldout.starts[1:-1])]
    once, ends = {*own}, pairwise(text.starts.tolist())
    seen = {sentence for start, end in ends if (sentence := text.tokens[start:end].tobytes()) in once}
    repeated = sum(sentence in seen for sentence in own)
    if repeated:
        note(f"{repeated:,} of {len(own):,} held-out sentences are in the training text, which lowers perplexity")
    return replace(heldout, repeated=repeated)


def encode_once(corpus: Corpus, folder: Path, vocabulary: TargetVocabulary | int) -> Encoded:
    """`encode`, kept in a folder and read from there the next time, unless a byte of the text has changed."""
    if (path := folder / "text.safetensors").is_file():
        arrays, about = read_arrays(path)
        digest, _, counts = about.partition(" ")
        if digest == _digest(corpus, vocabulary):
            return Encoded(**arrays, vocabulary=TargetVocabulary(parse_json(counts, path)), digest=digest)  # type: ignore[arg-type]
    encoded = encode(corpus, vocabulary)
    arrays = {name: getattr(encoded, name) for name in ("tokens", "starts", "characters", "targets")}
    write_arrays(path, arrays, f"{encoded.digest} {json.dumps(encoded.vocabulary)}")
    return encoded


def _digest(corpus: Corpus, vocabulary: TargetVocabulary | int) -> str:
    files = [Content(file).sha256 for file in corpus.files]
    words = vocabulary if isinstance(vocabulary, int) else list(vocabulary)
    return hashlib.sha256(json.dumps([VERSION, files, corpus.tokenizer, words]).encode()).hexdigest()


@dataclass(frozen=True)
class Batch:
    """Sentences, each alone from zero state: `<S> w1 … wn` forward, `</S> wn … w1` backward."""

    ids: np.ndarray  # int32 [W, C=50]: the characters of the distinct words
    lengths: np.ndarray  # int64 [W]: characters of each word before its padding; they never fall
    words: np.ndarray  # int64 [2, T, B]: rows of `ids`
    targets: np.ndarray  # int64 [2, T, B]: vocabulary ids, OUTSIDE after a sentence's end
    cells: int  # targets of one direction


class Batches:
    """Batches of at most `cells` targets over a text, in an order that follows from the seed and the pass."""

    def __init__(self, text: Encoded, *, cells: int, seed: int = 0):
        self.text, self.cells, self.seed = text, cells, seed
        self.sizes = np.diff(text.starts) + 1  # targets of each sentence

    def plan(self, number: int) -> list[np.ndarray]:
        """The sentences of every batch of a pass: similar lengths, at most `cells` targets, at least one sentence."""
        rng = np.random.default_rng([self.seed, number])
        order = rng.permutation(len(self.sizes))
        order = order[np.argsort(self.sizes[order], kind="stable")]
        sizes, parts, start = self.sizes[order], [], 0
        while start < len(order):
            count = max(1, self.cells // int(sizes[start]))
            longest = int(sizes[min(start + count, len(order)) - 1])
            stop = start + max(1, min(count, self.cells // longest))
            parts.append(order[start:stop])
            start = stop
        return [parts[place] for place in rng.permutation(len(parts))]

    def batch(self, sentences: Sequence[int] | np.ndarray) -> Batch:
        tokens, sizes, starts = self.text.tokens, self.sizes[sentences], self.text.starts[:-1][sentences]
        steps = np.arange(int(sizes.max()) + 1)[:, None]  # places in `<S> w1 … wn </S>`
        inside = np.clip(starts + steps - 1, 0, len(tokens) - 1)
        ahead = np.where(steps == 0, START, tokens[inside])  # (T+1)B
        ahead = np.where(steps >= sizes, END, ahead)
        back = np.take_along_axis(ahead, np.clip(sizes - steps, 0, None), axis=0)
        rows = np.stack([ahead, back])  # 2(T+1)B
        distinct, places = np.unique(rows, return_inverse=True)
        ids = self.text.characters[distinct].astype(np.int32)
        targets = np.where(steps[1:] <= sizes, self.text.targets[rows[:, 1:]], OUTSIDE)
        return Batch(
            ids=ids,
            lengths=(ids != PAD_CHARACTER).sum(axis=1),
            words=places.reshape(rows.shape)[:, :-1],
            targets=targets.astype(np.int64),
            cells=int(sizes.sum()),
        )
