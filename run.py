"""The main job: `python run.py task=ner encoder=elmo`; `-m` for sweeps; `--help` for every option."""

import sys

from elmo_bench.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
