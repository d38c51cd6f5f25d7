"""Tokens, characters, vocabularies, tags, column files and batches."""
