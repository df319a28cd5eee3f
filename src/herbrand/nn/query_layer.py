"""A goal as a layer of a network: constants in, a weight for every possible answer out.

Rules and facts are those of a model. A *neural* predicate takes its weights from a tensor that is given with
each call, such as another network's output for images; gradients flow back to it, and to the weights of
learned facts and rules.

>>> import herbrand as hb
>>> theory = hb.parse('''
... type image = {"first", "second"}
... type digit = 0..2
... predicate shows(image, digit): learned
... predicate plus(digit, digit, digit): observed
... predicate sum(image, image, digit)
... sum(a, b, s) :- shows(a, x), shows(b, y), plus(x, y, s)
... plus(0, 0, 0)
... plus(0, 1, 1)
... plus(1, 0, 1)
... plus(1, 1, 2)
... ''')
>>> layer = QueryLayer(hb.Model(theory), "sum(a, b, s)", given=["a", "b"], neural=["shows"])
>>> layer.shapes
{'shows': (2, 3)}
>>> scores = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]], requires_grad=True)
>>> layer({"a": ["first"], "b": ["second"]}, {"shows": scores})
tensor([[0.1800, 0.7400, 0.0800]], grad_fn=<ToCopyBackward0>)
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

from herbrand.budget import Budget, allowed_bytes, bytes_of, readable
from herbrand.contraction.algebras.max_product import ALGEBRA as MAX_PRODUCT
from herbrand.engines.proof.arithmetic import Numbers
from herbrand.engines.proof.chances import (
    chances_of,
    check_probabilities,
    no_probability,
    refuse_uncertain_absence,
)
from herbrand.engines.proof.differentiable import scores as scores_of
from herbrand.engines.proof.features import features_of, learned_predicates, refuse_absence, with_features
from herbrand.engines.proof.goals import Goal, NarrowError
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.engines.proof.query import Proof
from herbrand.engines.proof.request import DEPTH, PROBABILITY
from herbrand.engines.proof.scored_answers import Answering
from herbrand.engines.proof.scored_proofs import BestProof, LikeliestProofs, ScoredProofs
from herbrand.engines.proof.scored_worlds import ScoredWorlds
from herbrand.engines.proof.sources import Row, Sources
from herbrand.engines.proof.table import Table
from herbrand.errors import BudgetError, LanguageError, UnsupportedError, nearest
from herbrand.facts.domain import indices_in
from herbrand.facts.facts import Facts, FactTable
from herbrand.language.show import show_atom, statement_text
from herbrand.language.signature import Predicate, Signature
from herbrand.language.syntax import Choice, Rule, Statement, Value
from herbrand.language.theory import Theory
from herbrand.nn.circuit_answers import answered
from herbrand.nn.devices import on_processor
from herbrand.nn.given_tables import ROUNDED, given_tables, no_probabilities
from herbrand.nn.layer import Layer
from herbrand.nn.rule_weights import RuleWeights, as_rule, rule_of_totals, rules_of_alternatives
from herbrand.nn.transformed import called
from herbrand.options.kinds import FIXPOINT, Text, is_whole, texts
from herbrand.program.choice_instances import with_choice_instances
from herbrand.program.clauses import Clause
from herbrand.program.formula_rules import with_formulas_as_rules
from herbrand.program.program import Program
from herbrand.program.usable import refuse_no_model, refuse_unusable
from herbrand.row_keys import unique_rows

if TYPE_CHECKING:
    from herbrand.model import Model

FLOAT = 8
WHOLE = (torch.int8, torch.int16, torch.int32, torch.int64)
"""Dtypes of indices of constants."""
MOST_SHOWN = 20
"""Largest number of weights that are shown with their rules."""
NO_DISTRIBUTION = 0.01
"""Distance from 1 at which a sum of value scores is refused. Smaller distances are allowed for clamped scores
and finite differences."""
COUNT, MAX, TOP_K = "count", "max", "top-k"
MADE = ("_sources", "_road", "_valued")
"""Cached attributes, which are not saved."""
ALGEBRAS = (COUNT, MAX, PROBABILITY, TOP_K)
_one_at_a_time = threading.RLock()
"""Lock of the caches of questions, which are shared with copies and layers of other goals."""

Rows = Mapping[str, Sequence[Value] | Tensor] | Sequence[Value] | Tensor
"""Columns of constants, or of their indices, by variable; the column alone for a single variable."""


K = 3
"""Default number of most probable proofs of ``algebra="top-k"``."""


class _Call(NamedTuple):
    """The questions of a call, the weights of facts ([fact] or [scene, fact]) and of rules, and the ``sizes``
    of the asked variables' domains."""

    inputs: Sequence[Row]
    facts: Mapping[str, Tensor]
    rules: Tensor
    sizes: Sequence[int]
    dtype: torch.dtype

    @property
    def tables(self) -> list[Tensor]:
        return [*self.facts.values(), self.rules]

    @property
    def scenes(self) -> int:
        return max((table.shape[0] for table in self.facts.values() if table.dim() == 2), default=1)

    def each(self) -> Iterator[_Call]:
        """A call for each question in its own scene; a single question is asked in all scenes."""
        inputs = self.inputs if len(self.inputs) > 1 else [*self.inputs] * self.scenes
        for number, one in zip(range(self.scenes), inputs, strict=True):
            yield self.of_scene(number, [one])

    def of_scene(self, number: int, inputs: Sequence[Row]) -> _Call:
        """The call of some questions in one scene; facts without a scene axis are the same in all."""
        facts = {
            name: table if table.dim() == 1 else table[number if len(table) > 1 else 0]
            for name, table in self.facts.items()
        }
        return self._replace(inputs=inputs, facts=facts)


class _Values(NamedTuple):
    """Atoms of a many-valued predicate [atom, argument], and the atom of each score [fact]."""

    predicate: Predicate
    facts: Facts
    atoms: np.ndarray
    places: Tensor

    @classmethod
    def of(cls, program: HornProgram, name: str) -> _Values:
        predicate, columns = program.signature.predicates[name], program.relation(name).columns
        rows = np.stack(columns, 1).astype(np.int64)[:, :-1]
        sizes = [program.sizes[kind] for kind in predicate.types]
        atoms, places = unique_rows(rows, sizes)
        return cls(predicate, program.facts, atoms, torch.from_numpy(places))

    def refuse_wrong_sums(self, scores: Tensor) -> None:
        """Raise an error if the scores of an atom's values, [fact] or [scene, fact], do not add up to 1."""
        known = scores.detach().double()
        totals = known.new_zeros(*known.shape[:-1], len(self.atoms))
        totals.index_add_(-1, self.places.to(known.device), known)
        rounded = torch.finfo(scores.dtype).eps if scores.is_floating_point() else 0.0
        values = known.shape[-1] / max(len(self.atoms), 1)
        wrong = ((totals - 1).abs() > NO_DISTRIBUTION + rounded * values).nonzero()
        if len(wrong):
            at = tuple(wrong[0].tolist())
            atom = self.facts.constants(self.predicate.types, self.atoms[at[-1]].tolist())
            raise UnsupportedError(
                f"the scores of the values of {show_atom(self.predicate.name, atom)} add up to "
                f"{float(totals[at]):.4g}",
                hint="exactly one value holds, so they add up to 1, as softmax makes them",
            )


class QueryLayer(Layer):
    """Weights of a goal's answers, differentiable in the weights of facts and rules and in given scores.

    ``given``: variables of the goal whose constants are given with each call; by default all but the last.
    ``neural``: predicates whose facts' weights are given with each call: if facts of such a predicate are
    stated, a score for each of them, in the order of :meth:`rows`, else one for every tuple of constants;
    ``shapes`` has their shapes. ``weights``: the parameters, logarithms of the weights of the facts of
    ``learned`` predicates and of rules ``@ ?``; log-odds for probabilities. ``depth``: as in a query.

    ``algebra="count"``: the sum over proofs of the product of their weights. ``"probability"``: weights are
    probabilities of independent facts and instances of rules, those of a many-valued atom's values form a
    distribution, and an answer's weight is the probability of the worlds in which it follows, conditioned on
    stated facts of derived predicates; ``not`` and choices (``::``) of one or several heads are supported.
    ``"max"``: the product of the best proof. ``"top-k"``: the probability that one of the ``k`` most probable
    proofs holds, a lower bound on that of all; the proofs are searched again for each example. Choices then
    need stated numbers, and several heads must be atoms.
    """

    def __init__(
        self,
        model: Model,
        goal: str,
        *,
        given: Sequence[str] | None = None,
        neural: Sequence[str] = (),
        algebra: str = COUNT,
        k: int = K,
        depth: int | str = DEPTH,
        memory: int | str | None = None,
    ) -> None:
        super().__init__()
        refuse_no_model("QueryLayer", model)
        Text(path=False).check("--query", goal)
        if not isinstance(algebra, str) or algebra not in ALGEBRAS:
            raise UnsupportedError(
                f"there is no algebra '{algebra}' of layers", hint=f"one of {', '.join(ALGEBRAS)}"
            )
        if not is_whole(k) or k < 1:
            raise UnsupportedError(f"k is {k!r}", hint="expected a whole number of proofs from 1 on")
        self.goal, self.algebra, self.k, self.theory = goal, algebra, int(k), model.theory
        self.depth = _depth(depth, algebra)
        self.memory = None if memory is None else bytes_of(memory)
        neural = texts(neural)
        _refuse_unknown(neural, model.signature)
        program = model.stated_with_open(neural)
        if algebra == PROBABILITY:
            program = replace(program, statements=(*program.statements, *_counting(program)))
            program = with_formulas_as_rules(program, neural)
        if algebra == TOP_K:
            program = with_choice_instances(program)
        signature = program.signature
        rules, choices = self._rules(program.statements)
        stated = facts = program.facts
        self.shapes = {name: _shape(name, signature, facts) for name in neural}
        facts = _with_pairs(facts, self.shapes, self.memory)
        learned = [name for name in learned_predicates(rules, signature, facts) if name not in neural]
        facts = with_features(rules, signature, facts, learned)
        horn = HornProgram.of(rules, signature, facts, choices=choices)
        self.weights = RuleWeights(horn, learned, self._are_probabilities)
        self.proof = Proof(horn)
        self._scored_features = {*neural, *features_of(learned, stated)}
        self._ask(given)

    def _rules(
        self, statements: Iterable[Statement]
    ) -> tuple[tuple[Rule, ...], list[tuple[Choice | Rule, tuple[Rule, ...]]]]:
        """The rules of the statements, and each choice (or rule counted as a whole) with the rules that
        replace it."""
        used, whole = list[Statement](), list[tuple[Choice | Rule, tuple[Rule, ...]]]()
        for statement in statements:
            rules = self._rules_of(statement) if isinstance(statement, Choice | Rule) else ()
            if isinstance(statement, Choice | Rule) and rules and rules != (statement,):
                whole.append((statement, rules))
            used += rules or (statement,)
        drawn = "" if self.algebra == PROBABILITY else f"algebra='{PROBABILITY}' takes choices"
        refuse_unusable(used, "a query layer", "rules", for_choices=drawn)
        return tuple(one for one in used if isinstance(one, Rule)), whole

    def _rules_of(self, statement: Choice | Rule) -> tuple[Rule, ...]:
        """Rules that replace a choice, one for each head; none if the algebra does not draw such a choice.
        For top-k a choice of one head and one number is a rule of that weight; those of several heads have
        been replaced before."""
        if isinstance(statement, Rule):
            return (rule_of_totals(statement),)
        if not self._are_probabilities:
            return ()
        rules = rules_of_alternatives(statement) if self.algebra == PROBABILITY else ()
        one = as_rule(statement)
        return rules or ((one,) if isinstance(one, Rule) else ())

    def _ask(self, given: Sequence[str] | None) -> None:
        """Read the goal; refuse statements and predicates that the algebra does not support."""
        self._read = _read(self.proof, self.goal, given)
        program, clause = self.proof.program, self._read.shape.clause
        if self._are_probabilities:
            _refuse_valued(self.weights.predicates, program.signature)
        if self.algebra == TOP_K:
            _refuse_uncertain(program, clause, self._sources.scored)
        if self.algebra == MAX:
            _refuse_negative(program, clause, self._sources.scored)
        if self.algebra != PROBABILITY:
            refuse_absence(program, [clause], self._scored_features)
        if self.algebra != COUNT:
            _ = self._road
        self.given = self._read.shape.inputs[len(self._read.inputs) :]
        self.asked = self._read.shape.found

    def with_goal(self, goal: str, *, given: Sequence[str] | None = None) -> QueryLayer:
        """A layer of another goal over the same facts, rules and parameters."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__getstate__())
        other.goal = goal
        other._ask(given)
        return other

    @property
    def _are_probabilities(self) -> bool:
        return self.algebra in (PROBABILITY, TOP_K)

    @cached_property
    def _valued(self) -> dict[str, _Values]:
        """The many-valued neural predicates."""
        predicates = self.proof.program.signature.predicates
        valued = [name for name in self.shapes if predicates[name].value_type is not None]
        return {name: _Values.of(self.proof.program, name) for name in valued}

    @cached_property
    def _sources(self) -> Sources:
        return Sources(self.proof.program, (*self.shapes, *self.weights.predicates))

    @cached_property
    def _road(self) -> Answering:
        """The goal's evaluation over scores; made again after the layer was loaded."""
        shape, budget = self._read.shape, Budget(self.memory)
        if self.algebra == PROBABILITY:
            depth = None if self.depth == FIXPOINT else int(self.depth)
            return ScoredWorlds(self._sources, shape.clause, depth, budget)
        proofs = ScoredProofs(self._sources, self.proof, shape, int(self.depth), budget)
        return BestProof(proofs) if self.algebra == MAX else LikeliestProofs(proofs, self.k, budget)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in MADE}

    def __deepcopy__(self, memo: dict[int, Any]) -> QueryLayer:
        """Copy the parameters; rules, facts and plans are shared."""
        shared = (self.proof, self._read, self.weights.program, *map(self.__dict__.get, MADE))
        memo.update({id(one): one for one in shared})
        copied = type(self).__new__(type(self))
        copied.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return copied

    def extra_repr(self) -> str:
        """Text of the weights with their rules, and of the predicates whose facts have weights."""
        rules = [
            f"weights.of_rules[{place}]: {weight:.4g} for {statement_text(rule)}"
            for place, (rule, weight) in enumerate(self.weights.rule_weights())
        ]
        facts = [
            f"weights.of_facts.{place}: {len(weights):,} weights of facts of {name}"
            for place, (name, weights) in enumerate(self.weights.facts().items())
        ]
        lines = [*rules, *facts]
        if len(lines) > MOST_SHOWN:
            lines[MOST_SHOWN:] = [f"... and {len(lines) - MOST_SHOWN} more"]
        how = "" if self.algebra == COUNT else f", algebra={self.algebra}"
        return "\n".join([f"goal={self.goal}{how}, depth={self.depth}", *lines])

    def to_theory(self) -> Theory:
        """The theory with the current weights of rules and of the facts of learned predicates.

        Facts of other predicates that were given as tables are not part of it.
        """
        return self.weights.written(self.theory)

    def constants(self, variable: str) -> tuple[Value, ...]:
        """Constants of a ``variable`` of the goal, in the order of the layer's output."""
        types = self._read.shape.clause.types
        if variable not in types:
            raise LanguageError(
                f"the goal has no variable '{variable}'", hint=nearest(variable, self._read.shape.variables)
            )
        return tuple(self.proof.program.facts.domains[types[variable]])

    def rows(self, predicate: str) -> tuple[tuple[Value, ...], ...]:
        """Constants of a neural or learned ``predicate``'s facts, a tuple for each argument, in the order of
        its scores or weights: that of the domains, not that in which facts were stated."""
        if predicate not in (*self.shapes, *self.weights.predicates):
            known = (*self.shapes, *self.weights.predicates)
            raise LanguageError(
                f"'{predicate}' has no scores and no learned weights",
                hint=nearest(predicate, known) or f"neural or learned: {', '.join(known) or 'none'}",
            )
        return self.weights.rows(predicate)

    def forward(
        self,
        rows: Rows | None = None,
        scores: Mapping[str, Tensor] | None = None,
    ) -> Tensor:
        """Weights of all answers [question, constants of each asked variable...]; 0 for one without a proof.

        ``rows`` gives a column of constants, or of their indices as a tensor, for each variable in ``given``;
        the column alone if only one is given. The dtype is that of the ``scores``, else torch's default.
        Proofs depend on the call and are searched outside of torch's graph: ``torch.compile`` breaks its
        graph here, ``torch.func.vmap`` over scores calls once for each example, ``torch.export`` is refused.
        """
        if torch.compiler.is_exporting():
            raise UnsupportedError(
                "a query layer cannot be exported: its proofs are found outside of torch's graph",
                hint="keep the layer itself, by pickle, or its parameters, by state_dict",
            )
        if torch.compiler.is_compiling():
            outside = cast("Callable[..., Tensor]", torch.compiler.disable(self._answered))
            return outside(rows, scores)
        return self._answered(rows, scores)

    def _answered(self, rows: Rows | None, scores: Mapping[str, Tensor] | None) -> Tensor:
        inputs = self._inputs({} if rows is None else rows)
        types = self._read.shape.clause.types
        sizes = [self.proof.program.sizes[types[name]] for name in self.asked]
        given = self._scored(given_tables("scores", scores))
        count = _examples(len(inputs), given)
        needed = math.prod([count, *sizes]) * FLOAT
        if needed > allowed_bytes(self.memory):
            raise BudgetError(
                f"an answer for each of {count:,} questions and {math.prod(sizes):,} constants takes "
                f"{readable(needed)}",
                hint="ask fewer questions at once, or take .answers(), which lists what is proved",
            )
        facts, rules = self.weights.facts(), self.weights.all_rules()
        names, tables = [*given, *facts], [*given.values(), *facts.values()]
        answer = self._summed if self.algebra == COUNT else self._by_forms
        dtype = _dtype(scores)

        def dense(*tables: Tensor) -> Tensor:
            return answer(_Call(inputs, dict(zip(names, tables, strict=False)), tables[-1], sizes, dtype))

        answers = called(dense, [*tables, rules])
        return answers.to(tables[0].device if tables else answers.device, dtype)

    def _by_forms(self, call: _Call) -> Tensor:
        """Weights by circuits [question or scene, asked...], in the precision of the scores."""
        for name in self.shapes:
            if self.algebra == MAX:
                _refuse_negative_scores(name, call.facts[name])
            else:
                _refuse_no_probability(name, call.facts[name])
        if self._are_probabilities:
            for name, values in self._valued.items():
                values.refuse_wrong_sums(call.facts[name])
        precise = call.dtype if call.dtype in (torch.float32, torch.float64) else torch.float32
        like = call.tables[0]
        tables = [table.to(like.device, precise) for table in call.tables if table.shape[-1]]
        parts = [table if table.dim() == 2 else table.unsqueeze(0) for table in tables]
        if len(parts) == 1:
            (sources,) = parts
        else:
            counts = {part.shape[0] for part in parts}
            scenes = max(counts, default=1) if 0 not in counts else 0
            parts = [like.new_zeros(scenes, 0, dtype=precise), *(part.expand(scenes, -1) for part in parts)]
            sources = torch.cat(parts, 1)
        with _one_at_a_time:
            counts = answered(self._road, self._sources, self._bound(call.inputs), sources, call.sizes)
        return counts if counts.requires_grad else _sloping(counts, tables)

    def _summed(self, call: _Call) -> Tensor:
        """Weights as sums of proofs [question or scene, asked...], all questions of a scene together, on the
        CPU."""
        if call.scenes != 1:
            parts = [self._summed(one) for one in call.each()]
            return torch.cat(parts) if parts else _sloping(torch.zeros([0, *call.sizes]), call.tables)
        call = call.of_scene(0, call.inputs)
        with on_processor():
            table = self._proved(call.inputs, call.facts, call.rules)
            zeros = torch.zeros([len(call.inputs), *call.sizes], dtype=torch.float64)
        places = tuple(torch.from_numpy(np.ascontiguousarray(c, np.int64)) for c in table.columns)
        return _sloping(zeros, call.tables).index_put(places, table.values)

    def log_shares(
        self,
        rows: Rows | None = None,
        scores: Mapping[str, Tensor] | None = None,
    ) -> Tensor:
        """Logarithm of each answer's share of its question's weights, -inf without a proof; ``rows`` and
        ``scores`` are those of a call."""
        weights = self(rows, scores)
        proved = weights > 0
        logs = torch.where(proved, torch.where(proved, weights, 1.0).log(), -math.inf)
        total = weights.flatten(1).sum(dim=1).reshape(-1, *[1] * (weights.dim() - 1))
        return logs - torch.where(total > 0, total, 1.0).log()

    def answers(self, inputs: Sequence[Sequence[int]], scores: Mapping[str, Tensor] | None = None) -> Table:
        """Answers that have proofs: columns (question, an index for each asked variable), and their weights.

        ``inputs``: for each question the indices of the given constants; ``scores`` as in a call. Only for
        layers of the algebra ``count``.
        """
        if self.algebra != COUNT:
            raise UnsupportedError(
                f"answers in the algebra {self.algebra} are not listed", hint="call the layer"
            )
        facts = {**self._scored(given_tables("scores", scores)), **self.weights.facts()}
        return self._proved([tuple(row) for row in inputs], facts, self.weights.all_rules())

    def _bound(self, inputs: Sequence[Row]) -> list[Row]:
        """Inputs with the goal's own constants added."""
        return [(*self._read.inputs, *row) for row in inputs]

    def _proved(self, inputs: Sequence[Row], facts: Mapping[str, Tensor], rules: Tensor) -> Table:
        return scores_of(
            self.proof,
            self._read.shape,
            self._bound(inputs),
            {name: weights.cpu() for name, weights in facts.items()},
            rules.cpu() if len(self.weights.learned_rules) else None,
            depth=int(self.depth),
            budget=Budget(self.memory),
        )

    def _scored(self, scores: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Scores of each neural predicate as [fact] or [scene, fact]."""
        if scores.keys() != self.shapes.keys():
            self._refuse_names(scores)
        return {name: _flat(name, given, self.shapes[name]) for name, given in scores.items()}

    def _refuse_names(self, scores: Collection[str]) -> None:
        for name in (*scores, *self.shapes):
            if name not in self.shapes:
                raise UnsupportedError(
                    f"'{name}' takes no scores", hint=f"neural: {', '.join(self.shapes) or 'none'}"
                )
            if name not in scores:
                raise UnsupportedError(
                    f"the scores of {name} are missing", hint=f"a tensor of shape {self.shapes[name]}"
                )

    def _inputs(self, rows: Rows) -> list[tuple[int, ...]]:
        if not isinstance(rows, Mapping):
            if len(self.given) != 1 or isinstance(rows, str):
                raise LanguageError(
                    f"the goal {self.goal} is given {', '.join(self.given) or 'nothing'}",
                    hint="a column of constants for each, by name: {'x': [...]}",
                )
            rows = {self.given[0]: rows}
        unknown = [name for name in rows if name not in self.given]
        missing = [name for name in self.given if name not in rows]
        if unknown or missing:
            what = (
                f"'{unknown[0]}' is not given" if unknown else f"the constants of '{missing[0]}' are missing"
            )
            raise LanguageError(
                f"{what} in the goal {self.goal}", hint=f"given: {', '.join(self.given) or 'nothing'}"
            )
        columns = [self._column(name, rows[name]) for name in self.given]
        if len({len(column) for column in columns}) > 1:
            raise LanguageError("the columns of the rows differ in length")
        return list(zip(*columns, strict=True)) if columns else [()]

    def _column(self, name: str, values: Sequence[Value] | Tensor) -> list[int]:
        domain = self.proof.program.facts.domains[self._read.shape.clause.types[name]]
        if isinstance(values, Tensor):
            if is_functorch_wrapped_tensor(values):
                raise UnsupportedError(
                    f"torch.func cannot map over the constants of '{name}'",
                    hint="ask all questions in one call: they are a batch axis already",
                )
            if values.dim() != 1 or values.dtype not in WHOLE:
                raise LanguageError(f"the indices of '{name}' are a tensor of whole numbers with one axis")
            indices = values.tolist()
            if indices and not 0 <= min(indices) <= max(indices) < len(domain):
                raise LanguageError(f"an index of '{name}' is not below {len(domain)}")
            return indices
        listed = _constants(name, values)
        if len(listed) == 1 and (index := domain.index_of(listed[0])) is not None:
            return [index]
        return indices_in(domain, listed).tolist()


def _read(proof: Proof, goal: str, given: Sequence[str] | None) -> Goal:
    try:
        if given is None:
            given = proof.read(goal).shape.variables[:-1]
        return proof.read(goal, texts(given))
    except NarrowError as narrow:
        raise LanguageError([narrow.mistake]) from None


def _sloping(weights: Tensor, tables: Iterable[Tensor]) -> Tensor:
    """The weights with a gradient of 0 for all tables, so that a result without proofs has gradients too."""
    for given in tables:
        weights = weights + given.reshape(-1)[:0].sum().to(weights)
    return weights


def _constants(name: str, values: Any) -> list[Value]:
    """Convert a column of a list, an array or a series to a list."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise LanguageError(f"the constants of '{name}' are {values!r}", hint="expected a list of them")
    listed = cast("Any", values).tolist() if hasattr(values, "tolist") else list(values)
    for value in listed:
        if not isinstance(value, str | Real) or isinstance(value, bool):
            raise LanguageError(
                f"{value!r} is no constant of '{name}'", hint="a constant is text or a number"
            )
    return listed


def _depth(depth: int | str, algebra: str) -> int | str:
    """The depth as a number of calls, or as ``fixpoint``."""
    if isinstance(depth, str) and depth == FIXPOINT and algebra == PROBABILITY:
        return depth
    if not is_whole(depth) or int(depth) < 0:
        raise UnsupportedError(f"'{depth}' is no depth of a layer", hint="a whole number from 0 on")
    return int(depth)


def _examples(questions: int, given: Mapping[str, Tensor]) -> int:
    """Number of examples of a call: questions, each in its own scene; if there is one question or one scene,
    the number of the other."""
    scenes = {table.shape[0] for table in given.values() if table.dim() == 2}
    if len(scenes) > 1:
        raise UnsupportedError(f"scores of {' and '.join(map(str, sorted(scenes)))} scenes in one call")
    sizes = {questions, *scenes} - {1}
    if len(sizes) > 1:
        raise UnsupportedError(
            f"{questions} questions in {scenes.pop()} scenes",
            hint="a scene for each question, or one of either",
        )
    return sizes.pop() if sizes else 1


def _refuse_no_probability(name: str, scores: Tensor) -> None:
    """Raise an error for scores outside of 0 to 1, with a tolerance for finite differences."""
    wrong = no_probabilities(scores)
    if len(wrong):
        hint = f"scores are from 0 to 1, as torch.sigmoid makes them; algebra='{COUNT}' takes any"
        raise no_probability(name, float(wrong[0]), hint)


def _flat(name: str, scores: Tensor, expected: tuple[int, ...]) -> Tensor:
    """Flatten scores to [fact] or [scene, fact]."""
    shape = tuple(scores.shape)
    lead = len(shape) - len(expected)
    if lead not in (0, 1) or shape[lead:] != expected:
        raise UnsupportedError(
            f"the scores of {name} have shape {shape}",
            hint=f"expected {expected}, or one axis more in front, for scenes",
        )
    return scores if len(expected) == 1 else scores.reshape(*shape[:lead], math.prod(expected))


def _counting(program: Program) -> tuple[Rule, ...]:
    """The rules that count uncertain atoms and compare their number."""
    predicates = program.signature.predicates
    rules = (s for s in program.uncertain if isinstance(s, Rule))
    return tuple(rule for rule in rules if predicates[rule.head.predicate].computed)


def _refuse_uncertain(program: HornProgram, goal: Clause, scored: Collection[str]) -> None:
    """Raise an error for goals that the most probable proofs alone cannot answer."""
    reached, signature = program.reached([goal]), program.signature
    check_probabilities(program, reached)
    refuse_uncertain_absence(program, [goal])
    for name in reached - set(scored):
        weights = program.relation(name).weights
        if signature.predicates[name].value_type is not None and weights is not None and (weights != 1).any():
            raise UnsupportedError(
                f"{name} has many values with probabilities, which are one choice",
                hint=f"give them as scores: neural=['{name}'], or take algebra='{PROBABILITY}'",
            )
    for known in chances_of(program)[1]:
        if known.predicate not in scored:
            raise UnsupportedError(
                f"{known.text} is evidence, and the likeliest proofs alone do not tell how probable it is",
                hint=f"algebra='{PROBABILITY}' conditions on it",
            )


def _refuse_negative(program: HornProgram, goal: Clause, scored: Collection[str]) -> None:
    """Raise an error for stated weights below 0 that the goal reaches."""
    best, reached = Numbers(MAX_PRODUCT), program.reached([goal])
    for name in reached - set(scored):
        best.fact_weights(name, program.relation(name))
    for place, rule in enumerate(program.weighted):
        if rule.head.predicate in reached:
            best.rule_weight(place, rule)


def _refuse_negative_scores(name: str, scores: Tensor) -> None:
    """Raise an error for scores below 0, with a tolerance for finite differences."""
    known, takes = scores.detach(), MAX_PRODUCT.takes
    if takes is not None and not (fit := takes.fit(known + ROUNDED)).all():
        raise takes.refusal(float(known[~fit][0]), name)


def _refuse_valued(learned: Sequence[str], signature: Signature) -> None:
    for name in learned:
        if signature.predicates[name].value_type is not None:
            raise UnsupportedError(
                f"probabilities of the values of {name} exclude each other, and are not learned by a layer",
                hint=f"give them as scores: neural=['{name}']",
            )


def _dtype(scores: Mapping[str, Tensor] | None) -> torch.dtype:
    """Dtype of the scores; torch's default for whole numbers and truth values."""
    dtypes = (given.dtype for given in (scores or {}).values() if given.is_floating_point())
    return next(dtypes, torch.get_default_dtype())


def _refuse_unknown(neural: Sequence[str], signature: Signature) -> None:
    for name in neural:
        if name not in signature.predicates:
            raise UnsupportedError(
                f"there is no predicate '{name}' to take scores", hint=nearest(name, signature.predicates)
            )


def _shape(name: str, signature: Signature, facts: Facts) -> tuple[int, ...]:
    """Shape of the scores: one for each stated fact; without stated facts one for every tuple of
    constants."""
    stated = len(facts.tables[name].true)
    types = signature.predicates[name].column_types
    return (stated,) if stated else tuple(len(facts.domains[kind]) for kind in types)


def _with_pairs(facts: Facts, shapes: Mapping[str, tuple[int, ...]], memory: int | None) -> Facts:
    """Add every tuple of constants as a fact of the neural predicates without stated facts."""
    tables = dict(facts.tables)
    for name, shape in shapes.items():
        if len(tables[name].true):
            continue
        if len(tables[name].false):
            raise UnsupportedError(
                f"{name} takes a score for every choice of constants, and some of its facts are false",
                hint="leave them out, and give a score of 0; or state the facts that may have a score",
            )
        if math.prod(shape) * FLOAT * (len(shape) + 1) > allowed_bytes(memory):
            raise BudgetError(
                f"{name} takes {math.prod(shape):,} scores, which is too many",
                hint="state the facts that may have one, or allow more by memory",
            )
        rows = np.indices(shape, np.int32).reshape(len(shape), math.prod(shape)).T
        tables[name] = FactTable(
            np.asfortranarray(rows),
            tables[name].false[:0],
            tables[name].soft[:0],
            np.empty(0),
            np.empty(0),
            None,
            "closed",
        )
    return Facts(facts.domains, tables)
