# Everything sets itself up in .venv with plain pip.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
LIGHT = $(VENV)/.light
STAMP = $(VENV)/.ready

# where bytecode may not be written, every process that a test starts compiles all of Richter anew
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast test-core soak mutants check bench bench-truth bench-truth-fast docs papers prices clean

help:  ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(STAMP)  ## Create .venv with Richter and its tools

# what the demo needs, and nothing else
$(LIGHT): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[audit,local,facts]"
	touch $(LIGHT)

# what tests and checks need too, in the same environment
$(STAMP): $(LIGHT) requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-dev.txt -e ".[audit,local,facts,png]"
	touch $(STAMP)

test: $(STAMP)  ## Run all tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup -q

test-fast: $(STAMP)  ## Run the tests that take seconds
	$(BIN)/python -m pytest -n 2 --dist loadgroup -q -m "not slow"

CORE_STAMP = $(VENV)-core/.ready
$(CORE_STAMP): pyproject.toml constraints.txt requirements-test.txt
	$(PYTHON) -m venv $(VENV)-core
	$(VENV)-core/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-test.txt -e .
	touch $(CORE_STAMP)

test-core: $(CORE_STAMP)  ## Run the core's tests that take seconds, with the core's dependencies only
	$(VENV)-core/bin/python -m pytest -n 2 --dist loadgroup -q -m "not slow" --core

papers: $(STAMP)  ## Run what the papers' page says, and write docs/validation/papers.md; goes on where it stopped
	$(BIN)/python papers/reproduction.py

soak: $(STAMP)  ## Run the long campaigns, going on where they stopped
	@for script in tests/soak $(filter-out studies/driver.py,$(wildcard studies/*.py)) papers/reproduction.py; do \
	  echo "== $$script"; $(BIN)/python $$script || exit 1; done
	RICHTER_KILLS=25 $(BIN)/python -m pytest -q -k sigkill_at_random_moments tests/audit/test_nothing_lost.py
	RICHTER_TABLES=300 $(BIN)/python -m pytest -q -k containers_agree_in_many_tables tests/tables/test_never.py
	RICHTER_REQUESTS=10000 $(BIN)/python -m pytest -q -k many_requests_eight_faults tests/llm/test_batch_jobs.py
	RICHTER_TRIALS=all $(BIN)/python -m pytest -n 2 --dist loadgroup -q $$(grep -rlE "from helpers.trials import|mark.sampled" tests --include='test_*.py')
	RICHTER_EXAMPLES=random $(BIN)/python -m pytest -n 2 --dist loadgroup -q $$(grep -rl "from hypothesis import" tests --include='test_*.py')

mutants: $(STAMP)  ## Change the rules of verdicts and see whether a test notices
	$(BIN)/python tools/mutants.py

# of studies, papers and benchmarks no more is asked than that what they call is there
# functions above cognitive complexity 15; none may be above 25
MAX_COMPLEX = 40
check: $(STAMP)  ## Lint, types, layers, complexity, plain English
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	MYPYPATH=src:tests:benchmarks:papers:studies $(BIN)/mypy --config-file= --explicit-package-bases --ignore-missing-imports --follow-imports=silent \
	  $(foreach code,arg-type assignment misc operator return-value type-var union-attr var-annotated,--disable-error-code=$(code)) benchmarks studies papers
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -n0 tests/words/test_plain_english.py
	$(BIN)/complexipy src --max-complexity-allowed 25 --failed --plain --color no
	$(BIN)/python tools/rooms.py
	@number=$$($(BIN)/complexipy src --max-complexity-allowed 15 --failed --plain --color no | wc -l); \
	echo "$$number functions above complexity 15, at most $(MAX_COMPLEX) may be"; test "$$number" -le "$(MAX_COMPLEX)"

demo: $(LIGHT)  ## Is the new prompt better? SmolLM2 on real facts, ending in a page (the main job)
	$(BIN)/richter demo
	@echo "The command is $(BIN)/richter; '. $(BIN)/activate' puts it on your path."

BENCH_STAMP = $(VENV)-bench/.ready
$(BENCH_STAMP): pyproject.toml constraints.txt requirements-bench.txt
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-bench.txt -e ".[audit,local,facts,wiki]"
	touch $(BENCH_STAMP)

bench: $(BENCH_STAMP)  ## Print ratios against peers
	@for script in benchmarks/bench_*.py; do echo "== $$script"; \
	RICHTER_BENCH_PYTHON=$(VENV)-bench/bin/python $(VENV)-bench/bin/python $$script || exit 1; done

bench-truth: $(STAMP)  ## Run all tools on worlds with known truth (hours; goes on where it stopped)
	$(BIN)/python benchmarks/truth/run.py

bench-truth-fast: $(STAMP)  ## Ten minutes of it, before a release
	$(BIN)/python benchmarks/truth/run.py --fast

DOCS_STAMP = $(VENV)-docs/.ready
$(DOCS_STAMP): pyproject.toml constraints.txt requirements-docs.txt
	$(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-docs.txt -e .
	touch $(DOCS_STAMP)

docs: $(DOCS_STAMP)  ## Build the documentation into site/
	$(VENV)-docs/bin/sphinx-build -W --keep-going -q -b html docs site
	@echo "site/index.html"

prices: $(STAMP)  ## Read the list of model prices anew from litellm's package
	rm -rf $(VENV)/prices && $(BIN)/pip download --quiet --no-deps litellm -d $(VENV)/prices
	$(BIN)/python tools/build_prices.py $(VENV)/prices/litellm-*.whl

clean:  ## Remove what was built
	rm -rf $(VENV) $(VENV)-core $(VENV)-bench $(VENV)-truth $(VENV)-docs site .pytest_cache .mypy_cache .ruff_cache demo soak
