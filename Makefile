# make setup | demo | test | test-all | levels | nightly | check | wheel | site
# make setup PYTHON=python3.12 takes that Python; without it the first suitable one on the path is taken.
PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
# PyTorch's builds without CUDA. A mirror of it can stand here; with nothing pip's own sources are used.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

# another environment that happens to be active is not this one
unexport VIRTUAL_ENV
# what is compiled once need not be compiled again in every process that the tests start
unexport PYTHONDONTWRITEBYTECODE

# Any Python 3 runs the script, which chooses the one of the environment.
ANY_PYTHON = $(firstword $(foreach each,python3 python3.14 python3.13 python3.12 python3.11 python3.10 $(PYTHON),\
    $(shell command -v $(each))))

.PHONY: setup demo test test-all levels nightly check format notebooks wheel site
setup:
	@$(or $(ANY_PYTHON),echo 'There is no Python 3 on the path: install Python 3.10 to 3.14 \
	    (Debian, Ubuntu: apt-get install python3 python3-venv; Fedora: dnf install python3).' >&2; false) \
	    tools/setup.py --environment "$(VENV)" --python "$(PYTHON)" --torch-index "$(TORCH_INDEX)"
	@$(BIN)/python tools/install_bubblewrap.py

demo: setup
	$(BIN)/grader run examples/e2e-conv/reference.ipynb --data builtin --json report.json

# A file's tests share what was graded for them, so one process runs them all. What wants the
# machine to itself lies in few places: to import all other tests for it takes half a minute.
ALONE := tests/benchmarks tests/broken tests/cheats tests/endtoend
# Tests also wait: for disks, for limits, for what another process grades. So there are two processes
# more than processors.
WORKERS ?= $(shell expr $$(nproc) + 2)
PYTEST := $(BIN)/python -m pytest
PARALLEL := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# How long each test took: tools/durations.py adds it up, and tests/second_ring.txt is written by it.
TIMED = --durations=10 --junitxml=build/durations/$(1).xml

# Two rings. The first is what a change can break: ten minutes on two processors.
test: setup
	$(PYTEST) $(PARALLEL) --timeout 600 -m "not slow" $(call TIMED,first)
	@echo "The first ring passed. make test-all runs everything else as well."

# Everything: the second ring behind the first, in a leg of tests side by side and one of tests that
# want the machine to themselves, then two weaker levels of isolation: of all of them as both kinds of
# users `make levels SUITES=tests/levels` takes a quarter of an hour.
# PART=2/6 takes the second of six parts of the second ring: the whole takes an hour on two processors.
PART ?=
OF_PART = $(PART:%=--part=%)
test-all: test
	$(PYTEST) $(PARALLEL) $(OF_PART) -m "slow and not (timed or hurried)" $(call TIMED,second)
	$(PYTEST) $(OF_PART) -m "slow and (timed or hurried)" $(ALONE) $(call TIMED,second-alone)
	$(MAKE) --jobs=2 --output-sync=target --no-print-directory SUITES="tests/levels $(OF_PART)" \
	    level-user-basic level-root-minimal

# Every level of isolation, as root (who becomes a user for it, side by side) or as this user.
SUITES ?= tests/levels tests/execute tests/inside/launcher/test_traps.py tests/cheats tests/broken tests/habits
USERS := $(if $(filter 0,$(shell id -u)),root) user
# that of containers where there is a runtime
LEVELS := strong $(if $(shell command -v runc crun),container) basic minimal none
levels: setup
	$(MAKE) --jobs=2 --output-sync=target --no-print-directory $(USERS:%=levels-%)

# One after the other: what one user runs at weak levels can count and end what runs beside it.
levels-%:
	@failed=0; for level in $(LEVELS); do $(MAKE) level-$*-$$level || failed=1; done; exit $$failed

level-%: who = $(firstword $(subst -, ,$*))
level-%: level = $(lastword $(subst -, ,$*))
level-%:
	@echo "== $(who), level $(level)"
	@GRADER_TEST_LEVEL=$(level) $(BIN)/python -m tests.users $(who) \
	    $(BIN)/python -m pytest -q -p no:cacheprovider -m "not timed" $(SUITES)

# What CI searches for each night. SEED=20261129, which its output names, draws its programs again.
SEED ?=
nightly: setup
	$(BIN)/python tools/nightly.py $(SEED:%=--seed=%)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python tools/check_subjects.py

# What recipes and students install. `build` may hold modules that are gone: it is made anew.
wheel: setup
	rm -rf build dist/tvm_grader-*.whl
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --no-index --wheel-dir dist .
	rm -rf build

# The pages of docs/ for a browser: open site/index.html. Only a server's pages can be searched:
# .venv/bin/python -m http.server --bind 127.0.0.1 --directory site
# With SITE_REPOSITORY=https://.../blob/main links to files that are no pages lead to them there.
site: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

notebooks: setup
	$(BIN)/python tools/build_notebooks.py

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
