PYTHON ?= python3
BIN := .venv/bin
# --no-compile: pip compiles with one process what may never be imported, which takes a minute.
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile
TORCH := 'torch==2.13.*'
# A process a core, with one thread each: threads of several processes on the same cores stall each other.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal

# The tests start many processes: with this set, each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all fuzz lint docs report peer

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/.installed ## a short run on real data, compared with its published score: experiment=hello
	$(BIN)/python run.py experiment=hello ledger=demo/runs

test: .venv/.tools ## the tests, without the slow ones
	$(PYTEST)

test-all: .venv/.tools ## all tests
	$(PYTEST) -m ''

fuzz: .venv/.tools ## 5,000 damaged files for every reader, an hour or more on a core; MUTANTS=…, READERS=name
	MUTANTS=$(or $(MUTANTS),5000) $(PYTEST) tests/fuzz -k '$(READERS)'

lint: .venv/.tools ## ruff format, ruff check, mypy
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy --no-error-summary

docs: .venv-docs/.installed ## the documentation site in build/site; a broken link fails
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict

report: .venv/.installed ## render results/ from the ledger, the tables in README.md and the quickstart, and the published scores
	$(BIN)/python -m elmo_bench report --findings results --readme README.md docs/quickstart.md --published elmo_bench/data/published.json

# torch first: uv picks the build that fits the machine (without an NVIDIA GPU the CPU build, which saves gigabytes).
# Where uv or that build cannot be had, pip installs the build that its index has for this machine.
# --use-pep517: the older pip of Debian's Python would build source packages with setup.py, without their requirements.
.venv/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed: make PYTHON=python3.12 (this is $$($(PYTHON) --version 2>&1))"; exit 1; }
	@echo "installing into .venv, a minute or more (torch is the largest part)"
	@$(PYTHON) -m venv .venv
	@$(PIP) uv 2>/dev/null && UV_HTTP_RETRIES=0 $(BIN)/uv pip install --quiet --python $(BIN)/python \
	  --torch-backend=auto $(TORCH) 2>/dev/null || \
	  { echo "no matching torch build by uv: pip chooses one"; $(PIP) $(TORCH); }
	@$(PIP) --use-pep517 --editable .
	@touch $@

# What tests and checks need besides. Compiled on all cores, since each process of the tests would compile it for itself;
# compileall fails for the templates in some packages, which are no Python.
.venv/.tools: .venv/.installed
	@echo "installing what the tests need into .venv, a minute or more"
	@$(PIP) --use-pep517 --editable '.[dev]'
	@$(BIN)/python -m compileall -q -j 0 .venv/lib >/dev/null 2>&1 || true
	@touch $@

# Without the package and torch: the API pages are made from the source.
.venv-docs/.installed: Makefile
	@echo "installing mkdocs into .venv-docs: 170 MB, less than a minute"
	@$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --disable-pip-version-check 'mkdocs-material>=9.8' 'mkdocstrings-python>=2'
	@touch $@

peer: benchmarks/.peer/.installed ## AllenNLP in an environment of its own, for benchmarks/encode.py

benchmarks/.peer/.installed:
	@$(PYTHON) -m venv benchmarks/.peer
	@benchmarks/.peer/bin/python -m pip install -qq --disable-pip-version-check $(TORCH) numpy h5py
	@benchmarks/.peer/bin/python -m pip install -qq --disable-pip-version-check --no-deps allennlp==2.10.1
	@touch $@
