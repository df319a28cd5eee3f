"""Questions to a program: atoms, whole predicates, formulas, or the most probable world.

Texts are parsed here, once the signature and the constants are known, so that a misspelt name or an unknown
constant is an error that names the nearest known one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

import numpy as np

from herbrand.errors import LanguageError, Mistake, UnsupportedError
from herbrand.facts.domain import absence
from herbrand.facts.facts import Facts
from herbrand.language.arguments import in_body
from herbrand.language.check import check
from herbrand.language.comparisons import (
    assigned,
    atoms_in,
    body_computes,
    bound_variables,
    tests_of,
    variables_of,
)
from herbrand.language.formulas import (
    AGGREGATES,
    FUNCTIONS,
    And,
    AnyAtom,
    Atom,
    Constant,
    Formula,
    Not,
    Term,
    ValueIn,
    ValueIs,
    Variable,
    leaf_terms,
    replace_leaves,
    unvalued,
    walk,
)
from herbrand.language.parse import MOST_ASKED, parse_formula
from herbrand.language.show import show_formula
from herbrand.language.signature import Predicate, Signature
from herbrand.language.syntax import Calls, Hard, Value, WeightedFormula
from herbrand.language.theory import Theory
from herbrand.program.program import Argument
from herbrand.quick_values import quickly_made


@quickly_made
@dataclass(frozen=True, slots=True)
class AtomPattern:
    """Atoms of one predicate; ``arguments`` are indices of constants, or variables. ``latent``: only latent
    atoms; ``possible``: only atoms that may hold."""

    predicate: str
    arguments: tuple[Argument, ...]
    latent: bool = False
    possible: bool = False

    @classmethod
    def whole(cls, predicate: Predicate, latent: bool = False) -> AtomPattern:
        """The pattern of all atoms of a predicate."""
        return cls(predicate.name, tuple(f"x{i}" for i in range(predicate.arity)), latent)

    @property
    def is_ground(self) -> bool:
        """Whether the pattern matches exactly one atom."""
        return not self.latent and all(isinstance(argument, int) for argument in self.arguments)

    def fits(self, rows: np.ndarray) -> np.ndarray:
        """Whether each atom, [n, arguments], matches."""
        fitting, first = np.ones(len(rows), bool), dict[str, int]()
        for place, argument in enumerate(() if self.latent else self.arguments):
            equal = argument if isinstance(argument, int) else rows[:, first.setdefault(argument, place)]
            fitting &= rows[:, place] == equal
        return fitting


@dataclass(frozen=True)
class Question:
    """A question; without atoms and formulas it asks for every latent atom. ``value``: the value of an atom
    to explain (1: true)."""

    atoms: tuple[AtomPattern, ...] = ()
    formulas: tuple[Formula, ...] = ()
    most_probable: bool = False
    value: int = 1
    summed_out: bool = False
    """With ``most_probable``: sum out all that is not asked for (marginal MAP), rather than maximising over
    it."""
    explained: bool = False
    """Whether it asks why its one atom is as probable as it is."""

    @property
    def everything(self) -> bool:
        return not self.atoms and not self.formulas

    def lists(self, predicate: str) -> bool:
        """Whether the question asks for atoms of a predicate that it does not name one by one."""
        own = (pattern for pattern in self.atoms if pattern.predicate == predicate)
        return self.everything or not all(pattern.is_ground for pattern in own)


def refuse_formulas(question: Question, engine: str, instead: str) -> None:
    """Raise UnsupportedError if an engine that only gives probabilities of atoms is asked for a formula."""
    for formula in question.formulas[:1]:
        hint = instead
        if isinstance(formula, ValueIs | ValueIn):
            hint = f"ask for all values: --query '{show_formula(formula.atom)}'; or {instead}"
        message = f"{engine} gives the probabilities of atoms, not of formulas"
        raise UnsupportedError(message, span=formula.span, hint=hint)


def _parsed(query: str | Formula, signature: Signature) -> Formula:
    """The query parsed to a formula, if it is not one already."""
    if not isinstance(query, str):
        return query
    return with_own_names(parse_formula(query, "<query>", signature.valued_names), signature)


def with_own_names(formula: Formula, signature: Signature) -> Formula:
    """Replace overloaded predicate names in a question's formula by those that the arities select."""

    def named(leaf: Formula) -> Formula:
        if not isinstance(leaf, Atom):
            return leaf
        own = signature.of_arity(leaf.predicate, len(leaf.arguments))
        return leaf if own == leaf.predicate else replace(leaf, predicate=own)

    return replace_leaves(formula, named) if signature.spelled else formula


@dataclass(frozen=True)
class ComputingGoal:
    """A goal that computes: its literals, and the variables that occur only in its equations."""

    literals: tuple[Formula, ...]
    made: frozenset[str]


_MAY_COMPUTE = re.compile(rf"[-+*/%<>=]|\b(?:{'|'.join((*FUNCTIONS, *AGGREGATES))})\s*\(")
"""Matches texts that may compute values: parsing a goal takes as long as answering a small one."""


@lru_cache(MOST_ASKED)
def computing_goal(text: str, valued: frozenset[str]) -> ComputingGoal | None:
    """The goal of a text in which values are computed; ``None`` if none are."""
    if not _MAY_COMPUTE.search(text):
        return None
    read = parse_formula(text, "<query>", valued, computes=True)
    stated = read.operands if isinstance(read, And) else (read,)
    stated = _absences_of_values(stated) if body_computes(in_body(stated)) else stated
    literals = in_body(stated)
    if not body_computes(literals):
        return None
    computed = variables_of(literals[len(stated) :]).keys() - variables_of(stated).keys()
    return ComputingGoal(literals, frozenset(computed))


def _absences_of_values(stated: Sequence[Formula]) -> tuple[Formula, ...]:
    """Replace computed variables of negated atoms by their expressions, as in ``y = x + 1 and not s(x + 1)``:
    a negated atom must not decide the type of the answer, which may be a value for which ``s`` is never
    true."""
    joined, tests = tests_of(in_body(stated))
    bound = bound_variables(joined)
    given = (pair for test in tests if (pair := assigned(test, bound)) is not None)
    computed = {name: value for name, value in given if not isinstance(value, Term)}

    def apart(literal: Formula) -> Formula:
        if not isinstance(literal, Not) or not isinstance(literal.operand, Atom):
            return literal
        arguments = (
            computed.get(one.name, one) if isinstance(one, Variable) else one
            for one in literal.operand.arguments
        )
        return replace(literal, operand=replace(literal.operand, arguments=tuple(arguments)))  # type: ignore[arg-type]

    return tuple(map(apart, stated))


def queried_predicates(queries: Iterable[str | Formula], signature: Signature) -> frozenset[str]:
    """Predicates that queries name directly, alone or as one atom; these are open unless declared."""
    parsed = (_parsed(query, signature) for query in queries)
    return frozenset(formula.predicate for formula in parsed if isinstance(formula, Atom))


def named_predicates(formulas: Iterable[Formula]) -> frozenset[str]:
    """All predicates that formulas name, inside aggregates too."""
    return frozenset(atom.predicate for atom in named_atoms(formulas))


def named_atoms(formulas: Iterable[Formula]) -> Iterator[Atom]:
    """Iterate over all atoms of formulas, inside aggregates too."""
    return chain.from_iterable(map(atoms_in, formulas))


def read_question(
    queries: Sequence[str | Formula],
    signature: Signature,
    facts: Facts,
    most_probable: bool = False,
    possible: bool = False,
) -> Question:
    """The question of some queries; raise one LanguageError with every mistake. ``possible``: of patterns
    with variables only atoms that may hold."""
    atoms: list[AtomPattern] = []
    formulas: list[Formula] = []
    for query in queries:
        formula = _parsed(query, signature)
        if isinstance(formula, Atom):
            atom = _pattern(formula, signature, facts)
            atoms.append(replace(atom, possible=True) if possible and not atom.is_ground else atom)
        else:
            check_formula(formula, signature, facts)
            formulas.append(formula)
        refuse_uncalled(formula, signature, facts)
    return Question(tuple(atoms), tuple(formulas), most_probable)


def refuse_uncalled(asked: Formula, signature: Signature, facts: Facts) -> None:
    """Raise LanguageError if a formula is about an atom that the rules of its file derive only where queries
    of the file call it, and none does. An atom with variables that is not part of a formula asks for those
    that are called."""
    for atom in named_atoms([asked]) if signature.calls else ():
        calls, predicate = signature.calls.get(atom.predicate), signature.predicates.get(atom.predicate)
        if calls is None or predicate is None or len(atom.arguments) != predicate.arity:
            continue
        terms = [atom.arguments[place] for place in calls.places]
        row = tuple(term.value for term in terms if isinstance(term, Constant))
        is_ground = len(row) == len(terms)
        if not (_is_called(row, calls, signature, facts) if is_ground else atom is asked):
            raise LanguageError(
                f"its file derives {show_formula(atom)} only where a query calls it, and none does",
                span=atom.span,
                hint=f"ask for it in the file: query({show_formula(atom)}).",
            )


def _is_called(row: tuple[Value, ...], calls: Calls, signature: Signature, facts: Facts) -> bool:
    """Whether the arguments are those of a call; constants that no type has are left to others to refuse."""
    if row in calls.asked:
        return True
    listed = facts.tables.get(calls.lists)
    if listed is None:
        return False
    indices = facts.indices(signature.predicates[calls.lists].types, row)
    return None in indices or bool((listed.true == indices).all(axis=1).any())


def read_explained(text: str, signature: Signature, facts: Facts) -> Question:
    """The question for one ground atom, or one value of a many-valued atom, that is to be explained."""
    question = read_question([text], signature, facts)
    match question.formulas:
        case (ValueIs(atom=atom, value=Constant(value=value)),):
            value_type = signature.predicates[atom.predicate].value_type
            assert value_type is not None
            index = facts.domains[value_type].index_of(value)
            assert index is not None
            question = Question((_pattern(atom, signature, facts),), value=index)
        case ():
            (atom,) = question.atoms
            if atom.is_ground and signature.predicates[atom.predicate].value_type is not None:
                raise LanguageError(f"name the value to explain, as in {text} = ...")
        case _:
            raise _not_one_atom(text)
    if question.atoms[0].latent or any(isinstance(a, str) for a in question.atoms[0].arguments):
        raise _not_one_atom(text)
    return replace(question, explained=True)


def _not_one_atom(text: str) -> LanguageError:
    return LanguageError(
        f"an explanation is of one ground atom, and this is not one: {text}",
        hint='name one atom, with constants for its variables, as in smokes("anna")',
    )


def check_formula(formula: Formula, signature: Signature, facts: Facts) -> None:
    """Raise LanguageError unless a formula fits the signature and names known constants only."""
    for atom in named_atoms([formula]) if not signature.predicates else ():
        signature.predicate(atom.predicate, atom.span)  # without declarations any name would pass
    own = signature.about(sorted(named_predicates([formula])))
    check(Theory((*own.declarations(), WeightedFormula(Hard(), formula))))
    mistakes: list[Mistake] = []
    for part in walk(formula):
        if isinstance(part, AnyAtom):
            types = signature.predicates[unvalued(part).predicate].column_types
            mistakes += _unknown(leaf_terms(part), types, facts)
    if mistakes:
        raise LanguageError(mistakes)


def _pattern(atom: Atom, signature: Signature, facts: Facts) -> AtomPattern:
    predicate = signature.predicate(atom.predicate, atom.span)
    if not atom.arguments and predicate.types:
        return AtomPattern.whole(predicate, latent=True)
    if not _plainly_fits(atom, predicate, facts):
        whole = atom if predicate.value_type is None else ValueIs(atom, Variable("_"))
        check_formula(whole, signature, facts)
    arguments: list[Argument] = []
    for position, (term, type_name) in enumerate(zip(atom.arguments, predicate.types, strict=True)):
        if isinstance(term, Constant):
            index = facts.domains[type_name].index_of(term.value)
            assert index is not None
            arguments.append(index)
        else:
            arguments.append(f"_{position}" if term.anonymous else term.name)
    return AtomPattern(predicate.name, tuple(arguments))


def _plainly_fits(atom: Atom, predicate: Predicate, facts: Facts) -> bool:
    """Whether an atom is correct at first sight, with known constants and distinct variables, so that the
    slower check of a whole theory can be skipped."""
    if len(atom.arguments) != len(predicate.types):
        return False
    variables: set[str] = set()
    for term, type_name in zip(atom.arguments, predicate.types, strict=True):
        match term:
            case Constant(value=value):
                if facts.domains[type_name].index_of(value) is None:
                    return False
            case Variable(name=name) if name not in variables:
                variables.add(name)
            case _:
                return False
    return True


def _unknown(terms: Sequence[Term], types: Sequence[str], facts: Facts) -> list[Mistake]:
    """A mistake for each constant that does not belong to its type."""
    mistakes = []
    for term, type_name in zip(terms, types, strict=False):  # the values of an ``in`` are no terms
        domain = facts.domains[type_name]
        if isinstance(term, Constant) and domain.index_of(term.value) is None:
            mistakes.append(absence(term.value, domain, term.span))
    return mistakes
