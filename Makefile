PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
COMPILED := .venv/compiled
BENCH_READY := .venv/ready-bench

# The tests start hundreds of processes: they share the compiled code, whatever the shell says about it.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/pycache

.DEFAULT_GOAL := help

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

setup: $(READY) ## create .venv with everything pinned

UI := src/petra/server/ui/stamp
WEB := $(shell find web -type d \( -name node_modules -o -name .cache -o -name test-results \) -prune -o -type f -print)

$(UI): $(READY) $(WEB) scripts/build_ui.py
	$(BIN)/python scripts/build_ui.py

ui: $(UI) ## build the web UI, without a node on the machine if there is none

demo: $(READY) $(UI) ## set everything up, show the tour playbook, and serve it to be looked at: KEEP=SECONDS
	@$(BIN)/python scripts/demo.py $(if $(KEEP),--keep $(KEEP))

# the slow tests wait for other processes more than half of their time: so many keep all cores busy
JOBS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) \* 2 + 1)

# workers of pytest that begin at once would each compile all tests and all of Petra: once is enough after a checkout
$(COMPILED): $(READY)
	-@$(BIN)/pytest --collect-only -qq -p no:xdist > /dev/null
	@touch $(COMPILED)

test: $(READY) ## set everything up and run all tests
	@$(MAKE) --no-print-directory --jobs=2 $(UI) $(COMPILED)
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -n $(JOBS) --dist worksteal -q

# Other environments are made once, and again when what they are made of changes. TESTS runs a part of the tests there.
OLDEST := .venv-oldest
OTHER := .venv-$(notdir $(PYTHON))
INSTALL := install --quiet --disable-pip-version-check
TESTS ?= tests

# pages that show what click and litestar write are made with the versions of the lock
NOT_AS_PINNED := --deselect tests/docs/test_error_pages.py::test_the_generated_pages_are_fresh

$(OTHER)/ready-other: requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv --clear $(OTHER)
	$(OTHER)/bin/pip $(INSTALL) --require-hashes -r requirements/dev.txt
	$(OTHER)/bin/pip $(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

test-python: $(OTHER)/ready-other ## the fast tests under another Python: make test-python PYTHON=python3.13
	PETRA_QUICK=1 $(OTHER)/bin/pytest -n 2 --dist worksteal -q -m "not slow" $(TESTS)

# those of 3.11 to 3.14 that can be started here, or that pyenv has; the rest are named, so that nobody takes them for tested
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
PYENV_ROOT ?= $(HOME)/.pyenv

test-pythons: ## the same under every Python of 3.11 to 3.14 that the machine has
	@for python in $(PYTHONS); do \
	  for path in $$python $(PYENV_ROOT)/versions/$${python#python}.*/bin/$$python; do \
	    if $$path -c '' 2> /dev/null; then echo "$$path:"; $(MAKE) --no-print-directory test-python PYTHON=$$path || exit 1; continue 2; fi; \
	  done; echo "$$python: not on this machine"; \
	done

$(OLDEST)/ready: requirements/dev.txt pyproject.toml scripts/oldest.py
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/pip $(INSTALL) --require-hashes -r requirements/dev.txt
	$(OLDEST)/bin/python scripts/oldest.py > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/pip $(INSTALL) -r $(OLDEST)/oldest.txt
	$(OLDEST)/bin/pip uninstall --quiet --yes schemathesis # it needs the newest jsonschema-rs, and is for tests only
	$(OLDEST)/bin/pip $(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

test-oldest: $(OLDEST)/ready ## the fast tests with the oldest dependencies that pyproject.toml allows
	PETRA_QUICK=1 $(OLDEST)/bin/pytest -n 2 --dist worksteal -q -m "not slow" $(NOT_AS_PINNED) $(TESTS)

examples: $(READY) ## run the tests of the examples
	$(BIN)/petra test examples

check: $(READY) ## format, lint, types, import contracts, fast tests
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	PETRA_QUICK=1 $(BIN)/pytest -n 2 --dist worksteal -q -m "not slow"

format: $(READY) ## format and fix what can be fixed
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --fix --quiet .

# tests that take minutes each are no hangs here
SOAK := PETRA_HANG_S=0 $(BIN)/pytest -n 2 --dist worksteal -q

soak: $(READY) ## 20,000 random paths, 2,000 decided again, 20,000 nested fan-outs, 6,000 ordeals, every change of every key, both fates of a disk
	PETRA_PATHS=20000 $(SOAK) tests/kernel/test_on_net.py -k random
	PETRA_PATHS=2000 $(SOAK) tests/kernel/test_redecide.py -k random
	PETRA_NESTED=20000 $(SOAK) tests/kernel/test_oracle.py -k nested_fan_outs
	PETRA_ORDEALS=6000 $(SOAK) tests/faults/test_ordeals.py
	PETRA_KEYS=1000000 $(SOAK) tests/playbook/test_every_key.py tests/testing/test_every_key.py
	PETRA_FATES=1 $(SOAK) tests/store/test_sqlite_faults.py

fuzz: $(READY) ## 20,000 made-up requests and more against a server of its own; no answer may be a 5xx
	NO_COLOR=1 $(BIN)/python scripts/fuzz_api.py --examples 120

pictures: $(READY) $(UI) ## photograph every page of the web UI, and write those of docs/images
	$(BIN)/python scripts/pictures.py

docs: $(READY) ## write the generated pages of docs/reference
	$(BIN)/python scripts/generate_docs.py
	$(BIN)/python scripts/spec_report.py

$(BENCH_READY): $(READY) requirements/bench.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bench.txt
	@touch $(BENCH_READY)

bench: $(BENCH_READY) ## Petra beside DBOS in one run: rewrites benchmarks/results/peers.*
	$(BIN)/python benchmarks/peers.py

bench-quick: $(BENCH_READY) ## the same with small sizes, under 60 s; writes nothing
	$(BIN)/python benchmarks/peers.py --quick

bench-parts: $(READY) ## what each part costs on its own
	$(BIN)/python benchmarks/run.py

LOCK := $(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url \
  --no-emit-trusted-host --no-emit-find-links --no-header --upgrade

lock: ## pin the requirements anew, with hashes
	$(LOCK) -o requirements/dev.txt requirements/dev.in
	$(LOCK) -o requirements/bench.txt requirements/bench.in

.PHONY: help setup ui demo test test-python test-pythons test-oldest examples check format soak fuzz docs pictures bench bench-quick bench-parts lock
