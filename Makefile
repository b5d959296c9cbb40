# The two commands of the README are `make demo` and `make test`. Both set everything up by themselves.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TOOLS := curl dig wrk strace
DEMO ?= demo-crawl
TARGETS ?=
MINUTES ?= 5

MANUALS := python3-doc postgresql-doc sqlite3-doc git-doc libxml2-doc libfftw3-doc \
  $(addprefix lib,$(addsuffix -java-doc,htsjdk ij jcommon)) \
  $(addprefix python-,$(addsuffix -doc,aiohttp attr babel click flask jinja2 pygments requests sqlalchemy tornado werkzeug)) \
  $(addprefix lib,$(addsuffix -doc,eigen3 sfml cli11 assimp pqxx atk1.0 cairo2 glib2.0 gtk-3 soup2.4 poppler-glib)) \
  $(addprefix lib,$(addsuffix -doc,pango1.0 gdk-pixbuf2.0 json-glib))

.PHONY: help demo test test-long fuzz check lint types layers unit setup tools bench bench-tools long-tools clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: setup ## crawl a simulated web on this machine and compare the result with the truth
	@$(BIN)/whimbrel demo --into $(DEMO)

test: setup tools check unit ## all checks and the default tests

test-long: setup long-tools ## the tests that take minutes
	$(BIN)/pytest -m long

fuzz: setup ## changed and made-up bytes for all that reads them from outside: make fuzz TARGETS="html robots" MINUTES=10
	$(BIN)/python -m tests.fuzz $(TARGETS) --minutes $(MINUTES)

check: lint types layers ## style, types and layers

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports --no-cache

unit: setup tools
	$(BIN)/pytest -m "not long" --numprocesses 3 --dist loadfile

bench: setup tools ## measure the framework and the simulated web
	$(BIN)/whimbrel bench flow
	$(BIN)/whimbrel bench simweb

bench-tools: setup ## install the crawlers that `whimbrel bench peers` compares with, and the manuals they crawl
	@if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nginx wget wget2 $(MANUALS) >/dev/null; \
	else echo "note: install nginx, wget and wget2 yourself, and these for the corpus documents: $(MANUALS)"; fi
	$(PYTHON) -m venv .bench-venv
	.bench-venv/bin/pip install --quiet --disable-pip-version-check scrapy 'crawlee[parsel]'

long-tools: tools ## what the long tests need: Chromium, and documentation to parse
	@if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	    --no-install-recommends $(MANUALS) >/dev/null; \
	else echo "note: without chromium and documentation packages some long tests are skipped"; fi

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || { echo "Whimbrel needs Python 3.11 or later: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/python -m compileall -q src
	@touch $@

# Plain clients that the tests observe the simulated web with. A missing one is installed where we may.
tools:
	@missing=""; for tool in $(TOOLS); do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$$missing postgresql"; \
	command -v chromium >/dev/null || missing="$$missing chromium"; \
	if [ -n "$$missing" ]; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    echo "installing$$missing"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq curl bind9-dnsutils wrk strace postgresql chromium >/dev/null; \
	  else echo "note: no$$missing on this machine; the tests that need them are skipped"; fi; fi

clean: ## remove the environment and everything that was built
	rm -rf $(VENV) .bench-venv $(DEMO) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
