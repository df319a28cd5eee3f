"""A place on Spark with two executors, where Spark and Java are installed."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest


@pytest.fixture
def spark(tmp_path: Path) -> str:
    """``make test-scale`` installs what this needs."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed; make test-scale does it")
    if shutil.which("java") is None:
        pytest.skip("there is no Java; Spark needs 17 or newer")
    return f"local-cluster[2,1,1024]/{tmp_path / 'tables'}"
