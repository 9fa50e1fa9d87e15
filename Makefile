# CoffeeBench: everything from an empty machine with Python 3.11 or newer.
#
#   make run      the site: installs, prepares, starts; prints address and password
#                 (make run PORT=8001 for another port, HOST=0.0.0.0 for the network)
#   make test     all tests, three files at a time; make test ARGS="tests/test_x.py -k name" for some
#   make check    style, types, missing migrations, unexpected start-up files
#   make bench    how fast runs are played and replayed
#   make soak     long trials, under faults and of whole starts
#   make install  the virtual environment alone
#   make lock     requirements*.txt from requirements*.in; ARGS=--upgrade takes newer versions
#   make clean    removes the virtual environment and caches; the data in var/ stays

.PHONY: help run test check bench soak install install-dev lock clean

BIN := .venv/bin
ifndef PYTHON
PYTHON := $(shell for each in python3 python3.13 python3.12 python3.11; do \
	"$$each" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo "$$each" && break; done)
endif

NO_PYTHON := CoffeeBench needs Python 3.11 or newer, and found none on this machine. \
	Install one, or name it: make run PYTHON=/path/to/python3.11

help:
	@sed -n 's/^#  *\(make\)/  \1/p; s/^#   *(/        (/p' Makefile

run: install
	@exec $(BIN)/python -m coffeebench_site.supervisor

# In the order of collection: those that drive a browser come last, for they leave an event loop behind.
test: install-dev
	@$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)

soak: install-dev
	@$(BIN)/python -m pytest -m soak $(ARGS)

bench: install
	@$(BIN)/python manage.py bench $(ARGS)

check: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python .ci/check_startup_files.py

install:
	@$(if $(PYTHON),,$(error $(NO_PYTHON)))
	@$(PYTHON) install.py requirements.txt

install-dev:
	@$(if $(PYTHON),,$(error $(NO_PYTHON)))
	@$(PYTHON) install.py requirements-dev.txt

# Releases become eligible two weeks after their upload, when a poisoned one has been found
# out. The two exceptions were examined by hand.
LOCK := var/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --no-build \
	--generate-hashes --no-annotate --custom-compile-command "make lock" \
	--exclude-newer "2 weeks" \
	--exclude-newer-package litellm=2026-11-30 --exclude-newer-package openai=2026-11-30

lock:
	$(PYTHON) -m venv var/lock
	var/lock/bin/python -m pip install --quiet uv
	$(LOCK) requirements.in --output-file requirements.txt $(ARGS)
	$(LOCK) requirements-dev.in --constraint requirements.txt --output-file requirements-dev.txt $(ARGS)

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis test-results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
