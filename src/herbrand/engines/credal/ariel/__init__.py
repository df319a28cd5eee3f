"""Interval messages between the atoms of a credal network and the sentences that share them."""
