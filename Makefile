# Every task of this repository. `make help` lists them; `.ci/run` calls nothing else.
#
# ARGS is handed to the tool behind a target: make test ARGS="tests/unit -x"

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
# Tried in this order if PYTHON is too old.
PYTHONS := python3.11 python3.12 python3.13 python3.14
UV ?= $(shell command -v uv 2>/dev/null)
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements/dev.lock
# The part of it that runs applications: a newcomer's first command does not wait for tools.
DEMO_LOCK := requirements/demo.lock
# What the environment was last built from. Compared by content, so touching a file costs nothing.
STAMP := $(VENV)/.built-from

# Of what pip and uv print: downloads of a megabyte and more, the end, and every error.
PROGRESS := awk '/Downloading .*[0-9]+ ?Mi?B/ {sub(/^ */, ""); print "  " $$0; fflush(); next} \
  /ERROR|error|Installed [0-9]|Successfully installed/ {print "  " substr($$0, 1, 160); fflush()}'

.PHONY: help
help: ## Print every target with what it does
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-14s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Make or refresh .venv with the locked versions (needs only Python 3.11+)
	@if [ -x $(BIN)/python ] && cat $(LOCK) pyproject.toml | cmp -s - $(STAMP); then exit 0; fi; \
	$(MAKE) --no-print-directory environment

.PHONY: demo-setup
demo-setup:
	@for lock in $(LOCK) $(DEMO_LOCK); do \
	  if [ -x $(BIN)/python ] && cat $$lock pyproject.toml | cmp -s - $(STAMP); then exit 0; fi; \
	done; \
	$(MAKE) --no-print-directory environment LOCK=$(DEMO_LOCK)

# The first interpreter that is new enough; PYTHON=... puts another one in front.
.PHONY: environment
environment:
	@for python in $(PYTHON) $(PYTHONS); do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi; \
	  python=; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "setup: found no Python 3.11 or newer; name one with: make setup PYTHON=/path/to/python" >&2; \
	  exit 1; \
	fi; \
	echo "setup: installing the $$(grep -c '==' $(LOCK)) locked packages into $(VENV); the first time they are" \
	  "downloaded, most of it Spark"; \
	if [ -n "$(UV)" ]; then \
	  $(BIN)/python -c '' 2>/dev/null || "$(UV)" venv --quiet --clear --python "$$python" $(VENV); \
	  "$(UV)" pip install --python $(BIN)/python --require-hashes -r $(LOCK) 2>&1 | $(PROGRESS); \
	  "$(UV)" pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .; \
	else \
	  $(BIN)/python -m pip --version >/dev/null 2>&1 || "$$python" -m venv $(VENV); \
	  $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off --require-hashes \
	    -r $(LOCK) 2>&1 | $(PROGRESS); \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	fi; \
	cat $(LOCK) pyproject.toml > $(STAMP); \
	echo "setup: $$($(BIN)/python --version) in $(VENV); to use it: source $(BIN)/activate"

.PHONY: demo
demo: demo-setup ## Count words live, with a private Kafka broker and Spark
	@$(BIN)/penstock demo $(ARGS)

.PHONY: test
test: setup ## Run the whole default test suite
	@$(BIN)/python -m pytest -n 3 --dist loadfile $(ARGS)

.PHONY: lint
lint: setup ## Check format, lint, types (also of examples and new projects) and layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.newcomer.projects
	$(BIN)/lint-imports --no-logo

.PHONY: format
format: setup ## Rewrite the code in the one format and apply safe lint fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: docs
docs: setup ## Build the documentation into site/; a broken link fails
	@$(BIN)/python -m tests.docs
	@$(BIN)/python -m tests.architecture.examples_page
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet $(ARGS)
	@echo "docs: open site/index.html"

.PHONY: bench
bench: setup ## Measure ours next to the peers; ARGS="kernel", "latency", "profile w2" for more
	@$(BIN)/python -m bench $(or $(ARGS),compare)

.PHONY: fuzz
fuzz: setup ## Feed broken SQL to the engine (ARGS="--seconds 600"), or random scripts (ARGS="--scripts 10000 --seed 1")
	@$(BIN)/python -m tests.fuzz $(ARGS)

.PHONY: storm
storm: setup ## Send 10,000 broken requests to an SQL server while 50 clients ask it; ARGS="--requests 1000"
	@$(BIN)/python -m tests.storm $(ARGS)

.PHONY: mutants
mutants: setup ## Plant faults and see which tests notice; ARGS="columns --seed 7 --count 100"
	@$(BIN)/python -m tests.mutants $(ARGS)

.PHONY: chaos
chaos: setup ## Run the tests that kill processes on purpose
	@$(BIN)/python -m pytest -m chaos $(ARGS)

.PHONY: spark-versions
spark-versions: setup ## Run the tests on Spark with the oldest and the newest PySpark; ARGS="3.5 4.0"
	@$(BIN)/python -m tests.spark_versions $(ARGS)

.PHONY: newcomer
newcomer: setup ## Build the wheel, install it where nothing else is, and go the way of a first hour
	@$(BIN)/python -m pytest -m "slow or not slow" tests/newcomer $(ARGS)

.PHONY: soak
soak: setup ## Run the long tests (minutes to hours)
	@$(BIN)/python -m pytest -m "soak or slow" $(ARGS)

.PHONY: cluster
cluster: setup ## Break a whole cluster at random; ARGS="--minutes 5 --seed 7 --faults broker"
	@$(BIN)/python -m tests.cluster $(ARGS)

.PHONY: ordinary
ordinary: setup ## Do what operators do every day, and compare all; ARGS="--minutes 5 --actions quota,clock"
	@$(BIN)/python -m tests.ordinary $(ARGS)

.PHONY: verifiers
verifiers: setup ## Let Kafka's own system tests judge us, with kills; ARGS="smoke --kills driver,broker"
	@$(BIN)/python -m tests.verifiers $(ARGS)

# It needs none of the locked packages: uv brings a build front end, and without uv a small
# environment gets "build" alone.
.PHONY: wheel
wheel: ## Build the wheel and the source distribution into dist/ (needs only Python 3.11+)
	@if [ -n "$(UV)" ]; then \
	  "$(UV)" build --quiet --out-dir dist $(ARGS); \
	else \
	  for python in $(PYTHON) $(PYTHONS); do \
	    if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi; \
	    python=; \
	  done; \
	  if [ -z "$$python" ]; then echo "wheel: found no Python 3.11 or newer" >&2; exit 1; fi; \
	  if ! "$$python" -c 'import build' 2>/dev/null; then \
	    [ -x .build-venv/bin/python ] || "$$python" -m venv .build-venv; \
	    python=.build-venv/bin/python; \
	    "$$python" -m pip install --quiet --disable-pip-version-check build; \
	  fi; \
	  "$$python" -m build --outdir dist $(ARGS) >/dev/null; \
	fi; \
	wheel="$$(ls -t dist/*.whl | head -1)"; \
	echo "wheel: $$wheel"; \
	echo "       install it with: pip install '$$wheel[all]'"

.PHONY: sbom
sbom: setup ## Write what is installed, with versions and licences, to dist/sbom.cdx.json (CycloneDX)
	@mkdir -p dist
	@$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --gather-license-texts \
	  --output-reproducible --of JSON --output-file dist/sbom.cdx.json $(BIN)/python
	@echo "sbom: dist/sbom.cdx.json"

.PHONY: lock
lock: ## Resolve the dependencies again and write the lock (needs uv)
	@"$(or $(UV),uv)" pip compile pyproject.toml --group dev --extra docs --extra pydantic --extra spark --upgrade \
	  --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --quiet --output-file $(LOCK)
	@"$(or $(UV),uv)" pip compile pyproject.toml --group build --extra spark --extra server --constraints $(LOCK) \
	  --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --quiet --output-file $(DEMO_LOCK)
