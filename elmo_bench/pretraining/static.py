"""GloVe: word vectors whose dot products fit the logarithm of co-occurrence (Pennington et al. 2014).

Minimises  Σ f(x) (w_i · c_j + b_i + b_j − log x)²  over the non-zero cells;  f(x) = min(1, (x / x_max)^alpha).

A batch is a random sample of cells, kept as a sparse matrix: the gradients of all words are then two sparse-by-dense
products, which one thread does about ten times as fast as gathering and scattering a row for each cell. Summing a batch
before each AdaGrad step differs from the authors' program, which steps after each cell.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse import csr_matrix

ROWS = 4096  # cells, or words, worked on at once: what stays in the processor's cache


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
    after_epoch: Callable[[int, float], None] = lambda epoch, loss: None,
) -> tuple[np.ndarray, list[float]]:
    """Word + context vectors float32 [V, dim], and each epoch's loss (half the weighted square, mean over cells).

    `counts` is a symmetric [V, V]; `batch` is in cells. The same input and seed give the same vectors.
    `after_epoch` is called with (epoch from 1, loss).
    """
    rng = np.random.default_rng(seed)
    size = counts.shape[0]
    # One more column each for the biases, and one of ones that meets the other side's bias in the dot product.
    words, contexts = ((rng.random((size, dim + 2), dtype=np.float32) - 0.5) / dim for _ in range(2))
    words[:, dim + 1] = contexts[:, dim] = 1
    tables = ((words, np.ones_like(words), dim + 1), (contexts, np.ones_like(contexts), dim))
    logs = np.log(counts.data)
    weights = np.minimum(1, (counts.data / x_max) ** alpha)
    losses = []
    for epoch in range(1, epochs + 1):
        loss = 0.0
        for cells, error in _batches(counts, rng, batch):
            difference = _dots(words, contexts, error) - logs[cells]
            error.data = weights[cells] * difference
            loss += 0.5 * float(error.data @ difference)
            gradients = (error @ contexts, error.T @ words)
            for (table, squares, ones), gradient in zip(tables, gradients, strict=True):
                gradient[:, ones] = 0
                _adagrad(table, squares, gradient, learning_rate)
        losses.append(loss / counts.nnz)
        after_epoch(epoch, losses[-1])
    return (words + contexts)[:, :dim], losses


def _batches(counts: csr_matrix, rng: np.random.Generator, batch: int) -> Iterator[tuple[np.ndarray, csr_matrix]]:
    """Every cell once: positions in `counts.data` [N] and a matrix with (as yet meaningless) values at those cells."""
    size, batches = counts.shape[0], -(-counts.nnz // batch)
    number = rng.integers(batches, size=counts.nnz, dtype=np.min_scalar_type(batches))
    order = np.argsort(number, kind="stable")  # stable: a batch keeps the cells in row order, so it is a CSR matrix
    stops = np.cumsum(np.bincount(number, minlength=batches))
    for cells in np.split(order, stops[:-1]):
        rows = np.searchsorted(cells, counts.indptr)
        yield cells, csr_matrix((counts.data[cells], counts.indices[cells], rows), shape=(size, size))


def _dots(words: np.ndarray, contexts: np.ndarray, cells: csr_matrix) -> np.ndarray:
    """words[row] · contexts[column] for each cell [N]."""
    rows = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
    dots = np.empty(cells.nnz, np.float32)
    for start in range(0, cells.nnz, ROWS):
        part = slice(start, start + ROWS)
        np.einsum("nd,nd->n", words.take(rows[part], 0), contexts.take(cells.indices[part], 0), out=dots[part])
    return dots


def _adagrad(table: np.ndarray, squares: np.ndarray, gradient: np.ndarray, learning_rate: float) -> None:
    """One step in place; as in the authors' program the sum starts at 1 and takes squares of gradient times rate."""
    for start in range(0, len(table), ROWS):
        part = slice(start, start + ROWS)
        step = learning_rate * gradient[part]
        squares[part] += step * step
        table[part] -= step / np.sqrt(squares[part])
