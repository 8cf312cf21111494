"""What a run would ask, take, cost and be able to tell, before anything is asked."""

from __future__ import annotations

import asyncio
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from fairgate.domain import Context, Form, Modality, Query, Reply, Task
from fairgate.fact_or_fair.cases import Case
from fairgate.fact_or_fair.power import ALIKE, FIELDS, from_baseline, from_limit, standard_error
from fairgate.store.ledger import Ledger
from fairgate.store.samples import replay
from fairgate.verdicts.thresholds import LESS_IS_BETTER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fairgate.domain import AnyTopic
    from fairgate.fact_or_fair.counts import FloatArray
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
}
SECONDS = 1.0  # a call, where the ledger knows of none
# Beyond which a difference cannot be: nothing of use is found.
WHOLE = 100.0


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
    ledger = Ledger(run.settings.ledger) if run.settings.ledger.exists() else None
    try:
        return _forecast(run, selected, ledger)
    finally:
        if ledger is not None:
            ledger.close()
        for model in {id(model): model for model in run.cast.models.values()}.values() if run.cast.roles else ():
            asyncio.run(model.close())


def _forecast(run: Run, selected: Selection, ledger: Ledger | None) -> Forecast:
    names = {role: run.cast.identity_of(role) for role in run.cast.roles}
    counts = {label: _Count(label) for label in {identity.label for identity in names.values()}}
    calls, prompts, completions = Counter[str](), Counter[str](), Counter[str]()
    texts: set[bytes] = set()
    held, latency = 0, _latency(ledger)
    for topic in selected.asked:
        here = 0
        for query, reply in _walk(run, topic, ledger):
            if query.again:
                continue
            if reply is not None:
                here += 1
                continue
            label = names[query.to].label
            sent = [each.content for each in query.messages]
            calls[label] += 1
            prompts[label] += sum(map(counts[label], sent))  # type: ignore[assignment] # a Counter adds fractions too
            completions[label] += counts[label](USUAL.get(query.form, ""))  # type: ignore[assignment] # as above
            texts.add(
                crc32(query.text.encode("utf-8", "replace")).to_bytes(4, "big") + len(query.text).to_bytes(4, "big")
            )
        held += here
    planned = sum(map(run.size, selected.asked))
    prices = run.cast.prices
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
        detects=tuple(_detects(run, selected)),
        notes=tuple(_notes(run, selected)),
    )


def _walk(run: Run, topic: AnyTopic, ledger: Ledger | None) -> Iterator[tuple[Query, Reply | None]]:
    """Every query of a topic with what is stored, conversations carried on by usual replies where nothing is."""

    def stored(query: Query) -> Reply | None:
        return None if ledger is None else ledger.reply(run.cast.identity_of(query.to), query)

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
    if selected.themes:
        yield "F²Bench: replies are taken as long as usual; what it can tell depends on the judge, and is not forecast."
    if run.settings.stop_early:
        yield "--stop-early asks no more than that, and fewer where every gate is decided before."
    if run.settings.budget_calls or run.settings.budget_tokens or run.settings.budget_usd:
        yield "A budget ends the run when it is spent."


def _detects(run: Run, selected: Selection) -> Iterator[Detects]:
    cases = [case for case in selected.cases if isinstance(case, Case) and case.topic.modality is Modality.TEXT]
    drops = {} if run.thresholds.baseline is None else {(d.score, d.task): d for d in run.thresholds.baseline.drops}
    cells = {(case.topic.task, case.topic.context, case.attribute) for case in cases}
    comparisons = sum(task is of for _, task in drops for of, _, _ in cells)
    alpha = 0.05 if run.thresholds.baseline is None else run.thresholds.baseline.alpha
    done: set[tuple[object, ...]] = set()
    for limit in run.thresholds.gates:
        if limit.score not in FIELDS or limit.modality is not Modality.TEXT:
            continue
        for attribute in (each.name for each in run.dataset.attributes):
            contexts = [c for c in limit.contexts if (limit.task, c, attribute) in cells]
            bound = limit.min if limit.min is not None else limit.max
            if not contexts or bound is None or limit.attribute not in (None, attribute):
                continue
            n = _sizes(run, cases, limit.task, contexts[0], attribute)
            what = (limit.score, attribute, bound, n.tobytes())
            if what in done:
                continue
            done.add(what)
            rng = np.random.default_rng([run.settings.seed, crc32(repr(what[:3]).encode())])
            error = standard_error(limit.score, bound / 100, n, run.dataset.attribute(attribute).k, rng)
            drop = drops.get((limit.score, limit.task))
            beyond = moved = None
            if error is not None:
                room = WHOLE - bound if limit.score in LESS_IS_BETTER else bound
                beyond = _within(100 * from_limit(error), room)
                if drop is not None:
                    moved = _within(100 * from_baseline(error, comparisons, alpha, ALIKE), room)
            sign = ">=" if limit.min is not None else "<="
            yield Detects(limit.score, attribute, _where(limit.task, contexts), f"{sign} {bound:g}", beyond, moved)


def _within(points: float, room: float) -> float | None:
    return points if points <= room else None


def _where(task: Task, contexts: Sequence[Context | None]) -> str:
    named = [str(context) for context in contexts if context is not None]
    return str(task) if not named else named[0] if len(named) == 1 else f"{len(named)} contexts"


def _sizes(run: Run, cases: Sequence[Case], task: Task, context: Context | None, attribute: str) -> FloatArray:
    """Planned answers [S, 2] of the selected topics."""
    places = {statistic.slug: s for s, statistic in enumerate(run.dataset.statistics)}
    n = np.zeros((len(places), 2))
    for case in cases:
        topic = case.topic
        if (topic.task, topic.context, case.attribute) == (task, context, attribute):
            n[places[topic.statistic], ["high", "low"].index(topic.level)] = run.text.plan.size(topic)
    return n


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
            name = f"  {row.score} {row.attribute}, {row.where}"
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
