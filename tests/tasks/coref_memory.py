"""Predicts or trains on one document of 5,000 tokens at the paper's sizes; run by test_coref_memory.py, alone.

python coref_memory.py train|predict [tokens of a sentence] -> peak memory in MiB
"""

import random
import resource
import sys
import time

import torch

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.encoders.words import LearnedWords
from elmo_bench.nn.character_cnn import CharacterCnn
from elmo_bench.nn.mix import ScalarMix
from elmo_bench.runner.model import build_head
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.tasks.coref.document import Document
from elmo_bench.text.batch import Indexer
from elmo_bench.text.vocabulary import Vocabulary

TOKENS, LAYERS, DIM = 5000, 3, 1024  # of the document; of the published ELMo


def document(longest: int) -> Document:
    """Sentences of 5 to `longest` tokens, and 250 chains of six mentions."""
    rng = random.Random(0)
    sentences, left = [], TOKENS
    while left:
        length = min(left, rng.randint(5, longest))
        sentences.append(tuple(f"w{rng.randrange(3000)}ing" for _ in range(length)))
        left -= length
    starts = rng.sample(range(TOKENS), 1500)
    spans = [(start, start) for start in starts]
    clusters = tuple(tuple(sorted(spans[n::250])) for n in range(250))
    return Document("nw/x", "000", "nw", tuple(sentences), ("-",) * TOKENS, clusters)


def layers(texts) -> torch.Tensor:
    return torch.rand(len(texts), LAYERS, max(map(len, texts)), DIM)


def main() -> None:
    what, longest = sys.argv[1], int(sys.argv[2])
    example = document(longest)
    config = compose("config", ["task=coref", "size=paper", "encoder=elmo"])
    distinct = sorted(set(example.tokens))
    words = LearnedWords(distinct, 300, repeated=len(distinct))  # as wide as GloVe
    alphabet = Vocabulary({character for word in example.tokens for character in word})
    embedder = Embedder(
        words=words,
        characters=CharacterCnn(alphabet, dim=config.task.characters.dim, filters=config.task.characters.filters),
        mixes={"input": ScalarMix(LAYERS, penalty=config.task.mix.penalty)},
        layer_dims={"": DIM},
    )
    head = build_head(RunSpec.of(config), embedder, {"genres": ["nw"]})
    batch = head.collate([example], Indexer(words=words.index, characters=alphabet, layers={"": layers}))
    started = time.monotonic()
    if what == "train":
        optimizer = torch.optim.Adam(head.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            head.train().loss(batch).backward()
            optimizer.step()
    else:
        with torch.no_grad():
            head.eval().predict(batch)
    print(f"{time.monotonic() - started:.1f} seconds", file=sys.stderr)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main()
