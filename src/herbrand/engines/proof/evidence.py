"""Evidence on what rules derive, where proofs are counted: it cannot take proofs back, so it is refused."""

from __future__ import annotations

from collections.abc import Sequence

from herbrand.engines.proof.horn_program import HornProgram
from herbrand.errors import UnsupportedError
from herbrand.language.show import show_atom
from herbrand.language.syntax import FactRows, Value

_HINT = "--algebra probability conditions on it"


def refuse_given(given: Sequence[FactRows], program: HornProgram, algebra: str) -> None:
    """Raise where a literal that is given is about what rules derive."""
    for rows in given:
        if program.is_derived(rows.predicate):
            raise UnsupportedError(
                f"rules derive {rows.predicate}, and --algebra {algebra} takes no evidence on what rules "
                "derive",
                span=rows.span,
                hint=_HINT,
            )


def denied_but_derived(predicate: str, values: tuple[Value, ...], algebra: str) -> UnsupportedError:
    """The refusal where a derived atom is stated to be false."""
    return UnsupportedError(
        f"{show_atom(predicate, values)} is stated to be false, and rules derive it: --algebra {algebra} "
        "takes no evidence on what rules derive",
        hint=_HINT,
    )
