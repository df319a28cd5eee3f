"""Places, constants and notes of a database: the parts that every engine there rests on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.engine import Settings
from herbrand.errors import BudgetError, HerbrandError, UnsupportedError
from herbrand.facts.domain import Domain
from herbrand.relations.database import DuckDB
from herbrand.scale import domain as stored
from herbrand.scale.domain import stored_domain
from herbrand.scale.place import DatabasePlace, folder_of, opened, place_of
from herbrand.scale.run import RUN, StoredRun, refuse_foreign_settings
from tests.cli.test_infer import Herbrand
from tests.laws import tries

ODD = ["", " ", "it's", 'say "hi"', "NULL", "%", "é", "日本", "a\nb", "0", "-- no", "😀"]


class TestPlaces:
    @pytest.mark.parametrize(
        ("text", "kind", "folder"),
        [
            ("duckdb:world.duckdb", "duckdb", Path.cwd()),
            ("duckdb:/data/a:b.duckdb", "duckdb", Path("/data")),
            ("spark://host:7077/tables", "spark", Path.cwd() / "tables"),
            ("local[2]", "spark", Path.cwd() / "herbrand.spark"),
            ("local-cluster[2,1,1024]//data/t", "spark", Path("/data/t")),
        ],
    )
    def test_what_is_named(self, text: str, kind: str, folder: Path) -> None:
        found = place_of(text)
        assert (found.kind, folder_of(found)) == (kind, folder)
        assert str(found) == text

    @pytest.mark.parametrize(
        "text", ["", "duckdb", "duckdb:", "DUCKDB:w", "world.duckdb", "postgres:w", "spark:w"]
    )
    def test_what_is_none(self, text: str) -> None:
        with pytest.raises(UnsupportedError) as caught:
            place_of(text)
        assert f"'{text}' is no place to run on" in str(caught.value)
        assert "duckdb:FILE" in str(caught.value)

    def test_what_cannot_be_opened(self, tmp_path: Path) -> None:
        for target, said in (("missing/w.duckdb", "there is no folder"), (".", "is a folder")):
            with pytest.raises(UnsupportedError, match=said):
                opened(DatabasePlace("duckdb", str(tmp_path / target)))
        with pytest.raises(BudgetError, match=r"needs at least .* may use 8\.0 MB"):
            opened(DatabasePlace("duckdb", str(tmp_path / "w.duckdb")), 10 << 20)
        assert not (tmp_path / "w.duckdb").exists()

    def test_a_scratch_place_does_not_tell_its_name(self) -> None:
        assert str(DatabasePlace("duckdb", "/tmp/x.duckdb", scratch=True)) == "a scratch database"

    @pytest.mark.parametrize("command", ["infer", "check", "learn"])
    def test_the_command_line_tells_it(self, herbrand: Herbrand, tmp_path: Path, command: str) -> None:
        (tmp_path / "t.hb").write_text("predicate p(t)\n1.0: p(x)\n")
        outcome = herbrand(command, str(tmp_path / "t.hb"), "--on", "world.duckdb")
        assert outcome.status == 1 and "'world.duckdb' is no place to run on" in outcome.err
        assert not outcome.out


@given(
    st.lists(
        st.sampled_from(ODD) | st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=3)
    )
    | st.lists(st.integers(-(2**62), 2**62)),
    st.lists(st.integers(0, 50), max_size=8),
)
@settings(max_examples=tries(12), deadline=None)
def test_constants_are_those_of_memory(values: list, places: list[int]) -> None:
    values = sorted(set(values))
    expected = Domain.of("t", values)
    kind = "text" if not values or isinstance(values[0], str) else "number"
    with DuckDB() as database, pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored, "FETCHED_AT_ONCE", 3)
        column = pa.array(values, pa.string() if kind == "text" else pa.int64())
        database.put("t", pa.table({"id": np.arange(len(values), dtype=np.int32), "value": column}))
        found = stored_domain("t", database, "t", kind)
        assert len(found) == len(expected) and list(found) == list(expected) == values
        places = [place % len(values) for place in places] if values else []
        assert found.values_at(places) == [values[place] for place in places]
        assert [found.index_of(value) for value in values] == list(range(len(values)))
        assert [found.value(place) for place in places] == [expected.value(place) for place in places]
        unseen = "not there" if kind == "text" else 2**63 - 1
        assert found.index_of(unseen) is None
        assert found.index_of(3 if kind == "text" else "3") is None
        assert found.indices_of([*values[:2], unseen]).tolist() == [*range(len(values[:2])), -1]
        for place in (-1, len(values)):
            with pytest.raises(IndexError, match=f"{len(values)} constants"):
                found.value(place)


class TestNotes:
    def test_a_run_goes_on_with_its_own_only(self) -> None:
        with DuckDB() as database:
            mine, others = StoredRun(database, "mine"), StoredRun(database, "others")
            mine.keep({"step": 3})
            assert mine.kept() == {"fingerprint": "mine", "step": 3}
            with pytest.raises(UnsupportedError, match="keeps no run") as caught:
                others.kept()
            assert "--resume" in str(caught.value)
            others.begin()
            assert not database.has(RUN)
            with pytest.raises(UnsupportedError, match="keeps no run"):
                mine.kept()

    @pytest.mark.parametrize(
        ("settings", "said"),
        [
            (Settings(schedule="sequential"), "is parallel, not sequential"),
            (Settings(clip=1.0), "messages are not clipped"),
            (Settings(starts=2), "has one start"),
        ],
    )
    def test_settings_of_engines_in_memory(self, settings: Settings, said: str) -> None:
        with pytest.raises(HerbrandError, match=said):
            refuse_foreign_settings(settings, "bp")

    def test_settings_that_say_the_same(self) -> None:
        refuse_foreign_settings(Settings(schedule="parallel", starts=1, damping=0.5), "bp")


THEORY = """
predicate friends(person, person): observed
predicate smokes(person)
predicate area(person) in {"ai", "db"}
0.4: smokes(x) and friends(x, y) => smokes(y)
0.2: area(x) = "ai" and smokes(x)
not smokes("d")
smokes("e") ~ 0.3
"""
FACTS = {"friends": [("a", "b"), ("b", "c"), ("c", "d"), ("e", "a")], "smokes": ["a"]}


def test_sizes_are_those_of_memory(tmp_path: Path) -> None:
    here = hb.size_report(hb.Model(hb.parse(THEORY), FACTS)).to_dict()
    there = hb.size_report(hb.Model(hb.parse(THEORY), FACTS, on=f"duckdb:{tmp_path / 'w.duckdb'}")).to_dict()
    assert there["where"].startswith(f"duckdb:{tmp_path}")
    for key in ("declarations", "constants", "predicates", "formulas"):
        assert there[key] == here[key]
    assert {row["engine"] for row in there["engines"] if row["possible"]} == {"mean-field", "bp"}
    assert there["auto"] == "mean-field"


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("green(x) :- red(y), edge(x, y)", "this rule derives from red, which is open: "),
        ("0.3 :: red(x) :- edge(x, y)", "on a database infer cannot use this statement: 0.3 :: red(x)"),
        ("-0.5: count(y: red(y)) >= 2", "what is uncertain is counted in memory, not in a database"),
        ("P(red(x)) in [0.2, 0.3]", "infer cannot use probability bounds: "),
    ],
)
def test_sizes_of_what_no_engine_there_can_use(statement: str, why: str, tmp_path: Path) -> None:
    """It was refused, or ended in a closed connection, where ``check`` in memory lists sizes."""
    declared = "predicate edge(node, node): observed\npredicate red(node)\npredicate green(node)\n"
    theory, facts = hb.parse(declared + statement), {"edge": [("a", "b"), ("b", "c")]}
    there = hb.size_report(hb.Model(theory, facts, on=f"duckdb:{tmp_path / 'w.duckdb'}")).to_dict()
    here = hb.size_report(hb.Model(theory, facts)).to_dict()
    for key in ("declarations", "constants", "predicates", "formulas"):
        assert there[key] == here[key]
    assert there["auto"] is None
    assert all(not row["possible"] and row["reason"].startswith(why) for row in there["engines"])
