"""A signature said as declarations: what ``check`` prints of a theory that declares nothing itself.

>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> from herbrand.language.show import show
>>> print(show(declared(check(parse_theory("hard: p(x) => q(x)")))), end="")
type thing
predicate p(thing)
predicate q(thing)
"""

from __future__ import annotations

from herbrand.language.signature import Predicate, Signature, Type
from herbrand.language.syntax import Constant, PredicateDeclaration, Theory, TypeDeclaration


def declared(signature: Signature) -> Theory:
    """Statements that declare every type and predicate."""
    inline = {p.value_type for p in signature.predicates.values() if _inline(p)}
    types = (_type(known) for known in signature.types.values() if known.name not in inline)
    return Theory((*types, *(_predicate(signature, p) for p in signature.predicates.values())))


def _inline(predicate: Predicate) -> bool:
    """Whether the values stand in the predicate's own declaration, not in a type's."""
    return predicate.value_type == f"{predicate.name} value"


def _type(known: Type) -> TypeDeclaration:
    if known.values is None:
        return TypeDeclaration(known.name, numeric=known.kind == "number")
    first, last = known.values[0], known.values[-1]
    if isinstance(first, int) and isinstance(last, int) and known.values == tuple(range(first, last + 1)):
        return TypeDeclaration(known.name, bounds=(first, last))
    return TypeDeclaration(known.name, tuple(map(Constant, known.values)))


def _predicate(signature: Signature, known: Predicate) -> PredicateDeclaration:
    values: tuple[Constant, ...] | str | None = known.value_type
    if known.value_type is not None and _inline(known):
        values = tuple(map(Constant, signature.types[known.value_type].values or ()))
    return PredicateDeclaration(known.name, known.types, values, known.role)
