"""Orders are valid whatever is contracted, and their estimated costs are the work that they do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, combinations, pairwise, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.budget import UNLIMITED
from herbrand.contraction import Contraction, Statistics, order, plan
from herbrand.contraction.expression import Axes
from herbrand.contraction.order import Join, contraction_order, elimination_order
from herbrand.contraction.steps import Route
from tests.contraction import problems as given_problems
from tests.contraction.problems import Problem, problems
from tests.laws import tries

FEW = settings(max_examples=tries(60), deadline=None)
NAMES = "abcdefgh"
operands = st.lists(
    st.lists(st.sampled_from(NAMES), max_size=3, unique=True).map(tuple), min_size=1, max_size=14
)
sizes = st.fixed_dictionaries({name: st.integers(1, 5) for name in NAMES})
outputs = st.lists(st.sampled_from(NAMES), unique=True, max_size=3).map(tuple)


def followed(operands: Sequence[Axes], joins: Sequence[Join], output: Axes) -> list[frozenset[str]]:
    """The axes of every slot; each join keeps exactly what is still needed when it runs."""
    slots = [frozenset(axes) for axes in operands]
    live = set(range(len(slots)))
    for join in joins:
        assert live.issuperset(join.slots) and len(set(join.slots)) == len(join.slots)
        live -= set(join.slots)
        union = frozenset().union(*(slots[slot] for slot in join.slots))
        needed = frozenset(output).union(*(slots[slot] for slot in live))
        assert frozenset(join.axes) == union & needed and len(set(join.axes)) == len(join.axes)
        live.add(len(slots))
        slots.append(frozenset(join.axes))
    assert len(live) == 1
    assert slots[live.pop()] == frozenset(output) & frozenset(chain(*operands))
    return slots


class TestContractionOrder:
    @FEW
    @given(operands, outputs, sizes)
    def test_every_slot_is_used_once_and_keeps_what_is_needed(
        self, given_axes: list[Axes], output: Axes, extents: dict[str, int]
    ) -> None:
        followed(given_axes, contraction_order(given_axes, output, extents), output)

    @FEW
    @given(operands, outputs, sizes)
    def test_by_elimination_too(self, given_axes: list[Axes], output: Axes, extents: dict[str, int]) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(order, "FEW_OPERANDS", 0)
            followed(given_axes, contraction_order(given_axes, output, extents), output)

    @FEW
    @given(operands, outputs, sizes)
    def test_no_join_is_made_where_there_is_nothing_to_do(
        self, given_axes: list[Axes], output: Axes, extents: dict[str, int]
    ) -> None:
        joins = contraction_order(given_axes, output, extents)
        slots = followed(given_axes, joins, output)
        for join in joins:
            assert len(join.slots) > 1 or slots[join.slots[0]] > frozenset(join.axes)

    @settings(max_examples=tries(30), deadline=None)
    @given(st.lists(st.integers(2, 9), min_size=3, max_size=10))
    def test_a_chain_of_matrices_is_joined_as_the_textbook_says(self, extents: list[int]) -> None:
        names = "abcdefghij"[: len(extents)]
        links = list(pairwise(names))
        numbered = dict(zip(names, extents, strict=True))
        joins = contraction_order(links, (names[0], names[-1]), numbered)
        slots = followed(links, joins, (names[0], names[-1]))
        unions = [frozenset().union(*(slots[slot] for slot in join.slots)) for join in joins]
        assert sum(math.prod(numbered[axis] for axis in union) for union in unions) == _chained(extents)


def _chained(extents: Sequence[int]) -> int:
    """Multiplications of the best bracketing of matrices of these heights and widths, one after the other."""
    last = len(extents) - 1
    cost = {(place, place + 1): 0 for place in range(last)}
    for length in range(2, last + 1):
        for start in range(last - length + 1):
            stop = start + length
            cost[start, stop] = min(
                cost[start, cut] + cost[cut, stop] + extents[start] * extents[cut] * extents[stop]
                for cut in range(start + 1, stop)
            )
    return cost[0, last]


class TestEliminationOrder:
    @FEW
    @given(operands, outputs, sizes)
    def test_all_axes_but_the_outputs_once(
        self, given_axes: list[Axes], output: Axes, extents: dict[str, int]
    ) -> None:
        found = elimination_order(given_axes, output, extents)
        assert sorted(found) == sorted(set(chain(*given_axes)) - set(output))

    @FEW
    @given(operands, sizes)
    def test_its_cost_is_the_tables_it_visits(self, given_axes: list[Axes], extents: dict[str, int]) -> None:
        graph = order._Graph(given_axes, (), extents, UNLIMITED)
        for score in (graph.weight, graph.fill, graph.sweep()):
            cost, found = graph.eliminate(score)
            assert cost == pytest.approx(_visited(given_axes, found, extents))

    @pytest.mark.parametrize("cheap", [0.0, 1e300])
    @FEW
    @given(given_axes=operands, extents=sizes)
    def test_more_search_never_makes_it_dearer(
        self, cheap: float, given_axes: list[Axes], extents: dict[str, int]
    ) -> None:
        """Layered orders and ties broken at random are tried where the first order is dear."""
        graph = order._Graph(given_axes, (), extents, UNLIMITED)
        first = min(graph.eliminate(graph.weight), graph.eliminate(graph.fill))[0]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(order, "WORTH_A_SWEEP", cheap)
            patch.setattr(order, "COSTLY", cheap)
            found = elimination_order(given_axes, (), extents)
        assert sorted(found) == sorted(set(chain(*given_axes)))
        assert _visited(given_axes, found, extents) <= first * (1 + 1e-9)

    def test_trees_are_eliminated_at_width_one(self) -> None:
        links = [(f"x{child}", f"x{child // 2}") for child in range(1, 60)]
        extents = {axis: 7 for link in links for axis in link}
        found = elimination_order(links, (), extents)
        assert _visited(links, found, extents) == 59 * 7 * 7 + 7

    @pytest.mark.parametrize("length", [4, 5, 6])
    def test_cycles_are_eliminated_as_cheaply_as_can_be(self, length: int) -> None:
        axes = NAMES[:length]
        links = [(axes[place], axes[(place + 1) % length]) for place in range(length)]
        extents = dict(zip(axes, (2, 5, 3, 4, 2, 6), strict=False))
        found = elimination_order(links, (), extents)
        best = min(_visited(links, one, extents) for one in permutations(axes))
        assert _visited(links, found, extents) <= 1.5 * best

    def test_giving_up_still_names_every_axis(self) -> None:
        """A clique of seventy binary axes: no order helps, so none is searched for."""
        links = list(combinations([f"x{place}" for place in range(70)], 2))
        extents = {axis: 2 for link in links for axis in link}
        assert sorted(elimination_order(links, (), extents)) == sorted(extents)


def _visited(given_axes: Sequence[Axes], found: Sequence[str], extents: dict[str, int]) -> int:
    """The entries of all joint tables when axes are summed out in turn, by sets alone."""
    tables, total = [set(axes) for axes in given_axes], 0
    for axis in found:
        union = set().union(*(table for table in tables if axis in table))
        total += math.prod(extents[name] for name in union)
        tables = [table for table in tables if axis not in table] + [union - {axis}]
    return total


def _peak(route: Route) -> int:
    """Bytes of results alive, step after step."""
    held: dict[int, int] = {}
    peak = 0
    for number, step in enumerate(route.steps, len(route.inputs)):
        peak = max(peak, sum(held.values()) + step.bytes + step.workspace)
        for slot in step.slots:
            held.pop(slot, None)
        held[number] = step.bytes
    return peak


class TestCosts:
    @FEW
    @given(problems(sparse=False) | given_problems.joins(constraints=False))
    def test_a_dense_step_counts_the_cells_of_its_joint_table(self, problem: Problem) -> None:
        asked = problem.contraction
        found = plan(asked, executor="dense")
        for route in found.routes:
            for step in route.steps:
                joint = math.prod(asked.sizes[axis] for axis in set(chain(*step.inputs)))
                factors = len(step.slots)
                added = set(chain(*step.inputs)) > set(step.output)
                per_cell = factors if factors > 1 and added else max(1, factors - 1)
                assert step.operations == joint * per_cell
                assert step.joint == joint
                assert step.bytes == found.itemsize * math.prod(asked.sizes[axis] for axis in step.output)
                assert math.prod(step.shapes[0][: step.leading]) <= joint

    @FEW
    @given(problems() | given_problems.joins())
    def test_the_peak_is_what_is_alive_at_a_time(self, problem: Problem) -> None:
        for executor in ("dense", "sparse"):
            known = [
                Statistics(len(relation.indices), False) if hasattr(relation, "indices") else Statistics()
                for relation in problem.relations
            ]
            found = plan(problem.contraction, known, executor=executor)
            assert all(route.peak == _peak(route) for route in found.routes)
            assert found.bytes >= max((route.peak for route in found.routes), default=0)
            kept = plan(problem.contraction, known, gradient=True, executor=executor)
            assert kept.bytes == found.bytes + sum(s.bytes for r in found.routes for s in r.steps)

    def test_a_matrix_product(self) -> None:
        """2 × 3 × 5 × 7 multiplications and additions; a result of 2 × 7 numbers."""
        found = plan(Contraction.parse("a b, b c -> a c", {"a": 2, "b": 15, "c": 7}))
        assert found.operations == 2 * 2 * 15 * 7
        assert found.bytes == 8 * 2 * 7
        assert plan(found.contraction, [Statistics(itemsize=4)] * 2).bytes == 4 * 2 * 7

    def test_sparse_rows_cost_the_entries_listed(self) -> None:
        sizes = {"a": 10**6, "b": 10**6}
        found = plan(Contraction.parse("a b, b -> a", sizes), [Statistics(12_345), Statistics()])
        assert found.executor == "sparse"
        assert [step.operations for step in found.routes[0].steps] == [12_345]

    def test_operands_that_are_written_out_are_counted(self) -> None:
        sizes = {"a": 100, "b": 100}
        asked = Contraction.parse("a b, b -> a", sizes)
        sparse, dense = Statistics(5_000), Statistics()
        both = plan(asked, [dense, dense], executor="dense").bytes
        assert plan(asked, [sparse, dense], executor="dense").bytes == both + 8 * 100 * 100

    def test_the_dearer_executor_is_not_chosen(self) -> None:
        for listed in (10, 1000, 100_000, 999_999):
            asked = Contraction.parse("a b, b c -> a c", dict.fromkeys("abc", 1000))
            known = [Statistics(listed)] * 2
            chosen = plan(asked, known)
            assert chosen.seconds == min(plan(asked, known, executor=e).seconds for e in ("dense", "sparse"))
