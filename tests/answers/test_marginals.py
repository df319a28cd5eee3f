"""Marginals and tables of atoms in every form in which a user takes them."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers import marginals
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee, Status
from herbrand.answers.marginals import AtomTable, Marginals, Row
from herbrand.facts.column import Constants
from herbrand.language.parse import parse_formula
from herbrand.language.syntax import Query
from tests.laws import tries

laws = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate], max_examples=tries(60))
constants = st.one_of(
    st.integers(-5, 5), st.text(max_size=4), st.sampled_from(["1", "é\n", 'quo"te', "東京"])
)


@st.composite
def answers(draw: st.DrawFn) -> Marginals:
    """Any tables, many-valued and not, with any constants and many ties."""
    tables = []
    for name in draw(st.lists(st.sampled_from(["p", "q r", "a{0}", "not", "ü"]), unique=True, max_size=3)):
        arity = draw(st.integers(1, 2))
        rows = draw(st.lists(st.tuples(*[constants] * arity), unique_by=repr, max_size=5))
        values = draw(st.none() | st.lists(constants, min_size=2, max_size=3, unique_by=repr).map(tuple))
        shares = draw(
            st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=len(rows), max_size=len(rows))
        )
        width = 2 if values is None else len(values)
        probabilities = np.array([[(1 - p) / (width - 1)] * (width - 1) + [p] for p in shares])
        columns = tuple(tuple(row[i] for row in rows) for i in range(arity))
        tables.append(AtomTable(name, columns, probabilities.reshape(len(rows), width), values))
    formulas = draw(st.lists(st.sampled_from([0.0, 0.5, 0.7]), max_size=2))
    asked = tuple(Row(f"a and b{i}", None, (), p) for i, p in enumerate(formulas))
    return Marginals("exact", Guarantee.EXACT, Status(True, 1), tuple(tables), asked)


def key(row: Row) -> tuple[object, ...]:
    return row.atom, row.predicate, row.arguments, row.value, row.probability


def as_texts(constants: list) -> list[str | None]:
    """1 and 1.0 are one constant."""
    plain = [int(c) if isinstance(c, float) and c.is_integer() else c for c in constants]
    return [None if constant is None else str(constant) for constant in plain]


@laws
@given(answers())
def test_every_form_tells_the_same_rows(answer: Marginals) -> None:
    rows = list(answer.rows())
    assert len(answer) == len(rows) == len(answer.to_pandas()) == answer.to_polars().height
    told = json.loads(json.dumps(answer.to_dict()))["marginals"]
    assert told == [
        {
            "atom": row.atom,
            "predicate": row.predicate,
            "arguments": list(row.arguments),
            "probability": row.probability,
            "value": row.value,
        }
        for row in rows
    ]
    arrow = answer.to_arrow().to_pydict()
    assert arrow["atom"] == [row.atom for row in rows]
    widest = max((len(table.columns) for table in answer.tables), default=0)
    assert [name for name in arrow if name.startswith("argument")] == [
        f"argument_{place + 1}" for place in range(widest)
    ]
    for place in range(widest):
        own = [row.arguments[place] if place < len(row.arguments) else None for row in rows]
        assert as_texts(arrow[f"argument_{place + 1}"]) == as_texts(own)
    assert arrow["probability"] == [row.probability for row in rows]
    assert as_texts(arrow["value"]) == as_texts([row.value for row in rows])
    assert list(answer.cells()) == [row.cells() for row in rows]
    spans = answer.spans()
    assert list(spans) == [(0.0, row.probability) for row in rows]
    assert answer._repr_html_().count("<tr>") == len(rows) + 1


@laws
@given(answers())
def test_every_row_is_found_by_its_text_and_by_its_table(answer: Marginals) -> None:
    names = {table.predicate for table in answer.tables}
    for row in answer.rows():
        if row.atom in names:
            continue
        found = answer[row.atom]
        assert (found if row.value is None else found[row.value]) == row.probability
        if row.predicate is not None:
            of_table = answer[row.predicate][row.arguments]
            assert (of_table if row.value is None else of_table[row.value]) == row.probability


@laws
@given(answers(), st.none() | st.integers(0, 6), st.none() | st.sampled_from([0.0, 0.25, 0.4, 1.0, 2.0]))
def test_filtered_is_sorting_and_cutting(answer: Marginals, top: int | None, least: float | None) -> None:
    rows = [row for row in answer.rows() if least is None or row.probability >= least]
    if top is not None:
        rows = sorted(rows, key=lambda row: -row.probability)[:top]
    found = answer.filtered(top, least)
    assert list(map(key, found.rows())) == list(map(key, rows))
    assert len(found) == len(rows)
    assert found.filtered(top, least).to_dict() == found.to_dict()
    assert found.to_arrow().schema == answer.to_arrow().schema


@laws
@given(answers())
def test_long_tables_are_taken_in_pieces(answer: Marginals) -> None:
    whole, arrow = list(map(key, answer.rows())), answer.to_arrow()
    with pytest.MonkeyPatch.context() as short:
        short.setattr(marginals, "PIECE", 2)
        assert list(map(key, answer.rows())) == whole
        assert answer.to_arrow().equals(arrow)


@laws
@given(st.lists(st.integers(0, 5), max_size=8), st.lists(st.integers(0, 7), max_size=5))
def test_columns_of_numbered_constants_are_those_of_plain_ones(codes: list[int], entries: list[int]) -> None:
    """Text and numbers, some of which no row has."""
    kept = np.array([[entry, 1] for entry in entries if entry < len(codes)], np.int64).reshape(-1, 2)
    for values in (["a", "b", "c\n", "é", "1", "e"], [1.0, 2.0, 3.5, 4.0, 1e20, 6.0]):
        numbered = Constants(pa.array(values), np.array(codes, np.int64))
        plain = tuple(numbered)
        shares = np.random.default_rng(0).random((len(codes), 2))
        tables = [AtomTable("p", (column, column), shares, None, kept) for column in (numbered, plain)]
        assert list(tables[0].rows()) == list(tables[1].rows())
        assert tables[0].to_arrow().equals(tables[1].to_arrow())


TABLE = AtomTable(
    "area",
    (("p1", "p2"), (1, "1")),
    np.array([[0.1, 0.2, 0.7], [0.0, 1.0, 0.0]]),
    ("ai", "db", "os"),
)


@given(st.lists(st.one_of(st.floats(), st.floats(0, 1), st.integers(0, 20_001).map(lambda n: n / 20_000))))
def test_many_numbers_are_shown_as_each_is(few: list[float]) -> None:
    numbers = np.concatenate([few, np.linspace(0, 1, 20_001)])
    assert marginals.shown_numbers(numbers) == [f"{number:.4f}" for number in numbers.tolist()]


def test_a_many_valued_table() -> None:
    assert len(TABLE) == 6 and TABLE["p1", 1] == {"ai": 0.1, "db": 0.2, "os": 0.7}
    assert [row.text for row in TABLE.rows()][4] == 'area("p2", "1") = "db"'
    assert TABLE.to_arrow().to_pydict()["probability"] == [0.1, 0.2, 0.7, 0.0, 1.0, 0.0]
    assert repr(TABLE).splitlines()[:3] == [
        "area",
        "atom                    probability",
        'area("p1", 1) = "ai"         0.1000',
    ]
    for wrong, shown in (
        (("p1", "1"), 'area("p1", "1")'),
        ("p1", 'area("p1")'),
        (("p1", 1, 2), 'area("p1", 1, 2)'),
        (("é\n", 2), 'area("é\\n", 2)'),
    ):
        with pytest.raises(KeyError) as caught:
            TABLE[wrong]
        assert caught.value.args == (f"{shown} is not among the answers",)


def test_only_keeps_what_is_named_in_that_order() -> None:
    kept = TABLE.only(np.array([4, 0]))
    assert [row.text for row in kept.rows()] == ['area("p2", "1") = "db"', 'area("p1", 1) = "ai"']
    assert kept.only(np.array([1])).to_arrow().to_pydict() == {
        "atom": ['area("p1", 1) = "ai"'],
        "argument_1": ["p1"],
        "argument_2": ["1"],
        "value": ["ai"],
        "probability": [0.1],
    }
    assert len(kept.only(np.array([], np.int64))) == 0


def test_the_most_probable_world_shows_truth_and_one_value_an_atom() -> None:
    model = hb.Model(hb.parse('predicate c(t) in {"r", "g"}\npredicate p(t)\n1.0: c(x) = "g"\n-2.0: p("a")'))
    world = model.infer(map=True)
    assert repr(world) == (
        'exact most probable world\natom          truth\nc("a") = "g"   true\np("a")        false'
    )
    assert world.to_dict()["map"] is True and world.to_dict()["log_weight"] == pytest.approx(1.0)
    assert world["c"]["a"] == {"r": 0.0, "g": 1.0} and len(world) == 3


TITLES = [
    (Guarantee.EXACT, Status(True, 1), "exact", "exact marginals"),
    (Guarantee.EXACT, Status(True, 1), "lifted", "lifted marginals (exact)"),
    (
        Guarantee.APPROXIMATION,
        Status(False, 9, 0, "more"),
        "bp",
        "bp marginals (approximation), not converged: more",
    ),
    (Guarantee.BOUND, Status(True, 9, 0, "by other means"), "x", "x marginals (bound), by other means"),
    (Guarantee.EXACT, Status(True, 1, where="duckdb"), "exact", "exact marginals on duckdb"),
]


@pytest.mark.parametrize(("guarantee", "status", "engine", "title"), TITLES)
def test_titles(guarantee: Guarantee, status: Status, engine: str, title: str) -> None:
    answer = Marginals(engine, guarantee, status, ())
    assert repr(answer) == f"{title}\natom  probability"
    assert answer.to_dict()["converged"] is status.converged


def test_what_a_dict_tells_only_where_there_is_some() -> None:
    bare = Marginals("bp", Guarantee.APPROXIMATION, Status(True, 1), ()).to_dict()
    assert not {"where", "diagnostics", "map", "log_weight"} & bare.keys()
    assert bare["log_partition"] is None and bare["log_partition_guarantee"] is None
    full = Marginals(
        *("bp", Guarantee.APPROXIMATION, Status(True, 1, where="spark"), ()),
        log_partition=1.5,
        log_partition_guarantee=PartitionGuarantee.LOWER,
        diagnostics={"r_hat": 1.01},
    ).to_dict()
    assert (full["where"], full["diagnostics"], full["log_partition_guarantee"]) == (
        "spark",
        {"r_hat": 1.01},
        "lower",
    )


def test_no_answer_at_all() -> None:
    nothing = hb.Model(hb.parse("hard: p\np")).infer()
    assert len(nothing) == 0 and nothing.to_arrow().num_rows == 0
    assert nothing.to_pandas().columns.tolist() == ["atom", "predicate", "probability", "value"]
    with pytest.raises(KeyError, match="p is not among the answers"):
        nothing["p"]
    assert nothing.filtered(3, 0.5).to_dict() == nothing.to_dict()
    assert str(nothing.log_partition) == "0.0"


EDGES = AtomTable("e", (("a", "b", "c"), ("b", "b", "a")), np.full((3, 1), 0.5))


@pytest.mark.parametrize(
    "query, answered",
    [
        ("e(x, y)", True),
        ("e(x, x)", True),
        ('e("a", x)', True),
        ('e(x, "c")', False),
        ('e("z", x)', False),
        ("e(_, _)", True),
        ("three(x, y, x)", True),
        ("three(x, x, y)", False),
        ('three(x, y, "q")', False),
        ("other(x)", False),
        ('other("z")', True),
    ],
)
def test_a_query_with_variables_of_which_no_atom_is_listed_has_a_row(query: str, answered: bool) -> None:
    three = AtomTable("three", (("a",), ("b",), ("a",)), np.ones((1, 1)))
    answer = Marginals("circuit", Guarantee.EXACT, Status(True, 1), (EDGES, three))
    told = answer.with_unanswered([Query(parse_formula(query, "<query>"), query)])
    assert told.formulas == (() if answered else (Row(query, None, (), 0.0),))
