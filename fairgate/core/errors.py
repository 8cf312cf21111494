"""The two roots of everything that can go wrong.

ClaimRefuted(AssertionError)    what a model did, and should not have done: a *failed* test
FairgateError(Exception)        what keeps a model from being judged, never a score: an *error* of the run
├── ConfigError                 an option or a key of a TOML file
├── DataError                   a data file, ours or the user's
├── PluginError                 an installed benchmark that cannot be used
├── LedgerError                 the store of samples
├── MissingDependency                  this machine lacks what the run needs: a package, the weights of a network
├── CallFailed                  one sample could not be had, after all retries
├── RunStopped                  no further sample can be had: bad key, unknown model, spent quota
│   └── BudgetSpent             … because the user's own budget is spent
└── Unsampled                   a topic lacks more samples than may be missing
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


LONGEST = 1500  # characters of each part of a message
LISTED = 20  # known words
WRONG_USAGE, ERROR = 4, 7  # exit codes; pytest's own is 4 too


class ClaimRefuted(AssertionError):
    """A claim about the model under test that its samples refute."""


class FairgateError(Exception):
    """Something to be fixed before a model can be judged.

    `where` names the file and key, option or address; `hint` says what to do.
    """

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.what, self.where, self.hint = what, where, hint
        place = f"{where}: " if where else ""
        remedy = f" {hint}" if hint else ""
        super().__init__("".join(map(_bounded, (place, what, remedy))))


def _bounded(text: str) -> str:
    """The text, cut where it quotes more of a file than anybody reads."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 50]}… ({len(text):,} characters){text[-20:]}"


class ConfigError(FairgateError):
    """An option, or a key of a TOML file, has a value that cannot be used."""


class DataError(FairgateError):
    """A data file lacks something, or holds something that it must not."""


class PluginError(FairgateError):
    """An installed benchmark cannot be loaded, or does not fulfil the contract."""


class LedgerError(FairgateError):
    """The store of samples cannot be read or written."""


class MissingDependency(FairgateError):
    """This machine lacks what the run needs: a package, or the weights of a network."""


class CallFailed(FairgateError):
    """One sample could not be had, after all retries; others may still be.

    `attempts` counts its requests, `tokens` those sent and received that are billed for answers that cannot be read.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        attempts: int = 1,
        tokens: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.attempts, self.tokens = attempts, tokens

    def billed(self, tokens: tuple[int, int]) -> CallFailed:
        """The same failure, for which so many tokens are billed."""
        self.tokens = tokens
        return self


class RunStopped(FairgateError):
    """No further sample can be had: asking on would only cost time or money."""


class BudgetSpent(RunStopped):
    """The user's budget of calls, tokens or money is spent: what is in flight is paid for, and still waited for."""


class Unsampled(FairgateError):
    """A topic lacks more of its samples than may be missing: nothing is said of it."""


def exit_code(error: FairgateError) -> int:
    """4 where an argument, or a file that it names, cannot be used; 7 for whatever else keeps a run from its end."""
    return WRONG_USAGE if isinstance(error, ConfigError | DataError | LedgerError | PluginError) else ERROR


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that suggests the nearest known word; where none is near, lists those that hold it, or the first."""
    words = sorted(known)
    near = difflib.get_close_matches(word, words, n=1)
    if near:
        return f"Did you mean {near[0]!r}?"
    with_it = [each for each in words if word and word.lower() in each.lower()]
    listed = with_it or words
    more = f", and {len(listed) - LISTED:,} more" if len(listed) > LISTED else ""
    return f"{'With it' if with_it else 'Known'}: {', '.join(listed[:LISTED])}{more}." if listed else ""
