"""What a run asked and what came of it, as a baseline keeps it: versions and letters, nothing that a model said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairgate.bigbench.topics import Sitting
from fairgate.comparison.baseline import FACES, PARTS, Baseline, alphabet, asked_of, letters_of
from fairgate.comparison.letters import of_portraits, of_sitter, of_theme, width
from fairgate.domain import AnswerKind, Modality, Role
from fairgate.errors import ConfigError
from fairgate.f2bench.topics import Theme
from fairgate.store.ledger import is_of
from fairgate.store.samples import from_replies

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairgate.benchmarks.base import Replies
    from fairgate.domain import Topic
    from fairgate.runs.run import Run
    from fairgate.runs.selection import Selection

NO_CHOICES: dict[str, Any] = {"objective": None, "subjective": None}


def asked_by(run: Run) -> dict[str, Any]:
    """Which queries there are, and how many, whatever was selected: `comparison.baseline.Asked`, as a mapping."""
    settings, roles = run.settings, run.cast.roles
    found: dict[str, Any] = asked_of(run.benchmarks.all[0].plan, settings.plan)
    if Role.MODEL not in roles:
        found |= NO_CHOICES
    if Role.JUDGE in roles:
        spoken = run.benchmarks.all[2].plan
        found["f2bench"] = {
            "instances": spoken.instances.version,
            "prompts": spoken.prompts.version,
            "gold": spoken.gold.version,
            "judge": settings.judge_spec,
            "repeats": spoken.repeats,
        }
    read = {"detector": settings.detector_spec, "race_map": settings.race_map}
    if Role.PAINTER in roles:
        portraits = run.benchmarks.all[1].plan
        sizes = {"objective": portraits.objective, "subjective": portraits.subjective}
        found["images"] = {**read, **(sizes if portraits.held is None else NO_CHOICES)}
    if Role.PAINTER in run.cast.roles and not (run.settings.t2i_spec or "").startswith("folder/"):
        plan = run.benchmarks.all[3].plan
        sizes = {"implicit": plan.implicit, "explicit": plan.explicit}
        found["bigbench"] = {"data": plan.data.version, **read, **sizes}
    return found


def check_keeping(run: Run) -> None:
    """Raise ConfigError for a run of which no baseline can be saved, before anything is asked."""
    if run.settings.save_baseline is None:
        return
    where = f"--save-baseline {run.settings.save_baseline}"
    if is_of(run.settings.ledger, run.settings.save_baseline):
        raise ConfigError("is the ledger's own file.", where=where, mend="Name another one.")
    if not run.cast.roles:
        raise ConfigError("there are no answers to save: results in files have no queries.", where=where)
    if run.settings.shard is not None:
        raise ConfigError(
            "a shard is a part of a run.",
            where=where,
            mend="Merge the shards, and save it with `python -m fairgate gate`.",
        )


def kept(selection: Selection) -> Baseline:
    """What the ledger holds of the selected cases; without what a judge said that is not fit."""
    run = selection.run
    with run.cast.stored() as reply:
        unfit = bool(selection.first) and run.benchmarks.all[2].unfit(reply) is not None
        topics = [topic for topic in selection.asked if not (unfit and isinstance(topic, Theme))]
        return _kept(run, topics, reply)


def _kept(run: Run, topics: Iterable[Topic], reply: Replies) -> Baseline:
    letters: dict[str, str] = {}
    distinct: dict[str, int] = {}
    sitters = run.benchmarks.all[3].data if Role.PAINTER in run.cast.roles else None
    groups = alphabet(run.benchmarks.all[0].dataset, sitters)
    names = [each.name for each in run.benchmarks.all[0].dataset.attributes]
    seen: set[str] = set()
    for topic in topics:
        seen.add(_part(topic))
        if isinstance(topic, Theme):
            letters[topic.id] = of_theme(run.benchmarks.all[2].count(topic, reply)[0])
            distinct[topic.id] = len(letters[topic.id]) // width(topic)
        elif isinstance(topic, Sitting):
            sat = run.benchmarks.all[3].count(topic, reply)
            letters[topic.id] = of_sitter(sat, run.benchmarks.all[3].data)
            distinct[topic.id] = sat.kinds[AnswerKind.CHOSEN]
        elif topic.modality is Modality.IMAGE:
            portraits = [portrait for portrait, _ in run.benchmarks.all[1].seen(topic, reply)]
            letters[topic.id] = of_portraits(portraits, run.benchmarks.all[1].groups, names, groups[FACES])
            distinct[topic.id] = len({each.image for each in portraits if each.kind is AnswerKind.CHOSEN})
        else:
            samples = from_replies(run.benchmarks.all[0].plan.queries(topic), reply)
            letters[topic.id], distinct[topic.id] = letters_of(topic, samples, run.benchmarks.all[0].dataset)
    asked = asked_by(run) if "choices" in seen else asked_by(run) | NO_CHOICES
    asked = {key: value for key, value in asked.items() if key in seen or key not in PARTS}
    models = [run.cast.identity_of(role).label for role in (Role.MODEL, Role.PAINTER) if role in _asked(run, seen)]
    return Baseline(" and ".join(dict.fromkeys(models)), asked, groups, letters, distinct)


def _part(topic: Topic) -> str:
    if isinstance(topic, Theme):
        return "f2bench"
    if isinstance(topic, Sitting):
        return "bigbench"
    return "images" if topic.modality is Modality.IMAGE else "choices"


def _asked(run: Run, seen: set[str]) -> set[Role]:
    """The models of whose answers there are any."""
    spoken = {Role.MODEL} if seen & {"choices", "f2bench"} else set[Role]()
    return (spoken | ({Role.PAINTER} if seen & {"images", "bigbench"} else set())) & {*run.cast.roles}
