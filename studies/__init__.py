"""Studies that pages of the documentation show: each a script beside the lines that it measured."""
