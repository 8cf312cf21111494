"""Images -> counts: the faces of a topic by group, and what became of the images that show none."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairgate.benchmarks.fact_or_fair.cases import BENCHMARK
from fairgate.core.domain import AnswerKind
from fairgate.core.statistics.finite import Repeats
from fairgate.replies.labels import DEFAULT, label_map

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic
    from fairgate.providers.faces.image_steps import Seen
    from fairgate.replies.faces import Face
    from fairgate.replies.labels import LabelMap


@dataclass(frozen=True)
class Groups:
    """Which of the benchmark's groups a face shows: the detector's labels, through a label map for each attribute."""

    maps: Mapping[str, LabelMap]
    known: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, dataset: Dataset, race_map: str | None) -> Groups:
        """The maps of Fact-or-Fair. Raises ConfigError for a map that there is not."""
        named = {each.name: race_map if each.name == "race" and race_map else DEFAULT for each in dataset.attributes}
        maps = {attribute: label_map(BENCHMARK, attribute, name) for attribute, name in named.items()}
        return cls(maps, {each.name: frozenset(each.names) for each in dataset.attributes})

    def group(self, face: Face, attribute: str) -> str | None:
        """The group, None where the detector does not say, or says what stands for no group of the data."""
        group = self.maps[attribute].group(face.attribute(attribute))
        return group if group in self.known[attribute] else None


@dataclass
class FacesTally:
    """What came of one topic's images.

    `kinds` counts images; `picked` faces by their groups, in the order of `attributes`, None where one is not
    known. `images`: by attribute and content hash, how many faces of a known group that image added. `named` is empty:
    prompts of images name no group. `rows` hold each face: its image and its groups, as `codes` number them; `first`,
    by attribute, the group of the first face of each image of which it is known, also of one that comes again.
    `served`: how often the model or processor that read the faces named itself so.
    """

    topic: StatisticTopic
    attributes: tuple[str, ...]
    planned: int = 0
    kinds: Counter[AnswerKind] = field(default_factory=Counter)
    picked: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    images: dict[str, Counter[str]] = field(default_factory=dict)
    named: Counter[str] = field(default_factory=Counter)
    served: Counter[str] = field(default_factory=Counter)
    codes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    rows: array[int] = field(default_factory=lambda: array("l"))
    first: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _numbers: dict[str, int] = field(default_factory=dict)

    def add(self, portrait: Seen, groups: Groups) -> None:
        """Count one image and every face in it."""
        self.planned += 1
        number = self._number(portrait.image)
        self.kinds[portrait.kind] += 1
        faces = portrait.reading.faces if portrait.reading is not None else ()
        seen = [tuple(groups.group(face, attribute) for attribute in self.attributes) for face in faces]
        for place, name in enumerate(self.codes):
            known = (group for each in seen if (group := each[place]) is not None)
            self.first[name] += [self.codes[name][group] for group in known][:1]
        for shown in seen:
            self.picked[shown] += 1
            if self.codes:
                self.rows.append(number)
                self.rows.extend(
                    self.codes[name].get(group or "", -1) for name, group in zip(self.codes, shown, strict=True)
                )
            for attribute, group in zip(self.attributes, shown, strict=True):
                if group is not None and portrait.image is not None:
                    self.images.setdefault(attribute, Counter())[portrait.image] += 1

    def _number(self, image: str | None) -> int:
        """A number for each different image: one that comes twice is one draw."""
        return -1 if image is None else self._numbers.setdefault(image, len(self._numbers))

    def by(self, attribute: str) -> Counter[str]:
        """Faces by the groups of one attribute; those of which it is not known are left out."""
        place = self.attributes.index(attribute)
        shares: Counter[str] = Counter()
        for groups, n in self.picked.items():
            group = groups[place]
            if group is not None:
                shares[group] += n
        return shares

    def offered(self, attribute: str, right: Iterable[str]) -> int:
        """Faces for which a right group could have been chosen: all, as an image model may draw anybody."""
        del right
        return self.by(attribute).total()

    def distinct(self, attribute: str) -> int:
        """Independent images among those with faces: Kish's effective number (Σm)²/Σm² of images with m faces.

        Faces of one image are one draw, and so is an image that comes twice. With m faces in every image it is the
        number of images; one image with many faces beside single ones counts for little more than itself.
        """
        faces = self.images.get(attribute, Counter())
        whole = faces.total()
        return whole * whole // sum(m * m for m in faces.values()) if whole else 0

    @property
    def repeats(self) -> Repeats:
        """None: no image comes again."""
        return Repeats()

    @property
    def unseen(self) -> int:
        """Images whose faces, if they show any, are not known: unreadable ones, and those without a detected face."""
        return self.kinds[AnswerKind.UNREADABLE] + self.kinds[AnswerKind.NO_FACE]


def tally_faces(topic: StatisticTopic, portraits: Iterable[Seen], dataset: Dataset, groups: Groups) -> FacesTally:
    """Count a topic's images."""
    codes = {each.name: each.codes for each in dataset.attributes}
    counted = FacesTally(topic, tuple(codes), codes=codes)
    for portrait in portraits:
        counted.add(portrait, groups)
    return counted
