"""What `make release` does with the files that were built: look into them, install and use them.

Everything here runs with the standard library alone; `smoke.py` and `commands.py` are run by the
Python of each fresh environment.
"""
