"""Which inference: one file an engine, one loop for all of them."""
