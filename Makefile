# Every command makes the environment it needs; each works alone in a fresh clone.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PLAIN := .venv/.plain
READY := .venv/.ready
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Two workers share the cores: a thread each. Compiled modules are kept, for the commands that tests start too.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

.PHONY: setup demo dist extras release test check check-all lint docs site changelog bench bench-query bench-bounds bench-circuit bench-induction bench-layer bench-learning bench-lifted bench-mean-field bench-scale bench-serve bench-structure bench-peers fuzz fault limits test-oldest test-scale test-studio studio studio-check studio-pictures clean

setup: $(READY)

# What users install, which brings no torch; then what contributors need.
$(PLAIN): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name it: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv .venv
	$(INSTALL) -e .
	@touch $(PLAIN)

$(READY): $(PLAIN)
	$(INSTALL) -e '.[dev]'
	@touch $(READY)

demo: $(PLAIN)
	@$(BIN)/python examples/tour.py

# A file to a worker: loops are compiled once and kept, tables of a module are made once.
test: $(READY)
	$(PYTEST) -n 2 --dist loadfile

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(PYTEST) tests/test_architecture.py

# The studio in a real browser, where there is one, or root may install it.
test-studio: $(READY) studio/node_modules/.package-lock.json
	@command -v chromium > /dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get > /dev/null || \
		{ apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } > /dev/null 2>&1 || true
	$(PYTEST) -rs tests/studio -m "browser or not browser"

# The pictures of docs/studio.md, by the same tests.
studio-pictures: $(READY)
	HERBRAND_PICTURES=1 $(PYTEST) tests/studio -m browser

# The client of the studio, built into the package. Users need no Node; only who changes studio/ does.
studio: studio/node_modules/.package-lock.json
	cd studio && npm run --silent build

# Whether the committed bundle is what the sources build; needs Node and npm's registry.
studio-check: studio/node_modules/.package-lock.json
	@if [ -f studio/node_modules/.package-lock.json ]; then \
		cd studio && npm run --silent check && npx vite build --logLevel warn --outDir ../build/studio --emptyOutDir && \
		diff -r ../build/studio ../src/herbrand/serving/studio && echo "the bundle is what the sources build"; \
	else echo "studio-check is skipped: there is no Node, or no registry of its packages"; fi

studio/node_modules/.package-lock.json: studio/package-lock.json
	@if command -v npm > /dev/null && npm ping > /dev/null 2>&1; then \
		cd studio && npm ci --no-audit --no-fund --loglevel=error; \
	else echo "there is no npm, or no registry of packages"; fi

# The documentation, as pages that open from disk: site/index.html.
site: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs: site
	$(PYTEST) tests/docs

# The pages' tests are among all tests.
check: test lint site

# The wheel and the sdist, and the commands of the first-minute page by the wheel in a clean environment.
dist: $(READY)
	rm -rf dist
	$(BIN)/python tests/distribution.py

# Each extra in an environment of its own: some minutes, and some gigabytes of packages.
extras: $(READY)
	rm -rf dist
	$(BIN)/python tests/distribution.py --extras

# The check-list of a release, the wheel's trial among it; run `make check-all` as well.
release: $(READY)
	rm -rf dist
	$(BIN)/python tests/distribution.py --release

# Each note of changelog.d in its place.
changelog: $(READY)
	$(BIN)/python changelog.d/assemble.py

check-all: lint site
	$(PYTEST) -n 2 -m "not browser" --hypothesis-profile=explore

# The tests with the oldest version of each dependency that pyproject.toml allows; `make test` has the newest.
test-oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-oldest.txt -e '.[dev]'
	OMP_NUM_THREADS=1 .venv-oldest/bin/python -m pytest -n 2

# Damaged theories, tables and options on all commands: make fuzz CASES=20000 FIRST=0
fuzz: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --cases $(or $(CASES),20000) --first $(or $(FIRST),0)

# Whether hostile theories and files keep --time-limit and --memory: make limits CASES=300 FIRST=0
limits: $(READY)
	$(BIN)/python -m tests.limits --cases $(or $(CASES),300) --first $(or $(FIRST),0)

# A full disk, Ctrl-C, SIGTERM and SIGKILL at every write of every command that writes: make fault CASES="learn convert"
fault: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.injector $(CASES)

# Beyond memory, and two executors of Spark: needs Java 17 and downloads 400 MB.
test-scale: $(READY)
	$(INSTALL) -e '.[scale,postgresql]'
	$(PYTEST) tests/scale tests/contraction/test_relational.py -m "slow or not slow"

bench: $(READY)
	$(BIN)/python -m benchmarks

bench-query: $(READY)
	$(BIN)/python -m benchmarks query

bench-bounds: $(READY)
	$(BIN)/python -m benchmarks bounds bounds_larger bounds_ariel bounds_scale bounds_million

bench-mean-field: $(READY)
	$(BIN)/python -m benchmarks mean_field

bench-induction: $(READY)
	$(BIN)/python -m benchmarks induction induction_tasks induction_decisions induction_digits induction_ilp induction_rules induction_graphs

bench-circuit: $(READY)
	$(BIN)/python -m benchmarks circuit

bench-layer: $(READY)
	$(BIN)/python -m benchmarks layer query_layer

bench-learning: $(READY)
	$(BIN)/python -m benchmarks learning likelihood ablations distillation

bench-lifted: $(READY)
	$(BIN)/python -m benchmarks lifted belief regions

bench-scale: $(READY)
	$(BIN)/python -m benchmarks scale

bench-serve: $(READY)
	$(BIN)/python -m benchmarks serve

bench-structure: $(READY)
	$(BIN)/python -m benchmarks structure

bench-peers: $(READY)
	$(BIN)/python -m benchmarks peers

clean:
	rm -rf studio/node_modules .venv .venv-oldest .pytest_cache .ruff_cache .hypothesis dist build site
