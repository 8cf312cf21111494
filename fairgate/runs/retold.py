"""A past run's scores over its whole plan, whatever cases were selected: to be held beside others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.comparison.baseline import Baseline, alphabet, letters_of
from fairgate.domain import Role
from fairgate.errors import LedgerError
from fairgate.f2bench import data as f2bench_data
from fairgate.f2bench.board import board as f2bench_board
from fairgate.f2bench.cases import GOLD, KINDS, theme
from fairgate.f2bench.cases import cases as theme_cases
from fairgate.f2bench.forms import in_forms
from fairgate.f2bench.gold import load_gold
from fairgate.f2bench.plan import Plan
from fairgate.f2bench.prompts import load_prompts
from fairgate.f2bench.tally import tally as tally_theme
from fairgate.fact_or_fair.board import board
from fairgate.fact_or_fair.cases import OWN_TASKS, text_cases
from fairgate.fact_or_fair.data import load as load_dataset
from fairgate.fact_or_fair.queries import Profiles, QueryPlan
from fairgate.fact_or_fair.tally import Tallies, tally
from fairgate.models.base import Identity
from fairgate.runs.past import AGAIN, find
from fairgate.store.ledger import Ledger
from fairgate.store.samples import from_ledger

if TYPE_CHECKING:
    from fairgate.domain import Query, Reply
    from fairgate.runs.past import Past
    from fairgate.verdicts.scoreboard import Entry


@dataclass(frozen=True)
class Retold:
    """A run's model, its entries under the published key, and what it could be saved as, to be compared with."""

    model: str
    entries: tuple[Entry, ...]
    answered: Baseline


def last_run(path: Path) -> Retold:
    """Read the last run of a ledger. Raises LedgerError where there is none, or its data is not at hand."""
    past = find(path)
    about = past.about
    folders = {name: Path(about[name]) if about[name] else None for name in ("data", "scenarios")}
    dataset = load_dataset(overlay=folders["data"], scenarios=folders["scenarios"])
    if dataset.version != about["data_version"]:
        raise LedgerError(
            f"its run used data version {about['data_version']}, here is {dataset.version}.",
            where=str(path),
            mend=AGAIN,
        )
    if about["identity"] is None:
        raise LedgerError("its run asked no language model.", where=str(path), mend="Name another ledger.")
    identity = Identity(**about["identity"])
    plan = QueryPlan(
        dataset,
        seed=about["seed"],
        profiles=Profiles(about["profiles"]),
        objective=about["objective"],
        subjective=about["subjective"],
        explained="explained" in about,
    )
    cases = frozenset(case for task in OWN_TASKS for case in text_cases(dataset, task))
    counted, letters, distinct = {}, {}, {}
    with Ledger(path, write=False) as ledger:
        for topic in dict.fromkeys(case.topic for case in cases):
            samples = list(from_ledger(ledger, identity, plan.queries(topic)))
            counted[topic] = tally(topic, samples, dataset)
            letters[topic.id], distinct[topic.id] = letters_of(topic, samples, dataset)
        spoken = _spoken(past, ledger) if about.get("f2bench") else ()
    asked = {
        "data": dataset.version,
        "explained": about.get("explained"),
        **{name: about[name] for name in ("seed", "profiles", "plan", "objective", "subjective")},
    }
    scored = board(Tallies(dataset, counted, cases), dataset, key="published", seed=about["seed"])
    answered = Baseline(identity.label, asked, alphabet(dataset), letters, distinct)
    return Retold(identity.label, (*scored.entries, *spoken), answered)


def _spoken(past: Past, ledger: Ledger) -> tuple[Entry, ...]:
    """F²Bench's scores of a run. Raises LedgerError where its instances or questions are not at hand."""
    asked = past.about["f2bench"]
    judge, speaker = Identity(**asked["judge"]), Identity(**asked["speaker"])
    folder = Path(asked["data"]) if asked["data"] else None
    instances = f2bench_data.load() if folder is None else f2bench_data.read_workbooks(folder, lenient=True)
    gold, prompts = load_gold(), load_prompts()
    if judge.provider == "control":
        gold = in_forms(gold)
    here = (instances.version, prompts.version, gold.version)
    if here != (asked["data_version"], asked["prompts"], asked["gold"]):
        raise LedgerError(
            "its run asked F²Bench with other instances, prompts or gold texts than are here.",
            where=past.where,
            mend=AGAIN,
        )
    plan = Plan(instances, prompts, gold, asked["repeats"], asked["reference"])

    def reply(query: Query) -> Reply | None:
        return ledger.reply(judge if query.to is Role.JUDGE else speaker, query)

    cases = theme_cases(instances)
    themes = [*(theme(task, GOLD) for task in KINDS), *(case.topic for case in cases)]
    tallies = [tally_theme(plan, each, reply)[0] for each in themes]
    every = Counter(case.topic.task for case in cases)
    return f2bench_board(tallies, plan, all_categories=every, seed=past.about["seed"])
