"""Several worlds of which one has a file without rows: another one knows its columns.

>>> import tempfile
>>> folder = Path(tempfile.mkdtemp())
>>> (folder / "red.csv").touch()
>>> (full := folder / "full").mkdir()
>>> _ = (full / "red.csv").write_text("anna")
>>> worlds = [(TextFile("red", folder / "red.csv"),), (TextFile("red", full / "red.csv"),)]
>>> [len(sources) for sources in without_empty_tables(worlds, ())]
[0, 1]
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from herbrand.facts.source import FactSource
from herbrand.facts.sources.text import TextFile


def without_empty_tables(
    worlds: Sequence[Sequence[FactSource]], declared: Collection[str]
) -> list[tuple[FactSource, ...]]:
    """The sources of each world, without files that hold nothing of what such files of other worlds have rows
    of: the columns of a predicate that is not ``declared`` are those of its rows there."""
    files = [source for sources in worlds for source in sources if isinstance(source, TextFile)]
    empty = {Path(source.path) for source in files if not Path(source.path).stat().st_size}
    full = {source.predicate for source in files if Path(source.path) not in empty} - set(declared)

    def needless(source: FactSource) -> bool:
        return isinstance(source, TextFile) and Path(source.path) in empty and source.predicate in full

    return [tuple(source for source in sources if not needless(source)) for sources in worlds]
