PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.DEFAULT_GOAL := help

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

setup: $(READY) ## create .venv with everything pinned

demo: $(READY) ## set everything up, then show the tour playbook
	@$(BIN)/python scripts/demo.py

test: $(READY) ## set everything up and run all tests
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -n 2 -q

examples: $(READY) ## run the tests of the examples
	$(BIN)/petra test examples

check: $(READY) ## format, lint, types, import contracts, fast tests: under 60 s
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -n 2 -q -m "not slow"

format: $(READY) ## format and fix what can be fixed
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --fix --quiet .

docs: $(READY) ## write the generated pages of docs/reference
	$(BIN)/python scripts/generate_docs.py

bench: $(READY) ## measure
	$(BIN)/python benchmarks/run.py

lock: ## pin the requirements anew, with hashes
	$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-trusted-host \
	  --no-header --upgrade -o requirements/dev.txt requirements/dev.in

.PHONY: help setup demo test examples check format docs bench lock
