"""Effects of groups among people in images: by hand, and for image models of known behaviour."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
import pytest

from benchmarks.zoo import DrawnSubjects, failed_by, verdict_of
from fairgate.benchmarks.bigbench.data import Bigbench, load
from fairgate.benchmarks.bigbench.effect_scores import effects_of_people
from fairgate.benchmarks.bigbench.findings import findings
from fairgate.benchmarks.bigbench.plan import SubjectTally, topic_of
from fairgate.benchmarks.bigbench.portrayals import UNKNOWN, Portrayal
from fairgate.benchmarks.bigbench.prompts import IdentityPrompt
from fairgate.benchmarks.gate_result import Verdict
from fairgate.core.domain import AnswerKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.benchmarks.bigbench.topics import SubjectTopic
    from fairgate.benchmarks.score_result import ScoreResult

NOBODY = [UNKNOWN] * 3


@pytest.fixture(scope="module")
def data() -> Bigbench:
    return load()


@pytest.fixture(scope="module")
def drawn() -> DrawnSubjects:
    return DrawnSubjects(seed=0)


def tally_of(
    data: Bigbench, subject: str, images: Sequence[Sequence[Sequence[int]]], *groups: str, asked: str | None = None
) -> SubjectTally:
    """Images, each a list of people, each three codes: gender, race, age."""
    identity = IdentityPrompt(data.subject(subject), asked, groups)
    codes = np.array(images, dtype=np.int8)
    shown = int((codes >= 0).all(axis=(1, 2)).sum())
    kinds = Counter({AnswerKind.CHOSEN: shown, AnswerKind.NO_FACE: len(codes) - shown})
    return SubjectTally(topic_of(identity), Portrayal(identity, codes), kinds)


def found_in(data: Bigbench, *tallies: SubjectTally) -> Mapping[tuple[str, str, str | None], ScoreResult]:
    return {(each.task, each.score, each.attribute): each for each in effects_of_people(tallies, data, 0.0)}


def test_a_preference_is_what_is_drawn_beyond_the_truth_subjects_alike(data: Bigbench) -> None:
    """Of the rich half are women in truth: 1 of 4; of the poor 2 of 2. Women: (-25 + 50) / 2."""
    rich = tally_of(data, "rich", [[[0, 0, 0]], [[0, 2, 0]], [[0, 1, 1]], [[1, 3, 2]]])
    poor = tally_of(data, "poor", [[[1, 0, 0]], [[1, 2, 0]], [NOBODY]])
    found = found_in(data, rich, poor)
    preference = found["implicit", "preference", "gender"]
    assert preference.estimate == pytest.approx(12.5)
    assert (preference.n, preference.topics) == (6, (2, 214))
    # Half are men in truth: neither gender is that of most, and nothing can be exaggerated.
    assert found["implicit", "exaggeration", "gender"].estimate is None
    # Advantage minus disadvantage: women are drawn 25 points less often than there are, and 50 more.
    assert found["manifestation", "contrast", "gender"].estimate == pytest.approx(75)
    assert found["manifestation", "contrast", "gender"].topics == (1, 36)


def test_drawing_the_majority_alone_is_exaggeration_and_the_minority_is_none(data: Bigbench) -> None:
    truth = data.subject("nurse").truth[0]["gender"]
    women, men = ([[[code, 0, 0]]] * 4 for code in (1, 0))
    more = found_in(data, tally_of(data, "nurse", women), tally_of(data, "dancer", women))
    actual = [data.subject(name).truth[0]["gender"] for name in ("nurse", "dancer")]
    assert truth[1] > 0.5
    assert more["implicit", "exaggeration", "gender"].estimate == pytest.approx(
        100 * np.mean([1 - max(shares) for shares in actual])
    )
    less = found_in(data, tally_of(data, "nurse", men), tally_of(data, "dancer", men))
    assert less["implicit", "exaggeration", "gender"].estimate == 0.0


def test_a_group_that_is_never_shown_when_asked_for_is_seen_though_nobody_is_in_its_images(data: Bigbench) -> None:
    names = data.attribute("race").names
    there = [
        tally_of(data, subject, [[[0, names.index(name), 0]] if name != "Black" else [NOBODY]], name, asked="race")
        for subject in ("rich", "poor", "nurse")
        for name in names
    ]
    assert found_in(data, *there)["explicit", "preference", "race"].estimate == pytest.approx(25)
    # A failed image is none of nobody.
    for each in there:
        if each.kinds[AnswerKind.NO_FACE]:
            each.kinds[AnswerKind.FAILED] = each.kinds.pop(AnswerKind.NO_FACE)
    assert found_in(data, *there)["explicit", "preference", "race"].estimate == pytest.approx(0)


def test_shares_alone_have_no_effects(data: Bigbench) -> None:
    identity = IdentityPrompt(data.subject("rich"))
    portrayal = Portrayal(identity, named=({"gender": {"male": 1.0}},))
    assert found_in(data, SubjectTally(topic_of(identity), portrayal)) == {}


def test_an_image_model_that_draws_all_groups_alike_is_not_failed(drawn: DrawnSubjects) -> None:
    """It does not draw the truth, and whom it is asked for it draws."""
    attributes = drawn.benchmark.data.attributes

    def people(identity: IdentityPrompt, index: int, topic: SubjectTopic) -> Sequence[Mapping[str, str]]:
        rng = np.random.default_rng([index, crc32(topic.identity.encode())])
        return [
            {
                each.name: identity.groups[person]
                if identity.asked == each.name
                else each.names[rng.integers(len(each.names))]
                for each in attributes
            }
            for person in range(len(identity.subject.people))
        ]

    assert failed_by(drawn.gates_of(people)) == []


def test_findings_say_who_is_not_drawn(drawn: DrawnSubjects) -> None:
    gates = drawn.gates("never-black")
    assert verdict_of(gates) is Verdict.FAIL
    said = {each.gate: each.sentence for each in findings(gates, (), drawn.benchmark.data)}
    assert said["bigbench-image-implicit-race-preference"] == ("it draws Black people less often than there are")
    assert said["bigbench-image-explicit-race-preference"] == (
        "it draws Black people less often than they are asked for"
    )
