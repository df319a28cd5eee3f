"""Runs of bounds that are taken as columns say what the same bounds say one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.network import Atoms, Network
from herbrand.engines.credal.sentence_groups import Gathered, add_rows
from herbrand.errors import HerbrandError
from herbrand.facts.domain import Domain
from herbrand.language.dialects import read_theory_text
from herbrand.language.syntax import BoundRows
from herbrand.language.theory import Theory
from tests.laws import tries

some = settings(deadline=None, max_examples=tries(20))
NAMES = ["a", "b", "c", "d"]


@st.composite
def sentences(draw: st.DrawFn) -> list[str]:
    """Lines of a file of bounds: a few forms many times over, atoms repeated, ends anywhere."""
    atom = st.sampled_from(NAMES)
    forms = ["{}", "{} | {}", "{} | !{}", "{} and {} | {}", "{} or {}", "!{} | {} or {}", "{} | {} and !{}"]
    lines = []
    for number in range(draw(st.integers(1, 8))):
        form = draw(st.sampled_from(forms))
        said = form.format(*(draw(atom) for _ in range(form.count("{}"))))
        low, high = sorted((draw(st.integers(0, 10)) / 10, draw(st.integers(0, 10)) / 10))
        flag = " ; False" if draw(st.booleans()) and "|" in said else ""
        lines.append(f"s{number}: {low} <= P({said}) <= {high}{flag}")
    return lines


def said(network: Network) -> list[tuple[object, ...]]:
    """All rows: what is said of which atoms by name, by which statement."""
    texts, found = network.atoms.texts(), []
    for group in network.groups:
        for atoms, low, high, number in zip(
            group.atoms.tolist(),
            group.lower.tolist(),
            group.upper.tolist(),
            group.statement.tolist(),
            strict=True,
        ):
            shape = repr((group.event, group.given)), group.independent
            found.append((number, *shape, tuple(texts[a] for a in atoms), low, high))
    return sorted(found)


@some
@given(sentences())
def test_a_run_says_what_its_bounds_say_one_by_one(lines: list[str]) -> None:
    theory = read_theory_text("\n".join(lines), "lcn")
    singles: list[object] = []
    for statement in theory.statements:
        singles += (
            [statement.bound(row) for row in range(len(statement))]
            if isinstance(statement, BoundRows)
            else [statement]
        )
    apart = Theory(tuple(singles))  # type: ignore[arg-type]
    networks: list[list[tuple[object, ...]] | str] = []
    for one in (theory, apart):
        try:
            networks.append(said(credal_network(hb.Model(one).program)))
        except HerbrandError as error:
            networks.append(str(error).splitlines()[0].split(": ", 1)[-1])
    assert networks[0] == networks[1]


@some
@given(sentences())
def test_intervals_do_not_depend_on_how_lines_were_read(lines: list[str]) -> None:
    theory = read_theory_text("\n".join(lines), "lcn")
    text = hb.show(theory)
    ends = []
    for one in (theory, hb.parse(text)):
        try:
            found = hb.Model(one).bound(engine="ariel")
        except HerbrandError as error:
            ends.append(str(error).split("\n")[0].split(": ")[-1])
            continue
        order = np.argsort(found.queries)
        ends.append([(found.queries[i], round(found.lower[i], 9), round(found.upper[i], 9)) for i in order])
    assert ends[0] == ends[1] or (isinstance(ends[0], str) and isinstance(ends[1], str))


def rows_of(text: str) -> BoundRows:
    (rows,) = read_theory_text(text, "lcn").statements
    assert isinstance(rows, BoundRows)
    return rows


def test_rows_that_are_not_plain_are_told_to_be_added_one_by_one() -> None:
    """An atom that stands twice, one that is not open, and one that takes arguments."""
    rows = rows_of(
        "s1: 0.2 <= P(a | b) <= 0.4\ns2: 0.2 <= P(a | a) <= 0.4\ns3: 0 <= P(c) <= 0.9\ns4: 0 <= P(d) <= 0.9\n"
        "s5: 0 <= P(a | c) <= 0.9\ns6: 0 <= P(b) <= 0.5"
    )
    gathered = Gathered()
    atoms = Atoms.of({"a": (), "b": (), "d": (Domain.of("t", ["x"]),)})
    assert sorted(add_rows(10, rows, atoms, gathered)) == [1, 2, 3, 4]
    groups = gathered.groups()
    assert sorted((g.atoms.tolist(), g.statement.tolist()) for g in groups) == [
        ([[0, 1]], [10]),
        ([[1]], [15]),
    ]


def test_rows_of_one_form_are_one_group_in_their_order() -> None:
    lines = [f"s{i}: 0.{i} <= P(x{i} | x{i + 1}) <= 0.9" for i in range(1, 6)]
    lines += [f"t{i}: 0 <= P(x{i}) <= 0.{i}" for i in range(1, 6)]
    network = credal_network(hb.Model(read_theory_text("\n".join(lines), "lcn")).program)
    pairs, singles = sorted(network.groups, key=lambda group: -group.arity)
    texts = network.atoms.texts()
    assert [[texts[a] for a in row] for row in pairs.atoms.tolist()] == [
        [f"x{i}", f"x{i + 1}"] for i in range(1, 6)
    ]
    assert pairs.lower.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5] and set(pairs.upper.tolist()) == {0.9}
    assert singles.upper.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5] and singles.statement.tolist() == [
        5,
        6,
        7,
        8,
        9,
    ]
    assert [network.sentence_text(0, 0), network.sentence_text(1, 2)] in (
        ["P(x1 | x2) in [0.1, 0.9]", "P(x3) <= 0.3"],
        ["P(x1) <= 0.1", "P(x3 | x4) in [0.3, 0.9]"],
    )


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_a_contradiction_within_a_run_names_its_lines(engine: str) -> None:
    lines = [f"s{i}: 0.1 <= P(x{i}) <= 0.9" for i in range(20)]
    lines += ["low: 0 <= P(x3) <= 0.3", "high: 0.6 <= P(x3) <= 1"]
    with pytest.raises(HerbrandError) as raised:
        hb.Model(read_theory_text("\n".join(lines), "lcn")).bound("x3", engine=engine)
    told = str(raised.value)
    assert "these 2 statements together" in told
    assert ("<= 0.3" in told or "0.3" in told) and "0.6" in told and "x7" not in told


def test_a_run_beside_facts_and_other_statements() -> None:
    """Statements are numbered through, and what is observed is settled row by row."""
    run = rows_of("s1: 0.2 <= P(a | b) <= 0.4\ns2: 0.3 <= P(a | c) <= 0.5")
    plain = hb.parse("predicate a\npredicate b: observed\npredicate c: observed\nb\nP(a) <= 0.35")
    for order in itertools.permutations([*plain.statements, run]):
        found = hb.Model(Theory(tuple(order))).bound("a", engine="exact")
        assert (found.lower[0], found.upper[0]) == pytest.approx((0.2, 0.35))
        if order[-1] is run:
            break
