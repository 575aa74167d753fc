"""theory: the paper's theorem on two points and a linear model, and its figures."""
