"""The application of ``herbrand studio``: the client's files, and its calls below ``/api``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.staticfiles import StaticFiles

import herbrand
from herbrand.errors import HerbrandError
from herbrand.language.dialects.alchemy.includes import includes
from herbrand.serving.bodies import answer_errors, as_json, body_of, field, json_of, while_connected
from herbrand.serving.gallery import example, examples
from herbrand.serving.option_forms import forms
from herbrand.serving.projects import Project, kind_of
from herbrand.serving.refusals import BAD_REQUEST, RefusedError, refusal_of
from herbrand.serving.result_page import result_page
from herbrand.serving.studio_runs import COMMANDS, Runs, theories_in
from herbrand.serving.tables import MOST_EDGES, MOST_NODES

BUNDLE = Path(__file__).parent / "studio"
"""Folder of the client, as Vite builds it."""
ABSENT = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Herbrand</title></head>
<body><h1>The studio's pages are not here</h1><p>This installation lacks them. In a checkout they are built
from the sources in <code>studio/</code>; the calls below <code>/api</code> work.</p></body></html>
"""
QUIET_SECONDS = 15.0
"""Seconds without an event after which a comment is sent, to keep the connection open."""
MOST_ROWS, MOST_OFFSET = 10_000, 10**12


def studio_app(project: Project, runs: Runs) -> FastAPI:
    """Build the application; :class:`~herbrand.serving.gates.Gate` goes around it."""
    app = FastAPI(
        title="Herbrand studio", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False
    )
    _add_files(app, project, runs)
    _add_editing(app, project, runs)
    _add_runs(app, runs)
    _add_views(app, project, runs)
    if (BUNDLE / "index.html").is_file():
        app.mount("/", StaticFiles(directory=BUNDLE, html=True))
    else:
        app.add_api_route("/", _absent, response_model=None)
    answer_errors(app)
    return app


async def _absent() -> Response:
    return HTMLResponse(ABSENT)


# Files


def _add_files(app: FastAPI, project: Project, runs: Runs) -> None:
    one_by_one = asyncio.Lock()
    """Held from the check of a file to its change, so that no other request changes it in between."""

    async def change(do: Callable[..., None], name: str, body: Any, *more: Any) -> None:
        async with one_by_one:
            await asyncio.to_thread(_refuse_changed, project, name, body)
            await asyncio.to_thread(do, project, name, *more)

    @app.get("/api/project", response_model=None)
    async def described(tables: str = "yes") -> Response:
        """Describe the project. ``tables=no`` leaves out the facts, which take a process to read, so that a
        page opens at once."""
        files, unseen = await asyncio.to_thread(project.listed)
        names = [file["name"] for file in files if file["kind"] == "facts"]
        chosen = [_relative(project, path) for path in project.given]
        facts: dict[str, Any] = {"facts": [], "mistake": unseen}
        if tables != "no" and facts["mistake"] is None:
            try:
                facts = await runs.look("tables", {"main": project.main, "facts": chosen or names})
            except RefusedError as refused:
                facts["mistake"] = refused.message
        return as_json(
            {
                "folder": str(project.folder),
                "main": project.main,
                "files": files,
                "given": chosen,
                "version": herbrand.__version__,
                **facts,
            }
        )

    @app.put("/api/files/{name:path}", response_model=None)
    async def saved(name: str, request: Request) -> Response:
        """Save a file. ``before``: its text when it was opened, null for no file; if it has changed since,
        nothing is written."""
        body = await json_of(request)
        text = field(body, "text", str)  # required, or the file would be emptied
        await change(_saved, name, body, text)
        return as_json({"name": name, "kind": kind_of(name)})

    @app.delete("/api/files/{name:path}", response_model=None)
    async def deleted(name: str, request: Request) -> Response:
        """Delete a file; ``before`` as in saving."""
        await change(Project.delete, name, await json_of(request))
        return as_json({"name": name})

    @app.post("/api/upload", response_model=None)
    async def uploaded(request: Request, name: str = "", before: int | None = None) -> Response:
        """Save an uploaded file. ``before``: this many first bytes of the body are the earlier text of the
        file; -1: there was none."""
        content = await body_of(request)
        body: dict[str, Any] = {}
        if before is not None:
            body["before"] = content[:before].decode("utf-8", "replace") if before >= 0 else None
            content = content[max(before, 0) :]
        await change(_saved, name, body, content)
        return as_json({"name": name, "kind": kind_of(name), "bytes": len(content)})

    @app.get("/api/examples", response_model=None)
    async def gallery() -> Response:
        return as_json({"examples": examples()})

    @app.get("/api/examples/{name}", response_model=None)
    async def one_example(name: str) -> Response:
        return as_json(example(name))


def _refuse_changed(project: Project, name: str, body: Any) -> None:
    field(body, "before", str, "")
    if "before" in body:
        project.refuse_changed(name, body["before"])


def _saved(project: Project, name: str, content: str | bytes) -> None:
    try:
        project.save(name, content)
    except HerbrandError as error:
        raise refusal_of(error, BAD_REQUEST) from None


def _relative(project: Project, path: str) -> str:
    """A path of ``--facts``, relative to the project's folder if it is inside."""
    inside = Path(path).is_relative_to(project.folder) and Path(path) != project.folder
    return str(Path(path).relative_to(project.folder)) if inside else path


# Editing


def _add_editing(app: FastAPI, project: Project, runs: Runs) -> None:

    @app.post("/api/check", response_model=None)
    async def checked(request: Request) -> Response:
        body = await json_of(request)
        files = dict(field(body, "files", dict, {}))
        names = theories_in(body)
        for name in names:
            if name not in files:
                files[name] = await asyncio.to_thread(_read, project, name)
            if not isinstance(files[name], str):
                raise RefusedError(BAD_REQUEST, "'files' holds texts by their names")
        texts = {name: files[name] for name in names}
        if any(map(includes, texts.values())):
            return await _looked(request, runs.look("check", {"main": names, "files": files}, texts=texts))
        return await _looked(request, runs.read("check", texts=texts))

    @app.post("/api/format", response_model=None)
    async def formatted(request: Request) -> Response:
        body = await json_of(request)
        text = field(body, "text", str, "")
        name = field(body, "name", str, "theory")
        return await _looked(request, runs.read("format", text=text, name=name))

    @app.get("/api/options", response_model=None)
    async def options() -> Response:
        return as_json({"commands": {command: forms(command) for command in COMMANDS}})


def _read(project: Project, name: str) -> str:
    try:
        return project.path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise RefusedError(BAD_REQUEST, f"there is no text of '{name}'") from None


# Runs


def _add_runs(app: FastAPI, runs: Runs) -> None:
    @app.post("/api/runs", response_model=None)
    async def started(request: Request) -> Response:
        body = await json_of(request)
        if not isinstance(body, dict):
            raise RefusedError(BAD_REQUEST, "a run is a JSON object")
        return as_json((await runs.start(body)).described(), 201)

    @app.get("/api/runs/{name}", response_model=None)
    async def described(name: str) -> Response:
        return as_json(runs.named(name).described())

    @app.delete("/api/runs/{name}", response_model=None)
    async def cancelled(name: str) -> Response:
        return as_json((await runs.cancel(name)).described())

    @app.get("/api/runs/{name}/events", response_model=None)
    async def events(name: str, request: Request) -> Response:
        run = runs.named(name)
        last = request.headers.get("last-event-id", "")
        first = int(last) + 1 if last.isdecimal() and len(last) < 10 else 0
        return StreamingResponse(_stream(run.heard(first)), media_type="text/event-stream")


async def _stream(heard: Any) -> AsyncIterator[bytes]:
    """Encode events as server-sent events; yield a comment if there is none for ``QUIET_SECONDS``."""
    async with aclosing(heard):
        following = asyncio.ensure_future(anext(heard))
        try:
            while True:
                done, _ = await asyncio.wait([following], timeout=QUIET_SECONDS)
                if not done:
                    yield b": still at work\n\n"
                    continue
                try:
                    number, event, data = following.result()
                except StopAsyncIteration:
                    return
                yield f"id: {number}\nevent: {event}\ndata: {data}\n\n".encode()
                following = asyncio.ensure_future(anext(heard))
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


# Views


def _add_views(app: FastAPI, project: Project, runs: Runs) -> None:
    @app.get("/api/table", response_model=None)
    async def table(request: Request) -> Response:
        query = request.query_params
        given = {"predicate": query.get("predicate"), **_own(project)}
        for name in ("offset", "limit"):
            text = query.get(name, "")
            if text and not (text.isdecimal() and len(text) < 12):
                raise RefusedError(BAD_REQUEST, f"'{name}' is a whole number")
            given |= {name: int(text)} if text else {}
        return await _table(request, runs, given)

    @app.post("/api/table", response_model=None)
    async def edited_table(request: Request) -> Response:
        return await _table(request, runs, await json_of(request))

    @app.get("/api/graph", response_model=None)
    async def graph(request: Request) -> Response:
        return await _graph(request, runs, _own(project))

    @app.post("/api/graph", response_model=None)
    async def edited_graph(request: Request) -> Response:
        return await _graph(request, runs, await json_of(request))

    @app.post("/api/surroundings", response_model=None)
    async def surroundings(request: Request) -> Response:
        return await _around(request, runs, "surroundings", await json_of(request))

    @app.post("/api/circuit", response_model=None)
    async def circuit(request: Request) -> Response:
        return await _around(request, runs, "circuit", await json_of(request))

    @app.post("/api/score", response_model=None)
    async def scored(request: Request) -> Response:
        body = await json_of(request)
        rows, closed = _marginals(body), field(body, "closed", list, [])
        if not all(isinstance(each, str) for each in closed):
            raise RefusedError(BAD_REQUEST, "'closed' holds predicates")
        return await _looked(request, runs.look("score", body, marginals=rows, closed=closed))

    @app.post("/api/tables", response_model=None)
    async def tables(request: Request) -> Response:
        body = await json_of(request)
        field({"body": body}, "body", dict)
        return await _looked(request, runs.look("tables", body))

    @app.post("/api/export", response_model=None)
    async def exported(request: Request) -> Response:
        body = await json_of(request)
        answer = field(body, "answer", dict)
        title = field(body, "title", str, "A result")
        page = result_page(answer, field(body, "theory", str, ""), title)
        return HTMLResponse(page.encode("utf-8", "replace"))


async def _looked(request: Request, look: Coroutine[Any, Any, Any]) -> Response:
    """Respond with the result of a look; cancel it when the client leaves."""
    return as_json(await while_connected(request, look))


def _own(project: Project) -> dict[str, Any]:
    """Main theory and fact tables of the project, as they are on disk."""
    given = [_relative(project, path) for path in project.given]
    return {"main": project.main, "facts": given or project.tables()}


async def _table(request: Request, runs: Runs, body: Any) -> Response:
    predicate = field(body, "predicate", str)
    offset, limit = field(body, "offset", int, 0), field(body, "limit", int, 200)
    if not 0 <= offset < MOST_OFFSET or not 0 <= limit <= MOST_ROWS:
        raise RefusedError(
            BAD_REQUEST, f"'offset' is from 0 to {MOST_OFFSET:,}, and 'limit' at most {MOST_ROWS:,}"
        )
    return await _looked(request, runs.look("table", body, predicate=predicate, offset=offset, limit=limit))


def _marginals(body: Any) -> list[dict[str, Any]]:
    rows = field(body, "marginals", list, [])
    if not all(isinstance(each, dict) for each in rows):
        raise RefusedError(BAD_REQUEST, "'marginals' holds rows of an answer")
    return rows


def _are_constants(arguments: Any) -> bool:
    return isinstance(arguments, list) and all(isinstance(one, str | int | float) for one in arguments)


async def _around(request: Request, runs: Runs, what: str, body: Any) -> Response:
    """Respond with a drawing around one atom, under evidence."""
    atom, given = field(body, "atom", str), field(body, "given", list, [])
    if not all(isinstance(each, str) for each in given):
        raise RefusedError(BAD_REQUEST, "'given' holds literals")
    return await _looked(request, runs.look(what, body, atom=atom, given=given))


async def _graph(request: Request, runs: Runs, body: Any) -> Response:
    marginals = _marginals(body)
    nodes, edges = field(body, "most_nodes", int, MOST_NODES), field(body, "most_edges", int, MOST_EDGES)
    if nodes < 0 or edges < 0:
        raise RefusedError(BAD_REQUEST, "'most_nodes' and 'most_edges' are 0 or more")
    if not all(isinstance(each.get("predicate"), str | None) for each in marginals):
        raise RefusedError(BAD_REQUEST, "'predicate' of a marginal is a text, or null")
    if not all(_are_constants(each.get("arguments", [])) for each in marginals):
        raise RefusedError(BAD_REQUEST, "'arguments' of a marginal are a list of texts and numbers")
    most = {"most_nodes": min(nodes, 5_000), "most_edges": min(edges, 20_000)}
    return await _looked(request, runs.look("graph", body, marginals=marginals, **most))
