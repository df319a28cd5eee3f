"""Theories over facts that stay where they are: the same plans, run by a database, in place of memory."""
