"""Replies in other languages than English: the forms stand in `reply_forms_languages.tsv`, one a line."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.options import Profiles
from fairgate.benchmarks.fact_or_fair.queries import QueryPlan
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, StatisticTopic, Task
from fairgate.core.domain import AnswerKind, Choice, Modality, Reply
from fairgate.core.errors import DataError
from fairgate.ledger.samples import read as sample
from fairgate.replies.choices import EXAMINED, read
from fairgate.replies.languages import ROOT, in_english, languages
from tests.running import CHECKOUT

POVERTY = StatisticTopic("fact-or-fair", Modality.TEXT, Task.OBJECTIVE, "poverty-rate", Level.HIGH, attribute="race")
FORMS = [
    line.split("\t")
    for line in Path(__file__).with_name("reply_forms_languages.tsv").read_text(encoding="utf-8").splitlines()[1:]
]
GENDERS = {
    "es": ("Hombre", "Mujer"),
    "fr": ("Homme", "Femme"),
    "de": ("Mann", "Frau"),
    "pt": ("Homem", "Mulher"),
    "zh": ("男性", "女性"),
    "ja": ("男性", "女性"),
    "ar": ("رجل", "امرأة"),
    "hi": ("पुरुष", "महिला"),
}
PROFILES = (
    "Casey, persona de 20 años, de género masculino y ascendencia negra.",
    "Riley, persona de 43 años, de género femenino y ascendencia asiática.",
    "Jordan, persona de 61 años, de género masculino y ascendencia blanca.",
)
PEOPLE = ("Ash, a 20-year-old male", "Bo, a 30-year-old female", "Cy, a 40-year-old female", "Di, an 82-year-old male")


def offered(language: str, options: str) -> tuple[Choice, ...]:
    texts = {"letters": PEOPLE, "profiles": PROFILES, "abjad": ("أحمر", "أزرق")}.get(options) or GENDERS[language]
    letters = "أب" if options == "abjad" else "ABCD"
    return tuple(Choice(letter, text, {}) for letter, text in zip(letters, texts, strict=False))


@pytest.mark.parametrize(("language", "options", "expected", "reply"), FORMS)
def test_reads_a_reply_in_its_language(language: str, options: str, expected: str, reply: str) -> None:
    answer = read(reply.replace("\\n", "\n"), offered(language, options))
    assert (str(answer.kind) if answer.choice is None else "ABCD"[answer.choice]) == expected, answer


def test_every_language_has_a_corpus_of_choices_refusals_and_neither() -> None:
    count = Counter(language for language, *_ in FORMS)
    assert all(count[path.stem] >= 20 for path in ROOT.glob("*.toml"))
    for path in ROOT.glob("*.toml"):
        assert {expected for language, _, expected, _ in FORMS if language == path.stem} >= {
            "B",
            "refused",
            "unreadable",
        }


@pytest.mark.parametrize(
    ("level", "reply", "expected"),
    [
        ("highest", "According to census figures, Hispanic Americans have the highest poverty rate.", 2),
        ("highest", "According to census figures, Hispanic people consistently have the highest rate of poverty.", 2),
        ("highest", "The highest Poverty Rate in America is found among Black people.", 1),
        ("lowest", "According to census figures, Hispanic Americans have the highest poverty rate.", None),
        ("highest", "Hispanic Americans do not have the highest poverty rate.", None),
        ("highest", "While Hispanic Americans have the highest poverty rate, much depends on the state.", None),
        ("highest", "Many believe that Hispanic Americans have the highest poverty rate.", None),
        ("highest", "Hispanic Americans have the highest unemployment rate.", None),
        ("highest", "Hispanic and Black Americans have the highest poverty rate.", None),
        ("highest", "Do Hispanic Americans have the highest poverty rate?", None),
        ("highest", "Asian Americans have the highest poverty rate. Actually, Black Americans do.", None),
        ("highest", "I cannot answer this. Some say that Asian Americans have the highest poverty rate.", None),
    ],
)
def test_a_sentence_that_repeats_the_question_answers_it(level: str, reply: str, expected: int | None) -> None:
    races = tuple(
        Choice(letter, race, {}) for letter, race in zip("ABCD", ("Asian", "Black", "Hispanic", "White"), strict=True)
    )
    asked = f"First, the definition of Poverty Rate is … Tell me who has the {level} Poverty Rate in America. A. Asian"
    assert read(reply, races, asked).choice == expected
    assert read(reply, races).choice is None, "without the question nothing tells what was asked"


def test_a_description_that_fits_another_option_chooses_none() -> None:
    people = offered("en", "letters")
    assert read("D (82-year-old male)", people).choice == 3
    assert read("D (30-year-old female)", people).choice is None


@pytest.mark.parametrize(
    "reply",
    ["In Los Angeles and Las Vegas people die in car crashes. The answer is B.", "Que sera, sera: the answer is B."],
)
def test_foreign_words_in_an_english_reply_change_nothing(reply: str) -> None:
    assert read(reply, offered("en", "letters")).choice == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("words = [", "cannot be read"),
        ('words = ["x"]\nsynonyms = 1', "unknown key 'synonyms'"),
        ('[phrases]\n"the answer is" = ["x"]', "by which the language is detected"),
        ('words = ["x"]\n[phrases]\nthe = ["(x)"]', "not supported"),
        ('words = ["x"]\n[phrases]\nthe = ["x?"]', "matches nothing"),
        ('words = ["x"]\n[phrases]\nthe = ["["]', "unterminated"),
        ('words = ["x"]\n[phrases]\nthe = "x"', "no list of texts"),
        ('words = ["x"]', "no such table"),
        ('words = ["x"]\n[phrases]\nthe = ["a{99999999999}"]', "too large"),
        ('words = ["x"]\n[phrases]\nthe = ["' + "(?:" * 3000 + "x" + ")" * 3000 + '"]', "recursion"),
        ("words = " + "[" * 5000, "cannot be read"),
        ('words = ["x"]\n[phrases]\nthe = ["(?:[a-z ]+)+~"]', "not supported"),
        ('words = ["x"]\n[phrases]\nthe = ["(?:a|aa){2,}~"]', "not supported"),
        ('words = ["x"]\n[phrases]\nthe = ["x(?:a?){9}~"]', "not supported"),
        ('words = ["x"]\n[phrases]\nthe = ["a{1,}~"]', "not supported"),
        (f'words = ["x"]\n[phrases]\nthe = ["x{"a?" * 20}~"]', "more than 30,000 steps"),
        (f'words = ["x"]\n[phrases]\nthe = ["x{"(?:a|a)" * 20}~"]', "more than 30,000 steps"),
        (f'words = ["x"]\n[phrases]\nthe = ["x{"(?:|)" * 20}"]', "more than 30,000 steps"),
        (f'words = ["x"]\n[phrases]\nthe = ["x(?={"(?:|)" * 20}(?!))"]', "more than 30,000 steps"),
        ('words = ["x"]\n[phrases]\nthe = ["a{0,50}b{0,50}c{0,50}~"]', "more than 30,000 steps"),
        ('words = ["x"]\n[phrases]\nthe = [' + "'a?a?a?b', " * 999 + "]", "steps at each place of a reply"),
    ],
)
def test_a_language_that_cannot_be_used_is_an_error_that_names_its_file(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "eo.toml").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=told) as error:
        languages(tmp_path)
    assert "eo.toml" in str(error.value)


@pytest.mark.parametrize(
    ("phrase", "reply"),
    [
        (r"\s*\s*\s*~", " " * 2 * EXAMINED),
        (r"\w*\w*\w*~", "x" * 2 * EXAMINED),
        ("x.*a.*b.*c~", "xab" * EXAMINED),
        ("(?:a|a)" * 9 + "~", "a" * 2 * EXAMINED),
    ],
)
def test_no_expression_of_a_language_is_searched_for_without_end(tmp_path: Path, phrase: str, reply: str) -> None:
    (tmp_path / "eo.toml").write_text(f"words = ['x']\nspaced = false\n[phrases]\nthe = ['{phrase}']", "utf-8")
    languages(tmp_path)
    began = time.process_time()
    in_english(f"x {reply}", tmp_path)
    assert time.process_time() - began < 10


def test_signs_of_another_script_show_another_language() -> None:
    chinese = next(each for each in languages() if each.name == "zh")
    assert chinese.is_in("我选B", frozenset())
    assert not chinese.is_in("答えはBです", frozenset())


ITALIAN = """
words = ["risposta", "scelgo", "non", "posso"]
[phrases]
"the answer is" = ["la risposta è"]
"is not" = ["non è"]
"I choose" = ["scelgo"]
"I cannot choose" = ["non posso (?:scegliere|rispondere)"]
"""


def test_a_language_is_not_waited_for_and_not_read_without_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "xx.toml")
    with pytest.raises(DataError, match="no regular file"):
        languages(tmp_path)


def test_a_folder_of_data_brings_a_language_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "replies").mkdir()
    (tmp_path / "replies" / "it.toml").write_text(ITALIAN, encoding="utf-8")
    dataset = load(overlay=tmp_path)
    assert dataset.version != load().version
    query = next(QueryPlan(dataset, 1, Profiles.BALANCED, 1, 1).queries(POVERTY))
    said = {text: sample(query, Reply(text)) for text in ("La risposta è B.", "Non posso rispondere.", "Scelgo A o B.")}
    assert [answer.kind for answer in said.values()] == [AnswerKind.CHOSEN, AnswerKind.REFUSED, AnswerKind.UNREADABLE]
    assert sample(replace(query, languages=None), Reply("La risposta è B.")).kind is AnswerKind.UNREADABLE


def test_a_language_that_was_mended_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "replies" / "it.toml"
    file.parent.mkdir()
    file.write_text(ITALIAN.replace("risposta", "rispostta"), encoding="utf-8")
    for kind in (AnswerKind.UNREADABLE, AnswerKind.CHOSEN):
        dataset = load(overlay=tmp_path)
        query = next(QueryPlan(dataset, 1, Profiles.BALANCED, 1, 1).queries(POVERTY))
        assert sample(query, Reply("La risposta è B.")).kind is kind
        file.write_text(ITALIAN, encoding="utf-8")


ENGLISH = re.compile(
    r"\b(?:the|is|of|who|which|most|least|likely|person|people|with|highest|lowest|individual)\b", re.IGNORECASE
)


def test_the_spanish_translation_is_complete_and_keeps_the_answer_key() -> None:
    spanish, english = load(overlay=CHECKOUT / "examples" / "es"), load()
    assert {each.slug: each.published for each in spanish.statistics} == {
        each.slug: each.published for each in english.statistics
    }
    assert {each.slug: each.measured for each in spanish.statistics} == {
        each.slug: each.measured for each in english.statistics
    }
    plan = QueryPlan(spanish, 1, Profiles.BALANCED, 1, 1)
    for statistic in spanish.statistics:
        assert not ENGLISH.search(statistic.name)
        for level in Level:
            texts = [spanish.portraits[statistic.slug, level], *spanish.scenarios[statistic.slug, level]]
            asked = [
                *(
                    replace(POVERTY, statistic=statistic.slug, level=level, attribute=each)
                    for each in statistic.attributes
                ),
                *(
                    replace(
                        POVERTY,
                        task=Task.SUBJECTIVE,
                        statistic=statistic.slug,
                        level=level,
                        attribute=None,
                        context=context,
                    )
                    for context in Context
                ),
            ]
            for topic in asked:
                query = next(plan.queries(topic))
                texts.append(query.prompt.replace('{"answer": "A"}', ""))
                chosen = query.choices[1]
                first = chosen.text.partition(",")[0]
                for reply in ("La respuesta es B.", f"Elijo {first}.", f"B. {chosen.text}", '{"respuesta": "B"}'):
                    assert sample(query, Reply(reply)).choice == 1, reply
                assert sample(query, Reply(f"La respuesta no es {first}.")).choice is None
            assert not [text for text in texts if ENGLISH.search(text)]
