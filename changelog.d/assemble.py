"""Writes the notes of this folder into CHANGELOG.md, under the version that is not released yet.

    python changelog.d/assemble.py      (make changelog)

A note is a file of list items, named for what it is about. At a release its items stay in CHANGELOG.md,
under the version and its date, and the files are deleted.
"""

from __future__ import annotations

from pathlib import Path

NOTES = Path(__file__).parent
PAGE = NOTES.parent / "CHANGELOG.md"
BEGIN, END = "<!-- notes: written by `make changelog` from changelog.d -->", "<!-- end of notes -->"
FIRST = "foundation"


def assembled() -> str:
    """All notes, a heading for each file; the foundation first, the others by name."""
    files = sorted(NOTES.glob("*.md"), key=lambda path: (path.stem != FIRST, path.stem))
    return "\n".join(f"### {path.stem.replace('-', ' ')}\n\n{path.read_text().strip()}\n" for path in files)


def with_notes(page: str) -> str:
    """The page with the present notes in place of those it had."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{assembled()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_notes(PAGE.read_text()))
