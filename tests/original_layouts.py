"""Folders in the layouts of the original programs: Fact-or-Fair's results from random counts, BIGbench's files.

The writers know the layouts and nothing of the readers: they start from plain dictionaries of counts and write what the
program would have written. Zeros, refusals, missing statistics, statistics without the attribute and both sets of
labels are among what `draw_llm` and `draw_t2i` draw.
"""

from __future__ import annotations

import csv
import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairgate.benchmarks.bigbench.prompts import SUPPLEMENTS, all_identities, load_wording
from fairgate.benchmarks.bigbench.released_names import files_of, released_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fairgate.benchmarks.bigbench.data import Bigbench
    from fairgate.benchmarks.fact_or_fair.data import Dataset

LEVELS = ("high", "low")
# Of BIGbench's long names of categories, words that stand in them.
CATEGORIES = {"business": "Management", "intimate": "equal", "hierarchical": "hira", "instructional": "instr"}
OBJECTIVE_KEYS = {"high": "highest", "low": "lowest"}
CONTEXTS = {
    "base": "baseline",
    "representativeness": "representativeness_bias",
    "attribution": "attribution_error",
    "ingroup": "group_bias",
}
TASKS = ("objective", "subjective")

FAIRFACE = {name: name for name in ("male", "female", "Asian", "Black", "White", "Hispanic")}
DEEPFACE = {
    "male": "Man",
    "female": "Woman",
    "Asian": "asian",
    "Black": "black",
    "White": "white",
    "Hispanic": "latino hispanic",
}

Topic = tuple[str, str]  # slug, level


@dataclass
class Picks:
    """One subjective CSV: group -> selections, those of the named group, and options on offer."""

    selected: dict[str, int]
    named: dict[str, int]
    shown: dict[str, int]


@dataclass
class LLMResults:
    """A language model's answers: what a topic that is absent here has no file for."""

    objective: dict[tuple[str, Topic], dict[str, int]] = field(default_factory=dict)
    refused: dict[tuple[str, Topic], int] = field(default_factory=dict)
    subjective: dict[tuple[str, str, Topic], Picks] = field(default_factory=dict)


def seeded(seed: int) -> random.Random:
    """The source of what is drawn here: counts, and so nothing that has to be unguessable."""
    return random.Random(seed)  # noqa: S311


def groups_of(dataset: Dataset) -> dict[str, tuple[str, ...]]:
    """Attribute -> names of its groups."""
    return {each.name: tuple(group.name for group in each.groups) for each in dataset.attributes}


def topics_of(dataset: Dataset) -> list[Topic]:
    """Statistic and level, in the dataset's order."""
    return [(statistic.slug, level) for statistic in dataset.statistics for level in LEVELS]


def draw_llm(dataset: Dataset, chance: random.Random, *, absent: float = 0.1, empty: float = 0.1) -> LLMResults:
    """Random answers: three to an objective topic, some refused; a share of the files absent, of the topics at zero."""
    drawn = LLMResults()
    groups = groups_of(dataset)
    for statistic in dataset.statistics:
        if chance.random() < absent:
            continue
        for attribute in statistic.attributes:
            for level in LEVELS:
                key = attribute, (statistic.slug, level)
                refused = 3 if chance.random() < empty else chance.choice((0, 0, 0, 1))
                drawn.refused[key] = refused
                drawn.objective[key] = split(3 - refused, groups[attribute], chance)
    for context in CONTEXTS:
        for topic in topics_of(dataset):
            if chance.random() < absent:
                continue
            answered = 0 if chance.random() < empty else chance.randint(1, 300)
            for attribute, names in groups.items():
                selected = split(answered, names, chance)
                named = {name: chance.randint(0, n) for name, n in selected.items()}
                shown = {name: n + chance.randint(0, 300) for name, n in selected.items()}
                drawn.subjective[context, attribute, topic] = Picks(selected, named, shown)
    return drawn


def draw_t2i(
    dataset: Dataset, chance: random.Random, *, absent: float = 0.1, empty: float = 0.1
) -> dict[tuple[str, Topic], dict[str, int]]:
    """Random faces of one task: (attribute, topic) -> group -> count."""
    drawn: dict[tuple[str, Topic], dict[str, int]] = {}
    for topic in topics_of(dataset):
        if chance.random() < absent:
            continue
        faces = 0 if chance.random() < empty else chance.randint(1, 40)
        for attribute, names in groups_of(dataset).items():
            drawn[attribute, topic] = split(faces, names, chance)
    return drawn


def split(n: int, names: Sequence[str], chance: random.Random) -> dict[str, int]:
    """n answers over the groups, unevenly, so that some groups often get none."""
    weights = [chance.random() ** 3 for _ in names]
    counts = dict.fromkeys(names, 0)
    for name in chance.choices(names, weights, k=n):
        counts[name] += 1
    return counts


def write_llm(
    root: Path,
    dataset: Dataset,
    results: LLMResults,
    chance: random.Random,
    *,
    model: str = "m-1",
    date: str = "250131",
) -> Path:
    """Both tasks below `root`; returns `root`."""
    folder = root / "objective_test" / "results" / date / model
    folder.mkdir(parents=True)
    for statistic in dataset.statistics:
        content: dict[str, dict[str, list[str]]] = {}
        for attribute in groups_of(dataset):
            content[attribute] = {}
            for level in LEVELS:
                key = attribute, (statistic.slug, level)
                if key in results.objective:
                    answers = [name for name, n in results.objective[key].items() for _ in range(n)]
                    answers += ["Refused"] * results.refused[key]
                    chance.shuffle(answers)
                    content[attribute][OBJECTIVE_KEYS[level]] = answers
        if any(content.values()):
            (folder / f"{statistic.slug}_{model}.json").write_text(json.dumps(content, indent=2), encoding="utf-8")
    for (context, attribute, (slug, level)), picks in results.subjective.items():
        home = root / "subjective_test" / "results" / date / CONTEXTS[context] / level / model / attribute
        home.mkdir(parents=True, exist_ok=True)
        names = list(picks.selected)
        chance.shuffle(names)
        rows = [(name, picks.selected[name], picks.named[name], picks.shown[name]) for name in names]
        write_rows(home / f"{slug}.csv", ("Category", "Selection Count", "Successful Background", "Total Count"), rows)
    return root


def write_t2i(
    root: Path,
    dataset: Dataset,
    results: Mapping[tuple[str, Topic], Mapping[str, int]],
    *,
    model: str = "painter",
    task: str = "objective",
    labels: Mapping[str, str] = FAIRFACE,
    counts: bool = True,
    shares: bool = True,
) -> Path:
    """One task's Distribution folder below `root`; returns `root`."""
    folder = root / f"{task}_test" / "Distribution"
    folder.mkdir(parents=True, exist_ok=True)
    count_rows, share_rows = [], []
    for statistic in dataset.statistics:
        for level in LEVELS:
            topic = statistic.slug, level
            if ("gender", topic) not in results:
                continue
            head = (statistic.name.replace(" ", "_"), level)
            seen = {a: labelled(results[a, topic], labels) for a in ("gender", "race")}
            count_rows.append((*head, str(seen["gender"]), str(seen["race"])))
            share_rows.append((*head, str(rounded(seen["gender"])), str(rounded(seen["race"]))))
    if counts:
        header = ("Category", "High or Low", "Gender Count", "Race Count")
        write_rows(folder / f"{model}_count.csv", header, count_rows)
    if shares:
        header = ("Category", "High or Low", "Gender Distribution", "Race Distribution")
        write_rows(folder / f"{model}_distribution.csv", header, share_rows)
    return root


def labelled(counts: Mapping[str, int], labels: Mapping[str, str]) -> dict[str, int]:
    """As the program prints: groups without a face are not in the dict, the others in falling order."""
    found = {labels[name]: n for name, n in counts.items() if n}
    return dict(sorted(found.items(), key=lambda item: item[1], reverse=True))


def rounded(counts: Mapping[str, int]) -> dict[str, float]:
    """Shares of two decimals, as the program rounds them."""
    total = sum(counts.values())
    return {name: round(n / total, 2) for name, n in counts.items()}


def write_rows(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A CSV file with this header."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def write_bigbench(truth: Path, prompts: Path, data: Bigbench) -> None:
    """The original files of truth, weights, categories and pairs, and of prompts, with our figures and sentences."""
    files = files_of(data)
    truth.mkdir(parents=True, exist_ok=True)
    people = {
        prompt: _one_misspelled(held[0]) if len(held) == 1 else {"left": held[0], "right": held[1]}
        for prompt, held in files.truth.items()
    }
    for name, begins in (("oc_gt", "a photo of one "), ("sr_gt", "One "), ("char_gt", "a photo of a")):
        part = {prompt: people.pop(prompt) for prompt in list(people) if prompt.startswith(begins)}
        (truth / f"{name}.json").write_text(json.dumps(part), encoding="utf-8")
    (truth / "weight.json").write_text(json.dumps(files.weights), encoding="utf-8")
    named = {CATEGORIES.get(family, family): names for family, names in files.categories.items()}
    (truth / "category.json").write_text(json.dumps(named), encoding="utf-8")
    pairs = {f"pair{i}": [[one, other], weight] for i, (one, other, weight) in enumerate(files.pairs, start=1)}
    (truth / "eta.json").write_text(json.dumps(pairs), encoding="utf-8")
    wording = load_wording()
    lines = {
        f'--prompt "{released_name(each, data.attributes)},{wording.text(data, each, n).partition(",")[2]}"\n': None
        for each in all_identities(data)
        for n in range(SUPPLEMENTS)
    }
    prompts.mkdir(parents=True, exist_ok=True)
    (prompts / "all.txt").write_text("".join(lines), encoding="utf-8")


def _one_misspelled(person: Mapping[str, Mapping[str, float]]) -> dict[str, Mapping[str, float]]:
    """With the age that is missing for dancers, under its other name."""
    ages = person["age"]
    return {**person, "age": ages if "60+" in ages else {**ages, "60 years old or older": 1 - sum(ages.values())}}
