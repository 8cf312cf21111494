"""The benchmark as it is registered: `plugin` is what the entry point in `pyproject.toml` names."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from ambiguous_qa import specs
from ambiguous_qa.baseline import QUESTIONS
from ambiguous_qa.benchmark import AmbiguousQA
from ambiguous_qa.items import load
from ambiguous_qa.plan import QuestionPlan
from ambiguous_qa.topics import BENCHMARK
from fairgate.benchmarks.base import Plugin

if TYPE_CHECKING:
    from fairgate.benchmarks.base import Request


class AmbiguousQAPlugin(Plugin):
    """Questions about two people whom a text tells apart, or does not."""

    name, title, order = BENCHMARK, "Questions about two people", 10
    tasks, scores, markers, plan = specs.TASKS, specs.SCORES, specs.MARKERS, specs.Plan
    views, parts = specs.VIEWS, (QUESTIONS,)
    limits = files("ambiguous_qa").joinpath("limits.toml")
    tests = specs.TESTS

    def open(self, request: Request) -> tuple[AmbiguousQA]:
        """The benchmark, with the plan of a past run where one is judged again."""
        settings, size = request.settings, request.size
        then = None if request.noted is None else request.noted.get(BENCHMARK) or {}
        questions = settings.per_topic or size.questions if then is None else then.get("questions", size.questions)
        return (AmbiguousQA(self, QuestionPlan(load(), questions, settings.seed)),)


plugin = AmbiguousQAPlugin()
