# Every target sets up what it needs: Python 3.11 or newer and make are enough to start.

.DEFAULT_GOAL := help
.PHONY: help setup demo quick test coverage lint bench docs site clean

BIN := .venv/bin
export PYTHON

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

setup: ## Make .venv with Penstock and its tools (the other targets do this themselves)
	@scripts/setup.sh

demo: setup ## Plan an example topology and show what the plan is worth
	@$(BIN)/penstock demo

quick: setup ## Run the tests without Java and those that take long; about a minute
	@$(BIN)/python scripts/run_tests.py --quick $(ARGS)

test: setup ## Run the tests; choose some with ARGS="-k java"
	@$(BIN)/python scripts/run_tests.py $(ARGS)
	@if command -v mvn >/dev/null && command -v javac >/dev/null; then \
	    MAVEN_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" \
	    mvn --batch-mode --quiet -f storm-plugin/pom.xml test; \
	else echo "no Maven or no JDK: the tests of storm-plugin/ are left out"; fi

coverage: setup ## Run the tests and show which lines of each file they did not run
	@$(BIN)/python scripts/run_tests.py --coverage $(ARGS)

lint: setup ## Check format, style, types, names, commit subjects and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_class_names.py
	$(BIN)/python scripts/check_commit_subjects.py

bench: setup ## Run the core benchmark suite
	@$(BIN)/penstock bench core

docs: setup ## Build the generated parts of the documentation
	@$(BIN)/python scripts/build_docs.py

site: setup ## Build the documentation as a web site, in site/
	@scripts/build_site.sh

clean: ## Remove .venv, caches and build products
	@if [ -d .venv ]; then rm -rf .venv.discarded && mv .venv .venv.discarded; fi
	rm -rf storm-plugin/target src/penstock/engines/storm/jars .venv.discarded .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage build dist site
	find . -type d -name __pycache__ -prune -exec rm -rf {} +
