"""Belief propagation over facts in a database: factors and messages as tables, ground or between classes."""
