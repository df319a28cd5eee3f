"""Answers of goals by rules over facts in a database."""
