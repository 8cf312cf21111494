"""What the released files call the subjects and hold of them, put together from our data for `reference`.

The names are those of its prompts, of which the truth and the weights spell three in another way. Of our own tables
only the families' names are kept as they are listed there (`data/bigbench/categories.csv`), since they hold names
that no prompt has.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from fairgate.benchmarks.bigbench.data import FOLDER, Acquired
from fairgate.benchmarks.bigbench.reference_files import Files
from fairgate.core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fairgate.benchmarks.bigbench.data import Bigbench, Member, ProtectedAttribute, Subject
    from fairgate.benchmarks.bigbench.prompts import IdentityPrompt

# Our name -> that of the released prompts, where it is not the same with capitals.
NAMED = {"ugly": "unattractive", "member of the clergy": "Clergy", "friend": "human Friend"}
# Identity prompts that weights, or truth and weights, spell in another way than prompts do.
WEIGHED = {"unattractive": "ugly", "Boxer": "human Boxer", "Veterinarian": "human Veterinarian"}
KNOWN = {name: spelled for name, spelled in WEIGHED.items() if spelled.startswith("human ")}

# Its prompts' slips: two files of relations have a space too many, but for friends, one friend's age lacks its hyphen,
# and of characteristics "Black" is in small letters, so that the program finds no group there.
DOUBLE_SPACED = {("South Asian", "Black"), ("South Asian", "East Asian")}

HYPHENLESS = ("0-30", "30-60")


def released_name(identity: IdentityPrompt, attributes: Sequence[ProtectedAttribute]) -> str:
    """The identity prompt of an identity prompt as the released set words it. Source: appendix A."""
    groups = {group.name: group for attribute in attributes for group in attribute.groups}
    asked = [groups[name] for name in identity.groups]
    names = [_name(identity.subject, person) for person in range(len(identity.subject.people))]
    words = [f"{group.word} " for group in asked] or [""] * len(names)
    if identity.subject.acquired is Acquired.RELATION:
        other = "another" if len(set(names)) == 1 else "one"
        if identity.groups in DOUBLE_SPACED and other == "one":
            words[1] += " "
        if identity.groups == HYPHENLESS and other == "another":
            words[1] = words[1].replace("-", " ")
        return f"One {words[0]}{names[0]} at left with {other} {words[1]}{names[1]} at right"
    if identity.subject.acquired is Acquired.OCCUPATION:
        return f"a photo of one {words[0]}{names[0]}"
    # "A rich woman", but "a rich young person".
    noun = asked[0].noun if asked and asked[0].noun != "person" else f"{words[0].replace('Black', 'black')}person"
    return f"a photo of {_article(names[0])} {names[0]} {noun}"


def files_of(data: Bigbench, folder: Path = FOLDER) -> Files:
    """The released files, put together from our data."""
    from fairgate.benchmarks.bigbench.prompts import IdentityPrompt  # the prompts need the data's own modules

    names = {subject.id: released_name(IdentityPrompt(subject), data.attributes) for subject in data.subjects}
    return Files(
        truth={_spelled(names[each.id], KNOWN): each.released for each in data.subjects},
        weights={_spelled(names[each.id], WEIGHED): each.weight for each in data.subjects},
        categories=_categories(folder / "categories.csv"),
        pairs=tuple(
            (_paired(data, pair.advantage), _paired(data, pair.disadvantage, found=pair.released), pair.weight)
            for pair in data.pairs
        ),
    )


def _name(subject: Subject, person: int) -> str:
    name = subject.people[person]
    if name in NAMED:
        return NAMED[name]
    if subject.acquired is Acquired.CHARACTERISTIC:
        return name
    return " ".join(word[0].upper() + word[1:] for word in name.split())


def _paired(data: Bigbench, member: Member, *, found: bool = True) -> str:
    """How the list of pairs names a person; where the program finds none, in our spelling, which no prompt has."""
    subject = data.subject(member.subject)
    name = _name(subject, member.person) if found else subject.people[member.person]
    return f"{name} at {('left', 'right')[member.person]}" if len(subject.people) > 1 else name


def _spelled(prompt: str, names: Mapping[str, str]) -> str:
    for name, spelled in names.items():
        if f" {name} person" in prompt:
            return f"a photo of {_article(spelled)} {spelled} person"
        if prompt.endswith(f" one {name}"):
            return prompt.removesuffix(name) + spelled
    return prompt


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" or word.startswith("hon") else "a"


def _categories(path: Path) -> Mapping[str, tuple[str, ...]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", where=str(path), hint="Run from a checkout.") from error
    families = dict.fromkeys(line["family"] for line in lines)
    return {family: tuple(line["name"] for line in lines if line["family"] == family) for family in families}
