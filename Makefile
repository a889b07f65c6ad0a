# make run   a virtual environment, the requirements, the app
# make test  all of that, what the tests need (a browser too), lint, types and the suite

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PORT   ?= 8501
PIP    := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: run test lint browser pictures bench clean

run: $(VENV)/.installed
	@echo "Two Speeds: http://127.0.0.1:$(PORT)"
	@$(BIN)/python -m streamlit run app.py --server.port $(PORT)

test: lint browser
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: $(VENV)/.test-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

browser: $(VENV)/.test-installed
	$(BIN)/python -m tests.browser.install

bench: $(VENV)/.test-installed browser
	$(BIN)/python -m benchmarks.two_speeds
	$(BIN)/python -m benchmarks.serving
	$(BIN)/python -m benchmarks.virtual_clock
	$(BIN)/python -m benchmarks.quantized
	$(BIN)/python -m benchmarks.page

pictures: $(VENV)/.test-installed browser
	$(BIN)/python -m tests.browser.pictures

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Two Speeds needs Python 3.11 or newer; $(PYTHON) is older. Try: make run PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.txt | $(VENV)/bin/python
	@echo "Installing what the app needs. The first time this takes some minutes (PyTorch is large)."
	$(PIP) install --quiet -r requirements.txt
	@$(BIN)/python -m kernels.build
	@touch $@

$(VENV)/.test-installed: requirements-test.txt requirements-cluster.txt $(VENV)/.installed
	$(PIP) install --quiet -r requirements-test.txt
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
