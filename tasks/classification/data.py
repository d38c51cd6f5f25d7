"""The user's texts, with one label each."""

from elmo_bench.text.own_data import OwnData


class Data(OwnData):
    """Reads tables with a text and a label in each row."""

    schema = "classification-1"
    parts = ("text", "label")
    unit = "texts"
