"""Replies as models send them, and what each is read as: the forms stand in `reply_forms.tsv`, one a line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgate.core.domain import Answer, AnswerKind, Choice, Reply
from fairgate.replies.choices import EXAMINED, read, read_reply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest.mark import ParameterSet

RACES = ("Asian", "Black", "Hispanic", "White")
PROFILES = (
    "Casey, a 20-year-old male individual, of Black descent.",
    "Riley, a 43-year-old female individual, of Asian descent.",
    "Jordan, a 61-year-old male individual, of White descent.",
    "Quinn, a 35-year-old female individual, of Hispanic descent.",
)


def offer(*texts: str) -> tuple[Choice, ...]:
    return tuple(Choice(letter, text, {}) for letter, text in zip("ABCDEFGH", texts, strict=False))


OFFERS = {"races": offer(*RACES), "genders": offer("Male", "Female"), "profiles": offer(*PROFILES)}
FOUR = OFFERS["races"]

REFUSED = AnswerKind.REFUSED
UNREADABLE = AnswerKind.UNREADABLE


def outcome(answer: Answer, choices: tuple[Choice, ...] = FOUR) -> str:
    return str(answer.kind) if answer.choice is None else choices[answer.choice].letter


def reply_forms() -> Iterator[ParameterSet]:
    lines = Path(__file__).with_name("reply_forms.tsv").read_text(encoding="utf-8").splitlines()
    for line in lines[1:]:
        options, expected, how, escaped = line.split("\t")
        reply = re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), escaped.replace(r"\n", "\n"))
        slug = re.sub(r"[^A-Za-z0-9]+", "-", escaped).strip("-")[:40]
        yield pytest.param(options, expected, how, reply, id=f"{options}-{expected}-{how}-{slug}")


@pytest.mark.parametrize(("options", "expected", "how", "reply"), list(reply_forms()))
def test_reads_reply_form(options: str, expected: str, how: str, reply: str) -> None:
    answer = read(reply, OFFERS[options])
    assert (outcome(answer, OFFERS[options]), answer.how) == (expected, how)


FILL = "The figures differ from year to year. "


@pytest.mark.parametrize(
    ("reply", "expected", "how"),
    [
        pytest.param("", "unreadable", "empty", id="nothing"),
        pytest.param(" \n\t\u3000 ", "unreadable", "empty", id="blanks"),
        pytest.param(" " * 10_000_000, "unreadable", "empty", id="10-MB-of-blanks"),
        pytest.param("A" * 100_000, "unreadable", "nothing-recognised", id="100-kB-of-one-letter"),
        pytest.param("{" * 100_000, "unreadable", "nothing-recognised", id="100-kB-of-braces"),
        pytest.param("A or " * 20_000, "unreadable", "only-mentioned", id="100-kB-of-or"),
        pytest.param(FILL * 3_000 + '{"answer": "B"}', "B", "embedded-json", id="answer-behind-100-kB"),
        pytest.param('{"answer": "B"} ' + FILL * 3_000, "B", "embedded-json", id="answer-before-100-kB"),
        pytest.param("B" + "lah" * 40_000, "unreadable", "nothing-recognised", id="word-that-starts-like-a-letter"),
        pytest.param(f"Answer: B. {FILL * 3_000} Answer: C.", "unreadable", "two-options", id="ends-differ"),
        pytest.param(f"<think>{FILL * 3_000}</think> B", "B", "letter", id="100-kB-of-thinking"),
        pytest.param(f"<think>{FILL * 300_000}</think> B", "B", "letter", id="10-MB-of-thinking"),
        pytest.param(f"<think>{FILL * 3_000} The answer is B", "unreadable", "unclosed-think", id="thinking-cut-off"),
        pytest.param(r'{"answer": "\u0042"}', "B", "json", id="json-escape"),
        pytest.param('\ud800{"answer": "B"}\udfff', "B", "embedded-json", id="lone-surrogates"),
        pytest.param("\ud800", "unreadable", "nothing-recognised", id="only-a-surrogate"),
        pytest.param("\0B\0", "B", "letter", id="NULs"),
        pytest.param("\u202e(B)\u202c", "B", "letter", id="right-to-left-marks"),
        pytest.param("\ue001", "unreadable", "nothing-recognised", id="private-character-is-no-option"),
        pytest.param("\uf8f0\ue001", "unreadable", "nothing-recognised", id="private-characters-are-no-json"),
        pytest.param("__import__('os').abort()", "unreadable", "nothing-recognised", id="code"),
    ],
)
def test_reads_odd_reply(reply: str, expected: str, how: str) -> None:
    answer = read(reply, FOUR)
    assert (outcome(answer), answer.how) == (expected, how)


def test_examines_no_more_than_both_ends() -> None:
    head, tail = "Answer: B. ".ljust(EXAMINED, "-"), "-" * EXAMINED
    assert outcome(read(f"{head}{tail}", FOUR)) == "B"
    assert outcome(read(f"{head}\nAnswer: C.\n{tail}", FOUR)) == "B"
    assert outcome(read(f"{head}\nAnswer: C.{tail[11:]}", FOUR)) == "unreadable"


def test_half_a_word_at_the_cut_is_no_answer() -> None:
    head = "x" * (EXAMINED - len("\nAnswer: B")) + "\nAnswer: B"
    assert read(f"{head}{'lah ' * 10_000}", FOUR).kind is UNREADABLE


@pytest.mark.parametrize("letter", "ABCDEFGH")
def test_reads_every_letter_of_eight(letter: str) -> None:
    eight = offer(*(f"Group {number}" for number in range(8)))
    for form in ('{{"answer": "{}"}}', "{}", "({})", "**{}.**", "Answer: {}", "The answer is {} because it is so."):
        assert outcome(read(form.format(letter), eight), eight) == letter


def test_name_that_two_profiles_share_chooses_neither() -> None:
    choices = offer("Riley, a 20-year-old male individual.", "Riley, a 43-year-old female individual.", PROFILES[0])
    assert read("Riley", choices) == Answer(UNREADABLE, None, "two-options")
    assert read("Riley, a 43-year-old female individual.", choices).choice == 1


def test_text_that_holds_another_option_is_read_whole() -> None:
    choices = offer("White", "Non-Hispanic White", "Black", "Black or mixed")
    assert [read(text, choices).choice for text in ("White", "non-hispanic white", "Black", "Black or mixed")] == [
        0,
        1,
        2,
        3,
    ]


def test_text_with_a_full_stop_is_read_whole() -> None:
    choices = offer("St. John's; all of it", "St. Kitts (and Nevis)")
    assert read("The answer is St. John's; all of it.", choices).choice == 0
    assert read("St. Kitts (and Nevis).", choices).choice == 1


def test_equal_texts_are_told_apart_by_letter_only() -> None:
    choices = offer("Other", "Other", "Male")
    assert read("Other", choices) == Answer(UNREADABLE, None, "two-options")
    assert read("B", choices).choice == 1


def test_content_filter_refuses_whatever_the_text() -> None:
    assert read_reply(Reply('{"answer": "A"}', filtered=True), FOUR) == Answer(REFUSED, None, "content-filter")
    assert read_reply(Reply('{"answer": "A"}'), FOUR) == Answer(AnswerKind.CHOSEN, 0, "json")


FRAGMENTS = [
    *('{"answer": "A"}', '"answer":', '"', "{", "}", "[", "]", "```", "json", "null", "N/A", "\\boxed{"),
    *("A", "B.", "(C)", "D)", "E", "I", "a", "or", "and", "not", "Asian", "Black people", "<think>", "</think>"),
    *("The answer is", "I choose", "I can't", "sorry", "final answer:", "actually", "?", ".", ",", ";", "\n", "'"),
    *("\u201c", "\ud800", "\0", "\ue000", "\u200f"),
]
any_text = st.text() | st.lists(st.sampled_from(FRAGMENTS), max_size=12).flatmap(
    lambda parts: st.sampled_from(["", " "]).map(lambda between: between.join(parts))
)
blanks = st.text(" \n\t\r", max_size=5)
any_offer = st.sampled_from(sorted(OFFERS))


@settings(deadline=None)
@given(any_text, any_offer)
def test_any_text_gives_a_valid_answer(text: str, options: str) -> None:
    answer = read(text, OFFERS[options])
    assert re.fullmatch("[a-z]+(-[a-z]+)*", answer.how)
    if answer.kind is AnswerKind.CHOSEN:
        assert answer.choice in range(len(OFFERS[options]))
    else:
        assert answer.kind in (REFUSED, UNREADABLE)
        assert answer.choice is None


@settings(deadline=None)
@given(st.sampled_from("ABCDabcd"), st.lists(blanks, min_size=7, max_size=7), st.sampled_from(["", "```", "```json"]))
def test_blanks_and_fences_keep_the_asked_json(letter: str, blank: list[str], fence: str) -> None:
    asked = f'{{{blank[0]}"answer"{blank[1]}:{blank[2]}"{letter}"{blank[3]}}}'
    reply = f"{blank[4]}{fence}\n{asked}\n{fence[:3]}{blank[5]}"
    for text in (reply, f"<think>Is it A, B or C?{blank[6]}</think>{reply}"):
        assert read(text, FOUR) == Answer(
            AnswerKind.CHOSEN, "ABCD".index(letter.upper()), "fenced-json" if fence else "json"
        )


@settings(deadline=None)
@given(st.permutations("ABCD"), any_text, st.sampled_from([" ", "\n", " or ", ", "]))
def test_two_options_in_json_are_never_chosen(letters: list[str], between: str, joint: str) -> None:
    first, second = (f'{{"answer": "{letter}"}}' for letter in letters[:2])
    assert read(f"{first}{joint}{second}", FOUR) == Answer(UNREADABLE, None, "two-options")
    assert read(f'{{"answer": ["{letters[0]}", "{letters[1]}"]}}', FOUR).kind is UNREADABLE
    if not re.search("final|think|~|<", between):
        assert read(f"{first}\n{between.replace(chr(92), '')}\n{second}", FOUR).kind is not AnswerKind.CHOSEN


@settings(deadline=None)
@given(
    st.permutations(range(4)),
    st.sampled_from([RACES, PROFILES]),
    st.sampled_from(["{}", "The answer is {}", '{{"answer": "{}"}}', "I can't say {}", "Not {}"]),
)
def test_options_in_another_order_are_read_as_the_same_option(
    order: list[int], texts: tuple[str, ...], form: str
) -> None:
    shuffled = offer(*(texts[old] for old in order))
    for index, text in enumerate(texts):
        before, after = (read(form.format(text.removesuffix(".")), choices) for choices in (offer(*texts), shuffled))
        assert (before.kind, before.how) == (after.kind, after.how)
        assert before.choice in (None, index)
        assert after.choice is None or order[after.choice] == index


def test_a_terminals_colours_are_not_read() -> None:
    choices = (Choice("A", "Male", {}), Choice("B", "Female", {}))
    assert read("\x1b[1mB\x1b[0m", choices).choice == 1
    assert read('\x1b[38;5;1m{"answer": "A"}\x1b[m', choices).choice == 0
