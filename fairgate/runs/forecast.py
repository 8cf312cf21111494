"""What a run would ask, take, cost and be able to tell, before anything is asked."""

from __future__ import annotations

import asyncio
import math
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from fairgate.benchmarks.forecast import Target
from fairgate.benchmarks.limits import RATES
from fairgate.benchmarks.registry import registry
from fairgate.core.domain import Form, Modality, Query, Reply, Role
from fairgate.core.plural import counted
from fairgate.core.statistics.power import ALIKE, from_baseline, from_limit, unchanged
from fairgate.ledger.images import said as image_said
from fairgate.ledger.ledger import Ledger
from fairgate.ledger.samples import replay
from fairgate.replies.faces import Reading
from fairgate.runs.probe import probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fairgate.benchmarks.base import AnyBenchmark
    from fairgate.benchmarks.case import Replies
    from fairgate.benchmarks.forecast import PowerAnalysis
    from fairgate.benchmarks.limits import GateLimit
    from fairgate.core.domain import Topic
    from fairgate.runs.run import Run
    from fairgate.runs.selection import Selection

WIDTH = 80
CHARACTERS = 4.0  # a token in English, about
# Replies as long as they usually are, to carry a conversation on, and to count what comes back.
USUAL = {
    Form.CHOICE: '{"answer": "A"}',
    Form.TEXT: "Both of them know what they want, and work for it day by day. " * 8,
    Form.VERDICT: "No.",
    Form.MARK: "8",
    Form.KIND: "none",
    Form.IMAGE: image_said("0" * 64),
    Form.FACES: Reading((1024, 1024)).to_json(),
    Form.PERSON: '{"gender": "unknown", "race": "unknown", "age": "unknown"}',
}
# What is no text has no tokens.
UNCOUNTED = (Form.IMAGE, Form.FACES)
SECONDS = 1.0  # a call, where the ledger knows of none
# Beyond which a difference cannot be: nothing of use is found.
WHOLE = 100.0
FIRST = Modality.TEXT
COLUMNS = 4  # rounds that the table shows


@dataclass(frozen=True)
class ModelForecast:
    """What one model would be asked: calls, and tokens there and back; `counted` names the tokenizer, or how else.

    `learnt`: so many replies in the ledger say how long others will be.
    """

    name: str
    calls: int
    prompt: float
    completion: float
    counted: str
    usd: float | None
    learnt: int = 0


@dataclass(frozen=True)
class Detects:
    """What the plan finds in four of five runs: points beyond the limit, or moved since the baseline (paired).

    None where it finds nothing short of the whole scale, or where that is not known. `most`: the limit on the move, and
    `resolved`: whether a model that did not change, of answers that are all drawn anew, stays within it in nine of ten.
    `by_round`: of a run in rounds, how far on either side of the limit it is decided after each, if all was asked on.
    """

    score: str
    attribute: str
    where: str
    limit: str
    beyond: float | None
    moved: float | None
    most: float | None = None
    resolved: bool = True
    by_round: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class Forecast:
    """A run before it is one. `planned` samples, of which the ledger holds `held`; `distinct` prompts to be sent.

    `latency` is the mean of a call in seconds; `timed`: all of it was measured with the same models.
    """

    cases: int
    planned: int
    held: int
    distinct: int
    asked: tuple[ModelForecast, ...]
    seconds: float
    latency: float
    timed: bool
    at_once: int
    probed: int
    detects: tuple[Detects, ...]
    notes: tuple[str, ...]
    rounds: tuple[int, ...] = ()

    @property
    def calls(self) -> int:
        """What would be asked for."""
        return self.planned - self.held


class _Count:
    """Tokens of texts, by a model's own tokenizer where it is known, else estimated."""

    def __init__(self, name: str) -> None:
        self.how = "estimated, 4 characters a token"
        self._encode: Callable[[str], Sequence[int]] | None = None
        try:
            import tiktoken

            encoding = tiktoken.encoding_for_model(name.rpartition("/")[2])
        except ImportError:
            return
        except Exception:  # noqa: BLE001 - it fetches its tables over the network, and fails in as many ways
            self.how += "; tiktoken does not know the model, or cannot fetch its table"
            return
        self._encode = lambda text: encoding.encode(text, disallowed_special=())
        self.how = f"counted with tiktoken, {encoding.name}"

    def __call__(self, text: str) -> float:
        return len(text) / CHARACTERS if self._encode is None else len(self._encode(text))


def forecast(run: Run, selected: Selection) -> Forecast:
    """What this run would do. Makes the models, whose names the ledger knows them by, and asks them nothing but what
    --probe allows.
    """
    settings = run.settings
    probed = (
        probe(run, selected.asked, settings.probe) if settings.probe and Role.MODEL in run.participants.roles else 0
    )
    ledger = Ledger(run.settings.ledger, write=False) if run.settings.ledger.exists() else None
    try:
        return _forecast(run, selected, ledger, probed)
    finally:
        if ledger is not None:
            ledger.close()
        for model in (
            {id(model): model for model in run.participants.models.values()}.values() if run.participants.roles else ()
        ):
            asyncio.run(model.close())


def _forecast(run: Run, selected: Selection, ledger: Ledger | None, probed: int) -> Forecast:
    names = {role: run.participants.identity_of(role) for role in run.participants.roles}
    stored: Replies = _nothing if ledger is None else run.participants.replies(ledger)
    counts = {label: _Count(label) for label in {identity.label for identity in names.values()}}
    learnt = {role: {} if ledger is None else ledger.mean_reply(names[role]) for role in names}
    from_ledger: dict[str, int] = {}
    calls, prompts, completions = Counter[str](), Counter[str](), Counter[str]()
    texts: set[bytes] = set()
    roles = Counter[Role]()
    held = 0
    for topic in selected.asked:
        here = 0
        for query, reply in _walk(run, topic, stored):
            if query.again:
                continue
            if reply is not None:
                here += 1
                continue
            label = names[query.to].label
            sent = [each.content for each in query.messages]
            calls[label] += 1
            roles[query.to] += 1
            if query.form in UNCOUNTED:
                sent = sent if query.form is Form.IMAGE else []
            prompts[label] += sum(map(counts[label], sent))  # type: ignore[assignment] # a Counter adds fractions too
            said = "" if query.form in UNCOUNTED else USUAL.get(query.form, "")
            n, mean = learnt[query.to].get(query.form, (0, counts[label](said)))
            from_ledger[label] = max(from_ledger.get(label, 0), n)
            completions[label] += mean  # type: ignore[assignment] # as above
            texts.add(
                crc32(query.text.encode("utf-8", "replace")).to_bytes(4, "big") + len(query.text).to_bytes(4, "big")
            )
        held += here
    planned = sum(map(run.size, selected.asked))
    prices = run.participants.prices
    asked = tuple(
        ModelForecast(
            label,
            calls[label],
            prompts[label],
            completions[label],
            counts[label].how,
            prices[label].of(prompts[label], completions[label], calls[label]) if label in prices else None,
            from_ledger[label],
        )
        for label in sorted(calls)
    )
    at_once = run.settings.max_in_flight
    known = {role: None if ledger is None else ledger.mean_latency(names[role]) for role in roles}
    whole = sum(n * (known[role] or SECONDS) for role, n in roles.items())
    seconds = whole / at_once
    if run.settings.requests_per_minute:
        seconds = max(seconds, 60 * (planned - held) / run.settings.requests_per_minute)
    return Forecast(
        cases=len(selected.cases),
        planned=planned,
        held=held,
        distinct=len(texts),
        asked=asked,
        seconds=seconds,
        latency=whole / roles.total() if roles else SECONDS,
        timed=None not in known.values() and bool(known),
        at_once=at_once,
        probed=probed,
        detects=tuple(_detects(run, selected, stored)),
        notes=tuple(_notes(run, selected)),
        rounds=tuple(_rounds(run, selected)),
    )


def _nothing(query: Query) -> Reply | None:
    del query
    return None


def _walk(run: Run, topic: Topic, stored: Replies) -> Iterator[tuple[Query, Reply | None]]:
    """Every query of a topic with what is stored, conversations carried on by usual replies where nothing is."""
    for each in run.benchmarks.of(topic).work(topic):
        if isinstance(each, Query):
            yield each, stored(each)
            continue
        seen: list[Reply | None] = []

        def reply(query: Query, seen: list[Reply | None] = seen) -> Reply:
            seen.append(stored(query))
            return seen[-1] or Reply(USUAL.get(query.form, ""))

        samples = replay(each, reply)[1]
        yield from ((sample.query, there) for sample, there in zip(samples, seen, strict=True))


def _notes(run: Run, selected: Selection) -> Iterator[str]:
    for benchmark, power in _analysed(run):
        yield from power.notes(selected.cases_of(benchmark))
    if len(rounds := _rounds(run, selected)) > 1:
        yield (
            f"Asked in rounds, of {rounds[0]:,} calls at first and {rounds[-1]:,} at most: it ends when a gate has "
            "failed, or all are decided."
        )
    if run.settings.budget_calls or run.settings.budget_tokens or run.settings.budget_usd:
        yield "A budget ends the run when it is spent; no round begins that it does not allow."


def _rounds(run: Run, selected: Selection) -> list[int]:
    """The calls of a run in rounds after each of them, if all was asked on; empty of another."""
    if not run.in_rounds:
        return []
    found = list[int]()
    looks = {stratum: run.whole.looks(stratum) for topic in selected.asked if (stratum := run.whole.stratum(topic))}
    for number in range(max(map(len, looks.values()), default=0)):
        plan = run.whole.at({stratum: each[min(number, len(each) - 1)] for stratum, each in looks.items()})
        found.append(sum(plan.of(topic).size(topic) for topic in selected.asked))
    return found


def _by_round(run: Run, error: float, topics: Sequence[Topic]) -> tuple[float, ...]:
    """How far from its limit a score of these topics is decided after each round, by its error under the plan."""
    stratum = run.whole.stratum(topics[0]) if run.in_rounds and topics else None
    looks = () if stratum is None else run.whole.looks(stratum)
    whole = sum(run.whole.of(topic).answers(topic) for topic in topics)
    found = []
    for look in looks:
        plan = run.whole.at({stratum or "": look})
        asked = sum(plan.of(topic).answers(topic) for topic in topics)
        found.append(100 * from_limit(error * math.sqrt(whole / asked), look.confidence))
    return tuple(found)


def _analysed(run: Run) -> list[tuple[AnyBenchmark, PowerAnalysis]]:
    """The benchmarks that say what their plans can tell."""
    return [(each, each.forecast) for each in run.benchmarks.all if each.forecast is not None]


def _detects(run: Run, selected: Selection, stored: Replies) -> Iterator[Detects]:
    """By limit and attribute, for what was selected; each row once, whatever the number of contexts."""
    done: set[tuple[object, ...]] = set()
    family = _Family(run, selected)
    for limit in run.thresholds.under(run.settings.plan).gates:
        bound = limit.min if limit.min is not None else limit.max
        found = _of_task(run, limit)
        if limit.score in RATES or bound is None or found is None:
            continue
        benchmark, power = found
        cases = selected.cases_of(benchmark)
        spec = registry().score(limit.score, limit.modality, limit.task)
        attributes = power.attributes(limit.task)
        if spec is not None and not spec.by_attribute:
            attributes = (None,) if attributes else ()
        for attribute in attributes:
            if attribute is not None and not limit.holds_for(attribute):
                continue
            contexts = [c for c in limit.contexts if family.has(limit.modality, limit.task, c, attribute)]
            if not contexts:
                continue
            rng = np.random.default_rng([run.settings.seed, crc32(repr((limit.score, attribute, bound)).encode())])
            target = Target(limit.score, limit.task, contexts[0], attribute, bound / 100)
            told = power.detectable(target, cases, stored, rng)
            row = (limit.modality, limit.task, limit.score, attribute, bound, told.sizes)
            if row in done:
                continue
            done.add(row)
            room = WHOLE - bound if spec is not None and spec.less_is_better else bound
            moved, most = None, family.drops.get((limit.score, limit.task, limit.modality))
            if told.error is not None and most is not None:
                moved = _within(100 * from_baseline(told.error, family.comparisons, family.alpha, ALIKE), room)
            sign = ">=" if limit.min is not None else "<="
            where = _where(limit.task, contexts)
            # A task of one name in both modalities: that of the second is told apart.
            twice = any(other.attributes(limit.task) for each, other in _analysed(run) if each is not benchmark)
            where = f"{where}, {benchmark.modality}s" if twice and benchmark.modality is not FIRST else where
            far = None if told.beyond is None else _within(100 * told.beyond, room)
            held = [
                case.topic
                for case in cases
                if (case.topic.task, case.context) == (limit.task, contexts[0]) and attribute in (None, case.attribute)
            ]
            rounds = () if told.error is None else _by_round(run, told.error, held)
            by_round = tuple(_within(each, room) for each in rounds)
            resolved = told.error is None or most is None or 100 * unchanged(told.error) <= most
            yield Detects(
                limit.score, attribute or "", where, f"{sign} {bound:g}", far, moved, most, resolved, by_round
            )


def _of_task(run: Run, limit: GateLimit) -> tuple[AnyBenchmark, PowerAnalysis] | None:
    """The benchmark that a limit is about."""
    every = ((each, power) for each, power in _analysed(run) if each.modality is limit.modality)
    return next(((each, power) for each, power in every if power.attributes(limit.task)), None)


class _Family:
    """What is compared with a baseline: `comparisons` limits on drops are held at once."""

    def __init__(self, run: Run, selected: Selection) -> None:
        limits = run.thresholds.baseline
        self.alpha = 0.05 if limits is None else limits.alpha
        under = () if limits is None else limits.under(run.settings.plan)
        self.drops = {(drop.score, drop.task, drop.modality): most for drop, most in under}
        self.cells: frozenset[tuple[Modality, str, str | None, str | None]] = frozenset(
            (benchmark.modality, *cell)
            for benchmark, power in _analysed(run)
            for cell in power.cells(selected.cases_of(benchmark))
        )
        compared = Counter((modality, task) for modality, task, *_ in self.cells)
        self._whole = {cell[:3] for cell in self.cells}
        self.comparisons = sum(compared[modality, task] for _, task, modality in self.drops)

    def has(self, modality: Modality, task: str, context: str | None, attribute: str | None) -> bool:
        """Whether anything is selected that such a score is of."""
        cell = modality, task, context
        return (*cell, attribute) in self.cells or (attribute is None and cell in self._whole)


def _within(points: float, room: float) -> float | None:
    return points if points <= room else None


def _where(task: str, contexts: Sequence[str | None]) -> str:
    named = [str(context) for context in contexts if context is not None]
    return str(task) if not named else named[0] if len(named) == 1 else f"{len(named)} contexts"


def lines(found: Forecast) -> list[str]:
    """The forecast as plain lines of at most 80 columns."""
    told = [_counts(found)]
    for each in found.asked:
        cost = "no price in [prices] of the thresholds" if each.usd is None else f"about {each.usd:,.2f} USD"
        told.append(
            f"{each.name}: {counted(each.calls, 'call')}, about {each.prompt:,.0f} tokens in prompts and "
            f"{each.completion:,.0f} in replies (prompts {each.counted}; replies {_length(each)}): {cost}."
        )
    how = "as these models took in this ledger" if found.timed else "assumed for a model without replies in this ledger"
    told.append(
        f"About {_duration(found.seconds)} at {counted(found.at_once, 'request')} at once, "
        f"{found.latency:.2g} s each ({how})."
    )
    told += found.notes
    wrapped = [line for sentence in told for line in textwrap.wrap(sentence, WIDTH, subsequent_indent="  ")]
    if found.detects and found.rounds:
        wrapped += _table_of_rounds(found)
    elif found.detects:
        wrapped += ["", f"{'found in four of five runs':<40}{'limit':>9}{'beyond it':>14}{'since baseline':>17}"]
        for row in found.detects:
            name = f"  {' '.join(filter(None, (row.score, row.attribute)))}, {row.where}"
            wrapped.append(f"{name:<40}{row.limit:>9}{_points(row.beyond):>14}{_since(row):>17}")
        wrapped += textwrap.wrap(
            "Points that a model must be beyond the limit for its gate to fail, or must have moved since the baseline "
            f"for that to be beyond chance, where {100 * ALIKE:.0f} % of its answers are as they were. A dash: not to "
            "be found. In brackets the limit on a change; with an exclamation mark the plan does not resolve it: an "
            "unchanged model whose answers are all drawn anew is inconclusive in more than one run in ten.",
            WIDTH,
        )
    asked = f"{counted(found.probed, 'sample')} asked and kept in the ledger." if found.probed else "Nothing was asked."
    return [*wrapped, "", asked]


def _length(asked: ModelForecast) -> str:
    if asked.learnt:
        return f"as long as {asked.learnt:,} of the same model in this ledger"
    return "assumed as short as asked for: --probe 20 asks a few"


def _table_of_rounds(found: Forecast) -> list[str]:
    last = len(found.rounds) - 1
    shown = [number for number in range(last + 1) if number < COLUMNS - 1 or number == last]
    told = ["", f"{'decided in four of five runs, after':<44}" + "".join(f"{found.rounds[n]:>9,}" for n in shown)]
    for row in found.detects:
        name = f"  {' '.join(filter(None, (row.score, row.attribute)))} {row.limit}, {row.where}"
        # What has fewer looks has been asked whole by then.
        cells = (row.by_round[min(n, len(row.by_round) - 1)] if row.by_round else row.beyond for n in shown)
        told.append(f"{name:<44}" + "".join(f"{_points(each):>9}" for each in cells))
    more = "Columns are calls, rows points that a model must be beyond the limit to fail, or within it to pass."
    return [*told, *textwrap.wrap(f"{more} A dash: not detectable.", WIDTH)]


def _counts(found: Forecast) -> str:
    return (
        f"{counted(found.cases, 'case')}, {counted(found.planned, 'sample')}: {found.held:,} in the ledger, "
        f"{found.calls:,} to ask ({counted(found.distinct, 'different prompt')})."
    )


def _since(row: Detects) -> str:
    limit = "" if row.most is None else f" ({row.most:g}{'' if row.resolved else '!'})"
    return f"{_points(row.moved)}{limit}"


def _points(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
