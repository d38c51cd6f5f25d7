"""The encoder kind `elmo`: a frozen biLM (see elmo_bench/elmo/)."""

from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.encoders.protocol import Encoder


def load(*, weights: str = "mini", precision: str = "float32", stateful: bool = False, device: str = "cpu") -> Encoder:
    """The ELMo encoder of these weights; options as of `ElmoEncoder`. Raises UserError."""
    return ElmoEncoder(weights=weights, precision=precision, stateful=stateful, device=device)
