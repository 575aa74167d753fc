"""How fast, as ratios to what the hardware or the obvious code takes, measured in one run."""
