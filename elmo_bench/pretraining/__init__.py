"""Training the frozen parts on one's own text; nothing else of ours uses it."""

from pathlib import Path

CONF = Path(__file__).parent / "conf"  # inside the package: pretraining needs no clone
