"""Building blocks that two or more heads use, and the mix of an encoder's layers.

Shapes: B batch, T tokens, C characters, D input size, H hidden units.
"""
