"""A project of the studio: a folder of plain files, and the facts that the command line names.

Files are saved whole or not at all, and none outside the folder is read or written.

>>> import tempfile
>>> project = Project(Path(tempfile.mkdtemp()))
>>> project.save("rain.hb", "0.5: rain")
>>> [file["name"] for file in project.files()]
['rain.hb']
>>> project.save("../rain.hb", "")
Traceback (most recent call last):
herbrand.serving.refusals.RefusedError: '../rain.hb' is no name of a file in the project
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from herbrand.errors import HerbrandError
from herbrand.facts.source import COMPRESSIBLE, TABLE_READERS
from herbrand.files import ScratchFolder, irregular, written_whole
from herbrand.language.dialects import fact_endings, theory_endings
from herbrand.language.dialects.alchemy.includes import includes
from herbrand.serving.refusals import BAD_REQUEST, CONFLICT, NOT_FOUND, RefusedError

LEFT_OUT = ("node_modules", "venv", "__pycache__")
DEEPEST, MOST_SEEN, MOST_OTHERS = 3, 20_000, 500
"""Limits of a listing: depth of folders, files that are visited, and files listed that are neither theory nor
facts."""
MOST_TEXT, MOST_TEXTS = 2**20, 64 * 2**20
"""Most bytes of a file whose text the browser gets, and of all texts; other files are shown by rows."""


@dataclass(frozen=True)
class Project:
    """A project in a ``folder``. ``main``: the theory that is opened first; ``given``: facts that the command
    line named."""

    folder: Path
    main: str | None = None
    given: tuple[str, ...] = ()

    @classmethod
    def of(cls, theory: str | None, facts: Sequence[str]) -> Project:
        """Build the project around a theory file, or of a folder, by default the working directory."""
        place = Path(theory or ".").resolve()
        given = tuple(_absolute(path) for path in facts)
        if place.is_dir():
            return cls(place, _first_theory(place), given)
        if not place.is_file():
            hint = f"herbrand init {place.stem} makes a small project to begin with"
            raise HerbrandError(f"there is no file '{theory}'", hint=hint)
        return cls(place.parent, place.name, given)

    def files(self) -> list[dict[str, Any]]:
        """Name, kind and text of each file; the text of a large or binary one is ``None``."""
        return self.listed()[0]

    def listed(self) -> tuple[list[dict[str, Any]], str | None]:
        """The files, and a message if some are left out, else ``None``."""
        (names, unseen), left = self._names(), MOST_TEXTS
        files = []
        for name in names:
            text = _text(self.folder / name, min(MOST_TEXT, left))
            left -= len(text or "")
            files.append({"name": name, "text": text, "kind": kind_of(name)})
        return files, unseen

    def tables(self) -> list[str]:
        """Names of all fact tables."""
        return [name for name in self._names()[0] if kind_of(name) == "facts"]

    def _names(self) -> tuple[list[str], str | None]:
        """Sorted names of all theories and tables, and of at most ``MOST_OTHERS`` other files; and a message
        if the folder has more than ``MOST_SEEN`` files, else ``None``."""
        seen = list(islice(_walk(self.folder, "", DEEPEST), MOST_SEEN + 1))
        unseen = None
        if len(seen) > MOST_SEEN:
            seen.pop()
            rest = "and the others are left out: open one below it"
            unseen = f"the folder has more than {MOST_SEEN:,} files, {rest}"
        others = [name for name in seen if kind_of(name) == "other"]
        return sorted(set(seen).difference(others[MOST_OTHERS:])), unseen

    def path(self, name: str) -> Path:
        """Path of a file of the project; raise RefusedError for names that lead elsewhere."""
        parts = PurePosixPath(name).parts
        plain = bool(parts) and name == "/".join(parts) and "\\" not in name and name.isprintable()
        if not plain or any(part.startswith(".") for part in parts) or PurePosixPath(name).is_absolute():
            raise RefusedError(BAD_REQUEST, f"'{name}' is no name of a file in the project")
        path = self.folder / name
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.folder)):
            raise RefusedError(BAD_REQUEST, f"'{name}' leads out of the project's folder")
        kind = irregular(path)
        if kind not in (None, "a folder"):  # whoever opens a pipe waits for its other end
            raise RefusedError(BAD_REQUEST, f"'{name}' is {kind}, and no file of the project")
        return path

    def save(self, name: str, content: str | bytes) -> None:
        """Write a file whole; raise RefusedError if it is too deep to be listed."""
        path = self.path(name)
        if name.count("/") > DEEPEST:
            raise RefusedError(BAD_REQUEST, f"'{name}' is more than {DEEPEST} folders deep")
        with written_whole(path, folders=True) as file:
            file.write(_bytes(content))

    def refuse_changed(self, name: str, before: str | None) -> None:
        """Raise RefusedError unless a file has the text ``before``, or does not exist if that is ``None``."""
        path = self.path(name)
        try:
            now = path.read_bytes().decode("utf-8", "replace")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            now = None
        except OSError as error:
            raise RefusedError(BAD_REQUEST, f"'{name}' cannot be read: {error.strerror}") from None
        if now != before:
            raise RefusedError(
                CONFLICT,
                f"'{name}' in the folder is not as it was opened here",
                "do it again to go on all the same, or open this page anew to see the file",
            )

    def delete(self, name: str) -> None:
        """Delete a file."""
        path = self.path(name)
        try:
            path.unlink()
        except OSError as error:
            raise RefusedError(NOT_FOUND, f"'{name}' cannot be deleted: {error.strerror}") from None

    def facts_path(self, name: str) -> str:
        """Path of a table, for a child that works in a copy of the project."""
        return name if name in self.given else str(self.path(name).relative_to(self.folder))

    def laid_out(self, theory: Sequence[str], edited: Mapping[str, str]) -> ScratchFolder:
        """Make a temporary folder with the files as the editor has them, copies of those that the theory
        includes, which may not lead out of its folder, and links to all others."""
        for name in edited:
            self.path(name)
        files: dict[str, str | bytes] = {**self._included(theory, edited), **edited}
        scratch = ScratchFolder()
        inside = os.path.join(scratch.name, "project")
        _lay_out(self.folder, Path(inside), "", files)
        for name, text in files.items():
            place = Path(inside, name)
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(_bytes(text))
            except OSError as error:  # such as a name below a file, or one that is too long
                raise RefusedError(BAD_REQUEST, f"'{name}' cannot be a file: {error.strerror}") from None
        return scratch

    def _included(self, theory: Sequence[str], edited: Mapping[str, str]) -> dict[str, bytes]:
        """Contents of the project's files that theories include, directly or through others."""
        contents: dict[str, bytes] = {}
        waiting = list(theory)
        while waiting:
            name = waiting.pop()
            if name in contents:
                continue
            with suppress(RefusedError, OSError):  # the check of the theory reports a wrong name
                contents[name] = _bytes(edited[name]) if name in edited else self.path(name).read_bytes()
                text = contents[name].decode("utf-8", "replace")
                waiting += [str(PurePosixPath(name).parent / written) for written in includes(text)]
        return {name: contents[name] for name in contents if name not in theory}


def _bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8", "replace") if isinstance(content, str) else content


def kind_of(name: str) -> str:
    """Kind of a file by its ending: ``theory``, ``facts`` or ``other``.

    >>> kind_of("smokers.hb"), kind_of("friends.csv.gz"), kind_of("README.md")
    ('theory', 'facts', 'other')
    """
    path = PurePosixPath(name.lower())
    if path.suffix in theory_endings():
        return "theory"
    compressed = path.with_suffix("").suffix in COMPRESSIBLE
    return "facts" if path.suffix in (*TABLE_READERS, *fact_endings()) or compressed else "other"


def _absolute(path: str) -> str:
    """Make a path of ``--facts``, or of ``PREDICATE=PATH``, absolute: children work in another folder."""
    name, equals, rest = path.partition("=")
    if equals and not Path(path).exists():
        return f"{name}={Path(rest).resolve()}"
    return str(Path(path).resolve())


def _first_theory(folder: Path) -> str | None:
    names = sorted(path.name for path in folder.iterdir() if kind_of(path.name) == "theory")
    return min(names, key=lambda name: not name.endswith(".hb"), default=None)


def _walk(folder: Path, before: str, deep: int) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: (entry.is_dir(), entry.name))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or not entry.name.isprintable():
            continue
        if entry.is_dir(follow_symlinks=False):
            if deep and entry.name not in LEFT_OUT:
                yield from _walk(Path(entry.path), f"{before}{entry.name}/", deep - 1)
        elif entry.is_file() and not (entry.is_symlink() and _leads_out(entry.path, before)):
            yield before + entry.name


def _leads_out(path: str, before: str) -> bool:
    """Whether a link leads out of the project; ``before``: the folders between the two."""
    folder = Path(os.path.abspath(path)).parents[before.count("/")]
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _text(path: Path, most: int) -> str | None:
    try:
        if path.stat().st_size > most:
            return None
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None


def _lay_out(source: Path, target: Path, before: str, files: Collection[str]) -> None:
    target.mkdir()
    for entry in os.scandir(source):
        name = before + entry.name
        if entry.name.startswith(".") or name in files:
            continue
        if entry.is_dir() and any(other.startswith(f"{name}/") for other in files):
            _lay_out(Path(entry.path), target / entry.name, f"{name}/", files)
        else:
            os.symlink(os.path.abspath(entry.path), target / entry.name)
