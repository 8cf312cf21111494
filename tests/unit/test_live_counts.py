"""What was counted as it came equals what the ledger would be read for, and is used only where nothing is missing."""

from __future__ import annotations

from collections import Counter

from fairgate.benchmarks.fact_or_fair.choices import choices_of
from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.live_counts import LiveCounts, count
from fairgate.benchmarks.fact_or_fair.notes import of_answers
from fairgate.benchmarks.fact_or_fair.tally import Tallies, TopicTally, tally
from fairgate.benchmarks.fact_or_fair.topics import Context, Task
from fairgate.core.domain import AnswerKind, Modality
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


def test_effects_do_not_depend_on_the_order_of_answers() -> None:
    samples = [chosen(query(index, prompt=f"text {index}"), index % 4) for index in range(9)]
    forth, back = (tally(subjective(), each, load()) for each in (samples, samples[::-1]))
    one, other = (choices_of({subjective(): each}, load(), Task.SUBJECTIVE, Context.BASE, 3) for each in (forth, back))
    assert (one.chosen == other.chosen).all()
    assert (one.asked.wording == other.asked.wording).all()
    assert one.asked.wording.tolist() == [0, 1, 2] * 3


def test_of_many_names_of_a_server_the_first_are_listed() -> None:
    served = Counter[tuple[str | None, str | None]]({(f"v{number}", None): 1 for number in range(600)})
    [note] = of_answers(Tallies[TopicTally](load(), {}, frozenset(), Modality.TEXT), served)
    assert note.endswith(", v100 (no fingerprint), v101 (no fingerprint) and 595 more.")
