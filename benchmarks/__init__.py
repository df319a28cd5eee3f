"""Benchmarks: ``python -m benchmarks``. Nothing here is part of the package or of the tests."""
