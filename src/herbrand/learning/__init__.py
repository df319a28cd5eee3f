"""Weights of statements, learned from worlds in which the answers are known; predictors that rules teach."""
