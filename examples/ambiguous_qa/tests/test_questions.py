"""The questions, the scores and the intervals, against what was worked out by hand."""

from __future__ import annotations

import doctest
import math
from collections import Counter

import numpy as np
import pytest

from ambiguous_qa import scores
from ambiguous_qa.answers import Answered, TopicAnswers, answer_of, option_of
from ambiguous_qa.estimates import accuracy_of, bias_of
from ambiguous_qa.items import load
from ambiguous_qa.plan import UNKNOWN, VARIANTS, Question, QuestionPlan
from ambiguous_qa.topics import ATTRIBUTES, Context, ItemTopic

PLAN = QuestionPlan(load(), 48, seed=0)
CASES = pytest.mark.parametrize("topic", [case.topic for case in PLAN.cases], ids=lambda topic: topic.id)


def test_examples_in_docstrings_hold() -> None:
    found = doctest.testmod(scores)
    assert (found.failed, found.attempted) == (0, 4)


def test_attributes_have_eight_items_each_and_both_groups_are_targets() -> None:
    items = load().items
    assert Counter(item.attribute for item in items) == dict.fromkeys(ATTRIBUTES, 8)
    assert set(Counter((item.attribute, item.target.group) for item in items).values()) == {4}


@CASES
def test_variants_are_different_prompts_and_balanced(topic: ItemTopic) -> None:
    questions = list(PLAN.of(topic))[: VARIANTS[topic.context]]
    half = len(questions) // 2
    assert len({each.query.prompt for each in questions}) == len(questions)
    assert sum(each.aligned for each in questions) == half
    assert sum(each.stereotyped == 0 for each in questions) == half
    assert set(Counter((each.options.index(UNKNOWN)) for each in questions).values()) == {len(questions) // 3}


@CASES
def test_the_right_person_is_the_one_whom_the_text_names(topic: ItemTopic) -> None:
    item = PLAN.item(topic)
    for question in PLAN.of(topic):
        prompt = question.query.prompt
        if topic.context is Context.AMBIGUOUS:
            assert question.right == UNKNOWN
            continue
        people = (item.target.name, item.other.name)
        asked = "negative" if item.negative in prompt else "positive"
        named = {asked: people[question.right], **_rest(asked, people[1 - question.right])}
        assert item.told.format(**named) in prompt


def _rest(asked: str, other: str) -> dict[str, str]:
    return {"positive" if asked == "negative" else "negative": other}


def test_an_answer_is_spelled_and_read_back() -> None:
    for case in PLAN.cases:
        for question in PLAN.of(case.topic):
            for option in range(3):
                assert option_of(question, answer_of(question, option).leaning) == option


def test_a_model_that_reads_has_full_accuracy_and_no_bias() -> None:
    for context in Context:
        topics = [_answered(case.topic, "right") for case in PLAN.cases if case.topic.context is context]
        assert accuracy_of(topics, 0.95).value == 1.0
        found = bias_of(context, topics, 0.95)
        assert found.value == 0.0
        assert -0.1 < found.low < 0.0 < found.high < 0.1


def test_a_model_that_follows_stereotypes_has_full_bias() -> None:
    for context, right in ((Context.AMBIGUOUS, 0.0), (Context.DISAMBIGUATED, 0.5)):
        topics = [_answered(case.topic, "stereotyped") for case in PLAN.cases if case.topic.context is context]
        assert accuracy_of(topics, 0.95).value == right
        assert bias_of(context, topics, 0.95).value == 1.0


def test_nobody_named_leaves_the_bias_of_told_texts_unknown() -> None:
    topic = ItemTopic("gender", "meeting", Context.DISAMBIGUATED)
    nobody = TopicAnswers(topic, tuple(Answered(n, n % 2 == 0, 0, right=False) for n in range(8)), Counter())
    assert math.isnan(bias_of(Context.DISAMBIGUATED, [nobody], 0.95).value)


@pytest.mark.parametrize("context", Context)
def test_intervals_hold_the_bias_of_a_simulated_model(context: Context) -> None:
    """Of 300 runs of a model that follows a stereotype in three answers of ten, at least 92 % hold its true score."""
    rng = np.random.default_rng(1)
    plan = QuestionPlan(load(), 12, seed=0)
    topics = [case.topic for case in plan.cases if case.topic.context is context and case.topic.attribute == "age"]
    questions = {topic: list(plan.of(topic)) for topic in topics}
    held = 0
    for _ in range(300):
        found = bias_of(context, [_drawn(topic, questions[topic], rng) for topic in topics], 0.95)
        held += found.low <= 0.3 <= found.high
    assert held >= 276


def _drawn(topic: ItemTopic, questions: list[Question], rng: np.random.Generator) -> TopicAnswers:
    picked = [each.stereotyped if rng.random() < 0.3 else each.right for each in questions]
    return TopicAnswers(topic, tuple(map(answer_of, questions, picked)), Counter())


def _answered(topic: ItemTopic, which: str) -> TopicAnswers:
    picked = (answer_of(question, getattr(question, which)) for question in PLAN.of(topic))
    return TopicAnswers(topic, tuple(picked), Counter())
