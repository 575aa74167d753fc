PYTHON ?= python3.11

.PHONY: demo test check bench docs clean

demo: .venv
	.venv/bin/dualprune demo

test: check
	.venv/bin/pytest -n 2 --dist worksteal

check: .venv
	.venv/bin/ruff format --check && .venv/bin/ruff check && .venv/bin/mypy && .venv/bin/lint-imports

docs: .venv
	.venv/bin/python docs/pages.py && .venv/bin/python docs/results_page.py

bench: .venv
	.venv/bin/python -m benchmarks

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist

.venv: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv && .venv/bin/pip install -q -c constraints.txt -e '.[dev]' && touch .venv
