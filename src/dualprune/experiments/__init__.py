"""What the paper measures and claims, to be run again."""
