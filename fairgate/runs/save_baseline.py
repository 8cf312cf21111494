"""What a run asked and what came of it, as a baseline keeps it: versions and letters, nothing that a model said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.paired import Baseline, belongs
from fairgate.comparison.baseline import merged
from fairgate.comparison.paired_comparison import MODALITIES
from fairgate.core.errors import ConfigError
from fairgate.ledger.paths import is_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairgate.benchmarks.base import AnyBenchmark
    from fairgate.benchmarks.case import Replies
    from fairgate.benchmarks.paired import Paired, Part, Shares
    from fairgate.comparison.paired_comparison import Side
    from fairgate.core.domain import Topic
    from fairgate.runs.run import Run
    from fairgate.runs.selection import Selection


def sides_of(run: Run) -> list[Side]:
    """The parts of all benchmarks of a run, with what it was asked with."""
    return [(paired.part, paired) for _, paired in _of(run)]


def parts_of(run: Run) -> list[Part]:
    """The parts that a baseline of this run can have."""
    return [paired.part for _, paired in _of(run)]


def _of(run: Run) -> list[tuple[AnyBenchmark, Paired]]:
    """The benchmarks of which a baseline keeps anything, in the order of the file: by modality."""
    found = [(each, each.paired) for each in run.benchmarks.all if each.paired is not None]
    return sorted(found, key=lambda each: MODALITIES.index(each[0].modality))


def asked_by(run: Run) -> dict[str, Any]:
    """Which queries there are, and how many, whatever was selected: `asked` of a baseline."""
    return _asked(run, [paired.part for benchmark, paired in _of(run) if _is_asked(run, benchmark)])


def _is_asked(run: Run, benchmark: AnyBenchmark) -> bool:
    """Whether the run has models for it, whichever cases are selected."""
    return benchmark.modality in run.participants.sampled and any(
        benchmark.applies(case, run.offers) for case in benchmark.cases
    )


def _asked(run: Run, held: Iterable[Part]) -> dict[str, Any]:
    """The values of these parts. Those of the part without a key are always written, then without sizes."""
    found: dict[str, Any] = {}
    there = {*held}
    for _, paired in _of(run):
        part = paired.part
        if part.key is None:
            found |= paired.asked()
            found |= {} if part in there else dict.fromkeys(part.sizes)
        elif part in there:
            found[part.key] = dict(paired.asked())
    return found | {"seed": run.settings.seed, "plan": run.settings.plan}


def check_keeping(run: Run) -> None:
    """Raise ConfigError for a run of which no baseline can be saved, before anything is asked."""
    if run.settings.save_baseline is None:
        return
    where = f"--save-baseline {run.settings.save_baseline}"
    if is_of(run.settings.ledger, run.settings.save_baseline):
        raise ConfigError("is the ledger's own file.", where=where, hint="Name another one.")
    if not run.participants.roles:
        raise ConfigError("there are no answers to save: results in files have no queries.", where=where)
    if run.settings.shard is not None:
        raise ConfigError(
            "a shard is a part of a run.",
            where=where,
            hint="Merge the shards, and save it with `fairgate gate`.",
        )


def kept(run: Run, selection: Selection) -> Baseline:
    """What the ledger holds of the selected cases; without what a judge said that is not fit."""
    letters: dict[str, str] = {}
    distinct: dict[str, int] = {}
    shares: dict[str, Shares] = {}
    held: list[Part] = []
    with run.participants.stored() as reply:
        for benchmark, paired in _of(run):
            topics = [topic for topic in selection.asked if belongs(topic, paired.part)]
            topics = _fit(benchmark, topics, reply)
            for topic in topics:
                letters[topic.id], distinct[topic.id] = paired.letters(topic, reply)
                if run.settings.probabilities and (found := paired.shares(topic, reply)):
                    shares[topic.id] = found
            held += [paired.part] if topics else []
    sampled = {*run.participants.sampled}
    groups = merged(
        paired.groups() for _, paired in _of(run) if paired.part.key is None or paired.part.modality in sampled
    )
    modalities = sorted({part.modality for part in held} & sampled, key=MODALITIES.index)
    models = dict.fromkeys(run.participants.label(modality) for modality in modalities)
    return Baseline(" and ".join(models), _asked(run, held), groups, letters, distinct, shares)


def _fit(benchmark: AnyBenchmark, topics: list[Topic], reply: Replies) -> list[Topic]:
    """The topics whose answers are verdicts: without those of a judge that failed its gold set."""
    judged = [topic for topic in topics if benchmark.needs_judge(topic)]
    if not judged or benchmark.unfit(reply) is None:
        return topics
    return [topic for topic in topics if topic not in judged]
