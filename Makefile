# Needs Python 3.11 or later and make; everything else is installed into .venv.
PYTHON ?= $(firstword $(foreach p,python3.11 python3 python3.12 python3.13 python,$(shell \
	$(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $(p))))
BIN := .venv/bin
EXTRAS := solvers,dask,book,lab,test
COMMA := ,
INSTALLED := .venv/installed
# What the tests of the library need: not the lab, the book and a browser.
LIBRARY := .venv/library
# Sphinx of today beside the one that Jupyter Book 1 holds.
SPHINX := .venv-sphinx/installed
LIBRARY_TESTS := certificates column_generation constrained continuous datasets formulations heuristics \
	murtree shared
KERNELS := .venv/kernels
WORKERS ?= 2
# A test that waits for a process or a clock leaves its core idle: one more than notebooks at a time.
TESTERS ?= 3
# In the order of the files: by its number of tests, a file of few long tests would come last, alone.
PARALLEL := --dist loadscope --no-loadscope-reorder --max-worker-restart 0

# What each stage is said to take, on two cores.
TESTS_TAKE := half an hour
NOTEBOOKS_TAKE := six to eight minutes
BOOK_TAKES := six to nine minutes from nothing, else as long as what changed
PAGES_TAKE := eight to eleven minutes
COMPILING_TAKES := one to three minutes, once
INSTALLING_TAKES := one to three minutes, once

# Solvers, tests and notebooks run side by side: none of them may take all the cores for itself.
export OMP_NUM_THREADS ?= 1
export PYTHONUTF8 := 1
# Without bytecode each process of pytest would rewrite all assertions anew, for ten seconds.
export PYTHONDONTWRITEBYTECODE :=
# How many mutants, and which.
N ?= 20
SEED ?= 0
# Multiplies the seeds of the tests that have them, and brings every instance (see tests/scale.py).
export ODT_TEST_SCALE ?= 1

.DEFAULT_GOAL := help
.PHONY: help book book-sphinx mutants test test-all test-notebooks coverage test-wheel test-oldest test-interoperation check-book archive lab experiments lint links lock clean pdf

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+%?:.*## / {printf "  make %-20s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed; name it with make PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; \
		echo "$(PYTHON) cannot make an environment (Debian: apt install python3-venv)"; exit 1; }

$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/python
	@echo "set-up: installing the pinned versions into .venv ($(INSTALLING_TAKES))"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable ".[$(EXTRAS)]"
	@touch $@

$(LIBRARY): pyproject.toml constraints.txt | $(BIN)/python
	@echo "set-up: installing what the tests of the library need into .venv (half a minute, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable ".[plot,solvers]" pytest pytest-xdist
	@touch $@

$(SPHINX): pyproject.toml | $(BIN)/python
	@echo "set-up: installing Sphinx of today into .venv-sphinx ($(INSTALLING_TAKES))"
	@$(PYTHON) -m venv .venv-sphinx
	@.venv-sphinx/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[sphinx]"
	@touch $@

# Compiled once, beside the sources; what has changed since, and what calls it, is compiled again.
# A kernel that fails here ("-") keeps nobody from running the tests, which say what is wrong with it.
$(KERNELS): $(INSTALLED) $(shell find odtlib odtbook/published -name '*.py' 2>/dev/null)
	@echo "set-up: compiling the kernels ($(COMPILING_TAKES))"
	-@$(BIN)/odt compile --jobs $(WORKERS)
	@touch $@

book: $(KERNELS) ## run the chapters and build the book (_build/html/index.html)
	@echo "book: executing the notebooks that changed, or that read what changed, and building the" \
		"pages ($(BOOK_TAKES))"
	@$(BIN)/python scripts/build_book.py

book-sphinx: $(KERNELS) $(SPHINX) ## build the same pages without Jupyter Book, by Sphinx of today (_build/sphinx/html)
	@echo "book-sphinx: executing the notebooks that changed, and building the pages ($(BOOK_TAKES))"
	@$(BIN)/python scripts/build_book.py sphinx

test: $(KERNELS) ## run the tests, then every chapter and template, and compare what they claim
	@echo "test: the tests of the packages ($(TESTS_TAKE))"
	@$(BIN)/python -m pytest -n $(TESTERS) $(PARALLEL) -q tests
	@$(MAKE) --no-print-directory test-notebooks

# Their kernels are compiled by the tests that call them.
$(addprefix test-,$(LIBRARY_TESTS)): test-%: $(LIBRARY)
	@$(BIN)/python -m pytest -n $(TESTERS) $(PARALLEL) -q tests/$*

test-%: $(KERNELS) ## run the tests of one package: make test-murtree, test-constrained, ... (tests/*)
	@$(BIN)/python -m pytest -n $(TESTERS) $(PARALLEL) -q tests/$*

mutants: $(KERNELS) ## change N lines of odtlib at random, in a copy, and see whether tests notice (SEED)
	@$(BIN)/python scripts/mutants.py --number $(N) --seed $(SEED)

test-notebooks: $(KERNELS) ## run every chapter and template cell by cell, and compare what they claim
	@echo "test-notebooks: nbval runs the notebooks, each in a fresh kernel ($(NOTEBOOKS_TAKE))"
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope --max-worker-restart 0 --nbval-lax \
		-q chapters intro.ipynb

test-all: $(KERNELS) ## also the slow tests, ten times the seeds, an hour of fuzz: for the night (two hours)
	@echo "test-all: every test, ten times the seeds, an hour of fuzz (one to two hours)"
	@ODT_TEST_SCALE=10 $(BIN)/python -m pytest -n $(TESTERS) $(PARALLEL) -q -m "slow or not slow" tests
	@$(MAKE) --no-print-directory test-notebooks

coverage: $(KERNELS) ## measure which lines the tests run, compiled ones apart (_build/coverage.md)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check pytest-cov
	@mkdir -p _build
	@$(BIN)/python -m pytest -n $(TESTERS) $(PARALLEL) -q --cov=odtlib --cov=odtbook \
		--cov-report=markdown:_build/coverage.md tests

test-wheel: $(INSTALLED) ## build the wheel and try it outside the checkout, core and each extra
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python scripts/test_wheel.py

test-oldest: ## run the solvers' tests with the lower bounds of all dependencies
	$(PYTHON) scripts/test_environments.py --oldest $(PYTHON)

test-interoperation: ## run the tests with SHAP, ONNX, skops and others
	$(PYTHON) scripts/test_environments.py --interoperation $(PYTHON)

check-book: $(INSTALLED) ## open every built page in a browser, desktop, phone, light, dark, and walk the ways of three readers
	@echo "check-book: opening every page in a browser, four times ($(PAGES_TAKE))"
	@$(BIN)/python -m pytest -n $(WORKERS) --dist load --max-worker-restart 0 tests/book/check_pages.py tests/book/check_walks.py -q

archive: book ## pack the built book, and its sources as source.zip, for reading offline (dist/)
	git archive --format zip --prefix optimal-decision-trees/ --output _build/html/source.zip HEAD
	$(BIN)/python -c "import shutil; print(shutil.make_archive('dist/optimal-decision-trees', 'zip', '_build/html'))"

pdf: book ## print the built book with a headless browser (dist/optimal-decision-trees.pdf)
	$(BIN)/python scripts/print_book.py

lab: $(KERNELS) ## open JupyterLab on the landing page, with the chapters in reading order
	@echo "lab: starting JupyterLab, which opens in the browser (ten seconds; Ctrl-C here ends it)"
	@$(BIN)/python scripts/prepare_lab.py
	@$(BIN)/python -m jupyterlab --LabApp.default_url=/lab/tree/lab.md

experiments: $(INSTALLED) ## rerun the quick grid of every experiment
	$(BIN)/odt run --all --quick --jobs $(WORKERS)

lint: $(INSTALLED) ## check the style of code and notebooks
	$(BIN)/ruff check .

links: $(INSTALLED) ## check the links that leave the book (needs a network)
	$(BIN)/python scripts/build_book.py linkcheck

lock: ## resolve all versions afresh and write constraints.txt, and the same with hashes
	rm -rf .venv && $(PYTHON) -m venv .venv
	# From 4.25 on, jsonschema builds a grammar at import: two seconds for each kernel's client.
	# Soupsieve 3 wants Python 3.11.5, and Debian 12 has 3.11.2.
	$(BIN)/python -m pip install --quiet --editable ".[$(EXTRAS)]" "jsonschema<4.25" "soupsieve<3"
	{ sed -n '/^#/p' constraints.txt; $(BIN)/python -m pip freeze --exclude-editable; } > constraints.new
	mv constraints.new constraints.txt
	$(BIN)/python -m pip install --quiet uv
	$(MAKE) --no-print-directory requirements-lock.txt

# The versions of constraints.txt with the hashes of their files, and what other systems and
# interpreters need besides. Fails where a version does not take every Python from 3.11.0 on.
requirements-lock.txt: constraints.txt pyproject.toml
	{ echo "# constraints.txt with hashes, for every system. Written by \`make lock\`, never by hand."; \
		$(BIN)/python -m uv pip compile pyproject.toml $(patsubst %,--extra %,$(subst $(COMMA), ,$(EXTRAS))) \
		--constraint constraints.txt --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-annotate --no-header --quiet; } > requirements.new
	mv requirements.new requirements-lock.txt

clean: ## remove what was built, keep the environment
	rm -rf _build dist lab.md .pytest_cache .ruff_cache $(KERNELS)
	find odtlib odtbook tests -name __pycache__ -type d -prune -exec rm -rf {} +
