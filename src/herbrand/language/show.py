"""Printer from statements to text, such that a theory read from its text equals the one printed.

Its text of atoms and formulas is the canonical one: result rows, messages and ``convert`` all use it.

>>> from herbrand.language.parse import parse_formula
>>> show_formula(parse_formula("not (a and b) or c=>d"))
'not (a and b) or c => d'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from herbrand.language.comparisons import variables_of
from herbrand.language.formulas import (
    FUNCTIONS,
    Aggregate,
    And,
    Arithmetic,
    Atom,
    Comparison,
    Computed,
    Constant,
    Exists,
    Expression,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Term,
    Truth,
    Value,
    ValueIn,
    ValueIs,
    Variable,
    Xor,
)
from herbrand.language.names import (
    is_made,
    parts_of_list,
    shown_constant,
    shown_name,
    shown_number,
    text_of_made,
)
from herbrand.language.network_statements import statements_of
from herbrand.language.scope import with_terms
from herbrand.language.signature import Predicate
from herbrand.language.syntax import (
    Bound,
    BoundRows,
    Choice,
    FactRows,
    Hard,
    Learned,
    NetworkTable,
    PredicateDeclaration,
    Rule,
    Statement,
    TypeDeclaration,
    Weight,
    WeightedFormula,
)

_IFF, _IMPLIES, _OR, _XOR, _AND, _NOT, _LEAF = range(7)
_SUM, _PRODUCT, _SIGNED, _OPERAND = range(4)


def show_statement(statement: Statement) -> Iterator[str]:
    """Lines of a statement: one; a line for each row of a run of facts or bounds; several for a table."""
    label = "" if statement.label is None else f"[{_shown_label(statement.label)}] "
    match statement:
        case FactRows():
            lines = _fact_lines(statement)
        case TypeDeclaration():
            lines = iter([_type_line(statement)])
        case PredicateDeclaration():
            lines = iter([_predicate_line(statement)])
        case WeightedFormula(weight=weight, formula=formula, where=where, times=times):
            conditions = " and ".join(map(show_formula, where))
            suffix = f" where {conditions}" if where else ""
            factor = "" if times is None else f" * {show_term(times)}"
            lines = iter([f"{show_weight(weight)}{factor}: {show_formula(formula)}{suffix}"])
        case Bound():
            lines = iter([_bound_line(statement)])
        case BoundRows():
            lines = (line for bound in statement.bounds() for line in show_statement(bound))
        case Rule():
            lines = iter([_rule_line(statement)])
        case Choice():
            lines = iter([_choice_line(statement)])
        case NetworkTable():
            lines = (line for row in statements_of(statement) for line in show_statement(row))
    return (label + line for line in lines)


def statement_text(statement: Statement) -> str:
    """First line of a statement's text, as messages and explanations name it."""
    return next(show_statement(statement))


def show_formula(formula: Formula) -> str:
    """The canonical text of a formula."""
    return _shown(formula)[0]


def show_probability(event: Formula, given: Formula | None = None) -> str:
    """The text inside ``P( )``."""
    return show_formula(event) if given is None else f"{show_formula(event)} | {show_formula(given)}"


def show_term(term: Term) -> str:
    return shown_constant(term.value) if isinstance(term, Constant) else shown_name(term.name)


def show_expression(expression: Expression) -> str:
    """Text of a variable, a constant or a computed value."""
    return _expressed(expression)[0]


def _expressed(expression: Expression) -> tuple[str, int]:
    """Text of a value, and the precedence of its outermost sign."""
    match expression:
        case Aggregate(function=function, terms=terms, body=body):
            of, where = ", ".join(map(show_expression, terms)), ", ".join(map(show_formula, body))
            return f"{function}({of}: {where})", _OPERAND
        case Arithmetic(sign="negative", operands=(operand,)):
            return f"-{_bracketed(operand, _OPERAND)}", _SIGNED
        case Arithmetic(sign=sign, operands=operands) if sign in FUNCTIONS:
            return f"{sign}({', '.join(map(show_expression, operands))})", _OPERAND
        case Arithmetic(sign=sign, operands=(left, right)):
            own = _SUM if sign in "+-" else _PRODUCT
            return f"{_bracketed(left, own)} {sign} {_bracketed(right, own + 1)}", own
        case Variable() | Constant():
            return show_term(expression), _OPERAND
    raise AssertionError(expression)


def _bracketed(operand: Expression, tightness: int) -> str:
    text, own = _expressed(operand)
    return text if own >= tightness else f"({text})"


def _valued(atom: Atom) -> str:
    """Text of a many-valued atom, to stand before its value."""
    return _no_function(show_formula(atom), atom.predicate)


def _no_function(shown: str, predicate: str) -> str:
    """Quote the predicate of a many-valued atom if it would read back as a function of numbers."""
    return shown.replace(predicate, f"`{predicate}`", 1) if predicate in FUNCTIONS else shown


def show_atom(predicate: str, arguments: tuple[Value, ...]) -> str:
    """The text of a ground atom."""
    if is_made(predicate):
        return text_of_made(predicate, [*map(shown_constant, arguments)])
    if not arguments:
        return shown_name(predicate)
    return f"{shown_name(predicate)}({', '.join(map(shown_constant, arguments))})"


def show_row(predicate: Predicate, row: Sequence[Value]) -> str:
    """Text of the ground atom in a row of the predicate's columns, with its value if it is many-valued."""
    if predicate.value_type is None:
        return show_atom(predicate.name, tuple(row))
    return f"{show_atom(predicate.name, tuple(row[:-1]))} = {shown_constant(row[-1])}"


def atom_texts(predicate: str, columns: Sequence[Sequence[str]], count: int) -> list[str]:
    """Texts of ``count`` ground atoms, from columns of the texts of their arguments.

    >>> atom_texts("likes", [['"anna"', '"bob"'], ["1", "2"]], 2)
    ['likes("anna", 1)', 'likes("bob", 2)']
    """
    if is_made(predicate):
        rows = zip(*columns, strict=True) if columns else [()] * count
        return [text_of_made(predicate, row) for row in rows]
    if not columns:
        return [shown_name(predicate)] * count
    name = shown_name(predicate)
    return [f"{name}({arguments})" for arguments in map(", ".join, zip(*columns, strict=True))]


def show_weight(weight: Weight) -> str:
    match weight:
        case Hard():
            return "hard"
        case Learned(by=by):
            return f"?[{', '.join(map(show_term, by))}]" if by else "?"
    return shown_number(weight)


def _shown(formula: Formula) -> tuple[str, int]:
    """Text of a formula, and the precedence of its outermost connective."""
    match formula:
        case Atom(predicate=predicate, arguments=arguments):
            if is_made(predicate):
                return text_of_made(predicate, [*map(show_term, arguments)]), _LEAF
            terms = f"({', '.join(map(show_term, arguments))})" if arguments else ""
            return shown_name(predicate) + terms, _LEAF
        case ValueIs(atom=atom, value=value):
            return f"{_valued(atom)} = {show_term(value)}", _LEAF
        case ValueIn(atom=atom, values=values):
            return f"{show_formula(atom)} in {_constant_set(values)}", _LEAF
        case Comparison(operator=operator, left=left, right=right):
            return f"{show_term(left)} {operator} {show_term(right)}", _LEAF
        case Computed(operator=operator, left=left, right=right):
            return f"{show_expression(left)} {operator} {show_expression(right)}", _LEAF
        case Truth(value=value):
            return "true" if value else "false", _LEAF
        case Not(operand=operand):
            return f"not {_inside(operand, _NOT)}", _NOT
        case And(operands=operands):
            return _joined(" and ", operands, "true", _AND)
        case Xor(operands=operands):
            return _joined(" xor ", operands, "false", _XOR)
        case Or(operands=operands):
            return _joined(" or ", operands, "false", _OR)
        case Implies(premise=premise, conclusion=conclusion):
            return f"{_inside(premise, _IMPLIES + 1)} => {_inside(conclusion, _IMPLIES)}", _IMPLIES
        case Iff(left=left, right=right):
            return f"{_inside(left, _IFF + 1)} <=> {_inside(right, _IFF + 1)}", _IFF
        case Exists() if (text := _with_computed_arguments(formula)) is not None:
            return text, _LEAF
        case Exists(variables=variables, body=body):
            return _quantified("exists", variables, body), _IFF
        case Forall(variables=variables, body=body):
            return _quantified("forall", variables, body), _IFF


def name_of_value(value: Expression) -> str:
    """Name of the variable that replaces a computed argument of an atom."""
    return show_expression(value).replace("`", "'")


def _with_computed_arguments(formula: Exists) -> str | None:
    """The text ``p(n + 1)`` for ``exists v: v = n + 1 and p(v)``, if v has the name of the computed value or
    an atom of a made predicate has replaced the equation; else ``None``."""
    match formula.body:
        case And(operands=(*equations, Atom() | ValueIs() | ValueIn() as atom)):
            texts: dict[str, str] = {}
            for variable, equation in zip(formula.variables, equations, strict=False):
                text, name = show_formula(equation), shown_name(variable.name)
                is_table = isinstance(equation, Atom) and is_made(equation.predicate)
                value = text.removeprefix(f"{name} = ")
                if name.startswith("`") and (is_table or value.replace("`", "'") == variable.name):
                    texts[variable.name] = value
            if equations and len(texts) == len(equations) == len(formula.variables):
                return show_with(atom, texts)
    return None


def _joined(sign: str, operands: tuple[Formula, ...], of_none: str, tightness: int) -> tuple[str, int]:
    """Operands with ``sign`` between them; a single operand alone, and ``of_none`` if there is no operand."""
    if len(operands) > 1:
        # Brackets around an operand of the same connective too: a chain reads back as one flat connective.
        return sign.join([_inside(part, tightness + 1) for part in operands]), tightness
    return _shown(operands[0]) if operands else (of_none, _LEAF)


def _inside(part: Formula, tightness: int) -> str:
    """Text of an operand, in brackets if its precedence is lower than ``tightness``."""
    text, own = _shown(part)
    return text if own >= tightness else f"({text})"


def _quantified(word: str, variables: tuple[Variable, ...], body: Formula) -> str:
    return f"{word} {', '.join(map(show_term, variables))}: {show_formula(body)}"


def _constant_set(values: tuple[Constant, ...]) -> str:
    return f"{{{', '.join(map(show_term, values))}}}"


def _shown_label(label: str) -> str:
    name = shown_name(label)
    return shown_constant(label) if name.startswith("`") else name


def _type_line(declaration: TypeDeclaration) -> str:
    line = f"type {shown_name(declaration.name)}"
    if declaration.values is not None:
        return f"{line} = {_constant_set(declaration.values)}"
    if declaration.bounds is not None:
        return f"{line} = {declaration.bounds[0]}..{declaration.bounds[1]}"
    if declaration.calendar is not None:
        return f"{line} = {declaration.calendar}"
    return f"{line} = number" if declaration.numeric else line


def _predicate_line(declaration: PredicateDeclaration) -> str:
    types = f"({', '.join(map(shown_name, declaration.types))})" if declaration.types else ""
    values = declaration.values
    if values is None:
        value_set = ""
    else:
        value_set = f" in {shown_name(values) if isinstance(values, str) else _constant_set(values)}"
    role = "" if declaration.role is None else f": {declaration.role}"
    if declaration.query is not None:
        role = f": from {shown_constant(declaration.query)}"
    return f"predicate {shown_name(declaration.name)}{types}{value_set}{role}"


def _bound_line(bound: Bound) -> str:
    if bound.lower == bound.upper:
        interval = f"= {shown_number(bound.lower)}"
    elif bound.upper == 1:
        interval = f">= {shown_number(bound.lower)}"
    elif bound.lower == 0:
        interval = f"<= {shown_number(bound.upper)}"
    else:
        interval = f"in [{shown_number(bound.lower)}, {shown_number(bound.upper)}]"
    suffix = " independent" if bound.independent else ""
    return f"P({show_probability(bound.event, bound.given)}) {interval}{suffix}"


def _rule_line(rule: Rule) -> str:
    (head,), body = _with_values((rule.head,), rule.body)
    weight = "" if rule.weight is None else f" @ {show_weight(rule.weight)}"
    return f"{head} :- {', '.join(body)}{weight}"


def _choice_line(choice: Choice) -> str:
    chances = [one.probability for one in choice.alternatives]
    heads, body = _with_values([one.head for one in choice.alternatives], choice.body, chances)
    shown = [
        f"{show_term(chance) if isinstance(chance, Variable) else show_weight(chance)} :: {head}"
        for chance, head in zip(chances, heads, strict=True)
    ]
    return f"{'; '.join(shown)} :- {', '.join(body)}" if body else "; ".join(shown)


def _with_values(
    heads: Sequence[Formula], body: Sequence[Formula], beside: Sequence[object] = ()
) -> tuple[list[str], list[str]]:
    """Texts of heads and literals, with ``p(n + 1)`` for ``p(v)`` and ``v = n + 1`` at the end of the body.

    This undoes what the parser does with ``p(n + 1)``: v has the name of the computed value and stands in
    arguments alone, and the equations are in the order of these arguments. Any other equation is shown as
    one, and reads back as one. ``beside``: other parts of the statement that hold variables.
    """
    if any(map(_is_made_atom, body)):
        return _with_made(heads, body)
    texts: dict[str, str] = {}
    for literal in reversed(body):
        named = named_value(literal)
        if named is None or named[0] in texts:
            break
        texts = {named[0]: named[1], **texts}
    begin = len(body) - len(texts)
    values = (one.right for one in body[begin:] if isinstance(one, Computed))
    places, others = list[Variable](), [*values, *beside]
    for part in (*body[:begin], *heads):
        atom = part.operand if isinstance(part, Not) else part
        inner = atom.atom if isinstance(atom, ValueIs | ValueIn) else atom
        places += [x for x in getattr(inner, "arguments", ()) if isinstance(x, Variable)]
        others += [atom.value] if isinstance(atom, ValueIs) else [] if isinstance(inner, Atom) else [part]
    computed = [name for name in dict.fromkeys(x.name for x in places) if name in texts]
    if computed != list(texts) or not texts.keys().isdisjoint(variables_of(others)):
        return [*map(show_formula, heads)], [*map(show_formula, body)]
    return [show_with(x, texts) for x in heads], [show_with(x, texts) for x in body[:begin]]


def _is_made_atom(formula: Formula) -> bool:
    return isinstance(formula, Atom) and is_made(formula.predicate)


def _with_made(heads: Sequence[Formula], body: Sequence[Formula]) -> tuple[list[str], list[str]]:
    """Texts of heads and literals where atoms of made predicates have replaced the tests, each several.

    A value that was computed for an argument stands there again; the other tests come last.
    """
    plain = [literal for literal in body if not _is_made_atom(literal)]
    tests = [
        part for literal in body if _is_made_atom(literal) for part in parts_of_list(show_formula(literal))
    ]
    values = dict(filter(None, map(_value_named, tests)))
    others = [part for part in tests if not _value_named(part)]
    return [show_with(x, values) for x in heads], [*(show_with(x, values) for x in plain), *others]


def named_value(equation: Formula) -> tuple[str, str] | None:
    """A variable named after its computed value by :func:`name_of_value`, and the text of that value.

    ``None`` for any other formula.
    """
    match equation:
        case Computed(operator="=", left=Variable()):
            return _value_named(show_formula(equation))
    return None


def only_names_values(predicate: str) -> bool:
    """Whether a made predicate says no more than that values can be computed that none of its arguments is,
    such as ``i - 1`` for ``not p(i - 1)`` where numbers outside the type of ``p`` are values too."""
    if not is_made(predicate):
        return False
    named = map(_value_named, parts_of_list(text_of_made(predicate)))
    return all(one is not None and f"`{one[0]}` = " in predicate for one in named)


def _value_named(equation: str) -> tuple[str, str] | None:
    """The same from the text of an equation."""
    name, _, value = equation.removeprefix("`").partition("` = ")
    return (name, value) if equation.startswith("`") and value.replace("`", "'") == name else None


def show_with(formula: Formula, texts: Mapping[str, str]) -> str:
    """Text of a formula with the given texts in place of some of its variables.

    The variables are first renamed to marks with a line break, which no name and no quoted text can hold, so
    that replacing a mark in the text changes nothing else.
    """
    marks: dict[str, Term] = {name: Variable(f"\n0 {name}") for name in texts}
    shown = show_formula(with_terms(formula, marks))
    for name, text in texts.items():
        shown = shown.replace(shown_name(f"\n0 {name}"), text)
    return shown


def _fact_lines(rows: FactRows) -> Iterator[str]:
    before = "not " if rows.kind == "false" else ""
    sign = {"soft": " ~ ", "weighted": " @ "}.get(rows.kind)
    for index in range(rows.row_count):
        values = rows.row(index)
        value = f" = {shown_constant(values[-1])}" if rows.valued else ""
        arguments = values[:-1] if rows.valued else values
        number = f"{sign}{shown_number(rows.numbers[index])}" if sign else ""
        shown = show_atom(rows.predicate, arguments)
        atom = _no_function(shown, rows.predicate) if rows.valued else shown
        yield f"{before}{atom}{value}{number}"
