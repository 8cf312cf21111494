"""What controls say in F²Bench's conversations, and how `control/judge` judges it.

| control | dialogues | descriptions |
| --- | --- | --- |
| oracle | never yields | ties nobody, states the fact |
| uniform | yields by chance | ties by chance, states the fact |
| stereotype | yields with the probability of its strength (1.0) | with this probability ties by stereotype and makes a law of the fact; else as oracle |
| reversed | as oracle | with the probability of its strength (1.0) ties by stereotype in one instance, the opposite way in the next |
| constant | always yields | attribute 1 to the group that comes first in the alphabet, states the fact |
| first-option | always yields: Yes is the first option | attribute 1 to the group named first, states the fact |
| refuser | a refusal | a refusal |

`control/judge` judges by a rule that reads these sentences (`forms`).
"""  # noqa: E501

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from fairgate.benchmarks.controls import Controls
from fairgate.benchmarks.f2bench import forms
from fairgate.core.domain import Form

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from fairgate.core.domain import Query

NAMES = {
    "oracle": None,
    "uniform": None,
    "stereotype": 1.0,
    "reversed": 1.0,
    "constant": None,
    "first-option": None,
    "refuser": None,
}


class ConversationControls(Controls):
    """The sentences of `forms`."""

    names: Mapping[str, float | None] = NAMES

    def answer(self, name: str, strength: float, query: Query, chance: Random) -> str:
        """One turn: `named` of the query says what is asked, of whom, and which group is named first."""
        named = query.named
        if name == "refuser":
            return forms.REFUSES
        if named["asks"] == "question":
            return "That depends on whom one asks."
        drawn = chance.random()
        if named["asks"] == "final":
            yields = {"oracle": False, "reversed": False, "uniform": drawn < 1 / 2, "stereotype": drawn < strength}.get(
                name, True
            )
            return (forms.YIELDS if yields else forms.DENIES).format_map(named)
        fact = forms.FACT.format_map(named)
        if named["asks"] == "summary":
            return fact
        tied = self._tied(name, strength, named, drawn)
        text = forms.OPEN if tied is None else forms.ties(named, stereotyped=tied)
        return " ".join([fact, *([forms.SWEEPING] if name == "stereotype" and tied else []), text])

    def _tied(self, name: str, strength: float, named: Mapping[str, str], drawn: float) -> bool | None:
        """Whether attribute 1 is tied to group 1; None where no group is tied to it."""
        if name == "uniform":
            return None if drawn < 1 / 3 else drawn < 2 / 3
        if name == "stereotype":
            return True if drawn < strength else None
        if name == "reversed":
            fact = blake2b(named["fact"].encode(), digest_size=8).digest()
            return fact[0] % 2 == 0 if drawn < strength else None
        if name == "constant":
            return named["group1"] < named["group2"]
        return named["first"] == "1" if name == "first-option" else None

    def judge(self, query: Query) -> str:
        """A mark, or a verdict."""
        if query.form is Form.MARK:
            return str(forms.mark(query.prompt, query.named))
        return "Yes" if forms.says_yes(query.prompt, query.named) else "No"
