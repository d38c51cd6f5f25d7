"""Building blocks that two or more heads use. Shapes: B batch, T tokens, C characters, D input size, H hidden units."""
