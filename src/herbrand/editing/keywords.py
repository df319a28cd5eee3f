"""Hover texts for the keywords of the language: an explanation in one line, and an example."""

from __future__ import annotations

_EXAMPLES = {
    "type": ("Declares a type of constants.", 'type level = {"junior", "senior"}'),
    "predicate": ("Declares a predicate with the types of its arguments.", "predicate smokes(person)"),
    "hard": ("The formula holds in every world.", "hard: smokes(x) => not athlete(x)"),
    "where": ("Leaves out groundings: equations and inequations of terms.", "0.3: f(x, y) where x != y"),
    "exists": ("Holds if the formula holds for some constant.", "exists y: friends(x, y)"),
    "forall": ("Holds if the formula holds for every constant.", "forall y: friends(x, y)"),
    "and": ("Holds if both sides hold.", "smokes(x) and friends(x, y)"),
    "or": ("Holds if a side holds.", "smokes(x) or cancer(x)"),
    "xor": ("Holds if exactly one side holds.", "smokes(x) xor cancer(x)"),
    "not": ("Negation; before an atom of a fact: it is false.", "not smokes(x)"),
    "in": ("One of several values, or an interval of probabilities.", 'area(p) in {"ai", "db"}'),
    "true": ("Holds in every world.", "1.0: true"),
    "false": ("Holds in no world.", "1.0: a => false"),
    "P": ("A probability, with bounds.", "P(cancer(x) | smokes(x)) in [0.2, 0.3]"),
    "observed": ("Closed world: what is not listed is false.", "predicate friends(person, person): observed"),
    "learned": ("The weights of its facts are parameters.", "predicate likes(person, word): learned"),
    "independent": ("The atoms of the event are not linked.", "P(a xor b) <= 0.8 independent"),
    "number": ("A type of numbers.", "type age = number"),
    "date": ("A type of dates, or a date.", "type day = date"),
    "time": ("A type of times, or a time.", "type moment = time"),
}
KEYWORDS = {word: f"{what}\n```herbrand\n{example}\n```" for word, (what, example) in _EXAMPLES.items()}
