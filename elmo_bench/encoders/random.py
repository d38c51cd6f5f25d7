"""The encoder kind `random`: ELMo before its first training step, the control for what training gives."""

from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.initial import untrained
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.pretrained import locate_options
from elmo_bench.encoders.protocol import Encoder


def load(
    *, weights: str = "mini", seed: int = 0, precision: str = "float32", stateful: bool = False, device: str = "cpu"
) -> Encoder:
    """An ELMo encoder in the shape of these weights, of which only the options are read; see `elmo.load`.

    Its numbers are the ones that pretraining starts from with this seed. Raises UserError.
    """
    bilm, checksum = untrained(BiLMOptions.from_file(locate_options(weights)), seed=seed)
    return ElmoEncoder.of(bilm, checksum, precision=precision, stateful=stateful, device=device)
