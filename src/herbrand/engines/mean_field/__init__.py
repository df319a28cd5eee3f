"""Mean field: a product distribution over the latent atoms, improved by messages that are sums of products.

`products` (what to contract) → `score` (the expected log-weight and its derivatives, which are the messages)
→ `unknowns` (marginals of the atoms, as tables) → `engine` (schedules, stopping, the bound on log Z).
"""
