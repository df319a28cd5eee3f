"""Kinds of statements, and which of them a command or a layer can use.

>>> from herbrand.language.parse import parse_theory
>>> refuse_unusable(parse_theory("1.5: smokes(x)").statements, "infer", "weights")
>>> refuse_unusable(parse_theory("1.5: smokes(x)").statements, "query", "rules")
Traceback (most recent call last):
herbrand.errors.UnsupportedError: <text>:1:1: query cannot use this statement: 1.5: smokes(x)
  1.5: smokes(x)
  ^^^^^^^^^^^^^^
  leave such statements out by --ignore weights, or ask infer, which uses them
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from herbrand.errors import Mistake, UnsupportedError
from herbrand.language.formulas import And, Truth
from herbrand.language.show import statement_text
from herbrand.language.syntax import (
    Bound,
    BoundRows,
    Choice,
    Hard,
    NetworkTable,
    Rule,
    Statement,
    WeightedFormula,
)

KINDS: dict[str, tuple[type[Statement], ...]] = {
    "weights": (WeightedFormula, NetworkTable),
    "bounds": (Bound, BoundRows),
    "rules": (Rule,),
    "choices": (Choice,),
}
USED_BY, ANSWERING = {"weights": "infer", "bounds": "bound"}, ("infer", "bound", "query", "sample")
"""The command that answers by statements of a kind, named in the hint of another that can use none of
them."""
IGNORABLE = ("weights", "bounds", "rules")
"""Kinds that ``--ignore`` leaves out; without its choices a theory would mean something else."""


def refuse_unusable(
    statements: Iterable[Statement], command: str, *usable: str, for_choices: str = ""
) -> None:
    """Raise UnsupportedError for statements of kinds that a command cannot use. ``for_choices``: what to do
    where these are choices."""
    statements = list(statements)
    used = tuple(chain.from_iterable(KINDS[name] for name in usable))
    elsewhere = command in ANSWERING and not any(isinstance(statement, used) for statement in statements)
    weighted = any(isinstance(statement, WeightedFormula) for statement in statements)
    mistakes = [
        _unusable(command, name, own, elsewhere, weighted, for_choices)
        for name, kind in KINDS.items()
        if name not in usable and (own := [s for s in statements if isinstance(s, kind)])
    ]
    if mistakes:
        raise UnsupportedError(mistakes)


def refuse_no_model(call: str, given: object) -> None:
    """Raise UnsupportedError if ``given`` to a call is not a model.

    Modules below that of models call this too, so a model is recognised by a method, not by its class.
    """
    if not hasattr(type(given), "stated_with_open"):
        hint = "hb.Model(theory, facts) makes one"
        raise UnsupportedError(f"{call} takes a model, not {type(given).__name__}", hint=hint)


def _unusable(
    command: str,
    kind: str,
    statements: Sequence[Statement],
    elsewhere: bool,
    weighted: bool,
    for_choices: str,
) -> Mistake:
    """Name the first statement of a kind that the command cannot use; ``elsewhere``: another command can;
    ``weighted``: there are weighted or hard formulas, too."""
    first, more = statements[0], sum(map(_size, statements)) - 1
    others = f" (and {more:,} more of its kind)" if more else ""
    hint = f"leave such statements out by --ignore {kind}" if kind in IGNORABLE else ""
    if elsewhere and kind in USED_BY:
        hint += f", or ask {USED_BY[kind]}, which uses them"
    if command == "learn" and isinstance(first, Choice):
        hint = "write ? before its heads, or learn given probabilities too by --relearn"
        if any(isinstance(statement, Choice) and statement.learned for statement in statements):
            hint = "probabilities are learned by --method likelihood, which auto takes"
        elif weighted:
            hint = "weights of formulas are not learned beside choices: leave these or the formulas out"
    if for_choices and isinstance(first, Choice):
        hint = for_choices
    if command == "bound" and isinstance(first, Choice):
        hint = "infer takes choices; for bound, state the probabilities of the heads: P(head | body) = 0.3"
    if command == "bound" and isinstance(first, WeightedFormula) and isinstance(first.weight, Hard):
        where = (
            (first.where[0] if len(first.where) == 1 else And(first.where)) if first.where else Truth(True)
        )
        certain = Bound(first.formula, where, 1, 1)
        hint += f", or state as a bound what is certain: {statement_text(certain)}"
    return Mistake(
        f"{command} cannot use this statement{others}: {statement_text(first)}",
        first.row_span(0) if isinstance(first, BoundRows) else first.span,
        hint,
    )


def _size(statement: Statement) -> int:
    return len(statement) if isinstance(statement, BoundRows) else 1
