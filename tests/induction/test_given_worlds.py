"""The user's folders as worlds: which objects there are, what holds, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import herbrand as hb
from herbrand.errors import ContradictionError, FactsError, HerbrandError, UnsupportedError
from herbrand.induction.given_worlds import GivenWorld, GivenWorlds, read_worlds
from herbrand.language.theory import Theory

Tables = dict[str, str]


def written(folder: Path, worlds: dict[str, Tables]) -> Path:
    for name, tables in worlds.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for file, text in tables.items():
            (folder / name / (file if "." in file else f"{file}.csv")).write_text(text)
    return folder


def names(world: GivenWorld, rows: np.ndarray) -> set[tuple[object, ...]]:
    """Rows by their constants."""
    return {tuple(world.objects[v][2] for v in row) for row in rows}


def read(folder: Path, worlds: dict[str, Tables], theory: str = "", **options: object) -> GivenWorlds:
    return read_worlds(hb.parse(theory), "t", written(folder, worlds), **options)  # type: ignore[arg-type]


TWO: dict[str, Tables] = {"one": {"edge": "a,b\nb,c\n", "t": "a\n"}, "two": {"edge": "b,a\n", "t": "b\n"}}


def test_each_folder_is_a_world(tmp_path: Path) -> None:
    found = read(tmp_path, TWO)
    assert (found.target, found.arity, found.predicates, found.widest) == ("t", 1, {"edge": 2}, 2)
    one, two = found.worlds
    assert (one.name, two.name) == ("one", "two")
    assert names(one, one.facts["edge"]) == {("a", "b"), ("b", "c")} and names(one, one.true) == {("a",)}
    assert names(two, two.facts["edge"]) == {("b", "a")} and names(two, two.true) == {("b",)}
    assert one.false is None and len(one.objects) == 3 and len(two.objects) == 2


def test_a_folder_of_tables_alone_is_one_world(tmp_path: Path) -> None:
    folder = written(tmp_path, {"family": TWO["one"]})
    (world,) = read_worlds(Theory(), "t", folder / "family").worlds
    assert world.name == "family" and names(world, world.true) == {("a",)}


def test_hidden_folders_are_no_worlds(tmp_path: Path) -> None:
    found = read(tmp_path, {**TWO, ".git": {"edge": "x,y\n"}, "_old": {"edge": "x,y\n"}})
    assert [world.name for world in found.worlds] == ["one", "two"]


def test_equal_constants_are_one_object_where_no_type_is_declared(tmp_path: Path) -> None:
    (world,) = read(tmp_path, {"one": {"owns": "a,b\n", "t": "b\n", "likes": "b,a\n"}}).worlds
    assert sorted(value for _, _, value in world.objects) == ["a", "b"]
    assert all(places.all() for places in world.typed)


def test_declared_types_tell_equal_constants_apart(tmp_path: Path) -> None:
    theory = "predicate lives(person, town): observed\npredicate t(town)\n"
    (world,) = read(tmp_path, {"one": {"lives": "bern,bern\nann,rome\n", "t": "rome\n"}}, theory).worlds
    kinds = sorted((kind, value) for kind, _, value in world.objects)
    assert kinds == [("person", "ann"), ("person", "bern"), ("town", "bern"), ("town", "rome")]
    (fits,) = world.typed
    assert [world.objects[v][0] for v in np.flatnonzero(fits)] == ["town", "town"]


def test_text_and_numbers_are_different_constants(tmp_path: Path) -> None:
    one = {"p.jsonl": '{"x": "1"}\n', "q.jsonl": '{"x": 1}\n', "t.jsonl": '{"x": 1}\n'}
    (world,) = read(tmp_path, {"one": one}).worlds
    assert sorted(is_text for _, is_text, _ in world.objects) == [False, True]
    assert world.true.tolist() == world.facts["q"].tolist() != world.facts["p"].tolist()


def test_a_world_that_lists_false_tuples_is_taken_at_its_word(tmp_path: Path) -> None:
    worlds = {"one": {"p": "a\nb\nc\n", "t": "x,truth\na,true\nb,false\n"}, "two": {"p": "a\n", "t": "a\n"}}
    one, two = read(tmp_path, worlds).worlds
    assert names(one, one.true) == {("a",)}
    assert one.false is not None and names(one, one.false) == {("b",)}
    assert two.false is None


def test_rules_of_the_theory_derive_more_to_learn_from(tmp_path: Path) -> None:
    theory = "two(x, y) :- edge(x, z), edge(z, y)\n"
    one, two = read(tmp_path, TWO, theory).worlds
    assert names(one, one.facts["two"]) == {("a", "c")} and not len(two.facts["two"])


def test_rules_for_the_target_are_not_learned_from(tmp_path: Path) -> None:
    one, _ = read(tmp_path, TWO, "t(x) :- edge(x, y)\n").worlds
    assert names(one, one.true) == {("a",)}


def test_facts_that_hold_in_every_world(tmp_path: Path) -> None:
    worlds = {name: {"edge": "a,b\n", "t": text} for name, text in (("one", "a\n"), ("two", "a\n"))}
    found = read(tmp_path, worlds, 'p("b")\n', facts={"q": [("a",)]})
    for world in found.worlds:
        assert names(world, world.facts["p"]) == {("b",)} and names(world, world.facts["q"]) == {("a",)}


def test_a_world_without_a_table_has_nothing_of_it(tmp_path: Path) -> None:
    found = read(tmp_path, {"one": {"p": "a\n", "t": "a\n"}, "two": {"q": "a,b\n"}})
    assert found.predicates == {"p": 1, "q": 2}
    one, two = found.worlds
    assert "q" not in one.facts and "p" not in two.facts and not len(two.true)


def test_reading_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    read(tmp_path, TWO, progress=lambda what, share: told.append((what, share)))
    assert told == [("reading one", 0.0), ("reading two", 0.5)]


@pytest.mark.parametrize(
    ("worlds", "theory", "error", "message"),
    [
        ({"one": {"p": "a\n"}}, "", FactsError, "no world has a table of the target 't'"),
        ({"one": {"p": "a\n", "tt": "a\n"}}, "", FactsError, "did you mean 'tt'"),
        (
            {"one": {"p": "a\n", "t": ""}},
            "predicate p(x): observed\npredicate t(x)\n",
            FactsError,
            "the target 't' has no examples",
        ),
        ({"one": {"t": "a\n"}}, "", FactsError, "the worlds have no table but that of 't'"),
        (
            {"one": {"p": "a\n", "t": "a\n"}, "two": {"p": "a,b\n", "t": "a\n"}},
            "",
            FactsError,
            "'p' has 1 columns in one world and 2 in another",
        ),
        (
            {"one": {"p": "a,b,c,d,e\n", "t": "a\n"}},
            "",
            UnsupportedError,
            "'p' has 5 arguments, more than a machine's largest breadth, 4",
        ),
        (
            {"one": {"p": "a,good\n", "t": "a\n"}},
            'predicate p(x) in {"good", "bad"}: observed\npredicate t(x)\n',
            UnsupportedError,
            "'p' is many-valued",
        ),
        (
            {"one": {"p": "x,probability\na,0.5\n", "t": "a\n"}},
            "",
            UnsupportedError,
            "'p' has probabilities",
        ),
        (
            {"one": {"p": "a\nb\n", "t": "a\n"}, "two": {"p": "a\nb\n", "t": "b\n"}},
            "",
            ContradictionError,
            "the worlds 'one' and 'two' say the same, but not of 't'",
        ),
    ],
)
def test_what_cannot_be_learned_from_is_told(
    tmp_path: Path, worlds: dict[str, Tables], theory: str, error: type[HerbrandError], message: str
) -> None:
    with pytest.raises(error) as told:
        read(tmp_path, worlds, theory)
    assert message in str(told.value)


def test_equal_worlds_of_equal_targets_are_no_contradiction(tmp_path: Path) -> None:
    same = {"p": "a\nb\n", "t": "a\nb\n"}
    turned = {"p": "a\nb\n", "t": "b\na\n"}
    assert len(read(tmp_path, {"one": same, "two": turned}).worlds) == 2


def of_target(*rows: str) -> Tables:
    """A world that tells of two objects of p, and of some tuples of the target what they are."""
    return {"p": "a\nb\n", "t": "x,truth\n" + "".join(f"{row}\n" for row in rows)}


@pytest.mark.parametrize(
    ("tables", "contradictory"),
    [
        ([of_target("a,true", "b,false"), of_target("a,true", "b,false")], False),
        ([of_target("a,true"), of_target("b,true")], True),
        ([of_target("a,true", "b,false"), of_target("a,false")], True),
        ([of_target("a,true", "b,false"), of_target("b,true", "a,false")], True),
        ([of_target("a,true", "b,false"), of_target("b,false")], False),
        ([of_target("a,false"), of_target("b,true")], False),
        ([of_target("a,true", "b,true"), of_target("b,false")], True),
        ([of_target("a,false"), of_target("b,false"), of_target("b,true"), of_target("a,true")], True),
        ([of_target("b,true"), of_target("a,false"), of_target("b,false")], True),
    ],
)
def test_worlds_alike_contradict_only_where_both_tell_of_a_tuple(
    tmp_path: Path, tables: list[Tables], contradictory: bool
) -> None:
    """What a world that lists false tuples does not list is not known there."""
    worlds = {f"w{number}": told for number, told in enumerate(tables)}
    if not contradictory:
        assert len(read(tmp_path, worlds).worlds) == len(tables)
        return
    with pytest.raises(
        ContradictionError, match="say the same, but not of 't'\n  no rule can distinguish them"
    ):
        read(tmp_path, worlds)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FactsError, match=r"there is no folder .*nowhere"):
        read_worlds(Theory(), "t", tmp_path / "nowhere")


NUMBERED: dict[str, tuple[dict[str, Tables], str, int]] = {
    "ages": ({"one": {"age": "a,31\nb,7.5\nc,40\n", "t": "a\n"}}, "", 1),
    "ages of two worlds": (
        {"one": {"age": "a,1\nb,2\n", "t": "a\n"}, "two": {"age": "a,3\n", "t": "a\n"}},
        "",
        1,
    ),
    "a word in one world": (
        {"one": {"age": "a,1\nb,2\nc,3\n", "t": "a\n"}, "two": {"age": "a,old\n", "t": "a\n"}},
        "",
        0,
    ),
    "declared": (
        {"one": {"age": "a,31\nb,7.5\nc,40\n", "t": "a\n"}},
        "type year = number\npredicate age(x, year)\npredicate t(x)",
        0,
    ),
    "declared without its kind": (
        {"one": {"age": "a,31\nb,7.5\nc,40\n", "t": "a\n"}},
        "predicate age(x, year)\npredicate t(x)",
        1,
    ),
    "names of things": ({"one": {"edge": "1,2\n2,3\n3,1\n", "t": "1\n"}}, "", 0),
    "names that another table has first": (
        {"one": {"likes": "a,1\nb,2\nc,3\n", "film": "1\n", "t": "a\n"}},
        "",
        0,
    ),
    "two of them": ({"one": {"has": "a,0\nb,1\nc,0\n", "t": "a\n"}}, "", 0),
}


@pytest.mark.parametrize("case", NUMBERED)
def test_a_column_of_numbers_that_is_text_is_told_of(case: str, tmp_path: Path) -> None:
    worlds, theory, wanted = NUMBERED[case]
    notes: list[str] = []
    read(tmp_path, worlds, theory, note=notes.append)
    told = [note for note in notes if "holds numbers, but is text" in note]
    assert len(told) == wanted, notes
    assert all("predicate age(thing, amount)" in note for note in told)
