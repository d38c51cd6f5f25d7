"""fastText: skip-gram vectors with character n-grams (Bojanowski et al. 2017), trained by gensim."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.pretraining.corpus import Corpus

LONGEST_SENTENCE = 10_000  # tokens; gensim drops the rest of a longer one without a message
HELDOUT_PAIRS = 2**16  # worked on at once


@dataclass(frozen=True)
class Sentences:
    """Tokenised sentences that can be read several times, as gensim needs them."""

    files: tuple[Path, ...]

    def __iter__(self) -> Iterator[list[str]]:
        corpus = Corpus(self.files)
        return (
            sentence[start : start + LONGEST_SENTENCE]
            for sentence in chain.from_iterable(map(corpus.sentences, self.files))
            for start in range(0, len(sentence), LONGEST_SENTENCE)
        )


def train_fasttext(
    files: Sequence[Path],
    *,
    dim: int,
    min_count: int,
    buckets: int,
    shortest: int,
    longest: int,
    window: int,
    negative: int,
    sample: float,
    learning_rate: float,
    epochs: int,
    seed: int,
    threads: int = 1,
    after_epoch: Callable[[int], None] = lambda tokens: None,
) -> Any:
    """A trained `gensim.models.FastText`; `after_epoch` is called with the tokens of each pass.

    With several threads gensim's result depends on their timing. Its threads read one plain file each at a place of
    their own, so the text is unpacked into the temporary folder first. Raises UserError if gensim is not installed, or
    if no word is frequent enough.
    """
    try:
        from gensim.models import FastText
        from gensim.models.callbacks import CallbackAny2Vec
    except ImportError:
        raise UserError("gensim is not installed. Install it with: pip install 'elmo-bench[fasttext]'.") from None

    class AfterEpoch(CallbackAny2Vec):
        def on_epoch_end(self, model: Any) -> None:
            after_epoch(model.corpus_total_words)

    model = FastText(
        sg=1,
        vector_size=dim,
        min_count=min_count,
        bucket=buckets,
        min_n=shortest,
        max_n=longest,
        window=window,
        negative=negative,
        ns_exponent=0.5,  # section 4.2; gensim's default is word2vec's 0.75
        sample=sample,
        alpha=learning_rate,
        seed=seed,
        workers=threads,
    )
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        with text.open("w", encoding="utf-8", newline="\n") as handle:
            handle.writelines(f"{' '.join(sentence)}\n" for sentence in Sentences(tuple(files)))
        try:
            model.build_vocab(corpus_file=str(text))
            model.train(
                corpus_file=str(text),
                total_examples=model.corpus_count,
                total_words=model.corpus_total_words,
                epochs=epochs,
                callbacks=[AfterEpoch()],
            )
        except RuntimeError as error:  # how gensim reports a vocabulary without words
            if len(model.wv):
                raise
            raise UserError(
                f"{files[0]}: no word occurs {min_count} times. Give more text or a lower min_count."
            ) from error
    return model


def heldout_loss(model: Any, files: Sequence[Path], seed: int = 0) -> float:
    """The training loss on other text: −log σ(v·c) − Σ log σ(−v·n) of a word v, a context c and drawn negatives n.

    The mean over all pairs of known words of one sentence, at most a window apart. A pair at distance d weighs
    (window − d + 1) / window, the chance that training, which draws its window anew for each word, reads it. Frequent
    words are not sampled down.
    """
    rng = np.random.default_rng(seed)
    total = weight = 0.0
    for left, right, weights in _pairs(model, Sentences(tuple(files))):
        draws = np.searchsorted(model.cum_table, rng.integers(model.cum_table[-1], size=(len(left), model.negative)))
        vectors = model.wv.vectors[left]
        positive = np.einsum("nd,nd->n", vectors, model.syn1neg[right])
        negative = np.einsum("nd,nkd->nk", vectors, model.syn1neg[draws])
        losses = np.logaddexp(0, -positive) + np.logaddexp(0, negative).sum(1)
        total += float(losses @ weights)
        weight += float(weights.sum())
    return total / weight if weight else float("nan")


def _pairs(model: Any, text: Sentences) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows of words, rows of contexts and weights, [N] each."""
    known, window = model.wv.key_to_index, model.window
    ids: list[int] = []
    sentences: list[int] = []
    for number, sentence in enumerate(text):
        rows = [known[word] for word in sentence if word in known]
        ids += rows
        sentences += [number] * len(rows)
        if len(ids) * window * 2 > HELDOUT_PAIRS:
            yield _pairs_of(np.array(ids), np.array(sentences), window)
            ids, sentences = [], []
    yield _pairs_of(np.array(ids, int), np.array(sentences, int), window)


def _pairs_of(ids: np.ndarray, sentences: np.ndarray, window: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    lefts, rights, weights = [], [], []
    for distance in range(1, window + 1):
        together = np.flatnonzero(sentences[:-distance] == sentences[distance:])
        first, second = ids[together], ids[together + distance]
        lefts += [first, second]
        rights += [second, first]
        weights.append(np.full(2 * len(together), (window - distance + 1) / window))
    return np.concatenate(lefts), np.concatenate(rights), np.concatenate(weights)
