"""Ground the instances that goals depend on: statements run backwards from the goals, each call tabled once.

A call is a predicate and a constant or ``ANY`` for each argument. Its answers are all atoms that hold in some
world; every answer is handed to each body that waits for it, so that recursion of any form ends. Literals
under ``not`` never exclude an instance here, unless they certainly hold: they may be false in some world, and
their atoms are looked up when all answers are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import NamedTuple, Protocol

from herbrand.budget import Budget
from herbrand.engines.circuit.statements import (
    Any,
    Binding,
    Check,
    Counted,
    Find,
    Lowered,
    Step,
    Uncertain,
    lowered,
)
from herbrand.facts.facts import Facts
from herbrand.language.names import is_made
from herbrand.language.signature import Signature
from herbrand.language.syntax import Value
from herbrand.program.evidence import LATENT, Evidence
from herbrand.row_keys import rows_at

Row = tuple[int, ...]
Atom = tuple[str, Row]
Pattern = tuple[int, ...]
"""A constant or ``ANY`` for each argument."""
BYTES_AN_INSTANCE = 600

ANY = -1


class Instance(NamedTuple):
    """One statement for one choice of constants. ``heads``: the atom of each alternative; ``held`` and
    ``absent``: uncertain atoms of its body; ``counted``: the atoms of each part of its counts and sums."""

    lowered: Lowered
    binding: Binding
    heads: tuple[Atom, ...]
    held: tuple[Atom, ...] = ()
    absent: tuple[Atom, ...] = ()
    counted: tuple[tuple[Atom, ...], ...] = ()

    @classmethod
    def of(cls, lowered: Lowered, binding: Binding, held: tuple[Atom, ...] = ()) -> Instance:
        """The instance for a binding, before what its ``not`` and its counts name is known."""
        heads = tuple([(head.predicate, _at(head.slots, binding)) for head in lowered.heads])
        return cls(lowered, binding, heads, held)

    @property
    def parts(self) -> Iterator[Atom]:
        """All atoms of the body."""
        return chain(self.held, self.absent, *self.counted)

    def constants(self, facts: Facts) -> dict[str, Value]:
        """The constant of each of the statement's variables."""
        return {name: facts.domains[kind].value(self.binding[s]) for name, s, kind in self.lowered.columns}


Places = tuple[int, ...]


class _Rows:
    """Rows that are looked up by the constants of a pattern."""

    __slots__ = "_indices", "every"

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.every = dict.fromkeys(rows)
        self._indices: dict[Places, dict[Row, list[Row]]] = {}

    def add(self, row: Row) -> None:
        self.every[row] = None
        for places, rows in self._indices.items():
            rows.setdefault(_at(places, row), []).append(row)

    def fitting(self, pattern: Pattern) -> Iterable[Row]:
        """Rows so far that match the pattern."""
        places = _constants_in(pattern)
        if len(places) == len(pattern):
            return (pattern,) if pattern in self.every else ()
        if not places:
            return self.every
        if places not in self._indices:
            self._indices[places] = rows_at(self.every, places)
        return self._indices[places].get(_at(places, pattern), ())


class _Table:
    """The answers of a call, and the bodies that wait for them. The table of a ``whole`` predicate serves all
    calls of it, which look up rows by their constants."""

    __slots__ = "_for_all", "_for_some", "rows", "whole"

    def __init__(self, whole: bool) -> None:
        self.whole, self.rows = whole, _Rows()
        self._for_all: list[_Waiting] = []
        self._for_some: dict[Places, dict[Row, list[_Waiting]]] = {}

    def fitting(self, pattern: Pattern) -> Iterable[Row]:
        """Rows so far that match the pattern."""
        return self.rows.fitting(pattern) if self.whole else self.rows.every

    def wait(self, waiting: _Waiting, pattern: Pattern) -> None:
        """Let a body continue with each row that matches, including later ones."""
        places = _constants_in(pattern) if self.whole else ()
        if not places:
            self._for_all.append(waiting)
        else:
            self._for_some.setdefault(places, {}).setdefault(_at(places, pattern), []).append(waiting)

    def waiting_for(self, row: Row) -> Iterable[_Waiting]:
        if not self._for_some:
            return self._for_all
        some = (bodies.get(_at(places, row), ()) for places, bodies in self._for_some.items())
        return chain(self._for_all, *some)


def _constants_in(pattern: Pattern) -> Places:
    """Places of the constants in a pattern."""
    return tuple([place for place, value in enumerate(pattern) if value != ANY])


def _at(places: Places, row: Row) -> Row:
    return tuple([row[place] for place in places])


class _Waiting(NamedTuple):
    """A body that waits for rows of one of its steps."""

    lowered: Lowered
    steps: tuple[Step, ...]
    step: int
    binding: Binding
    held: tuple[Atom, ...]
    call: tuple[str, Pattern]
    """The call that the statement's head answers. Its table would refer to itself, which keeps all memory of
    a run until garbage is collected."""
    head: int


class Known(Protocol):
    """Source of the rows of predicates that no statement derives."""

    def matches(self, predicate: str, pattern: Pattern) -> Iterable[tuple[Row, bool]]:
        """Each row that may hold, and whether it certainly does."""
        ...


class Stated:
    """Rows of predicates that no uncertain statement derives, looked up by any of their arguments."""

    def __init__(self, evidence: Evidence, signature: Signature, facts: Facts) -> None:
        self._evidence, self._signature, self._facts = evidence, signature, facts
        self._listed: dict[str, _Rows] = {}
        self._settled: dict[str, tuple[set[Row], set[Row]]] = {}

    def is_open(self, predicate: str) -> bool:
        return self._facts.tables[predicate].world == "open"

    def matches(self, predicate: str, pattern: Pattern) -> Iterable[tuple[Row, bool]]:
        """Each row that may hold, and whether it certainly does."""
        if not self.is_open(predicate):
            if predicate not in self._listed:
                rows = map(tuple, self._facts.tables[predicate].true.tolist())
                self._listed[predicate] = _Rows(rows)
            for row in self._listed[predicate].fitting(pattern):
                yield row, True
            return
        types = self._signature.predicates[predicate].column_types
        ranges = [
            [value] if value != ANY else range(len(self._facts.domains[name]))
            for value, name in zip(pattern, types, strict=True)
        ]
        for row in product(*ranges):
            held = self.status(predicate, row)
            if held is not False:
                yield row, held is True

    def status(self, predicate: str, row: Row) -> bool | None:
        """Whether a row holds by the facts; ``None`` where it is unknown."""
        if predicate not in self._settled:
            table = self._facts.tables[predicate]
            self._settled[predicate] = (
                {*map(tuple, table.true.tolist())},
                {*map(tuple, table.false.tolist())},
            )
        true, false = self._settled[predicate]
        if row in true:
            return True
        if row in false or not self.is_open(predicate):
            return False
        if self._evidence.is_valued(predicate):
            code, _ = self._evidence.coded(predicate, row)
            if self._evidence.known(predicate).lookup(code)[0] != LATENT:
                return False
        return None


class HeadIndex:
    """The statements that derive one predicate, indexed by the constants in their heads, as there may be a
    choice for each of many facts. ``given``: no statement has a body, so that all rows are known without any
    call."""

    def __init__(self) -> None:
        self.given = True
        self._groups: dict[Places, list[tuple[Row, Lowered, int]]] = {}
        self._indices: dict[tuple[Places, Places], dict[Row, list[tuple[Row, Lowered, int]]]] = {}

    def add(self, statement: Lowered, number: int) -> None:
        """Add a statement with its head of this number."""
        row = _at(statement.heads[number].slots, statement.start)
        self.given = self.given and statement.has_no_body
        self._groups.setdefault(_constants_in(row), []).append((row, statement, number))

    def matches(self, pattern: Pattern) -> list[tuple[Row, Lowered, int]]:
        """Statements whose head agrees with the pattern wherever both have a constant; with each the row and
        the number of the head."""
        found: list[tuple[Row, Lowered, int]] = []
        for constant, members in self._groups.items():
            both = tuple([place for place in constant if pattern[place] != ANY])
            if (constant, both) not in self._indices:
                index = self._indices[constant, both] = {}
                for one in members:
                    index.setdefault(_at(both, one[0]), []).append(one)
            found += self._indices[constant, both].get(_at(both, pattern), ())
        return found


class Grounding:
    """All instances that goals depend on. ``check`` is called with their number, and may refuse it."""

    def __init__(
        self,
        statements: Iterable[Lowered],
        stated: Known,
        budget: Budget,
        check: Callable[[int], object] = bool,
    ) -> None:
        self._stated, self._budget, self._check = stated, budget, check
        by_head: dict[str, HeadIndex] = {}
        listed = tuple(statements)
        for statement in listed:
            for number, head in enumerate(statement.heads):
                by_head.setdefault(head.predicate, HeadIndex()).add(statement, number)
        self._given = {name: heads for name, heads in by_head.items() if heads.given}
        self._by_head = {name: heads for name, heads in by_head.items() if not heads.given}
        self._finding = {find.predicate: (one, find) for one in listed for find in one.finds}
        self._steps: dict[tuple[int, int | None, int, Places], tuple[Step, ...]] = {}
        self._tables: dict[tuple[str, Pattern], _Table] = {}
        self._whole: set[str] = set()
        self._answers: set[Atom] = set()
        self._agenda: list[tuple[_Waiting, Row | None]] = []
        self._found: dict[tuple[int, int | None, Binding], Instance] = {}

    def ask(self, predicate: str, pattern: Pattern) -> list[Row]:
        """The atoms that match a pattern and hold in some world; adds the instances that derive them."""
        if predicate in self._given:
            return [row for row, _ in self._known(predicate, pattern)]
        if all(value == ANY for value in pattern):
            self._whole.add(predicate)
        table = self._called(predicate, pattern)
        self._run()
        return list(table.fitting(pattern))

    @property
    def size(self) -> tuple[int, int]:
        """Number of instances, and of atoms that these derive; both grow with further calls."""
        return len(self._found), len(self._answers)

    def instances(self) -> list[Instance]:
        """All instances so far, after asking for the atoms under their ``not`` and in their counts."""
        collected: list[Instance] = []
        done = 0
        while done < len(self._found):
            for instance in list(self._found.values())[done:]:
                done += 1
                whole = self._completed(instance)
                if whole is not None:
                    collected.append(whole)
        return collected

    def _completed(self, instance: Instance) -> Instance | None:
        """The instance with the atoms under its ``not`` and in its counts; ``None`` where it never holds."""
        lowered, binding = instance.lowered, instance.binding
        if not (lowered.absent or lowered.totals):
            return instance
        absent = self._absent(lowered, binding)
        if absent is None:
            return None
        parts = [part for total in lowered.totals for part in total.parts]
        counted = tuple([self._counted(part, binding) for part in parts])
        return instance._replace(absent=absent, counted=counted)

    def rules(self) -> dict[Atom, list[Instance]]:
        """Instances that may make each atom true; heads that no call has asked for are left out."""
        by_head: dict[Atom, list[Instance]] = {}
        for instance in self.instances():
            for head in dict.fromkeys(instance.heads):
                if head in self._answers:
                    by_head.setdefault(head, []).append(instance)
        return by_head

    def leads_nowhere(self, atom: Atom) -> bool:
        """Whether an atom is a head whose computed values are no constants, so that it is no outcome."""
        predicate, row = atom
        if not is_made(predicate):
            return False
        if predicate not in self._finding:
            return True
        statement, find = self._finding[predicate]
        binding = _bound(find, statement.start, row)
        tables = [one for one in statement.finds if one is not find]
        return binding is None or not all(
            any(True for _ in self._stated.matches(one.predicate, _at(one.slots, binding))) for one in tables
        )

    def _absent(self, lowered: Lowered, binding: Binding) -> tuple[Atom, ...] | None:
        """The possible atoms that must be false; ``None`` where one of them certainly holds."""
        absent: list[Atom] = []
        for part in lowered.absent:
            pattern = _at(part.slots, binding)
            if part.predicate in self._by_head:
                rows = self.ask(part.predicate, pattern)
                absent += [(part.predicate, row) for row in rows if _same(part, row)]
                continue
            for row, certain in self._known(part.predicate, pattern):
                if not _same(part, row):
                    continue
                if certain:
                    return None
                absent.append((part.predicate, row))
        return tuple(absent)

    def _counted(self, part: Counted, binding: Binding) -> tuple[Atom, ...]:
        """The atoms that may hold among those counted; a special rule derives them."""
        if part.predicate not in self._by_head and part.predicate not in self._given:
            return ()
        pattern = tuple([ANY if slot < 0 else binding[slot] for slot in part.slots])
        return tuple((part.predicate, row) for row in self.ask(part.predicate, pattern))

    def _known(self, predicate: str, pattern: Pattern) -> Iterable[tuple[Row, bool]]:
        """Each row that may hold of a predicate without bodies to call, and whether it certainly does; adds
        the instances that derive them."""
        if predicate not in self._given:
            return self._stated.matches(predicate, pattern)
        rows: dict[Row, bool] = {}
        for row, statement, _ in self._given[predicate].matches(pattern):
            rows[row] = False
            self._answers.add((predicate, row))
            key = statement.number, statement.level, statement.start
            if key not in self._found:
                self._found[key] = Instance.of(statement, statement.start)
        return rows.items()

    def _called(self, predicate: str, pattern: Pattern) -> _Table:
        if predicate in self._whole:
            pattern = (ANY,) * len(pattern)
        key = predicate, pattern
        if key not in self._tables:
            known = _constants_in(pattern)
            self._tables[key] = _Table(not known)
            if predicate in self._by_head:
                for _, statement, head in self._by_head[predicate].matches(pattern):
                    self._start(statement, head, key, known)
        return self._tables[key]

    def _start(self, statement: Lowered, head: int, call: tuple[str, Pattern], known: Places) -> None:
        """Begin a statement for a call with constants at the places ``known``."""
        binding, slots, pattern = list(statement.start), statement.heads[head].slots, call[1]
        for place in known:
            if binding[slots[place]] not in (ANY, pattern[place]):
                return
            binding[slots[place]] = pattern[place]
        key = statement.number, statement.level, head, known
        if key not in self._steps:
            self._steps[key] = statement.steps([slots[place] for place in known])
        begun = _Waiting(statement, self._steps[key], 0, tuple(binding), (), call, head)
        self._agenda.append((begun, None))

    def _run(self) -> None:
        count = 0
        while self._agenda:
            count += 1
            if count % 1024 == 0:
                self._budget.check()
                self._budget.claim(BYTES_AN_INSTANCE * len(self._found), "the ground program")
            self._check(len(self._found))
            waiting, row = self._agenda.pop()
            if row is None:
                self._go_on(waiting, waiting.step, waiting.binding, waiting.held)
                continue
            find = waiting.steps[waiting.step]
            assert isinstance(find, Find)
            binding = _bound(find, waiting.binding, row)
            if binding is not None:
                self._go_on(waiting, waiting.step + 1, binding, (*waiting.held, (find.predicate, row)))

    def _go_on(self, body: _Waiting, number: int, binding: Binding, held: tuple[Atom, ...]) -> None:
        """Take the steps of a body that need no table, from this number on; wait at the first that does."""
        while number < len(body.steps):
            step = body.steps[number]
            if isinstance(step, Check):
                if not step.holds(binding):
                    return
                number += 1
                continue
            if isinstance(step, Any):
                for value in range(step.count):
                    more = (*binding[: step.slot], value, *binding[step.slot + 1 :])
                    self._go_on(body, number + 1, more, held)
                return
            pattern = tuple([binding[slot] for slot in step.slots])
            if step.predicate in self._by_head:
                table = self._called(step.predicate, pattern)
                waiting = _Waiting(body.lowered, body.steps, number, binding, held, body.call, body.head)
                self._agenda += [(waiting, row) for row in table.fitting(pattern)]
                table.wait(waiting, pattern)
                return
            for row, certain in self._known(step.predicate, pattern):
                more = _bound(step, binding, row)
                if more is not None:
                    parts = held if certain else (*held, (step.predicate, row))
                    self._go_on(body, number + 1, more, parts)
            return
        self._answered(body, binding, held)

    def _answered(self, body: _Waiting, binding: Binding, held: tuple[Atom, ...]) -> None:
        """Add the instance of a body all of whose steps hold, and hand its head to the bodies that wait."""
        key = body.lowered.number, body.lowered.level, binding
        if key not in self._found:
            self._found[key] = Instance.of(body.lowered, binding, held)
        atom = self._found[key].heads[body.head]
        answers, row = self._tables[body.call], atom[1]
        if row not in answers.rows.every:
            answers.rows.add(row)
            self._answers.add(atom)
            self._agenda += [(waiting, row) for waiting in answers.waiting_for(row)]


def atoms_below(rules: Mapping[Atom, Iterable[Instance]]) -> dict[Atom, list[Atom]]:
    """The atoms with rules on which each atom depends directly."""
    return {
        atom: [part for instance in own for part in instance.parts if part in rules]
        for atom, own in rules.items()
    }


def _bound(find: Find, binding: Binding, row: Row) -> Binding | None:
    """The binding extended by a row's constants; ``None`` where they disagree."""
    extended = list(binding)
    for slot, value in zip(find.slots, row, strict=True):
        if extended[slot] == ANY:
            extended[slot] = value
        elif extended[slot] != value:
            return None
    return tuple(extended)


def _same(find: Find, row: Row) -> bool:
    """Whether a row has equal constants wherever a variable is repeated."""
    known: dict[int, int] = {}
    return all(known.setdefault(slot, value) == value for slot, value in zip(find.slots, row, strict=True))


def lowered_all(statements: Sequence[Uncertain], signature: Signature, facts: Facts) -> list[Lowered]:
    """Lower the statements over slots, without those whose body cannot hold."""
    each = (lowered(number, statement, signature, facts) for number, statement in enumerate(statements))
    return [statement for statement in each if statement is not None]
