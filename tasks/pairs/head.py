"""SNLI's head, ESIM, over the labels of the training data."""

from elmo_bench.tasks.snli.head import Head

__all__ = ["Head"]
