PYTHON ?= python3.11

# Not in requirements.lock, so without a hash: which build of torch a machine needs, and the libraries for GPUs that come
# with it, differ between machines, and a CPU build that a machine has on disk may not be in the registry.
TORCH = torch==2.13.0

CORE = $(addprefix tests/test_,$(addsuffix .py,coreset data_npz data_rows data_tables data_texts \
	features_methods geometry method run scores select* several_runs signals_on_disk signatures values waves without_torch))

.PHONY: demo test core slow check bench torture docs release lock sbom clean

demo: .venv/installed
	.venv/bin/dualprune demo

test: check
	.venv/bin/pytest -n 2 --dist worksteal

# What needs no torch, where there is none.
core: .venv-core/installed
	.venv-core/bin/pytest -n 2 --dist worksteal $(CORE)

slow: .venv/installed
	.venv/bin/pytest -m slow

check: .venv/installed
	.venv/bin/ruff format --check && .venv/bin/ruff check && .venv/bin/mypy && .venv/bin/lint-imports

docs: .venv/installed
	.venv/bin/python docs/pages.py && .venv/bin/python docs/commands.py && .venv/bin/python docs/results_page.py
	.venv/bin/python -m sphinx -q -E -W --keep-going docs site

bench: .venv/installed
	.venv/bin/python -m benchmarks

torture: .venv/installed
	.venv/bin/python -m torture --out tortured

# `make release ENVIRONMENTS="3.11-core 3.11-torch"` tries these alone; the table at the end names them all.
release: .venv/installed .tools/installed
	rm -f dist/dualprune-* && .venv/bin/python -m hatchling build -d dist
	.tools/bin/twine check --strict dist/dualprune-*
	.tools/bin/python -m release dist $(TORCH) $(ENVIRONMENTS)

lock: .tools/installed
	.tools/bin/uv --config-file lock.toml pip compile -q -o requirements.lock pyproject.toml

sbom: .tools/installed
	mkdir -p dist && { cat requirements.lock && echo $(TORCH); } | .tools/bin/cyclonedx-py requirements \
		--pyproject pyproject.toml --output-reproducible --validate -o dist/sbom.cdx.json -

clean:
	rm -rf .venv .venv-core .tools site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist

.tools/installed: Makefile
	$(PYTHON) -m venv .tools && .tools/bin/pip install -q pip==26.2 twine==7.0.0 uv==0.13.8 cyclonedx-bom==7.5.0 && touch .tools/installed

# Hashes are checked at the first installation, without dependencies: all are listed, but torch. The last one has no
# index to fall back on, so it fails, rather than install unchecked, where requirements.lock lacks what pyproject.toml
# asks for: `make lock`.
.venv/installed: pyproject.toml requirements.lock
	$(PYTHON) -m venv .venv
	.venv/bin/pip install -q --require-hashes --no-deps --only-binary :all: -r requirements.lock
	.venv/bin/pip install -q --only-binary :all: $(TORCH)
	.venv/bin/pip install -q --no-index --no-build-isolation --check-build-dependencies -e '.[dev]'
	touch .venv/installed

.venv-core/installed: pyproject.toml requirements.lock
	$(PYTHON) -m venv .venv-core
	.venv-core/bin/pip install -q --require-hashes --no-deps --only-binary :all: -r requirements.lock
	.venv-core/bin/pip install -q --no-index --no-deps --no-build-isolation -e .
	touch .venv-core/installed
