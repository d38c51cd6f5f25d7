"""Training a biLM on your text (docs/pretraining.md).

encode.py turns text into numbers once, batches.py makes batches of whole sentences, network.py is the biLM with
kernels.py in its time loop, cross_entropy.py the softmax, loop.py the training. No other part of this package but the
commands imports it.
"""

from pathlib import Path

CONF = Path(__file__).parent / "conf"  # inside the package: pretraining needs no clone
