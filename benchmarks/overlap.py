"""Passages of a SQuAD file that share a stretch of tokens with a text that encoders were trained on.

    python benchmarks/overlap.py 'wikipedia/train-*.txt.xz' squad/dev-v1.1.json
    python benchmarks/overlap.py notes.txt squad/dev-v1.1.json --tokens 8

A passage shares a stretch if `--tokens` (12) of its tokens in a row are also in a row in one sentence of the text, both
in lower case. Passages have the tokens of the task's reader, and the text is one tokenised sentence a line (plain, .gz,
.xz or .zst). Only the passages are kept in memory; 81 M tokens of text take about 70 seconds of processor time.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from elmo_bench.pretraining.corpus import Corpus, shard_files
from elmo_bench.tasks.squad.squad_json import entries, read_json
from elmo_bench.tasks.squad.tokens import passage_tokens


def stretches(tokens: Sequence[str], length: int) -> Iterator[str]:
    """Every `length` tokens in a row, in lower case, separated by spaces."""
    lower = [token.lower() for token in tokens]
    for start in range(len(lower) - length + 1):
        yield " ".join(lower[start : start + length])


class Overlap:
    """Which of the passages share `length` tokens in a row with the sentences read so far."""

    def __init__(self, passages: Iterable[Sequence[str]], length: int):
        self.length = length
        self.found: set[int] = set()
        self.sentences = self.tokens = self.longest = 0
        self._passages: dict[str, set[int]] = {}
        for number, passage in enumerate(passages):
            for stretch in stretches(passage, length):
                self._passages.setdefault(stretch, set()).add(number)

    def read(self, sentences: Iterable[Sequence[str]]) -> None:
        """Search tokenised sentences, and count them."""
        for sentence in sentences:
            self.sentences += 1
            self.tokens += len(sentence)
            self.longest = max(self.longest, len(sentence))
            for stretch in stretches(sentence, self.length):
                self.found |= self._passages.get(stretch, set())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", help="a file, or a pattern in quotes")
    parser.add_argument("squad", type=Path, help="questions and passages in SQuAD's JSON")
    parser.add_argument("--tokens", type=int, default=12)
    given = parser.parse_args(arguments)
    if given.tokens < 1:
        parser.error("--tokens: give a number from 1")
    questions = Counter(entry.passage for entry in entries(read_json(given.squad), given.squad))
    passages = {text: passage_tokens(text)[0] for text in questions}
    overlap = Overlap(passages.values(), given.tokens)
    corpus = Corpus(tuple(shard_files(given.text)))
    for file in corpus.files:
        overlap.read(corpus.sentences(file))
    asked, lengths = list(questions.values()), [len(tokens) for tokens in passages.values()]
    print(
        f"{len(overlap.found):,} of {len(passages):,} passages, with {sum(asked[each] for each in overlap.found):,} of "
        f"{sum(asked):,} questions, share {given.tokens} tokens in a row with the text"
    )
    print(f"the text: {overlap.sentences:,} sentences, {overlap.tokens:,} tokens, at most {overlap.longest} a sentence")
    print(
        f"a passage: {sum(lengths) / len(lengths):.0f} tokens on average, at most {max(lengths)}; "
        f"{sum(length > overlap.longest for length in lengths):,} are longer than every sentence of the text"
    )


if __name__ == "__main__":
    main()
