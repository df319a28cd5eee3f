"""Text files as sources, whatever bytes they hold.

Takes a path; gives a :class:`~herbrand.errors.Source` with plain ``\\n`` line ends and no byte order mark, or a
plain error.

>>> unmarked("\\ufeffSmokes(Anna)\\r\\n")
'Smokes(Anna)\\n'
"""

from __future__ import annotations

from pathlib import Path

from herbrand.errors import LanguageError, Source, Span


def read_source(path: str | Path) -> Source:
    """The file's text. Raises LanguageError where there is no such file or it is no text."""
    return checked_source(str(path), _decoded(path, _bytes_of(Path(path))))


def checked_source(name: str, text: str) -> Source:
    """A source of this text; a NUL character in it is refused with its place."""
    source = Source(name, unmarked(text))
    nul = source.text.find("\0")
    if nul >= 0:
        raise LanguageError("a NUL byte stands here", span=Span(source, nul, nul + 1), hint="is this a text file?")
    return source


def unmarked(text: str) -> str:
    """The text without a byte order mark, its lines ended by ``\\n`` alone."""
    text = text.removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise LanguageError(f"there is no file '{path}'") from None
    except IsADirectoryError:
        raise LanguageError(f"'{path}' is a folder; expected a file") from None
    except OSError as error:
        raise LanguageError(f"'{path}' cannot be read: {error.strerror or error}") from None


def _decoded(path: str | Path, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise LanguageError(
            f"'{path}' is not UTF-8 text: byte 0x{data[error.start]:02x} on line {line}",
            hint="save the file as UTF-8",
        ) from None
