"""The user's pairs of texts, with one label each.

Pairs of one premise stay together in every split.
"""

from elmo_bench.text.own_data import OwnData


class Data(OwnData):
    """Reads tables with two texts and a label in each row."""

    schema = "pairs-1"
    parts = ("premise", "hypothesis", "label")
    unit = "pairs"
