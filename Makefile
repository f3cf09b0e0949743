# Every target sets up what it needs; Python 3.11 or newer and make are the only prerequisites.
# PYTHON=/path/to/python3 selects the interpreter; ARGS="..." is passed on to pytest or to the demo.
# Times are those of two idle cores, without the set-up. Six workers: many tests wait for processes.
.DEFAULT_GOAL := help
SHELL := /bin/bash
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Empty is off. Where it is set, as many images do, each of the thousands of processes that tests start compiles the package again.
export PYTHONDONTWRITEBYTECODE :=

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
CORE := ledger/cronce/protocol/*,ledger/cronce/schedule/*,ledger/cronce/vocabulary/*
# The demo needs little: it has a small environment of its own until there is the large one.
DEMO := $(if $(wildcard .venv/.installed),.venv,.cache/demo)
# Output of pip: progress on a terminal, errors alone in a log.
PIP := pip install --disable-pip-version-check $$([ -t 1 ] || echo --quiet)

.PHONY: help venv demo portable terraform test test-slow test-debian prove bench compare e2e docs lint format typecheck coverage constraints clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: .venv/.installed ## Create .venv with the project and its tools (1.2 GB, 2 to 5 minutes)

demo: $(DEMO)/.installed ## Play the story of the daily digest on this machine
	PATH="$(CURDIR)/$(DEMO)/bin:$$PATH" cronce demo $(ARGS)

portable: ## Build the folder for images without Python in build/portable (Linux, gcc; 3 seconds)
	rm -rf build/portable
	PYTHONPATH=ledger $(PYTHON) -m cronce.portable build/portable

terraform: venv ## Build build/cronce-terraform.zip: the Terraform modules with the code of the functions and its hash
	rm -rf build/terraform && mkdir -p build/terraform && cp -r terraform/modules terraform/examples LICENSE build/terraform
	cronce lambda-archive --json build/terraform/modules/ledger/cronce-lambdas.zip \
		| python -c 'import json, sys; print(json.load(sys.stdin)["sha256_base64"])' \
		>build/terraform/modules/ledger/cronce-lambdas.sha256
	cd build/terraform && python -m zipfile -c ../cronce-terraform.zip .

test: venv ## Run the tests (7 minutes)
	python -m pytest -n 6 --dist worksteal $(ARGS)

test-slow: venv ## Run the slow tests: full races, every zone, linters, whole demos, the wheel (14 minutes)
	python -m pytest -n 3 --dist worksteal -m slow $(ARGS)

test-debian: ## Run tests in a Debian 13 root, with its Python and zone data (root, Linux; 2 minutes)
	.ci/debian $(ARGS)

prove: venv ## Search interleavings, simulate fleets, mutate the protocol, a minute of chaos (LONG=1: 15 minutes)
	$(if $(LONG),LONG=1) python -m pytest -n 2 --dist worksteal -p tests.support.proof -m prove \
		tests/chaos tests/simulation $(ARGS)

bench: ## Measure the guard beside what people use today, in an environment of its own
	$(PYTHON) -m benchmarks.guard $(ARGS)

compare: ## Play the same story on cronce and its alternatives, in an environment of its own (15 minutes)
	$(PYTHON) -m benchmarks.compare $(ARGS)

e2e: venv ## Deploy to an emulated AWS and run real containers (root, Linux; 15 minutes)
	python -m tests.e2e $(ARGS)

docs: build/docs-venv/.installed ## Build the documents as a site, and check its links
	$(PYTHON) docs/site.py build/docs-venv/bin/zensical build/docs

lint: venv ## Check style and formatting
	ruff check .
	ruff format --check .

format: venv ## Format the code and apply safe fixes
	ruff format .
	ruff check --fix .

typecheck: venv ## Check types in strict mode (2 minutes the first time)
	mypy

coverage: export ARGS += --cov
coverage: test ## Run the tests and check the coverage thresholds (9 minutes)
	coverage report --include='$(CORE)' --fail-under=100

UV = .cache/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-strip-extras --upgrade
constraints: .cache/uv/bin/uv ## Pin every package that the requirements need, with its hashes
	$(UV) --no-emit-package cronce -o constraints.txt requirements.txt
	$(UV) -o tests/e2e/locks/emulator.txt tests/e2e/requirements.txt
	$(UV) -o tests/e2e/locks/digest.txt examples/digest/requirements.txt tests/e2e/digest-requirements.txt
	$(UV) -o tests/e2e/locks/beats.txt tests/e2e/beats/requirements.txt
	$(UV) -o tests/terraform/locks/terraform.txt tests/terraform/requirements.txt
	$(UV) -o benchmarks/compare/requirements.txt benchmarks/compare/requirements.in
	$(UV) --no-deps -o tests/terraform/locks/schema.txt tests/terraform/schema-requirements.txt
	$(UV) --no-deps -o tests/terraform/locks/provider.txt tests/terraform/provider-requirements.txt

clean: ## Remove what the other targets made
	rm -rf .venv .cache .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache build cdk.out dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

%/bin/python:
	@[ -n "$(PYTHON)" ] || { echo "cronce needs Python 3.11 or newer; found none. Install one, or set PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "cronce needs Python 3.11 or newer; $(PYTHON) is older" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot create virtual environments. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	"$(PYTHON)" -m venv $*

.venv/.installed: constraints.txt pyproject.toml | .venv/bin/python
	@echo "Installing the project and its tools into .venv: $$(grep -c '==' constraints.txt) packages, 1.2 GB, 2 to 5 minutes."
	@.venv/bin/python -m $(PIP) --require-hashes -r constraints.txt
	@.venv/bin/python -m $(PIP) --no-deps --no-build-isolation -e .
	@touch $@

.cache/demo/.installed: pyproject.toml | .cache/demo/bin/python
	@echo "Installing the project for the demo into .cache/demo: 80 MB, less than a minute."
	@.cache/demo/bin/python -m $(PIP) -e '.[cli]'
	@touch $@

build/docs-venv/.installed: docs/requirements.txt | build/docs-venv/bin/python
	@build/docs-venv/bin/python -m $(PIP) -r docs/requirements.txt
	@touch $@

.cache/uv/bin/uv: | .cache/uv/bin/python
	@.cache/uv/bin/python -m $(PIP) uv==0.13.9
