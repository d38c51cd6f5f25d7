"""Rows of vectors as a file stores them. Only the wanted rows become float32."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DTYPES = ("float32", "float16", "int8")


@dataclass(frozen=True, eq=False)
class Rows:
    """`stored` [N, D] in float32, float16 or int8. With int8, row i is `stored[i] * scales[i]`."""

    stored: np.ndarray
    scales: np.ndarray | None = None  # float32 [N], with int8 alone

    @classmethod
    def of(cls, vectors: np.ndarray, dtype: str) -> "Rows":
        """Vectors [N, D] in one of DTYPES. In int8 the largest number of a row becomes 127 or -127."""
        if dtype != "int8":
            return cls(np.ascontiguousarray(vectors.astype(dtype)))
        scales = np.abs(vectors).max(axis=1, initial=0).astype(np.float32) / 127
        steps = np.where(scales == 0, 1, scales)[:, None]
        return cls(np.rint(vectors / steps).clip(-127, 127).astype(np.int8), scales)

    def __len__(self) -> int:
        return len(self.stored)

    @property
    def dim(self) -> int:
        return self.stored.shape[1]

    def take(self, rows: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
        """float32 [n, D]: these rows, or all."""
        chosen = slice(None) if rows is None else np.asarray(rows, dtype=np.int64)
        vectors = self.stored[chosen].astype(np.float32)
        if self.scales is not None:
            vectors *= self.scales[chosen][:, None]
        return vectors
