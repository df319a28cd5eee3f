"""``herbrand init``: a small project to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from herbrand.cli.output import write_text, write_texts
from herbrand.cli.parameters import takes
from herbrand.errors import HerbrandError

THEORY = """\
# Who smokes, given who is friends with whom: weights are log-odds, see "herbrand explain".

predicate friends(person, person): observed  # whoever is not listed is no friend
predicate smokes(person)
predicate cancer(person)

1.4: smokes(x) => cancer(x)
1.1: smokes(x) and friends(x, y) => smokes(y)
-1.0: smokes(x)
-2.0: cancer(x)
"""
FRIENDS = """\
person,friend
anna,bob
bob,anna
bob,carl
carl,bob
"""
SMOKES = """\
person
anna
"""
README = """\
# A project of Herbrand

- `theory.hb` holds the rules.
- `facts/` holds the tables: a file a predicate, a column an argument, names of columns in the first line.
  Whoever is not listed in `friends` is no friend, since it is observed; whoever is not listed in `smokes` may
  smoke.

Try:

    herbrand check theory.hb --facts facts --header yes
    herbrand infer theory.hb --facts facts --header yes
    herbrand explain theory.hb 'cancer("carl")' --facts facts --header yes
    herbrand infer theory.hb --facts facts --header yes --given 'not smokes("bob")' -o answers.csv
"""
FILES = {
    "theory.hb": THEORY,
    "facts/friends.csv": FRIENDS,
    "facts/smokes.csv": SMOKES,
    "README.md": README,
}


@takes("init")
def command(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="A new or an empty folder.")],
) -> None:
    """A small project to begin with: a theory, tables, and commands to try."""
    place = Path(folder)
    if not folder:
        raise HerbrandError("an empty name is no new folder", hint="name one, such as project")
    try:
        if place.exists() and any(place.iterdir()):
            raise HerbrandError(f"'{folder}' is not empty", hint="name a new folder; no file is changed")
        (place / "facts").mkdir(parents=True)
    except OSError as error:
        raise HerbrandError(f"cannot make a project in '{folder}': {error.strerror}") from None
    write_texts({str(place / name): text for name, text in FILES.items()})
    write_text(f"made {', '.join(FILES)} in {folder}; {place / 'README.md'} has commands to try\n", None)
