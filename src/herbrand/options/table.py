"""The table of options: name, kind of values, and the commands and engines that use each.

:data:`TABLE` is the source of the command line's parameters, the checks of values from Python and the table
in ``docs/commands.md``. A new option is a row there, a field of the settings that its engines read, and a
line in the ``TypedDict`` of its command (:mod:`herbrand.options.keywords`); the tests name the one that is
missing.

>>> check("infer", {"iterations": 0})
Traceback (most recent call last):
herbrand.errors.UnsupportedError: --iterations is a whole number from 1 on, not 0
>>> refuse_unknown("infer", ["tolerence"])
Traceback (most recent call last):
herbrand.errors.UnsupportedError: infer has no option 'tolerence'
  did you mean 'tolerance'?
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from herbrand.errors import UnsupportedError, nearest
from herbrand.options.algebras import QUERY_ALGEBRAS
from herbrand.options.kinds import Amount, Depth, Facts, File, Flag, Kind, Name, Number, Text, Texts, Whole

COMMANDS = (
    "check",
    "infer",
    "query",
    "bound",
    "explain",
    "sample",
    "learn",
    "induce",
    "score",
    "compare",
    "convert",
    "fmt",
    "init",
    "lsp",
    "serve",
    "studio",
)

LONGEST_BODY = 4
"""Most literals of a body where rules are mined."""


@dataclass(frozen=True)
class Option:
    """An option. ``name``: its keyword in Python; ``commands``: those that take it; ``used_by``: the engines,
    or methods of ``learn``, that use it (empty: all).

    ``taken_by``: a keyword of Python's calls, of :class:`~herbrand.model.Model`, or of the command line only.
    ``another_model``: it changes the model that an engine answers for, so that no engine may ignore it.
    ``page``: the page that ``docs/commands.md`` links to.
    """

    name: str
    commands: tuple[str, ...]
    kind: Kind
    help: str
    metavar: str = ""
    used_by: tuple[str, ...] = ()
    default: str = ""
    taken_by: Literal["call", "model", "command line"] = "call"
    required: bool = False
    another_model: bool = False
    page: str = ""

    @property
    def flag(self) -> str:
        """Name of the option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def described_values(self) -> str:
        """Help text, with the names that it takes if only their table lists them."""
        if isinstance(self.kind, Name) and (self.kind.usage or self.metavar == "NAME"):
            return f"{self.help.rstrip('.')}: {', '.join(self.kind.names)}."
        return self.help

    @property
    def described(self) -> str:
        """Help text, with the engines that use the option, whether it is repeatable, and its default."""
        what = self.help if isinstance(self.kind, Name) and self.kind.usage else self.described_values
        repeated = " Repeatable." if isinstance(self.kind, Texts) else ""
        used_by = f" Used by {', '.join(self.used_by)}." if self.used_by else ""
        default = f" Default: {self.default}." if self.default else ""
        return f"{what}{repeated}{used_by}{default}"

    def check(self, value: Any) -> None:
        """Raise an error for a value of the wrong kind; ``None`` leaves the option out."""
        if value is not None:
            self.kind.check(self.flag, value)


ALL = "check infer query bound explain sample learn compare"
"""Commands that take a theory and facts."""
RUNNING = "infer query bound explain sample learn compare"
ASKING = "infer query bound explain sample compare"
STEPPING = "infer explain compare"


def _row(name: str, commands: str, kind: Kind, help: str, used_by: str = "", **more: Any) -> Option:
    return Option(name, tuple(commands.split()), kind, help, used_by=tuple(used_by.split()), **more)


TABLE = (
    _row("facts", f"{ALL} induce serve studio", Texts(),
         "A folder or file of fact tables, or PREDICATE=PATH.", metavar="PATH", taken_by="model",
         page="data.md"),
    _row("facts", "score", Texts(), "True and false facts, as infer takes facts.", metavar="LABELS",
         taken_by="model", required=True),
    _row("on", "check infer query bound learn compare", Text(),
         "A database that holds the facts and does the work: duckdb:FILE or spark://HOST:PORT/FOLDER.",
         metavar="PLACE", taken_by="model", page="scale.md"),
    _row("on", "explain sample", Text(), "Refused, as this runs in memory only.", metavar="PLACE",
         taken_by="model"),
    _row("dialect", f"{ALL} convert serve", Text(), "How to read the theory files, if not by their ending.",
         metavar="NAME", taken_by="model", page="dialects.md"),
    _row("open", f"{ALL} serve", Texts(), "What is not listed is unknown.", metavar="PRED", taken_by="model"),
    _row("closed", f"{ALL} serve", Texts(), "What is not listed is false.", metavar="PRED", taken_by="model"),
    _row("closed", "score", Texts(), "Rows without a label are false.", metavar="PRED", taken_by="model"),
    _row("header", f"{ALL} induce score serve", Name(("yes", "no"), usage=True),
         "Whether text tables begin with a line of column names.", taken_by="model"),
    _row("ignore", f"{ALL} serve", Texts(), "Leave out statements of this kind.",
         metavar="weights|bounds|rules", taken_by="model"),
    _row("given", f"check {ASKING}", Texts(), "Evidence for this call: one more fact.", metavar="LITERAL"),
    _row("query", "infer compare", Texts(), "A predicate, an atom or any formula.", metavar="QUERY"),
    _row("query", "bound", Texts(), "A probability; every atom if none.", metavar="'P(q | e)'"),
    _row("query", "check", Texts(), "What the costs are of, as infer or bound takes it.", metavar="QUERY"),
    _row("query", "explain", Text(), "An atom, P(...), or a goal; or name it last.", metavar="WHAT"),
    _row("engine", "infer query bound explain", Text(), "Which engine runs it; auto chooses and says why.",
         metavar="NAME", default="auto", page="engines/index.md"),
    _row("engine", "compare", Texts(), "Which engines run it; all if not given.", metavar="NAME"),
    _row("engine", "induce", Text(), "How: search, nlm (a machine is trained first), auto (if needed).",
         metavar="NAME", default="auto"),
    _row("noise", "induce", Number(0, below=1), "The share of labels that may be wrong.", metavar="P",
         default="0.3"),
    _row("weights", "induce", Name(("proofs", "probabilities")),
         "Write how often a rule is right: head :- body @ W, or W :: head :- body.", metavar="FORM",
         default="proofs where one large world is mined"),
    _row("memory", f"check {RUNNING} serve studio", Amount(), "At most this much, such as 4GB.",
         metavar="AMOUNT", default="70 %"),
    _row("time_limit", f"check {RUNNING}", Number(0), "At most this long.", metavar="SECONDS"),
    _row("time_limit", "serve", Number(above=0), "At most this long for a request.", metavar="SECONDS",
         default="30", taken_by="command line"),
    _row("time_limit", "studio", Number(above=0), "At most this long for a run.", metavar="SECONDS",
         taken_by="command line"),
    _row("seed", f"{RUNNING} induce", Whole(0, usage=False), "Equal seeds give equal results.", metavar="N",
         default="0"),
    _row("tolerance", STEPPING, Number(0, below=1), "Stop when a step moves less.",
         "regions bp mean-field", metavar="T"),
    _row("tolerance", "bound", Number(0, below=1), "How far from the tightest an end may be.",
         "exact ariel", metavar="T"),
    _row("tolerance", "learn", Number(0, below=1), "Stop when a step gains less.",
         "likelihood pseudo-likelihood contrastive-divergence layers", metavar="T"),
    _row("iterations", STEPPING, Whole(1), "At most N steps.", "regions bp mean-field gibbs", metavar="N"),
    _row("iterations", "bound", Whole(1), "At most N steps.", "ariel", metavar="N"),
    _row("iterations", "learn", Whole(1), "At most N steps.", metavar="N"),
    _row("schedule", STEPPING, Name(("parallel", "sequential")), "In which order beliefs are updated.",
         "regions bp mean-field", metavar="NAME"),
    _row("damping", STEPPING, Number(0, below=1), "The share of the old belief that a step keeps.",
         "regions bp mean-field", metavar="D"),
    _row("starts", STEPPING, Whole(1, 10_000), "Runs, or chains, from different seeds.",
         "regions mean-field gibbs", metavar="N"),
    _row("samples", STEPPING, Whole(1), "How many worlds a sampler draws.", "gibbs", metavar="N"),
    _row("cost", STEPPING, Number(0), "How large a region may grow.", "regions", metavar="OPERATIONS"),
    _row("structure", STEPPING, Name(("merged", "counts", "elements", "partial", "ground")),
         "Which regions there are.", "regions", metavar="NAME", page="engines/regions.md#structures"),
    _row("clip", STEPPING, Number(above=0), "A statement moves an atom by less than C times its weight. "
         "Another model.", "mean-field", metavar="C", another_model=True,
         page="engines/mean-field.md#clipped-messages"),
    _row("clip", "learn", Number(above=0), "A statement says less than C times its weight to an atom. "
         "Another model.", "distillation", metavar="C", another_model=True),
    _row("top", "infer", Whole(1), "The K most probable rows.", metavar="K"),
    _row("top", "query", Whole(1), "The K heaviest answers.", metavar="K"),
    _row("top", "explain", Whole(1), "The K heaviest reasons.", metavar="K"),
    _row("proofs", "explain", Whole(1, 10_000), "The K likeliest proofs too, and when the atom holds.",
         "circuit", metavar="K"),
    _row("min", "infer", Number(0, 1), "Rows of at least this probability.", metavar="P"),
    _row("map", "infer", Flag(), "The most probable world instead."),
    _row("of", "infer", Texts(), "With --map: the best values of these, the rest summed out.", "circuit",
         metavar="PRED"),
    _row("log_partition", "infer", Flag(), "Print log Z in the table too."),
    _row("resume", "infer bound", Flag(), "With --on: go on from the last step of a run that was cut off."),
    _row("resume", "learn", Text(), "Go on from a state that was kept.",
         "pseudo-likelihood distillation proof", metavar="FILE"),
    _row("resume", "induce", File(folders=True),
         "Keep the run there; where it is there already, go on from it.", metavar="FILE"),
    _row("independence", "bound explain", Name(("markov", "none"), usage=True),
         "The networks' Markov condition, or nothing but what is stated.", "exact ariel", default="markov"),
    _row("mode", "bound explain", Name(("sound", "paper"), usage=True),
         "Messages that are bounds, or as published.", "ariel", default="sound"),
    _row("algebra", "query", Name(QUERY_ALGEBRAS),
         "What a weight is: the sum of proofs, whether there is one, the best, how probable one is.",
         "proof", metavar="|".join(QUERY_ALGEBRAS), default="count"),
    _row("depth", "query", Depth(), "How deep calls may go; the goal is at 0.", "proof",
         metavar="D|fixpoint", default="10"),
    _row("depth", "explain", Depth(), "How deep calls may go, a number.", "proof", metavar="D", default="10"),
    _row("depth", "learn", Whole(0), "How deep calls may go, a number.", "proof", metavar="D", default="10"),
    _row("normalize", "query", Name(("none", "sum", "softmax"), usage=True),
         "Make the weights add up to 1.", "proof", default="none"),
    _row("exact", "query", Flag(), "Count in integers of up to 4,200 digits.", "proof"),
    _row("method", "learn", Text(), "auto, likelihood, pseudo-likelihood, contrastive-divergence, layers, "
         "distillation or proof.", metavar="NAME", default="auto", page="learning.md"),
    _row("target", "learn", Texts(), "What is to be predicted.", metavar="PRED"),
    _row("target", "induce", Text(), "What rules are wanted for; each relation if without --worlds.",
         metavar="PRED"),
    _row("latent", "learn", Texts(), "What is not listed is unknown, not false.", metavar="PRED"),
    _row("worlds", "learn", Facts(), "A folder that holds a folder of facts a world; for probabilities of "
         "choices also an .ev file of ProbLog.", metavar="DIR"),
    _row("worlds", "induce", Text(), "A folder that holds a folder of facts a world; without it, rules are "
         "mined from --facts as one large world.", metavar="DIR"),
    _row("length", "induce", Whole(1, LONGEST_BODY),
         "Literals of a body, where rules of one large world are mined.",
         metavar="N", default="3", taken_by="command line"),
    _row("held_out", "induce", Text(), "Triples left out of one large world, to measure link prediction on.",
         metavar="PATH", taken_by="command line"),
    _row("worlds", "sample", Whole(1, 10_000_000), "How many worlds are drawn.", metavar="N", default="1"),
    _row("l2", "learn", Number(0), "How strongly weights are drawn to 0.",
         "likelihood pseudo-likelihood contrastive-divergence layers proof", metavar="X"),
    _row("l1", "learn", Number(0), "The same, with small weights exactly 0.",
         "likelihood pseudo-likelihood contrastive-divergence layers", metavar="X", default="0"),
    _row("relearn", "learn", Flag(), "Learn given weights too, and start from them.",
         "likelihood contrastive-divergence proof"),
    _row("held_out", "learn", Facts(), "Worlds, as for --worlds, to measure the weights on.", "likelihood",
         metavar="DIR"),
    _row("starts", "learn", Whole(1, 10_000), "Climbs, from different points; the best counts.", "likelihood",
         metavar="N"),
    _row("layers", "learn", Whole(1, 10_000), "Mean-field layers to learn through.", "layers distillation",
         metavar="T"),
    _row("rate", "learn", Number(0), "The learning rate of Adam.", "distillation proof", metavar="R"),
    _row("batch", "learn", Whole(1), "Groundings, or questions, a step; all if not given.",
         "distillation proof", metavar="N"),
    _row("observed", "learn", Number(0, 1), "Share of sampled atoms that are facts.", "distillation",
         metavar="P"),
    _row("size", "learn", Whole(1, 100_000), "Numbers in a constant's embedding.", "distillation",
         metavar="N"),
    _row("loss", "learn", Name(("cross-entropy", "softmax", "margin")),
         "What is made small.", "proof", metavar="NAME",
         default="cross-entropy"),
    _row("asked", "learn", Whole(1), "Which argument facts answer.", "proof", metavar="N",
         default="the last"),
    _row("patience", "learn", Whole(1), "Stop after N steps without getting better.", "distillation proof",
         metavar="N"),
    _row("save", "learn", File(folders=True, tensors=True), "Keep the state of training there.",
         "pseudo-likelihood distillation proof", metavar="FILE"),
    _row("save", "induce", File(folders=True, tensors=True), "Keep the trained machine there (safetensors).",
         metavar="FILE", taken_by="command line"),
    _row("budget", "induce", Number(above=0), "How long search and training may take.", metavar="MINUTES",
         default="5"),
    _row("to", "convert", Text(), "The format to write, if not that of the ending of -o.",
         metavar="hb|mln|lcn|ppr|pl|bif", default="hb", taken_by="command line"),
    _row("lint", "check", Flag(), "What is likely wrong in it, instead of sizes.", taken_by="command line",
         page="language.md#lint"),
    _row("check", "fmt", Flag(), "Change no file; name those that are written otherwise, with status 1.",
         taken_by="command line"),
    _row("host", "serve", Text(), "The address to listen at; another than this machine's own needs --key.",
         metavar="ADDRESS", default="127.0.0.1", taken_by="command line"),
    _row("port", "serve", Whole(0, 65_535), "The port to listen at; 0 takes a free one.", metavar="N",
         default="8080", taken_by="command line"),
    _row("port", "studio", Whole(0, 65_535), "The port to listen at; 0 takes a free one.", metavar="N",
         default="0", taken_by="command line"),
    _row("key", "serve", Text(), "Who asks must send it: Authorization: Bearer KEY. HERBRAND_KEY in the "
         "environment is the same and stays out of the list of processes.", metavar="KEY",
         taken_by="command line"),
    _row("workers", "serve", Whole(1, 256), "How many processes answer.", metavar="N",
         default="the number of cores", taken_by="command line"),
    _row("no_browser", "studio", Flag(), "Open no browser.", taken_by="command line"),
    _row("format", "check infer query bound explain sample compare",
         Name(("table", "json", "csv", "parquet"), usage=True), "How results are written.",
         default="by the ending of -o, else table", taken_by="command line"),
    _row("format", "score", Name(("table", "json", "csv", "parquet", "html", "svg"), usage=True),
         "How results are written; html and svg have the curves.",
         default="by the ending of -o, else table", taken_by="command line"),
    _row("format", "learn", Name(("table", "json", "csv", "parquet"), usage=True),
         "How results are written.", default="table", taken_by="command line"),
    _row("format", "induce", Name(("table", "json"), usage=True),
         "How results are written.", default="table", taken_by="command line"),
    _row("into", "check infer query bound explain sample score compare", Text(),
         "Write a new table of a database instead.", metavar="duckdb:FILE.TABLE|sqlite:FILE.TABLE",
         taken_by="command line"),
    _row("output", "check infer query bound explain sample score compare convert", File(),
         "Write there instead of standard output.", metavar="FILE", taken_by="command line"),
    _row("output", "learn induce", File(), "Write the theory there.", metavar="FILE",
         taken_by="command line"),
)  # fmt: skip
"""All options. A name has several rows if its meaning differs by command; at most one for each command."""


def options_of(command: str) -> dict[str, Option]:
    """The options of a command by name, in the order of the table."""
    return _BY_COMMAND[command]


_BY_COMMAND = {
    command: {option.name: option for option in TABLE if command in option.commands} for command in COMMANDS
}


def check(command: str, given: Mapping[str, Any]) -> None:
    """Raise an error for the first value of the wrong kind; keys that are no options of the command are
    ignored."""
    known = options_of(command)
    for name, value in given.items():
        if name in known:
            known[name].check(value)


def check_all(command: str, given: Mapping[str, Any]) -> None:
    """Check options that must have a value: unlike :func:`check`, refuse ``None`` and unknown keys."""
    known = options_of(command)
    for name, value in given.items():
        known[name].kind.check(known[name].flag, value)


def refuse_unknown(command: str, given: Iterable[str]) -> None:
    """Raise an error for the first keyword that the command does not take."""
    for name in given:
        known = [name for name, option in options_of(command).items() if option.taken_by == "call"]
        if name not in known:
            raise UnsupportedError(f"{command} has no option '{name}'", hint=_elsewhere(command, name, known))


def _elsewhere(command: str, name: str, known: Collection[str]) -> str:
    own = options_of(command).get(name)
    if own is not None:
        taker = "Model takes it" if own.taken_by == "model" else "the command line takes it"
        return f"{taker}: {own.help}"
    others = [other for other in COMMANDS if name in options_of(other)]
    if others:
        return f"it is an option of {', '.join(others)}"
    return nearest(name, known) or f"options: {', '.join(known)}"


def uses(command: str, runner: str, name: str) -> bool:
    """Whether an engine, or a method of ``learn``, uses an option of its command."""
    used_by = options_of(command)[name].used_by
    return not used_by or runner in used_by


def unused(command: str, who: str, name: str) -> UnsupportedError:
    """Error for an option that is not used; ``who`` begins the message.

    >>> print(unused("infer", "exact does not use", "damping"))
    exact does not use --damping
      engines that use it: regions, bp, mean-field; name one of them, or leave out --damping
    """
    option = options_of(command)[name]
    kind = "methods" if command == "learn" else "engines"
    why = ", which is another model than the theory" if option.another_model else ""
    return UnsupportedError(
        f"{who} {option.flag}{why}",
        hint=f"{kind} that use it: {', '.join(option.used_by)}; name one of them, or leave out {option.flag}",
    )
