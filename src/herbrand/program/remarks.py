"""Remarks on what may surprise a user of a theory and its facts without being an error: a few lines of text.

They are about observed predicates without facts, unused predicates, variables of heads that bodies lack,
constants that differ only in case, blanks or Unicode form, predicates and constants that only ``given``
evidence names, and queries of closed predicates.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from functools import partial

import numpy as np

from herbrand.errors import few_of, nearest
from herbrand.extras import pc
from herbrand.facts.column import SMALL
from herbrand.facts.domain import Domain
from herbrand.facts.facts import Facts
from herbrand.language.formulas import Value
from herbrand.language.names import is_made, shown_constant
from herbrand.language.scope import free_names, free_variables, written
from herbrand.language.show import statement_text
from herbrand.language.signature import Signature
from herbrand.language.syntax import BoundRows, FactRows, formulas_in
from herbrand.language.theory import Theory
from herbrand.program.dependencies import derived_by
from herbrand.program.program import Program
from herbrand.program.question import Question, named_predicates

MOST_COMPARED = 1_000_000
"""Most constants of a type that are compared with each other."""
MOST_NAMED = 4


def remarks(theory: Theory, signature: Signature, facts: Facts) -> Iterator[str]:
    """Yield remarks on a theory with its facts that do not depend on the query."""
    filled = {name for name, table in facts.tables.items() if table.fact_count}
    yield from bare_remarks(theory, signature, [name for name in signature.predicates if name not in filled])
    yield from free_heads(theory)
    yield from _misspelt(theory, signature, facts, filled)
    for domain in facts.domains.values():
        yield from _alike(domain)


def _misspelt(theory: Theory, signature: Signature, facts: Facts, filled: Set[str]) -> Iterator[str]:
    """Yield remarks on unused facts whose predicate has a similar name to one that is used but has no
    facts."""
    bare = facts.tables.keys() - filled - theory.derived.keys()
    if not (bare and filled):
        return
    used = _used(theory)
    bare &= used
    for name in [name for name in facts.tables if name in filled - used]:
        arity = len(signature.predicates[name].types)
        alike = (other for other in bare if len(signature.predicates[other].types) == arity)
        if near := nearest(name, alike):
            yield f"{name} has facts, but no statement uses it; {near}"


def bare_remarks(theory: Theory, signature: Signature, bare: Sequence[str]) -> Iterator[str]:
    """Yield remarks on predicates without facts."""
    known = signature.predicates
    bare = [name for name in bare if known[name].role == "observed" or known[name].declared]
    if not bare:
        return
    used = _used(theory)
    derived = theory.derived.keys()
    empty = [name for name in bare if known[name].role == "observed" and name in used - derived]
    if empty:
        yield f"observed, but without facts, so that all their atoms are false: {few_of(empty)}"
    idle = [name for name in bare if known[name].declared and name not in used]
    if idle and not any(isinstance(s, BoundRows) for s in theory.statements):
        yield f"declared, but no statement uses them and no facts are given: {few_of(idle)}"


def free_heads(theory: Theory) -> Iterator[str]:
    """Yield a remark on the rules whose head has a variable that the body lacks: it may be misspelt."""
    found = [
        f"{written(name)} of {statement_text(rule)}"
        for rule in theory.rules
        if (names := free_variables(rule.head))
        for bound in [free_names(rule.body)]
        for name in names
        if name not in bound
    ]
    if found:
        yield (
            "a variable of a head that its body lacks stands for every constant of its type: "
            f"{few_of(found, '; ', MOST_NAMED)}"
        )


def may_be_new(given: Sequence[FactRows], facts: Facts, signature: Signature, stated: Signature) -> bool:
    """Whether some predicate or constant may occur only in the evidence: a cheap check."""
    return any(rows.predicate not in stated.predicates for rows in given) or any(
        _occurrences(name, value, facts, signature) <= count
        for (name, value), count in constants_of(given, signature).items()
    )


def _occurrences(type_name: str, value: Value, facts: Facts, signature: Signature) -> int:
    index = facts.domains[type_name].index_of(value)
    return sum(
        int(np.count_nonzero(rows[:, place] == index))
        for name, predicate in signature.predicates.items()
        for place, own in enumerate(predicate.column_types)
        if own == type_name
        for rows in (facts.tables[name].true, facts.tables[name].false, facts.tables[name].soft)
    )


def question_remarks(program: Program, question: Question, theory: Theory) -> Iterator[str]:
    """Yield remarks on a question about a theory, given with its lowered program."""
    if any(weight.learned for weight in program.weights):
        yield "weights that are to be learned count as 0"
    for name, domain in program.facts.domains.items():
        if not len(domain):
            yield f"type {name} has no constants; point at facts, or declare them: type {name} = {{...}}"
    certain = {rule.head.predicate for rule in theory.rules} - derived_by(program.uncertain)
    for pattern in question.atoms:
        if pattern.latent and pattern.predicate in certain:
            yield (
                f"rules derive {pattern.predicate}, so each of its atoms is known: those that hold are "
                "listed, and all others are false"
            )
    yield from _named_as_constants(program, question)
    yield from nothing_uncertain(question, theory, program.facts, partial(_latent_count, program))


def _latent_count(program: Program, name: str) -> int:
    """Number of latent atoms of a predicate, computed without listing them."""
    table, predicate = program.table(name), program.signature.predicates[name]
    if table.world == "closed":
        return 0
    settled = len(table.true) + (len(table.false) if predicate.value_type is None else 0)
    return math.prod(map(len, program.domains_of(predicate))) - settled


def _named_as_constants(program: Program, question: Question) -> Iterator[str]:
    """Yield remarks on variables with the name of a constant: most likely quotes are missing."""
    for pattern in question.atoms:
        types = program.signature.predicates[pattern.predicate].types
        for argument, kind in zip(pattern.arguments, types, strict=False):
            named = isinstance(argument, str) and len(argument) > 1
            if named and program.facts.domains[kind].index_of(argument) is not None:
                yield f'{argument} is a variable, and stands for every {kind}; the constant is "{argument}"'


def nothing_uncertain(
    question: Question, theory: Theory, facts: Facts, latent_count: Callable[[str], int]
) -> Iterator[str]:
    """Yield the reason why nothing in the question is uncertain, if so; predicates of rules have a separate
    remark. ``latent_count``: number of latent atoms of a predicate."""
    inhabited = all(map(len, facts.domains.values()))  # empty types have a separate remark
    if not question.everything:
        latent = dict.fromkeys(pattern.predicate for pattern in question.atoms if pattern.latent)
        yield from _closed_queries(latent, theory, facts)
        for name in latent if inhabited else ():
            if facts.tables[name].world == "open" and not latent_count(name):
                yield f"facts settle every atom of {name}: those that hold are listed"
    elif not facts.tables:
        yield "the theory names no predicate, so there is nothing to infer"
    elif all(table.world == "closed" for table in facts.tables.values()):
        named = [name for name in facts.tables if not is_made(name)]
        derived = [name for name in named if name in theory.derived]
        yield (
            f"every predicate is closed, so nothing is left to infer: {few_of(named)}; what has "
            "facts and is not declared is closed, and --open PRED makes what is not stated of it uncertain"
            + (f"; what rules derive ({few_of(derived)}) is asked by herbrand query" if derived else "")
        )
    elif inhabited and not any(map(latent_count, facts.tables)):
        yield "facts settle every atom, so nothing is left to infer; --query PRED lists those that hold"


def _closed_queries(names: Iterable[str], theory: Theory, facts: Facts) -> Iterator[str]:
    derived = theory.derived.keys()
    roles = {predicate.name: predicate.role for predicate in theory.predicates}
    for name in names:
        if facts.tables[name].world == "closed" and name not in derived:
            role = roles.get(name)
            why = f"it is declared {role}" if role else "what has facts and is not declared is closed"
            yield (
                f"{name} is closed ({why}): what its facts list is true, all else false; "
                f"--open {name} makes those that are not stated uncertain"
            )


def new_predicates(given: Sequence[FactRows], before: Collection[str]) -> Iterator[str]:
    """Yield remarks on predicates of evidence that are not in ``before``, those of the theory and the
    facts."""
    for name in dict.fromkeys(rows.predicate for rows in given):
        if name not in before:
            near = nearest(name, before)
            yield f"--given names a new predicate, {name}" + (f"; {near}" if near else "")


def new_constants(given: Sequence[FactRows], before: Facts, signature: Signature) -> Iterator[str]:
    """Yield remarks on constants of evidence that neither the theory nor the facts name."""
    for name, value in constants_of(given, signature):
        domain = before.domains.get(name)
        if domain is not None and domain.index_of(value) is None:
            yield new_constant(domain, value)


def constants_of(given: Sequence[FactRows], signature: Signature) -> Counter[tuple[str, Value]]:
    """Types and constants that evidence names, each with the number of times."""
    return Counter(
        (name, value)
        for rows in given
        for name, column in zip(signature.predicates[rows.predicate].column_types, rows.columns, strict=False)
        for value in column
    )


def new_constant(domain: Domain, value: Value) -> str:
    """The remark on a constant that only evidence names, with the nearest one unless its type is large."""
    few = len(domain) <= MOST_COMPARED // 10
    near = nearest(str(value), (str(one) for one in domain if one != value)) if few else ""
    return f"--given names a new constant of type {domain.name}, {shown_constant(value)}" + (
        f"; {near}" if near else ""
    )


def _used(theory: Theory) -> set[str]:
    """Predicates that statements name."""
    formulas = (formula for statement in theory.statements for formula in formulas_in(statement))
    return {name for table in theory.tables for name in table.scope} | named_predicates(formulas)


def _alike(domain: Domain) -> Iterator[str]:
    """Yield a remark on constants that differ only in case, blanks or Unicode form."""
    if domain.kind != "text" or not 1 < len(domain) <= MOST_COMPARED:
        return
    if len(domain) <= SMALL and _plainly_differ(domain):
        return
    folded = pc.utf8_lower(pc.utf8_normalize(pc.utf8_trim_whitespace(domain.values), form="NFKC"))
    folded = pc.replace_substring_regex(folded, r"\s+", " ")
    encoded = folded.dictionary_encode()
    if len(encoded.dictionary) == len(domain):
        return
    codes = encoded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    again = np.flatnonzero(codes[order][1:] == codes[order][:-1])
    pairs = [tuple(domain.value(int(order[at + step])) for step in (0, 1)) for at in again[:MOST_NAMED]]
    shown = ", ".join(f"{_escaped(one)} and {_escaped(other)}" for one, other in pairs)
    more = f" and {len(again) - MOST_NAMED:,} more" if len(again) > MOST_NAMED else ""
    yield f"constants of type {domain.name} that differ in case, blanks or Unicode form alone: {shown}{more}"


def _plainly_differ(domain: Domain) -> bool:
    """Whether constants are all ASCII and differ in more than case and blanks."""
    texts = domain.values.to_pylist()
    folded = {" ".join(text.split()).lower() for text in texts}
    return len(folded) == len(texts) and all(map(str.isascii, texts))


def _escaped(value: object) -> str:
    """The text as a theory writes it, with escaped characters if it is not ASCII, where two texts may look
    alike."""
    text = str(value)
    return shown_constant(text) if text.isascii() else f"{shown_constant(text)} ({ascii(text)[1:-1]})"
