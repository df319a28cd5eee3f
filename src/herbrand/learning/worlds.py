"""Several worlds to learn from: facts one by one, or a folder that holds a folder for each.

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
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from herbrand.errors import FactsError


def separate_facts(worlds: Any) -> list[Any]:
    """What is given as the facts of each world."""
    if not isinstance(worlds, str | os.PathLike):
        if not isinstance(worlds, Iterable):
            raise FactsError("worlds are a folder, or a list of facts")
        return list(worlds)
    folder = Path(worlds)
    if not folder.is_dir():
        raise FactsError(f"there is no folder '{folder}' of worlds")
    found = sorted(path for path in folder.iterdir() if path.is_dir() and path.name[0] not in "._")
    if not found:
        raise FactsError(
            f"the folder '{folder}' holds no world", hint="each world is a folder of its own, with its tables"
        )
    return list(found)
