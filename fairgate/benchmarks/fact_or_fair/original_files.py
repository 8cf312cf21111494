"""The published scenario files, read in place of our sentences (`--scenarios DIR`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.benchmarks.fact_or_fair.tables import checked_texts
from fairgate.benchmarks.fact_or_fair.topics import Context, Level
from fairgate.core.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fairgate.benchmarks.fact_or_fair.tables import Library

SCENARIOS = 3  # a statistic and level, as published

SCENARIO_FILES = {Level.HIGH: "prompts_high.json", Level.LOW: "prompts_low.json"}
CONTEXT_FILES = {
    (Level.HIGH, Context.REPRESENTATIVENESS): "prompts_representativeness_bias.json",
    (Level.LOW, Context.REPRESENTATIVENESS): "prompts_representativeness_bias.json",
    (Level.HIGH, Context.ATTRIBUTION): "prompts_attribution_error_high.json",
    (Level.LOW, Context.ATTRIBUTION): "prompts_attribution_error_low.json",
    (Level.HIGH, Context.INGROUP): "prompts_group_bias.json",
    (Level.LOW, Context.INGROUP): "prompts_group_bias.json",
}
# The images' prompts, by either of their names: in the released program, and among the papers' data.
PORTRAIT_FILES = ("prompts_t2i.json", "t2i_prompts_subj.json")
# Where the two kinds of files lie in the authors' repository.
SCENARIO_FOLDER = Path("large_language_model", "subjective_test", "prompts")
PORTRAIT_FOLDER = Path("text_to_image_model", "subjective_test", "Image_Generation")

Scenarios = dict[tuple[str, Level], tuple[str, ...]]
Contexts = dict[tuple[str, Level, Context], str]


def scenario_folder(given: Path) -> Path:
    """The folder of the scenario files: the given one, or within the authors' repository."""
    found = (folder for folder in (given, given / SCENARIO_FOLDER) if (folder / SCENARIO_FILES[Level.HIGH]).is_file())
    return next(found, given)


def portrait_file(given: Path) -> Path | None:
    """The prompts of subjective images: beside the scenario files, or within the authors' repository.

    None where neither has them.
    """
    folder = scenario_folder(given).resolve()
    repository = folder.parents[len(SCENARIO_FOLDER.parts) - 1] if folder.match(str(SCENARIO_FOLDER)) else given
    places = (folder / name for name in PORTRAIT_FILES)
    upstream = (repository / PORTRAIT_FOLDER / name for name in PORTRAIT_FILES)
    return next((path for path in (*places, *upstream) if path.is_file()), None)


def original_texts(
    library: Library,
    folder: Path,
    slugs: Mapping[str, str],
    ignored: Collection[str],
    attributes: Sequence[str],
    named: Mapping[str, Sequence[str]],
) -> tuple[Scenarios, Contexts]:
    """Scenarios by (slug, level) and contexts by (slug, level, context), slots open, stray spaces stripped.

    `slugs` by the statistics' names, which are the files' keys; `ignored` names may stand there too. Contexts may
    have a slot for each of the `attributes`, representativeness for those that it has `named` for the statistic by
    its slug, scenarios none.
    Raises `DataError` naming file and key for a missing or unknown statistic, a wrong count, a slot that cannot be
    filled, and a file that cannot be read.
    """
    tables = {
        name: _table(library, folder / name, slugs, ignored)
        for name in sorted({*SCENARIO_FILES.values(), *CONTEXT_FILES.values()})
    }
    scenarios: Scenarios = {}
    contexts: Contexts = {}
    for name, slug in slugs.items():
        for level, file in SCENARIO_FILES.items():
            where = f"{folder / file}: {name}"
            scenarios[slug, level] = checked_texts(tables[file][name], SCENARIOS, (), where)
            contexts[slug, level, Context.BASE] = ""
        for (level, context), file in CONTEXT_FILES.items():
            slots = named[slug] if context is Context.REPRESENTATIVENESS else attributes
            where = f"{folder / file}: {name}"
            (contexts[slug, level, context],) = checked_texts(tables[file][name], 1, slots, where)
    return scenarios, contexts


def original_portraits(
    library: Library, path: Path, slugs: Mapping[str, str], ignored: Collection[str]
) -> dict[tuple[str, Level], str]:
    """The prompts of subjective images by (slug, level). Raises `DataError` as `original_texts` does."""
    table = _table(library, path, slugs, ignored)
    portraits: dict[tuple[str, Level], str] = {}
    for name, slug in slugs.items():
        texts = checked_texts(table[name], len(Level), (), f"{path}: {name}")
        portraits |= {(slug, level): text for level, text in zip(Level, texts, strict=True)}
    return portraits


def _table(library: Library, path: Path, slugs: Mapping[str, str], ignored: Collection[str]) -> dict[str, object]:
    table = library.json(path, "scenarios")
    for name in table:
        if name not in slugs and name not in ignored:
            raise DataError("no statistic has this name.", where=f"{path}: {name}", hint=did_you_mean(name, slugs))
    for name in slugs:
        if name not in table:
            hint = "Add it, or leave the statistic out with a drop.csv in the folder given by --data."
            raise DataError("the statistic is missing.", where=f"{path}: {name}", hint=hint)
    return table
