"""The encoder kind `elmo`: a frozen biLM (see elmo_bench/elmo/)."""

from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.encoders import Encoder

load: type[Encoder] = ElmoEncoder
