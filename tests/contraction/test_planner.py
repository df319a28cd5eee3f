"""Plans: what they print, what they cost, when they are refused, and how they are ordered."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from herbrand import budget
from herbrand.contraction import Contraction, Dense, Plan, Sparse, Statistics, contract, plan, planner
from herbrand.contraction.order import contraction_order, elimination_order
from herbrand.errors import BudgetError
from tests.work import calls, lines


def chain_network(length: int, algebra: str = "log") -> Contraction:
    axes = [f"x{place}" for place in range(length)]
    return Contraction(tuple(pairwise(axes)), (), dict.fromkeys(axes, 2), algebra=algebra)


class TestPrinting:
    def test_dense(self) -> None:
        sizes = {"person": 50, "paper": 1000, "venue": 20}
        asked = Contraction.parse("person paper, paper venue -> person venue", sizes)
        assert str(plan(asked)).splitlines() == [
            "contraction  person paper, paper venue -> person venue  (real, float64)",
            "executor     dense",
            "operations   2.0e+06",
            "memory       7.8 kB",
            "step  kind    contracts                                                operations      bytes",
            "   1  dense   paper venue, paper person -> person venue                   2.0e+06     7.8 kB",
        ]

    def test_sparse_terms(self) -> None:
        sizes = dict.fromkeys("abc", 10**6)
        asked = Contraction.parse("a b, b c -> a", sizes, distinct=[("a", "c")])
        assert str(plan(asked, [Statistics(10**7), Statistics(10**7)])).splitlines() == [
            "contraction  a b, b c -> a, a ≠ c  (real, float64)",
            "executor     sparse",
            "operations   2.0e+07",
            "memory       49.6 MB",
            "step  kind    contracts                                                operations      bytes",
            "term 1: +1 × a b, b c -> a",
            "   1  rows    b c -> b                                                    1.0e+07     7.6 MB",
            "   2  rows    a b, b -> a                                                 1.0e+07     7.6 MB",
            "term 2: -1 × a b, b a -> a",
            "   1  rows    a b, b a -> a                                               1.0e+02     1.6 kB",
        ]

    def test_long_plans_are_cut(self) -> None:
        lines = str(plan(chain_network(2000))).splitlines()
        assert lines[0] == "contraction  1999 operands ->  (log, float64)"
        assert lines[-1].endswith("more steps")
        assert len(lines) < 25


class TestBudget:
    def test_refused_before_anything_is_allocated(self) -> None:
        axes = [f"x{place}" for place in range(60)]
        star = Contraction(
            tuple((axis, "hub") for axis in axes), tuple(axes), dict.fromkeys([*axes, "hub"], 2)
        )
        with pytest.raises(BudgetError) as refusal:
            contract(star, [Dense(torch.ones(2, 2))] * 60)
        assert "this contraction needs about" in str(refusal.value)
        assert "allow more memory" in str(refusal.value)

    def test_hopeless_networks_are_refused_soon(self) -> None:
        """Treewidth in the hundreds: sizes beyond floats, and no time spent on a better order."""
        rng = random.Random(0)
        operands = tuple((f"x{rng.randrange(2000)}", f"y{rng.randrange(2000)}") for _ in range(12_000))
        sizes = {axis: 2 for axes in operands for axis in axes}
        for executor in ("dense", "sparse"):
            with pytest.raises(BudgetError, match=r"needs about .* TB and may use"):
                plan(
                    Contraction(
                        operands[: 3_000 if executor == "dense" else 150], tuple(sizes), sizes, algebra="log"
                    ),
                    executor=executor,
                )
        with pytest.raises(BudgetError, match=r"needs about .* TB and may use"):
            plan(Contraction(operands, (), sizes, algebra="log"))

    def test_the_estimate_and_the_budget_are_told(self) -> None:
        product = Contraction.parse("a b, b c -> a c", {"a": 1000, "b": 10, "c": 1000})
        with pytest.raises(BudgetError, match=r"needs about 7.6 MB and may use 1.0 MB; its largest step is"):
            plan(product, memory=2**20)
        assert plan(product, memory=2**23).bytes == 8_000_000

    def test_gradients_need_more(self) -> None:
        network = chain_network(3000)
        needed = plan(network).bytes
        with pytest.raises(BudgetError, match="with gradients"):
            plan(network, memory=needed, gradient=True)

    def test_sparse_joins_are_checked_when_their_size_is_known(self) -> None:
        hub = torch.arange(3000)
        one = Sparse.of(
            torch.stack((hub, torch.zeros_like(hub)), 1), torch.zeros(3000), (3000, 3000), -torch.inf
        )
        other = Sparse.of(
            torch.stack((torch.zeros_like(hub), hub), 1), torch.zeros(3000), (3000, 3000), -torch.inf
        )
        joined = Contraction.parse("a b, b c -> a c", dict.fromkeys("abc", 3000), algebra="maximum")
        with pytest.raises(BudgetError, match="the join a b, b c -> a c needs about"):
            contract(joined, [one, other], memory=10**7, executor="sparse")

    def test_default_is_a_share_of_the_machine(self) -> None:
        assert plan(chain_network(3)).budget == int(0.7 * budget.machine_memory())

    def test_control_groups_count(self, tmp_path: Path) -> None:
        group = tmp_path / "slice" / "job"
        group.mkdir(parents=True)
        (tmp_path / "slice" / "memory.max").write_text("12345\n")
        (group / "memory.max").write_text("max\n")
        membership = tmp_path / "cgroup"
        membership.write_text("0::/slice/job\n")
        assert budget._cgroup_limits(tmp_path, membership) == [12345]


class TestChoice:
    SIZES = dict.fromkeys("abc", 1000)
    PRODUCT = Contraction.parse("a b, b c -> a c", SIZES)

    @pytest.mark.parametrize(
        ("density", "executor"), [(1.0, "dense"), (0.2, "dense"), (0.01, "sparse"), (0.001, "sparse")]
    )
    def test_executor_by_density(self, density: float, executor: str) -> None:
        listed = Statistics(int(density * 1000 * 1000))
        assert plan(self.PRODUCT, [listed, listed]).executor == executor

    def test_dense_only_if_it_fits(self) -> None:
        large = Contraction.parse("a b, b -> a", {"a": 10**6, "b": 10**6})
        assert plan(large, [Statistics(10**7), Statistics()]).executor == "sparse"

    def test_cycles_are_masked(self) -> None:
        sizes = dict.fromkeys("abc", 10**5)
        found = plan(Contraction.parse("a b, b c, a c ->", sizes), [Statistics(10**6)] * 3)
        assert [step.kind for step in found.routes[0].steps] == ["masked", "rows"]

    def test_equal_questions_get_the_same_plan(self) -> None:
        again = Contraction.parse("a b, b c -> a c", dict(reversed(self.SIZES.items())))
        assert plan(self.PRODUCT) is plan(again)

    def test_plans_are_deterministic(self) -> None:
        asked = chain_network(500)
        first = plan(asked)
        planner.forget()
        assert plan(asked) is not first
        assert plan(asked) == first

    def test_unknown_statistics(self) -> None:
        with pytest.raises(ValueError, match="2 operands, but statistics for 1"):
            plan(self.PRODUCT, [Statistics()])


class TestOrder:
    def test_lone_axes_go_first(self) -> None:
        sizes = dict.fromkeys("hkji", 100)
        found = plan(Contraction.parse("h k, k j, j i -> i", sizes))
        assert found.operations == 5e4

    def test_many_operands_take_linear_time(self) -> None:
        plan(chain_network(100))
        small, large = (calls(plan, chain_network(length)) for length in (400, 4000))
        assert large < 15 * small

    def test_many_sparse_operands_cost_their_pairs_and_no_more(self) -> None:
        """Four times the operands: sixteen times the pairs."""

        def work(length: int) -> None:
            planner.forget()
            plan(chain_network(length), [Statistics(3)] * (length - 1), executor="sparse")

        work(12)
        small, large = lines(work, 31), lines(work, 121)
        assert large < 18 * small

    def test_hubs_do_not_cost_squares(self) -> None:
        leaves = [f"x{place}" for place in range(4000)]
        star = [("hub", leaf) for leaf in leaves]
        sizes = dict.fromkeys(["hub", *leaves], 2)
        assert calls(elimination_order, star, (), sizes) < 200 * len(leaves)
        order = elimination_order(star, (), sizes)
        assert order[-2:] == ["hub", order[-1]] or order[-1] == "hub"

    def test_width_of_a_grid(self) -> None:
        """Swept row by row, a 10 × 40 grid needs messages of 2^10 entries."""
        cells = {(row, column): f"x{row}_{column}" for row in range(10) for column in range(40)}
        operands = [
            (name, cells[near])
            for (row, column), name in cells.items()
            for near in ((row + 1, column), (row, column + 1))
            if near in cells
        ]
        found = plan(Contraction(tuple(operands), (), dict.fromkeys(cells.values(), 2), algebra="log"))
        assert max(step.bytes for step in found.routes[0].steps) <= 8 * 2**11

    def test_output_axes_stay(self) -> None:
        sizes = {f"x{place}": 2 for place in range(30)}
        operands = list(pairwise(sizes))
        joins = contraction_order(operands, ("x0", "x29"), sizes)
        assert set(joins[-1].axes) == {"x0", "x29"}

    def test_few_results_wait_at_a_time(self) -> None:
        """Ten separate wide trees: their results are reduced to scalars one after the other."""
        operands = [(f"t{tree}", f"u{tree}_{leaf}") for tree in range(10) for leaf in range(3)]
        sizes = {axis: 1000 if axis.startswith("t") else 3 for axes in operands for axis in axes}
        found = plan(Contraction(tuple(operands), (), sizes, algebra="log"))
        assert found.routes[0].peak < 10 * 3 * 8 * 1000


def test_a_plan_is_data() -> None:
    found = plan(Contraction.parse("a b, b -> a", {"a": 2, "b": 3}))
    assert isinstance(found, Plan)
    assert hash(found.routes[0].steps[0]) == hash(found.routes[0].steps[0])
    assert "tensor" not in repr(found)
