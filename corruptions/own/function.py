"""A function as a corruption: `corruption=callable corruption.function=module.name`; mixtures."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal

import numpy as np

from metaeval.corruptions.base import SEVERITIES, Caption, Corrupted, Corruption
from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.data.fields import rename_fields
from metaeval.data.identity import image_key
from metaeval.data.own.tables import read_table
from metaeval.data.rows import Row
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError
from metaeval.options import Rate, checked
from metaeval.readers.files import user_path
from metaeval.readers.tables import check_name, read_number
from metaeval.runs.records import Edit
from metaeval.runs.source import imported


class FunctionCorruption(Corruption, name="callable"):
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

    def __init__(self, parts: Sequence[Corruption], rate: float | None = None) -> None:
        if len(parts) < 2:
            raise ConfigError("corruption.parts: a mixture is of two corruptions or more")
        self.parts, self.rate = tuple(parts), rate
        self.needs = frozenset(need for part in parts for need in part.needs)
        declared = [part.severity for part in parts if part.severity is not None]
        if len(declared) == len(parts):
            self.severity = max(declared, key=SEVERITIES.index)
        self.title = " + ".join(part.title for part in parts)  # type: ignore[misc]
        lower = any(part.expected == "lower" for part in parts)
        self.expected = "lower" if lower else "same"  # type: ignore[misc]

    @property
    def parameters(self) -> Mapping[str, object]:
        return {"parts": [[part.name, dict(part.parameters)] for part in self.parts]}

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        raise NotImplementedError("a mixture applies its parts to a whole dataset")

    def apply(self, dataset: CaptionDataset, seed: int) -> list[Corrupted]:
        texts = list(dataset.human)
        for part in self.parts:
            part.fit(dataset)
            texts = [made.text for made in part.corrupt_all(dataset, texts, seed)]
        return [
            difference(source, text, self.rate)
            for source, text in zip(dataset.human, texts, strict=True)
        ]

    def facts(self) -> Mapping[str, object]:
        return {key: value for part in self.parts for key, value in part.facts().items()}


EXPECTED = ("lower", "same")
_RESERVED = ("human",)  # the set of the uncorrupted captions


class FileCorruption(Corruption, name="file"):
    """One version of the captions, read from a file.

    Parameters
    ----------
    title
        The version's name.
    captions
        Image id, as `image_key` compares it → caption. An image without one keeps its own: not
        applied.
    expected
        What it should do to a score: "lower" or "same".
    """

    def __init__(self, title: str, captions: Mapping[str, str], expected: str = "lower") -> None:
        self.title = title  # type: ignore[misc]  # of this object: a file has several
        self.expected = expected  # type: ignore[assignment, misc]
        self._captions = dict(captions)
        self._missing = 0

    @property
    def parameters(self) -> Mapping[str, object]:
        return {"version": self.title}

    def fit(self, dataset: CaptionDataset) -> None:
        self._missing = sum(not self.has_caption(i) for i in dataset.image_ids)
        if self._missing == len(dataset):
            first = next(iter(self._captions), "none")
            raise ConfigError(
                f"corruption.file: '{self.title}' has no caption of any image of {dataset.name} "
                f"(its ids are like '{first}', the dataset's like '{dataset.image_ids[0]}')"
            )

    def has_caption(self, image_id: ImageId) -> bool:
        return image_key(image_id) in self._captions

    def facts(self) -> Mapping[str, object]:
        return {f"images_without_a_caption_in_{self.title}": self._missing}

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        text = self._captions.get(image_key(caption.image_id), caption.text)
        return difference(caption.text, text, None)


def read_corruptions(file: str | Path | None = None) -> list[Corruption]:
    """The versions in a table of `image_id`, `caption` and, where there are several, `set`.

    `set` is the version's name and `level` its place in the right order, 0 = worst; without any
    level it is the order in which they come. `expected` is "lower" (by default) or "same". Raises
    InputError, naming the record, where it is not so, for two sets with one level, where some sets
    have a level and others have none, and for a set with the name of the uncorrupted captions.
    """
    if file is None:
        raise ConfigError(
            "corruption.file is not set; corruption.file=FILE is a table of corrupted captions"
        )
    path = user_path(file)
    table, tidy = read_table(path), Tidy()
    renamed = rename_fields(
        table.rows, None, ("image_id", "caption"), path, [], ("set", "level", "expected"), option=""
    )
    captions: dict[str, dict[str, str]] = {}
    levels: dict[str, float] = {}
    expected: dict[str, str] = {}
    for where, fields in renamed:
        row = Row(fields, path, where, tidy)
        name = _set_name(row)
        of_set = captions.setdefault(name, {})
        image = row.id()
        key = image_key(image)
        if key in of_set:
            raise row.error(f"'{name}' has another caption of the image '{image}'")
        of_set[key] = row.caption("caption")
        given = fields.get("level")
        if given not in (None, "") and given == given:
            level = read_number(given, path, where, "level")
            if levels.setdefault(name, level) != level:
                raise row.error(f"'{name}' has two levels", "level")
        effect = str(fields.get("expected") or "lower")
        if effect not in EXPECTED:
            raise row.error(f"'{effect:.40}' is not lower or same", "expected")
        if expected.setdefault(name, effect) != effect:
            raise row.error(f"'{name}' is lower and same", "expected")
    if missing := [name for name in captions if levels and name not in levels]:
        problem = f"the set '{missing[0]}' has none, '{next(iter(levels))}' has; number every set"
        raise InputError(problem, file=path, field="level")
    _require_distinct(levels, path)
    worst_first = sorted(captions, key=lambda name: levels.get(name, 0.0))
    return [FileCorruption(name, captions[name], expected[name]) for name in worst_first]


def _set_name(row: Row) -> str:
    """The name of a record's set; that of the file where the record has none."""
    value = row.fields.get("set")
    if value is None or value == "":
        value = row.path.stem
    elif type(value) is int:
        value = str(value)
    name = check_name(value, file=row.path, record=row.where, field="set")
    if name.casefold() in _RESERVED:
        problem = f"'{name}' is the name of the uncorrupted captions; give the set another name"
        raise row.error(problem, "set")
    return name


def _require_distinct(levels: Mapping[str, float], path: Path) -> None:
    by_level: dict[float, str] = {}
    for name, level in levels.items():
        if (other := by_level.setdefault(level, name)) != name:
            problem = f"the sets '{other}' and '{name}' both have level {level:g}; number them"
            raise InputError(problem, file=path, field="level")
