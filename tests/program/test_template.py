"""Conjunctions as values: substitution against the meaning of its parts, canonical pairs, what is printed."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.program.program import (
    FALSE,
    TRUE,
    Argument,
    Block,
    Conjunction,
    Literal,
    Template,
    different,
    differing,
    literals_of,
    shown_argument,
    substituted,
)
from tests.laws import tries

SOME = settings(max_examples=tries(80), deadline=None)
NAMES = "xyz"
arguments = st.one_of(st.sampled_from(NAMES), st.integers(0, 2))
pairs = st.builds(different, arguments, arguments)
literals = st.builds(
    Literal, st.sampled_from("pq"), st.tuples(arguments, arguments), st.sampled_from([TRUE, FALSE, (0, 2)])
)
VARIABLES = tuple((name, "t") for name in NAMES)


def conjunctions(pieces: st.SearchStrategy[Conjunction] | None = None) -> st.SearchStrategy[Conjunction]:
    return st.builds(
        Conjunction,
        st.just(VARIABLES if pieces is not None else (("w", "t"),)),
        st.lists(literals, max_size=2).map(tuple),
        st.frozensets(pairs, max_size=2),
        st.just(())
        if pieces is None
        else st.lists(
            st.builds(Block, st.lists(pieces, max_size=2).map(tuple), st.booleans()), max_size=2
        ).map(tuple),
        st.frozensets(pairs, max_size=1),
    )


Said = tuple[object, ...]


def ground(conjunction: Conjunction, binding: dict[str, int]) -> Said | None:
    """What is said under a binding: ``None`` where a pair is equal that differs, or differs that is equal."""

    def index(argument: Argument) -> Argument:
        return binding.get(argument, argument) if isinstance(argument, str) else argument

    if any(index(a) == index(b) for a, b in conjunction.distinct):
        return None
    if any(
        isinstance(index(a), int) and isinstance(index(b), int) and index(a) != index(b)
        for a, b in conjunction.equal
    ):
        return None
    atoms = tuple((x.predicate, tuple(map(index, x.arguments)), x.allowed) for x in conjunction.literals)
    blocks = tuple(
        (block.some, tuple(said for piece in block.pieces if (said := ground(piece, binding)) is not None))
        for block in conjunction.blocks
    )
    return atoms, blocks


class TestSubstitution:
    @SOME
    @given(conjunctions(conjunctions()), st.sampled_from(NAMES), arguments)
    def test_it_says_under_every_binding_what_was_said_with_the_value_put(
        self, conjunction: Conjunction, name: str, by: Argument
    ) -> None:
        if by == name:
            return
        found = substituted(conjunction, name, by)
        for values in product(range(3), repeat=len(NAMES)):
            binding = dict(zip(NAMES, values, strict=True))
            binding[name] = binding[by] if isinstance(by, str) else by
            expected = ground(conjunction, binding)
            assert (None if found is None else ground(found, binding)) == expected

    @SOME
    @given(conjunctions(conjunctions()), st.sampled_from(NAMES), arguments)
    def test_the_variable_is_gone(self, conjunction: Conjunction, name: str, by: Argument) -> None:
        if by == name:
            return
        found = substituted(conjunction, name, by)
        if found is None:
            return
        assert name not in found.types and found.types.keys() == set(NAMES) - {name}
        assert all(name not in literal.arguments for literal in literals_of(found))
        assert all(name not in pair for pair in differing(found))

    def test_pairs_of_two_constants_are_settled(self) -> None:
        """Those that differ are left out; those that cannot be equal leave nothing."""
        apart = Conjunction(VARIABLES, distinct=frozenset({different("x", 1)}))
        assert substituted(apart, "x", 2) == Conjunction(VARIABLES[1:])
        assert substituted(apart, "x", 1) is None
        equal = Conjunction(VARIABLES, equal=frozenset({different("x", 1)}))
        assert substituted(equal, "x", 1) == Conjunction(VARIABLES[1:])
        assert substituted(equal, "x", 2) is None

    def test_a_piece_that_cannot_hold_is_left_out_of_its_block(self) -> None:
        piece = Conjunction((("w", "t"),), distinct=frozenset({different("x", 0)}))
        whole = Conjunction(VARIABLES, blocks=(Block((piece, piece), True),))
        found = substituted(whole, "x", 0)
        assert found is not None and found.blocks == (Block((), True),)


class TestPairs:
    @SOME
    @given(arguments, arguments)
    def test_a_pair_has_one_order(self, one: Argument, other: Argument) -> None:
        assert different(one, other) == different(other, one)
        assert set(different(one, other)) == {one, other}

    @pytest.mark.parametrize(
        ("one", "other", "pair"),
        [
            ("y", "x", ("x", "y")),
            (3, "x", ("x", 3)),
            ("x", 0, ("x", 0)),
            (2, 1, (1, 2)),
            ("x", "x", ("x", "x")),
        ],
    )
    def test_variables_by_name_then_constants(self, one: Argument, other: Argument, pair: object) -> None:
        assert different(one, other) == pair


class TestParts:
    INNER = Conjunction((("w", "t"),), (Literal("q", ("w",), FALSE),), frozenset({different("w", "x")}))
    WHOLE = Conjunction(
        (("x", "t"), ("y", "u")),
        (Literal("p", ("x", 0), TRUE),),
        frozenset({different("x", "y")}),
        (Block((INNER, INNER), some=False),),
    )

    def test_literals_and_pairs_inside_blocks_count(self) -> None:
        assert [literal.predicate for literal in literals_of(self.WHOLE)] == ["p", "q", "q"]
        assert list(differing(self.WHOLE)) == [("x", "y"), ("w", "x"), ("w", "x")]
        assert dict(self.WHOLE.types) == {"x": "t", "y": "u"}

    def test_what_is_printed(self) -> None:
        assert str(self.WHOLE) == (
            "{x: t, y: u}  [x != y]  p(x, #0) and "
            "none[{w: t}  [w != x]  not q(w) | {w: t}  [w != x]  not q(w)]"
        )
        assert str(Literal("m", (), (0, 2))) == "m() in {0, 2}"
        assert str(Conjunction()) == "{}"
        assert (shown_argument("x"), shown_argument(7)) == ("x", "#7")

    @pytest.mark.parametrize(
        ("template", "text"),
        [
            (Template(Conjunction(), 0), "+w0  {}"),
            (Template(Conjunction(), 3, -1), "-w3  {}"),
            (Template(Conjunction(), None), "forbidden  {}"),
        ],
    )
    def test_what_a_template_is_worth(self, template: Template, text: str) -> None:
        assert str(template) == text
