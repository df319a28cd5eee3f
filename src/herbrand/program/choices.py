"""Who cannot use choices: statements with ``::``.

>>> from herbrand.language.parse import parse_theory
>>> refuse_choices(parse_theory("1.5: smokes(x)").statements, "induce")
"""

from __future__ import annotations

from collections.abc import Iterable

from herbrand.errors import UnsupportedError
from herbrand.language.show import show_statement
from herbrand.language.syntax import Choice, Statement


def refuse_choices(statements: Iterable[Statement], what: str) -> None:
    """An ``UnsupportedError`` that names the first choice among the statements, if there is one."""
    for statement in statements:
        if isinstance(statement, Choice):
            message = f"{what} cannot use this statement: {next(show_statement(statement))}"
            raise UnsupportedError(message, span=statement.span)
