# Every target sets up what it needs: Python 3.11 or newer and make are enough to start.

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint bench docs clean

BIN := .venv/bin
export PYTHON

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile

setup: ## Make .venv with Penstock and its tools (the other targets do this themselves)
	@scripts/setup.sh

demo: setup ## Plan an example topology and show what the plan is worth
	@$(BIN)/penstock demo

test: setup ## Run the tests; choose some with ARGS="-k java"
	@$(BIN)/python -m pytest -n auto --maxprocesses 8 -m "not spark and not storm" $(ARGS) || [ $$? -eq 5 ]
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "spark and not alone" $(ARGS) || [ $$? -eq 5 ]
	@$(BIN)/python -m pytest -p no:xdist -m "storm or alone" $(ARGS) || [ $$? -eq 5 ]
	@if command -v mvn >/dev/null && command -v javac >/dev/null; then \
	    mvn --batch-mode --quiet -f storm-plugin/pom.xml test; \
	else echo "no Maven or no JDK: the tests of storm-plugin/ are left out"; fi

lint: setup ## Check format, style, types and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup ## Run the core benchmark suite
	@$(BIN)/penstock bench core

docs: setup ## Build the generated parts of the documentation
	@$(BIN)/python scripts/build_docs.py

clean: ## Remove .venv, caches and build products
	@if [ -d .venv ]; then rm -rf .venv.discarded && mv .venv .venv.discarded; fi
	rm -rf storm-plugin/target src/penstock/engines/storm/jars .venv.discarded .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -type d -name __pycache__ -prune -exec rm -rf {} +
