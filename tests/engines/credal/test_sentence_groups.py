"""Ground sentences on their way into groups: what says nothing, what is settled or too wide, the order."""

from __future__ import annotations

import numpy as np
import pytest

import herbrand as hb
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.network import Stated
from herbrand.engines.credal.sentence_groups import (
    MOST_ATOMS_A_SENTENCE,
    Gathered,
    Rows,
    sentence_of,
    too_many_atoms,
)
from herbrand.engines.credal.shape import FALSE, TRUE, Shape, conjunction, negation
from herbrand.errors import ContradictionError, UnsupportedError
from herbrand.language import syntax as s
from herbrand.language.dialects import read_theory_text


def bound(lower: float, upper: float, independent: bool = False) -> s.Bound:
    return s.Bound(s.Atom("a"), None, lower, upper, independent)


@pytest.mark.parametrize(
    ("event", "given", "ends", "says"),
    [
        # a condition that cannot be: nothing is said of it
        (5, FALSE, (0.2, 0.3), None),
        (TRUE, FALSE, (0.2, 0.3), None),
        # a sure event and an upper end of 1, an impossible one and a lower end of 0
        (TRUE, None, (0.2, 1.0), None),
        (TRUE, 3, (0.9, 1.0), None),
        (FALSE, None, (0.0, 0.3), None),
        (FALSE, 3, (0.0, 0.3), None),
        # a condition that is sure is none
        (7, TRUE, (0.2, 0.3), (0, None, (7,))),
        (("and", 7, 4), None, (0.2, 0.3), (("and", 0, 1), None, (7, 4))),
        (4, ("not", 9), (0.2, 0.3), (0, ("not", 1), (4, 9))),
        (4, ("or", 9, 4), (0.2, 0.3), (0, ("or", 1, 0), (4, 9))),
        # what is settled under a condition still speaks of the condition's atoms
        (TRUE, 3, (0.2, 0.3), (TRUE, 0, (3,))),
        (FALSE, ("and", 3, 8), (0.2, 0.3), (FALSE, ("and", 0, 1), (3, 8))),
    ],
)
def test_what_a_sentence_says(
    event: Shape, given: Shape | None, ends: tuple[float, float], says: object
) -> None:
    assert sentence_of(event, given, bound(*ends)) == says


@pytest.mark.parametrize(("event", "ends"), [(TRUE, (0.2, 0.3)), (FALSE, (0.2, 1.0)), (TRUE, (0.0, 0.0))])
@pytest.mark.parametrize("given", [None, TRUE])
def test_what_observed_facts_refute_is_a_contradiction(
    event: Shape, ends: tuple[float, float], given: Shape | None
) -> None:
    with pytest.raises(ContradictionError, match="the observed facts determine the formula of this bound"):
        sentence_of(event, given, bound(*ends))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("P(false) = 0.2", "never holds, which contradicts it"),
        ("P(true) <= 0.5", "always holds, which contradicts it"),
    ],
)
def test_what_no_fact_settles_is_not_blamed_on_facts(text: str, message: str) -> None:
    with pytest.raises(ContradictionError, match=f"the formula of this bound {message}"):
        hb.Model(hb.parse(f"{text}\nP(a) <= 0.5")).bound("a")


def test_a_sentence_of_too_many_atoms_is_refused_by_its_number() -> None:
    wide = conjunction(list(range(MOST_ATOMS_A_SENTENCE + 1)))
    assert sentence_of(conjunction(list(range(20))), None, bound(0.1, 0.2)) is not None
    for event, given in ((wide, None), (0, wide), (conjunction([0, 1]), conjunction(list(range(1, 22))))):
        with pytest.raises(UnsupportedError) as raised:
            sentence_of(event, given, bound(0.1, 0.2))
        assert "open atoms; at most 20 are taken" in str(raised.value)
    assert "names 1,234 open atoms" in str(too_many_atoms(1234, bound(0, 1)))
    assert "state it of fewer constants, or declare what is observed" in str(too_many_atoms(21, bound(0, 1)))


def test_rows_come_in_the_order_of_statements() -> None:
    """Whether they were added one by one or as tables; rows of one statement stay as they were."""
    rows = Rows()
    rows.add_table(np.array([[1, 2], [3, 4]]), np.array([5, 6]), 0.1, np.array([0.2, 0.3]), 7)
    rows.singles.append(((8, 9), 0.4, 0.5, 2))
    rows.singles.append(((6, 7), 0.6, 0.7, 9))
    rows.add_table(np.array([[0, 1]]), 0, 0.0, 1.0, np.array([3]))
    atoms, lower, upper, statement, binding = rows.arrays()
    assert statement.tolist() == [2, 3, 7, 7, 9]
    assert atoms.tolist() == [[8, 9], [0, 1], [1, 2], [3, 4], [6, 7]]
    assert lower.tolist() == [0.4, 0.0, 0.1, 0.1, 0.6] and upper.tolist() == [0.5, 1.0, 0.2, 0.3, 0.7]
    assert binding.tolist() == [0, 0, 5, 6, 0]
    assert atoms.dtype == statement.dtype == binding.dtype == np.int64


def test_groups_are_of_one_shape_and_flag() -> None:
    gathered = Gathered()
    for shape, given, flag, atom in (
        (0, None, False, 4),
        (0, None, True, 5),
        (0, 1, False, 6),
        (0, None, False, 7),
    ):
        atoms = (atom,) if given is None else (atom, atom + 1)
        gathered.rows(shape, given, flag).singles.append((atoms, 0.1, 0.2, atom))
    groups = gathered.groups()
    assert [(g.event, g.given, g.independent, g.atoms.tolist()) for g in groups] == [
        (0, None, False, [[4], [7]]),
        (0, None, True, [[5]]),
        (0, 1, False, [[6, 7]]),
    ]
    assert gathered.rows(0, 1, False) is gathered.rows(0, 1, False)
    assert Gathered().groups() == ()


def test_a_settled_event_speaks_of_no_atom_and_its_condition_does() -> None:
    """``P(true | b) <= 0.4`` leaves b no probability: with P(b) > 0 it would be broken."""
    network = credal_network(hb.Model(hb.parse("P(true | b) <= 0.4\nP(b) <= 0.5")).program)
    assert [group.event for group in network.groups] == [TRUE, 0]
    for engine in ("exact", "ariel"):
        found = hb.Model(hb.parse("P(true | b) <= 0.4\nP(b) <= 0.5")).bound("b", engine=engine)
        assert (found.lower[0], found.upper[0]) == pytest.approx((0.0, 0.0), abs=1e-6)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("P(a and not a) <= 0.4", (0, 1)),  # says nothing
        ("P(a or not a) >= 0.4", (0, 1)),
        ("P(a | a) >= 0.4", (0, 1)),
        ("P(a | a) <= 0.4", (0, 0)),
        ("P(not a | a) >= 0.4", (0, 0)),
        ("P(a | not a) >= 0.4", (1, 1)),
        ("P(a xor a) <= 0.5", (0, 1)),
        ("P(a <=> not a) <= 0.1", (0, 1)),
        ("P(a => a) >= 1", (0, 1)),
        ("P(a) in [0.3, 0.3]", (0.3, 0.3)),
        ("P(not not a) <= 0.25", (0, 0.25)),
        ("P(a and a) <= 0.25", (0, 0.25)),
        ("P(a and true) <= 0.25", (0, 0.25)),
        ("P(a or false) >= 0.25", (0.25, 1)),
        ("P(a xor true) <= 0.25", (0.75, 1)),
        ("P(a xor a xor a) <= 0.25", (0, 0.25)),
        ("P(a | true) <= 0.25", (0, 0.25)),
        ("P(a | false) <= 0.25", (0, 1)),
    ],
)
def test_sentences_that_repeat_or_settle_themselves(
    said: str, left: tuple[float, float], engine: str
) -> None:
    found = hb.Model(hb.parse(f"{said}\nP(a) >= 0")).bound("a", engine=engine)
    assert (found.lower[0], found.upper[0]) == pytest.approx(left, abs=1e-6)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
@pytest.mark.parametrize(
    "said",
    [
        "P(a and not a) >= 0.1",
        "P(a or not a) <= 0.9",
        "P(a <=> a) <= 0.5",
        "P(a xor a) >= 0.2",
        "P(false) >= 0.1",
    ],
)
def test_sentences_that_no_distribution_satisfies(said: str, engine: str) -> None:
    with pytest.raises(ContradictionError) as raised:
        hb.Model(hb.parse(f"{said}\nP(a) >= 0\nP(b) <= 0.4")).bound("a", engine=engine)
    assert said in str(raised.value) and "P(b)" not in str(raised.value)


def test_a_statement_has_the_number_of_its_first_row() -> None:
    run = read_theory_text("s1: 0.2 <= P(a) <= 0.4\ns2: 0.5 <= P(b | a) <= 1\ns3: 0 <= P(c) <= 0.9", "lcn")
    plain = hb.parse("P(d) <= 0.5\nP(e) <= 0.2").statements
    stated = Stated((plain[0], *run.statements, plain[1]))
    assert len(stated) == 5 and stated.starts == (0, 1, 4, 5)
    assert [number for number, _ in stated.numbered()] == [0, 1, 4]
    ends = [(stated[i].lower, stated[i].upper) for i in range(5)]  # type: ignore[union-attr]
    assert ends == [(0, 0.5), (0.2, 0.4), (0.5, 1), (0, 0.9), (0, 0.2)]
    assert len(Stated()) == 0 and list(Stated().numbered()) == []


def test_negated_columns_are_no_other_atoms() -> None:
    assert sentence_of(negation(3), conjunction([3, negation(4)]), bound(0.1, 0.2)) == (
        ("not", 0),
        ("and", 0, ("not", 1)),
        (3, 4),
    )
