"""``herbrand convert``: any readable format to the language, and from it to formats that can express it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import herbrand as hb
from herbrand.cli.options import Theories, refuse_overwriting, written_by_ending
from herbrand.cli.output import note, write_text, write_texts
from herbrand.cli.parameters import takes
from herbrand.errors import few_of
from herbrand.extras import later

if TYPE_CHECKING:
    from herbrand.language.theory import Theory

MOST_NAMED = 10
"""Largest number of predicates, or of queries, that a note names."""
ASKING = ("pl",)
"""Formats whose files can hold queries."""
_shown = later("herbrand.language.show:show_formula")


@takes("convert")
def command(
    theory: Theories, to: str | None = None, output: str | None = None, dialect: str | None = None
) -> None:
    """Convert any readable format to the language, and from it to formats that can express it.

    Files of facts (.db, .cfacts) are read as theories of facts. The ending of -o names the format unless
    --to does.
    """
    format: str = to or (written_by_ending(output) if output else "hb")
    source = hb.read(theory, dialect)
    if format == "hb":
        _note_opened(source)
    text, facts = hb.written(source, format), hb.written_facts(source, format)
    if source.queries and format not in ASKING:
        asked = few_of([f"--query '{_shown(each.formula)}'" for each in source.queries], " ", MOST_NAMED)
        note(f"queries are left out, as a file of this format has none: infer {asked}")
    if facts is None:
        write_text(text, output)
        return
    ending, listed = facts
    if output is None:
        write_text(text, None)
        note(
            f"facts are left out: this format keeps them in {ending} files; with -o FILE they are written too"
        )
        return
    beside = str(Path(output).with_suffix(ending))
    refuse_overwriting([output, beside], theory, ())
    write_texts({output: text, beside: listed})
    note(f"facts are in {beside}")


def _note_opened(theory: Theory) -> None:
    """Name the predicates that facts close in the format read, since an .hb file declares them open."""
    derived = theory.derived
    opened = [one.name for one in theory.predicates if not one.tells_world and one.name not in derived]
    if opened:
        note(
            "a predicate with facts may be closed in the format read, and is open in .hb unless it is "
            f"': observed' there: {few_of(opened, most=MOST_NAMED)}"
        )
