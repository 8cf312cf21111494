"""What a run came to: the one value that every renderer reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.evidence import Evidence
from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.letter_probability_counts import Weighed
from fairgate.benchmarks.limits import RATES
from fairgate.core.errors import ConfigError, did_you_mean
from fairgate.core.plural import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fairgate.benchmarks.findings import Finding
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.plot_spec import Sketch
    from fairgate.benchmarks.registry import Registry
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.benchmarks.sections import Section
    from fairgate.benchmarks.selection_rates import SelectionRates

NO_CERTIFICATE = "A pass is not a certificate of fairness: docs/limits.md says what is not measured."
CONTROL = "a built-in model of known behaviour"
WORDS = (
    (Verdict.FAIL, "failed"),
    (Verdict.WAIVED, "waived"),
    (Verdict.INCONCLUSIVE, "inconclusive"),
    (Verdict.PASS, "passed"),
)
EXITS = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.INCONCLUSIVE: 6, Verdict.ERROR: 7}


@dataclass(frozen=True)
class Calls:
    """Samples of the plan: `planned` = `asked` + `reused` + `missing`; `failed` are those of `asked` that never came.

    `retried` counts the requests beyond the first of each sample. `since`: the day (UTC) of the oldest reply of the
    models under test, where a run that asks was given no new one; else empty.
    """

    planned: int
    asked: int
    reused: int
    missing: int
    failed: int
    retried: int
    since: str = ""


@dataclass(frozen=True)
class Tokens:
    """Tokens of the samples asked in this run; `uncounted` are those whose server counted none."""

    prompt: int
    completion: int
    uncounted: int


@dataclass(frozen=True)
class Change:
    """How a score moved from the baseline to this run.

    `entry` is named after the score, with `@change` behind it: `estimate` and `ci` are of the difference, in points.
    `before` and `after` are the two estimates. `proven` says whether the change is beyond chance with all compared
    scores in view, `better` whether it is one for the better. `invalid`: why it says nothing of the models, since
    something else than groups decided the answers of either; empty where it does.
    """

    entry: ScoreResult
    before: float | None
    after: float | None
    proven: bool
    better: bool
    invalid: str = ""


@dataclass(frozen=True)
class Comparison:
    """This run beside a baseline, query by query: only the `queries` that both hold are compared.

    `sentences` say what it comes to, e.g. that a model is fairer but less factual.
    """

    baseline: str
    queries: int
    changes: tuple[Change, ...]
    sentences: tuple[str, ...]

    @property
    def over(self) -> str:
        """Which baseline, and how much of it was compared."""
        return f"{self.baseline}; {counted(self.queries, 'query', 'queries')} compared"


def _nothing() -> tuple[()]:
    return ()


@dataclass(frozen=True)
class CaseCount:
    """How the selected cases ended.

    `planned`: how many cases these models can be asked, selected or not.
    """

    passed: int
    failed: int
    inconclusive: int
    broken: int
    planned: int

    @property
    def total(self) -> int:
        """All that were selected."""
        return self.passed + self.failed + self.inconclusive + self.broken


@dataclass(frozen=True)
class Report:
    """A run, judged.

    `model` and `t2i_model` are None where there is none. `notes` are sentences that a reader of the scores must know:
    a model that follows the letters, an endpoint that changed in mid-run, disputed topics, a partial run.
    `outcomes`: how many samples there are by benchmark, and how many of them were refused, unreadable, truncated or
    failed, or were never asked for.
    `benchmarks`: all that are installed. `tables`: what they add to summary.json, by key; `sections`: the tables that
    they add for readers, `instruments` those of the judge's and the detector's errors. `sketches` are their plots, and
    `selection_rates` how often each group was chosen, both made when they are wanted.
    `cost`: what this run's calls cost, in USD, None where a price is not known. `shard`: which part of a run this
    is, e.g. "2/5": its gates wait for the other parts. `comparison`: the run beside a baseline, None without one; what
    the baseline's limits say stands among `gates`.
    `evidence`: the cells that were counted, with a way to the samples behind each. `date`: the day of the verdict,
    in UTC, as waivers are held against it. `limits`: the file of limits, `limits_hash` the SHA-256 of its content and
    of the files that it extends. `rounds`: how far a run in rounds went, and why no further; empty of another.
    `stopped`: that it ended early, and what would decide the rest; empty where nothing is left undecided by that.
    `weighed`: what came of asking for probabilities. `unwritten`: what could not be written, a sentence each.
    """

    version: str
    data_version: str
    model: str | None
    t2i_model: str | None
    given: bool
    control: bool
    plan: str
    seed: int
    profiles: str
    key: str
    scoring: str
    ledger: str
    entries: tuple[ScoreResult, ...]
    gates: tuple[GateResult, ...]
    findings: tuple[Finding, ...]
    cases: CaseCount
    calls: Calls
    tokens: Tokens
    benchmarks: Registry
    notes: tuple[str, ...]
    error: str | None
    inconclusive_exit: int = 6
    outcomes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    judge: str | None = None
    tables: Mapping[str, Any] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    sketches: Callable[[], Iterable[Sketch]] = field(default=_nothing, compare=False)
    instruments: tuple[Section, ...] = ()
    selection_rates: Callable[[], Iterable[SelectionRates]] = field(default=_nothing, compare=False)
    cost: float | None = None
    t2i_control: bool = False
    detector: str | None = None
    shard: str | None = None
    comparison: Comparison | None = None
    evidence: Evidence = field(default_factory=Evidence)
    date: str = ""
    limits: str = "thresholds.toml"
    limits_hash: str = ""
    rounds: str = ""
    stopped: str = ""
    weighed: Weighed = field(default_factory=Weighed)
    unwritten: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst of error, fail and inconclusive; a run without a single gate that held is no pass."""
        verdicts = {Verdict.PASS if gate.verdict is Verdict.WAIVED else gate.verdict for gate in self.gates}
        if self.error is not None or self.cases.broken:
            return Verdict.ERROR
        if self.cases.failed or Verdict.FAIL in verdicts:
            return Verdict.FAIL
        if self.shard is not None or self.cases.inconclusive or verdicts != {Verdict.PASS}:
            return Verdict.INCONCLUSIVE
        return Verdict.PASS

    @property
    def exit(self) -> int:
        """The exit code: 0 pass, 1 fail, 6 inconclusive (or what the user wants of it), 7 error.

        A part of a run whose cases all passed did what it was asked to: 0, though it decides nothing. A report that
        could not be written is an error, and the verdict stands.
        """
        if self.unwritten:
            return EXITS[Verdict.ERROR]
        if self.shard is not None and self.verdict is Verdict.INCONCLUSIVE and not self.cases.inconclusive:
            return 0
        return self.inconclusive_exit if self.verdict is Verdict.INCONCLUSIVE else EXITS[self.verdict]

    @property
    def headline(self) -> str:
        """The verdict in one line: what was gated, and where it was no real model, that."""
        return f"{self.title}, plan {self.part}; {self.tally}"

    @property
    def part(self) -> str:
        """The plan, and how much of it was selected, where cases were left out."""
        cases = self.cases
        left_out = self.shard is None and cases.total < cases.planned
        return f"{self.plan}, {cases.total:,} of {cases.planned:,} cases selected" if left_out else self.plan

    @property
    def title(self) -> str:
        """The verdict, and the model that it is of."""
        return f"{self.verdict.upper()}: {self.subject}"

    @property
    def tally(self) -> str:
        """How many gates ended in each verdict, those on rates, which most models pass, apart from those on scores."""
        if self.shard is not None:
            return f"shard {self.shard}, {counted(self.cases.total, 'case')}; gates are held when all shards are merged"
        rates = [gate.verdict for gate in self.gates if gate.entry.score in RATES]
        scores = [gate.verdict for gate in self.gates if gate.entry.score not in RATES]
        if rates and scores:
            ends = ["all passed" if {*each} == {Verdict.PASS} else _tallied(each) for each in (scores, rates)]
            return f"{counted(len(scores), 'gate')} on scores: {ends[0]}; {len(rates)} on rates: {ends[1]}"
        if not self.gates:
            return "no gate could be held against anything"
        return f"{counted(len(self.gates), 'gate')}: {_tallied([*scores, *rates])}"

    @property
    def subject(self) -> str:
        """The model, and whether it is one."""
        if not self.given:
            # Both controls are of one name: what they are is said by the gates.
            return f"{self.model or self.t2i_model} (no model was given: only a control was gated)"
        language = f"{self.model} ({CONTROL})" if self.control else self.model
        image_model = f"{self.t2i_model} ({CONTROL})" if self.t2i_control else self.t2i_model
        return " and ".join(name for name in (language, image_model) if name is not None)

    def score(
        self,
        name: str,
        *,
        benchmark: str | None = None,
        modality: str | None = None,
        task: str | None = None,
        context: str | None = None,
        attribute: str | None = None,
        group: str | None = None,
        scoring: str = "definition",
    ) -> ScoreResult:
        """The one score of this name, of the context, attribute, … that are given.

        `name` may be a score's full name too, `ScoreResult.name`. Raises ConfigError where there is none, or more than
        one.
        """
        asked = {"benchmark": benchmark, "modality": modality, "task": task, "context": context}
        asked |= {"attribute": attribute, "group": group}
        given = {key: value for key, value in asked.items() if value is not None}
        held = [entry for entry in self.entries if entry.scoring == scoring]
        named = [entry for entry in held if name in (entry.score, entry.name)]
        found = [entry for entry in named if all(getattr(entry, key) == value for key, value in given.items())]
        if len(found) == 1:
            return found[0]
        of = "".join(f", {key}={value!r}" for key, value in given.items())
        where = f"Report.score({name!r}{of})"
        if not named:
            raise ConfigError("no such score.", where=where, hint=did_you_mean(name, {entry.score for entry in held}))
        there = ", ".join(entry.name for entry in found or named)
        raise ConfigError(f"{len(found)} scores are of this description.", where=where, hint=f"There are: {there}.")

    def __repr__(self) -> str:
        """The verdict in one line, without the scores and samples behind it."""
        return f"<Report {self.headline}; {counted(self.cases.total, 'case')}>"

    def _repr_html_(self) -> str:
        """The verdict and the gates as a notebook shows them."""
        from fairgate.reports.notebook import html

        error = [] if self.error is None else [self.error]
        return html(self.headline, [*error, *self.unwritten, *(each.sentence for each in self.findings)], self.gates)


def _tallied(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(f"{verdicts.count(verdict)} {word}" for verdict, word in WORDS if verdict in verdicts)
