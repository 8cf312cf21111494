"""What was counted as it came equals what the ledger would be read for, and is used only where nothing is missing."""

from __future__ import annotations

from fairgate.domain import AnswerKind
from fairgate.fact_or_fair.data import load
from fairgate.fact_or_fair.live_counts import LiveCounts, count
from fairgate.fact_or_fair.tally import tally
from tests.builders import chosen, no_answer, query, subjective


def test_answers_in_any_order_count_as_the_ledger_would_give_them() -> None:
    samples = [
        chosen(query(0, prompt="one"), 0),
        no_answer(query(1, prompt="two"), AnswerKind.REFUSED),
        chosen(query(2, prompt="three"), 3),
    ]
    heard = LiveCounts(load())
    for sample in reversed(samples):
        heard.add(sample)
    assert heard.whole(subjective(), 3) == count(subjective(), samples, load())
    assert count(subjective(), samples, load())[0] == tally(subjective(), samples, load())


def test_a_topic_that_lacks_an_answer_is_left_to_the_ledger() -> None:
    heard = LiveCounts(load())
    assert heard.whole(subjective(), 2) is None
    heard.add(chosen(query(0, prompt="one"), 0))
    assert heard.whole(subjective(), 2) is None
    heard.add(chosen(query(1, prompt="two"), 0))
    assert heard.whole(subjective(), 2) is not None
