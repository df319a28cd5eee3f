"""Loopy belief propagation over classes of atoms that messages cannot distinguish."""
