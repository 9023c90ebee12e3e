"""Reading a score in a model's answer.

A parser is declared and has a version, which is part of the metric's signature: another parser is
another metric. An answer that cannot be parsed is NaN in every column, never 0.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from metaeval.errors import ConfigError
from metaeval.runs.answers import Answer

_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)


class Parser(ABC):
    """Reads the scores in an answer.

    Class attributes
    ----------------
    name, version
        Together its identity. The version is raised when an answer would be read differently.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    @property
    def signature(self) -> str:
        """Its identity: `leading_number-1`."""
        return f"{self.name}-{self.version}"

    @property
    def aspects(self) -> tuple[str, ...]:
        """The names of several scores in one answer; empty where there is one."""
        return ()

    @abstractmethod
    def parse(self, answer: Answer) -> tuple[float, ...]:
        """One score, or one for each aspect; NaN where there is none within the scale."""

    def number(self, text: object) -> float:
        """A number within the scale; NaN for anything else."""
        if isinstance(text, bool) or not isinstance(text, str | int | float):
            return math.nan
        try:
            value = float(text)
        except (ValueError, OverflowError):
            return math.nan
        return value if self.low <= value <= self.high else math.nan


class Number(Parser):
    """The whole answer is a number: " 70". Anything else cannot be parsed."""

    name = "number"

    def parse(self, answer: Answer) -> tuple[float, ...]:
        text = answer.answer.strip()
        return (self.number(text) if re.fullmatch(_NUMBER, text) else math.nan,)


class LeadingNumber(Parser):
    """The answer begins with a number: "70/100", "80 because …"."""

    name = "leading_number"

    def parse(self, answer: Answer) -> tuple[float, ...]:
        match = re.match(rf"\s*({_NUMBER})", answer.answer)
        return (self.number(match[1]) if match else math.nan,)


class Json(Parser):
    """The first JSON object in the answer that has all fields, each a number.

    Without fields, its field "score".
    """

    name = "json"

    def __init__(self, low: float, high: float, fields: Sequence[str] = ()) -> None:
        super().__init__(low, high)
        self.fields = tuple(fields)

    @property
    def signature(self) -> str:
        return f"{super().signature}({','.join(self.fields or ('score',))})"

    @property
    def aspects(self) -> tuple[str, ...]:
        return self.fields

    def parse(self, answer: Answer) -> tuple[float, ...]:
        wanted = self.fields or ("score",)
        for text in _OBJECT.findall(answer.answer):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict) and all(name in value for name in wanted):
                return tuple(self.number(value[name]) for name in wanted)
        return (math.nan,) * len(wanted)


class Regex(Parser):
    """The first group of the first match of a regular expression is a number."""

    name = "regex"

    def __init__(self, low: float, high: float, pattern: str) -> None:
        super().__init__(low, high)
        try:
            self.pattern = re.compile(pattern)
        except re.error as error:
            raise ConfigError(f"metric.judge.pattern: {pattern!r} is not valid ({error})") from None
        if self.pattern.groups < 1:
            raise ConfigError(
                f"metric.judge.pattern: {pattern!r} has no group; put the number in parentheses: "
                r"'Score: (\d+)'"
            )

    @property
    def signature(self) -> str:
        return f"{super().signature}({self.pattern.pattern})"

    def parse(self, answer: Answer) -> tuple[float, ...]:
        match = self.pattern.search(answer.answer)
        return (self.number(match[1]) if match else math.nan,)


class Choice(Parser):
    """The answer begins with one of a few labels, each of which stands for a number.

    Case, quotation marks and emphasis around the label do not matter; "A cat" is not the label "A",
    so what follows a label is the end, a line break or a punctuation mark.
    """

    name = "choice"

    def __init__(self, low: float, high: float, choices: Mapping[str, float]) -> None:
        super().__init__(low, high)
        self.choices = {label.casefold(): float(value) for label, value in choices.items()}
        labels = "|".join(re.escape(c) for c in sorted(self.choices, key=len, reverse=True))
        self._pattern = re.compile(
            rf"[\s\"'*`(\[]*(?:(?:answer|caption)\s*:?\s*)*[\"'*`(\[]*({labels})[\"'*`)\]]*"
            r"\s*(?:$|[\n.,:;!—–-])",
            re.IGNORECASE,
        )

    @property
    def signature(self) -> str:
        values = ",".join(f"{label}={value:g}" for label, value in self.choices.items())
        return f"{super().signature}({values})"

    def parse(self, answer: Answer) -> tuple[float, ...]:
        match = self._pattern.match(answer.answer)
        return (self.choices[match[1].casefold()] if match else math.nan,)


class Expected(Parser):
    """The mean of the numbers that the model might have said, weighted by their probabilities.

    Taken at the first token that is a number of the scale; its alternatives that are numbers of the
    scale share the probability. A number of several tokens is cut after the first: use a scale
    whose numbers are one token each.
    """

    name = "expected"

    def parse(self, answer: Answer) -> tuple[float, ...]:
        if answer.logprobs is None:
            return (math.nan,)
        for position in json.loads(answer.logprobs):
            chosen = self.number(position[0][0].strip())
            if math.isnan(chosen):
                continue
            weights: dict[float, float] = {}
            for token, logprob in position[1:]:
                value = self.number(token.strip())
                if not math.isnan(value):
                    weights[value] = weights.get(value, 0.0) + math.exp(logprob)
            total = sum(weights.values())
            if not total:
                return (math.nan,)
            return (sum(value * weight for value, weight in weights.items()) / total,)
        return (math.nan,)


PARSERS: dict[str, type[Parser]] = {
    kind.name: kind for kind in (Number, LeadingNumber, Json, Regex, Choice, Expected)
}
