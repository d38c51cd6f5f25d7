"""The commands as calls from Python; the names are exported by `elmo_bench` itself."""

import warnings

# Of tqdm, which libraries import: our progress needs no ipywidgets in a notebook.
warnings.filterwarnings("ignore", message="IProgress not found")
