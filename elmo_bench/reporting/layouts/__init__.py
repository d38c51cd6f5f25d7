"""The tables of an experiment, one module for each layout: which rows they show, and how they are compared.

`encoders` (tasks by encoders), `variants` (a table a task), `fractions` (learning curves), `weights` (of the layers),
and `runs`, which lists everything.
"""
