"""Training a biLM on your text (docs/pretraining.md).

encode.py turns text into numbers once and makes batches of whole sentences, network.py is the biLM with its time loop,
kernels.py the softmax and what runs in the time loop, loop.py the training, trainer.py the commands and their folder.
No other part of this package but the commands imports it.
"""

from pathlib import Path

CONF = Path(__file__).parent / "conf"  # inside the package: pretraining needs no clone
