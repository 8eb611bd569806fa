# Every way in. `make` alone lists them; each one builds .venv first when it is missing or old.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILT := $(VENV)/.built-from-pins
WORKERS ?= 2
SEEDS ?= 1000
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist loadgroup

.DEFAULT_GOAL := help
.PHONY: help run run-catalog run-engine test check fmt bench simulate venv pin clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

run: $(BUILT) ## the newsroom against a sandbox full of faults (STORE=postgresql://... too)
	$(BIN)/newsroom demo

run-engine: $(BUILT) ## show the engine at work: jobs, a killed worker, a recovery
	$(BIN)/python -m dure.demo

run-catalog: $(BUILT) ## crawl the sandbox shop with faults, a SIGKILL and a resume (STORE=postgresql://...)
	STORE=$(STORE) $(BIN)/python -m catalog.rehearsal

test: $(BUILT) ## run every test
	$(PYTEST) --hypothesis-profile=thorough

check: $(BUILT) ## what to run before a commit: lint, types, import contracts, the fast tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST) -m "not process and not slow"

fmt: $(BUILT) ## format the code and fix what can be fixed by itself
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: $(BUILT) ## measure Dure beside its peers; writes docs/reference/figures.md (BENCH=--quick)
	$(BIN)/python tools/bench.py $(BENCH)
	$(BIN)/python tools/bench_crawl.py $(filter --quick,$(BENCH))

simulate: $(BUILT) ## run the decision code in virtual time, once per seed (SEEDS=1000)
	$(BIN)/dure simulate --seeds $(SEEDS)

venv: $(BUILT) ## build .venv from the pinned requirements

# Only files whose hashes are pinned get in. The project, its packages and its applications are
# installed in place, with the pinned build backend and without a network.
$(BUILT): pyproject.toml $(wildcard packages/*/pyproject.toml apps/*/pyproject.toml) $(wildcard requirements/*.txt)
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check -qq --require-hashes --no-deps -r requirements/dev.txt
	$(BIN)/python -m pip install --disable-pip-version-check -qq --no-index --no-deps --no-build-isolation -e . $(foreach place,$(wildcard packages/*/pyproject.toml apps/*/pyproject.toml),-e $(dir $(place)))
	$(BIN)/python -m pip check --disable-pip-version-check
	touch $@

pin: $(BUILT) ## move requirements/*.txt to the newest allowed versions
	$(BIN)/python tools/pin.py

clean: ## remove what tools leave behind, but not .venv
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage dist build
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
