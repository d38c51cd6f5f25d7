"""GloVe: word vectors whose dot products fit the logarithm of co-occurrence (Pennington et al. 2014).

Minimises  Σ f(x) (w_i · c_j + b_i + b_j − log x)²  over the non-zero cells;  f(x) = min(1, (x / x_max)^alpha).

A batch is a random sample of cells, kept as a sparse matrix: the gradients of all words are then two sparse-by-dense
products, which one thread does about ten times as fast as gathering and scattering a row for each cell. Summing a batch
before each AdaGrad step differs from the authors' program, which steps after each cell. Cells are dealt into batches
once, and each epoch takes the batches in another order: dealing them anew would take a third of the time more.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import csr_matrix

PARTS = 16  # of a batch, for the threads to share; fixed, so that their number changes no sum
ROWS = 1024  # vectors worked on at once: what stays in the processor's cache


@dataclass(frozen=True)
class Table:
    """Vectors of words or contexts, with AdaGrad's sums of squares and a batch's gradient, all float32 [V, dim + 2]."""

    vectors: np.ndarray  # two more columns: the bias, and a one that meets the other table's bias in the dot product
    ones: int  # which column that is
    squares: np.ndarray
    gradient: np.ndarray

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int, dim: int, *, ones: int) -> "Table":
        vectors = (rng.random((size, dim + 2), dtype=np.float32) - 0.5) / dim
        vectors[:, ones] = 1
        return cls(vectors, ones, np.ones_like(vectors), np.empty_like(vectors))

    def step(self, rows: slice, learning_rate: float) -> None:
        """One AdaGrad step in place (Duchi et al. 2011); the squares of the gradients are summed from 1 on.

        The authors' program sums squares of gradient times rate instead. That cancels the rate where the gradients of
        a batch are large: every number of a frequent word would move by 1 in the first step, at any rate.
        """
        gradient = self.gradient[rows]
        gradient[:, self.ones] = 0
        self.squares[rows] += gradient * gradient
        self.vectors[rows] -= learning_rate * gradient / np.sqrt(self.squares[rows])


@dataclass(frozen=True)
class Batch:
    """Some cells."""

    weights: csr_matrix  # [V, V] of f(x)
    logs: np.ndarray  # log x [N], in the order of `weights.data`


def train_glove(
    counts: csr_matrix,
    *,
    dim: int,
    x_max: float,
    alpha: float,
    learning_rate: float,
    epochs: int,
    batch: int,
    seed: int,
    threads: int = 1,
    after_epoch: Callable[[int, float], None] = lambda epoch, loss: None,
) -> tuple[np.ndarray, list[float]]:
    """Word + context vectors float32 [V, dim], and each epoch's loss (half the weighted square, mean over cells).

    `counts` is a symmetric [V, V]; `batch` is in cells. The same input and seed give the same vectors, with any number
    of threads. Memory beside `counts`: 12 bytes a cell (8 more while they are dealt), and 4 a word for each batch.
    `after_epoch` is called with (epoch from 1, loss).
    """
    rng = np.random.default_rng(seed)
    words = Table.draw(rng, counts.shape[0], dim, ones=dim + 1)
    contexts = Table.draw(rng, counts.shape[0], dim, ones=dim)
    batches = _deal(counts, rng, batch, lambda x: np.minimum(1, (x / x_max) ** alpha))
    losses = []
    with ThreadPoolExecutor(threads) as pool:
        for epoch in range(1, epochs + 1):
            order = rng.permutation(len(batches))
            loss = sum(_step(batches[number], words, contexts, learning_rate, pool) for number in order)
            losses.append(loss / counts.nnz)
            after_epoch(epoch, losses[-1])
    return (words.vectors + contexts.vectors)[:, :dim], losses


def _deal(
    counts: csr_matrix, rng: np.random.Generator, batch: int, weigh: Callable[[np.ndarray], np.ndarray]
) -> list[Batch]:
    """Each cell into one batch, by chance."""
    number = rng.integers(count := -(-counts.nnz // batch), size=counts.nnz, dtype=np.min_scalar_type(count))
    order = np.argsort(number, kind="stable")  # stable: a batch keeps the cells in row order, so it is a CSR matrix
    stops = np.cumsum(np.bincount(number, minlength=count))
    batches = []
    for cells in np.split(order, stops[:-1]):
        values, rows = counts.data[cells], np.searchsorted(cells, counts.indptr).astype(np.int32)
        batches.append(Batch(csr_matrix((weigh(values), counts.indices[cells], rows), counts.shape), np.log(values)))
    return batches


def _step(batch: Batch, words: Table, contexts: Table, learning_rate: float, pool: ThreadPoolExecutor) -> float:
    """One AdaGrad step of both tables; the loss before it, summed over the cells."""
    cells = batch.weights
    errors = csr_matrix((np.empty_like(cells.data), cells.indices, cells.indptr), cells.shape)
    loss = sum(pool.map(partial(_words_part, batch, errors, words, contexts), _parts(errors)))
    across = errors.T.tocsr()
    list(pool.map(partial(_contexts_part, across, words, contexts), _parts(across)))
    rows = [slice(start, start + ROWS) for start in range(0, len(words.vectors), ROWS)]
    for table in (words, contexts):
        list(pool.map(partial(table.step, learning_rate=learning_rate), rows))
    return loss


def _parts(cells: csr_matrix) -> list[slice]:
    """Rows, with about equally many cells in each part."""
    inner = np.searchsorted(cells.indptr, np.arange(1, PARTS) * cells.nnz // PARTS).tolist()
    return [slice(*ends) for ends in zip([0, *inner], [*inner, cells.shape[0]], strict=True)]


def _words_part(batch: Batch, errors: csr_matrix, words: Table, contexts: Table, rows: slice) -> float:
    """Errors of the cells in these rows, and the words' gradients from them; the loss of these cells."""
    lengths = np.diff(errors.indptr[rows.start : rows.stop + 1])
    part = slice(errors.indptr[rows.start], errors.indptr[rows.stop])
    lefts = np.repeat(np.arange(rows.start, rows.stop), lengths)
    difference = _dots(words.vectors, contexts.vectors, lefts, errors.indices[part]) - batch.logs[part]
    errors.data[part] = batch.weights.data[part] * difference
    words.gradient[rows] = errors[rows] @ contexts.vectors
    return 0.5 * float(np.sum(errors.data[part] * difference, dtype=np.float64))


def _contexts_part(across: csr_matrix, words: Table, contexts: Table, rows: slice) -> None:
    contexts.gradient[rows] = across[rows] @ words.vectors


def _dots(words: np.ndarray, contexts: np.ndarray, lefts: np.ndarray, rights: np.ndarray) -> np.ndarray:
    """words[left] · contexts[right] for each pair [N]."""
    dots = np.empty(len(lefts), np.float32)
    for start in range(0, len(lefts), ROWS):
        part = slice(start, start + ROWS)
        np.einsum("nd,nd->n", words.take(lefts[part], 0), contexts.take(rights[part], 0), out=dots[part])
    return dots
