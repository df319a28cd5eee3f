# Every command makes the environment it needs; each works alone in a fresh clone.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest  # two workers share the cores: a thread each

.PHONY: setup demo test check check-all lint docs site changelog bench bench-query bench-bounds bench-induction bench-layer bench-learning bench-lifted bench-mean-field bench-scale bench-peers fuzz fault limits test-oldest test-scale clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name it: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

demo: $(READY)
	@$(BIN)/python examples/tour.py

test: $(READY)
	$(PYTEST) -n 2

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(PYTEST) tests/test_architecture.py

# The documentation, as pages that open from disk: site/index.html.
site: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs: site
	$(PYTEST) tests/docs

# The pages' tests are among all tests.
check: test lint site

# Each note of changelog.d in its place.
changelog: $(READY)
	$(BIN)/python changelog.d/assemble.py

check-all: lint site
	$(PYTEST) -n 2 -m "slow or not slow" --hypothesis-profile=explore

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
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[scale]'
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
	$(BIN)/python -m benchmarks induction induction_tasks induction_decisions induction_digits induction_ilp

bench-layer: $(READY)
	$(BIN)/python -m benchmarks layer

bench-learning: $(READY)
	$(BIN)/python -m benchmarks learning ablations distillation

bench-lifted: $(READY)
	$(BIN)/python -m benchmarks lifted belief regions

bench-scale: $(READY)
	$(BIN)/python -m benchmarks scale

bench-peers: $(READY)
	$(BIN)/python -m benchmarks peers

clean:
	rm -rf .venv .venv-oldest .pytest_cache .ruff_cache .hypothesis dist build site
