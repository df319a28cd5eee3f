"""Constructs of pracmln, ProbCog, Tuffy and LoMRF: each means what a sum over all worlds says."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import herbrand as hb
from herbrand.errors import LanguageError
from herbrand.language.dialects import read_theory_text
from herbrand.language.syntax import Atom, Hard, Variable, WeightedFormula
from herbrand.language.theory import Theory

World = Mapping[tuple[str, ...], bool]
PEOPLE = ("A", "B")


def worlds(predicates: Mapping[str, tuple[tuple[str, ...], ...]]) -> list[World]:
    """Every world over the predicates, each given by the constants of its arguments."""
    atoms = [(name, *row) for name, types in predicates.items() for row in itertools.product(*types)]
    every = itertools.product((False, True), repeat=len(atoms))
    return [dict(zip(atoms, values, strict=True)) for values in every]


def summed(
    predicates: Mapping[str, tuple[tuple[str, ...], ...]], log_weight: Callable[[World], float]
) -> tuple[float, dict[tuple[str, ...], float]]:
    """The log-partition and the marginals, by plain loops."""
    weights = [(world, math.exp(log_weight(world))) for world in worlds(predicates)]
    whole = math.fsum(weight for _, weight in weights)
    atoms = weights[0][0]
    chances = {atom: math.fsum(w for world, w in weights if world[atom]) / whole for atom in atoms}
    return math.log(whole), chances


def inferred(
    theory: Theory, facts: str | None = None, engine: str = "exact"
) -> tuple[float, dict[tuple[str, ...], float]]:
    answer = hb.Model(theory, facts).infer(engine=engine).to_dict()
    return answer["log_partition"], {
        (row["predicate"], *row["arguments"], *filter(None, [row["value"]])): row["probability"]
        for row in answer["marginals"]
    }


def assert_means(
    text: str,
    predicates: Mapping[str, tuple[tuple[str, ...], ...]],
    log_weight: Callable[[World], float],
    engine: str = "exact",
) -> None:
    """The same numbers as the sum over worlds, before and after a way through the language itself."""
    log_partition, chances = summed(predicates, log_weight)
    theory = read_theory_text(text, "mln")
    for one in (theory, hb.parse(hb.written(theory))):
        found, marginals = inferred(one, engine=engine)
        assert found == pytest.approx(log_partition)
        assert marginals == pytest.approx({atom: chances[atom] for atom in marginals})
        assert len(marginals) == len(chances)


S = {"S": (PEOPLE,)}
SM = {"S": (PEOPLE,), "M": (PEOPLE, PEOPLE)}
DECLARED = "person = {A, B}\nS(person)\n"


def value(world: World, name: str, *arguments: str) -> str | None:
    """The function's only value, if there is exactly one."""
    values = [v for v in PEOPLE if world[name, *arguments, v]]
    return values[0] if len(values) == 1 else None


def with_function(log_weight: Callable[[World, Mapping[str, str]], float]) -> Callable[[World], float]:
    def weighed(world: World) -> float:
        mother = {x: value(world, "M", x) for x in PEOPLE}
        known = {x: v for x, v in mother.items() if v is not None}
        return log_weight(world, known) if len(known) == len(PEOPLE) else -math.inf

    return weighed


def folder(tmp_path: Path, **files: str) -> tuple[str, str]:
    for name, text in files.items():
        (tmp_path / f"t.{name}").write_text(text)
    return str(tmp_path / "t.mln"), str(tmp_path / "t.db")


def count(holds: Callable[..., bool], variables: int = 1) -> int:
    return sum(holds(*row) for row in itertools.product(PEOPLE, repeat=variables))


FUNCTIONS: dict[str, Callable[[World, Mapping[str, str]], float]] = {
    "1.5 S(M(x)) v S(x)": lambda w, m: 1.5 * count(lambda x: w["S", m[x]] or w["S", x]),
    "-0.7 S(M(x)) ^ S(y)": lambda w, m: -0.7 * count(lambda x, y: w["S", m[x]] and w["S", y], 2),
    "0.8 S(M(M(x))) => S(x)": lambda w, m: 0.8 * count(lambda x: not w["S", m[m[x]]] or w["S", x]),
    "1 M(x) = A ^ S(x)": lambda w, m: count(lambda x: m[x] == "A" and w["S", x]),
    "1 M(x) != x v S(x)": lambda w, m: count(lambda x: m[x] != x or w["S", x]),
    "1 M(x) = M(y)": lambda w, m: count(lambda x, y: m[x] == m[y], 2),
    "1 EXIST y S(M(y)) ^ M(y) = x": lambda w, m: count(
        lambda x: any(w["S", m[y]] and m[y] == x for y in PEOPLE)
    ),
    "1 S(x) ^ (FORALL y S(M(y)))": lambda w, m: count(
        lambda x: w["S", x] and all(w["S", m[y]] for y in PEOPLE)
    ),
    "S(M(x)) => S(x).": lambda w, m: (
        0.0 if count(lambda x: not w["S", m[x]] or w["S", x]) == 2 else -math.inf
    ),
    "inf S(M(x))": lambda w, m: 0.0 if count(lambda x: w["S", m[x]]) == 2 else -math.inf,
    "-inf S(M(x))": lambda w, m: 0.0 if count(lambda x: not w["S", m[x]]) == 2 else -math.inf,
}


@pytest.mark.parametrize("formula", FUNCTIONS)
def test_a_function_has_exactly_one_value(formula: str) -> None:
    text = f"{DECLARED}person M(person)\n0.3 S(A)\n{formula}"
    weigh = FUNCTIONS[formula]
    assert_means(text, SM, with_function(lambda w, m: 0.3 * w["S", "A"] + weigh(w, m)))


WEIGHTS = {
    "log(0.7/0.3)": math.log(0.7 / 0.3),
    "logx(0)": -100.0,
    "log(4)/2": math.log(2),
    "-float('1.5')": -1.5,
    "2*(1-0.25)": 1.5,
    "+2": 2.0,
    "1.": 1.0,
    "1e-1": 0.1,
    "$w": math.log(3),
    "$w*2": 2 * math.log(3),
    "sqrt(2)**2": 2.0,
    "@0.5": 0.5,
}


@pytest.mark.parametrize("weight", WEIGHTS)
def test_weights_are_computed(weight: str) -> None:
    text = f"{DECLARED}$w = log(3) // so\n{weight} S(x)"
    (formula,) = read_theory_text(text, "mln").formulas
    assert formula.weight == pytest.approx(WEIGHTS[weight])


@pytest.mark.parametrize("weight", ["inf", "float('inf')", 'float("inf")'])
def test_infinite_weights_are_hard(weight: str) -> None:
    for sign in ("", "-"):
        (formula,) = read_theory_text(f"{DECLARED}{sign}{weight} S(x) ^ S(A)", "mln").formulas
        assert formula.weight == Hard()
    assert_means(
        f"{DECLARED}-{weight} S(x) ^ S(y) : x != y",
        S,
        lambda w: -math.inf if w["S", "A"] and w["S", "B"] else 0.0,
    )
    (formula,) = read_theory_text(f"{DECLARED}{weight} S(x)", "mln").formulas
    assert formula == WeightedFormula(Hard(), Atom("S", (Variable("x"),)))  # no function S of the type inf


def test_a_connective_may_fill_a_line() -> None:
    assert_means(f"{DECLARED}1.5 S(A)\n  v\n  (S(B) ^ S(A))", S, lambda w: 1.5 * w["S", "A"])


TEMPLATES: dict[str, Callable[[World], float]] = {
    "0.4 S|T(x) ^ *T(y)": lambda w: (
        0.4
        * sum(
            w[p, x] and w["T", y] == sign
            for p in "ST"
            for x in PEOPLE
            for y in PEOPLE
            for sign in (True, False)
        )
    ),
    "0.5 S(x), T(y) => S(y)": lambda w: (
        0.5 * count(lambda x, y: not (w["S", x] and w["T", y]) or w["S", y], 2)
    ),
    "0.6 S(?x) v T(?x) ^ S(A)": lambda w: 0.6 * count(lambda x: (w["S", x] or w["T", x]) and w["S", "A"]),
    "0.6 EXIST ?x S(?x) ^ T(?y)": lambda w: 0.6 * count(lambda y: (w["S", "A"] or w["S", "B"]) and w["T", y]),
    "#fixWeightFreq\n0.6 S(?x)": lambda w: 0.6 * count(lambda x: w["S", x]),
    "#unique{+?x,+?y}\n0 S(+?x) ^ S(+?y)\n0.5 S(?x)": lambda w: 0.5 * count(lambda x: w["S", x]),
}


@pytest.mark.parametrize("text", TEMPLATES)
def test_templates_and_the_second_grammar(text: str) -> None:
    assert_means(f"{DECLARED}T(person)\n{text}", {"S": (PEOPLE,), "T": (PEOPLE,)}, TEMPLATES[text])


def test_lower_case_names_are_constants_beside_question_marks() -> None:
    (formula,) = read_theory_text("seen(t, o)\n1 seen(?t,flower) ^ seen(?t,0.5_a!)", "mln").formulas
    assert hb.written(Theory((formula,))) == '1.0: seen(t, "flower") and seen(t, "0.5_a!")\n'


def test_soft_functional_arguments_have_at_most_one_value() -> None:
    assert_means(
        "person = {A, B}\nM(person, person?)\n0.5 M(A, x)",
        {"M": (PEOPLE, PEOPLE)},
        lambda w: (
            0.5 * count(lambda x: w["M", "A", x])
            if all(count(lambda y, x=x: w["M", x, y]) < 2 for x in PEOPLE)
            else -math.inf
        ),
    )


@pytest.mark.parametrize(
    ("term", "by"), [("t++", 1), ("t--", -1), ("t + 2", 2), ("t - 1", -1), ("t-1", None)]
)
def test_arithmetic_reaches_the_number_so_much_further_on(term: str, by: int | None) -> None:
    times = ("1", "2", "3")
    text = f"time = {{1, ..., 3}}\nH(time)\n0.3 H(1)\n1.5 H(t) => H({term})"
    if by is None:  # a name may hold a '-'
        assert any(
            v.name == "t-1" for v in read_theory_text(text, "mln").formulas[1].formula.conclusion.arguments
        )  # type: ignore[union-attr]
        return

    def weigh(world: World) -> float:
        pairs = [(t, str(int(t) + by)) for t in times if str(int(t) + by) in times]
        return 0.3 * world["H", "1"] + 1.5 * sum(not world["H", t] or world["H", u] for t, u in pairs)

    assert_means(text, {"H": (times,)}, weigh)


TIMES = ("1", "2", "10")
ORDERS: dict[str, Callable[[World, int, int], bool]] = {
    "H(s) ^ s > t => H(t)": lambda w, s, t: not (w["H", str(s)] and s > t) or w["H", str(t)],
    "H(s) ^ t >= s => H(t)": lambda w, s, t: not (w["H", str(s)] and t >= s) or w["H", str(t)],
    "s < t, H(s) => H(t)": lambda w, s, t: not (w["H", str(s)] and s < t) or w["H", str(t)],
    "H(s) ^ H(t) ^ [s <= t]": lambda w, s, t: w["H", str(s)] and w["H", str(t)] and s <= t,
    "H(s) ^ H(t) ^ s > 1.5": lambda w, s, t: w["H", str(s)] and w["H", str(t)] and s > 1.5,
    "H(s) v !H(t) v 2 <= t": lambda w, s, t: w["H", str(s)] or not w["H", str(t)] or t >= 2,
    "H(s) ^ H(t) ^ t < 10": lambda w, s, t: w["H", str(s)] and w["H", str(t)] and t < 10,
    "greaterThan(s, t) ^ H(s) => H(t)": lambda w, s, t: not (w["H", str(s)] and s > t) or w["H", str(t)],
    "lessThanEq(s, t) ^ H(s) ^ H(t)": lambda w, s, t: w["H", str(s)] and w["H", str(t)] and s <= t,
    "H(s) ^ notEquals(s, t) => H(t)": lambda w, s, t: not (w["H", str(s)] and s != t) or w["H", str(t)],
    "s = t + 8 ^ H(s) ^ H(t)": lambda w, s, t: s == t + 8 and w["H", str(s)] and w["H", str(t)],
    "H(s) ^ s != succ(t) v H(t)": lambda w, s, t: (w["H", str(s)] and s != t + 1) or w["H", str(t)],
    "H(s) ^ s - 1 > t + 2 v H(t)": lambda w, s, t: (w["H", str(s)] and s > t + 3) or w["H", str(t)],
    "H(s) ^ H(t) ^ lessThanEq(s + 1, t)": lambda w, s, t: w["H", str(s)] and w["H", str(t)] and s + 1 <= t,
    "H(s) ^ H(t) ^ t + 1 = 3": lambda w, s, t: w["H", str(s)] and w["H", str(t)] and t == 2,
    "H(s) ^ H(t) ^ 3 <= t + 2": lambda w, s, t: w["H", str(s)] and w["H", str(t)] and t >= 1,
}


@pytest.mark.parametrize("formula", ORDERS)
def test_numbers_of_a_type_are_compared_by_their_values(formula: str) -> None:
    text = f"time = {{1, 2, 10}}\nH(time)\n0.3 H(1)\n0.8 {formula}"
    assert_means(
        text,
        {"H": (TIMES,)},
        lambda w: (
            0.3 * w["H", "1"] + 0.8 * sum(ORDERS[formula](w, int(s), int(t)) for s in TIMES for t in TIMES)
        ),
    )


def test_numbers_too_long_for_a_float_are_compared_whole() -> None:
    later, earlier = "9007199254740993", "9007199254740992"
    theory = read_theory_text(f"time = {{{later}, {earlier}}}\nH(time)\n1 H(s) ^ H(t) ^ s > t", "mln")
    assert [list(zip(*rows.columns, strict=True)) for rows in theory.facts] == [[(later, earlier)]]


@pytest.mark.parametrize(
    "condition", ["u = t + 1", "t + 1 = u", "u - 1 = t", "succ(t) = u", "u = succ(t)", "t = prec(u)"]
)
def test_a_step_may_stand_in_an_equation(condition: str) -> None:
    def weigh(world: World) -> float:
        kept = all(not world["H", t] or world["H", u] for t, u in ("12", "23"))
        return 0.3 * world["H", "1"] if kept else -math.inf

    text = f"time = {{1, ..., 3}}\nH(time)\n0.3 H(1)\n{condition} ^ H(t) => H(u)."
    assert_means(text, {"H": (("1", "2", "3"),)}, weigh)


@pytest.mark.parametrize(
    ("formula", "pairs"),
    [
        ("H(succ(t)) ^ H(prec(t))", [("3", "1"), ("4", "2")]),
        ("H(succ(succ(t))) ^ H(t)", [("3", "1"), ("4", "2")]),
        ("H(succ(t - 1 )) ^ H(prec(t + 1))", [("2", "2"), ("3", "3")]),
        ("H(succ(2)) ^ H(prec(2))", [("3", "1")]),
    ],
)
def test_a_step_has_the_type_of_its_place(formula: str, pairs: list[tuple[str, str]]) -> None:
    """Where its variable stands in no other atom: ``Next(succ(t), prec(t))`` was refused."""
    assert_means(
        f"time = {{1, ..., 4}}\nH(time)\n0.3 H(1)\n0.8 {formula}",
        {"H": (("1", "2", "3", "4"),)},
        lambda w: 0.3 * w["H", "1"] + 0.8 * sum(w["H", one] and w["H", other] for one, other in pairs),
    )


UNLISTED: dict[str, Callable[[World, int, int], bool]] = {
    **ORDERS,
    "H(t) => H(t + 1) ^ H(s)": lambda w, s, t: (
        t == 1 and (not w["H", "1"] or (w["H", "2"] and w["H", str(s)]))
    ),
    "H(t--) ^ H(t) ^ H(s)": lambda w, s, t: t == 2 and w["H", "1"] and w["H", "2"] and w["H", str(s)],
    "H(t) ^ H(s) ^ t = 2": lambda w, s, t: t == 2 and w["H", "2"] and w["H", str(s)],
    "H(10) ^ H(t) ^ H(s)": lambda w, s, t: w["H", "10"] and w["H", str(s)] and w["H", str(t)],
    "H(s) ^ H(t) v EXIST u H(u) ^ H(u + 1) ^ u < s": lambda w, s, t: (
        (w["H", str(s)] and w["H", str(t)]) or (s > 1 and w["H", "1"] and w["H", "2"])
    ),
}


@pytest.mark.parametrize("formula", UNLISTED)
def test_numbers_that_stand_in_the_database_alone(formula: str, tmp_path: Path) -> None:
    """As those that the file lists, and as numbers: a type that is counted on or ordered has no text."""
    theory, facts = folder(
        tmp_path, mln=f"*N(time)\nH(time)\n0.3 H(1)\n0.1 H(t) ^ t > 0\n0.8 {formula}", db="N(1)\nN(2)\nN(10)"
    )

    def weigh(world: World) -> float:
        kept = sum(UNLISTED[formula](world, int(s), int(t)) for s in TIMES for t in TIMES)
        return 0.3 * world["H", "1"] + 0.1 * sum(world["H", t] for t in TIMES) + 0.8 * kept

    log_partition, chances = summed({"H": (TIMES,)}, weigh)
    for one in (hb.read(theory), hb.parse(hb.written(hb.read(theory)))):
        found, marginals = inferred(one, facts)
        assert found == pytest.approx(log_partition)
        assert marginals == pytest.approx({("H", int(t)): chances["H", t] for t in TIMES})


@pytest.mark.parametrize("included", [False, True])
def test_a_database_gives_text_or_numbers_as_the_type_is(included: bool, tmp_path: Path) -> None:
    """Of functions and many-valued predicates too, whether it stands beside the file or within it."""
    text = "N(time)\nS(person, time)\ntime Born(person)\nAt(person, time!)\n"
    text += "1 S(x, t) ^ t > Born(x) => At(x, t)\n"
    theory, facts = folder(
        tmp_path,
        mln=text + '#include "t.db"' * included,
        db="N(1)\nN(3)\n3 = Born(A)\nAt(A, 3)\n0.9 S(A, 3)",
    )
    model = hb.Model(theory, None if included else facts)
    atoms = {row["atom"] for row in model.infer().to_dict()["marginals"]}
    assert atoms == {'S("A", 1)', 'S("A", 3)'}


def test_numbers_that_a_database_lists_for_its_type(tmp_path: Path) -> None:
    theory, facts = folder(tmp_path, mln="H(time)\n1 H(t) => H(t++)", db="time = {1, 2}\nH(1)")
    _, marginals = inferred(hb.read(theory), facts)
    assert marginals == pytest.approx({("H", 2): 1 / (1 + math.exp(-1))})
    Path(facts).write_text("time = {1, Noon}\nH(1)")
    with pytest.raises(hb.HerbrandError, match='"Noon" is not a number; type'):
        hb.Model(theory, facts).infer()


COUNTED: dict[str, Callable[[World], float]] = {
    "0.7 count(F(?x, ?y) | ?x) >= 1": lambda w: 0.7 * count(lambda x: any(w["F", x, y] for y in PEOPLE)),
    "0.7 count(F(?x, ?y)) = 3": lambda w: 0.7 * (count(lambda x, y: w["F", x, y], 2) == 3),
    "count(F(?x, ?y) | ?y) <= 1.": lambda w: (
        0.0 if all(count(lambda x, y=y: w["F", x, y]) <= 1 for y in PEOPLE) else -math.inf
    ),
}


@pytest.mark.parametrize("formula", COUNTED)
def test_groundings_are_counted(formula: str) -> None:
    text = f"person = {{A, B}}\nF(person, person)\n0.4 F(?x, A)\n{formula}"
    weigh = COUNTED[formula]
    assert_means(
        text,
        {"F": (PEOPLE, PEOPLE)},
        lambda w: 0.4 * count(lambda x: w["F", x, "A"]) + weigh(w),
        engine="circuit",  # what counts what is uncertain
    )


def test_a_weight_may_be_a_number_of_an_observed_atom(tmp_path: Path) -> None:
    theory, facts = folder(
        tmp_path, mln="*L(person, person, score)\nS(person)\nw: L(x, y, w), S(x) => S(y)", db="L(A, B, 1.5)"
    )
    log_partition, chances = summed(S, lambda w: 1.5 * (3 + (not w["S", "A"] or w["S", "B"])))
    found, marginals = inferred(hb.read(theory), facts)
    assert (found, marginals) == (pytest.approx(log_partition), pytest.approx(chances))
    assert hb.parse(hb.written(hb.read(theory))) == hb.read(theory)


def test_conditions_in_brackets_have_words() -> None:
    words = "person = {A, B}\nS(person)\n1 S(x) ^ S(y) ^ [x != y AND NOT x = A OR x = y]"
    signs = "person = {A, B}\nS(person)\n1 S(x) ^ S(y) ^ (x != y ^ !(x = A) v x = y)"
    assert read_theory_text(words, "mln") == read_theory_text(signs, "mln")


WITHOUT_NUMBERS = {
    "time = {Noon}\nH(time)\n1 H(t) ^ t > 2": "an order comparison needs the numbers of type 'time'",
    "time = {Noon, 2}\nH(time)\n1 H(t) ^ t > 2": "type 'time' has constants that are no numbers, such",
    "time = {1, 2}\nH(time)\n1 H(t) ^ t > Noon": "a variable with a variable or a number",
    "time = {1, 2}\nH(time)\n1 H(t) ^ u > 2": "nothing says what type 'u' has",
    "1 H(t) ^ t > 2": "nothing says what type 't' has",
    "H(time)\n1 H(t) <= H(u)": "'H' has no value to be compared",
    "H(time)\n1 H(Noon) ^ H(t) ^ t > 2": "'Noon' is no number",
}


@pytest.mark.parametrize("text", WITHOUT_NUMBERS)
def test_order_without_numbers_is_refused(text: str) -> None:
    with pytest.raises(LanguageError, match=WITHOUT_NUMBERS[text]):
        read_theory_text(text, "mln")


def test_a_line_may_begin_with_a_connective() -> None:
    broken = f"{DECLARED}0.5 S(x)\n\n  ^ S(y)\n  => S(A)\n0.3 S(x)\n v S(B)\n1.0 S(A)"
    assert read_theory_text(broken, "mln") == read_theory_text(
        f"{DECLARED}0.5 S(x) ^ S(y) => S(A)\n0.3 S(x) v S(B)\n1.0 S(A)", "mln"
    )


def test_a_predicate_may_be_declared_behind_its_first_use() -> None:
    """In a file that declares others. The same line once more is a formula of unknown weight."""
    text = "person = {A, B}\nS(person)\n0.5 S(x) => T(x)\nT(person)\n"
    before = "person = {A, B}\nS(person)\nT(person)\n0.5 S(x) => T(x)\n"
    late, early = (read_theory_text(one, "mln") for one in (text, before))
    assert set(late.statements) == set(early.statements)
    with pytest.raises(LanguageError, match="'T' is declared twice"):
        read_theory_text(f"{text}T(person)\n", "mln")
    with pytest.raises(LanguageError, match="'T' is used before it is declared"):
        read_theory_text(text.replace("T(person)", "T(person!)"), "mln")


def test_values_of_functions_from_a_database(tmp_path: Path) -> None:
    theory, facts = folder(
        tmp_path, mln="S(person)\nperson M(person)\n1.5 S(M(x)) => S(x)", db="B = M(A)\nM(B) = A"
    )
    log_partition, chances = summed(
        S, lambda w: 1.5 * ((not w["S", "B"] or w["S", "A"]) + (not w["S", "A"] or w["S", "B"]))
    )
    found, marginals = inferred(hb.read(theory), facts)
    assert found == pytest.approx(log_partition)
    assert marginals == pytest.approx(chances)


def test_a_function_of_which_a_database_lists_a_part_has_some_value_elsewhere(tmp_path: Path) -> None:
    theory, facts = folder(
        tmp_path, mln="person = {A, B}\nS(person)\nperson M(person)\n1.5 S(M(x)) => S(x)", db="B = M(A)\n"
    )

    def weigh(world: World, mother: Mapping[str, str]) -> float:
        if mother["A"] != "B":
            return -math.inf
        return 1.5 * count(lambda x: not world["S", mother[x]] or world["S", x])

    log_partition, chances = summed(SM, with_function(weigh))
    found, marginals = inferred(hb.read(theory), facts)
    assert found == pytest.approx(log_partition)
    assert marginals == pytest.approx({atom: chances[atom] for atom in marginals})
    assert {atom for atom in chances if atom[:2] != ("M", "A")} == {*marginals}


def test_constants_and_opinions_from_a_database(tmp_path: Path) -> None:
    """What a database of pracmln's does not list is unknown, and its types have the constants it names."""
    theory, facts = folder(
        tmp_path,
        mln="S(person)\nF(person, person)\n1.5 S(x) ^ F(x, y) => S(y)",
        db="person = {A, B}\nF(A, B)\n0.7 S(A)\n",
    )
    log_partition, chances = summed(
        {"S": (PEOPLE,), "F": (PEOPLE, PEOPLE)},
        lambda w: (
            1.5 * count(lambda x, y: not (w["S", x] and w["F", x, y]) or w["S", y], 2)
            + math.log(0.7 / 0.3) * w["S", "A"]
            if w["F", "A", "B"]
            else -math.inf
        ),
    )
    found, marginals = inferred(hb.read(theory), facts)
    assert found == pytest.approx(log_partition)
    assert marginals == pytest.approx({atom: chances[atom] for atom in marginals})
    assert len(marginals) == 5


def test_a_database_names_a_type_that_there_is(tmp_path: Path) -> None:
    theory, facts = folder(tmp_path, mln="S(person)\n1 S(x)", db="persn = {A}\n")
    with pytest.raises(hb.HerbrandError, match="there is no type 'persn'"):
        hb.Model(hb.read(theory), facts).infer()


ALCHEMY = "S(person)\nF(person)\n1 S(x) ^ F(x)\n"


@pytest.mark.parametrize(
    ("text", "latent"),
    [
        (ALCHEMY, {"S"}),
        (f"*T(person)\n{ALCHEMY}", {"S", "F"}),
        (ALCHEMY.replace("x", "?x"), {"S", "F"}),
        (f"{ALCHEMY}log(2) S(x)", {"S", "F"}),
    ],
)
def test_what_is_not_listed_is_what_the_dialect_says(tmp_path: Path, text: str, latent: set[str]) -> None:
    """Closed in Alchemy and LoMRF where facts are; open beside Tuffy's stars and pracmln's signs."""
    theory, facts = folder(tmp_path, mln=f"person = {{A, B, C}}\n{text}", db="F(A)\n!F(C)\n")
    _, marginals = inferred(hb.read(theory), facts)
    assert {predicate for predicate, *_ in marginals} == latent


@pytest.mark.parametrize("line", ["5and x", "1.5e P(x)", "0x P(x)", "1if P(x)", '"a"("b") P(x)', "1_ P(x)"])
def test_what_is_no_arithmetic_warns_nobody(line: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LanguageError):
            read_theory_text(line, "mln")


def test_soft_evidence_leaves_a_predicate_open(tmp_path: Path) -> None:
    """Probabilities of 0 and 1 are facts, and close nothing where others lie between."""
    theory, facts = folder(
        tmp_path, mln="S(person)\nF(person)\n1 S(x) ^ F(x)\n", db="F(A) 0.7\nF(B) 1.0\nF(C) 0\n"
    )
    _, marginals = inferred(hb.read(theory), facts)
    ratio = (1 + math.e) / 2
    assert marginals["F", "A"] == pytest.approx(0.7 * ratio / (0.7 * ratio + 0.3))
    assert set(marginals) == {("S", "A"), ("S", "B"), ("S", "C"), ("F", "A")}
