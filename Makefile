# Needs make and Python >= 3.11 with pip; everything else is installed into .venv, once.
#   make demo        first gradients on real data            make lint       all linters and type checkers
#   make test        five minutes: a tenth, drawn            make docs       the documentation, offline
#   make test-all    forty minutes: a tenth of what is slow  make bench      the benchmarks
#   make test-matrix    the distribution and the suites under every Python that is there, oldest to newest versions
#   make test-development  make test with development versions of the libraries
#   make lock        writes constraints.txt, the versions that were tested, anew
#   make test-gpu    only the ones that need a GPU           make clean      removes everything built
#   make test-frameworks  a program for each framework that uses exported rules
#   make release     the distribution: built, checked, installed and used as its pages say
#   make test-plain  the tape without its short ways: its suites, and bit for bit the same answers
#   make test-compiled  whatever the suites differentiate, compiled as well: equal bits, or a refusal, counted by reason
#   make test-planted   ten planted faults, which make test is to find
#   make test-nightly   every sample in twenty more draws, a million programs of each generator (CHAINRULES_PROGRAMS=...)
#   make test-chaos  threads, interrupts, forks, exceptions and finalisers at once, for ten minutes
#   make coverage    runs every call of NumPy's functions and writes docs/coverage.csv; so do `make libraries`, of
#                    every rule in every library, and `make adapters`, of rules in other engines
#   make golden      values and derivatives of random programs, samples and NumPy's functions, as they were
#   make bench-compare BASE=main   what became slower since        make dashboard   results over commits, as a page

PYTHON ?= $(shell for p in python3 python3.15 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& { echo "$$p"; break; }; done)
VENV ?= .venv
JOBS ?= 2
ARGS ?=

BIN := $(VENV)/bin
# The versions that were tested under Python 3.11; under other Pythons the newest ones are installed.
CONSTRAINTS ?= constraints.txt
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(addprefix --constraint ,$(CONSTRAINTS))
# Installed first and alone, so that its build can be chosen: PyPI's has gigabytes of CUDA, and
# TORCH="torch --index-url https://download.pytorch.org/whl/cpu" has none.
TORCH ?= torch
# One thread per worker: NumPy's threads under several pytest workers are slower than none.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
# Bytecode is kept, also where the shell turns it off: of the library, and of tests as pytest writes them.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-all test-planted test-matrix test-development test-newcomers release test-plain test-compiled test-nightly golden test-chaos test-gpu test-frameworks test-thunder lint format docs coverage adapters libraries bench bench-full bench-compare dashboard lock hooks clean

help:
	@sed -n '2,19s/^# *//p' Makefile

# ------------------------------------------------------------------ set-up: one stamp file per step

# Some systems ship venv without ensurepip; then the pip of that Python installs pip into .venv.
$(VENV)/.stamp-pip:
	@test -n "$(PYTHON)" || { echo "make: no Python >= 3.11 found; say: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) 2>/dev/null || { rm -rf $(VENV); \
		$(PYTHON) -m venv --without-pip $(VENV) && \
		$(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }
	$(PIP) --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.stamp-project: $(VENV)/.stamp-pip pyproject.toml $(CONSTRAINTS)
	$(PIP) --editable .
	@touch $@

$(VENV)/.stamp-torch: $(VENV)/.stamp-pip $(CONSTRAINTS)
	$(PIP) $(TORCH)
	@touch $@

$(VENV)/.stamp-demo: $(VENV)/.stamp-project
	$(PIP) --group demo
	@touch $@

$(VENV)/.stamp-test: $(VENV)/.stamp-project $(VENV)/.stamp-torch
	$(PIP) --group test
	@touch $@

$(VENV)/.stamp-docs: $(VENV)/.stamp-project $(VENV)/.stamp-torch
	$(PIP) --group docs
	@touch $@

$(VENV)/.stamp-bench: $(VENV)/.stamp-project $(VENV)/.stamp-torch
	$(PIP) --group bench
	@touch $@

# -------------------------------------------------------------------------------------- commands

demo: $(VENV)/.stamp-demo
	$(BIN)/python examples/digits.py $(ARGS)

# One test is a function with all of its cases (tests/grouped.py); neighbours go to the same worker.
GROUPED := --by=function --dist=worksteal
QUICK := -m "not slow and not nightly and not gpu"
# The commit draws (tests/draw.py). What is chosen by a name, by a path or by its failure is run whole.
CHOSEN := $(foreach choice,-k tests/ --last-failed --lf,$(findstring $(choice),$(ARGS)))
DRAWN_BY := $(or $(shell git rev-parse --short HEAD 2>/dev/null),release)
CHAINRULES_DRAW ?= $(if $(strip $(CHOSEN)),,$(DRAWN_BY))
CHAINRULES_DRAW_SLOW ?= $(if $(strip $(CHOSEN)),,$(DRAWN_BY))

# JAX compiles a program to run it once, in tests: a fifth of their time was for making it fast.
test: export JAX_DISABLE_MOST_OPTIMIZATIONS ?= 1
test: $(VENV)/.stamp-test
	CHAINRULES_DRAW=$(CHAINRULES_DRAW) $(PYTEST) -n $(JOBS) $(GROUPED) $(QUICK) $(ARGS)

test-all: $(VENV)/.stamp-test
	CHAINRULES_DRAW= CHAINRULES_DRAW_SLOW=$(CHAINRULES_DRAW_SLOW) $(PYTEST) -n $(JOBS) $(GROUPED) \
		-m "not nightly and not gpu" $(ARGS)

# Ten faults, one at a time in a copy: each is to be found by `make test`, in three draws.
test-planted: $(VENV)/.stamp-test
	$(ONE_THREAD) $(BIN)/python -m tests.house.planted $(ARGS)

# In a random order, that of the day.
SEED ?= $(shell date +%F)

test-nightly: $(VENV)/.stamp-test
	$(PYTEST) -n $(JOBS) -m nightly --shuffle=$(SEED) $(ARGS)
	$(PYTEST) -n $(JOBS) $(GROUPED) -m "not nightly and not gpu" --shuffle=$(SEED) $(ARGS)

# Numbers do not change: `make golden ARGS="svd"` looks at a part, `ARGS="--update svd"` makes it anew.
golden: $(VENV)/.stamp-test
	$(ONE_THREAD) $(BIN)/python -m tests.golden --jobs $(JOBS) $(ARGS)

test-chaos: $(VENV)/.stamp-test
	$(ONE_THREAD) $(BIN)/python -m tests.faults.chaos $(ARGS)

test-plain: $(VENV)/.stamp-test
	CHAINRULES_WITHOUT=all $(PYTEST) -n $(JOBS) -m "not slow and not nightly and not gpu" \
		tests/tape tests/programs $(ARGS)
	CHAINRULES_WITHOUT=all $(ONE_THREAD) $(BIN)/python -m tests.fuzz.hashes tests/fuzz/hashes.json

# In one process, which counts; tests of what a derivative costs count the calls that are noted here as well.
test-compiled: $(VENV)/.stamp-test
	CHAINRULES_COMPILED=1 $(PYTEST) -n 0 -m "not slow and not nightly and not gpu" -k "not cost" \
		tests/tape tests/programs tests/rules tests/libraries/numpy tests/libraries/scipy $(ARGS)

# In new environments, one for each row of docs/versions.csv: `MATRIX="3.13 newest" make test-matrix` chooses.
test-matrix: $(VENV)/.stamp-test
	TORCH="$(TORCH)" JOBS=$(JOBS) $(BIN)/python -m tests.house.matrix $(MATRIX)

# Release candidates, or what an index has: DEVELOPMENT="--index-url https://... numpy scipy".
DEVELOPMENT ?= numpy scipy jax jaxlib torch

test-development:
	$(MAKE) VENV=.venv-development CONSTRAINTS= .venv-development/.stamp-test
	.venv-development/bin/python -m pip install --quiet --upgrade --pre $(DEVELOPMENT)
	$(MAKE) VENV=.venv-development CONSTRAINTS= test

# Pages followed as a newcomer would, each in a fresh environment, with times: `PAGES="tape dask" make test-newcomers`.
test-newcomers: $(VENV)/.stamp-test
	$(BIN)/python -m tests.house.newcomers $(PAGES)

# Wheel and sdist, checked, installed under each Python, and used as the pages say (docs/versions.md).
release: $(VENV)/.stamp-test
	$(PIP) --group release
	$(BIN)/python -m tests.house.release $(ARGS)

test-gpu: $(VENV)/.stamp-test
	$(PYTEST) -m gpu $(ARGS)

# Some frameworks pin older engines: they have an environment of their own.
test-frameworks:
	$(PYTHON) -m venv .venv-frameworks
	.venv-frameworks/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-frameworks/bin/python -m pip install --quiet $(TORCH)
	.venv-frameworks/bin/python -m pip install --quiet --group frameworks -e .
	.venv-frameworks/bin/python -m pytest tests/engines/frameworks -m "" $(ARGS)

# Thunder reads names of PyTorch that the pinned version has dropped: it has an environment of its own.
test-thunder:
	$(PYTHON) -m venv .venv-thunder
	.venv-thunder/bin/python -m pip install --quiet -r tests/engines/thin/requirements-thunder.txt -e .
	.venv-thunder/bin/python -m pytest tests/engines/thin/test_thunder.py $(ARGS)

lint: $(VENV)/.stamp-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(VENV)/.stamp-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.stamp-docs
	$(BIN)/sphinx-build -W --keep-going -j $(JOBS) -b html docs docs/_build/html

coverage: $(VENV)/.stamp-test
	$(ONE_THREAD) $(BIN)/python -m tests.surface.coverage docs/coverage.csv

adapters: $(VENV)/.stamp-test
	$(ONE_THREAD) $(BIN)/python -m tests.surface.adapters docs/adapters.csv

libraries: $(VENV)/.stamp-test
	$(ONE_THREAD) $(BIN)/python -m tests.surface.libraries docs/libraries.csv

# What measures, compares and draws is in benchmarks/; docs/benchmarks.md tells how. asv keeps results under .asv,
# per commit, if there is one; it writes its machine file into HOME.
COMMIT = $(shell git rev-parse HEAD 2>/dev/null)
ASV = HOME="$(abspath .asv)" $(ONE_THREAD) "$(abspath $(BIN))/python" -m asv
RANGE ?= HEAD
BASE ?= HEAD

bench: $(VENV)/.stamp-bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks.peers $(ARGS)

bench-full: $(VENV)/.stamp-bench
	@mkdir -p .asv
	cd benchmarks && $(ASV) machine --yes --config asv.conf.json >/dev/null
	cd benchmarks && $(ASV) run --config asv.conf.json --show-stderr \
		--environment existing:$(abspath $(BIN))/python \
		$(if $(COMMIT),--set-commit-hash $(COMMIT)) $(ARGS)

bench-compare: $(VENV)/.stamp-bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks.against $(BASE) $(ARGS)

dashboard: $(VENV)/.stamp-bench
	$(BIN)/python -m benchmarks.dashboard $(RANGE) $(ARGS)

# Writes constraints.txt from an environment that is made anew with the newest versions.
LOCKED = .venv-lock
lock:
	rm -rf $(LOCKED)
	$(MAKE) VENV=$(LOCKED) CONSTRAINTS= TORCH=$(TORCH) $(LOCKED)/.stamp-test $(LOCKED)/.stamp-docs $(LOCKED)/.stamp-bench
	{ echo "# The versions that were tested, written by 'make lock'."; \
		$(LOCKED)/bin/python -m pip freeze --exclude-editable | sed 's/+cpu$$//; s/$$/; python_version == "3.11"/'; \
	} > constraints.txt
	rm -rf $(LOCKED)

hooks: $(VENV)/.stamp-test
	$(PIP) pre-commit
	$(BIN)/pre-commit install

clean:
	rm -rf $(VENV) .venv-lock .venv-development .venv-thunder .asv build dist docs/_build docs/reference/generated docs/jupyter_execute \
		.mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
