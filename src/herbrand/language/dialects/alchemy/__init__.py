"""Alchemy's formats: theories in ``.mln`` files, ground facts in ``.db`` files."""
