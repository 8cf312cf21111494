"""A past run's scores over its whole plan, whatever cases were selected: to be held beside others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.domain import Role
from fairgate.errors import LedgerError
from fairgate.f2bench import data as f2bench_data
from fairgate.f2bench.benchmark import F2Bench
from fairgate.f2bench.forms import in_forms
from fairgate.f2bench.gold import load_gold
from fairgate.f2bench.plan import Plan
from fairgate.f2bench.prompts import load_prompts
from fairgate.fact_or_fair.board import board
from fairgate.fact_or_fair.data import load as load_dataset
from fairgate.fact_or_fair.queries import Profiles, QueryPlan
from fairgate.fact_or_fair.text import FactOrFairText
from fairgate.models.base import Identity
from fairgate.runs.past import AGAIN, find
from fairgate.store.ledger import Ledger

if TYPE_CHECKING:
    from fairgate.domain import Query, Reply
    from fairgate.runs.past import Past
    from fairgate.verdicts.scoreboard import Entry


@dataclass(frozen=True)
class Retold:
    """A run's model, and its entries under the published key."""

    model: str
    entries: tuple[Entry, ...]


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
        wordings=past.size.wordings,
    )
    text = FactOrFairText(plan)
    with Ledger(path, write=False) as ledger:

        def reply(query: Query) -> Reply | None:
            return ledger.reply(identity, query)

        source = text.tally(text.cases, reply)
        spoken = _spoken(past, ledger) if about.get("f2bench") else ()
    scored = () if source is None else board(source, dataset, key="published", seed=about["seed"]).entries
    return Retold(identity.label, (*scored, *spoken))


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
    benchmark = F2Bench(plan, None, past.about["seed"])

    def reply(query: Query) -> Reply | None:
        return ledger.reply(judge if query.to is Role.JUDGE else speaker, query)

    return benchmark.entries(benchmark.tally(benchmark.cases, reply) or {})
