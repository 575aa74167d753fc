"""`python -m dualprune`, which is also what `torchrun -m dualprune` starts."""

from dualprune.cli.__main__ import main

main()
