"""Theories over facts in a database: the same plans as in memory, executed by the database."""
