"""Learn the weights of statements from worlds with labels, and predictors from rules."""
