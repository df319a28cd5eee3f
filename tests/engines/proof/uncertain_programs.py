"""Random rules over few uncertain facts, with evidence and goals, small enough to walk through all worlds."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from hypothesis import strategies as st

import herbrand as hb
from herbrand.language import syntax as s
from herbrand.language.show import show_formula
from herbrand.language.theory import Theory
from tests.oracles.possible_worlds import Ground, Row, Worlds

NUMBERS, VALUES = (1, 2), ("red", "green", "blue")
RANGES: dict[str, tuple[s.Value, ...]] = {**dict.fromkeys("xyzo", NUMBERS), **dict.fromkeys("vw", VALUES)}
STATED, LOWER, UPPER = {"e": 2, "u": 1, "t": 3, "c": 0}, {"p": 2, "r": 1, "b": 0}, {"q": 1, "k": 3, "d": 0}
ARITY = STATED | LOWER | UPPER
SHARES = (
    {"red": 0.25, "green": 0.75},
    {"red": 0.5, "green": 0.25, "blue": 0.25},
    {"blue": 0.4},
    {"green": 1.0},
)
MOST_WORLDS = 140
RECURSIONS = (
    "p(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, y)",
    "p(x, y) :- e(x, y)\np(x, y) :- p(x, z), e(z, y)",
    "p(x, y) :- e(x, y), x != y\np(x, y) :- p(x, z), p(z, y)",
    "p(x, y) :- r(x), e(x, y)\nr(y) :- p(x, y)\nr(1) :- u(1)",
    "p(x, 2) :- e(1, x)\np(x, y) :- p(y, x), not e(x, x)",
)

numbers = st.sampled_from("xyz").map(s.Variable)
terms = st.one_of(numbers, numbers, numbers, st.sampled_from(NUMBERS).map(s.Constant))
colours = st.sampled_from(VALUES).map(s.Constant)


@st.composite
def atoms(draw: st.DrawFn, *predicates: str) -> s.Formula:
    name = draw(st.sampled_from(predicates))
    if name != "hue":
        return s.Atom(name, tuple(draw(terms) for _ in range(ARITY[name])))
    atom = s.Atom(name, (draw(terms),))
    some = st.lists(colours, min_size=1, max_size=2, unique=True).map(tuple)
    variables = st.sampled_from("vw").map(s.Variable)
    return draw(
        st.one_of(
            st.builds(s.ValueIs, st.just(atom), st.one_of(colours, variables)),
            st.builds(s.ValueIn, st.just(atom), some),
        )
    )


def names_of(*parts: s.Formula) -> list[str]:
    found = (term for part in parts for leaf in s.walk(part) for term in s.leaf_terms(leaf))
    return list(dict.fromkeys(term.name for term in found if isinstance(term, s.Variable)))


@st.composite
def bodies(
    draw: st.DrawFn, positive: tuple[str, ...], negative: tuple[str, ...], least: int = 0
) -> list[s.Formula]:
    """Atoms, tests of what they bind, and ``not``, whose own variables are called ``o``; in any order."""
    held = draw(st.lists(atoms(*positive), min_size=least, max_size=2))
    known = names_of(*held)
    body: list[s.Formula] = list(held)
    bound = [name for name in known if name in "xyz"]
    if bound and draw(st.integers(0, 3)) == 0:
        left = s.Variable(draw(st.sampled_from(bound)))
        right = draw(
            st.one_of(st.sampled_from(bound).map(s.Variable), st.sampled_from(NUMBERS).map(s.Constant))
        )
        body.append(s.Comparison(draw(st.sampled_from(["=", "!=", "<"])), left, right))
    for atom in draw(st.lists(atoms(*negative), min_size=0 if held else 1, max_size=2)) if negative else ():
        if (
            isinstance(atom, s.ValueIs)
            and isinstance(atom.value, s.Variable)
            and atom.value.name not in known
        ):
            atom = s.ValueIs(atom.atom, s.Constant("red"))
        body.append(s.Not(_renamed(atom, known)))
    return draw(st.permutations(body))


def _renamed(atom: s.Formula, known: list[str]) -> s.Formula:
    """With ``o`` for every variable that nothing else binds."""

    def term(one: s.Term) -> s.Term:
        return one if isinstance(one, s.Constant) or one.name in known else s.Variable("o")

    if isinstance(atom, s.Atom):
        return s.Atom(atom.predicate, tuple(map(term, atom.arguments)))
    assert isinstance(atom, s.ValueIs | s.ValueIn)
    inner = s.Atom(atom.atom.predicate, tuple(map(term, atom.atom.arguments)))
    return s.ValueIs(inner, atom.value) if isinstance(atom, s.ValueIs) else s.ValueIn(inner, atom.values)


@st.composite
def rules(draw: st.DrawFn, head: str, positive: tuple[str, ...], negative: tuple[str, ...]) -> s.Rule:
    body = draw(bodies(positive, negative))
    known = [name for name in names_of(*(p for p in body if not isinstance(p, s.Not))) if name in "xyz"]
    constants = st.sampled_from(NUMBERS).map(s.Constant)
    of_head = st.one_of(*[st.sampled_from(known).map(s.Variable)] * 3, constants) if known else constants
    arguments = tuple(draw(of_head) for _ in range(ARITY[head]))
    weight = draw(st.sampled_from([None, None, None, 0.5, 0.2, 1.0]))
    return s.Rule(s.Atom(head, arguments), tuple(body), weight)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Uncertain:
    """A program, what is stated and given, and goals; ``observed``: atoms with how much they hold."""

    lower: list[s.Rule]
    upper: list[s.Rule]
    facts: dict[Ground, float]
    hues: dict[int, dict[str, float]]
    stated: dict[Ground, float]
    given: dict[Ground, bool]
    goals: list[list[s.Formula]]

    @property
    def theory(self) -> Theory:
        declared: list[s.Statement] = [s.TypeDeclaration("n", tuple(map(s.Constant, NUMBERS)))]
        declared += [s.PredicateDeclaration(name, ("n",) * arity) for name, arity in ARITY.items()]
        declared.append(s.PredicateDeclaration("hue", ("n",), tuple(map(s.Constant, VALUES))))
        rows = [
            _fact(atom, weight, "soft" if atom[0] == "u" else "weighted")
            for atom, weight in self.facts.items()
        ]
        rows += [
            _fact(("hue", (number, value)), chance, "soft")
            for number, known in self.hues.items()
            for value, chance in known.items()
        ]
        rows += [_fact(atom, holds, "soft") for atom, holds in self.stated.items()]
        return Theory((*declared, *rows, *self.upper, *self.lower))

    def given_texts(self) -> list[str]:
        return [("" if holds else "not ") + _text(atom) for atom, holds in self.given.items()]

    def goal_texts(self) -> list[str]:
        return [show_formula(goal[0] if len(goal) == 1 else s.And(tuple(goal))) for goal in self.goals]

    def expected(self) -> tuple[float, list[dict[Row, float]]]:
        """By the walk through all worlds. What is given of a base atom without a chance is a fact."""
        choices = [[(p, atom), (1 - p, None)] for atom, p in self.facts.items()]
        hues = {number: _shared(known) for number, known in self.hues.items()}
        for (name, row), holds in self.given.items():
            if holds and name in STATED and (name, row) not in self.facts:
                choices.append([(1.0, (name, row))])
            if holds and name == "hue" and row[0] not in hues:
                hues[row[0]] = {str(row[1]): 1.0}  # type: ignore[index]
        choices += [[(p, ("hue", (n, value))) for value, p in known.items()] for n, known in hues.items()]  # type: ignore[misc]
        observed = [*self.stated.items(), *((atom, float(holds)) for atom, holds in self.given.items())]
        heads = [tuple(map(s.Variable, free_of(goal))) for goal in self.goals]
        goals = [s.Rule(s.Atom("goal", h), tuple(g)) for h, g in zip(heads, self.goals, strict=True)]  # type: ignore[arg-type]
        return Worlds([self.lower, self.upper], choices, RANGES).conditional(goals, observed)

    def model(self) -> hb.Model:
        return hb.Model(self.theory)


def free_of(goal: list[s.Formula]) -> list[str]:
    return names_of(*(part for part in goal if not isinstance(part, s.Not)))


def _shared(known: dict[str, float]) -> dict[str, float]:
    others = [value for value in VALUES if value not in known]
    return known | {value: (1 - math.fsum(known.values())) / len(others) for value in others}


def _fact(atom: Ground, number: float, kind: str) -> s.FactRows:
    name, row = atom
    columns = tuple((value,) for value in row)
    if number in (0.0, 1.0) and kind == "soft":
        return s.FactRows(name, columns, 1, "true" if number else "false", (), name == "hue")
    return s.FactRows(name, columns, 1, kind, (number,), name == "hue")  # type: ignore[arg-type]


def _text(atom: Ground) -> str:
    name, row = atom
    if name == "hue":
        return show_formula(s.ValueIs(s.Atom(name, (s.Constant(row[0]),)), s.Constant(row[1])))
    return show_formula(s.Atom(name, tuple(map(s.Constant, row))))


def _every(*predicates: str) -> list[Ground]:
    found: list[Ground] = []
    for name in predicates:
        for row in itertools.product(NUMBERS, repeat=1 if name == "hue" else ARITY[name]):
            found += [(name, (*row, value)) for value in VALUES] if name == "hue" else [(name, row)]
    return found


@st.composite
def uncertain(draw: st.DrawFn) -> Uncertain:
    base = (*STATED, "hue")
    lower = list(hb.parse(draw(st.sampled_from(RECURSIONS))).rules)
    lower += [
        draw(rules(draw(st.sampled_from(sorted(LOWER))), (*base, *LOWER, *"ppr"), base))
        for _ in range(draw(st.integers(0, 2)))
    ]
    upper = [
        draw(rules(draw(st.sampled_from(sorted(UPPER))), (*base, *LOWER, *UPPER), (*base, *LOWER, *"pr")))
        for _ in range(draw(st.integers(1, 2)))
    ]
    chances = st.sampled_from([0.5, 0.5, 0.25, 0.25, 0.8, 0.8, 1.0, 0.0])
    facts = {
        atom: draw(chances)
        for name, least, most in (("e", 2, 4), ("u", 1, 2), ("t", 0, 1), ("c", 0, 1))
        for atom in draw(st.lists(st.sampled_from(_every(name)), min_size=least, max_size=most, unique=True))
    }
    hues = {n: draw(st.sampled_from(SHARES)) for n in draw(st.sets(st.sampled_from(NUMBERS), max_size=2))}
    stated: dict[Ground, float] = {}
    given: dict[Ground, bool] = {}
    derived = sorted({rule.head.predicate for rule in (*lower, *upper)})
    for atom in draw(st.lists(st.sampled_from(_every(*derived)), max_size=2, unique=True)):
        if draw(st.booleans()):
            stated[atom] = draw(st.sampled_from([1.0, 0.0, 0.0, 0.3]))
        else:
            given[atom] = draw(st.booleans())
    for atom in draw(st.lists(st.sampled_from([*facts, *_every(*base)]), max_size=1, unique=True)):
        given[atom] = draw(st.booleans())
    asked = (*base, *LOWER, *UPPER)
    goals: list[list[s.Formula]] = [draw(bodies(asked, (*UPPER, *LOWER, "hue", "e"))) for _ in range(3)]
    goals.append([s.Atom(derived[0], tuple(map(s.Variable, "xyz"[: ARITY[derived[0]]])))])
    return Uncertain(lower, upper, facts, hues, stated, given, goals)


def count_worlds(program: Uncertain) -> int:
    """About how many worlds the oracle walks through."""
    count = math.prod(1 + (0 < p < 1) for p in program.facts.values()) * 3 ** len(program.hues)
    for rule in (*program.lower, *program.upper):
        if rule.weight not in (None, 1.0):
            names = names_of(rule.head, *(part for part in rule.body if not isinstance(part, s.Not)))
            count *= 2 ** math.prod(len(RANGES[name]) for name in names)
    return count
