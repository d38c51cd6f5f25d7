"""Accuracy over words; imports no torch."""

from elmo_bench.text.token_labels import TokenAccuracy as Metric

__all__ = ["Metric"]
