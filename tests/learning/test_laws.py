"""Laws of learned weights: other orders and names, penalties, copies of a world, limits, and known optima."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import herbrand as hb
from herbrand.budget import Budget
from herbrand.errors import BudgetError, OutOfTimeError, UnsupportedError
from herbrand.learning.example import World, example
from herbrand.learning.learned import Learning
from herbrand.learning.messages import Aim, statement_messages

DECLARED = "predicate smokes(person)\npredicate cancer(person)\npredicate friends(person, person): observed\n"
RULES = (
    "?: smokes(x) and friends(x, y) => smokes(y)",
    "?: smokes(x) => cancer(x)",
    "?: cancer(x)",
    "0.3: smokes(x)",
)
FACTS = {
    "friends": [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("a", "c"), ("e", "a")],
    "smokes": ["a", "b", "c"],
    "cancer": ["a", "d"],
}
PRECISE = {"tolerance": 1e-12}


def learned(rules: tuple[str, ...] = RULES, facts: Any = None, **options: Any) -> Learning:
    method = options.pop("method", "pseudo-likelihood")
    model = hb.Model(hb.parse(DECLARED + "\n".join(rules)), FACTS if facts is None else facts)
    return model.learn(method, **options)


def weights(found: Learning) -> dict[str, float]:
    return {one.statement: one.weight for one in found.weights}


class TestOrdersAndNames:
    @pytest.mark.parametrize("method", ["pseudo-likelihood", "layers"])
    def test_the_order_of_statements_and_facts_changes_nothing(self, method: str) -> None:
        one = learned(method=method, l2=0.2)
        turned = {name: [*rows[::-1], rows[0]] for name, rows in FACTS.items()}
        other = learned(RULES[::-1], turned, method=method, l2=0.2)
        assert weights(other) == pytest.approx(weights(one), abs=1e-3 if method == "layers" else 1e-6)

    @pytest.mark.parametrize("method", ["pseudo-likelihood", "layers"])
    def test_the_names_of_constants_and_variables_change_nothing(self, method: str) -> None:
        names = dict(zip("abcde", ["zoë", "it's", "1", "-", "e e"], strict=True))
        facts = {
            name: [names[row] if isinstance(row, str) else tuple(map(names.get, row)) for row in rows]
            for name, rows in FACTS.items()
        }
        renamed = tuple(rule.replace("x", "u").replace("y", "v") for rule in RULES)
        one, other = learned(method=method, l2=0.2), learned(renamed, facts, method=method, l2=0.2)
        assert list(weights(other).values()) == pytest.approx(list(weights(one).values()), abs=1e-3)

    def test_equal_seeds_give_equal_weights(self) -> None:
        for method in ("pseudo-likelihood", "layers"):
            assert learned(method=method, seed=3).text == learned(method=method, seed=3).text


class TestPenalties:
    def test_a_stronger_pull_makes_weights_smaller_and_the_fit_worse(self) -> None:
        found = [learned(l2=l2, **PRECISE) for l2 in (0.01, 0.1, 1.0, 10.0, 1000.0)]
        sizes = [sum(w * w for w in weights(one).values()) for one in found]
        fits = [one.metrics["log_pseudo_likelihood"] for one in found]
        assert sizes == sorted(sizes, reverse=True) and sizes[-1] < 1e-4
        assert fits == sorted(fits, reverse=True)

    def test_corners_make_more_weights_zero(self) -> None:
        found = [weights(learned(l2=0.0, l1=l1, **PRECISE)) for l1 in (0.05, 0.5, 50.0)]
        zeros = [sum(w == 0 for w in one.values()) for one in found]
        assert zeros == sorted(zeros) and zeros[0] < zeros[-1] == 3

    def test_a_world_twice_is_as_half_the_pull(self) -> None:
        """The sum over two equal worlds is twice the sum over one."""
        theory = hb.parse(DECLARED + "\n".join(RULES))
        twice = hb.Model(theory).learn("pseudo-likelihood", worlds=[FACTS, FACTS], l2=0.4, **PRECISE)
        once = learned(l2=0.2, **PRECISE)
        assert weights(twice) == pytest.approx(weights(once), abs=1e-6)
        assert twice.metrics["log_pseudo_likelihood"] == pytest.approx(
            2 * once.metrics["log_pseudo_likelihood"]
        )

    def test_errors_shrink_as_data_grow(self) -> None:
        theory = hb.parse(DECLARED + "\n".join(RULES))
        many = hb.Model(theory).learn("pseudo-likelihood", worlds=[FACTS] * 4, l2=0.0)
        once = learned(l2=0.0)
        for one, other in zip(many.weights, once.weights, strict=True):
            assert one.standard_error is not None and other.standard_error is not None
            assert one.standard_error == pytest.approx(other.standard_error / 2, rel=1e-3)


class TestKnownOptima:
    """Where the best weight is a logarithm of counts."""

    @pytest.mark.parametrize("method", ["likelihood", "pseudo-likelihood"])
    @pytest.mark.parametrize("true", [1, 3, 7])
    def test_a_prior_is_the_log_odds_of_a_share(self, true: int, method: str) -> None:
        theory = hb.parse("type t = 1..10\npredicate p(t)\n?: p(x)")
        found = hb.Model(theory, {"p": list(range(1, true + 1))}).learn(method, l2=0.0)
        (one,) = found.weights
        assert one.weight == pytest.approx(math.log(true / (10 - true)), abs=1e-4)
        assert one.standard_error == pytest.approx(math.sqrt(1 / true + 1 / (10 - true)), rel=1e-3)
        assert found.metrics[f"log_{method.replace('-', '_')}"] == pytest.approx(
            true * math.log(true / 10) + (10 - true) * math.log(1 - true / 10)
        )

    def test_a_known_weight_is_taken_off(self) -> None:
        """Together they say what the data do."""
        theory = hb.parse("type t = 1..10\npredicate p(t)\n?: p(x)\n0.7: p(x)")
        (one,) = hb.Model(theory, {"p": [1, 2, 3]}).learn(l2=0.0).weights
        assert one.weight + 0.7 == pytest.approx(math.log(3 / 7), abs=1e-4)

    def test_the_same_statement_twice_shares_the_weight(self) -> None:
        theory = hb.parse("type t = 1..10\npredicate p(t)\n?: p(x)\n?: p(x)")
        one, other = hb.Model(theory, {"p": [1, 2, 3]}).learn(l2=1e-6, **PRECISE).weights
        assert one.weight == pytest.approx(other.weight, abs=1e-4)
        assert one.weight + other.weight == pytest.approx(math.log(3 / 7), abs=1e-3)

    def test_values_have_log_shares(self) -> None:
        theory = hb.parse(
            'predicate mood(t) in {"good", "bad", "none"}\n?: mood(x) = "good"\n?: mood(x) = "bad"'
        )
        rows = [(i, "good" if i < 5 else "bad" if i < 8 else "none") for i in range(9)]
        good, bad = hb.Model(theory, {"mood": rows}).learn(l2=0.0).weights
        assert good.weight == pytest.approx(math.log(5 / 1), abs=1e-3)
        assert bad.weight == pytest.approx(math.log(3 / 1), abs=1e-3)

    def test_one_layer_over_what_is_observed_is_the_same_logistic_regression(self) -> None:
        theory = hb.parse("predicate old(t): observed\npredicate p(t)\n?: old(x) => p(x)\n?: p(x)")
        facts = {"old": [1, 2, 3, 4], "p": [1, 2, 3, 5, 6]}
        one, other = (
            hb.Model(theory, {**facts, "old": [*facts["old"]]}).learn(method, l2=0.1, target="p", **options)
            for method, options in (("pseudo-likelihood", {}), ("layers", {"layers": 1, "tolerance": 1e-10}))
        )
        assert list(weights(one).values()) == pytest.approx(list(weights(other).values()), abs=1e-3)


class TestLimits:
    def test_no_time_for_loading_is_an_error(self) -> None:
        with pytest.raises(OutOfTimeError, match="--time-limit"):
            learned(time_limit=0.0)

    def test_no_time_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where it ends while weights are learned, the last ones are the answer."""
        monkeypatch.setattr(Budget, "ended", property(lambda budget: budget.seconds is not None))
        found = learned(time_limit=1000.0, l2=0.1, tolerance=1e-15)
        assert not found.status.converged and "--time-limit" in found.status.advice
        assert found.status.iterations == 1

    def test_few_steps_are_told(self) -> None:
        found = learned(iterations=1, l2=0.1, tolerance=1e-15)
        assert not found.status.converged and "--iterations" in found.status.advice

    def test_too_little_memory_is_told_before_the_counting(self) -> None:
        theory = hb.parse("type t = 1..200\npredicate p(t, t)\n?: p(x, y) or p(y, x)")
        with pytest.raises(BudgetError) as caught:
            hb.Model(theory, {"p": [(1, 2)]}).learn("pseudo-likelihood", memory="1MB")
        assert "1.0 MB are allowed" in str(caught.value)

    def test_a_weight_that_the_data_decide_for_good_is_told(self) -> None:
        theory = hb.parse("type t = 1..4\npredicate p(t)\n?: p(x)")
        found = hb.Model(theory, {"p": [1, 2, 3, 4]}).learn(l2=0.0)
        assert not found.status.converged and "draw it back by --l2" in found.status.advice


class TestMessages:
    def example_of(self, text: str, facts: Any, *targets: str) -> Any:
        theory = hb.parse(text)
        model = hb.Model(theory, facts)
        return example(theory, World(model.signature, model.program.facts), Aim(targets))

    def test_of_a_weight_for_each_constant_every_one_counts_once(self) -> None:
        text = "predicate has(d, w): observed\npredicate good(d)\n?[w]: has(d, w) => good(d)\n?: not good(d)"
        seen = self.example_of(text, {"has": [("a", "u"), ("a", "v"), ("b", "u")], "good": ["a"]}, "good")
        assert statement_messages(seen, "good").tolist() == [[2.0, -1.0], [1.0, -1.0]]

    def test_no_statement_is_no_column(self) -> None:
        text = "predicate good(d)\npredicate old(d): observed\nhard: old(d) => old(d)"
        seen = self.example_of(text, {"good": ["a", "b"]}, "good")
        assert statement_messages(seen, "good").shape == (2, 0)

    def test_many_values_have_none(self) -> None:
        text = 'predicate mood(d) in {"x", "y"}\n?: mood(d) = "x"'
        seen = self.example_of(text, {"mood": [("a", "x")]}, "mood")
        with pytest.raises(UnsupportedError) as caught:
            statement_messages(seen, "mood")
        assert str(caught.value) == (
            "mood is many-valued; messages are for what is true or false\n"
            "  learn its weights by --method layers"
        )


def test_climbing_from_elsewhere_ends_at_the_same_top(tmp_path: Any) -> None:
    """Whatever weights were saved on the way."""
    kept = str(tmp_path / "weights")
    whole = learned(l2=0.3, **PRECISE)
    for steps in (1, 2):
        learned(l2=0.3, iterations=steps, save=kept, **PRECISE)
        again = learned(l2=0.3, resume=kept, **PRECISE)
        assert np.allclose(list(weights(again).values()), list(weights(whole).values()), atol=1e-6)
