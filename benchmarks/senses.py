"""Does a biLM tell the senses of a word apart?  Nearest neighbours of "play", "bank" and "bark" in two contexts each.

    python benchmarks/senses.py 'wikipedia/train-*.txt.xz' --weights mini

As in Table 4 of Peters et al. 2018: each word stands in two sentences below; among its occurrences in the text, those
whose vectors are nearest to it by cosine (one layer, no mixing) are shown with what stands around them.
"""

import argparse
from itertools import islice

import torch
from torch.nn import functional

from elmo_bench import ElmoEncoder
from elmo_bench.pretraining.corpus import Corpus, shard_files

QUERIES = {
    "play": (
        "The guard made a quick play that won the game for his team .",
        "She wrote a play about the king , which opened in a London theatre .",
    ),
    "bank": (
        "He borrowed the money from a bank that charged high interest .",
        "They walked along the bank of the river and looked at the water .",
    ),
    "bark": (
        "The dog began to bark at the strangers in the street .",
        "The bark of the tree is grey , thick and rough .",
    ),
}
AROUND = 6  # words shown on each side


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--weights", default="mini")
    parser.add_argument("--layer", type=int, default=2, help="0, 1 or 2 (default: %(default)s)")
    parser.add_argument("--occurrences", type=int, default=2000, help="of each word, at most (default: %(default)s)")
    parser.add_argument("--show", type=int, default=5)
    options = parser.parse_args()
    corpus = Corpus(tuple(shard_files(options.corpus)))
    encoder = ElmoEncoder(weights=options.weights)

    def vectors(sentences, word):
        """One for each sentence: that of the word's first occurrence."""
        layers = encoder.encode(sentences)
        return torch.stack([x[options.layer, s.index(word)] for x, s in zip(layers, sentences, strict=True)])

    text = (sentence for file in corpus.files for sentence in corpus.sentences(file))
    found: dict[str, list[list[str]]] = {word: [] for word in QUERIES}
    for sentence in text:
        for word in found.keys() & set(sentence):
            found[word].append(sentence)
    for word, queries in QUERIES.items():
        some = list(islice(found[word], options.occurrences))
        known = functional.normalize(vectors(some, word), dim=1)
        for query in queries:
            [vector] = vectors([query.split()], word)
            scores, places = (known @ functional.normalize(vector, dim=0)).topk(min(options.show, len(some)))
            print(f"\n{query}    ({len(some):,} occurrences of {word!r})")
            for score, place in zip(scores.tolist(), places.tolist(), strict=True):
                sentence = some[place]
                at = sentence.index(word)
                left, right = sentence[max(0, at - AROUND) : at], sentence[at + 1 : at + 1 + AROUND]
                print(f"  {score:.3f}  {' '.join(left):>45} [{word}] {' '.join(right)}")


if __name__ == "__main__":
    main()
