"""The main job: `python run.py task=ner encoder=elmo`; `-m` for sweeps; `--help` for
every option.
"""

from elmo_bench.__main__ import entry

if __name__ == "__main__":
    entry("run")
