"""What a judge may spend: a ceiling on calls, tokens and money that is never exceeded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from typing_extensions import TypedDict

from metaeval.errors import MetaevalError
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


class BudgetReached(MetaevalError):
    """The next request might exceed the budget."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.remedy = remedy


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


@dataclass
class Ledger:
    """Spends a budget: a request's greatest possible cost is reserved before it is sent."""

    budget: Budget
    price: Price | None
    spent: Cost = field(default_factory=Cost)
    reserved: Cost = field(default_factory=Cost)
    _counted: set[str] = field(default_factory=set)

    def record(self, answer: Answer) -> None:
        """Count an answer that was paid for earlier; each one once."""
        if answer.key not in self._counted:
            self._counted.add(answer.key)
            self.spent = self.spent.plus(cost_of(answer))

    def exceeded_by(self, cost: Cost) -> str | None:
        """The ceiling that this cost would exceed: "budget.calls=100"."""
        total = self.spent.plus(self.reserved).plus(cost)
        values = {
            "calls": total.calls, "tokens": total.input + total.output,
            "usd": total.usd(self.price) or 0.0,
        }  # fmt: skip
        for name, value in values.items():
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

    def settle(self, reserved: Cost, answer: Answer | None) -> None:
        """Replace a reserved cost by the real one; a failed attempt counts as a call."""
        self.reserved = self.reserved.minus(reserved)
        if answer is None:
            self.spent = self.spent.plus(Cost(1))
        else:
            self.record(answer)


def cost_of(answer: Answer) -> Cost:
    """What an answer has cost."""
    return Cost(1, answer.prompt_tokens or 0, answer.completion_tokens or 0)
