"""Training a biLM on your text (docs/pretraining.md).

encode.py turns text into numbers once (vocabulary.py: the words of the softmax),
batches.py makes batches of whole sentences. network.py is the biLM, timeloop.py the
time loop of its layers with gradients, kernels.py the softmax. loop.py is the training,
with its checkpoints (checkpoints.py). trainer.py has the commands and their folder,
options.py checks what a user gives them. No other part of this package but the commands
imports it.
"""

from pathlib import Path

CONF = Path(__file__).parent / "conf"  # inside the package: pretraining needs no clone
