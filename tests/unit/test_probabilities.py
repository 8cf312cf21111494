"""The probability of each letter at the token that holds the answer, however a tokenizer cuts the reply."""

from __future__ import annotations

import math
import tracemalloc
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.core.domain import Answer, AnswerKind, Choice, LetterProbabilities, ProbabilityState, Token
from fairgate.providers.chat.logprobs import read_tokens
from fairgate.replies.choices import read
from fairgate.replies.probabilities import expected, place_of, weigh
from tests.logprobs import as_openai, tokens

NAMES = ("Ash, 34, a Black man", "Blair, 40, a White woman", "Casey, 22, an Asian man", "Drew, 50, a Hispanic woman")
CHOICES = tuple(Choice(letter, name, {}) for letter, name in zip("ABCD", NAMES, strict=True))
EVEN = {"A": 0.2, "B": 0.5, "C": 0.2, "D": 0.1}


def weighed(said: tuple[Token, ...], reply: str | None = None) -> LetterProbabilities:
    text = b"".join(each.content for each in said).decode() if reply is None else reply
    return weigh(said, text, CHOICES, read(text, CHOICES))


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ('{"answer": "B"}', 12),
        ('```json\n{"answer": "b"}\n```', 20),
        ("B", 0),
        ("(B)", 1),
        ("B. Blair, 40, a White woman", 0),
        ("The answer is B.", 14),
        ("Between A and B, the answer is B", 31),
        ("A person could be anyone. The answer is A.", 40),
        ("B or maybe C... final answer: B", 30),
        ("I'd pick B because B is older", 9),
        ('<think>A or B?</think>\n{"answer": "A"}', 35),
        ('{"answer":"B","reason":"B is best"}', 11),
    ],
)
def test_the_answer_stands_where_another_letter_would_be_another_answer(reply: str, place: int) -> None:
    chosen = read(reply, CHOICES).choice
    assert chosen is not None
    assert place_of(reply, CHOICES, chosen) == place


@pytest.mark.parametrize("reply", ['{"answer": "Blair"}', "Blair, 40, a White woman", '{"answer": "Blair, 40"}'])
def test_an_answer_in_words_has_no_letter(reply: str) -> None:
    assert read(reply, CHOICES).choice == 1
    assert weighed(tokens([reply], 0, {reply: 0.9, "B": 0.1})).state is ProbabilityState.OTHER_TOKENS


@pytest.mark.parametrize(
    ("pieces", "at", "form"),
    [
        (['{"', "answer", '":', ' "', "B", '"}'], 4, "{}"),
        (['{"', "answer", '":', ' "B', '"}'], 3, ' "{}'),
        (['{"', "answer", '":', ' "', 'B"', "}"], 4, '{}"'),
        (['{"answer', '": "', 'B"}'], 2, '{}"}}'),
        (['{"', 'answer": "B', '"}'], 1, 'answer": "{}'),
        (['{"answer": "B"}'], 0, '{{"answer": "{}"}}'),
        (["B"], 0, "{}"),
        ([" B", "."], 0, " {}"),
        (["B", ".", " Blair"], 0, "{}"),
        (["The", " answer", " is", " B", "."], 3, " {}"),
        (["**", "B", "**"], 1, "{}"),
    ],
)
def test_a_letter_counts_with_the_signs_that_its_token_has(pieces: list[str], at: int, form: str) -> None:
    others = {form.format(letter): chance for letter, chance in EVEN.items()}
    found = weighed(tokens(pieces, at, others))
    assert (found.state, found.chosen) == (ProbabilityState.KNOWN, 1)
    assert (*found.letters, found.outside) == pytest.approx((0.2, 0.5, 0.2, 0.1, 0.0))


def test_forms_of_one_letter_are_added_and_words_are_outside() -> None:
    others = {"B": 0.3, " B": 0.1, '"B': 0.1, 'B"': 0.05, "B.": 0.05, "b": 0.1, "A": 0.1, "Asian": 0.1, "Blair": 0.1}
    found = weighed(tokens(["B", "."], 0, others))
    assert found.letters == pytest.approx((0.1, 0.7, None, None))
    assert found.outside == pytest.approx(0.2)


def test_what_is_one_token_or_two_counts_by_the_chance_of_having_come_so_far() -> None:
    """A blank and a quote, then a letter; or all three in one token, in the place of the first."""
    pieces = ['{"', "answer", '":', ' "', "B", '"}']
    before = {3: {' "': 0.6, ' "A': 0.3, ' "B': 0.1}}
    found = weighed(tokens(pieces, 4, {"B": 0.9, "A": 0.1}, before))
    assert found.letters == pytest.approx((0.3 + 0.6 * 0.1, 0.1 + 0.6 * 0.9, None, None))


def test_letters_on_the_way_to_the_answer_are_no_answer() -> None:
    pieces = ["Between", " A", " and", " B", ", the answer is", " B"]
    found = weighed(tokens(pieces, 5, {" B": 0.6, " A": 0.4}))
    assert found.letters == pytest.approx((0.4, 0.6, None, None))


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        (["<think>", "A or B, B", "</think>", "\n\n"], []),
        ([], ["<|im_end|>"]),
        ([], ["</s>", "\n"]),
        (["<|channel|>", "analysis", "<|message|>", "B?", "<|channel|>", "final", "<|message|>"], ["<|return|>"]),
    ],
)
def test_what_a_server_adds_to_the_reply_is_left_out(before: list[str], behind: list[str]) -> None:
    pieces = [*before, '{"', "answer", '":"', "B", '"}', *behind]
    found = weighed(tokens(pieces, len(before) + 3, EVEN), '{"answer":"B"}')
    assert found.letters == pytest.approx((0.2, 0.5, 0.2, 0.1))


@pytest.mark.parametrize("blank", ["\u2581", "\u0120"])
def test_a_vocabulary_s_own_blanks_are_blanks(blank: str) -> None:
    said = tokens([f"{blank}The", f"{blank}answer", f"{blank}is", f"{blank}B"], 3, {f"{blank}B": 0.5, f"{blank}A": 0.5})
    assert weighed(said, "The answer is B").letters == (0.5, 0.5, None, None)


def test_bytes_go_before_text_where_a_token_holds_half_a_character() -> None:
    """The letter behind an umlaut that is cut in two."""
    said = (
        *(Token(bytes([each]), ((bytes([each]), 1.0),)) for each in "ü".encode()),
        Token(b": the answer is ", ()),
        Token(b"B", ((b"B", 0.75), (b"A", 0.25))),
    )
    assert weighed(read_tokens(as_openai(said)), "ü: the answer is B").letters == (0.25, 0.75, None, None)


def test_tokens_that_do_not_spell_the_reply_are_other_tokens() -> None:
    for said in (tokens(["token_id:33"], 0, {"token_id:33": 1.0}), tokens(["C"], 0, {"C": 1.0})):
        assert weighed(said, "B") == LetterProbabilities(ProbabilityState.OTHER_TOKENS, 1)
    assert weighed(tokens(["B"], 0, {"B": 0.9, "A": 0.9})).state is ProbabilityState.OTHER_TOKENS, "more than 1 in all"


def test_a_reply_of_lone_letters_takes_no_memory_of_its_own() -> None:
    short, long = ("The answer is A.\n" + "a " * count for count in (400_000, 4_000_000))
    answer = Answer(AnswerKind.CHOSEN, 0, "letter")
    for text in (short, long):
        tracemalloc.start()
        try:
            assert weigh(tokens(["A"], 0, EVEN), text, CHOICES, answer).state is ProbabilityState.OTHER_TOKENS
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 10 * len(text)


def test_a_chance_too_small_for_a_number_is_none() -> None:
    content = [{"token": "A", "logprob": -9998.0, "top_logprobs": [{"token": "A", "logprob": -9998.0}]}]
    found = weighed(read_tokens({"content": content}), "A")
    assert found.state is ProbabilityState.NOT_LISTED
    stored = LetterProbabilities(ProbabilityState.KNOWN, 0, (0.0, None, None, None), 1.0, 0.0)
    assert expected(stored, 0) is None


def test_no_tokens_are_told_from_no_choice_and_from_a_letter_that_is_not_listed() -> None:
    refused = Answer(AnswerKind.REFUSED, None, "refusal-phrase")
    assert weigh((), "B", CHOICES, read("B", CHOICES)).state is ProbabilityState.NOT_GIVEN
    assert weigh((), "I cannot.", CHOICES, refused).state is ProbabilityState.NO_CHOICE
    assert weighed(tokens(["B"], 0, {"A": 0.9})).state is ProbabilityState.NOT_LISTED


def test_a_list_that_is_cut_off_leaves_its_letters_unknown_and_says_by_how_much() -> None:
    found = weighed(tokens(["B"], 0, {"B": 0.9, "A": 0.06}))
    assert found.letters == (0.06, 0.9, None, None)
    assert found.outside == pytest.approx(0.04)
    assert found.unlisted == pytest.approx(0.04)
    assert expected(found, 1) is None
    short = weighed(tokens(["B"], 0, {"B": 0.9, "A": 0.0999, "C": 0.00005}))
    shares = expected(short, 1)
    assert shares is not None
    assert sum(shares) == pytest.approx(1)
    assert 0 < shares[3] < 0.001


def test_shares_are_of_the_offered_letters_and_of_the_choice_as_it_is_read_now() -> None:
    found = weighed(tokens(["B"], 0, {"B": 0.4, "A": 0.2, "C": 0.1, "D": 0.1, "No": 0.2}))
    assert expected(found, 1) == pytest.approx((0.25, 0.5, 0.125, 0.125))
    assert expected(found, 2) is None
    assert expected(None, 1) is None


CUTS = st.lists(st.integers(1, 40), max_size=12)
CHANCES = st.lists(st.floats(0.001, 1.0), min_size=4, max_size=4)
REPLIES = st.sampled_from(['{"answer": "B"}', "The answer is B.", "(B) Blair", '```json\n{"answer":"B"}\n```', "B"])


@given(REPLIES, CUTS, CHANCES, st.floats(0.0, 0.5), st.permutations(range(4)))
def test_the_cut_makes_no_difference_and_relabelling_relabels(
    reply: str, cuts: list[int], raw: list[float], outside: float, order: list[int]
) -> None:
    place = place_of(reply, CHOICES, 1)
    assert place is not None
    ends = sorted({0, len(reply), *(each for each in cuts if each < len(reply))})
    pieces = [reply[start:end] for start, end in pairwise(ends)]
    at = next(number for number, end in enumerate(ends[1:]) if end > place)
    inside = place - ends[at]

    def found(chances: list[float]) -> LetterProbabilities:
        total = sum(chances) / (1 - outside)
        others = {
            pieces[at][:inside] + letter + pieces[at][inside + 1 :]: chance / total
            for letter, chance in zip("ABCD", chances, strict=True)
        }
        return weighed(tokens(pieces, at, {**others, "none": outside}))

    known = found(raw)
    assert known.state is ProbabilityState.KNOWN
    letters = [each or 0.0 for each in known.letters]
    assert letters == pytest.approx([(1 - outside) * each / sum(raw) for each in raw], abs=1e-5)
    assert sum(letters) + known.outside == pytest.approx(1, abs=1e-5)
    assert sum(letters) <= 1 + 1e-12
    relabelled = found([raw[each] for each in order])
    assert [each or 0.0 for each in relabelled.letters] == pytest.approx([letters[each] for each in order], abs=1e-5)
    shares = expected(known, 1)
    assert shares is not None
    assert math.fsum(shares) == pytest.approx(1)


# As servers send them


def test_both_forms_of_servers_are_read() -> None:
    said = tokens(["The answer is ", "B"], 1, {"B": 0.5, "A": 0.25})
    columns = {
        "tokens": ["The answer is ", "B"],
        "token_logprobs": [0.0, math.log(0.5)],
        "top_logprobs": [{"The answer is ": 0.0}, {"A": math.log(0.25)}],
    }
    for each in (as_openai(said), columns):
        assert weighed(read_tokens(each)).letters == pytest.approx((0.25, 0.5, None, None))


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        {},
        "yes",
        {"content": None},
        {"content": []},
        {"content": [7]},
        {"content": [{"logprob": -0.1}]},
        {"content": [{"token": 7, "logprob": -0.1}]},
        {"tokens": [1, 2]},
        {"tokens": "B"},
    ],
)
def test_what_is_no_list_of_tokens_is_none(given: object) -> None:
    assert read_tokens(given) == ()


@pytest.mark.parametrize("logprob", [None, "0", True, math.nan, -(10**400), 10**400, 0.5, -9999.0, -math.inf, math.inf])
def test_what_is_no_logarithm_is_no_probability(logprob: object) -> None:
    listed = [{"token": "A", "logprob": logprob}, {"token": "C", "logprob": -1.0}]
    [token] = read_tokens({"content": [{"token": "B", "logprob": -0.5, "top_logprobs": listed}]})
    assert [content for content, _ in token.likely] == [b"C", b"B"]


def test_hostile_tokens_are_read_in_time() -> None:
    """Of lengths and forms that make naive searches slow: the reply over and over, and signs without end."""
    reply = "B " * 4000 + "The answer is B"
    pieces = [*(["B ", " "] * 4000), "The answer is ", "B"]
    assert weighed(tokens(pieces, len(pieces) - 1, EVEN), reply).state in ProbabilityState
    assert weighed(tokens([*(['"'] * 20_000), "B"], 20_000, EVEN)).state in ProbabilityState


def test_every_order_of_letters_is_one_of_the_choices() -> None:
    for order in permutations("ABCD"):
        others = dict(zip(order, (0.4, 0.3, 0.2, 0.1), strict=True))
        found = weighed(tokens([order[0]], 0, others))
        assert found.letters == pytest.approx(tuple(others[letter] for letter in "ABCD"))
