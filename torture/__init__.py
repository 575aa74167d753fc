"""An attack on the library: `python -m torture`; the table in `__main__` says what is tried."""
