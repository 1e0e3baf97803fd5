# Every target makes what it needs: `make test` on a bare machine with Python >= 3.11 is enough.
# Another interpreter: `make test PYTHON=python3.12`.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Stamps: the virtual environment follows PYTHON, what is installed in it follows pyproject.toml.
CREATED := $(VENV)/.created-$(subst /,_,$(PYTHON))
BASE    := $(VENV)/.installed-base
DEV     := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint format types contracts determinism notebooks wheel clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*  ## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

demo: $(BASE)  ## install the package and run its demo
	$(BIN)/python -m finchsched demo

test: $(DEV)  ## the test suite and the examples in docstrings
	$(BIN)/python -m pytest -n auto --doctest-modules tests src/finchsched

lint: $(DEV)  ## ruff: rules and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(DEV)  ## ruff: fix and format in place
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(DEV)  ## mypy, strict
	$(BIN)/mypy

contracts: $(DEV)  ## import-linter: imports point down only
	$(BIN)/lint-imports

determinism: $(DEV)  ## the same kernels under two PYTHONHASHSEEDs
	$(BIN)/python tools/check_determinism.py

notebooks: $(DEV)  ## execute every notebook
	$(BIN)/python tools/run_notebooks.py

wheel: $(DEV)  ## build dist/ and try the wheel in a clean environment
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	@set -eu; \
	dir=$$(mktemp -d); \
	trap 'rm -rf "$$dir"' EXIT; \
	wheel=$$(ls "$$PWD"/dist/*.whl); \
	$(BIN)/python -m venv "$$dir/venv"; \
	"$$dir/venv/bin/python" -m pip --disable-pip-version-check --quiet install "$$wheel"; \
	cd "$$dir"; \
	echo "$$(basename "$$wheel") in a clean environment:"; \
	venv/bin/python -m finchsched demo

clean:  ## remove the virtual environment and everything built
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment of the right version is kept; one of another version is made anew.
$(CREATED):
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) not found: name one with 'make ... PYTHON=python3.12'" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "finchsched needs Python >= 3.11, and $(PYTHON) is $$($(PYTHON) --version 2>&1): name another with 'make ... PYTHON=python3.12'" >&2; exit 1; }
	@version='import sys; print(sys.version_info[:3])'; \
	if [ "$$($(BIN)/python -c "$$version" 2>/dev/null)" != "$$($(PYTHON) -c "$$version")" ]; then \
	    echo "$(PYTHON) -m venv $(VENV)"; \
	    $(PYTHON) -m venv --clear $(VENV); \
	fi
	@rm -f $(VENV)/.created-*
	@touch $@

$(BASE): pyproject.toml $(CREATED)
	$(PIP) install -e .
	@touch $@

$(DEV): pyproject.toml $(CREATED)
	$(PIP) install -e '.[dev,notebooks]'
	@touch $(BASE) $@
