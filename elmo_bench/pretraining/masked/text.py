"""Text as rows of word pieces, ready to lie in a GPU's memory as a whole.

A row holds `width` pieces: several stretches `[CLS] … [SEP]`, then padding. Stretches of one row do not see each other
(`model.py`). A stretch is a sentence alone, which is how an encoder reads it, or a run of consecutive sentences that
see each other (RoBERTa's FULL-SENTENCES). A pass over the rows reads each sentence twice, once in each way.

Pieces are int16. A piece that continues a word is stored as `~id`, so whole-word masking needs no second array.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import progress
from elmo_bench.pretraining.corpus import Corpus
from elmo_bench.pretraining.processes import in_order

PAD, UNK, CLS, SEP, MASK = range(5)
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")  # in the order of their ids
LETTERS = 500  # the most frequent characters, which are pieces; a word with any other character is [UNK]
AT_ONCE = 2000  # sentences that are split at once


@dataclass(frozen=True)
class Rows:
    """Rows of pieces int16 [R, width] and counts of the text in them."""

    rows: Mapping[str, np.ndarray]  # by kind, see `rows_of`
    sentences: int
    words: int
    pieces: int


def train_tokenizer(files: Sequence[Path], *, size: int, lines: int) -> str:
    """A cased WordPiece tokenizer with BERT's rules, learned from the first `lines` of each file, as JSON.

    The same text gives the same pieces. Raises UserError if the text is empty.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    corpus = Corpus(tuple(files))
    text = [normalizer.normalize_str(line) for file in files for line in islice(corpus.lines(file), lines)]
    if not text:
        raise UserError(f"{files[0]}: no sentence in the whole corpus. Give text with one sentence a line.")

    # The trainer numbers the letters in random order, and numbers decide between pairs of equal counts. So letters get
    # their numbers here.
    counts = Counter(chain.from_iterable(text))
    frequent = sorted((letter for letter in counts if not letter.isspace()), key=lambda each: (-counts[each], each))
    letters = frequent[:LETTERS]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=[*SPECIAL, *letters, *(f"##{letter}" for letter in letters)],
        limit_alphabet=0,
        show_progress=False,
    )
    learner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    learner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    learner.train_from_iterator(text, trainer)

    tokenizer = Tokenizer(models.WordPiece(learner.get_vocab(), unk_token="[UNK]"))  # without letters as special tokens
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    return tokenizer.to_str()


def rows_of(
    files: Sequence[Path], tokenizer: str, *, width: int, kinds: Sequence[str] = ("both",), processes: int
) -> Rows:
    """The rows of all files, in order; one process for each file. `tokenizer` is JSON as `train_tokenizer` returns it.

    The kinds are "alone" (each sentence by itself), "together" (runs of sentences), and "both". Raises UserError if a
    file cannot be read, or there is no sentences.
    """
    parts: list[Rows] = []
    work = partial(_rows_of_file, tokenizer=tokenizer, width=width, kinds=tuple(kinds))
    with progress("split text into pieces", total=len(files)) as meter:
        for part in in_order(work, files, processes):
            parts.append(part)
            meter.advance(part.words)
    if not any(part.sentences for part in parts):
        raise UserError(f"{files[0]}: no sentence in the whole corpus. Give text with one sentence a line.")
    return Rows(
        rows={kind: np.concatenate([part.rows[kind] for part in parts]) for kind in kinds},
        sentences=sum(part.sentences for part in parts),
        words=sum(part.words for part in parts),
        pieces=sum(part.pieces for part in parts),
    )


def _rows_of_file(file: Path, *, tokenizer: str, width: int, kinds: Sequence[str]) -> Rows:
    """The rows of a file; sentences and runs are at most `width - 2` long, for [CLS] and [SEP]."""
    pieces: list[np.ndarray] = []
    alone: list[int] = []
    for some in _pieces(file, tokenizer):
        pieces += some
        for sentence in some:
            alone += _lengths(sentence, width - 2)
    runs = [0] if alone else []
    for length in alone:
        if runs[-1] + length > width - 2:
            runs.append(0)
        runs[-1] += length
    flat = np.concatenate([*pieces, np.empty(0, dtype=np.int16)])
    lengths = {"alone": np.array(alone, dtype=np.int64), "together": np.array(runs, dtype=np.int64)}
    starts = {kind: np.cumsum(each) - each for kind, each in lengths.items()}
    for table in (starts, lengths):
        table["both"] = np.concatenate([table["alone"], table["together"]])
    return Rows(
        rows={kind: pack(flat, starts[kind], lengths[kind], width=width) for kind in kinds},
        sentences=len(pieces),
        words=int((flat >= 0).sum()),
        pieces=len(flat),
    )


def _pieces(file: Path, tokenizer: str) -> Iterator[list[np.ndarray]]:
    """int16 pieces of some sentences at a time; sentences without a piece are left out."""
    from tokenizers import Tokenizer

    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # each file has a process of its own
    splitter = Tokenizer.from_str(tokenizer)
    found = Corpus((file,)).sentences(file)
    while some := list(islice(found, AT_ONCE)):
        coded = splitter.encode_batch(some, is_pretokenized=True, add_special_tokens=False)
        split = []
        for each in coded:
            ids = np.array(each.ids, dtype=np.int16)
            if len(ids):
                words = np.array(each.word_ids, dtype=np.int32)
                ids[1:][words[1:] == words[:-1]] ^= -1  # ~id
                split.append(ids)
        yield split


def _lengths(sentence: np.ndarray, longest: int) -> list[int]:
    """The length of a sentence, or of its parts if it is too long for a row; cut between words if possible."""
    lengths, start = [], 0
    while len(sentence) - start > longest:
        begins = np.flatnonzero(sentence[start + 1 : start + longest + 1] >= 0)
        lengths.append(int(begins[-1]) + 1 if len(begins) else longest)
        start += lengths[-1]
    return [*lengths, len(sentence) - start]


def pack(pieces: np.ndarray, starts: np.ndarray, lengths: np.ndarray, *, width: int) -> np.ndarray:
    """Rows int16 [R, width] that hold all stretches `pieces[start : start + length]`, each behind [CLS], before [SEP].

    A row takes the longest stretch that fits until none does, which leaves little padding.
    """
    sizes = lengths + 2
    order = np.argsort(sizes, kind="stable")
    left = np.bincount(sizes, minlength=width + 1).cumsum().tolist()  # by size: end of its stretches in `order`
    ends = [0, *left[:-1]]
    sized = sum(1 << size for size in range(width + 1) if left[size] > ends[size])  # a bit for each size that is left
    row, room, offsets = -1, 0, np.empty(len(sizes), dtype=np.int64)
    for _ in range(len(sizes)):
        fitting = sized & ((2 << room) - 1)
        if not fitting:
            row, room, fitting = row + 1, width, sized
        size = fitting.bit_length() - 1
        left[size] -= 1
        if left[size] == ends[size]:
            sized ^= 1 << size
        offsets[order[left[size]]] = row * width + width - room
        room -= size
    table = np.full((row + 1) * width, PAD, dtype=np.int16)
    place = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)  # in its stretch
    table[np.repeat(offsets + 1, lengths) + place] = pieces[np.repeat(starts, lengths) + place]
    table[offsets], table[offsets + lengths + 1] = CLS, SEP
    return table.reshape(-1, width)
