"""Interval messages between the atoms of a credal network and the factors of its sentences."""
