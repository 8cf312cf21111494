"""The sentences that queries are made of, most of them word for word as the papers print them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.fact_or_fair.tables import checked_texts, text_slots
from fairgate.benchmarks.fact_or_fair.topics import Level
from fairgate.core.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fairgate.core.domain import Choice

WHOLE = "all"
ADJECTIVE = {Level.HIGH: "highest", Level.LOW: "lowest"}  # where `[adjective]` says nothing else


@dataclass(frozen=True, eq=False)
class Templates:
    """Texts with slots in braces; `data/fact_or_fair/templates.toml` cites where each is printed.

    `representative`: by attribute, and under `all` the sentence that names all attributes. `adjective`: what the slot
    {adj} says of each level.
    """

    objective: str
    t2i_objective: str
    person: str
    attribution: str
    ingroup: str
    instruction: str
    choice: str
    objective_between: str
    subjective_between: str
    representative: Mapping[str, str]
    adjective: Mapping[Level, str]

    def objective_prompt(self, *, stat: str, definition: str, level: Level, choices: Sequence[Choice]) -> str:
        """The query that asks for a fact about groups."""
        listed = self._listed(choices, self.objective_between)
        adjective = self.adjective[level]
        question = self.objective.format(stat=stat, definition=definition, adj=adjective, choices=listed)
        return f"{question}\n\n{self.instruction}"

    def t2i_objective_prompt(self, *, stat: str, definition: str, level: Level) -> str:
        """The query that asks for the portrait of a group."""
        return self.t2i_objective.format(stat=stat, definition=definition, adj=self.adjective[level])

    def subjective_prompt(self, *, context: str, scenario: str, choices: Sequence[Choice]) -> str:
        """The query that asks to choose an individual; `context` has no open slots, and is empty for the base."""
        opening = f"{context} {scenario}" if context else scenario
        return f"{opening}\n{self._listed(choices, self.subjective_between)}\n\n{self.instruction}"

    def profile(self, *, name: str, age: int, **words: str) -> str:
        """One individual: age in years, and the word of a group for each attribute."""
        return self.person.format(name=name, age=age, **words)

    def attribution_context(self, behaviour: str, attributes: Sequence[str]) -> str:
        """The news report of an individual, with the slots of the attributes still open."""
        return self.attribution.format(behaviour=behaviour, **{name: f"{{{name}}}" for name in attributes})

    def representativeness_context(
        self, stat: str, extremes: Mapping[str, tuple[str, str]], attributes: Sequence[str]
    ) -> str:
        """Which groups are highest and lowest, by attribute: the whole sentence, or the halves of those it has."""
        words = {f"{name}_high": high for name, (high, _) in extremes.items()}
        words |= {f"{name}_low": low for name, (_, low) in extremes.items()}
        parts = [WHOLE] if len(extremes) == len(attributes) else [name for name in attributes if name in extremes]
        return " ".join(self.representative[part].format(stat=stat, **words) for part in parts)

    def _listed(self, choices: Sequence[Choice], between: str) -> str:
        return between.join(self.choice.format(letter=choice.letter, text=choice.text) for choice in choices)


def templates_of(table: Mapping[str, Any], attributes: Collection[str], where: str) -> Templates:
    """Templates from the merged tables of the template files.

    Raises `DataError` at `where` for a key that is unknown or missing, or whose text lacks a slot or has another.
    """
    slots: dict[str, set[str] | None] = {
        "objective": {"stat", "definition", "adj", "choices"},
        "t2i_objective": {"stat", "definition", "adj"},
        "profile": {"name", "age", *attributes},
        "attribution": {*attributes, "behaviour"},
        "ingroup": {*attributes},
        "instruction": None,  # taken as it stands: it shows JSON, whose braces are no slots
        "choice": {"letter", "text"},
        "objective_between": set(),
        "subjective_between": set(),
    }
    spoken: dict[str, set[str] | None] = {name: {"stat", f"{name}_high", f"{name}_low"} for name in attributes}
    spoken[WHOLE] = {"stat", *(f"{name}_{end}" for name in attributes for end in ("high", "low"))}
    named = "representativeness"
    texts = _texts({key: value for key, value in table.items() if key not in (named, "adjective")}, slots, where)
    levels = table.get("adjective", ADJECTIVE)
    if not isinstance(levels, dict):
        hint = "Write `high` and `low` under [adjective]."
        raise DataError(f"{levels!r} is no table.", where=f"{where}: adjective", hint=hint)
    adjective = _texts(levels, {level: set() for level in Level}, f"{where}: [adjective]")
    halves = table.get(named)
    if not isinstance(halves, dict):
        raise DataError("no such table.", where=f"{where}: [{named}]", hint=f"Give it the keys {', '.join(spoken)}.")
    representative = _texts(halves, spoken, f"{where}: [{named}]")
    by_level = {Level(level): text for level, text in adjective.items()}
    return Templates(person=texts.pop("profile"), representative=representative, adjective=by_level, **texts)


def _texts(table: Mapping[str, Any], slots: Mapping[str, set[str] | None], where: str) -> dict[str, str]:
    for key in table:
        if key not in slots:
            raise DataError("no template has this key.", where=f"{where}: {key}", hint=did_you_mean(key, slots))
    texts: dict[str, str] = {}
    for key, wanted in slots.items():
        place = f"{where}: {key}"
        text = table.get(key)
        if not isinstance(text, str) or not text:
            raise DataError(f"{text!r} is no text.", where=place, hint="Write the template as a string.")
        if wanted:
            checked_texts(text, 1, wanted, place)
            for slot in sorted(wanted - text_slots(text, place)):
                raise DataError(f"{text!r} lacks the slot {{{slot}}}.", where=place, hint="Put it in.")
        texts[key] = text
    return texts
