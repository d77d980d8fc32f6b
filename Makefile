# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PIP    := $(BIN)/python -m pip install -qq --disable-pip-version-check
# Exactly this version: a CPU build of it is quick to fetch, a range may bring gigabytes for GPUs.
TORCH  ?= torch==2.13.0

.PHONY: demo test slow lint types bench clean

demo: $(STAMP)
	$(BIN)/smtlayer train mnist-addition --data sample --out runs/demo

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 -q

slow: $(STAMP)
	$(BIN)/python -m pytest -q -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/smtlayer bench

$(STAMP): pyproject.toml Makefile
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV), which takes a minute or two the first time"
	@$(PIP) "$(TORCH)"
	@$(PIP) -e ".[dev]"
	@touch $(STAMP)

clean:
	rm -rf $(VENV) runs dist .pytest_cache .mypy_cache .ruff_cache
