# make setup | demo | test | levels | check
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# another environment that happens to be active is not this one
unexport VIRTUAL_ENV

.PHONY: setup demo test levels check format notebooks
setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/grader run examples/e2e-conv/reference.ipynb --data builtin --json report.json

test: setup
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not timed and not graded"
	$(BIN)/python -m pytest -m "graded or timed"

# Every level of isolation, as root (who becomes a user for it) or as this user.
SUITES ?= tests/levels tests/execute tests/launch/test_traps.py tests/cheats tests/broken
levels: setup
	set -e; for who in $$([ "$$(id -u)" -eq 0 ] && echo root) user; do \
	    for level in strong basic minimal none; do \
	        echo "== $$who, level $$level"; \
	        GRADER_TEST_LEVEL=$$level $(BIN)/python -m tests.users $$who \
	            $(BIN)/python -m pytest -q -p no:cacheprovider -m "not timed" $(SUITES); \
	    done; \
	done

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

notebooks: setup
	$(BIN)/python tools/build_notebooks.py

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
