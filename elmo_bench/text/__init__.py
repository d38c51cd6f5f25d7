"""Tokens, characters, vocabularies, tags, batches, and the user's files and tables."""
