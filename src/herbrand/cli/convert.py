"""``herbrand convert``: any readable format to the language, and back where it can be said there."""

from __future__ import annotations

from pathlib import Path

import herbrand as hb
from herbrand.cli.options import Theories
from herbrand.cli.output import note, write_text, write_texts
from herbrand.cli.parameters import takes


@takes("convert")
def command(theory: Theories, to: str = "hb", output: str | None = None, dialect: str | None = None) -> None:
    """Any readable format to the language, and back where it can be said there.

    Files of facts (.db, .cfacts) are read as theories of facts.
    """
    said = hb.read(theory, dialect)
    text, facts = hb.written(said, to), hb.written_facts(said, to)
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
    write_texts({output: text, beside: listed})
    note(f"facts are in {beside}")
