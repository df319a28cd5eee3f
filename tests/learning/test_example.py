"""What is learned from, and what is to be predicted; worlds that cannot be learned from are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import herbrand as hb
from herbrand.errors import BudgetError, ContradictionError, HerbrandError, UnsupportedError
from herbrand.learning.example import Aim, Example, World, default_targets, example
from herbrand.program.evidence import LATENT

DECLARED = """
predicate smokes(person)
predicate cancer(person)
predicate friends(person, person): observed
predicate near(person, person)
"""
MOOD = 'predicate mood(person) in {"good", "bad"}\n'
NEAR_SMOKERS = """
predicate far(person, person)
near(x, y) :- friends(x, y), smokes(y)
far(x, y) :- near(y, x)
"""
FACTS = {"smokes": ["a"], "friends": [("a", "b"), ("b", "c")]}


def seen(text: str, facts: Any = None, *targets: str, latent: tuple[str, ...] = ()) -> Example:
    model = hb.Model(hb.parse(text), FACTS if facts is None else facts)
    return example(model.theory, World(model.signature, model.program.facts), Aim(targets, latent))


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("?: smokes(x) => cancer(x)", ("smokes", "cancer")),
        ("?: smokes(x) and friends(x, y) => smokes(y)", ("smokes",)),
        ("?: smokes(x)\n1.0: cancer(x)", ("smokes",)),
        (MOOD + '?: mood(x) = "bad" and (exists y: smokes(y))', ("mood", "smokes")),
        ("?: near(x, y) => cancer(y)\nnear(x, y) :- friends(x, y)", ("cancer",)),
        ("?[x]: cancer(x)", ("cancer",)),
    ],
)
def test_what_learned_statements_speak_of_is_predicted(text: str, targets: tuple[str, ...]) -> None:
    theory = hb.parse(DECLARED + text)
    assert default_targets(theory, hb.Model(theory, FACTS).signature) == targets


def test_what_is_not_listed_is_false_and_labels_are_hidden() -> None:
    text = "predicate smokes(t)\npredicate old(t)\n?: old(x) => smokes(x)"
    found = seen(text, {"old": ["a", "b"], "smokes": ["b"]}, "smokes")
    codes = np.arange(2)
    assert found.labels("smokes", codes).tolist() == [0, 1]
    assert found.hidden.known("smokes").lookup(codes).tolist() == [LATENT, LATENT]
    assert found.hidden.known("old").lookup(codes).tolist() == [1, 1]
    assert found.labelled_codes("smokes").tolist() == [0, 1] and found.label_count("smokes") == 2


def test_of_a_latent_target_only_listed_atoms_are_labels() -> None:
    rows = pandas.DataFrame({"t": ["a", "c"], "truth": [True, False]})
    text = "predicate smokes(t)\npredicate old(t): observed\n?: old(x) => smokes(x)"
    found = seen(text, {"old": ["a", "b", "c"], "smokes": rows}, "smokes", latent=("smokes",))
    assert found.labels("smokes", np.arange(3)).tolist() == [1, LATENT, 0]
    assert found.labelled_codes("smokes").tolist() == [0, 2] and found.label_count("smokes") == 2


def test_many_values_are_labels() -> None:
    text = 'predicate mood(t) in {"good", "bad", "none"}\n?: mood(x) = "bad"'
    found = seen(text, {"mood": [("a", "bad"), ("b", "none")]})
    assert found.labels("mood", np.arange(2)).tolist() == [1, 2]


def test_what_rules_derive_is_known() -> None:
    text = DECLARED + "?: near(x, y) and smokes(x) => smokes(y)\nnear(x, z) :- friends(x, y), friends(y, z)"
    found = seen(text)
    rows = found.known.facts.rows(
        found.known.signature.predicates["near"], found.known.facts.tables["near"].true
    )
    assert list(rows) == [("a", "c")]


PSEUDO = {"method": "pseudo-likelihood"}
REFUSED = [
    ("1.0: smokes(x)", {}, "no statement has a weight to be learned", "write ? in place"),
    ("?: friends(x, y)", {}, "nothing is there to predict", "--target PRED"),
    ("?: smokes(x)", {"target": "smoke"}, "--target: there is no predicate 'smoke'", "smokes"),
    ("?: smokes(x)", {"latent": "cancr"}, "--latent: there is no predicate 'cancr'", "cancer"),
    ("?: smokes(x)", {"latent": "smokes"}, "nothing is there to predict", "--target"),
    ("?: smokes(x)", {"latent": "smokes", "target": "smokes"}, None, None),
    ("?: cancer(x) or smokes(x)", {**PSEUDO, "latent": "cancer", "target": "smokes"}, "is latent", "layers"),
    ("?: cancer(x)", {"latent": "cancer", "target": "cancer"}, "no atom of it is known", "list facts"),
    ('?: smokes(x)\nsmokes("b") ~ 0.4', PSEUDO, 'smokes("b") ~ 0.4 is soft evidence', "--latent smokes"),
    (MOOD + '?: mood(x) = "bad"', {}, 'mood("a") has no value', "--latent mood"),
    ("?: smokes(x)\nhard: friends(x, y) and smokes(x) => smokes(y)", PSEUDO, "this hard", "--latent PRED"),
    ("?: smokes(x)", {"method": "pseudolikelihood"}, "no method 'pseudolikelihood'", "pseudo-likelihood"),
    ("?: smokes(x)", {"clip": 0.5}, "another model than the theory", "distillation"),
    ("?: smokes(x)", {"l22": 0.5}, "no option 'l22'", "l2"),
    ("?: smokes(x)", {"l2": float("inf")}, "--l2 is a number from 0 on", ""),
    ("?: smokes(x)", {"l1": -1.0}, "l1", "0"),
    ("?: smokes(x)", {"iterations": 0}, "iterations", "1"),
    ("?: smokes(x)", {"method": "layers", "save": "x"}, "layers does not use --save", "leave out --save"),
    ("?: smokes(x)", {"method": "layers", "resume": "x"}, "layers does not use", "leave out --resume"),
    (NEAR_SMOKERS + "?: near(x, x) => smokes(x)", {}, "from smokes: near(x, y) :- fr", "body of the rule"),
    (NEAR_SMOKERS + "?: smokes(x)\n1: far(x, x)", PSEUDO, "uses far, which depends on", "--target PRED"),
    (NEAR_SMOKERS + "?: near(x, x) => cancer(x)", {"target": "near"}, "rule derives it", "--ignore rules"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "options", "said", "hint"), REFUSED)
def test_refusals_say_what_to_do(
    text: str, options: dict[str, Any], said: str | None, hint: str | None
) -> None:
    model = hb.Model(hb.parse(DECLARED + text), FACTS)
    if said is None:
        assert model.learn(**options).metrics["atoms"] == 1
        return
    with pytest.raises((UnsupportedError, ContradictionError, HerbrandError)) as caught:
        model.learn(**options)
    assert said in str(caught.value) and (hint or "") in str(caught.value)


MANY = "type n = 1..60000\npredicate red(n, n, n, n){values}\npredicate odd(n): observed\n{fact}\n"
"""More atoms than 64 bits can number."""


@pytest.mark.parametrize("method", ["pseudo-likelihood", "likelihood", "layers"])
def test_one_of_very_many_atoms_without_a_value_is_named(method: str) -> None:
    """All of them had been listed: an internal error, or all of the memory."""
    text = MANY.format(values=' in {"a", "b"}', fact='red(1, 1, 1, 1) = "a"')
    model = hb.Model(hb.parse(text + '?: odd(x) => red(x, x, x, x) = "a"'))
    with pytest.raises(UnsupportedError, match=r"red\(1, 1, 1, 2\) has no value"):
        model.learn(method)


def test_an_opinion_among_very_many_atoms_is_refused_for_its_memory() -> None:
    model = hb.Model(hb.parse(MANY.format(values="", fact="red(1, 1, 1, 1) ~ 0.3") + "?: red(x, x, x, x)"))
    with pytest.raises(BudgetError, match="a row for each of 12,960,000,000,000,000,000 atoms of red needs"):
        model.learn("likelihood")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"save": "."}, "cannot write '.': it is a folder\n  name a file in it"),
        ({"method": "pseudo"}, "there is no method 'pseudo' for learn"),
        ({"seeds": 1}, "learn has no option 'seeds'\n  did you mean 'seed'?"),
        ({"method": "layers", "save": "x"}, "layers does not use --save"),
        ({"method": "proof", "clip": 1.0}, "proof does not use --clip, which is another model"),
    ],
)
def test_options_are_refused_before_facts_are_read(options: dict[str, Any], said: str) -> None:
    """Facts may take minutes to load; here they cannot be loaded at all."""
    model = hb.Model(hb.parse(DECLARED + "?: smokes(x)"), {"friends": [("a",)]})
    with pytest.raises(HerbrandError) as caught:
        model.learn(**options)
    assert said in str(caught.value)
    with pytest.raises(HerbrandError, match="1 value where 2 are expected"):
        model.learn()


def test_nothing_to_learn_from() -> None:
    with pytest.raises(UnsupportedError, match="type person has no constants") as caught:
        hb.Model(hb.parse(DECLARED + "?: smokes(x)")).learn()
    assert "point at facts" in str(caught.value)


class TestKeptWeights:
    """Files that a climb is to go on from."""

    THEORY = "predicate smokes(p)\npredicate friends(p, p): observed\n?: smokes(x) and friends(x, y) => smokes(y)\n?: smokes(x)"  # noqa: E501

    def model(self, **facts: Any) -> hb.Model:
        return hb.Model(hb.parse(self.THEORY), {**FACTS, **facts})

    def test_a_climb_that_was_stopped_goes_on(self, tmp_path: Path) -> None:
        file = str(tmp_path / "folder" / "weights")
        whole = self.model().learn("pseudo-likelihood", l2=0.3)
        stopped = self.model().learn("pseudo-likelihood", l2=0.3, iterations=1, save=file)
        assert not stopped.status.converged and stopped.status.iterations == 1
        found = self.model().learn(l2=0.3, resume=file)
        assert found.status.iterations == whole.status.iterations and found.status.converged
        assert [w.weight for w in found.weights] == pytest.approx([w.weight for w in whole.weights], abs=1e-9)

    def test_a_file_that_is_to_be_saved_to_need_not_be_there(self, tmp_path: Path) -> None:
        file = str(tmp_path / "weights")
        assert self.model().learn(save=file, resume=file).status.converged
        with pytest.raises(HerbrandError, match="there is no file"):
            self.model().learn(resume=str(tmp_path / "other"))

    def test_what_is_of_another_run(self, tmp_path: Path) -> None:
        file = str(tmp_path / "weights")
        self.model().learn(save=file)
        for other in (
            self.model(smokes=["a", "b"]),
            hb.Model(hb.parse(self.THEORY + "\n?: not smokes(x)"), FACTS),
            hb.Model(hb.parse(self.THEORY + "\n?[x]: smokes(x)"), FACTS),
            hb.Model(
                hb.parse(self.THEORY.replace("friends", "knows")),
                {"smokes": FACTS["smokes"], "knows": FACTS["friends"]},
            ),
        ):  # fmt: skip
            with pytest.raises(UnsupportedError, match="another theory or other facts") as caught:
                other.learn(resume=file)
            assert file in str(caught.value)

    @pytest.mark.parametrize("content", [b"", b"0.5: smokes(x)\n", b"\x00" * 100, None, "cut"])
    def test_what_is_no_such_file(self, tmp_path: Path, content: bytes | str | None) -> None:
        file = tmp_path / "weights"
        if content is None:
            file.mkdir()
        elif isinstance(content, bytes):
            file.write_bytes(content)
        else:
            self.model().learn(save=str(file))
            file.write_bytes(file.read_bytes()[:-9])
        with pytest.raises(HerbrandError, match=r"no file|not a file of ours") as caught:
            self.model().learn(resume=str(file))
        assert str(file) in str(caught.value)

    def test_a_training_of_another_method(self, tmp_path: Path) -> None:
        file = str(tmp_path / "state")
        theory = hb.parse("predicate smokes(p)\npredicate old(p): observed\n1.0: old(x) => smokes(x)")
        hb.Model(theory, {"old": ["a", "b"]}).learn(
            "distillation", latent="smokes", iterations=1, size=4, save=file
        )
        with pytest.raises(UnsupportedError, match="another theory or other facts"):
            self.model().learn(resume=file)


@pytest.mark.parametrize("method", ["likelihood", "pseudo-likelihood", "layers"])
def test_a_world_without_labels_changes_nothing(method: str) -> None:
    theory = hb.parse(
        'type p = {"a", "b"}\npredicate s(p): observed\npredicate c(p)\n'
        "?: s(x) => c(x)\n?: c(x)\n?: c(x) and c(y) where x != y"
    )
    labelled = [{"s": ["a"], "c": ["a"]}, {"s": ["a", "b"], "c": ["b"]}, {"s": ["b"], "c": ["a", "b"]}]
    aim = {"method": method, "target": "c", "latent": "c", "l2": 0.1}
    with_it, without = (
        hb.Model(theory).learn(worlds=worlds, **aim) for worlds in ([*labelled, {"s": ["b"]}], labelled)
    )
    assert [one.weight for one in with_it.weights] == pytest.approx(
        [one.weight for one in without.weights], abs=1e-4
    )
    assert with_it.metrics["atoms"] == without.metrics["atoms"] == 4
    with pytest.raises(UnsupportedError, match="no atom of it is known"):
        hb.Model(theory).learn(worlds=[{"s": ["a"]}, {"s": ["b"]}], **aim)
