"""Worlds to learn from: family trees, graphs, and the decision tasks as environments."""
