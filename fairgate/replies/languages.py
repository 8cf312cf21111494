"""Other languages than English, as data: their phrases are put into the English ones that the reader of choices knows.

`data/replies/NAME.toml` holds a language, and so does any file of this kind under `replies/` of a folder of `--data`:

- `words` and `script`: the language is looked for only in replies that hold one of these words, or a match of this
  regular expression. Words that English has too do not belong there.
- `other_script`: a match of this regular expression shows that the language is another one of the same script.
- `spaced`: whether blanks stand between words, true where it is not said.
- `joins`: words between two options, as "or"; they count only there, so that a letter may be one.
- `closing`: which of the English phrases count only at the end of a clause, where the language has its verbs.
- `phrases`: from an English phrase to regular expressions of those that mean the same (`replies/expressions.py`).

What is not in the file stays as it is, and no pattern of the reader matches it: an unknown phrase never chooses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fairgate.core import toml
from fairgate.core.errors import DataError
from fairgate.core.files import read_text
from fairgate.core.layout import DATA
from fairgate.core.typed import shortened
from fairgate.replies.expressions import STEPS, Bounded, bounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

ROOT = DATA / "replies"
LARGEST = 2**20  # bytes
MOST_FILES = 50
KEYS = {"words", "script", "other_script", "spaced", "joins", "closing", "phrases"}
# Vowel signs of Hindi and Arabic are no word characters to `re`, but stand in words.
_SIGNS = "\u064b-\u065f\u0900-\u0963\u0970-\u097f"
_BEFORE, _AFTER = rf"(?<![\w{_SIGNS}])", rf"(?![\w{_SIGNS}])"
_UNSPACED = "[\u0600-\u06ff\u0900-\u097f\u3005\u3040-\u30ff\u4e00-\u9fff]"
_BESIDE_A_LETTER = re.compile(rf"(?<={_UNSPACED})(?=[A-Za-z\ue000-\uf8ff])|(?<=[A-Za-z\ue000-\uf8ff])(?={_UNSPACED})")
_OPTION = "(?-i:[A-Z](?!\\w)|[\ue000-\ue4ff])"
_CLOSE = r"(?=\s{0,60}+(?:[^\w\s]|$))"
_WORD = re.compile(r"[^\W\d_]+")
_BLANKS = re.compile(r" {2,}| +(?=,)")


@dataclass(frozen=True, eq=False)
class Language:
    """One language of replies; `phrases`: regular expressions, and what they mean in English."""

    name: str
    words: frozenset[str]
    script: re.Pattern[str] | None
    other_script: re.Pattern[str] | None
    phrases: Sequence[tuple[re.Pattern[str], str]]

    def is_in(self, text: str, words: frozenset[str]) -> bool:
        """Whether a text, which has these words, shows that it is in this language."""
        if not self.words.isdisjoint(words):
            return True
        if self.script is None or self.script.search(text) is None:
            return False
        return self.other_script is None or self.other_script.search(text) is None


def in_english(text: str, folder: Path | None = None) -> str:
    """The text with all known phrases of the languages that it is in put into English; `folder`: of further languages.

    Raises DataError, naming file and key, where a file of a language cannot be used.
    """
    words = frozenset(_WORD.findall(text.casefold()))
    spoken = tuple(language for language in languages(folder) if language.is_in(text, words))
    if not spoken:
        return text
    text = _BESIDE_A_LETTER.sub(" ", text)
    longest: dict[int, tuple[int, str]] = {}
    for phrase, said in (each for language in spoken for each in language.phrases):
        for start, end in map(re.Match.span, phrase.finditer(text)):
            if end > longest.get(start, (start, ""))[0]:
                longest[start] = end, said
    parts: list[str] = []
    done = 0
    for start, (end, said) in sorted(longest.items()):
        if start >= done:  # of phrases within one another the longest counts
            parts += [text[done:start], f" {said} "]
            done = end
    return "\n".join(_BLANKS.sub(_blank, line).strip() for line in "".join([*parts, text[done:]]).split("\n"))


def _blank(found: re.Match[str]) -> str:
    """One blank, none before a comma."""
    return "" if found.string.startswith(",", found.end()) else " "


@lru_cache(maxsize=16)
def languages(folder: Path | None = None) -> tuple[Language, ...]:
    """All languages, ours and those of a folder, which replace ours of the same name."""
    files = {path.stem: path for root in (ROOT, folder) if root for path in sorted(root.glob("*.toml"))}
    if len(files) > MOST_FILES:
        raise DataError(f"{len(files)} languages, of at most {MOST_FILES}.", where=str(folder), hint="Take some out.")
    return tuple(_language(name, path) for name, path in sorted(files.items()))


def _language(name: str, path: Path) -> Language:
    try:
        table = toml.parsed(read_text(path, LARGEST))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"cannot be read ({error}).", where=str(path), hint="Save it as TOML, in UTF-8.") from error
    if odd := sorted(set(table) - KEYS):
        raise DataError(f"unknown key {odd[0]!r}.", where=str(path), hint=f"Use {', '.join(sorted(KEYS))}.")
    spaced = table.get("spaced", True)
    if not isinstance(spaced, bool):
        raise DataError(f"{spaced!r} is neither true nor false.", where=f"{path}: spaced", hint="Write one of them.")
    words = _texts(table.get("words", []), f"{path}: words")
    script, other = (
        _expressions([table[key]] if key in table else [], f"{path}: {key}") for key in ("script", "other_script")
    )
    if not words and not script:
        hint = "Give it `words`, `script`, or both."
        raise DataError("needs `words` or `script`, by which the language is detected.", where=str(path), hint=hint)
    joins = _expressions(table.get("joins", []), f"{path}: joins")
    closing = _texts(table.get("closing", []), f"{path}: closing")
    phrases = [
        (phrase, english)
        for english, expressions in _table(table.get("phrases"), f"{path}: phrases").items()
        for phrase in _expressions(expressions, f"{path}: phrases.{english}")
    ]
    steps = sum(each.steps for each in (*script, *other, *joins, *(phrase for phrase, _ in phrases)))
    if steps > STEPS:
        said = f"its expressions take up to {steps:,} steps at each place of a reply, of at most {STEPS:,}."
        raise DataError(said, where=str(path), hint="Write fewer alternatives, and fewer parts that may be left out.")
    compiled = [
        (_compiled(phrase.text, spaced, _CLOSE if english in closing else ""), english) for phrase, english in phrases
    ]
    if joins:
        join = rf"""(?:(?<={_OPTION})|(?<=[)"'\].])){{}}(?:{{}}){{}}(?=["'(\[]?{_OPTION})"""
        blank = " " if spaced else " ?"
        alternatives = "|".join(each.text for each in joins)
        compiled.append((re.compile(join.format(blank, alternatives, blank), re.IGNORECASE), "or"))
    known = frozenset(word.casefold() for word in words)
    own, others = (re.compile(each[0].text) if each else None for each in (script, other))
    return Language(name, known, own, others, compiled)


def _compiled(phrase: str, spaced: bool, end: str = "") -> re.Pattern[str]:
    """Between words, where the phrase does not end with a sign of its own, as in French *l'*."""
    after = "" if phrase.endswith("'") else _AFTER
    return re.compile(
        (f"{_BEFORE}(?:{phrase}){after}" if spaced else f"(?:{phrase})") + end, re.IGNORECASE | re.MULTILINE
    )


def _table(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not value:
        raise DataError("no such table.", where=where, hint='Write "the answer is" = ["…"] under [phrases].')
    return value


def _texts(value: object, where: str) -> Sequence[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise DataError(f"{value!r} is no list of texts.", where=where, hint='Write ["…", "…"].')
    return value


def _expressions(value: object, where: str) -> Sequence[Bounded]:
    """Regular expressions that match something. Raises DataError at `where` for anything else."""
    found = []
    for each in _texts(value, where):
        try:
            expression = bounded(each)
        except (re.error, ValueError, OverflowError, RecursionError) as error:
            hint = "Write a regular expression: docs/languages.md says what it may hold."
            raise DataError(f"{shortened(each)}: {error}.", where=where, hint=hint) from error
        if re.match(expression.text, ""):
            raise DataError(f"{each!r} matches nothing.", where=where, hint="Let it match at least one letter.")
        found.append(expression)
    return found
