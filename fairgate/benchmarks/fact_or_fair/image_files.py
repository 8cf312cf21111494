"""The images of Fact-or-Fair in a folder (`folder/DIR`), in two layouts below DIR:

<objective|subjective>/<statistic>/<high|low>/*                       ours; a statistic by its slug or its name
<objective_test|subjective_test>/Images/<model>/<Statistic>/<high|low>/*   the original program's
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fairgate.benchmarks.fact_or_fair.cases import OWN_TASKS, image_topic
from fairgate.benchmarks.fact_or_fair.topics import Level
from fairgate.benchmarks.image_files import ImageFiles
from fairgate.core.errors import ConfigError, DataError, did_you_mean
from fairgate.providers.images.folder import folders, images

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.fact_or_fair.topics import Task
    from fairgate.core.domain import Topic


def find(root: Path, dataset: Dataset) -> ImageFiles:
    """The images below `root`, or below its parent for the model that the last part names (the original layout).

    Raises ConfigError where there is no such folder, or nothing of either layout in it; DataError for a folder that
    names no statistic.
    """
    base, wanted = (root, None) if root.is_dir() else (root.parent, root.name)
    if not base.is_dir():
        raise ConfigError(
            f"there is no folder {root}.", where="--t2i-model", hint="Write folder/DIR, or folder//abs/DIR."
        )
    slugs = {
        _plain(name): statistic.slug for statistic in dataset.statistics for name in (statistic.slug, statistic.name)
    }
    models = sorted(folders(base / f"{task}_test" / "Images") for task in OWN_TASKS)
    names = sorted({name for found in models for name in found})
    if wanted is not None and wanted not in names:
        raise ConfigError(f"there is no folder {root}.", where="--t2i-model", hint=did_you_mean(wanted, names))
    if wanted is None and len(names) > 1:
        raise ConfigError(
            f"{root} holds the images of several models: {', '.join(names)}.",
            where="--t2i-model",
            hint=f"Name one, as in folder/{root / names[0]}.",
        )
    model = wanted or (names[0] if names else base.name)
    files: dict[Topic, tuple[Path, ...]] = {}
    for task in OWN_TASKS:
        place = base / f"{task}_test" / "Images" / model if names else base / str(task)
        files |= dict(_topics(place, task, slugs))
    if not files:
        raise ConfigError(
            f"{root} holds no images.",
            where="--t2i-model",
            hint="Put them into <objective|subjective>/<statistic>/<high|low>/.",
        )
    return ImageFiles(base, model, files)


def _topics(place: Path, task: Task, slugs: Mapping[str, str]) -> Iterator[tuple[Topic, tuple[Path, ...]]]:
    for name in folders(place):
        if _plain(name) not in slugs:
            raise DataError(
                "no statistic has this name.", where=str(place / name), hint=did_you_mean(name, slugs.values())
            )
        for level in Level:
            if found := images(place / name / level):
                yield image_topic(task, slugs[_plain(name)], level), found


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", "-", name.strip()).casefold()
