"""Training frozen parts on your text: biLMs, masked language models and static vectors (docs/pretraining.md).

No other part of this package imports it.
"""

from pathlib import Path

CONF = Path(__file__).parent / "conf"  # inside the package: pretraining needs no clone
