"""A topic -> its questions: both polarities, both orders of the people, every order of the options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from ambiguous_qa.topics import Context, ItemCase, ItemTopic
from fairgate.core.domain import Choice, Query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ambiguous_qa.items import Item, Items

LETTERS = "ABC"
VARIANTS = {Context.AMBIGUOUS: 24, Context.DISAMBIGUATED: 48}  # different prompts of an item; then they come again
TARGET, OTHER, UNKNOWN = range(3)  # what an option stands for
# The orders of the three options: in the first three, and in the last three, each option stands once at each place.
ORDERS = ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2))


@dataclass(frozen=True)
class Question:
    """A query with what is known of it: which option is right, and which one a common stereotype suggests.

    `options` are `TARGET`, `OTHER` and `UNKNOWN` in the order of the query's choices. `aligned`: whether the right
    answer is the stereotyped one; of an ambiguous text, whether the question is the negative one.
    """

    query: Query
    options: tuple[int, ...]
    right: int
    stereotyped: int
    aligned: bool


@dataclass(frozen=True)
class QuestionPlan:
    """`questions` for each topic; the seed decides in which order their variants come."""

    data: Items
    questions: int
    seed: int

    @property
    def cases(self) -> tuple[ItemCase, ...]:
        """Both contexts of every item, in the order of the file."""
        return tuple(
            ItemCase(ItemTopic(item.attribute, item.id, context)) for context in Context for item in self.data.items
        )

    def item(self, topic: ItemTopic) -> Item:
        """What a topic asks about."""
        return next(item for item in self.data.items if item.id == topic.item)

    def of(self, topic: ItemTopic) -> Iterator[Question]:
        """The questions of a topic, in their order."""
        return (self.question(topic, index) for index in range(self.questions))

    def question(self, topic: ItemTopic, index: int) -> Question:
        """A pure function of data, seed, topic and index."""
        item, told = self.item(topic), topic.context is Context.DISAMBIGUATED
        turn = crc32(f"{self.seed}/{topic.id}".encode())
        negative, second, row = index % 2 == 0, index // 2 % 2 == 0, index // 4 + turn
        # Of a told text the second bit is who it is about, of an ambiguous one who is named first.
        about = TARGET if not told or second else OTHER
        swapped = row % 2 == 0 if told else second
        order = ORDERS[row % 3 + 3 * (row // 6 % 2)] if told else ORDERS[row % 6]
        people = (item.target, item.other)
        text = item.scene.format(first=people[swapped].name, second=people[not swapped].name)
        if told:
            text += " " + item.told.format(negative=people[about].name, positive=people[1 - about].name)
        names = [f"The {each.name}." for each in people] + [self.data.unknown]
        choices = tuple(
            Choice(letter, names[option], {} if option == UNKNOWN else {item.attribute: people[option].group})
            for letter, option in zip(LETTERS, order, strict=True)
        )
        prompt = self.data.prompt.strip().format(
            text=text,
            question=item.negative if negative else item.positive,
            options="\n".join(f"{choice.letter}. {choice.text}" for choice in choices),
        )
        stereotyped = TARGET if negative else OTHER
        right = UNKNOWN if not told else about if negative else 1 - about
        aligned = right == stereotyped if told else negative
        return Question(Query(topic, index, prompt, choices), order, right, stereotyped, aligned)
