"""What a run would ask, take, cost and be able to tell, before anything is asked."""

from __future__ import annotations

import asyncio
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from fairgate.benchmarks.forecast import Target
from fairgate.benchmarks.registry import registry
from fairgate.domain import Form, Modality, Query, Reply
from fairgate.maths.power import ALIKE, from_baseline
from fairgate.replies.faces import Reading
from fairgate.store.images import said as image_said
from fairgate.store.ledger import Ledger
from fairgate.store.samples import replay
from fairgate.verdicts.thresholds import RATES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fairgate.benchmarks.base import AnyBenchmark, Replies
    from fairgate.benchmarks.forecast import PowerAnalysis
    from fairgate.domain import Topic
    from fairgate.runs.run import Run
    from fairgate.runs.selection import Selection
    from fairgate.verdicts.thresholds import GateLimit

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


@dataclass(frozen=True)
class Asked:
    """What one model would be asked: calls, and tokens there and back; `counted` names the tokenizer, or how else."""

    name: str
    calls: int
    prompt: float
    completion: float
    counted: str
    usd: float | None


@dataclass(frozen=True)
class Detects:
    """What the plan finds in four of five runs: points beyond the limit, or moved since the baseline (paired).

    None where it finds nothing short of the whole scale, or where that is not known.
    """

    score: str
    attribute: str
    where: str
    limit: str
    beyond: float | None
    moved: float | None


@dataclass(frozen=True)
class Forecast:
    """A run before it is one. `planned` samples, of which the ledger holds `held`; `distinct` prompts to be sent."""

    cases: int
    planned: int
    held: int
    distinct: int
    asked: tuple[Asked, ...]
    seconds: float
    latency: float
    known_latency: bool
    at_once: int
    detects: tuple[Detects, ...]
    notes: tuple[str, ...]

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
    """What this run would do. Makes the models, whose names the ledger knows them by, and asks them nothing."""
    ledger = Ledger(run.settings.ledger, write=False) if run.settings.ledger.exists() else None
    try:
        return _forecast(run, selected, ledger)
    finally:
        if ledger is not None:
            ledger.close()
        for model in (
            {id(model): model for model in run.participants.models.values()}.values() if run.participants.roles else ()
        ):
            asyncio.run(model.close())


def _forecast(run: Run, selected: Selection, ledger: Ledger | None) -> Forecast:
    names = {role: run.participants.identity_of(role) for role in run.participants.roles}
    stored: Replies = _nothing if ledger is None else run.participants.replies(ledger)
    counts = {label: _Count(label) for label in {identity.label for identity in names.values()}}
    calls, prompts, completions = Counter[str](), Counter[str](), Counter[str]()
    texts: set[bytes] = set()
    held, latency = 0, _latency(ledger)
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
            if query.form in UNCOUNTED:
                sent = sent if query.form is Form.IMAGE else []
            prompts[label] += sum(map(counts[label], sent))  # type: ignore[assignment] # a Counter adds fractions too
            said = "" if query.form in UNCOUNTED else USUAL.get(query.form, "")
            completions[label] += counts[label](said)  # type: ignore[assignment] # as above
            texts.add(
                crc32(query.text.encode("utf-8", "replace")).to_bytes(4, "big") + len(query.text).to_bytes(4, "big")
            )
        held += here
    planned = sum(map(run.size, selected.asked))
    prices = run.participants.prices
    asked = tuple(
        Asked(
            label,
            calls[label],
            prompts[label],
            completions[label],
            counts[label].how,
            prices[label].of(prompts[label], completions[label], calls[label]) if label in prices else None,
        )
        for label in sorted(calls)
    )
    at_once = run.settings.max_in_flight
    seconds = (planned - held) * (latency or SECONDS) / at_once
    if run.settings.requests_per_minute:
        seconds = max(seconds, 60 * (planned - held) / run.settings.requests_per_minute)
    return Forecast(
        cases=len(selected.cases),
        planned=planned,
        held=held,
        distinct=len(texts),
        asked=asked,
        seconds=seconds,
        latency=latency or SECONDS,
        known_latency=latency is not None,
        at_once=at_once,
        detects=tuple(_detects(run, selected, stored)),
        notes=tuple(_notes(run, selected)),
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


def _latency(ledger: Ledger | None) -> float | None:
    return None if ledger is None else ledger.mean_latency()


def _notes(run: Run, selected: Selection) -> Iterator[str]:
    for benchmark, power in _analysed(run):
        yield from power.notes(selected.of(benchmark))
    if run.settings.stop_early:
        yield "--stop-early asks no more than that, and fewer where every gate is decided before."
    if run.settings.budget_calls or run.settings.budget_tokens or run.settings.budget_usd:
        yield "A budget ends the run when it is spent."


def _analysed(run: Run) -> list[tuple[AnyBenchmark, PowerAnalysis]]:
    """The benchmarks that say what their plans can tell."""
    return [(each, each.forecast) for each in run.benchmarks.all if each.forecast is not None]


def _detects(run: Run, selected: Selection, stored: Replies) -> Iterator[Detects]:
    """By limit and attribute, for what was selected; each row once, whatever the number of contexts."""
    done: set[tuple[object, ...]] = set()
    family = _Family(run, selected)
    for limit in run.thresholds.gates:
        bound = limit.min if limit.min is not None else limit.max
        found = _of_task(run, limit)
        if limit.score in RATES or bound is None or found is None:
            continue
        benchmark, power = found
        cases = selected.of(benchmark)
        for attribute in power.attributes(limit.task):
            if attribute is not None and limit.attribute not in (None, attribute):
                continue
            contexts = [c for c in limit.contexts if (limit.modality, limit.task, c, attribute) in family.cells]
            if not contexts:
                continue
            rng = np.random.default_rng([run.settings.seed, crc32(repr((limit.score, attribute, bound)).encode())])
            target = Target(limit.score, limit.task, contexts[0], attribute, bound / 100)
            told = power.detectable(target, cases, stored, rng)
            row = (limit.modality, limit.task, limit.score, attribute, bound, told.sizes)
            if row in done:
                continue
            done.add(row)
            spec = registry().score(limit.score, limit.modality, limit.task)
            room = WHOLE - bound if spec is not None and spec.less_is_better else bound
            moved = None
            if told.error is not None and (limit.score, limit.task, limit.modality) in family.drops:
                moved = _within(100 * from_baseline(told.error, family.comparisons, family.alpha, ALIKE), room)
            sign = ">=" if limit.min is not None else "<="
            where = _where(limit.task, contexts)
            # A task of one name in both modalities: that of the second is told apart.
            twice = any(other.attributes(limit.task) for each, other in _analysed(run) if each is not benchmark)
            where = f"{where}, {benchmark.modality}s" if twice and benchmark.modality is not FIRST else where
            far = None if told.beyond is None else _within(100 * told.beyond, room)
            yield Detects(limit.score, attribute or "", where, f"{sign} {bound:g}", far, moved)


def _of_task(run: Run, limit: GateLimit) -> tuple[AnyBenchmark, PowerAnalysis] | None:
    """The benchmark that a limit is about."""
    every = ((each, power) for each, power in _analysed(run) if each.modality is limit.modality)
    return next(((each, power) for each, power in every if power.attributes(limit.task)), None)


class _Family:
    """What is compared with a baseline: `comparisons` limits on drops are held at once."""

    def __init__(self, run: Run, selected: Selection) -> None:
        limits = run.thresholds.baseline
        self.alpha = 0.05 if limits is None else limits.alpha
        self.drops = frozenset() if limits is None else {(d.score, d.task, d.modality) for d in limits.drops}
        self.cells: frozenset[tuple[Modality, str, str | None, str | None]] = frozenset(
            (benchmark.modality, *cell)
            for benchmark, power in _analysed(run)
            for cell in power.cells(selected.of(benchmark))
        )
        compared = Counter((modality, task) for modality, task, *_ in self.cells)
        self.comparisons = sum(compared[modality, task] for _, task, modality in self.drops)


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
            f"{each.name}: {each.calls:,} calls, about {each.prompt:,.0f} tokens in prompts and {each.completion:,.0f} "
            f"in replies (prompts {each.counted}; replies assumed as short as asked for): {cost}."
        )
    how = "as in this ledger so far" if found.known_latency else "assumed"
    told.append(
        f"About {_duration(found.seconds)} at {found.at_once} requests at once and {found.latency:.2g} s each ({how})."
    )
    told += found.notes
    wrapped = [line for sentence in told for line in textwrap.wrap(sentence, WIDTH, subsequent_indent="  ")]
    if found.detects:
        wrapped += ["", f"{'found in four of five runs':<40}{'limit':>9}{'beyond it':>14}{'since baseline':>17}"]
        for row in found.detects:
            name = f"  {' '.join(filter(None, (row.score, row.attribute)))}, {row.where}"
            wrapped.append(f"{name:<40}{row.limit:>9}{_points(row.beyond):>14}{_points(row.moved):>17}")
        wrapped += textwrap.wrap(
            "Points that a model must be beyond the limit for its gate to fail, or must have moved since the baseline "
            f"for that to be beyond chance, where {100 * ALIKE:.0f} % of its answers are as they were. A dash: not to "
            "be found.",
            WIDTH,
        )
    return [*wrapped, "", "Nothing was asked."]


def _counts(found: Forecast) -> str:
    return (
        f"{found.cases:,} cases, {found.planned:,} samples: {found.held:,} are in the ledger, {found.calls:,} would be "
        f"asked ({found.distinct:,} different prompts)."
    )


def _points(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
