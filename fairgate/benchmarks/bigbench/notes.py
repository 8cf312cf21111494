"""What a reader of BIGbench's scores must know, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.benchmarks.base import MISSING_SHOWN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from fairgate.benchmarks.bigbench.alignment import Aligned
    from fairgate.benchmarks.bigbench.data import Bigbench
    from fairgate.benchmarks.bigbench.plan import SubjectTally


def notes(
    seen: Iterable[SubjectTally], data: Bigbench, aligned: Aligned | None, calibrated: Collection[str] = ()
) -> Iterator[str]:
    """What the scores stand on, what of the data was not used, and by which attributes the detector is `calibrated`."""
    if aligned is not None:
        yield (
            f"results/{aligned.model} has shares alone: nothing is known of refusals, of images without people, "
            "nor of how many images there are, so that there are no estimates."
        )
        if aligned.notes:
            shown = "; ".join(aligned.notes[:MISSING_SHOWN])
            yield f"{len(aligned.notes)} of its prompts were not used: {shown}."
        if aligned.uneven:
            shown = "; ".join(aligned.uneven[:MISSING_SHOWN])
            yield (
                f"{len(aligned.uneven):,} of its shares do not sum to 1, and `reference` takes them as they are: "
                f"{shown}."
            )
    else:
        subjects = len({each.portrayal.identity.subject.id for each in seen if each.portrayal.identity.asked is None})
        if subjects:
            yield f"BIGbench: {subjects} of {len(data.subjects)} subjects sat for their own sake."
        yield from _of_errors([each.name for each in data.attributes], calibrated)
    yield from (f"BIGbench: {note}." for note in data.notes[:MISSING_SHOWN])


def _of_errors(names: Sequence[str], calibrated: Collection[str]) -> Iterator[str]:
    """Whether estimates are corrected for the detector's errors, by attribute."""
    corrected = [name for name in names if name in calibrated]
    raw = [name for name in names if name not in calibrated]
    if corrected:
        yield (
            f"BIGbench: estimates by {', '.join(corrected)} are corrected for the detector's errors, as the "
            "calibration measured them on other faces; plug-in values and tables are not."
        )
    if raw:
        yield f"BIGbench: detectors err; scores by {', '.join(raw)} are uncorrected (--calibration)."
