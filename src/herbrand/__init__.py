"""One engine for first-order logic under uncertainty."""
