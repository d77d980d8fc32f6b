# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PIP    := $(BIN)/python -m pip install -qq --disable-pip-version-check
# Exactly this version: a CPU build of it is quick to fetch, a range may bring gigabytes for GPUs.
TORCH  ?= torch==2.13.0

# Bytecode is written whatever the environment says: tests start processes that would all compile anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test test-under-load slow lint types bench docs docs-serve docs-refresh clean

demo: $(STAMP)
	$(BIN)/smtlayer train mnist-addition --data sample --out runs/demo
	@echo "(The command is $(BIN)/smtlayer; 'source $(BIN)/activate' puts it on your path.)"

test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q

test-under-load: $(STAMP)  # three times beside six busy processes; prints the counts of each run
	$(BIN)/python benchmarks/under_load.py --busy 6 --times 3

slow: $(STAMP)
	$(BIN)/python -m pytest -q -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/smtlayer bench

docs: $(STAMP)  # into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: $(STAMP)
	$(BIN)/mkdocs serve

docs-refresh: $(STAMP)  # after a change: what tables, pictures, pages and notebooks show
	$(BIN)/python benchmarks/tables.py --write
	OMP_NUM_THREADS=1 $(BIN)/python docs/refresh.py
	OMP_NUM_THREADS=1 $(BIN)/python docs/img/draw_start.py > /dev/null

$(STAMP): pyproject.toml studies/pyproject.toml apps/playground/pyproject.toml benchmarks/pyproject.toml Makefile
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV), which takes a minute or two the first time"
	@$(PIP) "$(TORCH)"
	@$(PIP) -e ".[dev]" -e studies -e apps/playground -e benchmarks
	@touch $(STAMP)

clean:
	rm -rf $(VENV) runs dist site .pytest_cache .mypy_cache .ruff_cache
