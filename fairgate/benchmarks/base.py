"""The contract of a benchmark.

A `Plugin` says what a benchmark is, before anything is known of a run: its tasks, scores, markers and the sizes of its
plans. `Plugin.open` gives one `Benchmark` for each modality, bound to the options of a run: its cases, the queries that
are sent for them, and what the replies come to. The run, the gate and the reports know benchmarks by these two alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fairgate.benchmarks.letter_probability_counts import Weighed
from fairgate.benchmarks.limits import Strict
from fairgate.core.statistics import intervals
from fairgate.core.typed import Mistyped, edited, typed

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

    import msgspec

    from fairgate.benchmarks.case import Case, Replies
    from fairgate.benchmarks.controls import Controls
    from fairgate.benchmarks.evidence import Cell, Evidence, Shown
    from fairgate.benchmarks.findings import Finding
    from fairgate.benchmarks.forecast import PowerAnalysis
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.image_files import ImageFiles
    from fairgate.benchmarks.limits import JudgeLimits
    from fairgate.benchmarks.paired import Paired, Part
    from fairgate.benchmarks.plot_spec import Sketch
    from fairgate.benchmarks.published import Published
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.benchmarks.scores import Score, SummaryKey, TaskSpec, View
    from fairgate.benchmarks.sections import Section
    from fairgate.benchmarks.selection_rates import SelectionRates
    from fairgate.core.domain import AnswerKind, Identity, Modality, Query, Role, Topic
    from fairgate.core.statistics.prediction_powered import Corrects
    from fairgate.ledger.samples import Sample, Steps
    from fairgate.options.settings import Settings

TopicT = TypeVar("TopicT", bound="Topic")
CaseT = TypeVar("CaseT", bound="Case")
Held = TypeVar("Held")
T = TypeVar("T")
CONFIDENCE = intervals.CONFIDENCE  # of all intervals, but those of interim analyses
MISSING_SHOWN = 5  # of what is missing, in a note


@dataclass(frozen=True)
class Request:
    """What a benchmark is opened with.

    `size`: the benchmark's part of the plan, of its own type `Plugin.plan`. `noted`: of a run that is judged again,
    all that the benchmarks noted then (`Benchmark.note`); None for a run that asks. `judge`: the limits of the judge.
    """

    settings: Settings
    size: Any
    judge: JudgeLimits | None = None
    noted: Mapping[str, Any] | None = None

    def recalled(self, kind: type[T]) -> T | None:
        """What the benchmark noted, by a type of its own; None for a run that asks.

        Raises LedgerError, naming the ledger, the key and the value, where the note holds anything else.
        """
        if self.noted is None:
            return None
        try:
            return typed(dict(self.noted), kind)
        except Mistyped as error:
            raise edited(error, str(self.settings.ledger)) from None


@dataclass(frozen=True)
class AvailableModels:
    """The models of a run.

    `modalities`: those that there is a model for, or stored results; `sampled` those of them that a model is queried
    for. `judge`: whether there is one. `from_folder`: images come from a folder, which holds only some topics.
    """

    modalities: frozenset[Modality]
    sampled: frozenset[Modality]
    judge: bool
    from_folder: bool


@dataclass(frozen=True)
class Circumstances:
    """What the scores of a run depend on beside its samples.

    `reply`: the stored replies; `key`: the answer key; `calibration`: the file of the detector's measured errors;
    `detector` and `judge`: the identities of the models that have these roles; `scoring`: which of the scores a reader
    is shown.
    """

    reply: Replies
    key: str
    seed: int
    calibration: Path | None = None
    detector: Identity | None = None
    judge: Identity | None = None
    scoring: str = "definition"


@dataclass(frozen=True)
class InterimAnalysis:
    """One interim analysis of a stratum: after `asked` of the plan's `whole` answers to each of its topics.

    `share`: the part of the error, 0 to 1, that is this analysis's; `level`: the part that its intervals may miss by,
    which is more, since analyses err together (`fairgate/core/statistics/sequential.py`).
    """

    asked: int
    whole: int
    share: float
    level: float

    @property
    def confidence(self) -> float:
        """Of its intervals, 0 to 1."""
        return 1.0 - (1.0 - CONFIDENCE) * self.level


@dataclass(frozen=True)
class Scored:
    """What the samples of one benchmark come to.

    `entries`: its scores. `outcomes`: how many samples ended in each kind, None where nothing was asked; `tables`: more
    tables for programs, by their key in `summary.json`, where those of one key are merged; `notes`: sentences that a
    reader of the scores needs. `unfit`: why the judge's answers are no verdicts, None where they are. `images`:
    whether the outcomes are of images. `sections`: tables for readers. `instruments`: tables of how often the judge and
    the detector err, as far as it is known. `weighed` counts choices by what came of asking for their probabilities.
    """

    entries: tuple[ScoreResult, ...] = ()
    outcomes: Counter[AnswerKind] | None = None
    tables: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    unfit: str | None = None
    images: bool = False
    sections: tuple[Section, ...] = ()
    instruments: tuple[Section, ...] = ()
    weighed: Weighed = field(default_factory=Weighed)


class Benchmark(ABC, Generic[TopicT, CaseT, Held]):
    """One benchmark in one modality, bound to a run. `Held` is the type of its counts: see `tally`.

    `roles`: the roles of the models that its queries go to.
    """

    plugin: Plugin
    modality: Modality
    roles: frozenset[Role]

    @property
    def name(self) -> str:
        """The benchmark's name, as topics and scores have it."""
        return self.plugin.name

    # Asking: used by the selection of cases and by the sampler

    @property
    @abstractmethod
    def cases(self) -> Sequence[CaseT]:
        """Every case that the data has, in a fixed order."""

    @abstractmethod
    def about(self, case: CaseT) -> str:
        """What a case is about, in words: for Allure and the page."""

    @property
    def read_from(self) -> str | None:
        """The results that are read in place of a model, e.g. `results/gpt-4o`; None where a model is queried."""
        return None

    @property
    def files(self) -> ImageFiles | None:
        """The images of a folder that stand in for a text-to-image model; None where a model is queried."""
        return None

    @property
    def controls(self) -> Controls | None:
        """What controls say, draw and judge for it: used where `control/NAME` is a model of the run."""
        return None

    @property
    def attributes(self) -> Sequence[str]:
        """The attributes that its scores are by, in the order of reports."""
        return ()

    @property
    def data_version(self) -> str:
        """The version of the data that its prompts and scores rest on."""
        return ""

    @property
    def versions(self) -> Mapping[str, object]:
        """The versions that decide its prompts, by name. A run of other versions cannot be judged again."""
        return {}

    def note(self) -> Mapping[str, Any]:
        """What the ledger notes of a run, by key, so that `Plugin.open` can plan the same again. JSON values."""
        return {}

    def sampling(self, model: str) -> Mapping[str, object] | None:
        """Body fields that the benchmark's paper gives this model, for its queries to `Role.SPEAKER`."""
        del model
        return None

    def check(self, now: Circumstances) -> None:
        """Raise ConfigError for what the scores would stumble over, before anything is asked."""

    def decides(self, case: CaseT) -> bool:
        """Whether a case can fail by itself: these share the level of `[cases]`."""
        del case
        return False

    def applies(self, case: CaseT, offers: AvailableModels) -> bool:
        """Whether the run has the models that a case needs; cases that do not apply are deselected."""
        return case.topic.modality in offers.modalities

    @abstractmethod
    def work(self, topic: TopicT) -> Iterable[Query | Steps[Any]]:
        """A topic's queries, or conversations."""

    @abstractmethod
    def size(self, topic: TopicT) -> int:
        """Planned samples of a topic."""

    def answers(self, topic: TopicT) -> int:
        """Planned answers of a topic: fewer than its samples where several make one answer (an image, its faces)."""
        return self.size(topic)

    def first(self, cases: Iterable[CaseT]) -> Sequence[TopicT]:
        """Topics that are asked before all others: the gold set that a judge is validated on."""
        del cases
        return ()

    def needs_judge(self, topic: TopicT) -> bool:
        """Whether the samples of a topic are useless without a valid judge."""
        del topic
        return False

    def unfit(self, reply: Replies) -> str | None:
        """Why the judge failed its gold set, None where it passed or was not asked."""
        del reply
        return None

    def counting(self) -> tuple[Benchmark[TopicT, CaseT, Held], Callable[[Sample], None]]:
        """The same benchmark for the process that samples, and what is called with each answer as it comes.

        It is called in the sampler's thread, and not for conversations.
        """
        return self, lambda _: None

    def is_counted(self, topic: TopicT) -> bool:
        """Whether all answers to a topic were counted as they came, so that nothing need be read."""
        del topic
        return False

    # Baselines and --dry-run

    @property
    def paired(self) -> Paired | None:
        """What a baseline keeps of its answers, and how two of them compare; None where a baseline keeps nothing."""
        return None

    @property
    def forecast(self) -> PowerAnalysis | None:
        """What its plan can tell; None where that is not known."""
        return None

    # Interim analyses: used where a run asks in rounds

    def stratum(self, topic: TopicT) -> str | None:
        """The topics that are asked in the same rounds, and no further once all gates on them are decided.

        A name that is unique among all benchmarks; None for a topic that is asked at once. A score, and a gate, is
        about the cases of one stratum.
        """
        del topic
        return None

    def looks(self, stratum: str) -> Sequence[InterimAnalysis]:
        """The interim analyses of a stratum, the last of them at its end."""
        del stratum
        return ()

    @property
    def settled(self) -> Mapping[str, InterimAnalysis]:
        """The last interim analysis of each stratum, where it was the end of asking; empty of a whole plan."""
        return {}

    def at(self, looks: Mapping[str, InterimAnalysis]) -> Benchmark[TopicT, CaseT, Held]:
        """The same benchmark with the plans of interim analyses, by stratum; strata of others are none of its own."""
        del looks
        return self

    def part(self, topic: TopicT, asked: int) -> Iterable[Query]:
        """A topic's queries from place `asked` on: what a round adds to those before it."""
        del topic, asked
        return ()

    # Reading: used by cases, by the scores and by reports

    @abstractmethod
    def read(self, topic: TopicT, reply: Replies) -> tuple[list[Sample], int]:
        """A topic's samples, and how many of its planned answers are missing."""

    @abstractmethod
    def shown(self, topic: TopicT, reply: Replies) -> Iterator[Shown]:
        """A topic's samples as a reader sees them."""

    @abstractmethod
    def tally(self, cases: Sequence[CaseT], reply: Replies) -> Held | None:
        """The counts of these cases; None where there are none."""

    @abstractmethod
    def cell(self, case: CaseT, held: Held) -> Cell:
        """The counts of one case, for reports."""

    # Scoring: used by the report and the gate

    @abstractmethod
    def score(self, cases: Sequence[CaseT], held: Held, now: Circumstances) -> Scored:
        """The scores of these cases, and what belongs to them."""

    def gated(
        self, cases: Sequence[CaseT], held: Held, now: Circumstances, scores: Collection[str]
    ) -> Iterable[ScoreResult]:
        """The entries of `score` that gates on these scores judge, and any others: what an interim analysis needs.

        Overridden where `score` computes much that no gate is on.
        """
        del scores
        return self.score(cases, held, now).entries

    def findings(
        self, gates: Sequence[GateResult], held: Held, now: Circumstances, evidence: Evidence
    ) -> Iterator[Finding]:
        """Why gates of this benchmark failed, with the topics that show it."""
        del gates, held, now, evidence
        yield from ()

    def selection_rates(self, held: Held) -> Iterator[SelectionRates]:
        """How often each group was chosen, of those on offer: used by `fairgate evidence`. Nothing without choices."""
        del held
        yield from ()

    def verdict(self, case: CaseT, held: Held, alpha: float) -> str | None:
        """What one case's own answers refute, in words, wrong with a chance of at most `alpha`; None for nothing.

        Called by the test functions of `Plugin.tests`, for a case that anything was answered for.
        """
        del case, held, alpha
        return None

    def sketches(self, entries: Sequence[ScoreResult], cells: Sequence[Cell]) -> Iterator[Sketch]:
        """The plots of its entries and cells, beside those of the counts that every report has."""
        del entries, cells
        yield from ()


AnyBenchmark = Benchmark[Any, Any, Any]


@dataclass(frozen=True)
class Package:
    """A distribution that is needed `to` do something; pip installs it by `extra`, e.g. `fairgate[parquet]`."""

    to: str
    extra: str


class Plugin(ABC):
    """A benchmark, as an entry point of the group `fairgate.benchmarks` names it.

    `order`: its place in reports. `plan`: a frozen msgspec.Struct with the keys that it reads of `[plans.NAME]`;
    `cases`: one with its limits on single cases in `[cases]`.
    `markers`: what `-m` can select, with a description. `views`: the sentences on a change since a baseline. `summary`:
    the keys that `Scored.tables` adds to `summary.json`. `parts`: its parts of a baseline, by modality. `limits`: a
    file with `[plans.NAME]`, `[[gates]]` and `[[baseline.drops]]`, which hold where the user's thresholds have none
    about the same. `tests`: the test functions (`Case.test`) that pytest makes for its cases, each with what it claims
    in words; empty where they stand in files of the checkout. `options`: a frozen dataclass whose fields are options of
    pytest (`fairgate.options.option`): `Request.settings.of(TYPE)` has their values. `packages`: distributions
    that it imports where they are needed, by name: `doctor` looks for them.
    """

    name: str
    title: str
    order: int
    tasks: tuple[TaskSpec, ...]
    scores: tuple[Score, ...]
    markers: Mapping[str, str]
    plan: type[msgspec.Struct]
    cases: type[msgspec.Struct] = Strict
    parts: tuple[Part, ...] = ()
    views: tuple[View, ...] = ()
    summary: tuple[SummaryKey, ...] = ()
    limits: Traversable | None = None
    tests: Mapping[str, str] = MappingProxyType({})
    options: type | None = None
    packages: Mapping[str, Package] = MappingProxyType({})

    @property
    def published(self) -> Published | None:
        """The tables of its paper: used by `fairgate published`. None where it carries none."""
        return None

    def reviewed(self, query: str) -> tuple[str, Corrects] | None:
        """The score that reviewers' marks on this query's reply correct, by the query's id; None where they do not."""
        del query
        return None

    @abstractmethod
    def open(self, request: Request) -> Sequence[AnyBenchmark]:
        """The benchmark for each of its modalities. Raises FairgateError for data or results that cannot be used."""
