"""TensorLog's formats: Horn clauses in ``.ppr`` and ``.tlog`` files, weighted facts in ``.cfacts`` files."""
