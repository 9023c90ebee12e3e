"""What a judge may spend: a ceiling on calls, tokens and money that is never exceeded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from typing_extensions import TypedDict

from metaeval.options import NotNegative, PositiveInt
from metaeval.runs.answers import Answer


class Budget(TypedDict, total=False):
    """Ceilings for all calls of a run, those of an earlier, interrupted attempt included."""

    calls: PositiveInt | None
    tokens: PositiveInt | None
    usd: NotNegative | None


class Price(TypedDict):
    """US dollars per million tokens."""

    input: NotNegative
    output: NotNegative


class Cost(NamedTuple):
    """Calls, tokens of prompts and of answers."""

    calls: int = 0
    input: int = 0
    output: int = 0

    def plus(self, other: Cost) -> Cost:
        """The sum of both."""
        return Cost(self.calls + other.calls, self.input + other.input, self.output + other.output)

    def minus(self, other: Cost) -> Cost:
        """The difference of both."""
        return Cost(self.calls - other.calls, self.input - other.input, self.output - other.output)

    def usd(self, price: Price | None) -> float | None:
        """Its price, `None` where no price is declared."""
        if price is None:
            return None
        return (self.input * price["input"] + self.output * price["output"]) / 1e6


class Usage(NamedTuple):
    """Tokens of prompt and answer that a reply states, `None` where it states none."""

    prompt: int | None = None
    completion: int | None = None

    def usd(self, price: Price | None) -> float | None:
        """The price of a call, `None` where no price is declared or the usage is not stated."""
        if self.prompt is None or self.completion is None:
            return None
        return Cost(1, self.prompt, self.completion).usd(price)


UNKNOWN = Usage()
NOTHING = Usage(0, 0)  # of a request that is not charged


def usage_of(answer: Answer) -> Usage:
    """The usage that is recorded with an answer."""
    return Usage(answer.prompt_tokens, answer.completion_tokens)


@dataclass
class Ledger:
    """Spends a budget: a request's greatest possible cost is reserved before it is sent.

    Attributes
    ----------
    spent, reserved
        What was paid, and the greatest possible cost of what is in flight.
    unstated
        Calls of unknown usage, which count as the most that was reserved for them.
    """

    budget: Budget
    price: Price | None
    spent: Cost = field(default_factory=Cost)
    reserved: Cost = field(default_factory=Cost)
    unstated: int = 0
    _counted: set[str] = field(default_factory=set)

    def record(self, most: Cost, usage: Usage, key: str = "") -> None:
        """Count a call of at most this cost; an answer, by its request's key, counts once."""
        if key in self._counted:
            return
        self._counted |= {key} if key else set()
        self.unstated += None in usage
        prompt, completion = usage
        self.spent = self.spent.plus(
            Cost(
                1,
                most.input if prompt is None else prompt,
                most.output if completion is None else completion,
            )
        )

    def exceeded_by(self, cost: Cost) -> str | None:
        """The ceiling that this cost would exceed: "budget.calls=100"."""
        total = self.spent.plus(self.reserved).plus(cost)
        values = (
            ("calls", total.calls),
            ("tokens", total.input + total.output),
            ("usd", total.usd(self.price) or 0.0),
        )
        for name, value in values:
            ceiling = self.budget.get(name)
            if isinstance(ceiling, int | float) and value > ceiling:
                return f"budget.{name}={ceiling:g}"
        return None

    def reserve(self, cost: Cost) -> bool:
        """Set a cost aside, unless a ceiling forbids it."""
        if self.exceeded_by(cost) is not None:
            return False
        self.reserved = self.reserved.plus(cost)
        return True

    def settle(self, reserved: Cost, usage: Usage, key: str) -> None:
        """Replace a reserved cost by the real one; a failed attempt has no key."""
        self.reserved = self.reserved.minus(reserved)
        self.record(reserved, usage, key)
