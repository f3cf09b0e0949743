# Every target sets up what it needs; Python 3.11+ and make are the only prerequisites.
# PYTHON=/path/to/python3 picks the interpreter, ARGS="..." is handed on to pytest or the demo.
.DEFAULT_GOAL := help
SHELL := /bin/bash
export PATH := $(CURDIR)/.venv/bin:$(PATH)

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
CORE := ledger/cronce/protocol/*,ledger/cronce/schedule/*,ledger/cronce/vocabulary/names.py,ledger/cronce/vocabulary/durations.py,ledger/cronce/vocabulary/policy.py

.PHONY: help venv demo test test-slow prove bench e2e docs lint format typecheck coverage clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: .venv/.installed ## Create .venv with the project and its tools

demo: venv ## Play the story of the daily digest on this machine
	cronce demo $(ARGS)

test: venv ## Run the tests (a few minutes)
	python -m pytest -n 2 $(ARGS)

test-slow: venv ## Run the tests that take minutes each: full races, every zone, the whole demo
	python -m pytest -m slow $(ARGS)

prove: venv ## Search interleavings, simulate fleets, break the protocol on purpose, a minute of chaos (LONG=1: 15)
	$(if $(LONG),LONG=1) python -m pytest -n 2 --dist worksteal -p tests.support.proof -m prove \
		tests/chaos tests/simulation $(ARGS)

bench: ## Measure the guard beside what people use today, in one run (its environment is its own)
	$(PYTHON) -m benchmarks.guard $(ARGS)

e2e: venv ## Deploy to an emulated AWS and run real containers (root, Linux)
	python -m tests.e2e $(ARGS)

docs: build/docs-venv/.installed ## Build the documents as a site, and check its links
	$(PYTHON) docs/site.py build/docs-venv/bin/zensical build/docs

lint: venv ## Check style and formatting
	ruff check .
	ruff format --check .

format: venv ## Format the code and apply safe fixes
	ruff format .
	ruff check --fix .

typecheck: venv ## Check types, strictly (the first run takes two minutes)
	mypy

coverage: export ARGS += --cov
coverage: test ## Run the tests and hold the coverage thresholds
	coverage report --include='$(CORE)' --fail-under=100

clean: ## Remove what the other targets made
	rm -rf .venv .cache .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache build cdk.out dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@[ -n "$(PYTHON)" ] || { echo "cronce needs Python 3.11 or newer; found none. Install one, or say PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "cronce needs Python 3.11 or newer; $(PYTHON) is not" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	"$(PYTHON)" -m venv .venv

build/docs-venv/.installed: docs/requirements.txt
	$(PYTHON) -m venv build/docs-venv
	build/docs-venv/bin/python -m pip install --disable-pip-version-check -r docs/requirements.txt
	@touch $@

.venv/.installed: requirements.txt pyproject.toml | .venv/bin/python
	python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@
