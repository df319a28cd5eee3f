"""Text files as they are or compressed, opened alike.

>>> is_compressed(Path("friends.csv.bz2")), is_compressed(Path("friends.csv"))
(True, False)
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

OPENERS: Mapping[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""What opens a compressed file, by its ending."""
BROKEN = (OSError, EOFError, lzma.LZMAError)
"""What reading a file that is cut off or no archive may raise."""


def is_compressed(path: Path) -> bool:
    return path.suffix.lower() in OPENERS


def read_by_duckdb(path: Path) -> bool:
    """Whether DuckDB opens the file itself."""
    return path.suffix.lower() not in (".bz2", ".xz")


def open_text(path: Path, newline: str | None = None) -> TextIO:
    """UTF-8, with or without a byte order mark."""
    opened = OPENERS.get(path.suffix.lower(), open)
    return opened(path, "rt", encoding="utf-8-sig", newline=newline)
