"""One file for every kind of place that facts come from."""
