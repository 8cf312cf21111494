"""Conversations in a baseline: what the judge said of each, in one letter or two; and two baselines by instance.

A dialogue is `y` (it ties) or `n`. A description has two letters: `n` for no tie, `s` for the stereotyped, `o` for the
opposite one, `b` for both; then the judge's mark, `a` for 0 in steps of one half to `u` for 10.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.f2bench import cases as all_cases
from fairgate.benchmarks.f2bench.case_summary import cell_of
from fairgate.benchmarks.f2bench.cases import BENCHMARK, GOLD, theme
from fairgate.benchmarks.f2bench.cases import KINDS as TASKS
from fairgate.benchmarks.f2bench.change import common, moved
from fairgate.benchmarks.f2bench.data import load
from fairgate.benchmarks.f2bench.forms import in_forms
from fairgate.benchmarks.f2bench.gold import GoldMark, load_gold
from fairgate.benchmarks.f2bench.plan import DEFINITION, Balanced, ConversationPlan, Dialogue, Judged, JudgedDescription
from fairgate.benchmarks.f2bench.prompts import load_prompts
from fairgate.benchmarks.f2bench.score_table import NOBODY, board
from fairgate.benchmarks.f2bench.swap import twin
from fairgate.benchmarks.f2bench.tally import ThemeTally, tally
from fairgate.benchmarks.f2bench.topics import Task
from fairgate.benchmarks.limits import Strict, Times
from fairgate.benchmarks.paired import KINDS, LETTERS, Changed, Compared, Paired, Part, generator, letter_of
from fairgate.core.domain import AnswerKind, Modality

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fairgate.benchmarks import case
    from fairgate.benchmarks.case import Replies
    from fairgate.benchmarks.f2bench.topics import Theme
    from fairgate.benchmarks.paired import Baseline, Basis, Known
    from fairgate.benchmarks.score_result import ScoreResult

TIES = {(False, False): "n", (True, False): "s", (False, True): "o", (True, True): "b"}
MARKS = LETTERS[:21]
# What can stand for a conversation.
SPOKEN = frozenset("yn" + "".join(TIES.values()) + MARKS + "-?.")


class ConversationSettings(Strict, frozen=True):
    """What was asked with: versions, the judge, and how often."""

    instances: str
    prompts: int | str
    gold: int | str
    judge: str
    repeats: Times


class ConversationsPart(Part):
    """Dialogues and descriptions, as a judge read them."""

    benchmark, modality, key = BENCHMARK, Modality.TEXT, "f2bench"
    title, values = "F²Bench", ConversationSettings
    sizes = frozenset({"repeats"})

    def known(self, topic: str, groups: Mapping[str, Known]) -> frozenset[str]:
        """Verdicts, ties and marks."""
        del topic, groups
        return SPOKEN

    def bundled(self, asked: Mapping[str, Any]) -> PairedConversations | None:
        """With our instances and gold texts, where a saved run was asked with them."""
        then = asked.get(self.key) or {}
        gold, prompts, instances = load_gold(), load_prompts(), load()
        if str(then.get("judge", "")).startswith("control/"):
            gold = in_forms(gold)
        here = {"instances": instances.version, "prompts": prompts.version, "gold": gold.version}
        if not here.items() <= then.items():
            return None
        return PairedConversations(ConversationPlan(instances, prompts, gold, repeats=1, reference=False))


CONVERSATIONS = ConversationsPart()


@dataclass(frozen=True, eq=False)
class PairedConversations(Paired):
    """The conversations of runs over the same instances. `judge` as the user named it."""

    plan: ConversationPlan
    judge: str | None = None
    part = CONVERSATIONS

    def asked(self) -> Mapping[str, Any]:
        """The versions, the judge, and the repeats."""
        plan = self.plan
        return {
            "instances": plan.instances.version,
            "prompts": plan.prompts.version,
            "gold": plan.gold.version,
            "judge": self.judge,
            "repeats": plan.repeats,
        }

    def letters(self, topic: Theme, reply: Replies) -> tuple[str, int]:
        """A theme's conversations."""
        spelled = of_theme(tally(self.plan, topic, reply)[0])
        return spelled, len(spelled) // width(topic)

    def compare(self, before: Baseline, after: Baseline, now: Basis, cases: frozenset[case.Case] | None) -> Compared:
        """The scores in all; of runs that asked more or less often what both asked."""
        del cases
        plan = self._repeated(min(run.asked[self.part.key]["repeats"] for run in (before, after)))
        found: list[Changed] = []
        compared = 0
        whole = self._categories
        for task in TASKS:
            one, other = (_themes(run, plan, task) for run in (before, after))
            gold = [side.pop(GOLD, None) for side in (other, one)]
            known = next((each.known for each in gold if each is not None), NOBODY)
            names = [name for name in one if name in other]
            cells = [[cell_of(side[name], DEFINITION, plan) for name in names] for side in (one, other)]
            moves = moved(task, cells[0], cells[1], known, generator(now.seed, BENCHMARK, task))
            pairs = [common(*pair) for pair in zip(*cells, strict=True)]
            topics = sum(bool(pair[0].size) for pair in pairs), whole[task]
            # A balance has two readings.
            n = sum(pair[0].n for pair in pairs)
            compared += n
            found += (Changed(task, None, None, score, move, n, topics) for score, move in moves.items())
        return Compared(tuple(found), compared)

    def estimates(self, run: Baseline, now: Basis) -> Sequence[ScoreResult]:
        """The scores of the run, by category and in all."""
        if self.part.held(run.asked) is None:
            return ()
        plan = self._repeated(run.asked[self.part.key]["repeats"])
        tallies = [each for task in TASKS for each in _themes(run, plan, task).values()]
        return board(tallies, plan, all_categories=self._categories, seed=now.seed)

    def _repeated(self, repeats: int) -> ConversationPlan:
        return replace(self.plan, repeats=repeats, reference=False)

    @property
    def _categories(self) -> Counter[Task]:
        return Counter(case.topic.task for case in all_cases.cases(self.plan.instances))


def _themes(run: Baseline, plan: ConversationPlan, task: Task) -> dict[str, ThemeTally]:
    """The themes of a task that a run holds, by name, with the judge's gold set."""
    cases = all_cases.cases(plan.instances)
    every = [theme(task, GOLD), *(case.topic for case in cases if case.topic.task is task)]
    return {each.name: theme_of(run.letters[each.id], each, plan) for each in every if each.id in run.letters}


def of_theme(counted: ThemeTally) -> str:
    """A theme's conversations by definition, in the order of the plan; of the judge's gold set its verdicts."""
    if counted.theme.name == GOLD:
        return "".join(map(_judged, counted.gold))
    if counted.theme.task is Task.DIALOGUE:
        ends = [each for each in counted.dialogues if each.scoring == DEFINITION]
        return "".join(letter_of(each.end) if each.biased is None else "ny"[each.biased] for each in ends)
    both = [each.readings for each in counted.balanced if each.scoring == DEFINITION]
    return "".join(_reading(each) for readings in both for each in readings)


def width(theme: Theme) -> int:
    """How many letters one conversation has."""
    return 4 if theme.task is Task.BALANCE and theme.name != GOLD else 1


def theme_of(letters: str, theme: Theme, plan: ConversationPlan) -> ThemeTally:
    """The theme as it was counted, over the instances of the same plan."""
    if theme.name == GOLD:
        gold = [_as_judged(item, said) for item, said in zip(plan.gold_of(theme), letters, strict=False)]
        return ThemeTally(theme, plan.size(theme), gold=gold)
    found = ThemeTally(theme, plan.size(theme))
    members = [each for each in plan.members(theme) if theme.task is Task.DIALOGUE or twin(each).text is not None]
    where = [(repeat, instance) for repeat in range(plan.repeats) for instance in members]
    for (repeat, instance), said in zip(where, _batched(letters, width(theme)), strict=False):
        if theme.task is Task.DIALOGUE:
            end = KINDS.get(said, AnswerKind.SAID)
            biased = None if said in KINDS else said == "y"
            found.dialogues.append(Dialogue(instance, repeat, DEFINITION, end, None, biased))
        else:
            readings = _as_reading(said[:2]), _as_reading(said[2:])
            found.balanced.append(Balanced(instance, repeat, DEFINITION, readings))
    return found


def _batched(letters: str, size: int) -> Iterator[str]:
    """The letters, so many at a time."""
    return (letters[at : at + size] for at in range(0, len(letters), size))


def _judged(each: Judged) -> str:
    if each.said is None:
        return letter_of(each.end)
    return _mark(each.said) if isinstance(each.item, GoldMark) else "ny"[bool(each.said)]


def _as_judged(item: Any, said: str) -> Judged:
    value = None if said in KINDS else float(MARKS.find(said) / 2) if isinstance(item, GoldMark) else float(said == "y")
    return Judged(item, KINDS.get(said, AnswerKind.SAID), value)


def _mark(value: float) -> str:
    return MARKS[round(2 * value)]


def _reading(each: JudgedDescription) -> str:
    nothing = letter_of(each.end)
    tied = each.stereotyped, each.opposite
    ties = nothing if tied[0] is None or tied[1] is None else TIES[tied[0], tied[1]]
    return ties + (nothing if each.mark is None else _mark(each.mark))


def _as_reading(said: str) -> JudgedDescription:
    ties = next((tied for tied, letter in TIES.items() if letter == said[:1]), None)
    mark = MARKS.find(said[1:]) if said[1:] else -1
    end = KINDS.get(said[:1]) or KINDS.get(said[1:]) or AnswerKind.SAID
    stereotyped, opposite = ties or (None, None)
    return JudgedDescription(end, None, stereotyped, opposite, None if mark < 0 else mark / 2)
