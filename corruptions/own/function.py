"""A function as a corruption: `corruption=callable corruption.function=module.name`; mixtures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

import numpy as np

from metaeval.corruptions.base import SEVERITIES, Caption, Corrupted, Corruption
from metaeval.errors import ConfigError
from metaeval.options import Rate, checked
from metaeval.runs.records import Edit
from metaeval.runs.source import imported


class FunctionCorruption(Corruption):
    """What a function `f(caption, rng)` or `f(caption, rng, rate)` makes of a caption.

    It is given the text and the caption's own `numpy.random.Generator`, its only source of
    randomness, and returns the text. Where it returns the text as it was, nothing was applied; the
    edits are what differs, word by word.

    Parameters
    ----------
    function
        "my_module.corrupt", found in the current folder or installed; or the function itself.
    rate
        The share of words to change, in (0, 1], of a function that has a parameter `rate`.
    title
        What a reader calls it; by default the function's name.
    expected
        What it should do to a score: "lower" or "same".
    """

    name = "callable"

    @checked
    def __init__(
        self,
        function: str | Callable[..., str] | None = None,
        rate: Rate | None = None,
        title: str | None = None,
        expected: Literal["lower", "same"] = "lower",
    ) -> None:
        option = "corruption.function"
        if function is None:
            raise ConfigError(f"give the function: {option}=my_module.corrupt")
        self.function = imported(function, option) if isinstance(function, str) else function
        if not callable(self.function):
            raise ConfigError(f"{option}: '{function}' is {type(self.function).__name__}")
        called = getattr(self.function, "__name__", "callable")
        has_rate = "rate" in inspect.signature(self.function).parameters
        if has_rate and rate is None:
            raise ConfigError(f"{called} has a rate: give corruption.rates=[0.25,0.5]")
        if not has_rate and rate is not None:
            raise ConfigError(f"{called} has no parameter 'rate': leave out corruption.rates")
        self.rate, self.title = rate, title or called  # type: ignore[misc]  # of this object
        self.expected = expected  # type: ignore[misc]

    @property
    def parameters(self) -> Mapping[str, object]:
        return {"function": self.title, **({} if self.rate is None else {"rate": self.rate})}

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        given = {} if self.rate is None else {"rate": self.rate}
        text = self.function(caption.text, rng, **given)
        if not isinstance(text, str):
            raise ConfigError(
                f"{self.title} returned {type(text).__name__} for {caption.text!r:.60}, not a text"
            )
        return difference(caption.text, " ".join(text.split()), self.rate)


def difference(source: str, text: str, requested: float | None) -> Corrupted:
    """A corrupted text, with the words by which it differs from its source."""
    before, after = source.split(), text.split()
    if before == after:
        return Corrupted(source, False, (), requested, 0.0)
    edits: list[Edit] = []
    changed = 0
    for kind, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            edits.append(Edit(i, " ".join(before[i:j]), " ".join(after[k:m])))
            changed += max(j - i, m - k)
    realised = min(1.0, changed / max(1, len(before)))
    return Corrupted(text, True, tuple(edits), requested, realised)


class Mixture(Corruption):
    """Several corruptions of one caption, one after another.

    Each has the generator that it would have alone, and changes the output of those before it.

    Parameters
    ----------
    parts
        The corruptions, in their order.
    rate
        The share of words that those with a rate change, for the label.
    """

    name = "mixture"

    def __init__(self, parts: Sequence[Corruption], rate: float | None = None) -> None:
        if len(parts) < 2:
            raise ConfigError("corruption.parts: a mixture is of two corruptions or more")
        self.parts, self.rate = tuple(parts), rate
        self.needs = frozenset(need for part in parts for need in part.needs)
        declared = [part.severity for part in parts if part.severity is not None]
        if len(declared) == len(parts):
            self.severity = max(declared, key=SEVERITIES.index)
        self.title = " + ".join(part.title for part in parts)  # type: ignore[misc]
        if any(part.expected == "lower" for part in parts):
            self.expected = "lower"  # type: ignore[misc]
        else:
            self.expected = "same"  # type: ignore[misc]

    @property
    def parameters(self) -> Mapping[str, object]:
        return {"parts": [[part.name, dict(part.parameters)] for part in self.parts]}

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        raise NotImplementedError("a mixture applies its parts to a whole dataset")

    def apply(self, dataset: Any, seed: int) -> list[Corrupted]:
        graphs: Any = dataset.part("scene_graphs") if "scene_graphs" in self.needs else {}
        texts = list(dataset.human)
        for part in self.parts:
            part.fit(dataset)
            texts = [
                part.corrupt(Caption(i, text, graphs.get(i)), part.generator(seed, i)).text
                for i, text in zip(dataset.image_ids, texts, strict=True)
            ]
        return [
            difference(source, text, self.rate)
            for source, text in zip(dataset.human, texts, strict=True)
        ]

    def facts(self) -> Mapping[str, object]:
        return {key: value for part in self.parts for key, value in part.facts().items()}
