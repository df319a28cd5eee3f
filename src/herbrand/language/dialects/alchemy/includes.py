"""Paths of ``#include`` statements: files within the including file's folder, each once.

>>> Includes("smokers.mln", None).path_of("more.mln")
Traceback (most recent call last):
herbrand.errors.LanguageError: a text that is no file cannot include 'more.mln'
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath, PureWindowsPath

from herbrand.errors import LanguageError

_INCLUDE = re.compile(r'#include\s*"([^"\n]+)"')


def includes(text: str) -> list[str]:
    """Names of the files that a theory includes, as it writes them; for copying them, without parsing it.

    >>> includes('#include "types.mln"\\n1.5 Rain')
    ['types.mln']
    """
    return _INCLUDE.findall(text)


class Includes:
    """The files read so far, and the folder of the one being read."""

    def __init__(self, name: str, folder: Path | None) -> None:
        self.folder = folder
        self._read = {Path(os.path.realpath(name))} if folder is not None else set()

    def path_of(self, written: str) -> Path:
        """Path of the file that an include names; refuse files outside the folder or already read."""
        if self.folder is None:
            raise LanguageError(f"a text that is no file cannot include '{written}'")
        if _is_absolute(written) or ".." in PurePosixPath(written.replace("\\", "/")).parts:
            raise LanguageError(_outside(written))
        path = Path(os.path.realpath(self.folder / written))  # resolve() raises where links go in a circle
        if not path.is_relative_to(os.path.realpath(self.folder)):
            raise LanguageError(_outside(written))
        if path in self._read:
            raise LanguageError(f"'{written}' has already been read", hint="include each file once")
        self._read.add(path)
        return self.folder / written


def _is_absolute(written: str) -> bool:
    return PurePosixPath(written).is_absolute() or PureWindowsPath(written).is_absolute()


def _outside(written: str) -> str:
    return f"'{written}' lies outside the folder of the including file"
