"""Accuracy and macro-averaged F1; imports no torch."""

from elmo_bench.tasks.classification.metric import Metric

__all__ = ["Metric"]
