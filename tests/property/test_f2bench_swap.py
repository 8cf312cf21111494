"""What holds of every swapped twin, whatever the paragraph."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from fairgate.benchmarks.f2bench.swap import swap
from tests.strategies import THOROUGH

# Singular and plural of words whose forms are all distinct, and how the article before them sounds.
WORDS = {
    "man": ("men", "a"),
    "woman": ("women", "a"),
    "old person": ("old people", "an"),
    "young person": ("young people", "a"),
    "atheist": ("atheists", "an"),
    "university student": ("university students", "a"),
    "honest worker": ("honest workers", "an"),
    "female doctor": ("female doctors", "a"),
    "doctor": ("doctors", "a"),
    "person with a disability": ("people with a disability", "a"),
    "person without a disability": ("people without a disability", "a"),
    "Muslim": ("Muslims", "a"),
    "American citizen": ("American citizens", "an"),
    "25-year-old worker": ("25-year-old workers", "a"),
    "81-year-old worker": ("81-year-old workers", "an"),
}
NEUTRAL = ["met", "near the river", "and", "one read while the other wrote", "spoke", "manly words", "a", "the day"]
FORMS = [
    "plain",
    "article",
    "plural",
    "possessive",
    "plural possessive",
    "capital article",
    "shouted",
    "shouted article",
]


def mention(word: str, form: str) -> str:
    many, article = WORDS[word]
    return {
        "plain": f"the {word}",
        "article": f"{article} {word}",
        "plural": many,
        "possessive": f"the {word}'s hat",
        "plural possessive": f"{many}'{'' if many.endswith('s') else 's'} hats",
        "capital article": f". {article.capitalize()} {word}",
        "shouted": f"the {word.upper()}",
        "shouted article": f"{article.upper()} {word.upper()}",
    }[form]


@st.composite
def paragraphs(draw: st.DrawFn) -> tuple[str, str, str]:
    """A paragraph that names both groups, in right English, and the groups."""
    first, second = draw(st.lists(st.sampled_from(sorted(WORDS)), min_size=2, max_size=2, unique=True))
    parts = [mention(word, draw(st.sampled_from(FORMS))) for word in (first, second)]
    more = st.tuples(st.sampled_from([first, second]), st.sampled_from(FORMS))
    parts += [mention(word, form) for word, form in draw(st.lists(more, max_size=4))]
    parts += draw(st.lists(st.sampled_from(NEUTRAL), max_size=5))
    # A dash keeps a neutral "a" from becoming the article of the mention behind it.
    text = " - ".join(draw(st.permutations(parts)))
    return f"Here {text}.", first, second


@THOROUGH
@given(paragraphs())
def test_swapping_twice_gives_the_paragraph_back(case: tuple[str, str, str]) -> None:
    paragraph, first, second = case
    found = swap(paragraph, first, second)
    assert found.text is not None
    assert swap(found.text, first, second).text == paragraph


@THOROUGH
@given(paragraphs())
def test_the_order_of_the_groups_plays_no_part(case: tuple[str, str, str]) -> None:
    paragraph, first, second = case
    assert swap(paragraph, first, second).text == swap(paragraph, second, first).text


@THOROUGH
@given(paragraphs())
def test_the_twin_has_the_mentions_exchanged(case: tuple[str, str, str]) -> None:
    paragraph, first, second = case
    found = swap(paragraph, first, second)
    assert found.text is not None
    assert swap(found.text, first, second).mentions == found.mentions[::-1]


def without_mentions(text: str, *groups: str) -> str:
    """The text with a hole for every mention, article and ending."""
    forms = sorted((form for group in groups for form in (group, WORDS[group][0])), key=len, reverse=True)
    words = "|".join(re.escape(form) for form in forms)
    return re.sub(rf"(?<![\w-])(?:an? )?(?<![\w-])(?:{words})(?!\w|-\w)(?:'s|'(?= ))?", "#", text, flags=re.IGNORECASE)


@THOROUGH
@given(paragraphs())
def test_nothing_but_mentions_and_their_articles_changes(case: tuple[str, str, str]) -> None:
    paragraph, first, second = case
    found = swap(paragraph, first, second).text
    assert found is not None
    assert without_mentions(found, first, second) == without_mentions(paragraph, first, second)


@THOROUGH
@given(st.text(max_size=120), st.text(min_size=1, max_size=12), st.text(min_size=1, max_size=12))
def test_any_text_is_swapped_or_left_with_a_reason(paragraph: str, first: str, second: str) -> None:
    found = swap(paragraph, first, second)
    assert (found.text is None) == (found.reason is not None)
    assert (found.text is None) == (not all(found.mentions))
