"""Encoders that go wrong; named by `encoder.contextual._target_` in tests."""

from pathlib import Path

from elmo_bench.elmo.encoder import ElmoEncoder


class FailsToEncode(ElmoEncoder):
    """Raises while it computes layers."""

    def encode(self, sentences, **options):
        raise ValueError("this encoder is broken")


class FailsWhileThereIsAFile(ElmoEncoder):
    """Raises while it computes layers, as long as the file `broken` lies in the working folder."""

    def encode(self, sentences, **options):
        if Path("broken").exists():
            raise ValueError("this encoder is broken")
        return super().encode(sentences, **options)


class FailsToLoad:
    """Raises when it is made."""

    def __init__(self, **options):
        raise ValueError("this encoder cannot be made")
