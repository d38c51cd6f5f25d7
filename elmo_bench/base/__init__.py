"""Errors, files, downloads, data sources, progress; imports nothing of ours and no torch."""
