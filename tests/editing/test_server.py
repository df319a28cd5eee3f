"""The language server, driven as an editor does: by a client of the protocol, over its pipes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

URI = "file:///theories/smokers%20of%20town.hb"
FILE = lsp.TextDocumentIdentifier(URI)
TEXT = """\
predicate friends(person, person): observed
predicate smokes(person)
# 𝒙𝒚 two characters of two units
1.5: smokes(x) and friends(x, y) => smokes(y)  # 𝒙
friends("𝒙𝒚", "bob")
"""


class Editor:
    """A client with one open file."""

    def __init__(self) -> None:
        self.client = LanguageClient("tests", "1")
        self.published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.version = 0

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

    async def start(self) -> lsp.InitializeResult:
        await self.client.start_io(sys.executable, "-m", "herbrand", "lsp")
        return await self.client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities()))

    async def open(self, text: str) -> list[lsp.Diagnostic]:
        item = lsp.TextDocumentItem(URI, "herbrand", self.version, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return list((await self.published.get()).diagnostics)

    async def change(self, changes: list[lsp.TextDocumentContentChangeEvent]) -> list[lsp.Diagnostic]:
        self.version += 1
        file = lsp.VersionedTextDocumentIdentifier(version=self.version, uri=URI)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(file, changes))
        return list((await self.published.get()).diagnostics)

    async def close(self) -> None:
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(FILE))
        assert list((await self.published.get()).diagnostics) == []

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()


Session = Callable[[Callable[[Editor], Awaitable[None]]], None]


@pytest.fixture(scope="module")
def with_editor() -> Iterator[Session]:
    """Runs what is done with a file that is open in one editor, and closes the file."""
    editor = Editor()
    with asyncio.Runner() as runner:
        capabilities = runner.run(asyncio.wait_for(editor.start(), 60)).capabilities
        assert capabilities.hover_provider and capabilities.rename_provider

        async def session(work: Callable[[Editor], Awaitable[None]]) -> None:
            await work(editor)
            await editor.close()

        yield lambda work: runner.run(asyncio.wait_for(session(work), 60))
        runner.run(asyncio.wait_for(editor.stop(), 60))


def test_an_editor_that_shuts_the_server_down_sees_it_end_without_an_error() -> None:
    messages = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    asked = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
    server = [sys.executable, "-m", "herbrand", "lsp"]
    ended = subprocess.run(server, input=asked, capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b'"id":2' in ended.stdout.replace(b" ", b"")


def place(part: str, after: int = 0) -> lsp.Position:
    """A position in ``TEXT`` in UTF-16 units, as the protocol counts unless agreed otherwise."""
    before = TEXT[: TEXT.index(part) + after]
    line = before.rpartition("\n")[2]
    return lsp.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)


def applied(text: str, edits: list[lsp.TextEdit]) -> str:
    """The text after edits, for tests in which lines before them are plain."""
    lines = text.split("\n")

    def offset(position: lsp.Position) -> int:
        units = lines[position.line].encode("utf-16-le")[: 2 * position.character]
        return sum(len(line) + 1 for line in lines[: position.line]) + len(units.decode("utf-16-le"))

    for edit in sorted(edits, key=lambda each: -offset(each.range.start)):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


def test_mistakes_with_advice_and_a_quick_fix(with_editor: Session) -> None:
    async def work(editor: Editor) -> None:
        wrong = TEXT.replace("=> smokes", "-> smokes")
        (found,) = await editor.open(wrong)
        assert found.message == "unexpected '->'\nwrite => for 'implies'"
        assert (found.range.start.line, found.range.start.character) == (3, 33)
        assert found.severity == lsp.DiagnosticSeverity.Error
        context = lsp.CodeActionContext([found])
        actions = await editor.client.text_document_code_action_async(
            lsp.CodeActionParams(FILE, found.range, context)
        )
        assert actions and isinstance(actions[0], lsp.CodeAction)
        edit = actions[0].edit
        assert edit is not None and edit.changes is not None
        assert applied(wrong, list(edit.changes[URI])) == TEXT
        whole = [lsp.TextDocumentContentChangeWholeDocument(TEXT)]
        assert await editor.change(whole) == []

    with_editor(work)


def test_typing_changes_a_part_of_the_text(with_editor: Session) -> None:
    async def work(editor: Editor) -> None:
        assert await editor.open(TEXT) == []
        end = place('"bob")', 4)
        typed = lsp.TextDocumentContentChangePartial(range=lsp.Range(end, end), text='", "carl')
        (found,) = await editor.change([typed])
        assert "friends" in found.message and found.range.start.line == 4

    with_editor(work)


def test_hover_definition_and_references(with_editor: Session) -> None:
    async def work(editor: Editor) -> None:
        await editor.open(TEXT)
        there = place("friends(x, y) =>", 2)
        hover = await editor.client.text_document_hover_async(lsp.HoverParams(FILE, there))
        assert hover is not None and isinstance(hover.contents, lsp.MarkupContent)
        assert "predicate friends(person, person): observed" in hover.contents.value
        found = await editor.client.text_document_definition_async(lsp.DefinitionParams(FILE, there))
        assert isinstance(found, lsp.Location) and found.range.start == lsp.Position(0, 10)
        places = await editor.client.text_document_references_async(
            lsp.ReferenceParams(lsp.ReferenceContext(True), FILE, there)
        )
        assert [each.range.start.line for each in places or []] == [0, 3, 4]

    with_editor(work)


def test_rename_and_its_refusal(with_editor: Session) -> None:
    async def work(editor: Editor) -> None:
        await editor.open(TEXT)
        there = place("smokes(y)")
        edit = await editor.client.text_document_rename_async(lsp.RenameParams(FILE, there, "smoker"))
        assert edit is not None and edit.changes is not None
        assert applied(TEXT, list(edit.changes[URI])) == TEXT.replace("smokes(", "smoker(")
        with pytest.raises(JsonRpcException, match="already"):
            await editor.client.text_document_rename_async(lsp.RenameParams(FILE, there, "friends"))

    with_editor(work)


def test_completion_format_and_outline(with_editor: Session) -> None:
    async def work(editor: Editor) -> None:
        spread = TEXT.replace("1.5: smokes(x) and", "1.5:smokes( x )and")
        await editor.open(spread)
        edits = await editor.client.text_document_formatting_async(
            lsp.DocumentFormattingParams(FILE, lsp.FormattingOptions(4, True))
        )
        assert edits is not None and applied(spread, list(edits)) == TEXT
        await editor.change([lsp.TextDocumentContentChangeWholeDocument(TEXT)])
        inside = place('"bob"', 1)
        found = await editor.client.text_document_completion_async(lsp.CompletionParams(FILE, inside))
        assert isinstance(found, list) and "𝒙𝒚" in [item.label for item in found]
        symbols = await editor.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(FILE))
        assert [symbol.name for symbol in symbols or []][:2] == ["friends", "smokes"]

    with_editor(work)
