"""``herbrand induce`` from folders of facts, and what it says of wrong ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Outcome

Run = Callable[..., Outcome]


def make_worlds(folder: Path, worlds: dict[str, dict[str, str]]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, tables in worlds.items():
        (folder / name).mkdir(parents=True)
        for predicate, rows in tables.items():
            (folder / name / f"{predicate}.csv").write_text(rows)
    return folder


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    """Who has a neighbour with a dog: edges of small paths."""
    return make_worlds(
        tmp_path / "towns",
        {
            f"town{n}": {
                "next": "".join(f"h{i},h{i + 1}\n" for i in range(4 + n)),
                "dog": f"h{n + 1}\nh{n + 3}\n",
                "warned": f"h{n}\nh{n + 2}\n",
            }
            for n in range(6)
        },
    )


def test_a_theory_that_query_runs(towns: Path, tmp_path: Path, herbrand: Run) -> None:
    out = tmp_path / "rules.hb"
    outcome = herbrand(
        "induce", "--target", "warned", "--worlds", towns, "--budget", "0.05", "-o", out, "--format", "json"
    )
    assert outcome.status == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["metrics"]["errors"] == 0 and told["metrics"]["held_out_errors"] == 0
    assert {"seconds", "iterations", "metrics"} <= set(told)
    assert out.read_text() == "warned(x) :- next(x, y), dog(y)\n"
    asked = herbrand(
        "query", out, "--facts", f"next={towns}/town2/next.csv", "--facts", f"dog={towns}/town2/dog.csv",
        "warned(x)", "--format", "json",
    )  # fmt: skip
    assert asked.status == 0, asked.err
    assert {a["bindings"]["x"] for a in json.loads(asked.out)["answers"]} == {"h2", "h4"}


def test_rules_are_not_lost_where_no_machine_was_needed(towns: Path, tmp_path: Path, herbrand: Run) -> None:
    """The search alone may find all rules, after minutes; that there is no machine to save is told beside."""
    kept, out = tmp_path / "warned.hbm", tmp_path / "rules.hb"
    asked = ["induce", "--target", "warned", "--worlds", towns, "--budget", "0.2", "-o", out, "--save", kept]
    done = herbrand(*asked)
    assert done.status == 0 and out.exists() and not kept.exists()
    assert f"no machine was trained, so '{kept}' is not written" in done.err
    refused = herbrand(*asked, "--engine", "search")
    assert refused.status == 1 and "--engine search trains no machine to save" in refused.err


def test_a_saved_machine_concludes_from_new_facts(towns: Path, tmp_path: Path, herbrand: Run) -> None:
    kept = tmp_path / "warned.hbm"
    herbrand(
        "induce", "--target", "warned", "--worlds", towns, "--engine", "nlm", "--budget", "0.05",
        "--save", kept,
    )  # fmt: skip
    new = tmp_path / "new"
    new.mkdir()
    (new / "next.csv").write_text("a,b\nb,c\nc,d\n")
    (new / "dog.csv").write_text("b\n")
    outcome = herbrand("infer", kept, "--facts", new, "--format", "json")
    assert outcome.status == 0, outcome.err
    told = json.loads(outcome.out)
    assert (told["engine"], told["guarantee"]) == ("nlm", "approximation")
    assert {row["atom"] for row in told["marginals"]} == {f'warned("{name}")' for name in "abcd"}
    assert all(0 <= row["probability"] <= 1 for row in told["marginals"])
    first = herbrand("infer", kept, "--facts", new, "--top", "1", "--format", "json")
    (row,) = json.loads(first.out)["marginals"]
    assert row["probability"] == max(row["probability"] for row in told["marginals"])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--engine", "exact"], "a machine does not use --engine"),
        (["--dialect", "mln"], "a machine does not use --dialect"),
        (["rules.hb"], "a machine (.hbm) stands alone"),
        ([], "there is no file"),
    ],
)
def test_what_a_machine_has_no_use_for(herbrand: Run, tmp_path: Path, more: list[str], message: str) -> None:
    outcome = herbrand("infer", tmp_path / "m.hbm", *more)
    assert outcome.status != 0 and message in outcome.err


def test_declarations_rules_and_standard_output(towns: Path, tmp_path: Path, herbrand: Run) -> None:
    theory = tmp_path / "towns.hb"
    theory.write_text(
        "type house\npredicate next(house, house): observed\npredicate dog(house): observed\n"
        "predicate warned(house)\npredicate by(house, house)\nby(x, y) :- next(y, x)\n"
    )
    outcome = herbrand("induce", theory, "--target", "warned", "--worlds", towns, "--budget", "0.05")
    assert outcome.status == 0, outcome.err
    assert outcome.out.splitlines()[-1].startswith("warned(x) :- ")
    assert "predicate next(house, house): observed" in outcome.out and "0 errors in" in outcome.err


def test_an_empty_table_of_one_world_has_the_columns_of_the_others(towns: Path, herbrand: Run) -> None:
    (towns / "town5" / "dog.csv").write_text("")
    (towns / "town5" / "warned.csv").write_text("")
    outcome = herbrand("induce", "--target", "warned", "--worlds", towns, "--budget", "0.05")
    assert outcome.status == 0, outcome.err
    assert outcome.out == "warned(x) :- next(x, y), dog(y)\n"


@pytest.mark.parametrize(
    ("form", "written", "algebra"),
    [
        ("proofs", "warned(x) :- next(x, y), dog(y) @ {}\n", "independent"),
        ("probabilities", "{} :: warned(x) :- next(x, y), dog(y)\n", "probability"),
    ],
)
def test_weights_go_straight_into_query(
    form: str, written: str, algebra: str, towns: Path, tmp_path: Path, herbrand: Run
) -> None:
    """Two houses are warned in each of the five worlds learned from, none wrongly: 11 of 12."""
    out = tmp_path / "rules.hb"
    outcome = herbrand(
        "induce", "--target", "warned", "--worlds", towns, "--budget", "0.05", "--weights", form, "-o", out
    )
    assert outcome.status == 0, outcome.err
    assert out.read_text() == written.format("0.916667")
    asked = herbrand(
        "query", out, "--facts", f"next={towns}/town2/next.csv", "--facts", f"dog={towns}/town2/dog.csv",
        "warned(x)", "--algebra", algebra, "--format", "json",
    )  # fmt: skip
    assert asked.status == 0, asked.err
    answers = json.loads(asked.out)["answers"]
    assert {a["bindings"]["x"]: a["weight"] for a in answers} == pytest.approx(
        {"h2": 0.916667, "h4": 0.916667}
    )


def test_facts_that_hold_in_every_world(towns: Path, tmp_path: Path, herbrand: Run) -> None:
    streets = tmp_path / "next.csv"
    streets.write_text((towns / "town5" / "next.csv").read_text())
    for town in towns.iterdir():
        (town / "next.csv").unlink()
    outcome = herbrand(
        "induce", "--target", "warned", "--worlds", towns, "--facts", streets, "--budget", "0.05"
    )
    assert outcome.status == 0, outcome.err
    assert outcome.out == "warned(x) :- next(x, y), dog(y)\n"


def test_only_listed_tuples_are_known_where_false_ones_are_listed(tmp_path: Path, herbrand: Run) -> None:
    parents = {"mother": "ann,amy\namy,eve\n", "father": "bob,amy\ncid,eve\ndan,cid\n"}
    examples = "ann,eve,true\nbob,eve,true\ndan,eve,true\nann,amy,false\ncid,eve,false\neve,ann,false\n"
    folder = make_worlds(
        tmp_path / "w", {"one": {**parents, "grandparent": "grandparent_1,grandparent_2,truth\n" + examples}}
    )
    outcome = herbrand("induce", "--target", "grandparent", "--worlds", folder, "--budget", "2")
    assert outcome.status == 0, outcome.err
    assert "grandparent(x, y) :-" in outcome.out


@pytest.mark.parametrize(
    ("worlds", "options", "message"),
    [
        ({"a": {"next": "x,y\n"}}, {}, "no world has a table of the target 'warned'"),
        ({"a": {"next": "x,y\n", "warnt": "x\n"}}, {}, "did you mean 'warnt'"),
        (
            {"a": {"next": "x,y\n", "warned": "x\n"}, "b": {"next": "x,y\n", "warned": "y\n"}},
            {},
            "the worlds 'a' and 'b' say the same",
        ),
        ({"a": {"five": "a,b,c,d,e\n", "warned": "a\n"}}, {}, "'five' has 5 arguments, more than"),
        ({"a": {"next": "x,y\n", "warned": "x\n"}, "b": {}}, {}, "holds no table"),
        ({"a": {"warned": "x\n"}}, {}, "no table but that of 'warned'"),
        ({}, {}, "holds no table"),
        ({"a": {}, "b": {}}, {}, "holds no table"),
        ({"a": {"next": "", "warned": ""}}, {}, "the table is empty"),
        (
            {"a": {"next": "x,y\n", "warned": "warned_1,truth\nx,true\nx,false\n"}},
            {},
            'row 3: warned("x") is false, but warned.csv, row 2 says that it is true',
        ),
        (
            {"a": {"next": "x,y\n", "warned": "x,y,z,u,v\n"}},
            {},
            "'warned' has 5 arguments",
        ),
        (
            {"a": {"next": "x,y\n", "warned": "x\n"}},
            {"--budget": "0"},
            "--budget is a number above 0, not 0.0",
        ),
        ({"a": {"next": "x,y\n", "warned": "x\n"}}, {"--engine": "prolog"}, "no engine 'prolog'"),
    ],
)
def test_wrong_input_is_told(
    worlds: dict[str, dict[str, str]], options: dict[str, str], message: str, tmp_path: Path, herbrand: Run
) -> None:
    folder = make_worlds(tmp_path / "w", worlds)
    given = {"--budget": "0.05", **options}
    outcome = herbrand(
        "induce", "--target", "warned", "--worlds", folder, *[x for o in given.items() for x in o]
    )
    assert outcome.status == 1 and message in outcome.err, outcome.err
    assert not outcome.out and "Traceback" not in outcome.err


def test_a_missing_folder_and_an_empty_target(tmp_path: Path, herbrand: Run) -> None:
    outcome = herbrand("induce", "--target", "t", "--worlds", tmp_path / "none")
    assert outcome.status == 1 and "there is no folder" in outcome.err
    theory = tmp_path / "t.hb"
    theory.write_text("predicate next(n, n): observed\npredicate t(n)\n")
    folder = make_worlds(tmp_path / "w", {"a": {"next": "x,y\n", "t": ""}})
    outcome = herbrand("induce", theory, "--target", "t", "--worlds", folder)
    assert outcome.status == 1 and "the target 't' has no examples" in outcome.err


def test_what_no_rule_tells_apart(tmp_path: Path, herbrand: Run) -> None:
    folder = make_worlds(tmp_path / "w", {"a": {"next": "x,y\ny,x\n", "t": "x\n"}})
    outcome = herbrand("induce", "--target", "t", "--worlds", folder, "--budget", "0.03")
    assert outcome.status == 1 and "no rule for 't' was found" in outcome.err


def test_one_large_world_is_mined(herbrand: Run, tmp_path: Path) -> None:
    """Without --worlds; the theory goes straight into a query, and the shape of a link is told in JSON."""
    folder = tmp_path / "graph"
    folder.mkdir()
    parents = [(n, n // 2) for n in range(2, 60)]
    (folder / "parent.csv").write_text("".join(f"p{a},p{b}\n" for a, b in parents))
    (folder / "child.csv").write_text("".join(f"p{b},p{a}\n" for a, b in parents[:40]))
    rules = tmp_path / "rules.hb"
    outcome = herbrand("induce", "--facts", folder, "--length", "2", "-o", rules, "--format", "json")
    assert outcome.status == 0, outcome.err
    reports = json.loads(outcome.out)["metrics"]["rule_reports"]
    (turned,) = [one for one in reports if one["rule"].startswith("child(x, y) :- parent(y, x) @")]
    assert (turned["support"], turned["body"], turned["exact"]) == (40, 58, True)
    asked = herbrand("query", rules, "--facts", folder, 'child("p25", y)', "--depth", "1", "--algebra", "max")
    assert asked.status == 0 and '"p50"' in asked.out, asked.err


def test_options_of_worlds_and_of_one_world_are_apart(herbrand: Run, towns: Path) -> None:
    for given, name in (
        (("--worlds", towns, "--target", "warned", "--length", "2"), "--length"),
        (("--worlds", towns), "--target"),
        (("--facts", towns / "town0", "--noise", "0.1"), "--noise"),
    ):
        outcome = herbrand("induce", *given)
        assert outcome.status == 1 and name in outcome.err, outcome.err
