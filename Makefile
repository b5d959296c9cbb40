# The two commands of the README are `make demo` and `make test`. Both set everything up by themselves.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TOOLS := curl dig wrk
DEMO ?= demo-crawl

.PHONY: help demo test test-long check lint types layers unit setup tools bench clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: setup ## crawl a simulated web on this machine and compare the result with the truth
	@$(BIN)/whimbrel demo --into $(DEMO)

test: setup tools check unit ## all checks and the default tests

test-long: setup tools ## the tests that take minutes
	$(BIN)/pytest -m long --timeout 1800

check: lint types layers ## style, types and layers

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports --no-cache

unit: setup tools
	$(BIN)/pytest -m "not long"

bench: setup tools ## measure the framework and the simulated web
	$(BIN)/whimbrel bench flow
	$(BIN)/whimbrel bench simweb

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || { echo "Whimbrel needs Python 3.11 or later: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

# Plain clients that the tests observe the simulated web with. A missing one is installed where we may.
tools:
	@missing=""; for tool in $(TOOLS); do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	if [ -n "$$missing" ]; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    echo "installing$$missing"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq curl bind9-dnsutils wrk >/dev/null; \
	  else echo "note: no$$missing on this machine; the tests that need them are skipped"; fi; fi

clean: ## remove the environment and everything that was built
	rm -rf $(VENV) $(DEMO) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
