"""Errors, files, downloads, data sources and progress.

Imports no other package of ours. Only `int8` needs torch to be imported.
"""
