"""``herbrand serve``: the command line's answers, refusals in one form, limits, and nothing that stops it."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import herbrand as hb
from herbrand.errors import HerbrandError, Mistake
from herbrand.serving import gates
from herbrand.serving.json_requests import ASKING
from herbrand.serving.listening import bound_socket
from herbrand.serving.metrics import Metrics
from herbrand.serving.refusals import RefusedError, refusal_of
from herbrand.serving.service import Answers, RequestLimits
from tests.conftest import Outcome
from tests.serving.conftest import SMOKERS, Started, begun, children, comes, ended, gone, opened, served

Ask = Callable[..., Any]
COMMANDS = {
    "infer": {"query": ["smokes", 'cancer("bob")'], "given": ['smokes("helen")']},
    "check": {},
    "explain": {"query": ['smokes("frank")'], "top": 3},
}


def without_seconds(answer: Any) -> Any:
    """An answer without what no two calls share."""
    if isinstance(answer, dict):
        return {name: without_seconds(value) for name, value in answer.items() if name != "seconds"}
    return [without_seconds(each) for each in answer] if isinstance(answer, list) else answer


def refused(answer: Any, status: int) -> dict[str, Any]:
    """The error of a response."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "where", "hint"} and error["message"]
    return error


@pytest.mark.parametrize("command", COMMANDS)
def test_answers_are_those_of_the_command_line(
    command: str, ask: Ask, herbrand: Callable[..., Outcome]
) -> None:
    body = COMMANDS[command]
    lines = [f"--{name}={value}" for name, value in body.items() if not isinstance(value, list)]
    lines += [part for n, v in body.items() if isinstance(v, list) for each in v for part in (f"--{n}", each)]
    theory = (str(SMOKERS / "smokers.hb"), "--facts", str(SMOKERS / "facts"))
    outcome = herbrand(command, *theory, *lines, "--format", "json")
    assert outcome.status == 0, outcome.err
    answer = ask(f"/{command}", body)
    assert answer.status_code == 200
    assert without_seconds(answer.json()) == without_seconds(json.loads(outcome.out))


def test_rules_and_bounds_are_served_too(tmp_path: Path) -> None:
    rules = tmp_path / "family.hb"
    rules.write_text(
        'uncle(x, y) :- parent(x, z), brother(z, y)\nparent("liam", "eve")\nbrother("eve", "bob")\n'
        "P(burglary) in [0.1, 0.2]\nP(alarm | burglary) in [0.9, 1]\n"
    )
    with (
        ended(served(str(rules), "--ignore", "bounds", "--workers", "1")) as started,
        started.client() as client,
    ):
        found = client.post("/query", json={"query": 'uncle("liam", y)'}).json()
        assert found["answers"] == [{"bindings": {"y": "bob"}, "weight": 1.0}]
        assert refused(client.post("/query", json={}), 400)["message"].startswith("query takes one question")
    with ended(served(str(rules), "--workers", "1")) as started, started.client() as client:
        found = client.post("/bound", json={"query": ["P(alarm and burglary)"]}).json()["bounds"][0]
        assert (found["lower"], found["upper"]) == (pytest.approx(0.09), pytest.approx(0.2))


def test_sizes_are_of_what_is_asked_and_given(ask: Ask) -> None:
    found = ask("/check", {"query": ["exists x: cancer(x)"], "given": ['cancer("bob")']}).json()
    reasons = {each["engine"]: each["reason"] for each in found["engines"]}
    assert reasons["bp"] == "bp gives the probabilities of atoms, not of formulas" and not reasons["exact"]
    assert {p["predicate"]: p["known"] for p in found["predicates"]}["cancer"] == 1
    assert ask("/check", {"query": "cancer"}).status_code == 200


BAD: dict[str, tuple[str, bytes, int, str]] = {
    "no JSON": ("/infer", b"{", 400, "no JSON"),
    "no text": ("/infer", b"\xff\xfe\xff", 400, "no JSON"),
    "deep": ("/infer", b"[" * 100_000, 400, "no JSON"),
    "NaN": ("/infer", b'{"min": NaN}', 400, "NaN"),
    "a name twice": ("/infer", b'{"query": ["rain"], "query": ["wet"]}', 400, "'query' stands in it twice"),
    "a list": ("/infer", b"[]", 400, "JSON object"),
    "a number": ("/infer", b"3", 400, "JSON object"),
    "an unknown option": ("/infer", b'{"tolerence": 1}', 400, "no option 'tolerence'"),
    "a model's option": ("/infer", b'{"facts": ["/etc"]}', 400, "no option 'facts'"),
    "a file": ("/infer", b'{"resume": true}', 400, "--resume"),
    "a wrong type": ("/infer", b'{"iterations": "many"}', 400, "--iterations"),
    "a large number": ("/infer", b'{"seed": 1e400}', 400, "seed"),
    "no texts": ("/infer", b'{"query": [1]}', 400, "--query: expected a text, or a list of texts, not 1"),
    "the best of no map": ("/infer", b'{"of": ["smokes"]}', 422, "--map is missing"),
    "an object of a query": ("/infer", b'{"query": {"a": 1}}', 400, "list of texts"),
    "an object of evidence": ("/infer", b'{"given": {"smokes(\\"anna\\")": false}}', 400, "list of texts"),
    "an unknown predicate": ("/infer", b'{"query": ["smoks"]}', 422, "no predicate 'smoks'"),
    "no formula": ("/infer", b'{"query": ["smokes("]}', 422, ""),
    "a lone surrogate": ("/infer", b'{"query": ["\\ud800"]}', 422, ""),
    "a contradiction": ("/infer", b'{"given": ["not smokes(\\"anna\\")"]}', 422, "smokes"),
    "an engine": ("/infer", b'{"engine": "nonesuch"}', 422, "nonesuch"),
    "engines": ("/infer", b'{"engine": ["exact"]}', 400, "--engine is a text"),
    "an option of others": ("/infer", b'{"engine": "exact", "damping": 0.5}', 422, "--damping"),
    "sizes of an unknown predicate": ("/check", b'{"query": ["smoks"]}', 422, "no predicate 'smoks'"),
    "sizes given no text": ("/check", b'{"given": [5]}', 400, "list of texts"),
    "no rules": ("/query", b'{"query": "smokes(x)"}', 422, "cannot use"),
    "no question": ("/explain", b"{}", 400, "one question"),
    "no batch": ("/batch", b"{}", 400, "requests"),
    "a long batch": ("/batch", b'{"requests": [' + b"3," * 2000 + b"3]}", 400, "at most 1,000"),
    "an unknown command": ("/learn", b"{}", 404, "Not Found"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_one_form(name: str, smokers: Started) -> None:
    path, body, status, words = BAD[name]
    with smokers.client() as client:
        error = refused(client.post(path, content=body), status)
        assert words in error["message"]


def test_a_wrong_method_is_answered_by_the_right_one(smokers: Started) -> None:
    with smokers.client() as client:
        answer = client.get("/infer")
        assert "Method Not Allowed" in refused(answer, 405)["message"] and answer.headers["allow"] == "POST"
        assert client.head("/health").status_code == 200


def test_mistakes_tell_place_and_hint(ask: Ask) -> None:
    error = refused(ask("/infer", {"query": ["cancr"]}), 422)
    assert error == {
        "message": "there is no predicate 'cancr'", "where": "<query>:1:1", "hint": "did you mean 'cancer'?"
    }  # fmt: skip


def test_advice_is_what_a_request_can_follow(ask: Ask) -> None:
    """It named flags of the command line, also of options that no request takes."""
    unusable = refused(ask("/query", {"query": "smokes(x)"}), 422)["hint"]
    assert unusable.endswith("; herbrand serve takes --ignore when it starts, a request does not")
    asked = {"query": ["smokes"], "engine": "exact", "damping": 0.5}
    unused = refused(ask("/infer", asked), 422)["hint"]
    assert unused.endswith("name one of them, or leave out damping")
    assert refused(ask("/infer", {"ignore": ["weights"]}), 400) == {
        "message": "infer has no option 'ignore'", "where": None,
        "hint": "herbrand serve takes it when it starts",
    }  # fmt: skip
    late = refused(ask("/infer", {"query": ["smokes"], "engine": "exact", "time_limit": 0}), 503)
    assert late["hint"].endswith("time_limit, up to the server's --time-limit"), late


def test_several_mistakes_advise_in_the_words_of_a_request() -> None:
    error = HerbrandError([Mistake("one"), Mistake("two", hint="allow more by --memory")])
    told = refusal_of(error, command="infer")
    assert (told.message, told.hint) == (
        "one\ntwo\n  allow more by memory, up to the server's --memory",
        "",
    )


def test_a_question_of_each_command_is_shown_where_none_is_asked(ask: Ask) -> None:
    """``explain`` was shown an atom with a variable, which it refuses."""
    shown = {command: refused(ask(f"/{command}", {}), 400)["hint"] for command in ("query", "explain")}
    assert shown == {"query": 'such as friends("anna", x)', "explain": 'such as smokes("anna")'}


def test_a_huge_body_is_refused_before_it_is_read(smokers: Started) -> None:
    with smokers.client() as client:
        assert "bytes" in refused(client.post("/infer", content=b" " * (9 << 20)), 413)["message"]

        def endless() -> Any:
            while True:
                yield b" " * 65_536

        try:
            refused(client.post("/infer", content=endless()), 413)
        except Exception as error:  # the server may close before all is sent
            assert type(error).__module__.startswith("httpx")
        assert client.get("/health").json()["status"] == "ok"


def test_what_is_not_quite_a_request_is_answered_by_name(smokers: Started) -> None:
    with smokers.client() as client:
        error = refused(client.post("/infer/", json={}), 404)
        assert error["hint"] == "did you mean '/infer'?"
        packed = {"content": gzip.compress(b"{}"), "headers": {"Content-Encoding": "gzip"}}
        assert refused(client.post("/infer", **packed), 415)["message"] == "the body is compressed (gzip)"
        assert client.get("/openapi.json").json()["servers"] == [{"url": "."}]  # whatever a proxy puts before


def test_who_still_sends_a_refused_body_reads_the_refusal(smokers: Started) -> None:
    head = f"POST /infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: {9 << 20}\r\n\r\n"
    with dialled(smokers) as channel:
        channel.sendall(head.encode())
        time.sleep(0.2)  # the server has refused by now; what follows comes late
        for _ in range(64):
            channel.sendall(b" " * 65_536)
        said, reason = b"", b"more than 8,388,608 bytes"
        while reason not in said and (more := channel.recv(65_536)):
            said += more
    assert said.startswith(b"HTTP/1.1 413") and reason in said


HEADS = {
    "a broken host": (b"Host: [::1", b"the request names no host"),
    "a broken origin": (b"Host: localhost\r\nOrigin: http://[bad", b"pages of other places"),
    "a host of odd letters": (b"Host: l\xff\xfe", b"this server is not called"),
    "a long path": (b"Host: localhost", b"Not Found"),
}


@pytest.mark.parametrize("name", HEADS)
def test_odd_heads_are_refused_too(name: str, smokers: Started) -> None:
    head, words = HEADS[name]
    path = b"/" + b"a" * 50_000 if name == "a long path" else b"/health"
    with dialled(smokers) as channel:
        channel.sendall(b"GET " + path + b" HTTP/1.1\r\nConnection: close\r\n" + head + b"\r\n\r\n")
        said = b"".join(iter(lambda: channel.recv(65_536), b""))
    assert said[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 403", b"HTTP/1.1 404") and words in said
    assert len(said) < 2_000


def dialled(started: Started) -> socket.socket:
    host, port = started.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)))


def test_slow_senders_and_those_who_leave_stop_nobody(tmp_path: Path) -> None:
    """And none of them is written down as a fault."""
    theory = tmp_path / "rain.hb"
    theory.write_text("0.5: rain\n")
    with ended(served(str(theory), "--workers", "1")) as started, started.client() as client:
        slow = [dialled(started) for _ in range(50)]
        for channel in slow:
            channel.sendall(b'POST /infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"q')
        assert client.post("/infer", json={}).status_code == 200
        for channel in slow:
            channel.close()
        for odd in (
            b"NONSENSE\r\n\r\n",
            b"GET /health HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\r\n",
        ):
            with dialled(started) as channel:
                channel.sendall(odd)
                assert channel.recv(100).startswith(b"HTTP/1.1 ")
        assert client.get("/health").json()["status"] == "ok"
        assert started.end() == 0 and started.process.stderr is not None
        assert started.process.stderr.read() == ""


def test_work_that_nobody_waits_for_is_ended(tmp_path: Path) -> None:
    theory = tmp_path / "rain.hb"
    theory.write_text("0.5: rain\n")
    part = {"engine": "gibbs", "samples": 10**9}
    bodies = {"/infer": part, "/batch": {"requests": [{"command": "infer", **part}]}}
    with ended(served(str(theory), "--workers", "1", "--time-limit", "100")) as started:
        for path, asked in bodies.items():
            body = json.dumps(asked).encode()
            with dialled(started) as channel:
                head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
                channel.sendall(head.encode() + body)
                with started.client() as client:
                    assert comes(lambda client=client: client.get("/health").json()["busy"] == 1)
            with started.client() as client:
                began = time.monotonic()
                assert client.post("/infer", json={"seed": len(path)}).status_code == 200
                assert time.monotonic() - began < 90
        with started.client() as client:
            assert 'herbrand_requests_total{command="infer",status="499"} 2' in client.get("/metrics").text


class Worker:
    """In place of a pool: one process, whose second answer is better."""

    def __init__(self) -> None:
        self.answers = [b'{"converged": false}', b'{"converged": true}', b"another"]

    async def answer(self, task: Any, seconds: float | None) -> bytes:
        return self.answers.pop(0)


def test_an_answer_that_a_limit_cut_is_not_remembered() -> None:
    answers: Any = Answers(Worker(), RequestLimits(1.0), Metrics())  # type: ignore[arg-type]
    found = [asyncio.run(answers.answer("infer", {"query": "rain"})) for _ in range(3)]
    assert found == [b'{"converged": false}', b'{"converged": true}', b'{"converged": true}']


def test_what_is_remembered_of_a_long_question_is_short() -> None:
    answers: Any = Answers(Worker(), RequestLimits(1.0), Metrics())  # type: ignore[arg-type]
    for question in ("rain", "rain" + " " * 100_000):
        asyncio.run(answers.answer("infer", {"query": question}))
    (remembered,) = answers._kept
    assert len(remembered) < 100


def test_a_body_that_does_not_come_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait after the body, for whoever reads events, may be long."""
    monkeypatch.setattr(gates, "BODY_SECONDS", 0.1)
    parts = [{"type": "http.request", "body": b"{", "more_body": True}]
    with pytest.raises(RefusedError, match=r"within 0\.1 s"):
        asyncio.run(received(parts))
    whole = [*parts, {"type": "http.request", "body": b"}"}]
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(received(whole), 0.3))


async def received(parts: list[dict[str, Any]]) -> None:
    async def receive() -> dict[str, Any]:
        return parts.pop(0) if parts else await asyncio.get_running_loop().create_future()

    counted = gates._Counted(receive, 100, {})
    while True:
        await counted()


def test_small_answers_do_not_wait_for_an_acknowledgement() -> None:
    """Connections send at once what is written to them: Nagle's algorithm is off."""

    async def at_once() -> int:
        channels: asyncio.Queue[Any] = asyncio.Queue()
        listening = bound_socket("127.0.0.1", 0)
        server = await asyncio.start_server(lambda _, writer: channels.put(writer), sock=listening)
        async with server:
            _, mine = await asyncio.open_connection(*listening.getsockname())
            theirs = (await channels.get()).get_extra_info("socket")
            mine.close()
            return theirs.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    assert asyncio.run(at_once())


def test_a_request_over_its_limit_is_cut_and_others_go_on(smokers: Started) -> None:
    long = {"engine": "gibbs", "samples": 10**9, "time_limit": 1}
    with smokers.client() as client, ThreadPoolExecutor(4) as threads:
        cut = [threads.submit(client.post, "/infer", json=long | {"seed": seed}) for seed in range(2)]
        others = [client.post("/infer", json={"query": "smokes", "top": top}) for top in range(1, 6)]
        assert [len(each.json()["marginals"]) for each in others] == [1, 2, 3, 3, 3]
        for each in cut:
            answer = each.result()
            assert answer.status_code == 503 or not answer.json()["converged"]
        assert comes(lambda: client.get("/health").json()["workers"] == 2), "what was killed is replaced"


def test_a_batch_answers_each_in_its_place(ask: Ask) -> None:
    requests = [
        {"command": "infer", "query": 'smokes("bob")'},
        {"command": "nonesuch"},
        {"command": "infer", "query": "smoks"},
        {"command": "explain", "query": 'smokes("bob")'},
    ]
    answers = ask("/batch", {"requests": requests}).json()["answers"]
    assert answers[0]["marginals"][0]["atom"] == 'smokes("bob")'
    assert [answers[1]["status"], answers[2]["status"]] == [400, 422]
    assert answers[3]["subject"] == 'smokes("bob")'
    assert ask("/batch", {"requests": []}).json() == {"answers": []}


def test_one_question_does_not_wait_behind_a_batch(tmp_path: Path) -> None:
    theory = tmp_path / "rain.hb"
    theory.write_text("0.5: rain\n")
    parts = [{"command": "infer", "seed": seed} for seed in range(1_000)]
    with (
        ended(served(str(theory), "--workers", "1")) as started,
        ThreadPoolExecutor(2) as threads,
        started.client() as client,
    ):
        bodies = [{"requests": parts[:count]} for count in (999, 1_000)]
        batches = [threads.submit(client.post, "/batch", json=body) for body in bodies]
        assert comes(lambda: client.get("/health").json()["busy"] == 1)
        assert client.post("/infer", json={"seed": 5_000}).status_code == 200
        waiting = [batch.done() for batch in batches]
        answers = [batch.result().json()["answers"] for batch in batches]
    assert not all(waiting)
    assert [len(each) for each in answers] == [999, 1000]
    assert not [each for answer in answers for each in answer if "error" in each]


@pytest.mark.parametrize("command", [served, opened])
def test_no_thread_runs_where_processes_are_forked(command: Callable[..., Started], tmp_path: Path) -> None:
    """Neither of what is imported, nor of the database by which a large table was read."""
    declared = "predicate wet(place): observed\npredicate rain(place)"
    (tmp_path / "rain.hb").write_text(f"{declared}\n0.5: rain(x) and wet(x)\n")
    (tmp_path / "wet.csv").write_text("".join(f"place {number}\n" for number in range(20_000)))
    facts = ("--facts", str(tmp_path / "wet.csv"))
    with ended(command(str(tmp_path / "rain.hb"), *facts)) as started:
        nursery, *_ = children(started.process.pid)
        assert comes(lambda: "duckdb" in Path(f"/proc/{nursery}/maps").read_text())
        assert len(list(Path(f"/proc/{nursery}/task").iterdir())) == 1


@pytest.mark.parametrize("which", ["the workers", "the process that holds the model"])
def test_what_the_system_ends_is_started_again(which: str, tmp_path: Path) -> None:
    theory = tmp_path / "rain.hb"
    theory.write_text("0.5: rain\n")
    with ended(served(str(theory), "--workers", "2")) as started, started.client() as client:
        nursery, *workers = children(started.process.pid)
        for pid in workers if which == "the workers" else [nursery]:
            os.kill(pid, signal.SIGKILL)
        assert all(map(gone, workers))
        client.get("/health")  # the server has heard of it before it answers
        assert [client.post("/infer", json={"seed": seed}).status_code for seed in range(3)] == [200] * 3
        assert comes(lambda: client.get("/health").json()["workers"] == 2)
        assert "herbrand_lost_total 2" in client.get("/metrics").text


def test_many_requests_at_once_have_their_own_answers(smokers: Started) -> None:
    model = hb.Model(hb.read(SMOKERS / "smokers.hb"), SMOKERS / "facts")
    people = ["bob", "frank", "helen"]
    draw = random.Random(5)
    asked = []
    for _ in range(200):
        given = [f'{draw.choice(["", "not "])}smokes("{person}")' for person in people if draw.random() < 0.5]
        asked.append({"query": [f'cancer("{draw.choice(people)}")'], "given": given})
    right = [model.infer(each["query"], given=each["given"]).to_dict()["marginals"] for each in asked]
    with smokers.client() as client, ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda each: client.post("/infer", json=each), asked))
    assert [answer.status_code for answer in answers] == [200] * len(asked)
    for answer, expected in zip(answers, right, strict=True):
        assert answer.json()["marginals"] == expected


def test_health_metrics_and_the_schema(smokers: Started) -> None:
    with smokers.client() as client:
        assert client.get("/health").json()["status"] == "ok"
        client.post("/infer", json={})
        lines = client.get("/metrics").text.splitlines()
        assert any(
            line.startswith('herbrand_requests_total{command="infer",status="200"} ') for line in lines
        )
        schema = client.get("/openapi.json").json()
        assert {f"/{command}" for command in ASKING} <= set(schema["paths"])
        properties = schema["components"]["schemas"]["InferRequest"]["properties"]
        assert {"query", "given", "engine", "time_limit"} <= set(properties)
        assert not {"facts", "resume"} & set(properties), "a request cannot take them"
        page = client.get("/docs")
        assert "POST /infer" in page.text and "http" not in page.text.replace("http-equiv", "")
        assert "default-src 'self'" in page.headers["content-security-policy"]


def test_a_wrong_path_names_those_that_exist(smokers: Started) -> None:
    with smokers.client() as client:
        answers = [client.get(path) for path in ("/", "/infr", "/nothing")]
    assert [answer.status_code for answer in answers] == [404] * 3
    root, near, far = (answer.json()["error"]["hint"] for answer in answers)
    assert root == far and root.startswith("there are /infer, /bound") and "/docs" in root
    assert near == "did you mean '/infer'?"


def test_other_names_and_pages_are_refused(smokers: Started) -> None:
    with smokers.client() as client:
        refused(client.get("/health", headers={"Host": "evil.example"}), 400)
        refused(client.post("/infer", json={}, headers={"Origin": "http://evil.example"}), 403)
        assert client.get("/health", headers={"Host": "localhost:1"}).status_code == 200


def test_a_key_is_asked_for(tmp_path: Path, herbrand: Callable[..., Outcome]) -> None:
    theory = tmp_path / "rain.hb"
    theory.write_text("0.5: rain\n")
    outcome = herbrand("serve", theory, "--host", "0.0.0.0", "--port", "0")
    assert outcome.status == 1 and "--key" in outcome.err
    with (
        ended(served(str(theory), "--key", "secret", "--workers", "1")) as started,
        started.client() as client,
    ):
        assert client.get("/health").status_code == 200
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}):
            refused(client.post("/infer", json={}, headers=headers), 401)
        assert client.post("/infer", json={}, headers={"Authorization": "Bearer secret"}).status_code == 200
        by_proxy = {"Authorization": "Bearer secret", "Host": "models.example"}
        assert client.post("/infer", json={}, headers=by_proxy).status_code == 200


@pytest.mark.parametrize("key", ["", "two words", "Schl\u00fcssel", "line\n"])
def test_a_key_that_no_header_carries_is_refused(key: str, herbrand: Callable[..., Outcome]) -> None:
    outcome = herbrand("serve", SMOKERS / "smokers.hb", "--key", key)
    assert outcome.status == 1 and "printable ASCII" in outcome.err


def test_an_unknown_host_is_named(herbrand: Callable[..., Outcome]) -> None:
    outcome = herbrand("serve", SMOKERS / "smokers.hb", "--host", "nonesuch.invalid", "--key", "secret")
    assert outcome.status == 1 and "cannot listen on nonesuch.invalid" in outcome.err
    assert "--host" in outcome.err and "--port" not in outcome.err


def test_a_model_with_mistakes_is_refused_at_the_start(
    tmp_path: Path, herbrand: Callable[..., Outcome]
) -> None:
    theory = tmp_path / "wrong.hb"
    theory.write_text("predicate rain\n0.5: rian\n")
    outcome = herbrand("serve", theory, "--port", "0")
    assert outcome.status == 1 and "wrong.hb:2:6" in outcome.err and "did you mean 'rain'?" in outcome.err


@pytest.mark.parametrize("line", [("serve", SMOKERS / "smokers.hb"), ("studio", SMOKERS / "smokers.hb")])
def test_a_missing_extra_is_named(
    line: tuple[str, ...], herbrand: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("herbrand.serving")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    outcome = herbrand(*line)
    assert outcome.status == 1 and "pip install 'herbrand[studio]'" in outcome.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it_and_its_children(number: int, tmp_path: Path) -> None:
    theory = tmp_path / "rain.hb"
    theory.write_text("0.5: rain\n")
    started = served(str(theory), "--workers", "2")
    below = children(started.process.pid)
    assert len(below) == 3
    assert started.end(number) == (-signal.SIGKILL if number == signal.SIGKILL else 0)
    assert all(map(gone, below))
    assert started.process.communicate()[1] == ""


def loads_a_model(pid: int) -> bool:
    """Whether a process is a nursery, and as far as the library that reads tables; others may have ended."""
    place = Path(f"/proc/{pid}")
    with contextlib.suppress(OSError):
        return b"nursery" in (place / "cmdline").read_bytes() and "arrow" in (place / "maps").read_text()
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="Linux ends children with their parents")
def test_a_kill_while_the_model_is_loaded_ends_that_too() -> None:
    process = begun("serve", str(SMOKERS / "smokers.hb"), "--facts", str(SMOKERS / "facts"), "--port", "0")
    below: list[int] = []
    assert comes(lambda: bool(below.extend(filter(loads_a_model, children(process.pid))) or below))
    os.kill(below[0], signal.SIGSTOP)  # in the middle of its work, as if that took long
    process.kill()
    process.wait()
    try:
        assert gone(below[0])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(below[0], signal.SIGKILL)
        process.communicate()


def test_requests_under_way_at_the_end_are_refused(tmp_path: Path) -> None:
    theory = tmp_path / "rain.hb"
    theory.write_text("0.5: rain\n")
    with ended(served(str(theory), "--workers", "1")) as started, started.client() as client:
        with ThreadPoolExecutor(1) as threads:
            asked = {"engine": "gibbs", "samples": 10**9}
            under_way = threads.submit(client.post, "/infer", json=asked)
            assert comes(lambda: client.get("/health").json()["busy"] == 1)
            assert started.end() == 0 and started.process.stderr is not None
            assert "shutting down" in refused(under_way.result(), 503)["message"]
        assert started.process.stderr.read() == ""
