"""Advice for syntax errors: spellings of other languages, forgotten signs, words in the wrong place.

Takes a :class:`Failure`; returns a sentence of advice, or an empty text. Each rule is a small function; the
advice is that of the first rule in ``_RULES`` that applies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from herbrand.errors import nearest
from herbrand.language.names import RESERVED

_FOREIGN = {
    sign: advice
    for advice, signs in {
        "write <=> for 'if and only if'": ("<->", "<-->", "↔", "⇔"),
        "write => for 'implies'": ("->", "-->", "→", "⇒"),
        "write :- for a rule, => for 'implies'": ("<-", "<--", "←"),
        "write :- without a space": (": -",),
        "write = for equality": ("==", "=:="),
        "write = for a value, :- for a rule": (":=",),
        "write != for inequality": ("<>", "\\==", "=\\=", "~=", "\\=", "≠"),
        "write <=": ("=<", "≤"),
        "write >=": ("≥",),
        "write 'and'": ("&", "&&", "∧", "/\\", "^"),
        "write 'or'": ("||", "\\/", "∨"),
        "write 'xor'": ("⊕",),
        "write 'not'": ("!", "¬", "\\+"),
        "write 'exists x: ...'": ("∃",),
        "write 'forall x: ...'": ("∀",),
        "a probability stands before its atom: 0.3 :: rain": ("::",),
        "constants stand in double quotes": ("'", "‘", "’"),
        'constants stand in straight double quotes: "..."': ("“", "”"),
        "comments begin with #": ("//", "/*", "--"),
        "a minus is written '-'": ("–", "—", "−"),
        "a goal stands by itself, without ?-": ("?-",),
        "a range has two points: 1..9": ("...",),
        "a statement ends with its line; an alternative is written 'or'": (";",),
        "a positive number has no sign; values are added on a side of a comparison: m = n + 1": ("+",),
    }.items()
    for sign in signs
}
_LONGEST_FOREIGN = max(map(len, _FOREIGN))
_WORDS = {
    word: advice
    for advice, words in {
        "write 'or'": ("v",),
        "write =>": ("implies",),
        "write 'premise => conclusion'": ("if", "then"),
        "write <=>": ("iff",),
        "write '|' for 'given', inside P( | )": ("given",),
        "write =": ("is",),
        "a predicate is declared with 'predicate'": ("pred", "relation"),
        "a type is declared with 'type'": ("domain", "sort"),
        "a type of text is declared by its name alone": ("string", "str", "text"),
        "a type of numbers is declared as '= number'": ("int", "integer", "float"),
        "a closed world is declared by ': observed'": ("closed",),
        "an open world needs no word: a declared predicate is open": ("open",),
    }.items()
    for word in words
}
_FIRST_WORDS = {
    word: advice
    for advice, words in {
        "a closed world is declared behind the predicate: predicate likes(person): observed": ("observed",),
        "theory files are named together where they are read, and are one theory": ("import", "include"),
    }.items()
    for word in words
}
_ROLES = ["observed", "learned"]
_VARIABLES_END = "a colon ends the variables: 'exists x, y: ...'"
_BOTH_BOUNDS = "write both bounds as 'in [lower, upper]'"
FACT_A_LINE = "each fact stands on a line of its own"
_VALUES = "values are declared with 'in': predicate area(paper) in {...}"
_KEYWORDS = {"AND", "OR", "XOR", "IN", "WHERE", "INDEPENDENT"}
_CLOSING = {")": "(", "]": "[", "}": "{"}
_WORD_BEFORE = re.compile(r"([^\W\d]\w*)[ \t\n]*$")
_FIRST_WORD = re.compile(r"(?:\[[^]\n]*\][ \t\n]*)?([^\W\d]\w*)[ \t\n]*$")
_NUMBER_BEFORE = re.compile(r"[0-9][ \t\n]*$")
_WHOLE_BEFORE = re.compile(r"(?<![.\d])\d+$")
_COMPUTED_BEFORE = re.compile(r"[-+*/][ \t]*[\w.]+[ \t)]*$")
_QUANTIFIED_BEFORE = re.compile(r"\b(?:exists|forall)[ \t\n]+[\w, \t\n]*\w$")
_CHANCE_BEHIND = re.compile(r"::[ \t]*[0-9.]+[ \t]*$")
_GROUND_ATOM = re.compile(r"""[^(]*\((?:\s*(?:"(?:[^"\\]|\\.)*"|-?[0-9.]+)\s*,?)*\)\s*""")
_NAMED_WEIGHT = re.compile(r"\s*-?\s*[^\W\d]\w*\s*")
_FACT_OR_WEIGHT = "a fact's probability is written '~ 0.7'; a formula's weight stands before it: '1.5: ...'"
_COMPARED = re.compile(r"(=|!=|<=?|>=?)[ \t\n]*(?:[^\W\d]\w*|`[^`]+`)[ \t\n]*$")


@dataclass(frozen=True)
class Failure:
    """Place where the parser stopped, at the token or character ``found``.

    ``kind``: terminal of the token; empty for an unknown character. ``accepted``: terminals that may follow.
    ``whole``: what is being read, a statement or a formula, query or fact that stands by itself.
    """

    text: str
    start: int
    at: int
    kind: str
    found: str
    accepted: frozenset[str]
    whole: str = "statement"

    @property
    def before(self) -> str:
        """Text of the statement up to the failure."""
        return self.text[self.start : self.at]

    @property
    def word_before(self) -> str:
        word = _WORD_BEFORE.search(self.before)
        return word[1] if word else ""

    @property
    def first_word(self) -> str:
        """The word before the failure if it is the first of the statement, else an empty text."""
        word = _FIRST_WORD.fullmatch(self.before)
        return word[1] if word else ""

    @property
    def after(self) -> str:
        return self.text[self.at + len(self.found) : self.at + len(self.found) + 1]

    @property
    def rest(self) -> str:
        """Text of the line behind what was found."""
        return self.text[self.at + len(self.found) :].partition("\n")[0]


def foreign_spelling(failure: Failure) -> tuple[int, int] | None:
    """Begin and end of the sign of another language at or around the failure; the longest one wins."""
    text, at = failure.text, failure.at
    if failure.kind == "DIFFERS":
        return None
    places = [
        (begin, begin + length)
        for length in range(_LONGEST_FOREIGN, 0, -1)
        for begin in range(max(failure.start, at - length + 1), min(at, len(text) - length) + 1)
        if text[begin : begin + length] in _FOREIGN
    ]
    return places[0] if places else None


def suggestion(failure: Failure) -> str:
    """Advice on what to write instead; empty if no rule applies."""
    return next((advice for rule in _RULES if (advice := rule(failure))), "")


def _foreign(failure: Failure) -> str:
    place = foreign_spelling(failure)
    return _FOREIGN[failure.text[slice(*place)]] if place else ""


def _computed_probability(failure: Failure) -> str:
    if not failure.text.startswith("::", failure.at) or not _COMPUTED_BEFORE.search(failure.before):
        return ""
    return (
        "write a fraction as a decimal number; what depends on rows is computed in the body: "
        "p :: a(x) :- n(x, k), p = 1 / k"
    )


def _chance_behind(failure: Failure) -> str:
    behind = failure.kind == "$END" and _CHANCE_BEHIND.search(failure.before)
    return _FOREIGN["::"] if behind else ""


def _alternative_bodies(failure: Failure) -> str:
    return "write one rule for each alternative" if failure.found == ";" and ":-" in failure.before else ""


def _point(failure: Failure) -> str:
    if failure.found != ".":
        return ""
    if _QUANTIFIED_BEFORE.search(failure.before):
        return _VARIABLES_END
    if failure.after.isdigit():
        return "a number has a digit before its point: 0.5"
    if failure.before[-1:].isdigit():
        return "a number has a digit after its point: 1.0"
    if re.match(r"\w", failure.before[-1:]) and re.match(r"\w", failure.after):
        return ""  # within a name
    return "a statement ends with its line; no full stop is needed"


def _percent(failure: Failure) -> str:
    if failure.found != "%":
        return ""
    return "write 0.7 for 70 %" if _NUMBER_BEFORE.search(failure.before) else "comments begin with #"


def _minus(failure: Failure) -> str:
    if failure.found != "-" or re.match(r"\w", failure.before[-1:]):
        return ""
    return (
        "write 'not'"
        if re.match(r"\w", failure.after)
        else "values are computed on a side of a comparison: m = n - 1; a range is written 1..9"
    )


def _odd_space(failure: Failure) -> str:
    return "outside strings a space is a plain one" if failure.found.isspace() else ""


def _name_with_a_sign(failure: Failure) -> str:
    if failure.kind or not failure.before or not re.match(r"\w", failure.before[-1]):
        return ""
    if failure.found == "/" and failure.after.isdigit():
        return (
            "write a fraction as a decimal number"
            if failure.before[-1].isdigit()
            else "write the types of its arguments: smokes(person)"
        )
    if failure.found in "-.$@:" and re.match(r"\w", failure.after):
        return f"a name with '{failure.found}' in it stands in back-quotes: `...`"
    if not failure.found.isascii():
        return "a name with this character in it stands in back-quotes: `...`"
    return ""


def _decimal_comma(failure: Failure) -> str:
    comma = failure.kind == "COMMA" and _WHOLE_BEFORE.search(failure.before) and failure.after.isdigit()
    return "a decimal point is written '.'" if comma else ""


def _probability_elsewhere(failure: Failure) -> str:
    quoted = "a predicate named P stands in back-quotes: `P`"
    if failure.kind == "P" and failure.whole != "statement" and not failure.before.strip():
        given = " before the bar; what is given stands in --given" if "|" in failure.text else ""
        return f"P( ) is a query of bound, and here stands what is inside{given}; {quoted}"
    if failure.kind == "P" and failure.before.strip() != "[":
        return f"P( ) stands alone, with its bound behind it; {quoted}"
    if failure.accepted == {"AT_LEAST", "AT_MOST", "EQUALS", "IN"}:
        if failure.text.startswith(("<-", ":"), failure.at):
            return f"P( ) states a probability; {quoted}"
        return "a bound is written with <=, >=, = or 'in [lower, upper]'"
    if failure.kind == "VBAR":
        return "'|' means 'given' and stands once, inside P( | ); an alternative is written 'or'"
    return ""


def _reserved_as_name(failure: Failure) -> str:
    if "NAME" not in failure.accepted or failure.found not in RESERVED:
        return ""
    if failure.kind in ("AND", "OR", "XOR", "IN", "WHERE"):
        return ""
    if failure.kind in ("TRUE", "FALSE") and failure.before.rstrip().endswith("="):
        return "an atom that is true stands by itself, one that is false behind 'not'"
    return f"'{failure.found}' is a reserved word; as a name it stands in back-quotes: `{failure.found}`"


def _wrong_case(failure: Failure) -> str:
    for word in (failure.found, failure.word_before):
        if word.lower() in RESERVED and word not in RESERVED and word.lower() != "p":
            return f"write '{word.lower()}'"
    return ""


def _other_word(failure: Failure) -> str:
    if failure.kind == "NAME" and failure.found.lower() in _WORDS:
        return _WORDS[failure.found.lower()]
    if failure.word_before.lower() == "if":
        return "write 'premise => conclusion'"
    first = failure.first_word.lower()
    return _WORDS.get(first, "") or _FIRST_WORDS.get(first, "")


def _misspelt(failure: Failure) -> str:
    if failure.first_word and failure.kind in ("NAME", "COLON", "LPAR"):
        known = ["type", "predicate"] if failure.kind == "NAME" else ["hard"]
        return nearest(failure.first_word, known)
    if failure.kind == "NAME" and "ROLE" in failure.accepted:
        return nearest(failure.found, _ROLES)
    if failure.kind == "NAME":
        return nearest(failure.found, [k.lower() for k in _KEYWORDS & failure.accepted])
    return ""


def _role(failure: Failure) -> str:
    role = failure.found in _ROLES and "COLON" in failure.accepted
    return f"write ': {failure.found}'" if role else ""


def _only_a_fragment(failure: Failure) -> str:
    """Advice that a formula, query or fact by itself has no weight and no bound."""
    if failure.whole == "statement":
        return ""
    if failure.kind in ("COLON", "AT", "TILDE") and "NAME" not in failure.accepted:
        return f"a {failure.whole} that stands by itself has no weight"
    if failure.kind in ("AT_LEAST", "AT_MOST", "EQUALS") and failure.accepted == {"$END"}:
        return "a query asks for the bounds: P( ) stands without them"
    return ""


def _weight_behind(failure: Failure) -> str:
    if "NAME" in failure.accepted:
        return ""
    if failure.kind == "AT":
        return "'@ weight' ends a fact or a rule; a formula's weight stands before it: 'weight: formula'"
    if failure.kind == "COLON" and failure.before.lstrip().startswith("predicate "):
        return "a declaration names the types of arguments alone: predicate likes(person, food)"
    if failure.kind == "COLON" and failure.before.lstrip().startswith("type "):
        return "the values of a type stand behind '=': type level = {...}"
    if failure.kind == "COLON" and failure.accepted == {"CHANCE"}:
        return "the probability of each head is followed by '::'"
    if failure.kind == "COLON" and "COMMA" in failure.accepted:
        return "a rule's weight stands behind it: '@ weight'"
    if failure.kind == "COLON" and _NAMED_WEIGHT.fullmatch(failure.before):
        return "a weight is a number, 'hard' or '?'"
    if failure.kind == "COLON" and failure.before.endswith("]"):
        return "a label is followed by its statement, without a colon"
    if failure.kind == "COLON" and _GROUND_ATOM.fullmatch(failure.before):
        return _FACT_OR_WEIGHT
    if failure.kind == "COLON":
        return "a formula's weight stands before it: 'weight: formula'"
    if failure.kind == "NUMBER" and "TILDE" in failure.accepted:
        return _FACT_OR_WEIGHT
    if failure.kind == "IF":
        return _rule_with_weight(failure)
    if failure.kind == "NUMBER" and "AT" in failure.accepted:
        return "a rule's weight stands behind it: '@ weight'"
    return ""


def _rule_with_weight(failure: Failure) -> str:
    """Advice for a rule that begins with the weight of a formula."""
    if failure.before.lstrip().startswith("hard"):
        return "a rule always holds: leave out 'hard:'"
    return "a rule's weight stands behind it: 'head :- body @ weight'"


def _rule_without_head(failure: Failure) -> str:
    return "a rule begins with its head: 'head :- body'" if failure.kind == "IF" else ""


def _negation(failure: Failure) -> str:
    return "write 'not'" if failure.kind == "TILDE" and "NAME" in failure.accepted else ""


def _learned_fact(failure: Failure) -> str:
    if failure.kind == "QMARK" and failure.before.rstrip().endswith("@"):
        return "the weights of facts are learned where their predicate is declared ': learned'"
    return ""


def _chained(failure: Failure) -> str:
    return "<=> is not chained: use brackets" if failure.kind == "IFF" else ""


def _values_behind_a_sign(failure: Failure) -> str:
    """Advice for a predicate whose values are declared as the result of a function."""
    sign = failure.kind == "EQUALS" or failure.text.startswith("->", failure.at)
    return _VALUES if sign and failure.before.lstrip().startswith("predicate ") else ""


def _values_as_role(failure: Failure) -> str:
    return _VALUES if failure.kind in ("NAME", "LBRACE") and "ROLE" in failure.accepted else ""


def _comparison_out_of_place(failure: Failure) -> str:
    if failure.kind not in ("EQUALS", "DIFFERS", "LESS", "MORE", "AT_LEAST", "AT_MOST"):
        return ""
    if "INDEPENDENT" in failure.accepted:
        return _BOTH_BOUNDS
    if "AND" in failure.accepted and "EQUALS" not in failure.accepted:
        return "comparisons are not chained: join them by 'and'"
    return ""


def _atom_as_term(failure: Failure) -> str:
    compared = _COMPARED.search(failure.before) if failure.kind == "LPAR" else None
    if compared is None:
        return ""
    arrow = "; write :- for a rule, => for 'implies'" if compared[1] == "<=" else ""
    return f"a comparison is between terms, not atoms{arrow}"


def _nested_term(failure: Failure) -> str:
    inside = failure.kind == "LPAR" and {"COMMA", "RPAR"} <= failure.accepted
    return "arguments are variables and constants: there are no functions" if inside else ""


def _arguments_without_brackets(failure: Failure) -> str:
    if failure.kind in ("STRING", "NAME") and "LPAR" in failure.accepted and failure.first_word:
        return f"arguments stand in brackets: {failure.first_word}(...)"
    return ""


def _empty_brackets(failure: Failure) -> str:
    name = re.search(r"(\w+)[ \t]*\($", failure.before.rstrip()) if failure.kind == "RPAR" else None
    return f"without arguments there are no brackets: {name[1]}" if name and name[1] != "P" else ""


def _last_comma(failure: Failure) -> str:
    closing = failure.found in _CLOSING and failure.before.rstrip().endswith(",")
    return "leave out the last comma" if closing else ""


def _bracket_too_many(failure: Failure) -> str:
    if failure.found not in _CLOSING:
        return ""
    opening = failure.before.count(_CLOSING[failure.found])
    surplus = opening <= failure.before.count(failure.found)
    return f"there is no '{_CLOSING[failure.found]}' for it" if surplus else ""


def _value_set(failure: Failure) -> str:
    if failure.accepted == {"LBRACE", "NAME"} and failure.kind == "NUMBER":
        return "a range is a type of its own: type level = 0..3; then 'in level'"
    if failure.accepted <= {"LBRACE", "NAME"} and "LBRACE" in failure.accepted:
        return 'a set of values stands in braces: {"ai", "db"}'
    if failure.found in ("(", "[") and "LBRACE" in failure.accepted:
        return 'a set of values stands in braces: {"ai", "db"}'
    if failure.kind == "LBRACE" and "NAME" in failure.accepted:
        return 'one of several values is written with \'in\': area(p) in {"ai", "db"}'
    return ""


def _bare_constant(failure: Failure) -> str:
    if failure.kind == "STRING" and failure.accepted == {"NUMBER"}:
        return "a number stands without quotes"
    bare = failure.kind == "NAME" and "STRING" in failure.accepted and "NAME" not in failure.accepted
    return f'constants stand in quotes: "{failure.found}"' if bare else ""


def _interval(failure: Failure) -> str:
    if failure.accepted == {"LSQB"}:
        return "an interval is written [lower, upper]"
    lacks_upper = failure.kind == "RSQB" and failure.accepted == {"COMMA"} and "P" in failure.before
    return "an interval has two ends: [lower, upper]" if lacks_upper else ""


def _missing_comma(failure: Failure) -> str:
    if failure.kind not in ("NAME", "STRING", "NUMBER", "NOT"):
        return ""
    if {"COMMA", "AT"} <= failure.accepted:
        return "the parts of a rule's body are separated by commas"
    between = "COMMA" in failure.accepted and failure.accepted & {"RPAR", "RBRACE"}
    return "a comma is missing before it" if between else ""


def _comma_between_formulas(failure: Failure) -> str:
    if failure.kind != "COMMA" or "NAME" in failure.accepted:
        return ""
    if failure.before.lstrip().startswith(("type", "predicate")):
        return "each declaration stands on a line of its own"
    if failure.whole == "fact":
        return "evidence is one fact, and --given is repeatable (given=[...] in Python)"
    if "SEMICOLON" in failure.accepted:
        return "heads of one choice stand apart by ';', other choices on lines of their own"
    if failure.accepted == {"INDEPENDENT", "$END"}:
        return _BOTH_BOUNDS
    if "IF" in failure.accepted and _GROUND_ATOM.fullmatch(failure.before):
        return f"{FACT_A_LINE}; the head of a rule is one atom"
    if "IF" in failure.accepted:
        return "formulas are joined by 'and'; the head of a rule is one atom"
    return "formulas and conditions are joined by 'and'"


def _two_formulas(failure: Failure) -> str:
    starts = failure.kind in ("NAME", "NOT", "EXISTS", "FORALL", "LPAR", "TYPE", "PREDICATE", "HARD", "P")
    if not starts or "AND" not in failure.accepted:
        return ""
    lines = ", two statements a line each" if failure.whole == "statement" else ""
    return f"two formulas need a connective between them{lines}"


def _quantifier(failure: Failure) -> str:
    if failure.kind != "COLON" and failure.accepted == {"COLON", "COMMA"}:
        return _VARIABLES_END
    return ""


def _weight_without_colon(failure: Failure) -> str:
    weighted = "COLON" in failure.accepted and not failure.accepted & {"NAME", "COMMA", "$END"}
    if not weighted or failure.kind != "NAME":
        return ""
    if ":-" in failure.rest and not failure.before.lstrip().startswith("hard"):
        return f"{_rule_with_weight(failure)}; a probability is followed by '::'"
    if ":-" in failure.rest:
        return _rule_with_weight(failure)
    return "a colon stands between a weight and its formula"


def _label(failure: Failure) -> str:
    before = failure.before.strip()
    if before.startswith("[") and failure.accepted == {"RSQB"}:
        return 'a label of several words stands in quotes: ["..."]'
    if before.startswith("[") and before.endswith("]") and "TYPE" in failure.accepted:
        if failure.kind == "LSQB":
            return "a statement has one label"
        if failure.kind == "COLON":
            return "a label is followed by its statement, without a colon"
        if failure.kind == "$END":
            return "a label stands before the statement, on the same line"
    return ""


_RULES = [
    _only_a_fragment,
    _probability_elsewhere,
    _computed_probability,
    _chance_behind,
    _alternative_bodies,
    _values_behind_a_sign,
    _foreign,
    _point,
    _percent,
    _minus,
    _odd_space,
    _name_with_a_sign,
    _decimal_comma,
    _label,
    _reserved_as_name,
    _wrong_case,
    _other_word,
    _misspelt,
    _values_as_role,
    _role,
    _chained,
    _comparison_out_of_place,
    _atom_as_term,
    _nested_term,
    _arguments_without_brackets,
    _empty_brackets,
    _last_comma,
    _bracket_too_many,
    _value_set,
    _interval,
    _bare_constant,
    _weight_without_colon,
    _quantifier,
    _weight_behind,
    _rule_without_head,
    _negation,
    _learned_fact,
    _missing_comma,
    _comma_between_formulas,
    _two_formulas,
]
