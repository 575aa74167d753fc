"""Examples to type, for the end of every --help."""

EXAMPLES = {
    "demo": ["dualprune demo"],
    "prune": [
        "dualprune prune photos/ --keep 0.5 --out pruned",
        "dualprune prune cifar10 --download --prune 70% --method ccs --out pruned",
        "dualprune prune photos/ --keep 0.3 --method auto --out pruned",
        "dualprune prune photos/ --keep auto --lose 0.5 --out pruned",
    ],
    "record": [
        "dualprune record photos/ --out run",
        "torchrun --nproc-per-node 2 -m dualprune record cifar10 --out run",
    ],
    "import": [
        "dualprune import losses.csv --out run",
        "dualprune import probabilities.npy --values prob --out run",
    ],
    "score": ["dualprune score dual run --epochs 30"],
    "select": ["dualprune select beta run --keep 0.1 --out small"],
    "train": ["dualprune train photos/ --coreset pruned --out trained"],
    "compare": ["dualprune compare photos/ --method dual+beta --method random --out compared"],
    "edit": ["dualprune edit pruned --drop ids.csv --out edited"],
    "report": ["dualprune report pruned --data photos/"],
    "push": ["dualprune push run s3://bucket/run"],
    "audit": ["dualprune audit run --show 50 --out audited"],
    "reproduce": [
        "dualprune reproduce cifar10 --dry-run",
        "dualprune reproduce cifar10 --download --out reproduced",
    ],
    "methods": ["dualprune methods --show ccs"],
    "doctor": ["dualprune doctor run"],
}


def epilog(command: str) -> str:
    """Give the examples of a command, each on a line of its own."""
    return as_lines(EXAMPLES[command])


def as_lines(examples: list[str]) -> str:
    """Give examples as text that --help shows one below the other."""
    return "\n\n".join(["Examples:" if len(examples) > 1 else "Example:", *examples])
