"""Networks are read, answered as their product of tables says, and written again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.errors import HerbrandError
from herbrand.language.dialects import read_theory_text
from herbrand.language.parse import parse_formula
from herbrand.language.theory import Theory
from tests.laws import tries
from tests.oracles.choices import worlds_of
from tests.oracles.networks import Table, summed

NAMES = ["a", "b-2", "x<3", "P", "été"]
LABELS = ["yes", "no", "<=7.5", "50%"]


class Network:
    def __init__(self, sizes: list[int], tables: list[Table], conditional: bool) -> None:
        self.sizes, self.tables, self.conditional = sizes, tables, conditional

    def bif(self) -> str:
        lines = ["network random {", '  property "made {by} a test";', "}"]
        for name, size in zip(NAMES, self.sizes, strict=False):
            values = ", ".join(LABELS[:size])
            lines.append(f"variable {name} {{ // a comment\n type discrete [ {size} ] {{ {values} }};\n}}")
        for scope, entries in self.tables:
            *parents, child = scope
            width = self.sizes[child]
            given = " | " + ", ".join(NAMES[i] for i in parents) if parents else ""
            lines.append(f"probability ( {NAMES[child]}{given} ) {{")
            for row, place in enumerate(product(*(range(self.sizes[i]) for i in parents))):
                numbers = ", ".join(map(repr, entries[row * width : row * width + width]))
                case = ", ".join(LABELS[i] for i in place)
                lines.append(f"  ({case}) {numbers};" if parents else f"  table {numbers};")
            lines.append("}")
        return "\n".join(lines)

    def uai(self) -> str:
        lines = [
            "BAYES" if self.conditional else "MARKOV",
            str(len(self.sizes)),
            " ".join(map(str, self.sizes)),
        ]
        lines.append(str(len(self.tables)))
        lines += [f"{len(scope)} {' '.join(map(str, scope))}" for scope, _ in self.tables]
        lines += [f"\n{len(entries)}\n {' '.join(map(repr, entries))}" for _, entries in self.tables]
        return "\n".join(lines)


@st.composite
def networks(draw: st.DrawFn, conditional: bool = True) -> Network:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    weight = st.sampled_from([0, 0, 1, 2, 3, 7])
    tables = []
    if conditional:
        order = draw(st.permutations(range(len(sizes))))
        for place, child in enumerate(order):
            parents = draw(st.lists(st.sampled_from(order[:place]), max_size=2, unique=True)) if place else []
            entries: list[float] = []
            for _ in range(math.prod(sizes[i] for i in parents)):
                row = draw(st.lists(weight, min_size=sizes[child], max_size=sizes[child]))
                row = row if sum(row) else [1] * len(row)
                entries += [x / sum(row) for x in row]
            tables.append(Table((*parents, child), tuple(entries)))
    else:
        scopes = st.lists(st.sampled_from(range(len(sizes))), max_size=3, unique=True)
        for scope in draw(st.lists(scopes, max_size=4)):
            count = math.prod(sizes[i] for i in scope)
            found = draw(st.lists(weight, min_size=count, max_size=count))
            tables.append(Table(tuple(scope), tuple(float(x) for x in found)))
    return Network(sizes, tables, conditional)


def check_answer(
    theory: Theory,
    network: Network,
    names: list[str],
    labels: list[str],
    evidence: dict[int, int],
    **options: str,
) -> None:
    want = summed(network.sizes, network.tables, evidence)
    given = [
        f"`{names[i]}` = {json.dumps(labels[value], ensure_ascii=False)}" for i, value in evidence.items()
    ]
    model = hb.Model(theory)
    if not want.total:
        with pytest.raises(HerbrandError):
            model.infer(given=given, **options)
        return
    answer = model.infer(given=given, **options).to_dict()
    if options.get("engine", "auto") in ("auto", "exact"):
        assert answer["guarantee"] == "exact"
        assert answer["log_partition"] == pytest.approx(math.log(want.total), abs=1e-9)
    got = {(row["predicate"], row["value"]): row["probability"] for row in answer["marginals"]}
    for i, shares in enumerate(want.marginals):
        if i not in evidence:
            for label, share in zip(labels, shares, strict=False):
                assert got[names[i], label] == pytest.approx(share, abs=1e-9)
    assert len(got) == sum(size for i, size in enumerate(network.sizes) if i not in evidence)


@st.composite
def with_evidence(draw: st.DrawFn, conditional: bool) -> tuple[Network, dict[int, int]]:
    network = draw(networks(conditional))
    observed = draw(st.lists(st.sampled_from(range(len(network.sizes))), max_size=2, unique=True))
    return network, {i: draw(st.integers(0, network.sizes[i] - 1)) for i in observed}


@settings(max_examples=tries(25))
@given(with_evidence(True))
def test_bif_means_the_product_of_its_tables(case: tuple[Network, dict[int, int]]) -> None:
    network, evidence = case
    theory = read_theory_text(network.bif(), "bif")
    check_answer(theory, network, NAMES, LABELS, evidence)


@settings(max_examples=tries(25))
@given(st.booleans().flatmap(with_evidence))
def test_uai_means_the_product_of_its_tables(case: tuple[Network, dict[int, int]]) -> None:
    network, evidence = case
    digits = [str(i) for i in range(5)]
    theory = read_theory_text(network.uai(), "uai")
    check_answer(theory, network, digits, digits, evidence)


@settings(max_examples=tries(10))
@given(st.booleans().flatmap(with_evidence))
def test_the_printed_theory_means_the_same(case: tuple[Network, dict[int, int]]) -> None:
    network, evidence = case
    digits = [str(i) for i in range(5)]
    theory = hb.parse(hb.written(read_theory_text(network.uai(), "uai")))
    check_answer(theory, network, digits, digits, evidence)


@settings(max_examples=tries(10))
@given(st.booleans().flatmap(with_evidence), st.sampled_from(["lifted", "circuit"]))
def test_engines_that_read_cells_agree(case: tuple[Network, dict[int, int]], engine: str) -> None:
    network, evidence = case
    digits = [str(i) for i in range(5)]
    theory = read_theory_text(network.uai(), "uai")
    check_answer(theory, network, digits, digits, evidence, engine=engine)


@settings(max_examples=tries(30))
@given(networks())
def test_written_as_bif_and_read_again(network: Network) -> None:
    theory = read_theory_text(network.bif(), "bif")
    through_our_language = hb.parse(hb.written(theory))
    for said in (theory, through_our_language):
        again = read_theory_text(hb.written(said, "bif"), "bif")
        assert again.predicates == theory.predicates
        assert {t.scope[-1]: t for t in again.tables} == {t.scope[-1]: t for t in theory.tables}


SPRINKLER = """
network sprinkler { }
variable "rain today"/* ; */{ type discrete// {
 [ 2 ] { yes/* , */, no }; property position = (1, 2) ; }
variable wet { type discrete[2] { yes no }; }
probability ( wet | "rain today" ) { default 0.1, 0.9; (yes) 0.99, 0.01; /* the rest
 is default */ }
probability ( "rain today" ) { table 0.2 0.8; }
"""


def test_comments_properties_defaults_quotes_and_any_order() -> None:
    marginals = hb.Model(read_theory_text(SPRINKLER, "bif")).infer()
    assert marginals["wet"] == pytest.approx({"yes": 0.2 * 0.99 + 0.8 * 0.1, "no": 0.2 * 0.01 + 0.8 * 0.9})


def test_values_may_be_named_like_words_of_the_format() -> None:
    """A property is the word with something behind it, up to its end."""
    text = """network n { property variable = a; property "q}" x }
    variable table { type discrete [3] { property, default, variable }; property p = (1, 2); }
    variable property-tax { type discrete [2] { network, property }; property x }
    probability ( table ) { table 0.2, 0.3, 0.5; property p 1; }
    probability ( property-tax | table ) { (property) 0.1, 0.9; (default) 0.5, 0.5; default 1.0, 0.0; }"""
    found = hb.Model(read_theory_text(text, "bif")).infer()
    assert found["table"] == pytest.approx({"property": 0.2, "default": 0.3, "variable": 0.5})
    assert found["`property-tax`"]["property"] == pytest.approx(0.2 * 0.9 + 0.3 * 0.5)


def test_a_whole_table_lists_the_values_of_the_variable_slowest() -> None:
    text = (
        "variable f { type discrete [2] {t, f}; } variable l { type discrete [2] {t, f}; }"
        "probability (f) { table 0.3 0.7; } probability (l | f) { table 0.6 0.05 0.4 0.95; }"
    )
    given = hb.Model(read_theory_text(text, "bif")).infer(given=['f = "t"'])
    assert given["l"] == pytest.approx({"t": 0.6, "f": 0.4})


def test_rows_that_were_rounded_are_scaled() -> None:
    text = "variable c { type discrete [3] {r, g, b}; } probability (c) { table 0.33, 0.33, 0.33; }"
    assert hb.Model(read_theory_text(text, "bif")).infer()["c"]["r"] == pytest.approx(1 / 3, abs=1e-12)


ONE = "variable a { type discrete [2] {t, f}; }\n"
TWO = ONE + "variable b { type discrete [2] {t, f}; }\nprobability (a) { table 0.5, 0.5; }\n"


def test_comments_of_uai_stand_on_lines_and_behind_words() -> None:
    """Some programs name the variable of each table behind it, as pyAgrum does."""
    text = "c a coin\nBAYES # kind\n1\n2\n1\n1 0   # coin\n# table\n2 # P(coin)\n0.3 0.7#\n"
    assert read_theory_text(text, "uai").tables[0].values.tolist() == [0.3, 0.7]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ONE, "1:1: variable 'a' has no probabilities"),
        (ONE + ONE + "probability (a) { table 1, 0; }", "2:10: variable 'a' is declared twice"),
        ("variable a { type discrete [3] {t, f}; }", "1:29: variable 'a' has 2 values, and [ 3 ] is written"),
        ("variable a { type discrete [2] {t}; }", "1:29: variable 'a' has 1 value, and [ 2 ] is written"),
        ("variable a { type discrete [2] {t, t}; }", "'a' has a value twice"),
        ("variable a { type discrete [0] {}; }", "variable 'a' has no values"),
        ("variable a { type discrete [", "expected the number of values, found the end of the text"),
        ("variable a { type discrete [] {t}; }", "expected the number of values, found ']'"),
        ("variable a { type continuous; }", "expected 'discrete', found 'continuous'"),
        ("variable a { type discrete [2] {t, f", "found the end of the text"),
        ("variables", "expected 'network', 'variable' or 'probability', found 'variables'"),
        (ONE + "probability (a) { table 0.5, 0.2; }", "2:25: these probabilities add up to 0.7"),
        (ONE + "probability (a) { table 0.5; }", "2:25: expected 2 probabilities, found 1"),
        (ONE + "probability (a) { table 0.5, half; }", "expected a probability, found 'half'"),
        (ONE + "probability (a) { table 0.1_0, 0.9; }", "2:25: expected a probability, found '0.1_0'"),
        (ONE + "probability (a) { table 0.\uff11, 0.9; }", "expected a probability, found '0.\uff11'"),
        (ONE + "probability (a) { table 1.5, -0.5; }", "-0.5 is not a number of at least 0"),
        (ONE + "probability (a) { table nan, 1; }", "nan is not a number of at least 0"),
        (ONE + "probability (a) { table 1, 0", "2:1: this block has no closing '}'"),
        (ONE + "/* probability (a) { table 1, 0; }\n", "2:1: this comment is not closed"),
        (ONE + "probability (a) { table 1, 0; } /*/", "2:33: this comment is not closed"),
        (ONE + "probability (a) { }", "there is no default, and 0 rows for 1 case of the parents"),
        (ONE + "probability (a | c) { table 1, 0; }", "2:14: there is no variable 'c'"),
        (ONE + "probability (a | a) { table 1, 0; }", "a variable stands here twice"),
        (TWO + "probability (a) { table 0.5, 0.5; }", "'a' has probabilities already"),
        (TWO + "probability (b | a) { (t) 0.5, 0.5; }", "no default, and 1 row for 2 cases of the parents"),
        (TWO + "probability (b | a) { (t) 0.5, 0.5; (u) 1, 0; }", "4:38: 'a' has no value 'u'"),
        (TWO + "probability (b | a) { (t) 1, 0; (t) 1, 0; }", "these values have a row already"),
        (TWO + "probability (b | a) { default 1, 0; default 0, 1; }", "4:37: there is a default already"),
        (TWO + "probability (b | a) { (t, f) 1, 0; }", "2 values for 1 parent"),
        (TWO + "probability (b | a) { (t) 1, 0; (f) 1, x; }", "4:33: expected a probability, found 'x'"),
        (TWO + "probability (b | a) { (t) 1, 0; (f) 1, 1; }", "4:33: these probabilities add up to 2"),
        (
            "".join(f"variable v{i} {{ type discrete [2] {{t, f}}; }}\n" for i in range(40))
            + f"probability (v0 | {', '.join(f'v{i}' for i in range(1, 40))}) {{ default 0.5, 0.5; }}",
            "a table of 1,099,511,627,776 entries",
        ),
        (
            "variable a { type discrete [1] {t}; } variable b { type discrete [1] {t}; }"
            "probability (a | b) { (t) 1; } probability (b | a) { (t) 1; }",
            "'a' depends on itself by way of its parents",
        ),
        (
            "variable c { type discrete [1] {t}; } variable a { type discrete [1] {t}; }"
            "variable b { type discrete [1] {t}; } probability (c | a) { (t) 1; }"
            "probability (a | b) { (t) 1; } probability (b | a) { (t) 1; }",
            "'a' depends on itself by way of its parents",
        ),
    ],
)
def test_mistakes_of_bif(text: str, message: str) -> None:
    with pytest.raises(HerbrandError) as caught:
        read_theory_text(text, "bif", "n.bif")
    assert message in str(caught.value)
    assert str(caught.value).startswith("n.bif:")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: expected BAYES or MARKOV, found the end of the text"),
        ("LIMID 1", "a network of kind 'LIMID'"),
        ("MARKOV x", "expected the number of variables, found 'x'"),
        ("MARKOV 1 0", "expected the number of values of variable 0, found '0'"),
        ("MARKOV 1 2 1 1 1", "there is no variable 1"),
        ("MARKOV 1 2 1 2 0 0", "variable 0 stands twice"),
        ("MARKOV 1 2 1 1 0 3 1 1 1", "a table of 3 entries; its variables have 2 cases"),
        ("MARKOV 1 2 1 1 0 2 1", "expected 2 numbers of a table, found the end of the text"),
        ("MARKOV 1 2 1 1 0\n2 1 x", "2:5: expected a number of a table, found 'x'"),
        ("MARKOV 1 2 1 1 0\n2 1 1_0", "2:5: expected a number of a table, found '1_0'"),
        ("MARKOV 1 2 1 1 0\n2 1 \u0661", "2:5: expected a number of a table, found '\u0661'"),
        ("MARKOV 1 2 1 1 0\n2 1 -1", "2:5: -1 is not a number of at least 0"),
        ("MARKOV 1 2 1 1 0 2 1 1 7", "more follows than the tables"),
        ("BAYES 2 2 2 2 1 0 2 0 1\n2 1 0\n4 1 0\n1 1", "4:1: probabilities of this table add up to 2"),
        ("BAYES 1 2 1 1 0 2 1 1", "probabilities of this table add up to 2"),
        ("BAYES 1 2 0", "variable 0 has no table"),
        ("BAYES 1 2 2 1 0 1 0 2 1 0 2 1 0", "variable 0 has two tables"),
        ("BAYES 1 2 1 0 1 1", "expected the number of variables of a table, found '0'"),
    ],
)
def test_mistakes_of_uai(text: str, message: str) -> None:
    with pytest.raises(HerbrandError) as caught:
        read_theory_text(text, "uai", "n.uai")
    assert message in str(caught.value)
    assert str(caught.value).startswith("n.uai:")


@pytest.mark.parametrize("evidence", ["1 0 1", "1\n1 0 1", "c a comment\n1 0 1\n"])
def test_evidence_files(tmp_path: Path, evidence: str) -> None:
    (tmp_path / "n.uai").write_text("BAYES 2 2 2 2 1 0 2 0 1  2 0.3 0.7  4 0.9 0.1 0.2 0.8")
    (tmp_path / "n.uai.evid").write_text(evidence)
    answer = hb.Model(hb.read(tmp_path / "n.uai"), tmp_path / "n.uai.evid").infer()
    assert answer["`1`"] == pytest.approx({"0": 0.2, "1": 0.8})
    assert answer.log_partition == pytest.approx(math.log(0.7), abs=1e-12)


@pytest.mark.parametrize("call", [{"query": "0"}, {"map": True, "of": " 1"}, {"query": "my-own"}])
def test_a_bare_name_that_needs_back_quotes_is_told_so(call: dict[str, Any]) -> None:
    theory = read_theory_text("MARKOV 2 2 2 0", "uai", "n.uai")
    own = hb.parse('predicate `my-own` in {"a", "b"}')
    model = hb.Model(Theory((*theory.statements, *own.statements)))
    name = call.get("query", call.get("of")).strip()
    with pytest.raises(HerbrandError, match=f"write the name of this predicate in back-quotes: `{name}`"):
        model.infer(**call)


def test_several_samples_of_evidence_are_told(tmp_path: Path) -> None:
    (tmp_path / "n.uai").write_text("BAYES 1 2 1 1 0 2 0.3 0.7")
    (tmp_path / "n.evid").write_text("2\n1 0 1\n1 0 0\n")
    with pytest.raises(HerbrandError, match=r"1:1: 2 samples of evidence, which are 2 questions"):
        hb.Model(hb.read(tmp_path / "n.uai"), tmp_path / "n.evid").infer()


@pytest.mark.parametrize(
    "evidence",
    ["1 5 1", "1 0 9", "2 0 1", "1 0 1 7", "1 0 x", "\u00b2 0 1", "1" * 5000 + " 0 1", "1 0 \u00b2"],
)
def test_wrong_evidence_is_refused(tmp_path: Path, evidence: str) -> None:
    (tmp_path / "n.uai").write_text("BAYES 1 2 1 1 0 2 0.3 0.7")
    (tmp_path / "n.evid").write_text(evidence)
    with pytest.raises(HerbrandError):
        hb.Model(hb.read(tmp_path / "n.uai"), tmp_path / "n.evid").infer()


def test_evidence_of_probability_0_names_statements() -> None:
    theory = read_theory_text(TWO + "probability (b | a) { (t) 1, 0; (f) 1, 0; }", "bif")
    with pytest.raises(HerbrandError, match=r"no world satisfies"):
        hb.Model(theory).infer(given=['b = "f"'])


def test_weighted_formulas_beside_tables_multiply() -> None:
    theory = read_theory_text(SPRINKLER, "bif") + hb.parse('predicate wet in {"yes", "no"}\n1.0: wet = "yes"')
    kept = Theory(tuple(dict.fromkeys(theory.statements)))
    odds = (0.2 * 0.99 + 0.08) / (0.2 * 0.01 + 0.72) * math.e
    assert hb.Model(kept).infer()["wet"]["yes"] == pytest.approx(odds / (1 + odds), abs=1e-12)


def test_what_is_no_network_is_not_written_as_bif() -> None:
    with pytest.raises(HerbrandError, match=r"a \.bif file cannot say this: 1\.0: a"):
        hb.written(hb.parse("1.0: a"), "bif")
    with pytest.raises(HerbrandError, match=r"a \.bif file has no tables of potentials"):
        hb.written(read_theory_text("MARKOV 1 2 1 1 0 2 1 2", "uai"), "bif")
    with pytest.raises(HerbrandError, match="has no choice for a = f"):
        text = 'predicate a in {"t", "f"}\npredicate b in {"t", "f"}\n'
        hb.written(hb.parse(text + '0.5 :: a = "t"; 0.5 :: a = "f"\n1.0 :: b = "t" :- a = "t"'), "bif")


@pytest.mark.parametrize(
    ("kind", "a", "b"),
    [("", '"x"', '"y"'), (" = number", "1", "2"), (" = date", '"2024-02-29"', '"2024-03-01"')],
)
def test_choices_among_values_that_nothing_declares_are_no_table(kind: str, a: str, b: str) -> None:
    """They were looked up among no values, which was an internal error of every command."""
    child = f'0.9 :: w = "s"; 0.1 :: w = "t" :- m = {a}\n0.2 :: w = "s"; 0.8 :: w = "t" :- m = {b}\n'
    declared = f'type v{kind}\npredicate m in v\npredicate w in {{"s", "t"}}\n'
    theory = hb.parse(f"{declared}0.25 :: m = {a}; 0.75 :: m = {b}\n{child}")
    result = hb.Model(theory).infer(log_partition=True)
    assert result["w"]["s"] == pytest.approx(0.25 * 0.9 + 0.75 * 0.2)
    assert sorted(result["m"].values()) == pytest.approx([0.25, 0.75])
    assert result.log_partition == pytest.approx(0)
    with pytest.raises(HerbrandError, match=r"the values of 'm' are not declared, m in \{...\}"):
        hb.written(theory, "bif")


def test_choices_under_many_conditions_take_no_table_of_all_cases() -> None:
    """A table of 2^41 cells was made to see that most of its rows are missing."""
    names = [f"a{number}" for number in range(40)]
    declared = [f'predicate {name} in {{"t", "f"}}' for name in (*names, "b")]
    alone = [f'0.5 :: {name} = "t"; 0.5 :: {name} = "f"' for name in names]
    conditions = ", ".join(f'{name} = "t"' for name in names)
    theory = hb.parse("\n".join([*declared, *alone, f'0.2 :: b = "t"; 0.8 :: b = "f" :- {conditions}']))
    with pytest.raises(HerbrandError, match=r"'b' has no choice for a0 = t, .*, a38 = t, a39 = f\n"):
        hb.written(theory, "bif")


WIDE = range(70)


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        (f"MARKOV 70 {'1 ' * 70} 1  70 {' '.join(map(str, WIDE))}  1 1.0", "uai"),
        (
            "".join(f"variable v{i} {{ type discrete [1] {{t}}; }}\n" for i in WIDE)
            + f"probability ({', '.join(f'v{i}' for i in WIDE)}) {{ table 1; }}",
            "bif",
        ),
    ],
)
def test_a_table_over_more_variables_than_arrays_have_axes_is_refused(text: str, dialect: str) -> None:
    with pytest.raises(HerbrandError, match="a table over 70 variables; at most 64 are taken"):
        read_theory_text(text, dialect)


def test_choices_of_one_value_under_many_conditions_are_no_table() -> None:
    declared = [f'predicate a{number} in {{"t"}}' for number in WIDE]
    choices = [f'1.0 :: a{number} = "t"' for number in range(69)]
    conditions = ", ".join(f'a{number} = "t"' for number in range(69))
    theory = hb.parse("\n".join([*declared, *choices, f'1.0 :: a69 = "t" :- {conditions}']))
    assert hb.Model(theory).infer()["a69"]["t"] == pytest.approx(1)


def test_two_choices_for_one_case_are_no_table() -> None:
    """The second one was taken, and the first one passed over."""
    text = (
        'predicate a in {"t", "f"}\npredicate b in {"t", "f"}\n0.2 :: a = "t"; 0.8 :: a = "f"\n'
        '0.9 :: b = "t"; 0.1 :: b = "f" :- a = "t"\n0.5 :: b = "t"; 0.5 :: b = "f" :- a = "f"\n'
        '0.3 :: b = "t"; 0.7 :: b = "f" :- a = "t"\n'
    )
    theory = hb.parse(text)
    wanted = parse_formula('a = "t"', valued=["a"])
    assert hb.Model(theory).infer()["a"]["t"] == pytest.approx(
        worlds_of(theory).probability(wanted), abs=1e-12
    )
    with pytest.raises(HerbrandError, match="'b' has another choice for the same case"):
        hb.written(theory, "bif")


@pytest.mark.parametrize("name", ["a`b", '"a\nb"', "`"])
def test_a_name_that_the_language_cannot_hold_is_refused(name: str) -> None:
    text = f"variable {name} {{ type discrete [1] {{t}}; }} probability ({name}) {{ table 1; }}"
    with pytest.raises(HerbrandError, match="cannot be named here"):
        read_theory_text(text, "bif")


def test_commands_read_and_write_networks(
    tmp_path: Path, herbrand: Callable[..., tuple[int, str, str]]
) -> None:
    (tmp_path / "s.bif").write_text(SPRINKLER)
    assert herbrand("convert", tmp_path / "s.bif", "-o", tmp_path / "s.hb")[0] == 0
    assert herbrand("convert", tmp_path / "s.hb", "--to", "bif", "-o", tmp_path / "t.bif")[0] == 0
    answers = []
    for name in ("s.bif", "s.hb", "t.bif"):
        outcome = herbrand("infer", tmp_path / name, "--given", 'wet = "yes"', "--format", "json")
        assert outcome[0] == 0, outcome[2]
        rows = json.loads(outcome[1])["marginals"]
        answers.append({(row["predicate"], row["value"]): row["probability"] for row in rows})
    assert answers[0] == pytest.approx(answers[1], abs=1e-12)
    assert answers[0] == pytest.approx(answers[2], abs=1e-12)


def test_published_networks(reference_cases: Path) -> None:
    """The reference marginals are in single precision."""
    folder = reference_cases / "networks"
    want = json.loads((folder / "marginals.json").read_text())
    for name in ("asia", "alarm", "hailfinder", "pigs"):
        found = hb.Model(hb.read(folder / f"{name}.bif")).infer()
        for variable, shares in want[name]["marginals"].items():
            got = found[variable]
            for label, share in zip(want[name]["labels"][variable], shares, strict=True):
                assert got[label] == pytest.approx(share, abs=1e-6)


def test_rules_over_the_variables_of_a_network() -> None:
    theory = read_theory_text(SPRINKLER, "bif") + hb.parse(
        'predicate wet in {"yes", "no"}\npredicate slips\nslips :- wet = "yes"'
    )
    answer = hb.Model(Theory(tuple(dict.fromkeys(theory.statements)))).infer("slips")
    assert answer["slips"] == pytest.approx(0.2 * 0.99 + 0.8 * 0.1, abs=1e-12)


def wide_network(values: int) -> str:
    """A variable that two others fix: more cells than engines without whole tables read."""
    labels = ", ".join(f"s{i}" for i in range(values))
    declared = "".join(f"variable {name} {{ type discrete [{values}] {{ {labels} }}; }}\n" for name in "abc")
    even = ", ".join([str(1 / values)] * values)
    roots = "".join(f"probability ({name}) {{ table {even}; }}\n" for name in "ab")
    rows = "".join(
        f"(s{i}, s{j}) {', '.join('1' if k == (i + j) % values else '0' for k in range(values))};\n"
        for i in range(values)
        for j in range(values)
    )
    return f"{declared}{roots}probability (c | a, b) {{\n{rows}}}\n"


@pytest.mark.parametrize("engine", ["auto", "exact", "bp"])
def test_networks_of_many_cells(engine: str) -> None:
    """An engine that would read each cell is no way out where there are more than it takes."""
    theory = read_theory_text(wide_network(60), "bif")
    given = ['a = "s7"', 'b = "s50"']
    assert hb.Model(theory).infer("c", given=given, engine=engine)["c"]["s57"] == pytest.approx(1)
    with pytest.raises(HerbrandError, match="no world satisfies the hard statements"):
        hb.Model(theory).infer(given=[*given, 'c = "s1"'], engine=engine)


def test_an_engine_that_reads_cells_says_how_many_it_takes() -> None:
    theory = read_theory_text(wide_network(60), "bif")
    with pytest.raises(HerbrandError, match="have 212,520 cells; this reads 100,000 at most"):
        hb.Model(theory).infer(engine="circuit")
