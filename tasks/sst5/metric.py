"""Accuracy over five classes; imports no torch."""

from collections.abc import Mapping

from elmo_bench.tasks.sst5.data import LABELS
from elmo_bench.text.figures import LabelAccuracy


class Metric(LabelAccuracy):
    """The percentage of sentences with the right label, neutral included."""

    names: Mapping[int, str] = dict(enumerate(LABELS))
    unit = "sentences"
