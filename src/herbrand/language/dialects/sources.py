"""Text files as sources, whatever bytes they hold.

>>> read_source("no such file.mln")
Traceback (most recent call last):
herbrand.errors.LanguageError: there is no file 'no such file.mln'
"""

from __future__ import annotations

from pathlib import Path

from herbrand.errors import LanguageError, Source
from herbrand.language.parse import plain_source
from herbrand.regular_files import irregular, is_open_pipe


def read_source(path: str | Path) -> Source:
    """The file's text, with plain line ends. Raises LanguageError where it is missing or is no text."""
    return plain_source(_decoded(path, _bytes_of(Path(path))), str(path))


def _bytes_of(path: Path) -> bytes:
    kind = irregular(path)
    if kind is not None and not is_open_pipe(path):
        raise LanguageError(f"'{path}' is {kind}; expected a file")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise LanguageError(f"there is no file '{path}'") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise LanguageError(f"'{path}' cannot be read: {reason}") from None


def _decoded(path: str | Path, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise LanguageError(
            f"'{path}' is not UTF-8 text: byte 0x{data[error.start]:02x} on line {line}",
            hint="save the file as UTF-8",
        ) from None
