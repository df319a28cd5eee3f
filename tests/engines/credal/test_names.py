"""Bounds with variables and quantifiers under other names: the same ground sentences, row by row."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.lowering import credal_network
from herbrand.errors import HerbrandError
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests import changed_theories as changed
from tests import program_generators as generators
from tests.engines.credal.test_lowering import CLOSED, FORMULAS, PREDICATES
from tests.laws import tries

NAMES = {"p": "not", "q": "exists", "f": "ünder score", "g": "P", "rain": "true"}
CONSTANTS: dict[s.Value, s.Value] = {"c1": "a`1", "c2": "_", "d1": ""}


@st.composite
def theories(draw: st.DrawFn) -> Theory:
    """Some bounds, and facts of the observed predicates."""
    bounds = [
        s.Bound(draw(FORMULAS), draw(st.one_of(st.none(), FORMULAS)), 0.2, 0.9)
        for _ in range(draw(st.integers(1, 3)))
    ]
    facts = [
        s.FactRows(name, tuple((value,) for value in arguments), 1)
        for name, arguments in (("f", ("c1", "c2")), ("f", ("c2", "c2")), ("g", ("c1", "d1")))
        if draw(st.booleans())
    ]
    declared = [
        *(
            s.TypeDeclaration(n, tuple(map(s.Constant, v)))
            for n, v in generators.DOMAINS.items()
            if n in "tu"
        ),
        *(
            s.PredicateDeclaration(name, types, None, "observed" if name in CLOSED else None)
            for name, (types, _) in PREDICATES.items()
        ),
    ]
    return Theory((*declared, *facts, *bounds))


Row = tuple[list[int], float, float, list[bool], list[bool]]


def sentences(theory: Theory) -> list[Row] | type[Exception]:
    try:
        network = credal_network(hb.Model(theory).program)
    except HerbrandError as error:
        return type(error)
    return [
        (atoms, low, high, group.event_table.tolist(), group.given_table.tolist())
        for group in network.groups
        for atoms, low, high in zip(
            group.atoms.tolist(), group.lower.tolist(), group.upper.tolist(), strict=True
        )
    ]


@settings(
    max_examples=tries(25),
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(theories())
def test_names_are_no_matter(theory: Theory) -> None:
    other = changed.renamed(theory, NAMES, CONSTANTS)
    assert sentences(other) == sentences(theory)
    assert sentences(hb.parse(hb.show(other))) == sentences(theory)
