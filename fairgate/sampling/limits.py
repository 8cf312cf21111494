"""How much a run may ask at once, a minute and in all. Nothing here waits: the time is passed in.

`Limits` is asked before each request whether it may go, and told what came of it. `Scheduler` does the waiting.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from fairgate.core.errors import BudgetSpent
from fairgate.options.settings import Bounds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.core.domain import Reply
    from fairgate.gating.thresholds import Price

# What a request is taken to cost before any was answered.
CHARACTERS_A_TOKEN = 4.0
FIRST_COMPLETION = 64.0  # tokens
# Requests that go at that guess where a budget is set: a model that thinks may take a hundred times as much.
GUESSES = 8


class Bucket:
    """A rate that holds in the long run: it fills evenly, at most a tenth of a second ahead, and may be overdrawn.

    What is larger than all that it holds may go when it is full, and is paid off before the next.
    """

    def __init__(self, a_minute: float) -> None:
        self.a_minute, self._rate = a_minute, a_minute / 60
        self._most = max(1.0, self._rate / 10)
        self._level, self._at = self._most, 0.0

    def wait(self, now: float, amount: float) -> float:
        """Seconds until `amount` may go."""
        self._level = min(self._most, self._level + max(0.0, now - self._at) * self._rate)
        self._at = now
        return max(0.0, (min(amount, self._most) - self._level) / self._rate)

    def take(self, amount: float) -> None:
        """`amount` goes; less than 0 gives back."""
        self._level = min(self._most, self._level - amount)


class Window:
    """How many requests are in flight at once: `most`, fewer while the server has problems with so many.

    Looked at after as many outcomes as it is wide (additive increase, multiplicative decrease): more than a quarter
    refused as too many, or answers that take more than twice as long as usual, narrow it; all else widens it again. A
    steady tenth of refusals is a server's way to say "full": it is used to the full, and never narrowed.
    """

    REFUSED = 0.25  # share
    SLOWER = 2.0  # times
    NOTICED = 0.25  # seconds by which answers must be late to count as late
    LEAST = 8  # outcomes to a look

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = float(most)
        self._usual: float | None = None
        self._refused = self._answered = 0
        self._latency = 0.0

    @property
    def size(self) -> int:
        """How many may be in flight now, 1 or more."""
        return int(self._size)

    def answered(self, latency: float) -> None:
        """A request was answered within `latency` seconds."""
        self._answered += 1
        self._latency += latency
        self._look()

    def refused(self) -> None:
        """A request was refused because there are too many, or was not answered in time."""
        self._refused += 1
        self._look()

    def _look(self) -> None:
        outcomes = self._refused + self._answered
        if outcomes < max(self._size, self.LEAST):
            return
        latency = self._latency / self._answered if self._answered else None
        if self._refused > self.REFUSED * outcomes:
            self._size *= 0.75
        elif latency is not None and self._late(latency):
            self._size *= 0.8
        else:
            self._size += max(1.0, self._size / 4)
        self._size = min(max(1.0, self._size), float(self._most))
        if latency is not None:
            # What lasts becomes usual, so that longer replies narrow it for a while only.
            usual = latency if self._usual is None else self._usual
            self._usual = usual + (latency - usual) * (0.5 if latency < usual else 0.1)
        self._refused = self._answered = 0
        self._latency = 0.0

    def _late(self, latency: float) -> bool:
        usual = latency if self._usual is None else self._usual
        return latency > self.SLOWER * usual and latency - usual > self.NOTICED


@dataclass
class Meter:
    """The tokens of one model: what its server counted, and where it did not, an estimate from lengths."""

    price: Price | None = None
    replies: int = 0
    characters: int = 0
    prompt: float = 0.0
    completion: float = 0.0
    images: int = 0

    @property
    def tokens(self) -> float:
        """Sent and received."""
        return self.prompt + self.completion

    @property
    def usd(self) -> float | None:
        """What they cost; None where no price is known."""
        return None if self.price is None else self.price.of(self.prompt, self.completion, self.images)

    def expect(self, characters: int) -> Bill:
        """What a prompt of so many characters should cost, by what the ones before cost."""
        prompt = characters * self.prompt / self.characters if self.characters else characters / CHARACTERS_A_TOKEN
        completion = self.completion / self.replies if self.replies else FIRST_COMPLETION
        usd = self.price.of(prompt, completion, self._image) if self.price else 0.0
        return Bill(prompt + completion, usd, guessed=not self.replies)

    def charge(self, tokens: tuple[int, int]) -> None:
        """Count what was billed for no reply."""
        self.prompt += tokens[0]
        self.completion += tokens[1]

    def add(self, characters: int, reply: Reply) -> Bill:
        """Count a reply to a prompt of so many characters; what it cost."""
        sent, received = reply.prompt_tokens, reply.completion_tokens
        if not sent and not received:  # some servers that do not count say 0
            sent = received = None
        prompt = characters / CHARACTERS_A_TOKEN if sent is None else sent
        completion = len(reply.text) / CHARACTERS_A_TOKEN if received is None else received
        self.replies += 1
        self.characters += characters
        self.prompt += prompt
        self.completion += completion
        # Providers bill no image that their filter kept back.
        drawn = 0 if reply.filtered else self._image
        self.images += drawn
        return Bill(prompt + completion, self.price.of(prompt, completion, drawn) if self.price else 0.0)

    @property
    def _image(self) -> int:
        """The images that a reply is: whoever has a price for images draws."""
        return int(self.price is not None and self.price.image > 0)


@dataclass(frozen=True, slots=True)
class Bill:
    """What a request costs, or is expected to: tokens, and USD where there is a price.

    `guessed`: no answer has told yet what requests to this model cost.
    """

    tokens: float
    usd: float
    guessed: bool = False


@dataclass
class Limits:
    """All limits of a run, and what was used of them.

    `prices` are by PROVIDER/NAME. A model without one costs nothing here: whoever sets a budget in USD has seen to it
    that there is one.
    """

    bounds: Bounds = field(default_factory=Bounds)
    prices: Mapping[str, Price] = field(default_factory=dict)

    def __post_init__(self) -> None:
        bounds = self.bounds
        self.window = Window(bounds.in_flight)
        self.requests = 0
        self.meters: dict[str, Meter] = {}
        self._requests = Bucket(bounds.requests_a_minute) if bounds.requests_a_minute else None
        self._tokens = Bucket(bounds.tokens_a_minute) if bounds.tokens_a_minute else None
        self._open_calls = self._open_guesses = 0
        self._open_tokens = self._open_usd = 0.0

    def meter(self, model: str) -> Meter:
        """The meter of PROVIDER/NAME."""
        if model not in self.meters:
            self.meters[model] = Meter(self.prices.get(model))
        return self.meters[model]

    @property
    def tokens(self) -> float:
        """Tokens of all that was answered."""
        return sum(meter.tokens for meter in self.meters.values())

    @property
    def usd(self) -> float | None:
        """What all that was answered cost; None where a model has no price, or nothing was answered."""
        costs = [meter.usd for meter in self.meters.values() if meter.replies or meter.tokens]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if known and len(known) == len(costs) else None

    @property
    def left(self) -> float:
        """How many further calls all budgets allow, by what a call has cost so far; infinite without any."""
        bounds, answered = self.bounds, sum(meter.replies for meter in self.meters.values())
        found = [inf] if bounds.calls is None else [float(bounds.calls - self.requests)]
        for budget, used in ((bounds.tokens, self.tokens), (bounds.usd, self.usd)):
            if budget is not None and used and answered:
                found.append((budget - used) / (used / answered))
        return max(min(found), 0.0)

    def wait(self, now: float, bill: Bill | None) -> float:
        """Seconds until a request may go; infinite: not before another one's bill is settled.

        `bill` is what is expected of it, None for a request that is repeated. Raises BudgetSpent where none may ever.
        """
        bounds = self.bounds
        if bounds.calls is not None and self.requests >= bounds.calls:
            raise _spent(f"{bounds.calls:,} calls", "calls", f"{self.requests:,} were made")
        budgeted = bounds.tokens is not None or bounds.usd is not None
        if bill is not None and bill.guessed and budgeted and self._open_guesses >= GUESSES:
            return inf
        more = 1 + self._open_guesses  # those cost what is known by now, and not what was guessed
        if bill is not None and bounds.tokens is not None:
            if self._over(bounds.tokens, self.tokens, bill.tokens):
                told = f"{self.tokens:,.0f} were used, and the next call would take about {bill.tokens:,.0f}"
                raise _spent(f"{bounds.tokens:,} tokens", "tokens", told)
            if self._open_tokens and self.tokens + self._open_tokens + more * bill.tokens > bounds.tokens:
                return inf
        if bill is not None and bounds.usd is not None:
            used = self.usd or 0.0
            if self._over(bounds.usd, used, bill.usd):
                told = f"{used:.4f} were spent, and the next call would cost about {bill.usd:.4f}"
                raise _spent(f"{bounds.usd:g} USD", "usd", told)
            if self._open_usd and used + self._open_usd + more * bill.usd > bounds.usd:
                return inf
        first = 0.0 if self._requests is None else self._requests.wait(now, 1)
        if self._tokens is None or bill is None:
            return first
        return max(first, self._tokens.wait(now, bill.tokens))

    @staticmethod
    def _over(budget: float, used: float, expected: float) -> bool:
        """Whether nothing more fits. What the very first call costs is a guess, so that one may go."""
        return used > 0 and used + expected > budget

    def take(self, bill: Bill | None) -> None:
        """A request goes."""
        self.requests += 1
        if self._requests is not None:
            self._requests.take(1)
        if bill is not None:
            self._open_calls += 1
            self._open_guesses += bill.guessed
            self._open_tokens += bill.tokens
            self._open_usd += bill.usd
            if self._tokens is not None:
                self._tokens.take(bill.tokens)

    def settle(self, model: str, characters: int, expected: Bill, reply: Reply | None) -> None:
        """What was expected has come to an end: `reply` is None where there was none."""
        self._open_calls -= 1
        self._open_guesses -= expected.guessed
        # Sums of floats that are taken away again leave dust behind.
        self._open_tokens = self._open_tokens - expected.tokens if self._open_calls else 0.0
        self._open_usd = self._open_usd - expected.usd if self._open_calls else 0.0
        if reply is None:
            return
        actual = self.meter(model).add(characters, reply)
        if self._tokens is not None:
            self._tokens.take(min(actual.tokens - expected.tokens, self._tokens.a_minute))


def _spent(budget: str, option: str, told: str) -> BudgetSpent:
    hint = f"What was answered is kept: raise --budget-{option} and run again to go on."
    return BudgetSpent(f"the budget of {budget} is spent: {told}.", where=f"--budget-{option}", hint=hint)
