"""A place on Spark with two executors, where Spark and Java are installed."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from herbrand.relations.spark import Spark

FOR_SMALL_TABLES = """
spark.sql.shuffle.partitions     8
spark.driver.extraJavaOptions    -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.executor.extraJavaOptions  -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
"""
"""A process that lives for minutes does not get back what its second compiler takes: two thirds of all."""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One session for all tests of a file: its executors take half a minute to start."""
    patch, left = pytest.MonkeyPatch(), list[Spark]()
    patch.setattr(Spark, "close", lambda database: left.append(database))
    folder = tmp_path_factory.mktemp("spark")
    (folder / "spark-defaults.conf").write_text(FOR_SMALL_TABLES)
    patch.setenv("SPARK_CONF_DIR", str(folder))
    yield
    patch.undo()
    for database in left[-1:]:
        database.close()


@pytest.fixture
def spark(tmp_path: Path, session: None) -> str:
    """``make test-scale`` installs what this needs."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed; make test-scale does it")
    if shutil.which("java") is None:
        pytest.skip("there is no Java; Spark needs 17 or newer")
    return f"local-cluster[2,1,1024]/{tmp_path / 'tables'}"
