"""What to tell a user when the grammar cannot go on: what was found, what was expected, what was likely meant.

Takes the parser's own exception; gives a :class:`~herbrand.errors.Mistake`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from lark import Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from herbrand.errors import Mistake, Source, Span
from herbrand.language.names import is_reserved

_CONNECTIVES = {"AND", "OR", "XOR", "IMPLIES", "IFF"}
_COMPARISONS = {"EQUALS", "DIFFERS", "LESS", "AT_MOST", "MORE", "AT_LEAST"}
_FORMULA_STARTS = {"NOT", "EXISTS", "FORALL", "TRUE", "FALSE", "LPAR", "NAME"}
_TERMINALS = {
    "NAME": "a name",
    "STRING": "text in double quotes",
    "NUMBER": "a number",
    "ROLE": "'observed' or 'learned'",
    "$END": "the end of the statement",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "COMMA": "','",
    "COLON": "':'",
    "VBAR": "'|'",
    "QMARK": "'?'",
    "TILDE": "'~'",
    "AT": "'@'",
    "IF": "':-'",
    "TO": "'..'",
    "IN": "'in'",
    "WHERE": "'where'",
    "TYPE": "'type'",
    "PREDICATE": "'predicate'",
    "HARD": "'hard'",
    "P": "'P('",
    "NUMERIC": "'number'",
    "INDEPENDENT": "'independent'",
    "EQUALS": "'='",
    "AT_LEAST": "'>='",
    "AT_MOST": "'<='",
    "NOT": "'not'",
}
_OTHER_SPELLINGS = [
    ("<->", "write <=> for 'if and only if'"),
    ("-->", "write => for 'implies'"),
    ("->", "write => for 'implies'"),
    ("<-", "write :- for a rule, => for 'implies'"),
    ("==", "write = for equality"),
    ("<>", "write != for inequality"),
    ("\\=", "write != for inequality"),
    ("&", "write 'and'"),
    ("∧", "write 'and'"),
    ("^", "write 'and'"),
    ("||", "write 'or'"),
    ("|", "write 'or'; a single | means 'given' inside P( | )"),
    ("∨", "write 'or'"),
    ("v ", "write 'or'"),
    ("!", "write 'not'"),
    ("¬", "write 'not'"),
    ("∃", "write 'exists x: ...'"),
    ("∀", "write 'forall x: ...'"),
    ("'", "constants stand in double quotes"),
    ("//", "comments begin with #"),
    ("%", "comments begin with #"),
    ("/*", "comments begin with #"),
    (";", "a statement ends with its line"),
    (".", "a statement ends with its line; no full stop is needed"),
    ("@", "'@ weight' ends a fact or a rule; a formula's weight stands before it: 'weight: formula'"),
]


def mistake(error: UnexpectedInput, source: Source, start: int, end: int) -> Mistake:
    """The user's view of a syntax error in ``source[start:end]``."""
    if isinstance(error, UnexpectedCharacters):
        return _unknown_character(error, source)
    if not isinstance(error, UnexpectedToken):
        return Mistake("the statement cannot be read", Span(source, start, end))
    accepted = frozenset(error.accepts or error.expected)
    token: Token = error.token
    if token.type == "$END":
        message = f"the statement ends too early; expected {_either(_names(accepted))}"
        return Mistake(message, Span(source, max(start, end - 1), end), _hint_at_end(source.text[start:end]))
    span = Span(source, token.start_pos or start, token.end_pos or end)
    message = f"unexpected '{_shortened(token)}'; expected {_either(_names(accepted))}"
    return Mistake(message, span, _hint(token, accepted, source, start))


def unclosed_string(source: Source, at: int) -> Mistake:
    return Mistake("a string that is not closed on its line", Span(source, at, at + 1), 'expected: "..."')


def _unknown_character(error: UnexpectedCharacters, source: Source) -> Mistake:
    at = error.pos_in_stream
    character = source.text[at]
    if character == '"':
        return unclosed_string(source, at)
    if character == "`":
        return Mistake("a back-quoted name that is not closed", Span(source, at, at + 1), "expected: `name`")
    return Mistake(
        f"unexpected character {character!r}", Span(source, at, at + 1), _other_spelling(source.text, at)
    )


def _hint(token: Token, accepted: Collection[str], source: Source, start: int) -> str:
    if is_reserved(token) and "NAME" in accepted:
        return f"'{token}' is a reserved word; as a name it stands in back-quotes: `{token}`"
    if token.type == "IFF":
        return "<=> is not chained: use brackets"
    if token.type in _COMPARISONS and "TILDE" not in accepted and "EQUALS" not in accepted:
        return _other_spelling(source.text, token.start_pos or 0)
    if token.type == "NAME" and source.text[start : token.start_pos].strip() in ("pred", "relation"):
        return "a predicate is declared with 'predicate'"
    return _other_spelling(source.text, token.start_pos or 0)


def _hint_at_end(statement: str) -> str:
    if statement.startswith("[") and statement.endswith("]"):
        return "a label stands before the statement, on the same line"
    return ""


def _other_spelling(text: str, at: int) -> str:
    return next((hint for spelling, hint in _OTHER_SPELLINGS if text.startswith(spelling, at)), "")


def _names(accepted: Collection[str]) -> Iterator[str]:
    """Terminals in words; those that always come together are told as one."""
    rest = set(accepted)
    if rest >= _FORMULA_STARTS:
        yield "a formula"
        rest -= _FORMULA_STARTS | {"STRING", "NUMBER"}
    if rest >= _CONNECTIVES - {"IFF"}:
        yield "a connective (and, or, xor, =>, <=>)"
        rest -= _CONNECTIVES
    if rest >= _COMPARISONS:
        yield "a comparison (=, != ...)"
        rest -= _COMPARISONS
    yield from (_TERMINALS.get(name, f"'{name.lower()}'") for name in sorted(rest))


def _either(names: Iterator[str]) -> str:
    known = list(names)
    return known[0] if len(known) == 1 else f"{', '.join(known[:-1])} or {known[-1]}"


def _shortened(token: str) -> str:
    return token if len(token) <= 40 else f"{token[:37]}..."
