# `make app` serves the director's app; `make test` runs all tests; `make bench` measures. Each makes what it needs in .venv first.

PYTHON ?= python3
PORT ?= 8866
BIN := .venv/bin
# Tests need programs that pip cannot install: the browser, the spreadsheet and the PDF reader of Debian and Ubuntu.
PROGRAMS := chromium soffice pdftoppm
PACKAGES := chromium libreoffice-calc-nogui poppler-utils
ROOT_DO := $(if $(filter-out 0,$(shell id -u)),sudo)

.PHONY: app test lint docs bench clean

app: .venv/app
	$(BIN)/roi serve --port $(PORT)

test: .venv/dev programs
	$(BIN)/pytest -n auto --dist loadfile

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/dev
	$(BIN)/python docs/write_numbers.py

# Each compares ways of doing the same in one run, so that its ratios hold on other machines.
bench: .venv/dev programs
	@$(BIN)/python -c 'import os, platform; print(platform.platform(), "Python", platform.python_version(), os.cpu_count(), "cores")'
	@for each in benchmarks/*.py; do echo; echo "$$each"; $(BIN)/python $$each || exit 1; done

clean:
	rm -rf .venv

.venv/app: pyproject.toml constraints.txt
	$(call install,.)

.venv/dev: pyproject.toml constraints.txt
	$(call install,.[dev])
	touch .venv/app

define install
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "roi needs Python 3.11 or newer; name it with make PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '$(1)'
	touch $@
endef

.PHONY: programs
programs:
	@for program in $(PROGRAMS); do command -v $$program >/dev/null || missing=1; done; \
	if [ -n "$$missing" ]; then \
	  command -v apt-get >/dev/null || { echo "Install $(PACKAGES) first: tests use them, and only apt-get is known here." >&2; exit 1; }; \
	  $(ROOT_DO) apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive $(ROOT_DO) apt-get install -y -qq --no-install-recommends $(PACKAGES); \
	fi
