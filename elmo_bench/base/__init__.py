"""Errors, files, downloads, data sources and progress.

Imports no other package of ours and no torch.
"""
