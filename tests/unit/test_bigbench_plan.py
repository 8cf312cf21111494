"""The plan of BIGbench: identity prompts, images, which faces count, and what comes of missing replies."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.bigbench.cases import cases, shown_by
from fairgate.benchmarks.bigbench.controls import posed
from fairgate.benchmarks.bigbench.data import FAMILIES, load
from fairgate.benchmarks.bigbench.plan import People, SubjectPlan, meant, tally
from fairgate.benchmarks.bigbench.prompts import IdentityPrompt, Prompts, load_wording
from fairgate.benchmarks.bigbench.topics import SubjectTopic, Task
from fairgate.core.domain import AnswerKind, Form, Reply, Role
from fairgate.ledger.images import said
from fairgate.providers.faces.vision_detector import questions
from fairgate.replies.faces import Face, Reading

if TYPE_CHECKING:
    from fairgate.core.domain import Query

HASH = "a" * 64


def plan(
    subjects: int | None = 2, implicit: int = 3, asked: int | None = 1, explicit: int = 1, *, vision: bool = False
) -> SubjectPlan:
    data = load()
    about = (questions(1), questions(2)) if vision else None
    return SubjectPlan(data, Prompts(data, load_wording()), subjects, implicit, asked, explicit, about)


def face(gender: str, left: float = 0, size: float = 10, race: str = "White", age: str = "20-29") -> Face:
    box = (left, 0.0, left + size, size)
    return Face(box, gender={gender: 1.0}, race={race: 1.0}, age={age: 1.0})


def test_a_plan_takes_a_part_of_every_family() -> None:
    found = plan().every
    assert Counter(each.task for each in found) == {
        # Two of each of 20 families.
        Task.IMPLICIT: 40,
        # One subject of 17 families with nine groups; of intimate relations 16 + 9 pairs, of the others 4 more.
        Task.EXPLICIT: 17 * 9 + 25 + 29 + 29,
    }
    assert len(set(found)) == len(found)


@pytest.mark.slow
def test_the_whole_plan_is_the_published_one() -> None:
    whole = plan(None, 160, None, 160)
    assert len(whole.every) == 2352
    assert sum(map(whole.images, whole.every)) == 47_040 * 8
    assert len({whole.prompt(whole.identity(whole.every[0]), index) for index in range(160)}) == 20


def test_subjects_of_pairs_sit_first() -> None:
    topics = plan(subjects=1).topics(Task.IMPLICIT, "healthcare", "gender")
    assert topics == (SubjectTopic("bigbench", Task.IMPLICIT, "surgeon"),)
    assert {"surgeon", "nurse"} <= {each.identity for each in plan(subjects=2).of_pairs()}
    # The nurse is not planned: the pair is not complete.
    assert "surgeon" not in {each.identity for each in plan(subjects=1).of_pairs()}
    assert len(plan(None).of_pairs()) == 24 + 30 + 9


def test_cases_by_family_and_attribute() -> None:
    found = {each.name: each for each in cases(plan())}
    # Nobody asks for the gender of husbands, wives and friends.
    assert len(found) == 20 * 3 + 20 * 3 - 1 + 3
    assert "explicit[intimate-gender]" not in found
    assert set(found["implicit[sports-race]"].marks) == {"bigbench", "t2i", "implicit", "race"}
    # The attributes share the images of who was asked for nothing.
    assert found["implicit[sports-race]"].topics == found["implicit[sports-age]"].topics
    assert found["manifestation[age]"].topics == plan().of_pairs()
    assert {name.partition("[")[2].rpartition("-")[0] for name in found if name.startswith("implicit")} == {
        family for families in FAMILIES.values() for family in families
    }


def replies(*steps: Reply | None, log: list[Query] | None = None) -> object:
    queue = list(steps)

    def reply(query: Query) -> Reply | None:
        if log is not None:
            log.append(query)
        return queue.pop(0)

    return reply


PAINTED = Reply(said(HASH))


@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        ((None,), AnswerKind.FAILED),
        ((Reply("no", filtered=True),), AnswerKind.REFUSED),
        ((Reply("what?"),), AnswerKind.UNREADABLE),
        ((PAINTED, None), AnswerKind.FAILED),
        ((PAINTED, Reply(Reading(problem="truncated").to_json())), AnswerKind.UNREADABLE),
        ((PAINTED, Reply(Reading((9, 9)).to_json())), AnswerKind.NO_FACE),
        ((PAINTED, Reply(Reading((9, 9), (face("Female"),)).to_json())), AnswerKind.CHOSEN),
    ],
)
def test_what_becomes_of_an_image(steps: tuple[Reply | None, ...], kind: AnswerKind) -> None:
    chosen, topic = plan(implicit=1), SubjectTopic("bigbench", Task.IMPLICIT, "surgeon")
    log: list[Query] = []
    counted, samples = tally(chosen, topic, People.of(chosen.data), replies(*steps, log=log))  # type: ignore[arg-type]
    assert counted.kinds == {kind: 1}
    assert len(samples) == len(steps)
    assert (log[0].to, log[0].form, log[0].prompt) == (
        Role.IMAGE_MODEL,
        Form.IMAGE,
        chosen.prompt(chosen.identity(topic), 0),
    )
    shown = shown_by([counted], chosen.data, "gender")
    assert shown == {"male": 0, "female": int(kind is AnswerKind.CHOSEN)}


def test_a_relation_needs_two_people() -> None:
    chosen, topic = plan(implicit=1), SubjectTopic("bigbench", Task.IMPLICIT, "husband-wife")
    people = People.of(chosen.data)
    alone = Reply(Reading((9, 9), (face("Male"),)).to_json())
    counted, _ = tally(chosen, topic, people, replies(PAINTED, alone))  # type: ignore[arg-type]
    assert counted.kinds == {AnswerKind.NO_FACE: 1}
    assert shown_by([counted], chosen.data, "gender") == {"male": 0, "female": 0}


def test_the_largest_faces_are_meant_from_left_to_right() -> None:
    far, left, right = face("Male", 40, 2), face("Female", 0, 9), face("Male", 80, 8)
    assert meant((far, right, left), 2) == (left, right)
    assert meant((far, right, left), 1) == (left,)
    assert meant((left,), 2) == ()


def test_a_vision_model_names_people_in_order() -> None:
    left, right = Face(gender={"Female": 1.0}), Face(gender={"Male": 1.0})
    assert meant((left, right), 2) == (left, right)


def test_a_vision_model_is_asked_about_as_many_people_as_sit() -> None:
    chosen = plan(implicit=1, vision=True)
    told = Reply('{"left": {"gender": "Male", "race": "Black", "age": "30-39"}, "right": {"gender": "Female"}}')
    log: list[Query] = []
    steps = replies(PAINTED, Reply(Reading((9, 9)).to_json()), told, told, log=log)
    topic = SubjectTopic("bigbench", Task.IMPLICIT, "husband-wife")
    counted, _ = tally(chosen, topic, People.of(chosen.data), steps)  # type: ignore[arg-type]
    assert [each.step for each in log][2:] == [
        f"persons.{questions(2).version}",
        f"persons.{questions(2).version}/again",
    ]
    assert counted.portrayal.codes is not None
    # Gender, race and age of the left person, gender alone of the right one.
    assert counted.portrayal.codes.tolist() == [[[0, 2, 1], [1, -1, -1]]]


def test_labels_come_to_the_groups_and_ages_of_bigbench() -> None:
    people = People.of(load())
    reading = Reading((9, 9), (face("Female", race="Indian", age="60-69"),))
    assert people.codes(reading, 1) == [[1, 3, 2]]
    assert people.codes(None, 2) == [[-1, -1, -1], [-1, -1, -1]]


def drawn(
    control: str, identity: IdentityPrompt, strength: float = 0.8, images: int = 1000
) -> Counter[tuple[str, ...]]:
    chance = Random(1)  # noqa: S311 - draws people, guards nothing
    data = load()
    return Counter(
        tuple(sorted(groups.values()))
        for _ in range(images)
        for groups in posed(control, data, identity, chance, strength)[:1]
    )


def share(control: str, identity: IdentityPrompt, group: str, strength: float = 0.8) -> float:
    found = drawn(control, identity, strength)
    return sum(n for groups, n in found.items() if group in groups) / found.total()


def test_controls_pose_as_they_are_known_to() -> None:
    data = load()
    nurse, rich = IdentityPrompt(data.subject("nurse")), IdentityPrompt(data.subject("rich"))
    actual = data.subject("nurse").truth[0]["gender"][1]
    assert share("oracle", nurse, "female") == pytest.approx(actual, abs=0.05)
    assert share("uniform", nurse, "female") == pytest.approx(0.5, abs=0.06)
    assert share("constant", nurse, "female") == 0
    assert share("first-option", nurse, "female") == 0
    # 0.8 by advantage, and half of the rest by the truth.
    assert share("stereotype", rich, "male") == pytest.approx(0.9, abs=0.05)
    assert share("stereotype", IdentityPrompt(data.subject("poor")), "male") == pytest.approx(0.1, abs=0.05)
    asked = IdentityPrompt(data.subject("rich"), "gender", ("female",))
    assert share("oracle", asked, "female") == share("stereotype", asked, "female") == 1
    assert share("constant", asked, "female") == 0
    # A group that is never drawn is not drawn where it is asked for either; others stay in proportion.
    black = IdentityPrompt(data.subject("rich"), "race", ("Black",))
    assert share("never-black", black, "Black", 1.0) == share("never-black", rich, "Black", 1.0) == 0
    assert share("never-black", rich, "White", 1.0) == pytest.approx(0.3 / 0.82, abs=0.05)
    assert share("never-black", rich, "Black", 0.0) == pytest.approx(0.18, abs=0.05)
    assert share("majority", nurse, "female", 1.0) == 1
    # Each race is of one gender, and each gender as there is of it.
    by_both = drawn("joint", nurse, 1.0)
    assert {("male" in groups) is bool({"Black", "South Asian"} & {*groups}) for groups in by_both} == {True}
    assert share("joint", nurse, "female", 1.0) == pytest.approx(actual, abs=0.05)


def test_a_control_that_is_dominant_draws_the_first_gender_and_race_as_often_as_its_strength_says() -> None:
    data = load()
    nurse = IdentityPrompt(data.subject("nurse"))
    assert share("dominant", nurse, "male", 1.0) == share("dominant", nurse, "White", 1.0) == 1
    truth = data.subject("nurse").truth[0]["gender"][0]
    assert share("dominant", nurse, "male", 0.5) == pytest.approx(0.5 + truth / 2, abs=0.07)
    assert share("women-first", nurse, "female", 1.0) == 1
    asked = IdentityPrompt(data.subject("rich"), "gender", ("female",))
    assert share("dominant", asked, "female", 1.0) == share("dominant", asked, "White", 1.0) == 1
