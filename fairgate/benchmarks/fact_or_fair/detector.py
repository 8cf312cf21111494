"""How far a detector is wrong, as a calibration measured it, or as it was published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.benchmarks.fact_or_fair import published_tables as tables
from fairgate.benchmarks.fact_or_fair.cases import BENCHMARK

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.fact_or_fair.faces_tally import Groups
    from fairgate.core.domain import Identity
    from fairgate.core.statistics.unmixing import ConfusionMatrix


def published_errors(detector: Identity) -> Mapping[str, float]:
    """Its published error rate, 0 to 1, by attribute; empty where there is none."""
    if detector.label == "faces/fairface":
        return tables.detector_errors("FairFace")
    return tables.detector_errors("DeepFace") if detector.provider == "deepface" else {}


def mixings(path: Path, detector: Identity, dataset: Dataset, groups: Groups) -> Mapping[str, ConfusionMatrix]:
    """How it errs by a calibration, by attribute. Raises ConfigError for a file that is none of this detector."""
    from fairgate.providers.faces import calibration

    groups_of = {each.name: each.names for each in dataset.attributes}
    return calibration.load(path, detector).mixings(BENCHMARK, groups_of, groups.maps, f"--calibration {path}")
