"""Read several worlds to learn from: a list of facts, a folder with a folder for each, or an ``.ev`` file.

>>> import tempfile
>>> folder = Path(tempfile.mkdtemp())
>>> for name in ("b", "a"):
...     (folder / name).mkdir()
...     _ = (folder / name / "smokes.csv").write_text("anna")
>>> [path.name for path in separate_facts(folder)]
['a', 'b']
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from herbrand.errors import FactsError
from herbrand.facts.source import holds_tables, inner_folders
from herbrand.language.dialects import read_example
from herbrand.language.parse import read_source
from herbrand.language.theory import Theory

_BAR = re.compile(r"-{3,}")


def separate_facts(worlds: Any, *, examples: bool = False) -> list[Any]:
    """The facts of each world; a folder of tables only is one world. ``examples``: a file of ProbLog's
    examples is accepted too."""
    if not isinstance(worlds, str | os.PathLike):
        if not isinstance(worlds, Iterable) or isinstance(worlds, Mapping):
            raise FactsError(
                "worlds are a folder, or a list of facts", hint="put the facts of one world into a list too"
            )
        return list(worlds)
    if not os.fspath(worlds):
        raise FactsError("an empty name is no folder of worlds", hint="the folder itself is '.'")
    folder = Path(worlds)
    if folder.suffix == ".ev" and not examples:
        raise FactsError(
            f"the examples of '{folder}' teach probabilities (? ::), and this theory has none to be learned",
            hint="to learn weights, give a folder that holds a folder of facts for each world",
        )
    if folder.suffix == ".ev":
        return _interpretations(folder)
    if not folder.is_dir():
        raise FactsError(f"there is no folder '{folder}' of worlds")
    folders = inner_folders(folder)
    if not folders and not holds_tables(folder):
        raise FactsError(
            f"the folder '{folder}' holds no world", hint="each world is a folder of its own, with its tables"
        )
    return folders or [folder]


def _interpretations(path: Path) -> list[Theory]:
    """ProbLog's examples, separated by lines of dashes; empty parts are skipped."""
    parts: list[list[str]] = [[]]
    lines = read_source(path).text.split("\n")
    for number, line in enumerate(lines):
        if _BAR.fullmatch(line.strip()):
            parts.append([""] * (number + 1))  # so that errors have the line numbers of the file
        else:
            parts[-1].append(line)
    texts = ["\n".join(part) for part in parts]
    theories = [read_example(text, str(path)) for text in texts if text.strip()]
    if not theories:
        raise FactsError(f"the file '{path}' holds no example", hint="evidence(a). evidence(b, false).")
    return theories
