"""One theory text in an editor: its mistakes, hover texts, references, completions, an outline.

Everything is computed from the text alone, when it is first used; a changed text is a new document.

>>> document = Document('predicate smokes(person)\\n1.5: smokes(x) => smokes(y)\\n')
>>> document.mistakes
()
>>> print(document.hover(32))
```herbrand
predicate smokes(person)
```
open: an atom without a fact is unknown
>>> [document.text[place.start : place.end] for place in document.references(32)]
['smokes', 'smokes', 'smokes']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from herbrand.editing.keywords import KEYWORDS
from herbrand.editing.reading import Checked, checked
from herbrand.editing.words import MOST_KEPT, Word, statements, words
from herbrand.errors import Mistake, UnsupportedError, counted
from herbrand.language.files import formatted
from herbrand.language.names import RESERVED, shown_name
from herbrand.language.show import statement_text
from herbrand.language.signature import Signature
from herbrand.language.syntax import PredicateDeclaration, TypeDeclaration, heads_of
from herbrand.visible import shortened

SymbolKind = Literal["type", "predicate", "rule", "formula", "bound", "facts"]
_NAME = re.compile(r"[^\W\d]\w*")
_STATEMENT_WORDS = ("type", "predicate", "hard", "P", "exists", "forall", "not")
_FORMULA_WORDS = ("and", "or", "xor", "not", "exists", "forall", "true", "false", "where", "in")
_PLACEHOLDER = "zzplaceholder"
"""Name that is inserted at the cursor, so that its role tells which completions can stand there."""


@dataclass(frozen=True)
class Completion:
    """A word that could stand at the cursor; ``detail``: its signature or type, if known."""

    text: str
    kind: Literal["predicate", "type", "variable", "constant", "keyword"]
    detail: str = ""


@dataclass(frozen=True)
class Symbol:
    """An entry of the outline: a declaration, a rule, a formula, or a run of facts."""

    name: str
    kind: SymbolKind
    start: int
    end: int

    def moved(self, by: int) -> Symbol:
        """The same entry, moved ``by`` characters."""
        return Symbol(self.name, self.kind, self.start + by, self.end + by)


@dataclass(frozen=True)
class Document:
    """A theory text and its file's name. Offsets count characters of ``text``, lines end with ``\\n``."""

    text: str
    name: str = "theory.hb"

    @staticmethod
    def of(text: str, name: str = "theory.hb") -> Document:
        """Document of an editor's text, whose line ends may be of any kind."""
        return Document(text.replace("\r\n", "\n").replace("\r", "\n"), name)

    def changed(self, text: str) -> Document:
        """Document of another text with the same name."""
        return Document(text, self.name)

    @cached_property
    def words(self) -> list[Word]:
        """All words with their roles."""
        return words(self.text)

    @cached_property
    def _checked(self) -> Checked:
        return checked(self.text, self.name)

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        """All mistakes in the text, in the order of lines."""
        return self._checked.mistakes

    @property
    def signature(self) -> Signature | None:
        """Signature of the statements that could be read; ``None`` if none could."""
        return self._checked.signature

    def formatted(self) -> str:
        """The formatted text; raises LanguageError if it has mistakes."""
        return formatted(self.text, self.name)

    def word_at(self, offset: int) -> Word | None:
        """The word at or beside an offset, preferably a name and not a sign."""
        touching = [word for word in self.words if word.start <= offset <= word.end]
        return min(
            touching, key=lambda word: (word.role in ("sign", "comment"), word.end == offset), default=None
        )

    def references(self, offset: int) -> list[Word]:
        """All occurrences of the name at an offset: of a variable in its statement, else in the text."""
        word = self.word_at(offset)
        if word is None or word.role not in ("predicate", "type", "variable"):
            return []
        same = [each for each in self.words if each.role == word.role and each.name == word.name]
        if word.role == "variable":
            return [each for each in same if each.statement == word.statement and word.name != "_"]
        return same

    def definition(self, offset: int) -> Word | None:
        """Declaration of the name at an offset; else the head of a rule, else its first occurrence."""
        places = self.references(offset)
        heads = [word for word in places if word.role == "predicate" and self._is_head(word)]
        declared = [word for word in places if word.declares]
        return next(iter([*declared, *heads, *places]), None)

    def _is_head(self, word: Word) -> bool:
        """Whether the word stands in the head of a rule."""
        statement = self.text[word.statement : self._statement_end(word.statement)]
        return ":-" in statement and word.start < word.statement + statement.index(":-")

    def _statement_end(self, start: int) -> int:
        return max((word.end for word in self.words if word.statement == start), default=start)

    def renamed(self, offset: int, name: str) -> list[tuple[Word, str]]:
        """Rename the name at an offset: the occurrences to change, and the new text of each.

        Raises UnsupportedError if the new name is invalid or would change the meaning.
        """
        places = self.references(offset)
        if not places:
            raise UnsupportedError("there is no name to change here")
        role = places[0].role
        name = name.strip("`") if name.startswith("`") else name
        if not name or "`" in name or "\n" in name or name != name.strip():
            raise UnsupportedError(f"'{name}' is no name", hint="a letter first, then letters and digits")
        if role == "variable" and (name in RESERVED or not _NAME.fullmatch(name) or name == "_"):
            raise UnsupportedError(f"'{name}' is no name of a variable")
        if name != places[0].name and any(
            each.name == name and (role != "variable" or each.statement == places[0].statement)
            for each in self.words
            if each.role in (("variable", "predicate") if role == "variable" else (role,))
        ):
            raise UnsupportedError(f"there is a {role} '{name}' already", hint="choose another name")
        after = self._with_changes([(word, shown_name(name)) for word in places])
        before = {mistake.message for mistake in self.mistakes}
        mistakes = self.changed(after).mistakes  # older ones may have the new name in their messages
        if len(mistakes) > len(self.mistakes):
            new = next((each for each in mistakes if each.message not in before), mistakes[-1])
            raise UnsupportedError(f"'{name}' would be a mistake here: {new.message}")
        return [(word, shown_name(name)) for word in places]

    def _with_changes(self, changes: Iterable[tuple[Word, str]]) -> str:
        text = self.text
        for word, after in sorted(changes, key=lambda change: -change[0].start):
            text = text[: word.start] + after + text[word.end :]
        return text

    def hover(self, offset: int) -> str | None:
        """Explanation of the word at an offset, as Markdown; ``None`` if there is none."""
        word = self.word_at(offset)
        if word is None:
            return None
        if word.role == "keyword":
            return KEYWORDS.get(word.text)
        if word.role == "variable":
            kind = self.type_of_variable(word.name, word.statement)
            return f"variable `{word.text}`" + (f" of type `{kind}`" if kind else "")
        if word.role in ("text", "number") and word.inside is not None:
            kind = self._column_type(word.inside, word.position)
            return None if kind is None else f"constant of type `{kind}`"
        declared = self._declaration(word)
        return None if declared is None else declared

    def _declaration(self, word: Word) -> str | None:
        """Declaration of a type or predicate, declared or inferred, with its comment; else ``None``."""
        known = self.signature
        if known is None or word.role not in ("predicate", "type"):
            return None
        kind = TypeDeclaration if word.role == "type" else PredicateDeclaration
        own = (d for d in known.declarations() if isinstance(d, kind) and d.name == word.name)
        stated = next(own, None)
        if stated is None:
            return None
        notes = [f"```herbrand\n{statement_text(stated)}\n```"]
        notes += self._comment_above(word.name, word.role)
        if word.role == "predicate":
            notes.append(self._world(word.name, known))
        return "\n".join(notes)

    def _comment_above(self, name: str, role: str) -> list[str]:
        """Comment of a declaration: the lines directly above it and the one at the end of its line."""
        place = next((w for w in self.words if w.declares and w.name == name and w.role == role), None)
        if place is None:
            return []
        lines = self.text.split("\n")
        line = self.text.count("\n", 0, place.start)
        above: list[str] = []
        for number in range(line - 1, -1, -1):
            if not lines[number].lstrip().startswith("#"):
                break
            above.insert(0, lines[number].strip(" #"))
        start = self.text.rfind("\n", 0, place.start) + 1
        behind = [w.text.strip("# ") for w in self.words if w.role == "comment" and start < w.start]
        behind = behind[:1] if behind and lines[line].rstrip().endswith(behind[0]) else []
        return [" ".join([*above, *behind])] if above or behind else []

    def _world(self, name: str, known: Signature) -> str:
        predicate = known.predicates[name]
        theory = self._checked.theory
        stated = {"rule": theory.rules, "choice": theory.choices}
        derived = {kind: sum(name in heads_of(one) for one in stated[kind]) for kind in stated}
        if any(derived.values()):
            return f"derived by {' and '.join(counted(n, kind) for kind, n in derived.items() if n)}"
        if predicate.role == "observed":
            return "observed: an atom without a fact is false"
        if predicate.role == "learned":
            return "learned: the weights of its facts are parameters"
        if predicate.declared:
            return "open: an atom without a fact is unknown"
        return "not declared: closed if it has facts, else open"

    def _column_type(self, predicate: str, position: int) -> str | None:
        known = self.signature
        if known is None or predicate not in known.predicates:
            return None
        types = known.predicates[predicate].types
        return types[position] if position < len(types) else None

    def type_of_variable(self, name: str, statement: int) -> str | None:
        """Type of a variable by its atoms in the statement that begins at offset ``statement``."""
        for each in self.words:
            if each.statement == statement and each.role == "variable" and each.name == name:
                kind = each.inside and self._column_type(each.inside, each.position)
                if kind:
                    return kind
        return None

    def completions(self, offset: int) -> list[Completion]:
        """Words that could stand at an offset, in place of the part that is already written."""
        string = next((w for w in self.words if w.role == "text" and w.start < offset <= w.end), None)
        if any(w.role == "comment" and w.start < offset <= w.end for w in self.words):
            return []
        if string is not None and (offset < string.end or len(string.text) == 1 or string.text[-1] != '"'):
            return list(self._constants(string, quoted=False))
        start, end = offset, offset
        while start and (self.text[start - 1].isalnum() or self.text[start - 1] == "_"):
            start -= 1
        while end < len(self.text) and (self.text[end].isalnum() or self.text[end] == "_"):
            end += 1
        text = self.text[:start] + _PLACEHOLDER + self.text[end:]
        there = Document(text, self.name)
        word = next((w for w in there.words if w.start == start and w.text == _PLACEHOLDER), None)
        if word is None:
            return []
        return list(self._candidates(word, there))

    def _candidates(self, word: Word, there: Document) -> Iterator[Completion]:
        line = there.text[there.text.rfind("\n", 0, word.start) + 1 : word.start]
        if re.fullmatch(r"\s*predicate\b[^\"]*:\s*", line):
            yield from (Completion(role, "keyword") for role in ("observed", "learned"))
        elif word.role == "type" and not word.declares:
            yield from self._types(there)
            if re.match(r"\s*type\b", line):
                yield from (Completion(kind, "keyword") for kind in ("number", "date", "time"))
        elif word.declares or word.role == "label":
            return
        elif word.role == "variable":
            yield from self._terms(word, there)
        elif word.role in ("predicate", "keyword"):
            yield from self._predicates(there)
            if word.start == word.statement:
                yield from (Completion(w, "keyword") for w in _STATEMENT_WORDS)
            else:
                yield from (Completion(w, "keyword") for w in _FORMULA_WORDS)

    def _types(self, there: Document) -> Iterator[Completion]:
        names = dict.fromkeys(word.name for word in there.words if word.role == "type")
        yield from (Completion(shown_name(name), "type") for name in names if name != _PLACEHOLDER)

    def _predicates(self, there: Document) -> Iterator[Completion]:
        known = self.signature
        names = dict.fromkeys(word.name for word in there.words if word.role == "predicate")
        for name in names:
            if name == _PLACEHOLDER:
                continue
            detail = str(known.predicates[name]) if known and name in known.predicates else ""
            yield Completion(shown_name(name), "predicate", detail)

    def _terms(self, word: Word, there: Document) -> Iterator[Completion]:
        same = (
            each.name
            for each in there.words
            if each.role == "variable" and each.statement == word.statement and each.text != _PLACEHOLDER
        )
        yield from (Completion(name, "variable") for name in dict.fromkeys(same) if name != "_")
        yield from self._constants(word, quoted=True)

    def _constants(self, word: Word, quoted: bool) -> Iterator[Completion]:
        """Yield constants of the type of the word's position: of a closed type, else from the text."""
        if word.inside is None:
            return
        kind = self._column_type(word.inside, word.position)
        known = self.signature
        closed = known.types[kind].values if known and kind and kind in known.types else None
        if closed is not None:
            texts = [f'"{value}"' if isinstance(value, str) else str(value) for value in closed[:1000]]
        else:
            texts = [
                each.text
                for each in self.words
                if each.role in ("text", "number")
                and each.inside is not None
                and each.start != word.start
                and (kind and self._column_type(each.inside, each.position)) == kind
            ]
        for text in dict.fromkeys(texts):
            if quoted:
                yield Completion(text, "constant", kind or "")
            elif text.startswith('"') and text.endswith('"') and len(text) > 1:
                yield Completion(text[1:-1], "constant", kind or "")

    def symbols(self) -> list[Symbol]:
        """Outline of the text: declarations, rules and formulas; consecutive facts of a predicate are one
        entry."""
        symbols: list[Symbol] = []
        for start, statement, group in statements(self.text):
            symbol = _symbol(statement, group)
            last = symbols[-1] if symbols else None
            if last and symbol.kind == last.kind == "facts" and symbol.name == last.name:
                symbols[-1] = Symbol(last.name, "facts", last.start, start + symbol.end)
            else:
                symbols.append(symbol.moved(start))
        return symbols


@lru_cache(MOST_KEPT)
def _symbol(statement: str, group: tuple[Word, ...]) -> Symbol:
    """Entry of one statement, as if it began at offset 0; cached while other statements change."""
    name, kind = _entry(statement, [word for word in group if word.role != "comment"])
    return Symbol(name, kind, 0, len(statement))


def _entry(statement: str, group: list[Word]) -> tuple[str, SymbolKind]:
    declared = next((word for word in group if word.declares), None)
    if declared is not None:
        return declared.name, "type" if declared.role == "type" else "predicate"
    line = shortened(" ".join(statement.split()), 80)
    signs = {word.text for word in group if word.role == "sign"}
    if ":-" in signs or "::" in signs:
        return line, "rule"
    if any(word.text == "P" for word in group[:4]):
        return line, "bound"
    if ":" in signs:
        return line, "formula"
    return next((word.name for word in group if word.role == "predicate"), line), "facts"
