# make setup | demo | test | check
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo test check format notebooks
setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/grader run examples/e2e-conv/reference.ipynb --data builtin --json report.json

test: setup
	$(BIN)/python -m pytest -n auto -m "not timed"
	$(BIN)/python -m pytest -m timed

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

notebooks: setup
	$(BIN)/python tools/build_notebooks.py

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
