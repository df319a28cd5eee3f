"""The facts around an example and the ways through them, against sets and walks made by plain loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.induction.database import Database, World
from herbrand.induction.surroundings import Fact, facts_around, link, next_facts, paths

PHASES = [Phase.reuse, Phase.generate]
EVERYTHING = 10**6


@st.composite
def databases(draw: st.DrawFn) -> Database:
    made = []
    for _ in range(draw(st.integers(1, 2))):
        objects = draw(st.integers(2, 6))
        facts = {}
        for name, (arity, most) in {"wet": (0, 1), "red": (1, 3), "edge": (2, 6), "between": (3, 2)}.items():
            rows = draw(st.sets(st.tuples(*[st.integers(0, objects - 1)] * arity), max_size=most))
            facts[name] = np.array(sorted(rows), np.int64).reshape(len(rows), arity)
        made.append(World(objects, facts))
    return Database.of(made)


def every_fact(database: Database, names: Sequence[str]) -> set[Fact]:
    return {
        (name, tuple(int(o) for o in row))
        for name in names
        if database.arities[name]
        for row in database.tables[name]
    }


def reached_by(seed: set[int], facts: set[Fact]) -> set[int]:
    """Objects that facts lead to, one after the other, until there are no more."""
    reached = set(seed)
    while True:
        more = {o for _, objects in facts if reached & set(objects) for o in objects} - reached
        if not more:
            return reached
        reached |= more


class TestFactsAround:
    @settings(max_examples=40, deadline=None, phases=PHASES)
    @given(databases(), st.data())
    def test_are_all_that_facts_lead_to(self, database: Database, data: st.DataObject) -> None:
        """Where nothing limits them: each fact once, those about the seed before those further away."""
        world = data.draw(st.integers(0, len(database.starts) - 2))
        start, end = (int(s) for s in database.starts[world : world + 2])
        seed = data.draw(st.lists(st.integers(start, end - 1), min_size=1, max_size=2))
        names = ["wet", "red", "edge", "between"]
        found = facts_around(np.array(seed), False, database, names, EVERYTHING, None)
        facts = every_fact(database, names)
        reached = reached_by(set(seed), facts)
        expected = {fact for fact in facts if set(fact[1]) <= reached and fact[1]}
        symmetric = _symmetric(facts)
        assert len(set(found)) == len(found)
        given_back = {fact for fact in found if fact[1]}
        if symmetric:
            given_back |= {("edge", fact[1][::-1]) for fact in given_back if fact[0] == "edge"}
        assert given_back == expected
        assert (("wet", ()) in found) == (world in database.tables["wet"][:, 0])
        near = [bool(set(fact[1]) & set(seed)) for fact in found if fact[1]]
        assert near == sorted(near, reverse=True)

    @settings(max_examples=25, deadline=None, phases=PHASES)
    @given(databases(), st.data())
    def test_a_pair_of_a_symmetric_relation_is_told_once(
        self, database: Database, data: st.DataObject
    ) -> None:
        edges = database.tables["edge"]
        both = database.with_table("edge", np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0), 2)
        seed = data.draw(st.integers(0, database.size - 1))
        found = facts_around(np.array([seed]), False, both, ["edge"], EVERYTHING, None)
        pairs = [frozenset(objects) for _, objects in found]
        assert len(set(pairs)) == len(pairs)
        reached = reached_by({seed}, every_fact(both, ["edge"]))
        assert set(pairs) == {frozenset(map(int, row)) for row in edges if int(row[0]) in reached}

    def test_enough_are_enough(self) -> None:
        """The object that is looked at when there are enough is looked at to the end."""
        chain = Database.of([World(50, {"next": [(i, i + 1) for i in range(49)]})])
        for enough in (1, 5, 20):
            found = facts_around(np.array([0]), False, chain, ["next"], enough, None)
            assert found == [("next", (i, i + 1)) for i in range(enough)]

    def test_an_object_in_very_many_facts_does_not_lead_on(self) -> None:
        """Of the hub only facts about objects that are near anyway are taken."""
        star = [(0, i) for i in range(1, 30)]
        database = Database.of([World(31, {"at": star, "beside": [(1, 2), (2, 30)]})])
        around = facts_around(np.array([1]), False, database, ["at", "beside"], EVERYTHING, hub=10)
        assert set(around) == {("at", (0, 1)), ("at", (0, 2)), ("beside", (1, 2)), ("beside", (2, 30))}
        through = facts_around(np.array([1]), False, database, ["at", "beside"], EVERYTHING, hub=40)
        assert len(through) == 31

    def test_of_a_whole_world_every_object_is_near(self) -> None:
        made = [World(3, {"edge": [(0, 1)]}), World(2, {"edge": [(1, 0)], "wet": [()]})]
        database = Database.of(made)
        first, second = (
            facts_around(np.array([world]), True, database, ["edge", "wet"], EVERYTHING, None)
            for world in (0, 1)
        )
        assert first == [("edge", (0, 1))]
        assert second == [("wet", ()), ("edge", (4, 3))]

    def test_only_predicates_that_are_named(self) -> None:
        database = Database.of([World(3, {"edge": [(0, 1)], "link": [(0, 2)]})])
        assert facts_around(np.array([0]), False, database, ["link"], 9, None) == [("link", (0, 2))]


def _symmetric(facts: set[Fact]) -> bool:
    pairs = {objects for name, objects in facts if name == "edge"}
    return all(pair[::-1] in pairs for pair in pairs)


FACTS: list[Fact] = [
    ("wet", ()),
    ("red", (3,)),
    ("edge", (0, 1)),
    ("edge", (1, 2)),
    ("edge", (2, 0)),
    ("near", (1, 3)),
    ("between", (3, 4, 5)),
]
sets_of_facts = st.sets(st.sampled_from(FACTS), max_size=len(FACTS))


class TestNextFacts:
    @given(sets_of_facts, st.lists(st.integers(0, 5), max_size=2, unique=True))
    def test_speak_of_an_object_that_is_known(self, chosen: set[Fact], head: list[int]) -> None:
        found = next_facts(chosen, FACTS, tuple(head))
        known = {*head, *(o for _, objects in chosen for o in objects)}
        for fact in FACTS:
            spoken_of = not fact[1] or not known or any(o in known for o in fact[1])
            assert (fact in found) == (fact not in chosen and spoken_of), fact

    def test_anything_begins_a_body_about_a_whole_world(self) -> None:
        assert next_facts(set(), FACTS, ()) == FACTS


class TestLink:
    @given(sets_of_facts, st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True))
    def test_whether_facts_lead_from_each_object_to_every_other(
        self, facts: set[Fact], head: list[int]
    ) -> None:
        assert link(facts, tuple(head)) == (set(head) <= reached_by({head[0]}, facts))

    def test_one_object_or_none_is_linked_to_itself(self) -> None:
        assert link((), ()) and link((), (3,)) and not link((), (3, 4))


def chains(first: int, last: int, facts: Sequence[Fact], longest: int) -> set[frozenset[Fact]]:
    """Every way from one object to another that comes by no object twice, as the set of its facts."""
    found = set()

    def walk(here: int, seen: set[int], way: tuple[Fact, ...]) -> None:
        if len(way) == longest:
            return
        for fact in facts:
            if here not in fact[1]:
                continue
            for there in set(fact[1]) - {here}:
                if there == last:
                    found.add(frozenset((*way, fact)))
                elif there not in seen:
                    walk(there, {*seen, there}, (*way, fact))

    walk(first, {first}, ())
    return found


class TestPaths:
    @settings(max_examples=40, deadline=None, phases=PHASES)
    @given(databases(), st.integers(1, 4), st.data())
    def test_are_all_ways_the_shortest_first(
        self, database: Database, longest: int, data: st.DataObject
    ) -> None:
        facts = sorted(every_fact(database, ["red", "edge", "between"]))
        first, last = data.draw(
            st.lists(st.integers(0, database.size - 1), min_size=2, max_size=2, unique=True)
        )
        found = paths((first, last), facts, longest, EVERYTHING)
        assert set(found) == chains(first, last, facts, longest)
        assert len(set(found)) == len(found)

    @pytest.mark.parametrize("most", [1, 2, 5])
    def test_no_more_than_asked_for_and_the_shortest_of_them(self, most: int) -> None:
        facts: list[Fact] = [
            ("edge", (0, 9)),
            *(("edge", pair) for i in range(1, 8) for pair in ((0, i), (i, 9))),
        ]
        found = paths((0, 9), facts, 3, most)
        assert len(found) == most and found[0] == {("edge", (0, 9))}
        assert all(len(way) == 2 for way in found[1:])

    @pytest.mark.parametrize("head", [(), (0,)], ids=str)
    def test_from_one_object_to_no_other_there_is_no_way(self, head: tuple[int, ...]) -> None:
        assert paths(head, FACTS, 3, 5) == []

    def test_of_three_objects_the_last_is_the_end(self) -> None:
        assert paths((0, 2, 1), FACTS, 1, 5) == [frozenset({("edge", (0, 1))})]
