"""The encoder kind `elmo`: a biLM."""

from elmo_bench.elmo.encoder import ElmoEncoder as load

__all__ = ["load"]
