"""Training a masked language model: text to rows of pieces, whole-word masking, the training loop, the saved folder."""
