"""Limits that bound memory whatever the text is; no text of the suites reaches them (docs/limits.md)."""

LONGEST_WORD = 512  # characters of a token that are read; the longest token of the suites has 473
LONGEST_TEXT = 5_000  # tokens of a text to train on, since some heads attend to all pairs; the suites' longest has 706
