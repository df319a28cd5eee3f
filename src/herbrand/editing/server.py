"""Language server of ``herbrand lsp``: the Language Server Protocol over :mod:`herbrand.editing.document`.

It takes requests on standard input and answers on standard output; it needs the extra ``lsp``. Positions of
the protocol count UTF-16 units, or the units that the client asks for; the document counts characters.
"""

from __future__ import annotations

import contextlib
from pathlib import PurePosixPath
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from herbrand.editing.document import Document
from herbrand.editing.fixes import Fix, fixes
from herbrand.editing.words import Word
from herbrand.errors import HerbrandError, Mistake, Span

SOURCE = "herbrand"
_COMPLETION_KINDS = {
    "predicate": lsp.CompletionItemKind.Function,
    "type": lsp.CompletionItemKind.Struct,
    "variable": lsp.CompletionItemKind.Variable,
    "constant": lsp.CompletionItemKind.Value,
    "keyword": lsp.CompletionItemKind.Keyword,
}
_SYMBOL_KINDS = {
    "type": lsp.SymbolKind.Struct,
    "predicate": lsp.SymbolKind.Function,
    "rule": lsp.SymbolKind.Method,
    "formula": lsp.SymbolKind.Property,
    "bound": lsp.SymbolKind.Boolean,
    "facts": lsp.SymbolKind.Array,
}


class _Open:
    """Documents of open files, each analysed once for each version of its text."""

    def __init__(self) -> None:
        self._known: dict[str, Document] = {}

    def document(self, file: TextDocument) -> Document:
        name = PurePosixPath(unquote(urlparse(file.uri).path)).name or "theory.hb"
        fresh = Document.of(file.source, name)
        known = self._known.get(file.uri)
        if known is None or known != fresh:
            known = self._known[file.uri] = fresh
        return known

    def forget(self, uri: str) -> None:
        self._known.pop(uri, None)


class _Places:
    """Conversion between offsets of a document and positions of the client."""

    def __init__(self, file: TextDocument, text: str) -> None:
        self._codec = file.position_codec
        self._text = text
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def offset(self, position: lsp.Position) -> int:
        line = min(position.line, len(self._lines) - 1)
        plain = self._codec.position_from_client_units(self._lines, lsp.Position(line, position.character))
        return self._starts[line] + min(plain.character, len(self._lines[line]))

    def position(self, offset: int) -> lsp.Position:
        line = self._text.count("\n", 0, offset)
        plain = lsp.Position(line, offset - self._starts[line])
        return self._codec.position_to_client_units(self._lines, plain)

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(start), self.position(end))

    @property
    def whole(self) -> lsp.Range:
        return self.range(0, len(self._text))


def server(version: str) -> LanguageServer:
    """Build a language server; its ``start_io`` runs it."""
    made = LanguageServer("herbrand", version)
    open_files = _Open()

    def opened(uri: str) -> tuple[Document, _Places]:
        file = made.workspace.get_text_document(uri)
        document = open_files.document(file)
        return document, _Places(file, document.text)

    def publish(uri: str) -> None:
        document, places = opened(uri)
        listed = [_diagnostic(uri, mistake, places) for mistake in document.mistakes]
        made.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, listed))

    @made.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @made.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @made.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
        open_files.forget(params.text_document.uri)
        made.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))

    kinds = lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])

    @made.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, kinds)
    def code_action(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        document, places = opened(uri)
        start, end = places.offset(params.range.start), places.offset(params.range.end)
        return [
            _action(uri, mistake, fix, places)
            for mistake in document.mistakes
            if mistake.span is not None and mistake.span.start <= end and start <= mistake.span.end
            for fix in fixes(document, mistake)
        ]

    @made.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        document, places = opened(params.text_document.uri)
        text = document.hover(places.offset(params.position))
        return None if text is None else lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text))

    @made.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        uri = params.text_document.uri
        document, places = opened(uri)
        word = document.definition(places.offset(params.position))
        return None if word is None else lsp.Location(uri, places.range(word.start, word.end))

    @made.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        uri = params.text_document.uri
        document, places = opened(uri)
        words = document.references(places.offset(params.position))
        return [lsp.Location(uri, places.range(word.start, word.end)) for word in words]

    @made.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlight(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        document, places = opened(params.text_document.uri)
        words = document.references(places.offset(params.position))
        return [lsp.DocumentHighlight(places.range(word.start, word.end)) for word in words]

    @made.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare_rename(params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder | None:
        document, places = opened(params.text_document.uri)
        offset = places.offset(params.position)
        word = document.word_at(offset)
        if word is None or not document.references(offset):
            return None
        return lsp.PrepareRenamePlaceholder(places.range(word.start, word.end), word.name)

    @made.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        uri = params.text_document.uri
        document, places = opened(uri)
        try:
            changes = document.renamed(places.offset(params.position), params.new_name)
        except HerbrandError as error:
            raise JsonRpcInvalidParams(message=str(error)) from None
        return lsp.WorkspaceEdit(changes={uri: [_edit(word, text, places) for word, text in changes]})

    triggers = lsp.CompletionOptions(trigger_characters=["(", '"', ","])

    @made.feature(lsp.TEXT_DOCUMENT_COMPLETION, triggers)
    def completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        document, places = opened(params.text_document.uri)
        return [
            lsp.CompletionItem(each.text, kind=_COMPLETION_KINDS[each.kind], detail=each.detail or None)
            for each in document.completions(places.offset(params.position))
        ]

    @made.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        document, places = opened(params.text_document.uri)
        after = None
        with contextlib.suppress(HerbrandError):  # the editor already shows the mistakes
            after = document.formatted()
        return [] if after in (None, document.text) else [lsp.TextEdit(places.whole, after)]

    @made.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        document, places = opened(params.text_document.uri)
        return [
            lsp.DocumentSymbol(
                name=symbol.name,
                kind=_SYMBOL_KINDS[symbol.kind],
                detail=symbol.kind,
                range=places.range(symbol.start, symbol.end),
                selection_range=places.range(symbol.start, symbol.end),
            )
            for symbol in document.symbols()
        ]

    return made


def _diagnostic(uri: str, mistake: Mistake, places: _Places) -> lsp.Diagnostic:
    message = f"{mistake.message}\n{mistake.hint}" if mistake.hint else mistake.message
    related = [
        lsp.DiagnosticRelatedInformation(lsp.Location(uri, _range(span, places)), note)
        for note, span in mistake.related
    ]
    return lsp.Diagnostic(
        _range(mistake.span, places),
        message,
        severity=lsp.DiagnosticSeverity.Error,
        source=SOURCE,
        related_information=related or None,
    )


def _range(span: Span | None, places: _Places) -> lsp.Range:
    return places.range(0, 0) if span is None else places.range(span.start, max(span.end, span.start + 1))


def _action(uri: str, mistake: Mistake, fix: Fix, places: _Places) -> lsp.CodeAction:
    edit = lsp.TextEdit(places.range(fix.start, fix.end), fix.text)
    return lsp.CodeAction(
        fix.title,
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=[_diagnostic(uri, mistake, places)],
        edit=lsp.WorkspaceEdit(changes={uri: [edit]}),
    )


def _edit(word: Word, text: str, places: _Places) -> lsp.TextEdit:
    return lsp.TextEdit(places.range(word.start, word.end), text)
