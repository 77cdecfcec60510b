# Two commands: `make demo` and `make test`. Each does all of its own set-up.
PYTHON ?= python3
BIN := .venv/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo serve test test-faults test-load test-llm lint audit fuzz patterns bench bench-peers screenshots install install-dev weights clean

demo: install
	$(BIN)/bythebook demo

# The sample book over HTTP, unless there are books already.
serve: install
	$(BIN)/bythebook serve --sample

test: install-dev lint
	test -n "$$QDRANT_URL" || scripts/get_qdrant.sh || true
	scripts/get_debian.sh redis-server || true
	scripts/get_debian.sh chromium || true
	$(BIN)/pytest -n 2 --dist loadgroup --durations=25

# A real language model behind a real server: BYTHEBOOK_TEST_LLM_URL, else one fetched here (1.1 GB).
test-llm: install-dev
	test -n "$$BYTHEBOOK_TEST_LLM_URL" || $(BIN)/python scripts/get_test_llm.py
	BYTHEBOOK_TEST_LLM=1 $(BIN)/pytest -m llm -s tests/llm

lint: install-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# A real service under 200 kills, full disks, wrong clocks and failing servers: an hour or so.
test-faults: install-dev
	test -n "$$QDRANT_URL" || scripts/get_qdrant.sh || true
	scripts/get_debian.sh redis-server || true
	BYTHEBOOK_FAULT_ROUNDS=$${BYTHEBOOK_FAULT_ROUNDS:-200} $(BIN)/pytest -n 2 --dist load tests/faults

# Many readers at once for a while, beside an ingest; then several services that share servers.
test-load: install-dev
	test -n "$$QDRANT_URL" || scripts/get_qdrant.sh || true
	scripts/get_debian.sh redis-server || true
	$(BIN)/python benchmarks/endurance.py

# Known weaknesses of the pinned dependencies; needs the network to a list of vulnerabilities.
audit: install-dev
	$(BIN)/pip install --quiet 'pip-audit>=2.9'
	$(BIN)/pip-audit --strict --no-deps --disable-pip --requirement constraints.txt

# Broken inputs for everything that reads what strangers wrote; also by Atheris where it installs.
fuzz: install-dev
	$(BIN)/pip install --quiet atheris || true
	$(BIN)/python scripts/fuzz.py $$($(BIN)/python -c 'import atheris' 2>/dev/null && echo --atheris)

# Long texts made to hold each regular expression up.
patterns: install-dev
	$(BIN)/python -m scripts.check_patterns

bench: install-dev
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/load.py
	$(BIN)/python benchmarks/load.py --http
	$(BIN)/python benchmarks/during_ingest.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/reading.py

# Beside LangChain, LlamaIndex, Haystack, txtai and RAGLite: hours, 10 GB; can be stopped and resumed.
bench-peers: install-dev
	# Only where a peer's stemmer has no wheel; without it that peer is told as not installed.
	scripts/get_debian.sh libstemmer-dev:/usr/include/libstemmer.h || true
	cd benchmarks && ../$(BIN)/python -m peers.run --work ../.tools/peers

# The pictures of the page and the widget in docs/images.
screenshots: install-dev
	scripts/get_debian.sh chromium
	$(BIN)/python scripts/make_screenshots.py

install: .venv/.installed
install-dev: .venv/.installed-dev

.venv/.installed: pyproject.toml packages/reader/pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable packages/reader --editable .
	touch $@

.venv/.installed-dev: .venv/.installed
	$(BIN)/pip install --quiet --editable packages/reader --editable '.[dev]'
	touch $@

weights: install-dev
	$(BIN)/python scripts/make_minilm.py

clean:
	rm -rf .venv .tools .mypy_cache .pytest_cache .ruff_cache .hypothesis
