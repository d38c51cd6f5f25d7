"""Logistic regression of sparse features, fitted with scikit-learn.

The last layer of floors, which are heads without vectors: nothing of it is trained by
gradient steps of ours, so it is the same in every run on the same data.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from elmo_bench.base.errors import UserError

ITERATIONS = 1000  # of L-BFGS at most; more change a score seldom


@dataclass(frozen=True)
class Fit:
    """What one C gave."""

    steps: int  # iterations of L-BFGS
    loss: float  # cross-entropy, mean over the training items


class LogisticLayer(nn.Module):
    """Scores of classes that are linear in sparse features.

    features: F. classes: K. weights [F, K] and bias [K] are float32, as a kept head has
    them, and zeros before `fits`.
    """

    def __init__(self, features: int, classes: int):
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(features, classes))
        self.bias = nn.Parameter(torch.zeros(classes))

    def fits(
        self, x: Any, y: np.ndarray, *, c: float, factor: float, times: int
    ) -> Iterator[Fit]:
        """Fit for C, C · factor, …, so many times.

        After each, this layer has its weights.

        x: scipy's csr [N, F]. y: int [N], the class of each item. c: the inverse of the
        weight of the squared norm, next to a loss that is a sum over the items.
        """
        counts = np.bincount(y)
        can_learn = np.count_nonzero(counts) > 1 and x.shape[1] > 0
        for number in range(times):
            if can_learn:
                # Each from zero: from the weights of the C before, L-BFGS may end at
                # once, since the gradient is small there.
                strength = c * factor**number
                regression = LogisticRegression(C=strength, max_iter=ITERATIONS)
                steps = _fit(regression, x, y)
                self._take(regression)
            else:
                steps = 1
                self.bias.data[int(counts.argmax())] = 1.0
            scores = log_softmax(self.scores(x), axis=1)
            loss = -scores[np.arange(len(y)), y].mean()
            yield Fit(steps, float(loss))

    def _take(self, regression: LogisticRegression) -> None:
        """Copy the weights of the classes that occur; no other is ever the best."""
        weights = regression.coef_.T  # FK
        bias = regression.intercept_
        if len(regression.classes_) == 2:  # scikit-learn has the second class alone
            weights = np.concatenate([-weights, weights], axis=1) / 2
            bias = np.array([-bias[0], bias[0]]) / 2
        columns = torch.from_numpy(regression.classes_)
        self.weights.data.zero_()
        self.weights.data[:, columns] = torch.from_numpy(weights).float()
        self.bias.data.fill_(torch.finfo(torch.float32).min)
        self.bias.data[columns] = torch.from_numpy(bias).float()

    def scores(self, x: Any) -> np.ndarray:
        """float32 [N, K] of scipy's csr [N, F]."""
        weights = _array(self.weights)
        return x.astype(np.float32) @ weights + _array(self.bias)

    def best(self, x: Any) -> list[int]:
        """The number of the best class of each item."""
        return self.scores(x).argmax(axis=1).tolist()


class LogisticHead(nn.Module):
    """A head that is fitted: logistic regression of the features of some items.

    A task on own data adds `items`, and what a head of it has besides.

    embedder: kept for what asks every head for it; its vectors are not read. features,
    classes: see `LogisticLayer`. c, factor: see `LogisticLayer.fits`.
    """

    def __init__(
        self,
        embedder: nn.Module,
        *,
        features: int,
        classes: int,
        c: float,
        factor: float,
    ):
        super().__init__()
        if not c > 0 or not factor > 0:
            raise UserError(
                f"task.head.c={c}, task.head.factor={factor}: give numbers above 0."
            )
        self.embedder = embedder
        self.c = c
        self.factor = factor
        self.logistic = LogisticLayer(features, classes)

    def fits(self, train: Sequence[Any], times: int) -> Iterator[Fit]:
        """Fit so many times, to each C once."""
        features, classes = self.items(train)
        yield from self.logistic.fits(
            features, np.array(classes), c=self.c, factor=self.factor, times=times
        )

    def items(self, train: Sequence[Any]) -> tuple[Any, Sequence[int]]:
        """The features of the training items, csr [N, F], and their N classes."""
        raise NotImplementedError


def _fit(regression: LogisticRegression, x: Any, y: np.ndarray) -> int:
    """Fit; the number of iterations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        regression.fit(x, y)
    return max(1, int(regression.n_iter_.max()))


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
