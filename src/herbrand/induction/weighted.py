"""Weighted rules as statements of the language.

>>> from herbrand.language.parse import parse_theory
>>> from herbrand.language.show import statement_text
>>> (rule,) = parse_theory("wet(x) :- rain(x)").rules
>>> [statement_text(weighted(rule, 0.75, form)) for form in FORMS]
['wet(x) :- rain(x) @ 0.75', '0.75 :: wet(x) :- rain(x)']
"""

from __future__ import annotations

from dataclasses import replace

from herbrand.language.syntax import Alternative, Choice, Rule

FORMS = ("proofs", "probabilities")


def weighted(rule: Rule, weight: float, form: str) -> Rule | Choice:
    """Rule with a weight of its proofs, or an independent choice for each of its groundings."""
    rounded = float(f"{weight:.6g}")
    if form == "probabilities":
        return Choice((Alternative(rounded, rule.head),), rule.body)
    return replace(rule, weight=rounded)
