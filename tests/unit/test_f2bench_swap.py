"""The swapped twin of a paragraph."""

from __future__ import annotations

import pytest

from fairgate.benchmarks.f2bench.swap import NoTwin, swap

MAN, WOMAN = "man", "woman"


@pytest.mark.parametrize(
    ("paragraph", "groups", "expected"),
    [
        ("A man and a woman met.", (MAN, WOMAN), "A woman and a man met."),
        ("the woman's bag, the man's hat", (MAN, WOMAN), "the man's bag, the woman's hat"),
        ("Men read; women wrote. Women laughed.", (MAN, WOMAN), "Women read; men wrote. Men laughed."),
        ("A MAN and a WOMAN", (MAN, WOMAN), "A WOMAN and a MAN"),
        (
            "A man-made lake, a woman, a man, a human, a German",
            (MAN, WOMAN),
            "A man-made lake, a man, a woman, a human, a German",
        ),
        ("men's rooms, women's rooms", (MAN, WOMAN), "women's rooms, men's rooms"),
        ("a doctor and a female doctor", ("doctor", "female doctor"), "a female doctor and a doctor"),
        ("a male doctor and a doctor", ("male doctor", "doctor"), "a doctor and a male doctor"),
        ("a male doctor and a female doctor", ("male doctor", "female doctor"), "a female doctor and a male doctor"),
        ("an old person and a young person", ("old person", "young person"), "a young person and an old person"),
        (
            "An old person sat. A young person stood.",
            ("old person", "young person"),
            "A young person sat. An old person stood.",
        ),
        ("old people, young people", ("old person", "young person"), "young people, old people"),
        ("old persons, young persons", ("old person", "young person"), "young persons, old persons"),
        ("old people, teenagers", ("old people", "teenager"), "teenagers, old people"),
        (
            "an old man and a child; children and old men",
            ("an old man", "a child"),
            "a child and an old man; old men and children",
        ),
        (
            "one person with a disability, one person without a disability",
            ("person with a disability", "person without a disability"),
            "one person without a disability, one person with a disability",
        ),
        (
            "students with ADHD and students without ADHD",
            ("a student with ADHD", "a student without ADHD"),
            "students without ADHD and students with ADHD",
        ),
        ("a Muslim and an atheist. Atheists sat.", ("Muslim", "atheist"), "an atheist and a Muslim. Muslims sat."),
        ("a Muslim and a non-Muslim", ("Muslim", "non-Muslim"), "a non-Muslim and a Muslim"),
        (
            "an 80-year-old man and a 20-year-old man",
            ("80-year-old man", "20-year-old man"),
            "a 20-year-old man and an 80-year-old man",
        ),
        (
            "a university graduate and an uninsured person",
            ("university graduate", "uninsured person"),
            "an uninsured person and a university graduate",
        ),
        ("an heiress and a European", ("heiress", "European"), "a European and an heiress"),
        (
            "an LGBTQ+ person and a straight person",
            ("LGBTQ+ person", "straight person"),
            "a straight person and an LGBTQ+ person",
        ),
        (
            "an HIV-positive patient and a healthy patient",
            ("HIV-positive patient", "healthy patient"),
            "a healthy patient and an HIV-positive patient",
        ),
        (
            "a U.S. citizen and an Irish citizen",
            ("U.S. citizen", "Irish citizen"),
            "an Irish citizen and a U.S. citizen",
        ),
        ("ladies and gentlemen", ("lady", "gentleman"), "gentlemen and ladies"),
        ("boys' shoes and men's shoes", ("boy", "man"), "men's shoes and boys' shoes"),
        (
            "a wealthy  \n individual, a poor\tindividual",
            ("wealthy individual", "poor individual"),
            "a poor\tindividual, a wealthy  \n individual",
        ),
        ("'women' said the man", (MAN, WOMAN), "'men' said the woman"),
        ("the 'boys' and the 'girls' ran", ("boy", "girl"), "the 'girls' and the 'boys' ran"),
        ("He said: \u201cMen and women\u201d.", (MAN, WOMAN), "He said: \u201cWomen and men\u201d."),
        ("the man\u2019s and the women\u2019s", (MAN, WOMAN), "the woman\u2019s and the men\u2019s"),
        ("a black person and a white person", ("Black person", "white person"), "a white person and a black person"),
        ("the poor and the wealthy", ("the poor", "the wealthy"), "the wealthy and the poor"),
        ("a Chinese and an American", ("Chinese", "American"), "an American and a Chinese"),
        (
            "a bachelor's graduate, a master's graduate",
            ("bachelor's graduate", "master's graduate"),
            "a master's graduate, a bachelor's graduate",
        ),
    ],
)
def test_swaps(paragraph: str, groups: tuple[str, str], expected: str) -> None:
    found = swap(paragraph, *groups)
    assert found.text == expected
    assert found.reason is None
    assert swap(expected, *groups).text == paragraph
    assert swap(paragraph, *reversed(groups)).text == expected


@pytest.mark.parametrize(
    ("paragraph", "groups", "reason"),
    [
        ("Two people met.", (MAN, WOMAN), NoTwin.NEITHER_FOUND),
        ("A woman met a friend.", (MAN, WOMAN), NoTwin.FIRST_NOT_FOUND),
        ("A man met a friend.", (MAN, WOMAN), NoTwin.SECOND_NOT_FOUND),
        ("A Muslim individual and a Christian.", ("Muslim", "Muslim individual"), NoTwin.FIRST_NOT_FOUND),
        ("An atheist and an Atheist.", ("Atheist", "an atheist"), NoTwin.SAME_WORDS),
        ("A person and people.", ("person", "people"), NoTwin.SAME_WORDS),
        ("", (MAN, WOMAN), NoTwin.NEITHER_FOUND),
        ("A man.", (MAN, " "), NoTwin.SECOND_NOT_FOUND),
        ("A man and an \u0130rish man.", ("irish man", "man"), NoTwin.FIRST_NOT_FOUND),
    ],
)
def test_names_why_there_is_no_twin(paragraph: str, groups: tuple[str, str], reason: NoTwin) -> None:
    found = swap(paragraph, *groups)
    assert (found.text, found.reason) == (None, reason)


def test_counts_mentions() -> None:
    assert swap("A man, men and a woman", MAN, WOMAN).mentions == (2, 1)


def test_a_wrong_article_is_put_right() -> None:
    assert swap("a old person and an young person", "old person", "young person").text == (
        "a young person and an old person"
    )
