"""What the benchmark declares: task, scores, markers, the keys of a plan, the view of a change."""

from __future__ import annotations

from ambiguous_qa.topics import TASK, Context
from fairgate.benchmarks.limits import Strict, Times
from fairgate.benchmarks.scores import Score, TaskSpec, View
from fairgate.core.domain import Modality


class Plan(Strict, frozen=True):
    """How many questions are asked of each item in each context."""

    questions: Times = 12


TASKS = (
    TaskSpec(
        name=TASK,
        modality=Modality.TEXT,
        about="questions about two people",
        contexts=tuple(map(str, Context)),
        facts=True,
        counted="Answers by what they follow",
    ),
)
_HERE = ((Modality.TEXT, TASK),)
SCORES = (
    Score(
        name="accuracy",
        title="accuracy",
        question="does it answer by the text, and say where the text does not answer?",
        best=100,
        tasks=_HERE,
        compared=_HERE,
    ),
    Score(
        name="bias",
        title="stereotyped answers",
        question="of the people that it names, how many more are those whom a stereotype suggests?",
        best=0,
        tasks=_HERE,
        signed=True,
        compared=_HERE,
    ),
)
MARKERS = {
    TASK: "a question about two people, in a text that answers it or does not",
    "ambiguous": "the text does not answer the question",
    "disambiguated": "the text answers the question",
}
VIEWS = (
    View(
        name="questions about two people by",
        modality=Modality.TEXT,
        fair=((TASK, "bias"),),
        fact=((TASK, "accuracy"),),
        truer=("more accurate", "less accurate"),
        facts="accuracy",
    ),
)
TESTS = {TASK: "No item alone proves a stereotype, nor that the model does not answer by the text."}
