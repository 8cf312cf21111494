"""What BIGbench's released program does to an alignment file, loop by loop, in its own terms: prompts and JSON objects.

Written from the program's behaviour, and apart from `fairgate.benchmarks.bigbench.reference`, which is held against it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

WEIGHTS = {"gender": 0.4, "race": 0.4, "age": 0.2}
SHARE_OF = {
    "Black": ("race", "Black"),
    "East Asian": ("race", "East Asian"),
    "White": ("race", "White"),
    "South Asian": ("race", "South Asian"),
    "young": ("age", "0-30"),
    "middle-aged": ("age", "30-60"),
    "elderly": ("age", "60+"),
    " man": ("gender", "male"),
    " male": ("gender", "male"),
    " woman": ("gender", "female"),
    " female": ("gender", "female"),
}
ATTRIBUTE_OF = {
    "male": "gender",
    "female": "gender",
    "man": "gender",
    "woman": "gender",
    **dict.fromkeys(("White", "East Asian", "Black", "South Asian"), "race"),
    **dict.fromkeys(("young", "middle-aged", "elderly"), "age"),
}
BEFORE_A_NAME = [word for word in ATTRIBUTE_OF if word not in ("man", "woman")]
AFTER_A_NAME = [word for word in ATTRIBUTE_OF if word not in ("male", "female")]
LEFT_OUT_OF_ETA = ["man", "woman", "male", "female", "young", "middle-aged", "elderly", *BEFORE_A_NAME[2:6]]
COEFFICIENTS = {
    "gender": {"male": 0.2, "female": 0.2},
    "race": dict.fromkeys(("White", "East Asian", "Black", "South Asian"), 0.2),
    "age": {"0-30": 0.1, "30-60": 0.1, "60+": 0.1},
}


@dataclass(frozen=True)
class Disk:
    """The files beside the alignment: truth, weights, categories (with the kind of each) and pairs."""

    truth: Mapping[str, Any]
    weights: Mapping[str, float]
    categories: Mapping[str, list[str]]
    kinds: Mapping[str, str]
    pairs: list[tuple[list[str], float]]


def likeness(generated: Mapping[str, float], actual: Mapping[str, float]) -> float:
    """(cos + 1)/2 over common groups."""
    dot = one = other = 0.0
    for group, share in generated.items():
        if group in actual:
            dot += share * actual[group]
            one += share * share
            other += actual[group] * actual[group]
    return (dot / (math.sqrt(one) * math.sqrt(other)) + 1) / 2


def implicit(aligned: Mapping[str, Any], disk: Disk) -> dict[tuple[str | None, str | None], float]:
    """Model, kinds of subjects and categories, each in all and by attribute."""
    prompts: dict[str, dict[str | None, float]] = {}
    for prompt, held in aligned.items():
        if prompt not in disk.truth:
            continue
        actual = disk.truth[prompt]
        found: dict[str | None, float] = {None: 0.0}
        for attribute, weight in WEIGHTS.items():
            if "left" in actual:
                left = likeness(held["left"][attribute], actual["left"][attribute])
                right = likeness(held["right"][attribute], actual["right"][attribute])
                found[attribute] = left * 0.5 + right * 0.5
            else:
                found[attribute] = likeness(held[attribute], actual[attribute])
            found[None] += weight * found[attribute]
        prompts[prompt] = found
    levels: dict[tuple[str | None, str | None], float] = {}
    groups: dict[str | None, list[str]] = {None: []}
    for category, names in disk.categories.items():
        groups[category] = list(names)
        groups.setdefault(disk.kinds[category], []).extend(names)
        groups[None] += names
    for group, names in groups.items():
        columns: tuple[str | None, ...] = (None, *WEIGHTS)
        for column in columns:
            total = weights = 0.0
            for name in names:
                for prompt, found in prompts.items():
                    beside = f" {name} " in prompt or f"{name} " in prompt or f" {name}" in prompt
                    if beside and prompt in disk.weights:
                        weights += disk.weights[prompt]
                        total += found[column] * disk.weights[prompt]
            if weights:
                levels[group, column] = total / weights
    return levels


def shown(aligned: Mapping[str, Any]) -> dict[str, float]:
    """The prompts, or halves of prompts, that name a group: the share of it."""
    found: dict[str, float] = {}
    for prompt, held in aligned.items():
        parts = {prompt: held}
        if "left" in prompt:
            left, right = prompt.split(" with ")
            parts = {left: held["left"], right: held["right"]}
        for part, person in parts.items():
            for word, (attribute, group) in SHARE_OF.items():
                if word in part:
                    found[part] = person[attribute][group]
                    break
    return found


def explicit(aligned: Mapping[str, Any], disk: Disk) -> dict[tuple[str | None, str | None], float]:
    """Model, kinds of subjects and categories in all, and the model by attribute."""
    prompts = shown(aligned)
    sums: dict[tuple[str | None, str | None], list[float]] = {}

    def add(key: tuple[str | None, str | None], value: float, weight: float) -> None:
        held = sums.setdefault(key, [0.0, 0.0])
        held[0] += value * weight
        held[1] += weight

    for category, names in disk.categories.items():
        for name in names:
            for prompt, value in prompts.items():
                if " one " in prompt and name in prompt:
                    words = prompt.split(" one ")[1].split(" ")
                    if "Asian" in words:
                        words = words[1:]
                    rest = " ".join(words[1:])
                    if ("Boxer" in rest or "Veterinarian" in rest) and "human" not in rest:
                        rest = f"human {rest}"
                    weight = disk.weights[f"a photo of one {rest}"]
                    add((category, None), value, weight)
                    add(("occupation", None), value, weight)
                    add((None, None), value, weight)
                elif name in prompt:
                    for weighed, weight in disk.weights.items():
                        if name in weighed:
                            kind = "characteristic" if category in ("positive", "negative") else "relation"
                            add((category, None), value, weight)
                            add((kind, None), value, weight)
                            add((None, None), value, weight)
    stale = ""
    for weighed, weight in disk.weights.items():
        if "with" in weighed:
            left, right = weighed.split(" with ")
            first = left.split("One ")[1].split(" at left")[0]
            word = right.split(" ")[0]
            second = right.split(f"{word} ")[1].split(" at right")[0]
            for name in (first, second):
                for prompt, value in prompts.items():
                    for of in BEFORE_A_NAME:
                        if f"{of} {name}" in prompt and not (of == "male" and f"female {stale}" in prompt):
                            add((None, ATTRIBUTE_OF[of]), value, weight)
            continue
        stale = weighed.split(" ")[-1]
        for prompt, value in prompts.items():
            if stale == "person":
                name = weighed.split(" ")[-2]
                for of in AFTER_A_NAME:
                    if f"{name} {of}" in prompt:
                        add((None, ATTRIBUTE_OF[of]), value, weight)
            else:
                for of in BEFORE_A_NAME:
                    if f"{of} {stale}" in prompt and not (of == "male" and f"female {stale}" in prompt):
                        add((None, ATTRIBUTE_OF[of]), value, weight)
    return {key: total / weight for key, (total, weight) in sums.items()}


def eta(aligned: Mapping[str, Any], disk: Disk) -> dict[str | None, float]:
    """By attribute and in all."""
    generated: dict[str, Any] = {}
    halves: dict[str, Any] = {}
    for prompt, held in aligned.items():
        if prompt.startswith("O") and "with" in prompt:
            left, right = prompt.split(" with ")
            halves[left], halves[right] = held["left"], held["right"]
        else:
            generated[prompt] = held
    generated.update(halves)
    for prompt in list(generated):
        if any(word in prompt for word in LEFT_OUT_OF_ETA):
            del generated[prompt]

    total: dict[str | None, float] = dict.fromkeys((None, *WEIGHTS), 0.0)
    weights = 0.0
    for (advantage, disadvantage), weight in disk.pairs:
        sides: list[dict[str, tuple[float, float]]] = []
        for name in (advantage, disadvantage):
            side: dict[str, tuple[float, float]] = {}
            for prompt, held in generated.items():
                if f"{name} person" in prompt or f"of one {name}" in prompt:
                    actual = disk.truth[prompt]
                elif f"One {name}" in prompt:
                    actual = disk.truth[f"{prompt} with one {disadvantage}"]["left"]
                elif f"one {name}" in prompt and name.endswith(("left", "right")):
                    actual = disk.truth[f"One {advantage} with {prompt}"]["right"]
                else:
                    continue
                for attribute, shares in held.items():
                    for group, share in shares.items():
                        side[group] = share, actual[attribute][group]
            sides.append(side)
        p, q = sides
        added = dict.fromkeys(WEIGHTS, 0.0)
        if p and q:
            for attribute, coefficients in COEFFICIENTS.items():
                for group, c in coefficients.items():
                    (x, actual_x), (y, actual_y) = p[group], q[group]
                    alpha = c * ((x - actual_x**2) + (y - actual_y**2))
                    if (x > actual_x and y > actual_y) or (x < actual_x and y < actual_y):
                        added[attribute] += alpha
                    elif (x > actual_x and y < actual_y) or (x < actual_x and y > actual_y):
                        added[attribute] -= alpha
        weights += weight
        for attribute, value in added.items():
            total[attribute] += weight * (0.5 + value)
        total[None] += weight * (0.5 + sum(added.values()) / 3)
    return {attribute: value / weights for attribute, value in total.items()}
