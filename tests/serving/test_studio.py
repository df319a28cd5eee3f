"""``herbrand studio``: its calls, driven as the client drives them, over a real process."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import herbrand as hb
from herbrand.budget import LIBRARIES
from herbrand.reports.result_file import read_rows
from herbrand.serving import projects
from herbrand.serving.projects import Project
from herbrand.serving.refusals import RefusedError
from herbrand.serving.studio_runs import MOST_RUNNING
from tests.conftest import Outcome
from tests.serving.conftest import children, comes, ended, gone, httpx, opened
from tests.serving.test_service import refused, without_seconds

SLOW = {"engine": "gibbs", "samples": 10**9, "iterations": 10**9}
FACTS = [{"predicate": None, "file": "facts/friends.csv"}]


def run(api: Any, **asked: Any) -> dict[str, Any]:
    body = {"command": "infer", "main": ["smokers.hb"], "facts": FACTS} | asked
    answer = api.post("/api/runs", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def events(api: Any, name: str, **more: Any) -> Iterator[tuple[str, Any]]:
    """The events of a run, as a browser reads them."""
    with api.stream("GET", f"/api/runs/{name}/events", **more) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        event = ""
        for line in stream.iter_lines():
            kind, _, value = line.partition(": ")
            if kind == "event":
                event = value
            elif kind == "data":
                yield event, json.loads(value)


def last(api: Any, name: str) -> tuple[str, Any]:
    return list(events(api, name))[-1]


def test_a_run_gives_the_answer_of_a_model(api: Any, folder: Path) -> None:
    heard = list(events(api, run(api, query=["smokes"], given=['smokes("helen")'])["id"]))
    assert {"progress", "cost", "answer"} <= {event for event, _ in heard}
    assert [event for event, _ in heard].count("answer") == 1 and heard[-1][0] == "answer"
    model = hb.Model(hb.read(folder / "smokers.hb"), folder / "facts" / "friends.csv")
    right = model.infer("smokes", given=['smokes("helen")']).to_dict()
    found = heard[-1][1]
    assert without_seconds({name: found[name] for name in right}) == without_seconds(right)


def test_the_editors_text_counts_and_not_the_files(api: Any) -> None:
    text = "predicate rain\n2.0: rain\n"
    event, found = last(api, run(api, files={"smokers.hb": text}, facts=[])["id"])
    assert event == "answer" and found["marginals"][0]["probability"] == pytest.approx(0.880797, abs=1e-6)


THEORIES: dict[str, tuple[str, dict[str, Any], str]] = {
    "bound": ("P(a) in [0.1, 0.2]\nP(b | a) = 0.5\n", {"query": ["P(a and b)"]}, "bounds"),
    "query": ('r(x, y) :- e(x, y)\ne("a", "b")\n', {"query": ['r("a", y)']}, "answers"),
    "explain": ("1.0: a => b\n", {"query": ["b"]}, "reasons"),
    "compare": ("1.0: a => b\n", {"options": {"engine": ["exact", "gibbs"]}}, "engines"),
    "sample": ("1.0: a => b\n", {"options": {"worlds": 3}}, "worlds"),
    "learn": ('?: p(x)\np("a")\np("b")\nnot p("c")\n', {}, "weights"),
}


@pytest.mark.parametrize("command", THEORIES)
def test_every_command_runs(command: str, api: Any) -> None:
    text, asked, key = THEORIES[command]
    started = run(api, command=command, files={"t.hb": text}, main="t.hb", facts=[], **asked)
    event, found = last(api, started["id"])
    assert event == "answer", found
    assert found[key]


def test_rules_are_induced_from_worlds_of_the_project(api: Any) -> None:
    for world, pairs in {"one": "a,b\nb,c\n", "two": "d,e\ne,f\n"}.items():
        far = "\n".join(f"{y},{x}" for x, y in (pair.split(",") for pair in pairs.split()))
        for name, text in {"edge.csv": pairs, "back.csv": far + "\n"}.items():
            assert api.put(f"/api/files/worlds/{world}/{name}", json={"text": text}).status_code == 200
    options = {"target": "back", "worlds": "worlds", "budget": 0.2, "engine": "search"}
    event, found = last(api, run(api, command="induce", main=[], facts=[], options=options)["id"])
    assert event == "answer", found
    assert "back(x, y) :- edge(y, x)" in found["theory"]


@pytest.mark.parametrize("option", ["worlds", "held_out"])
def test_worlds_outside_of_the_project_are_refused(api: Any, option: str, tmp_path: Path) -> None:
    """They were read, as no file else outside of it is."""
    body = {"command": "learn", "main": ["smokers.hb"], "facts": FACTS}
    for given in (str(tmp_path), "../elsewhere", [{"smokes": f"{tmp_path}/smokes.csv"}]):
        answer = api.post("/api/runs", json=body | {"options": {option: given}})
        assert answer.status_code == 400 and "project" in answer.json()["error"]["message"]


def test_rules_are_mined_from_the_facts_where_no_worlds_are_named(api: Any) -> None:
    """As on the command line; it was an error of types."""
    pairs = [(f"p{i}", f"p{i + 1}") for i in range(30)]
    tables = {"edge": pairs, "back": [(y, x) for x, y in pairs]}
    files = {f"{name}.csv": "".join(f"{x},{y}\n" for x, y in rows) for name, rows in tables.items()}
    asked = {"command": "induce", "main": [], "files": files, "facts": list(files)}
    event, found = last(api, run(api, **asked)["id"])
    assert event == "answer", found
    assert found["theory"] == hb.mine(facts=tables).text and found["metrics"]["rules"]
    for option, value, words in (("worlds", "facts", "needs --target"), ("noise", 0.1, "needs --worlds")):
        event, found = last(api, run(api, **asked, options={option: value})["id"])
        assert event == "error" and words in found["message"]


@pytest.mark.parametrize(
    ("text", "asked", "words"),
    [
        ("1.0: a =>\n", {}, "t.hb:1"),
        ("hard: a\nhard: not a\n", {}, "hard"),
        ("1.0: a\n", {"query": ["b"]}, "predicate 'b'"),
        ("P(a) = 0.5\n", {}, "cannot use"),
        ("1.0: a\n", {"options": {"engine": "exact", "damping": 0.5}}, "--damping"),
        ("1.0: a\n", {"options": SLOW | {"time_limit": 0.5}}, ""),
    ],
)
def test_a_run_that_fails_says_why(text: str, asked: dict[str, Any], words: str, api: Any) -> None:
    event, found = last(api, run(api, files={"t.hb": text}, main="t.hb", facts=[], **asked)["id"])
    if words:
        assert event == "error" and set(found) == {"message", "where", "hint"}
        assert words in f"{found['where']} {found['message']}"
    else:
        assert event == "error" or not found["converged"]


def test_cancelling_ends_the_process(api: Any) -> None:
    started = run(api, options=SLOW)
    assert started["state"] == "running"
    pid = started["pid"]
    next(events(api, started["id"]))
    answer = api.delete(f"/api/runs/{started['id']}")
    assert answer.status_code == 200 and answer.json()["state"] == "cancelled"
    assert gone(pid, within=0.5)
    assert last(api, started["id"]) == ("cancelled", {})
    assert api.get(f"/api/runs/{started['id']}").json()["pid"] is None
    assert api.delete(f"/api/runs/{started['id']}").json()["state"] == "cancelled"


def test_events_go_on_after_those_that_were_read(api: Any) -> None:
    name = run(api)["id"]
    every = list(events(api, name))
    assert list(events(api, name, headers={"Last-Event-ID": "1"})) == every[2:]


@pytest.mark.parametrize("after", ["7000", "0", "99999999999", "x"])
def test_events_of_a_run_under_way_go_on_after_any_number(after: str, api: Any) -> None:
    name = run(api, options=SLOW)["id"]
    following = events(api, name, headers={"Last-Event-ID": after})
    next(following)
    assert api.delete(f"/api/runs/{name}").json()["state"] == "cancelled"
    assert list(following)[-1] == ("cancelled", {})


def test_a_look_ends_with_the_page_that_asked(studio: Any, api: Any) -> None:
    text = "type t = 1..20\npredicate f(t, t)\n0.7: f(x, y) and f(y, z) => f(x, z)\n"
    asked = {"main": "a.hb", "files": {"a.hb": text}, "atom": "f(1, 2)"}
    before = children(studio.process.pid)
    with ThreadPoolExecutor(1) as thread, studio.client() as other:
        looking = thread.submit(other.post, "/api/circuit", json=asked, timeout=1.0)
        assert comes(lambda: len(children(studio.process.pid)) > len(before))
        assert isinstance(looking.exception(), httpx.TimeoutException)
        assert comes(lambda: children(studio.process.pid) == before, within=10)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing tells a process's limits")
def test_the_memory_of_looks_and_checks_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "a.hb").write_text("0.5: rain\n")
    with ended(opened(str(tmp_path), "--memory", "1GB")) as started, started.client() as client:
        assert client.post("/api/check", json={"main": "a.hb"}).status_code == 200
        _, reader = children(started.process.pid)
        limits = Path(f"/proc/{reader}/limits").read_text().splitlines()
    (data,) = (line for line in limits if line.startswith("Max data size"))
    assert int(data.split()[3]) == 2**30 + LIBRARIES


def test_runs_that_start_together_are_counted(api: Any) -> None:
    asked = {"command": "infer", "main": ["smokers.hb"], "facts": FACTS, "options": SLOW}
    with ThreadPoolExecutor(MOST_RUNNING + 4) as threads:
        every = range(MOST_RUNNING + 4)
        answers = list(threads.map(lambda _: api.post("/api/runs", json=asked), every))
    started = [answer.json()["id"] for answer in answers if answer.status_code == 201]
    for name in started:
        api.delete(f"/api/runs/{name}")
    assert len(started) == MOST_RUNNING
    assert all("under way" in refused(each, 503)["message"] for each in answers if each.status_code != 201)


MARGINAL = {"atom": "smokes", "predicate": "smokes", "arguments": [], "probability": 0.5, "value": [1]}
BAD: dict[str, tuple[str, str, Any, int]] = {
    "no JSON": ("POST", "/api/runs", b"{", 400),
    "a list": ("POST", "/api/runs", [], 400),
    "no command": ("POST", "/api/runs", {}, 400),
    "an unknown command": ("POST", "/api/runs", {"command": "convert"}, 400),
    "an unknown option": ("POST", "/api/runs", {"command": "infer", "options": {"tolerence": 1}}, 400),
    "options as a list": ("POST", "/api/runs", {"command": "infer", "options": [1]}, 400),
    "a wrong value": ("POST", "/api/runs", {"command": "infer", "options": {"seed": "x"}}, 400),
    "files as a list": ("POST", "/api/runs", {"command": "infer", "files": ["x"]}, 400),
    "a file of a number": ("POST", "/api/runs", {"command": "infer", "files": {"a.hb": 1}}, 400),
    "a file outside": ("POST", "/api/runs", {"command": "infer", "files": {"../a.hb": ""}}, 400),
    "a theory outside": ("POST", "/api/runs", {"command": "infer", "main": "/etc/passwd"}, 400),
    "facts outside": ("POST", "/api/runs", {"command": "infer", "facts": ["../x.csv"]}, 400),
    "facts as numbers": ("POST", "/api/runs", {"command": "infer", "facts": [1]}, 400),
    "saving elsewhere": ("POST", "/api/runs", {"command": "learn", "options": {"save": "/tmp/x"}}, 400),
    "no question": ("POST", "/api/runs", {"command": "query"}, 400),
    "no run": ("GET", "/api/runs/r99999", None, 404),
    "no run to hear": ("GET", "/api/runs/r99999/events", None, 404),
    "no run to end": ("DELETE", "/api/runs/r99999", None, 404),
    "check of a list": ("POST", "/api/check", [], 400),
    "check of nothing": ("POST", "/api/check", {"main": "gone.hb"}, 400),
    "check of numbers": ("POST", "/api/check", {"main": "a.hb", "files": {"a.hb": 1}}, 400),
    "format of mistakes": ("POST", "/api/format", {"text": "1: a ->"}, 422),
    "format of a number": ("POST", "/api/format", {"text": 1}, 400),
    "no predicate": ("POST", "/api/table", {"main": "smokers.hb"}, 400),
    "an unknown predicate": ("POST", "/api/table", {"main": "smokers.hb", "predicate": "gone"}, 422),
    "a negative offset": ("POST", "/api/table", {"predicate": "a", "offset": -1}, 400),
    "a wrong offset": ("GET", "/api/table?predicate=friends&offset=x", None, 400),
    "marginals of numbers": ("POST", "/api/graph", {"marginals": [1]}, 400),
    "nothing to export": ("POST", "/api/export", {}, 400),
    "an unknown example": ("GET", "/api/examples/..", None, 404),
    "a hidden file": ("PUT", "/api/files/.ssh/x", {"text": ""}, 400),
    "a folder": ("PUT", "/api/files/facts", {"text": ""}, 400),
    "an upload outside": ("POST", "/api/upload?name=..%2Fx.csv", b"1", 400),
    "an upload without a name": ("POST", "/api/upload", b"1", 400),
    "an upload over odd bytes": ("POST", "/api/upload?name=x.csv&before=x", b"1", 400),
    "a circuit without a theory": ("POST", "/api/circuit", {"atom": "not smokes"}, 422),
    "nothing to delete": ("DELETE", "/api/files/gone.csv", None, 404),
    "a file below a file": ("POST", "/api/runs", {"command": "infer", "files": {"notes.txt/a.hb": ""}}, 400),
    "a file of a long name": ("POST", "/api/runs", {"command": "infer", "files": {"a" * 300: ""}}, 400),
    "a long name to save": ("PUT", "/api/files/" + "a" * 300, {"text": "", "before": None}, 400),
    "a long name to delete": ("DELETE", "/api/files/" + "a" * 300, {"before": "x"}, 400),
    "a file too deep to be listed": ("PUT", "/api/files/a/b/c/d/e.hb", {"text": ""}, 400),
    "a file without a text": ("PUT", "/api/files/notes.txt", {"txt": "lost"}, 400),
    "an offset beyond all rows": ("POST", "/api/table", {"predicate": "a", "offset": 10**30}, 400),
    "fewer nodes than none": ("POST", "/api/graph", {"most_nodes": -1}, 400),
    "marginals of odd predicates": ("POST", "/api/graph", {"marginals": [{"predicate": []}]}, 400),
    "marginals of odd arguments": (
        "POST",
        "/api/graph",
        {"main": "smokers.hb", "marginals": [{"predicate": "smokes", "arguments": [None]}]},
        400,
    ),
    "arguments that are no list": ("POST", "/api/graph", {"marginals": [{"arguments": 1}]}, 400),
    "facts that are nowhere": ("POST", "/api/circuit", {"atom": "a", "facts": ["nowhere.csv"]}, 422),
    "facts of a long name": ("POST", "/api/circuit", {"atom": "a", "facts": ["a" * 300]}, 422),
    "values that are no constants": ("POST", "/api/score", {"marginals": [MARGINAL], "facts": FACTS}, 422),
    "no such call": ("POST", "/api/nonesuch", {}, 404),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_one_form(name: str, api: Any) -> None:
    method, path, body, status = BAD[name]
    content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    answer = api.request(method, path, content=content)
    if name == "no such call" and answer.status_code == 405:  # where the bundle answers all other paths
        return
    refused(answer, status)


def test_a_wrong_path_names_each_call_once(api: Any) -> None:
    calls = api.get("/nowhere").json()["error"]["hint"].removeprefix("there are ").split(", ")
    assert "/api/runs" in calls and len(set(calls)) == len(calls)


def test_the_token_and_the_host_are_checked(studio: Any, api: Any) -> None:
    import httpx

    with httpx.Client(base_url=studio.address, timeout=60) as stranger:
        for headers in ({}, {"X-Herbrand-Token": "wrong"}, {"X-Herbrand-Token": "ü".encode()}):
            refused(stranger.get("/api/project", headers=headers), 401)
        assert stranger.get(f"/api/options?token={studio.token}").status_code == 200
        page = stranger.get("/")
        assert page.status_code == 200
        policy = page.headers["content-security-policy"]
        assert "default-src 'self'" in policy and "unsafe-eval" not in policy
        assert "script-src 'self';" in policy
    refused(api.get("/api/options", headers={"Host": "evil.example"}), 400)
    refused(api.get("/api/options", headers={"Origin": "https://evil.example"}), 403)


def test_mistakes_outline_and_words_of_a_text(api: Any) -> None:
    text = 'predicate smokes(person)\n1.5: smoks(x)\nsmokes("anna")\n'
    found = api.post("/api/check", json={"files": {"a.hb": text}, "main": ["a.hb"], "facts": []}).json()
    (mistake,) = found["mistakes"]
    ends = [mistake[name] for name in ("line", "column", "end_line", "end_column")]
    assert ends == [2, 6, 2, 14] and mistake["severity"] == "error" and mistake["file"] == "a.hb"
    assert "smokes" in mistake["hint"]
    assert found["outline"][0] == {"name": "smokes", "kind": "predicate", "line": 1, "file": "a.hb"}
    assert found["predicates"] == [{"name": "smokes", "arguments": ["person"], "values": None}]
    assert found["constants"] == ["anna"]


def test_several_files_are_one_theory(api: Any) -> None:
    files = {"a.hb": "predicate rain\n", "b.hb": "1.0: rain\n1.0: snow\n", "c.mln": "rain\n1.0 rain\n"}
    found = api.post("/api/check", json={"files": files, "main": ["a.hb", "b.hb"]}).json()
    assert [(each["file"], each["line"]) for each in found["mistakes"]] == [("b.hb", 2)]
    assert api.post("/api/check", json={"files": files, "main": "c.mln"}).json()["mistakes"] == []


def test_what_a_theory_includes_is_read_as_the_editor_has_it(api: Any, folder: Path) -> None:
    """Types from the folder, rules as they are edited, facts that these include, in a folder of their own."""
    (folder / "types.mln").write_text("Friends(person, person)\nSmokes(person)\n")
    (folder / "more").mkdir(exist_ok=True)
    (folder / "more" / "rules.mln").write_text('#include "known.db"\n')
    (folder / "more" / "known.db").write_text("Friends(Anna, Bob)\n")
    files = {"all.mln": '#include "types.mln"\n#include "more/rules.mln"\n0.5 Smokes(x)\n'}
    right = {'Smokes("Anna")': 0.6224593312018546, 'Smokes("Bob")': 0.6224593312018546}
    asked = {"main": "all.mln", "files": files}
    assert api.post("/api/check", json=asked).json()["mistakes"] == []
    kind, answer = last(api, run(api, facts=[], query="Smokes", **asked)["id"])
    assert kind == "answer", answer
    assert {row["atom"]: row["probability"] for row in answer["marginals"]} == pytest.approx(right)
    files["more/rules.mln"] = '#include "known.db"\n1.0 Smoks(x)\n'
    (mistake,) = api.post("/api/check", json=asked).json()["mistakes"]
    assert (mistake["file"], mistake["line"]) == ("more/rules.mln", 2) and "Smoks" in mistake["message"]
    files["all.mln"] = '#include "../outside.mln"\n'
    outside = "'../outside.mln' lies outside the folder of the including file"
    (mistake,) = api.post("/api/check", json=asked).json()["mistakes"]
    kind, error = last(api, run(api, facts=[], **asked)["id"])
    assert (kind, error["message"], mistake["message"]) == ("error", outside, outside)


def test_text_is_formatted(api: Any) -> None:
    assert api.post("/api/format", json={"text": "1.5:a=>b"}).json() == {"text": "1.5: a => b\n"}


def test_the_project_with_its_files_and_tables(api: Any, folder: Path) -> None:
    found = api.get("/api/project").json()
    assert found["folder"] == str(folder) and found["main"] == "smokers.hb" and found["given"] == ["facts"]
    kinds = {file["name"]: file["kind"] for file in found["files"]}
    assert kinds["smokers.hb"] == "theory" and kinds["facts/friends.csv"] == "facts"
    tables = {table["predicate"]: table for table in found["facts"]}
    assert tables["friends"]["rows"] == 12 and tables["friends"]["world"] == "closed"
    assert [each["type"] for each in tables["friends"]["arguments"]] == ["person", "person"]


def test_no_file_is_left_out_silently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All theories and tables are listed, whatever else is there; links that lead out are not read."""
    project = Project(tmp_path)
    (tmp_path / "tables").mkdir()
    for number in range(projects.MOST_OTHERS + 10):
        (tmp_path / f"note{number}.txt").touch()
        (tmp_path / "tables" / f"_t{number}.csv").touch()
    (tmp_path / "tables" / "rain.hb").write_text("0.5: rain\n")
    (tmp_path / "inside.hb").symlink_to(tmp_path / "tables" / "rain.hb")
    (tmp_path / "tables" / "outside.hb").symlink_to("/etc/passwd")
    kinds = Counter(file["kind"] for file in project.files())
    assert kinds == {"theory": 2, "facts": projects.MOST_OTHERS + 10, "other": projects.MOST_OTHERS}
    assert len(project.tables()) == kinds["facts"] and project.listed()[1] is None
    monkeypatch.setattr(projects, "MOST_SEEN", 20)
    assert "more than 20 files" in (project.listed()[1] or "")


def test_texts_are_sent_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projects, "MOST_TEXTS", 10)
    for name in ("a.hb", "b.hb", "c.hb"):
        (tmp_path / name).write_text("0: a\n")
    assert [file["text"] for file in Project(tmp_path).files()] == ["0: a\n", "0: a\n", None]


def test_files_are_saved_read_and_deleted(api: Any, folder: Path) -> None:
    assert api.put("/api/files/new/rain.hb", json={"text": "0.5: rain\n"}).status_code == 200
    assert (folder / "new" / "rain.hb").read_text() == "0.5: rain\n"
    assert api.delete("/api/files/new/rain.hb").status_code == 200
    assert not (folder / "new" / "rain.hb").exists()


def test_a_pipe_in_the_folder_is_no_file_of_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.hb")
    project = Project(tmp_path)
    uses = (
        project.path,
        lambda name: project.save(name, ""),
        lambda name: project.refuse_changed(name, None),
    )
    for use in uses:
        with pytest.raises(RefusedError, match=r"'pipe\.hb' is a named pipe"):
            use("pipe.hb")
    assert project.files() == []


def test_a_file_that_changed_since_it_was_opened_is_not_written_over(api: Any, folder: Path) -> None:
    path, address = folder / "shared.hb", "/api/files/shared.hb"
    assert api.put(address, json={"text": "1: a\n", "before": None}).status_code == 200
    for before in (None, "1: b\n"):
        answer = api.put(address, json={"text": "1: c\n", "before": before})
        assert answer.status_code == 409 and "not as it was opened" in answer.json()["error"]["message"]
    assert path.read_text() == "1: a\n"
    assert api.put(address, json={"text": "1: c\n", "before": "1: a\n"}).status_code == 200
    path.unlink()
    assert api.put(address, json={"text": "1: d\n", "before": "1: c\n"}).status_code == 409
    assert not path.exists()


def test_a_file_that_changed_is_neither_deleted_nor_uploaded_over(api: Any, folder: Path) -> None:
    path, before = folder / "says.csv", "ana,ü\n"
    address, upload = "/api/files/says.csv", "/api/upload?name=says.csv"
    path.write_text("bob,o\n")
    answers = [
        api.request("DELETE", address, json={"before": before}),
        api.post(f"{upload}&before={len(before.encode())}", content=f"{before}new,n\n".encode()),
        api.post(f"{upload}&before=-1", content=b"new,n\n"),
    ]
    assert [answer.status_code for answer in answers] == [409] * 3
    assert api.request("DELETE", address, json=[before]).status_code == 400
    assert path.read_text() == "bob,o\n"
    path.write_text(before)
    assert (
        api.post(f"{upload}&before={len(before.encode())}", content=f"{before}a,b\n".encode()).status_code
        == 200
    )
    assert path.read_text() == "a,b\n"
    assert api.request("DELETE", address, json={"before": "a,b\n"}).status_code == 200
    assert not path.exists()


def test_an_uploaded_table_is_facts(api: Any, folder: Path) -> None:
    content = b"person,word\nanna,hello\nbob,world\n"
    assert api.post("/api/upload?name=says.csv", content=content).json()["kind"] == "facts"
    asked = {
        "files": {"t.hb": "predicate says(person, word): observed\n"},
        "main": "t.hb",
        "facts": ["says.csv"],
    }
    found = api.post("/api/table", json={**asked, "predicate": "says", "offset": 1}).json()
    assert found["columns"] == ["person", "word"] and found["total"] == 2
    assert found["rows"] == [["bob", "world"]]
    (folder / "says.csv").unlink()


def test_marks_of_rows_have_columns(api: Any) -> None:
    text = 'predicate p(t)\np("a")\nnot p("b")\np("c") ~ 0.7\n'
    found = api.post("/api/table", json={"files": {"t.hb": text}, "main": "t.hb", "predicate": "p"}).json()
    assert found["columns"] == ["t", "truth", "probability"]
    assert found["rows"] == [["a", True, None], ["b", False, None], ["c", None, 0.7]]
    assert found["atoms"] == ['p("a")', 'p("b")', 'p("c")']


@pytest.mark.parametrize(
    ("declared", "atom"),
    [
        ("area(t) in {'ai', 'db'}", 'area("p1") = "ai"'),
        ("`odd name`(t, n)", '`odd name`("x y", 2)'),
        ("`not`", "`not`"),
    ],
)
def test_rows_have_their_atoms_as_a_theory_does(declared: str, atom: str, api: Any) -> None:
    """The page put them together itself, and the atom of a value was refused as evidence."""
    declared = declared.replace("'", '"')
    text = f"type n = number\npredicate {declared}\n{atom}\n"
    name = hb.parse(text).predicates[0].name
    found = api.post("/api/table", json={"files": {"t.hb": text}, "main": "t.hb", "predicate": name}).json()
    assert found["atoms"] == [atom]


def test_a_graph_holds_facts_and_marginals(api: Any) -> None:
    marginals = [{"predicate": "smokes", "arguments": ["bob"], "probability": 0.25}]
    asked = {"main": "smokers.hb", "facts": FACTS, "marginals": marginals}
    found = api.post("/api/graph", json=asked).json()
    assert len(found["edges"]) == 12 and found["left_out"] == {"nodes": 0, "edges": 0}
    bob = next(node for node in found["nodes"] if node["label"] == "bob")
    assert {"predicate": "smokes", "probability": 0.25} in bob["marks"]
    small = api.post("/api/graph", json={**asked, "most_edges": 5}).json()
    assert len(small["edges"]) == 5 and small["left_out"]["edges"] == 7


def test_an_answer_is_scored_as_on_the_command_line(api: Any, folder: Path) -> None:
    labels = folder / "labels.csv"
    labels.write_text("person,truth\nbob,true\nhelen,false\n")
    theory = hb.read(folder / "smokers.hb")
    answer = hb.Model(theory, folder / "facts").infer(query="smokes")
    marginals = answer.to_dict()["marginals"]
    asked = {"facts": [{"predicate": "smokes", "file": "labels.csv"}], "marginals": marginals}
    scored = api.post("/api/score", json={**asked, "closed": ["smokes"]}).json()
    rows = read_rows(marginals, "the answer")
    expected = hb.score(rows, f"smokes={labels}", closed=["smokes"]).to_dict()
    assert scored == json.loads(json.dumps(expected)) and scored["rows"] == len(marginals)
    assert api.post("/api/score", json=asked).json()["rows"] == 2
    other = api.post("/api/score", json={**asked, "marginals": [{"atom": "smokes"}]})
    assert other.status_code == 422 and "has no column" in other.json()["error"]["message"]


def test_options_are_those_of_the_one_table(api: Any) -> None:
    commands = api.get("/api/options").json()["commands"]
    assert {"infer", "bound", "query", "learn", "induce", "compare"} <= set(commands)
    engine = next(option for option in commands["infer"] if option["name"] == "engine")
    assert {"auto", "exact", "gibbs"} <= set(engine["choices"])
    damping = next(option for option in commands["infer"] if option["name"] == "damping")
    assert damping["type"] == "number" and "bp" in damping["engines"]


def test_examples_open_and_have_no_mistakes(api: Any) -> None:
    names = [each["name"] for each in api.get("/api/examples").json()["examples"]]
    assert "smokers" in names
    for name in names:
        found = api.get(f"/api/examples/{name}").json()
        files = {file["name"]: file["text"] for file in found["files"] if file["text"] is not None}
        checked = api.post("/api/check", json={"files": files, "main": found["main"]}).json()
        assert checked["mistakes"] == [], name


def test_a_page_of_half_a_letter_is_a_page(api: Any) -> None:
    body = b'{"answer": {"marginals": [{"atom": "\\ud800", "probability": 0.5}]}, "title": "\\udfff"}'
    assert "0.5000" in api.post("/api/export", content=body).text


def test_a_page_of_a_result_stands_alone(api: Any) -> None:
    answer = {"engine": "exact", "marginals": [{"atom": 'p("<b>")', "probability": 0.25, "value": None}]}
    page = api.post("/api/export", json={"answer": answer, "theory": "1: <p>", "title": "<i>"})
    assert page.headers["content-type"].startswith("text/html")
    assert "p(&quot;&lt;b&gt;&quot;)" in page.text and "0.2500" in page.text and "&lt;i&gt;" in page.text
    assert "<script" not in page.text and "<b>" not in page.text and "src=" not in page.text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_its_runs(number: int, tmp_path: Path) -> None:
    (tmp_path / "rain.hb").write_text("0.5: rain\n")
    started = opened(str(tmp_path / "rain.hb"))
    with started.client() as client:
        begun = run(client, main="rain.hb", facts=[], options=SLOW)
        below = children(started.process.pid)
        assert begun["pid"] in below
        with client.stream("GET", f"/api/runs/{begun['id']}/events") as events:
            lines = events.iter_lines()
            next(lines)
            assert started.end(number) == 0
            list(lines)  # the page that listens hears the end
    assert all(map(gone, below))
    assert started.process.communicate() == ("", "")


def test_a_missing_theory_is_told(herbrand: Callable[..., Outcome]) -> None:
    outcome = herbrand("studio", "gone.hb", "--no-browser")
    assert outcome.status == 1 and outcome.out == "" and "there is no file 'gone.hb'" in outcome.err
