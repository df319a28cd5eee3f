"""Description of the service: an OpenAPI document, and a page of it that loads nothing from other hosts."""

from __future__ import annotations

import html
from typing import Any

import herbrand
from herbrand.serving.json_requests import ASKING
from herbrand.serving.option_forms import schema

DOES = {
    "infer": "Marginal probabilities of atoms or formulas, or the most probable world.",
    "bound": "Lower and upper probabilities.",
    "query": "The answers of one goal, heaviest first.",
    "explain": "Why one atom, bound or answer is what it is.",
    "check": "Sizes, and which engines can run the model.",
}
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "status": {"type": "integer", "description": "In a batch only."},
        "error": {
            "type": "object",
            "required": ["message", "where", "hint"],
            "properties": {
                "message": {"type": "string"},
                "where": {"type": ["string", "null"], "description": "file:line:column"},
                "hint": {"type": "string"},
            },
        },
    },
}
ERRORS = {
    "400": "The request is no JSON, or has options or values that the command does not take.",
    "401": "The key is missing or wrong.",
    "413": "The body is too large.",
    "422": "The model cannot answer this: the question or the evidence is wrong.",
    "415": "The body is compressed.",
    "503": "A limit of time or memory ended the work, or too many requests wait.",
}


def schema_of() -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, Any] = {f"/{command}": {"post": _asking(command)} for command in ASKING}
    paths["/batch"] = {"post": _batch()}
    paths["/health"] = {"get": _plain("health", "Whether the service answers.", "application/json")}
    paths["/metrics"] = {"get": _plain("metrics", "Counts in the text format of Prometheus.", "text/plain")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Herbrand",
            "version": herbrand.__version__,
            "description": "Questions to one loaded model; the answers are those of the command line.",
        },
        "servers": [{"url": "."}],
        "paths": paths,
        "components": {
            "schemas": {"Error": ERROR, **{f"{name.title()}Request": schema(name) for name in ASKING}},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def _asking(command: str) -> dict[str, Any]:
    body = {"$ref": f"#/components/schemas/{command.title()}Request"}
    return _post(command, DOES[command], body, {"type": "object"})


def _batch() -> dict[str, Any]:
    commands = {"command": {"type": "string", "enum": list(ASKING)}}
    part = {"type": "object", "required": ["command"], "properties": commands}
    body = {
        "type": "object",
        "required": ["requests"],
        "properties": {"requests": {"type": "array", "items": part}},
    }
    answers = {"type": "array", "items": {"type": "object"}}
    answered = {"type": "object", "properties": {"answers": answers}}
    return _post("batch", "Several requests; each has an answer or an error in its place.", body, answered)


def _post(name: str, summary: str, body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    def content(what: dict[str, Any]) -> dict[str, Any]:
        return {"application/json": {"schema": what}}

    error = {"$ref": "#/components/schemas/Error"}
    return {
        "operationId": name,
        "summary": summary,
        "requestBody": {"content": content(body)},
        "responses": {
            "200": {"description": "The JSON object of the command line.", "content": content(answer)},
            **{code: {"description": why, "content": content(error)} for code, why in ERRORS.items()},
        },
    }


def _plain(name: str, summary: str, kind: str) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": {"description": summary, "content": {kind: {}}}},
    }


def page() -> str:
    """Page of the calls with their options, and a form to try each."""
    calls = "".join(map(_section, ASKING))
    return PAGE.format(version=html.escape(herbrand.__version__), calls=calls)


def _section(command: str) -> str:
    rows = "".join(
        f"<tr><th scope=row><code>{html.escape(name)}</code></th><td>{html.escape(_type(known))}</td>"
        f"<td>{html.escape(known['description'])}</td></tr>"
        for name, known in schema(command)["properties"].items()
    )
    return SECTION.format(command=command, does=html.escape(DOES[command]), rows=rows)


def _type(known: dict[str, Any]) -> str:
    if "enum" in known:
        return ", ".join(known["enum"])
    return known.get("type") or " or ".join(each["type"] for each in known["oneOf"])


SECTION = """<section><h2>POST /{command}</h2><p>{does}</p>
<details><summary>Options</summary><table><tbody>{rows}</tbody></table></details>
<form data-command="{command}"><label>Request <textarea rows="3">{{"query": []}}</textarea></label>
<button>Send</button><pre role="status"></pre></form></section>
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Herbrand service</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }}
textarea {{ display: block; width: 100%; font: 14px/1.4 ui-monospace, monospace; }}
pre {{ overflow: auto; max-height: 20rem; }}
td, th {{ text-align: left; vertical-align: top; padding: 0 .5rem; }}
</style></head>
<body><h1>Herbrand service</h1>
<p>Version {version}. <a href="openapi.json">openapi.json</a> is the same for programs;
<a href="health">health</a> and <a href="metrics">metrics</a> are for monitors. <code>POST /batch</code> takes
<code>{{"requests": [{{"command": "infer", "query": [...]}}, ...]}}</code>.</p>
<p><label>Key, if the service has one: <input id="key" type="password" autocomplete="off"></label></p>
{calls}<script src="docs.js"></script></body></html>
"""
SCRIPT = """for (const form of document.forms) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const headers = { "content-type": "application/json" };
    const key = document.getElementById("key").value;
    if (key) headers.authorization = `Bearer ${key}`;
    const body = form.querySelector("textarea").value;
    const shown = form.querySelector("pre");
    shown.textContent = "...";
    const answer = await fetch(form.dataset.command, { method: "POST", headers, body });
    shown.textContent = JSON.stringify(await answer.json(), null, 2);
  });
}
"""
