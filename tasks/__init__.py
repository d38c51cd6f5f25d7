"""The tasks: one folder each, found by its name; `--include FOLDER` adds others."""

from elmo_bench.base.include import extended

__path__ = extended("tasks", __path__)
