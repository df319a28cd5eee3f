"""The vocabulary of a theory: its types and predicates, declared or inferred.

Made by :func:`herbrand.language.check.check`; read by all code that looks up what a name means.

>>> person = Type("person")
>>> smokes = Predicate("smokes", ("person",))
>>> Signature({"person": person}, {"smokes": smokes}).predicate("smokes").arity
1
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from herbrand.errors import LanguageError, Span, nearest
from herbrand.language.formulas import Aggregate, Constant, Value
from herbrand.language.names import fits, is_made, shown_name
from herbrand.language.syntax import (
    Calendar,
    Calls,
    PredicateDeclaration,
    Role,
    TypeDeclaration,
)
from herbrand.quick_values import quickly_made

Kind = Literal["text", "number"]


@quickly_made
@dataclass(frozen=True, slots=True)
class Type:
    """A sort of constants. ``values`` lists a closed domain in order; an open one holds the constants seen.

    ``kind``: whether its constants are text or numbers; ``None`` while unknown (no declaration, no constant).
    """

    name: str
    values: Sequence[Value] | None = None
    kind: Kind | None = None
    declared: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)
    calendar: Calendar | None = None

    def __post_init__(self) -> None:
        """Turn a tuple of consecutive whole numbers into a range, however they are written."""
        if isinstance(self.values, tuple) and self.values:
            first, last = self.values[0], self.values[-1]
            if not isinstance(first, str) and not isinstance(last, str):
                in_a_row = last - first == len(self.values) - 1 and fits(first) and fits(last)
                if in_a_row and self.values == tuple(every := range(int(first), int(last) + 1)):
                    object.__setattr__(self, "values", every)


@quickly_made
@dataclass(frozen=True, slots=True)
class Predicate:
    """A relation name with the types of its arguments; ``value_type`` is set where it is many-valued.

    ``tells_world``: whether its declaration decides between open and observed; in some dialects it does not.
    ``query``: SQL whose rows are its facts. ``function``: its last argument is the value of a function of the
    others, so that one listed value excludes all others, and where none is listed there still is one.
    ``computed``: it was made for what a statement computes, and no text can name it. ``aggregated``: for such
    a predicate, pairs of a predicate and an aggregate over it.
    """

    name: str
    types: tuple[str, ...] = ()
    value_type: str | None = None
    role: Role | None = None
    declared: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)
    tells_world: bool = field(default=True, compare=False, repr=False)
    query: str | None = None
    function: bool = field(default=False, compare=False, repr=False)
    computed: bool = False
    aggregated: tuple[tuple[str, Aggregate], ...] = field(default=(), compare=False, repr=False)

    @property
    def undecided(self) -> bool:
        """Whether the facts decide between open and closed world, not its declaration; soft evidence then
        makes it open."""
        return self.declared and not self.tells_world

    @property
    def arity(self) -> int:
        return len(self.types)

    @property
    def column_types(self) -> tuple[str, ...]:
        """The types of a fact table's columns: the arguments, then the value if there is one."""
        return self.types if self.value_type is None else (*self.types, self.value_type)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.types)})" if self.types else self.name


@dataclass(frozen=True)
class Signature:
    """All types and predicates of a theory.

    ``strict``: some predicate is declared, so all must be. ``mentioned``: constants that formulas and rules
    name, by type; they belong to an open type whether or not a fact has them. ``spelled``: name in messages
    of each predicate that has another one there. ``made``: predicates that a reader made; answers list them
    only when they are asked for. ``calls``: as in :class:`~herbrand.language.theory.Theory`.
    """

    types: Mapping[str, Type]
    predicates: Mapping[str, Predicate]
    strict: bool = False
    mentioned: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    spelled: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    made: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    calls: Mapping[str, Calls] = field(default_factory=dict, compare=False, repr=False)

    def of_arity(self, name: str, arity: int) -> str:
        """The predicate that a query with ``arity`` arguments means by ``name``: a file may have several
        predicates of one name that differ in arity."""
        known = self.predicates.get(name)
        if known is None or known.arity == arity:
            return name
        spelled = (own for own, shown in self.spelled.items() if shown == name and own not in self.made)
        return next((own for own in spelled if self.predicates[own].arity == arity), name)

    def shown(self, predicate: str) -> str:
        """Name of a predicate as its file spells it."""
        return shown_name(self.spelled.get(predicate, predicate))

    def predicate(self, name: str, span: Span | None = None) -> Predicate:
        if name not in self.predicates:
            raise LanguageError(
                f"there is no predicate '{name}'", span=span, hint=nearest(name, self.predicates)
            )
        return self.predicates[name]

    def with_predicate(self, predicate: Predicate, types: Mapping[str, Type]) -> Signature:
        """The signature with one more predicate, such as one that occurs only in fact tables."""
        predicates = {**self.predicates, predicate.name: predicate}
        return replace(self, types={**self.types, **types}, predicates=predicates)

    def declarations(self) -> tuple[TypeDeclaration | PredicateDeclaration, ...]:
        """The signature as declarations, whether it was declared or inferred; types of computed values alone
        are left out, as no text can name them.

        >>> thing = Type("thing")
        >>> Signature({"thing": thing}, {"p": Predicate("p", ("thing",))}).declarations()[1].types
        ('thing',)
        """
        inline = {p.value_type for p in self.predicates.values() if _inline(p)}
        named = (known for known in self.types.values() if not is_made(known.name))
        types = (_type(known) for known in named if known.name not in inline)
        return (*types, *(_predicate(self, p) for p in self.named.values()))

    def about(self, names: Collection[str]) -> Signature:
        """The signature restricted to these predicates; the whole one if some are unknown, so that messages
        can suggest similar names."""
        if not self.predicates.keys() >= set(names):
            return self
        predicates = {name: self.predicates[name] for name in names}
        types = {name: self.types[name] for known in predicates.values() for name in known.column_types}
        return replace(self, types=types, predicates=predicates)

    @cached_property
    def named(self) -> dict[str, Predicate]:
        """Predicates that a text can name: all except those made for computed values."""
        return {name: known for name, known in self.predicates.items() if not known.computed}

    @cached_property
    def listed(self) -> dict[str, Predicate]:
        """Predicates that an answer lists when a query names none."""
        return {name: known for name, known in self.named.items() if name not in self.made}

    @cached_property
    def observed(self) -> frozenset[str]:
        """Predicates in a closed world: atoms that no table lists are false."""
        return frozenset(name for name, known in self.predicates.items() if known.role == "observed")

    @cached_property
    def valued_names(self) -> frozenset[str]:
        """Many-valued predicates without arguments, whose names look like variables before ``=``."""
        return frozenset(p.name for p in self.predicates.values() if p.value_type and not p.types)


def _inline(predicate: Predicate) -> bool:
    """Whether the values are listed in the predicate's own declaration and not in that of a type."""
    return predicate.value_type == f"{predicate.name} value"


def _type(known: Type) -> TypeDeclaration:
    if known.values is None:
        return TypeDeclaration(known.name, numeric=known.kind == "number", calendar=known.calendar)
    if isinstance(known.values, range):
        return TypeDeclaration(known.name, bounds=(known.values[0], known.values[-1]))
    return TypeDeclaration(known.name, tuple(map(Constant, known.values)))


def _predicate(signature: Signature, known: Predicate) -> PredicateDeclaration:
    values: tuple[Constant, ...] | str | None = known.value_type
    if known.value_type is not None and _inline(known):
        values = tuple(map(Constant, signature.types[known.value_type].values or ()))
    return PredicateDeclaration(known.name, known.types, values, known.role, known.query)


@dataclass
class Vocabulary:
    """The names known so far. ``strict``: some predicate is declared, so all must be."""

    types: dict[str, Type] = field(default_factory=dict)
    predicates: dict[str, Predicate] = field(default_factory=dict)
    strict: bool = False


def kind_of(value: Value) -> Kind:
    return "text" if isinstance(value, str) else "number"
