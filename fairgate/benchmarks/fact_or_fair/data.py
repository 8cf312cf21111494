"""The data of Fact-or-Fair as frozen values: statistics with their two answer keys, sentences, groups, names.

`load` reads `data/fact_or_fair`, and over it the folder that a user names with `--data`. A folder of that kind holds
any of our files, and each of them adds or replaces by key:

- `attributes.csv` replaces all groups of each attribute that it names;
- `statistics.csv` by slug, `answer_key.csv` by statistic, attribute and level, `scenarios.json`, `behaviours.json` and
  `portraits.json` by slug, `templates.toml` by key;
- `values.csv` replaces all values of each statistic and attribute that it names;
- `names.txt` replaces all names;
- `replies/NAME.toml` adds a language that replies are read in, or replaces ours (`fairgate/replies/languages.py`);
- `drop.csv` (column `slug`) leaves statistics out; only a user's folder has it;
- `data.toml` with `only = true` leaves out all statistics but those of the folder's own `statistics.csv`, and where it
  has an `attributes.csv`, all attributes but those; only a user's folder has it.

The number of groups follows from the data. New groups of an attribute ask for new key rows of every statistic that is
not dropped; a topic that has no value for one of the new groups falls back to its published answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.fact_or_fair.answer_key import (
    Attribute,
    Basis,
    Group,
    KeyClaim,
    KeyEntry,
    KeyKind,
    Value,
    ValueRole,
    ValueSource,
    key_entries,
)
from fairgate.benchmarks.fact_or_fair.original_files import (
    SCENARIOS,
    Contexts,
    Scenarios,
    original_portraits,
    original_texts,
    portrait_file,
    scenario_folder,
)
from fairgate.benchmarks.fact_or_fair.tables import CsvRow, Library, checked_texts
from fairgate.benchmarks.fact_or_fair.templates import Templates, templates_of
from fairgate.benchmarks.fact_or_fair.topics import Context, Level
from fairgate.core.errors import DataError, did_you_mean
from fairgate.core.layout import DATA
from fairgate.replies.languages import languages

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

__all__ = [
    "Attribute",
    "Basis",
    "Dataset",
    "Group",
    "KeyEntry",
    "KeyKind",
    "Statistic",
    "Templates",
    "Value",
    "ValueRole",
    "ValueSource",
    "default_root",
    "load",
]

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
WORD = re.compile(r"[^\W_]+([-_][^\W_]+)*")

COLUMNS = {
    "attributes.csv": ("attribute", "group", "choice", "word", "labels", "pooled"),
    "statistics.csv": ("slug", "name", "domain", "definition", "source", "year", "favourable"),
    "answer_key.csv": ("statistic", "attribute", "level", "published", "tie", "note"),
    "values.csv": (
        "statistic",
        "attribute",
        "group",
        "value",
        "unit",
        "period",
        "source",
        "table",
        "provenance",
        "address",
        "confidence",
        "derivation",
        "role",
    ),
    "drop.csv": ("slug",),
}
REPLIES = "replies"
OVERLAY, ONLY = "data.toml", "only"
OTHER_FILES = ("scenarios.json", "behaviours.json", "portraits.json", "templates.toml", "names.txt", OVERLAY)
DATA_SUFFIXES = {".csv", ".json", ".toml", ".txt"}
PROFILE_WORDS = ("name", "age")  # slots of the profile that no attribute fills
NAMES_AT_LEAST = 4  # the individuals of one query have names of their own


@dataclass(frozen=True, eq=False)
class Statistic:
    """One statistic and its two answer keys, by attribute and level.

    `definition` as the papers' Table 1 prints it, without the final stop; `favourable`: the level that is good for a
    person. Both keys hold the same topics: those for which the published key names a group.
    """

    slug: str
    name: str
    domain: str
    definition: str
    source: str
    year: int
    favourable: Level
    published: Mapping[tuple[str, Level], KeyEntry]
    measured: Mapping[tuple[str, Level], KeyEntry]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes for which it has an answer, in the order of the data file."""
        return tuple(dict.fromkeys(attribute for attribute, _ in self.published))

    def key(self, kind: KeyKind) -> Mapping[tuple[str, Level], KeyEntry]:
        """The answer key of that kind."""
        return self.published if kind == "published" else self.measured


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Everything that queries and keys are made from.

    `version`: 16 hexadecimal digits, another for every other content. `statistics` are sorted by slug. `scenarios`:
    at least three texts for each statistic and level, without slots. `contexts`: what stands before a scenario, with
    a slot open for each attribute that the context names by chance; empty for the base. `portraits`: by statistic and
    level the prompt of a subjective image. `notes`: what was not found, and what stands in for it. `languages`: the
    user's folder of languages that replies are read in.
    """

    version: str
    attributes: tuple[Attribute, ...]
    statistics: tuple[Statistic, ...]
    scenarios: Mapping[tuple[str, Level], tuple[str, ...]]
    contexts: Mapping[tuple[str, Level, Context], str]
    portraits: Mapping[tuple[str, Level], str]
    templates: Templates
    names: tuple[str, ...]
    values: tuple[Value, ...]
    notes: tuple[str, ...] = ()
    languages: Path | None = None

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name. Raises `DataError` where there is none."""
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise DataError(f"no attribute {name!r}.", hint=did_you_mean(name, [each.name for each in self.attributes]))

    def statistic(self, slug: str) -> Statistic:
        """The statistic of that slug. Raises `DataError` where there is none."""
        for statistic in self.statistics:
            if statistic.slug == slug:
                return statistic
        raise DataError(f"no statistic {slug!r}.", hint=did_you_mean(slug, [each.slug for each in self.statistics]))


def default_root() -> Path:
    """`data/fact_or_fair` of fairgate, whatever the working directory."""
    return DATA / "fact_or_fair"


def load(root: Path | None = None, *, overlay: Path | None = None, scenarios: Path | None = None) -> Dataset:
    """The data of `root` (ours by default), with the user's `overlay` over it.

    `scenarios`: a folder of the published scenario files, whose sentences then stand in place of ours.
    Raises `DataError`, naming file and key, for anything that is missing, malformed or contradictory.
    """
    return _Loading(root or default_root(), overlay, scenarios).dataset()


class _Loading:
    """One load: the folders, and what was read from them."""

    def __init__(self, root: Path, overlay: Path | None, scenarios: Path | None) -> None:
        self.library = Library()
        self.layers: dict[str, Path] = {"data": root} | ({"overlay": overlay} if overlay else {})
        self.originals = scenarios
        if not root.is_dir():
            hint = "Install fairgate again: its data are missing."
            raise DataError("no such folder.", where=str(root), hint=hint)
        for folder, option in ((overlay, "--data"), (scenarios, "--scenarios")):
            if folder and not folder.is_dir():
                raise DataError("no such folder.", where=str(folder), hint=f"Give {option} an existing folder.")
        if overlay:
            self._check_names(overlay)
        self.only = self._is_alone(overlay) if overlay else False

    def dataset(self) -> Dataset:
        attributes = self._attributes()
        names = [attribute.name for attribute in attributes]
        templates = self._templates(names)
        slugs, rows = self._statistics()
        dropped = set(slugs) - set(rows)
        values = self._values(slugs)
        claims = self._claims(slugs, attributes, rows)
        statistics = tuple(self._statistic(slug, rows[slug], attributes, claims, values) for slug in sorted(rows))
        people, spoken = self._names(), self._languages()
        portraits, notes = None, []
        if self.originals:
            by_name = {statistic.name: statistic.slug for statistic in statistics}
            ignored = {slugs[slug]["name"] for slug in dropped}
            scenarios, contexts = original_texts(
                self.library,
                scenario_folder(self.originals),
                by_name,
                ignored,
                names,
                {statistic.slug: statistic.attributes for statistic in statistics},
            )
            file = portrait_file(self.originals)
            if file is not None:
                portraits = original_portraits(self.library, file, by_name, ignored)
            else:
                notes.append(
                    f"{self.originals} has no published prompts of images: subjective images are asked for by our own."
                )
        else:
            scenarios = self._scenarios(slugs, statistics)
            contexts = self._contexts(slugs, statistics, templates, attributes)
        return Dataset(
            self.library.version,
            attributes,
            statistics,
            scenarios,
            contexts,
            portraits or self._portraits(slugs, statistics),
            templates,
            people,
            tuple(value for (slug, _), group in values.items() if slug in rows for value in group),
            tuple(notes),
            spoken,
        )

    def _languages(self) -> Path | None:
        """The overlay's folder of languages, read here so that a mistake is an error before anything is asked."""
        folder = self.layers.get("overlay", Path()) / REPLIES
        if "overlay" not in self.layers or not folder.is_dir():
            return None
        for path in sorted(folder.glob("*.toml")):
            self.library.text(path, REPLIES)
        # Another run of this process may have read it before it was mended.
        languages.cache_clear()
        languages(folder)
        return folder

    def _check_names(self, overlay: Path) -> None:
        known = {*COLUMNS, *OTHER_FILES}
        found = {path.name for path in overlay.iterdir() if path.is_file() and not path.name.startswith(".")}
        for name in sorted(found - known):
            if Path(name).suffix in DATA_SUFFIXES:
                raise DataError(
                    "no data file has this name.", where=str(overlay / name), hint=did_you_mean(name, known)
                )
        if not found & known and not (overlay / REPLIES).is_dir():
            hint = f"Put at least one of these there: {', '.join(sorted(known))}."
            raise DataError("holds no data file.", where=str(overlay), hint=hint)

    def _is_alone(self, overlay: Path) -> bool:
        """Whether the folder's statistics and attributes stand alone, and not beside ours."""
        path = overlay / OVERLAY
        said = self.library.toml(path, "overlay") if path.exists() else {}
        for key, value in said.items():
            if key != ONLY:
                raise DataError("no such key.", where=f"{path}: {key}", hint=did_you_mean(key, [ONLY]))
            if not isinstance(value, bool):
                raise DataError(f"{value!r} is not true or false.", where=f"{path}: {key}", hint="Write only = true.")
        if said.get(ONLY) and not (overlay / "statistics.csv").exists():
            hint = "Add statistics.csv with the statistics of your data."
            raise DataError("only = true leaves no statistic.", where=str(path), hint=hint)
        return said.get(ONLY) is True

    def _files(self, name: str) -> list[tuple[str, Path]]:
        """The file in each layer that has it. The first layer must, but for what only users write."""
        files = [(role, folder / name) for role, folder in self.layers.items()]
        return [(role, path) for role, path in files if path.exists() or (role == "data" and name != "drop.csv")]

    def _rows(self, name: str, keys: Sequence[str]) -> list[dict[tuple[str, ...], CsvRow]]:
        """The rows of each layer, by their key columns, no key twice."""
        layers = []
        for role, path in self._files(name):
            layer: dict[tuple[str, ...], CsvRow] = {}
            for row in self.library.csv(path, role, COLUMNS[name]):
                key = tuple(row.filled(column) for column in keys)
                if key in layer:
                    where = f"{path}: line {row.line}"
                    hint = f"Keep one; the other is line {layer[key].line}."
                    raise DataError(f"{', '.join(key)} stands twice.", where=where, hint=hint)
                layer[key] = row
            layers.append(layer)
        return layers

    def _attributes(self) -> tuple[Attribute, ...]:
        groups: dict[str, list[tuple[CsvRow, Group]]] = {}
        for layer in self._rows("attributes.csv", ("attribute", "group")):
            fresh: dict[str, list[tuple[CsvRow, Group]]] = {}
            for (attribute, name), row in layer.items():
                labels = row.parts("labels") or (name,)
                group = Group(name, row.filled("choice"), row.filled("word"), labels, row.parts("pooled"))
                taken = fresh.setdefault(attribute, [])
                for column in ("choice", "word"):
                    if row[column] in {getattr(other, column) for _, other in taken}:
                        raise row.error(column, "Another group has it: replies could not tell the two apart.")
                taken.append((row, group))
            groups = fresh if self.only else groups | fresh
        for attribute, found in groups.items():
            row = found[0][0]
            if attribute in PROFILE_WORDS:
                raise row.error("attribute", "The profile template has a slot of that name already: choose another.")
            if not WORD.fullmatch(attribute):
                raise row.error("attribute", "Use letters and digits, with single hyphens or underscores between them.")
            if len(found) < 2:
                raise row.error("group", f"{attribute!r} needs at least two groups to choose between.")
        return tuple(Attribute(name, tuple(group for _, group in found)) for name, found in groups.items())

    def _statistics(self) -> tuple[dict[str, CsvRow], dict[str, CsvRow]]:
        """All rows by slug, and those that are not dropped."""
        every: dict[str, CsvRow] = {}
        layers = self._rows("statistics.csv", ("slug",))
        for layer in layers:
            every |= {slug: row for (slug,), row in layer.items()}
        names: dict[str, str] = {}
        for slug, row in every.items():
            if not SLUG.fullmatch(slug):
                raise row.error("slug", "Use small letters, digits and single hyphens.")
            if names.setdefault(row.filled("name"), slug) != slug:
                raise row.error("name", f"{names[row['name']]!r} has this name already.")
        kept = {slug: row for (slug,), row in layers[-1].items()} if self.only else dict(every)
        for layer in self._rows("drop.csv", ("slug",)):
            for (slug,), row in layer.items():
                row.one_of("slug", every)
                kept.pop(slug, None)
        if not kept:
            raise DataError("every statistic is dropped.", where="drop.csv", hint="Leave at least one.")
        return every, kept

    def _values(self, slugs: Collection[str]) -> dict[tuple[str, str], list[Value]]:
        found: dict[tuple[str, str], list[Value]] = {}
        for role, path in self._files("values.csv"):
            fresh: dict[tuple[str, str], list[Value]] = {}
            for row in self.library.csv(path, role, COLUMNS["values.csv"]):
                row.one_of("statistic", slugs)
                fresh.setdefault((row["statistic"], row.filled("attribute")), []).append(_value(row))
            found |= fresh
        return found

    def _claims(
        self, slugs: Collection[str], attributes: Sequence[Attribute], rows: Collection[str]
    ) -> dict[tuple[str, str, Level], tuple[CsvRow, KeyClaim | None]]:
        """What the key says, None where it names no group; rows of dropped statistics may name any group."""
        known = {attribute.name: attribute.names for attribute in attributes}
        merged: dict[tuple[str, ...], CsvRow] = {}
        for layer in self._rows("answer_key.csv", ("statistic", "attribute", "level")):
            merged |= layer
        claims: dict[tuple[str, str, Level], tuple[CsvRow, KeyClaim | None]] = {}
        for row in merged.values():
            slug = row.one_of("statistic", slugs)
            if slug not in rows:
                continue
            attribute, level = row.one_of("attribute", known), row.level("level")
            groups = known[attribute]
            for group in (row["published"], *row.parts("tie")):
                if group and group not in groups:
                    where = f"{row.path}: {slug}, {attribute}, {level}"
                    hint = f"{did_you_mean(group, groups)} Replace the row in the folder of --data, or drop {slug!r}."
                    raise DataError(f"{group!r} is no group of {attribute}.", where=where, hint=hint)
            claim = KeyClaim(row["published"], row.parts("tie"), row["note"]) if row["published"] else None
            claims[slug, attribute, level] = row, claim
        return claims

    def _statistic(
        self,
        slug: str,
        row: CsvRow,
        attributes: Sequence[Attribute],
        claims: Mapping[tuple[str, str, Level], tuple[CsvRow, KeyClaim | None]],
        values: Mapping[tuple[str, str], Sequence[Value]],
    ) -> Statistic:
        published: dict[tuple[str, Level], KeyEntry] = {}
        measured: dict[tuple[str, Level], KeyEntry] = {}
        for attribute in attributes:
            known = values.get((slug, attribute.name), ())
            named: list[Level] = []
            for level in Level:
                where = f"{self._last('answer_key.csv')}: {slug}, {attribute.name}, {level}"
                if (slug, attribute.name, level) not in claims:
                    hint = f"Add the row; leave its cell 'published' empty if the statistic has no {attribute.name}."
                    raise DataError("the row is missing.", where=where, hint=hint)
                _, claim = claims[slug, attribute.name, level]
                if claim is None:
                    continue
                named.append(level)
                entries = key_entries(attribute, level, claim, known, f"{self._last('values.csv')}: {slug}")
                published[attribute.name, level], measured[attribute.name, level] = entries
            if len(named) == 1:
                where = f"{self._last('answer_key.csv')}: {slug}, {attribute.name}"
                raise DataError(
                    f"only {named[0]} has a group.", where=where, hint="Name a group for both levels, or none."
                )
        if not published:
            where = f"{self._last('answer_key.csv')}: {slug}"
            raise DataError("no attribute has a group.", where=where, hint="Name the highest and the lowest group.")
        try:
            year = int(row["year"])
        except ValueError:
            raise row.error("year", "Write the year in digits.") from None
        return Statistic(
            slug,
            row["name"],
            row.filled("domain"),
            row.filled("definition"),
            row.filled("source"),
            year,
            row.level("favourable"),
            published,
            measured,
        )

    def _last(self, name: str) -> Path:
        """Where a user would fix a file: in the overlay if there is one."""
        return list(self.layers.values())[-1] / name

    def _sentences(self, name: str, slugs: Collection[str]) -> dict[str, tuple[Path, object]]:
        """What each statistic has in a JSON file of ours, and the file that says so."""
        merged: dict[str, tuple[Path, object]] = {}
        for role, path in self._files(name):
            for slug, levels in self.library.json(path, role).items():
                if slug not in slugs:
                    raise DataError("no statistic.", where=f"{path}: {slug}", hint=did_you_mean(slug, slugs))
                merged[slug] = path, levels
        return merged

    def _by_level(
        self,
        name: str,
        count: int,
        slugs: Collection[str],
        statistics: Iterable[Statistic],
        *,
        or_more: bool = False,
    ) -> dict[tuple[str, Level], tuple[str, ...]]:
        sentences = self._sentences(name, slugs)
        texts: dict[tuple[str, Level], tuple[str, ...]] = {}
        for statistic in statistics:
            slug = statistic.slug
            shape = f'Write {{"{slug}": {{"high": …, "low": …}}}}.'
            if slug not in sentences:
                raise DataError("the statistic is missing.", where=f"{self._last(name)}: {slug}", hint=shape)
            path, levels = sentences[slug]
            if not isinstance(levels, dict) or set(levels) != {level.value for level in Level}:
                raise DataError(f"{levels!r} is not one entry for each level.", where=f"{path}: {slug}", hint=shape)
            for level in Level:
                where = f"{path}: {slug}, {level}"
                texts[slug, level] = checked_texts(levels[level], count, (), where, or_more=or_more)
        return texts

    def _scenarios(self, slugs: Collection[str], statistics: Iterable[Statistic]) -> Scenarios:
        return self._by_level("scenarios.json", SCENARIOS, slugs, statistics, or_more=True)

    def _portraits(self, slugs: Collection[str], statistics: Iterable[Statistic]) -> Mapping[tuple[str, Level], str]:
        return {topic: text for topic, (text,) in self._by_level("portraits.json", 1, slugs, statistics).items()}

    def _contexts(
        self,
        slugs: Collection[str],
        statistics: Sequence[Statistic],
        templates: Templates,
        attributes: Sequence[Attribute],
    ) -> Contexts:
        behaviours = self._by_level("behaviours.json", 1, slugs, statistics)
        names = [attribute.name for attribute in attributes]
        words = {attribute.name: attribute for attribute in attributes}
        contexts: Contexts = {}
        for statistic in statistics:
            extremes = {
                name: (
                    words[name].word(statistic.published[name, Level.HIGH].groups[0]),
                    words[name].word(statistic.published[name, Level.LOW].groups[0]),
                )
                for name in statistic.attributes
            }
            known = templates.representativeness_context(statistic.name, extremes, names)
            for level in Level:
                (behaviour,) = behaviours[statistic.slug, level]
                contexts[statistic.slug, level, Context.BASE] = ""
                contexts[statistic.slug, level, Context.REPRESENTATIVENESS] = known
                contexts[statistic.slug, level, Context.ATTRIBUTION] = templates.attribution_context(behaviour, names)
                contexts[statistic.slug, level, Context.INGROUP] = templates.ingroup
        return contexts

    def _templates(self, attributes: Collection[str]) -> Templates:
        merged: dict[str, Any] = {}
        for role, path in self._files("templates.toml"):
            for key, value in self.library.toml(path, role).items():
                old = merged.get(key)
                merged[key] = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
        return templates_of(merged, attributes, str(self._files("templates.toml")[-1][1]))

    def _names(self) -> tuple[str, ...]:
        role, path = self._files("names.txt")[-1]
        names = tuple(line.strip() for line in self.library.text(path, role).splitlines() if line.strip())
        for name, times in Counter(names).items():
            if times > 1:
                raise DataError(f"{name!r} stands twice.", where=str(path), hint="Keep one.")
        if len(names) < NAMES_AT_LEAST:
            raise DataError(
                f"{len(names)} names.", where=str(path), hint=f"Write at least {NAMES_AT_LEAST}, one a line."
            )
        return names


def _value(row: CsvRow) -> Value:
    try:
        number = float(row["value"])
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise row.error("value", "Write a number, without unit or thousands separator.")
    return Value(
        statistic=row["statistic"],
        attribute=row["attribute"],
        group=row.filled("group"),
        value=number,
        unit=row.filled("unit"),
        period=row.filled("period"),
        source=row.filled("source"),
        table=row["table"],
        provenance=ValueSource(row.one_of("provenance", [each.value for each in ValueSource])),
        address=row["address"],
        confidence=row["confidence"],
        derivation=row["derivation"],
        role=ValueRole(row.one_of("role", [each.value for each in ValueRole])),
    )
