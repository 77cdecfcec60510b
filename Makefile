# Each target does all of its own set-up; `make` alone lists them.
PYTHON ?= python3
BIN := .venv/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

DIST ?= dist
# Quick, and without a server, a browser or a second process that listens.
FAST := cli/test_answers.py embedding extractive gaps grounding keys language models questions suggestions test_docs.py test_layers.py test_settings.py \
	test_words.py tracing

.DEFAULT_GOAL := help
.PHONY: help demo serve test test-full test-fast test-faults test-load test-llm lint dist audit fuzz patterns bench bench-peers screenshots docs docs-ask install install-dev weights clean

help:  ## this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

demo: install  ## read the sample book and ask it two questions
	$(BIN)/bythebook demo

# The sample book over HTTP, unless there are books already.
serve: install  ## the sample book on http://127.0.0.1:8000, unless there are books already
	$(BIN)/bythebook serve --sample

# A test that hangs fails by its name: no wait in it is longer than ten minutes. Where not even a
# signal reaches it, its process is ended.
LIMITS := --timeout 1200 -o faulthandler_timeout=1500 -o faulthandler_exit_on_timeout=true

# Every kind of test, and of what takes long a part.
test: install-dev lint  ## every kind of test, after fetching what they need: 15 to 20 minutes
	test -n "$$QDRANT_URL" || scripts/get_qdrant.sh || true
	scripts/get_debian.sh redis-server || true
	scripts/get_debian.sh chromium || true
	$(BIN)/pytest -n 2 --dist loadgroup --durations=25 $(LIMITS)

# Every example, round, fault and pair of databases; `.ci/run` does not call it.
test-full: export BYTHEBOOK_TEST_FULL := 1
test-full: LIMITS :=
test-full: test  ## the same with every round and example: hours

test-fast: install-dev  ## tests for the next edit: no server, no browser, below two minutes
	$(BIN)/python -m pytest -n 2 --dist loadscope -m 'not llm and not slow and not servers' $(FAST:%=tests/%)

# A real language model behind a real server: BYTHEBOOK_TEST_LLM_URL, else one fetched here (1.1 GB).
test-llm: install-dev  ## tests with a real language model (fetches 1.1 GB)
	test -n "$$BYTHEBOOK_TEST_LLM_URL" || $(BIN)/python scripts/get_test_llm.py
	BYTHEBOOK_TEST_LLM=1 $(BIN)/pytest -m llm -s tests/llm

lint: install-dev  ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The wheels to publish, of which ours is built from the source archive: that is tried thereby.
dist: install-dev  ## both wheels and the source archive, into dist/
	mkdir -p $(DIST)
	rm -f $(DIST)/bythebook*
	$(BIN)/python -m hatchling build -t sdist -d $(DIST)
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $(DIST) ./packages/reader $(DIST)/bythebook-*.tar.gz

# A real service under 200 kills, full disks, wrong clocks and failing servers: an hour or so.
test-faults: install-dev  ## a real service under kills, full disks and failing servers: an hour
	test -n "$$QDRANT_URL" || scripts/get_qdrant.sh || true
	scripts/get_debian.sh redis-server || true
	BYTHEBOOK_TEST_FULL=1 BYTHEBOOK_FAULT_ROUNDS=$${BYTHEBOOK_FAULT_ROUNDS:-200} $(BIN)/pytest -n 2 --dist load tests/faults

# Many readers at once for a while, beside an ingest; then several services that share servers.
test-load: install-dev  ## many readers at once, for an hour; MINUTES=5 for a short look
	test -n "$$QDRANT_URL" || scripts/get_qdrant.sh || true
	scripts/get_debian.sh redis-server || true
	$(BIN)/python benchmarks/endurance.py $(if $(MINUTES),--only hold --minutes $(MINUTES))

# Known weaknesses of the pinned dependencies; needs the network to a list of vulnerabilities.
audit: install-dev  ## known weaknesses of the pinned dependencies
	$(BIN)/pip install --quiet 'pip-audit>=2.9'
	$(BIN)/pip-audit --strict --no-deps --disable-pip --requirement constraints.txt

# Broken inputs for everything that reads what strangers wrote; also by Atheris where it installs.
fuzz: install-dev  ## broken inputs for everything that reads what others wrote; CASES=500 SEED=2
	$(BIN)/pip install --quiet atheris || true
	$(BIN)/python scripts/fuzz.py --cases $(or $(CASES),20000) --seed $(or $(SEED),1) $$($(BIN)/python -c 'import atheris' 2>/dev/null && echo --atheris)

# Long texts made to hold each regular expression up.
patterns: install-dev  ## long texts made to hold each regular expression up
	$(BIN)/python -m scripts.check_patterns

bench: install-dev  ## speed and memory
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/load.py
	$(BIN)/python benchmarks/load.py --http
	$(BIN)/python benchmarks/during_ingest.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/reading.py

# Beside LangChain, LlamaIndex, Haystack, txtai and RAGLite: hours, 10 GB; can be stopped and resumed.
bench-peers: install-dev  ## beside LangChain, LlamaIndex, Haystack, txtai and RAGLite: hours, 10 GB
	# Only where a peer's stemmer has no wheel; without it that peer is told as not installed.
	scripts/get_debian.sh libstemmer-dev:/usr/include/libstemmer.h || true
	cd benchmarks && ../$(BIN)/python -m peers.run --work ../.tools/peers

# The pictures of the page and the widget in docs/images.
screenshots: install-dev  ## the pictures in docs/images
	scripts/get_debian.sh chromium
	$(BIN)/python scripts/make_screenshots.py

docs: install-dev  ## the documentation as a site, in .tools/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-ask: install-dev  ## twenty questions of a newcomer, asked of the documentation itself
	$(BIN)/python -m scripts.ask_docs

install: .venv/.installed  ## a virtual environment in .venv with the `bythebook` command
install-dev: .venv/.installed-dev  ## the same with all that tests need

.venv/.installed: pyproject.toml packages/reader/pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable packages/reader --editable .
	touch $@

.venv/.installed-dev: .venv/.installed
	$(BIN)/pip install --quiet --editable packages/reader --editable '.[dev]'
	touch $@

weights: install-dev  ## make the built-in embedding model again
	$(BIN)/python scripts/make_minilm.py

clean:  ## remove the environment, fetched programs and caches
	rm -rf .venv .tools .mypy_cache .pytest_cache .ruff_cache .hypothesis
