"""What all metrics that users bring have in common: columns, signatures, calls that may fail."""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import load_once
from metaeval.data import annotated_images
from metaeval.data.dataset import CaptionDataset
from metaeval.data.fields import Fields
from metaeval.data.own.score_files import Item, ScoreFiles, read_scores
from metaeval.data.own.tables import table_files
from metaeval.data.tidy import count_captions
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric, Scorer, Scores, reference_digests, split_pair
from metaeval.options import NonNegativeInt, Positive, checked
from metaeval.readers.files import user_path
from metaeval.runs.files import file_sha256, file_state
from metaeval.runs.records import ScoreColumn
from metaeval.runs.source import source_digest
from metaeval.runs.store import Store, content_digest
from metaeval.text.tokenizers import base as tokenizers
from metaeval.text.tokenizers.base import joined_tokens

log = logging.getLogger(__name__)

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0  # seconds before a call is repeated


class Calls(NamedTuple):
    """How calls are made; the fields are options of `OwnMetric`."""

    on_error: Literal["raise", "nan"]
    retries: int
    timeout: float | None

    def repeated(self, function: Callable[[], Any]) -> Any:
        """What a function returns, called again as often as allowed while it fails."""
        for attempt in range(self.retries + 1):
            try:
                return self._once(function)
            except Exception as error:
                if attempt == self.retries:
                    raise
                log.info("a call failed and is repeated", exc_info=error)
                longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt)
                time.sleep(longest * random.uniform(0.5, 1))
        raise AssertionError("the last attempt returns or raises")

    def _once(self, function: Callable[[], Any]) -> Any:
        """One call. One that takes too long goes on in a thread whose result is not used."""
        if self.timeout is None:
            return function()
        outcome: Future[Any] = Future()

        def run() -> None:
            try:
                outcome.set_result(function())
            except BaseException as error:
                outcome.set_exception(error)

        threading.Thread(target=run, daemon=True, name="call with a timeout").start()
        if not wait([outcome], self.timeout).done:
            raise TimeoutError(f"no result within {self.timeout:g} s")
        return outcome.result()


class OwnMetric(Metric):
    """A metric that computes what somebody else wrote.

    Parameters
    ----------
    name
        What tables call the score.
    columns
        The names of its scores, where there are several.
    bounds
        [lowest, highest] score; a score outside fails the metric. By default nothing is ruled out.
    higher_is_better
        Whether a better caption has the higher score.
    tokenizer
        `None`: texts as they are. "ptb" or "whitespace": tokens joined by spaces.
    options
        Keyword arguments of what is called.
    files
        Files that the score depends on, weights for instance: their contents enter the signature.
    on_error
        "raise": an exception fails the metric. "nan": the captions of the call are not scored, the
        others are, and the next run tries them again.
    retries
        How often a failed call is repeated, after growing waits.
    timeout
        Seconds after which a call counts as failed; `None` waits for ever.
    """

    @checked
    def __init__(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        bounds: Sequence[float] | None = None,
        higher_is_better: bool = True,
        tokenizer: str | None = None,
        options: Mapping[str, Any] | None = None,
        files: Sequence[str] = (),
        on_error: Literal["raise", "nan"] = "raise",
        retries: NonNegativeInt = 0,
        timeout: Positive | None = None,
    ) -> None:
        self.name = name  # type: ignore[misc]  # of this object: there may be several in a run
        self.names = tuple(columns) if columns else (name,)
        self.bounds = _bounds(bounds, name)
        self.higher_is_better = higher_is_better
        self.tokenizer = tokenizers.get(tokenizer) if tokenizer else None
        self.options = dict(options or {})
        self.files = tuple(str(file) for file in files)
        self.calls = Calls(on_error, retries, timeout)

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        return tuple(
            ScoreColumn(
                name,
                bounds=self.bounds,
                higher_is_better=self.higher_is_better,
                headline=k == len(self.names) - 1,
            )
            for k, name in enumerate(self.names)
        )

    def settings(self, code: Any, store: Store | None) -> dict[str, str]:
        """What would change a number: tokeniser, options, files, and the source of the code."""
        settings = {"tok": self.tokenizer.signature if self.tokenizer else "none"}
        if self.options:
            settings["options"] = json.dumps(self.options, sort_keys=True, default=repr)
        if len(self.names) > 1:
            settings["columns"] = ",".join(self.names)  # scores may come by their places
        if not self.higher_is_better:
            settings["better"] = "lower"
        for file in map(user_path, self.files):
            known = settings.get(file.name, "")  # of a file with this name in another folder
            settings[file.name] = f"{known}+{file_sha256(file, store)[:12]}".lstrip("+")
        kind = code if hasattr(code, "__qualname__") else type(code)
        settings["of"] = f"{kind.__module__}.{kind.__qualname__}"
        return settings


class OwnScorer(Scorer):
    """Scores the captions that can be scored, and gives the others NaN.

    Parameters
    ----------
    code
        What is called: its source enters the signatures.
    given
        What it reads besides captions: of "references", "images", "objects", "ids". A caption is
        not scored if its image has no references or no image file, and it reads them.
    """

    foreign = True
    usual_ms = None

    def __init__(
        self,
        metric: OwnMetric,
        settings: Mapping[str, str],
        dataset: CaptionDataset,
        store: Store | None,
        code: Any,
        given: frozenset[str],
    ) -> None:
        super().__init__(metric.columns, settings)
        if metric.calls.on_error == "nan":
            self.counted = {"captions whose call failed": "captions"}
        self.metric, self.dataset, self.store, self.given = metric, dataset, store, given
        if (digest := source_digest(code)) is not None:
            self.add_source(digest)

    def context(self, index: int) -> bytes:
        parts = [str(self.dataset.image_ids[index]).encode()] if "ids" in self.given else []
        if "references" in self.given:
            parts.append(reference_digests(self.dataset)[index])
        if "images" in self.given:
            parts.append(self._image_digests[index] or b"")
        if "objects" in self.given and (objects := self.objects(index)) is not None:
            parts += [content_digest(objects.labels), objects.boxes.tobytes()]
        return content_digest([part.hex() for part in parts])

    def prepare(self) -> None:
        tokenizer = self.metric.tokenizer
        self.references = [joined_tokens(tokenizer, group) for group in self.dataset.references]

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.full((len(captions), len(self.columns)), np.nan)
        self.temporary = np.zeros(len(captions), dtype=bool)
        rows = [
            k
            for k, i in enumerate(image_index.tolist())
            if ("references" not in self.given or self.dataset.references[i])
            and ("images" not in self.given or self.paths[i] is not None)
        ]
        if rows:
            texts = joined_tokens(self.metric.tokenizer, [captions[k] for k in rows])
            self._failed: list[int] = []
            scores[rows] = self.values(texts, image_index[rows])
            self.temporary[[rows[k] for k in self._failed]] = True
        return scores

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        assert self.temporary is not None
        return np.asarray(self.temporary[:, None], np.int64)[:, : len(self.counted)]

    def call(self, positions: Sequence[int], function: Callable[[], Any]) -> Scores:
        """The scores [n, columns] that a call returns for the captions at these positions.

        A call that fails is repeated as `retries` says, and then raises or gives NaN as `on_error`
        says.
        """
        n, names = len(positions), self.metric.names
        try:
            return check_returned_scores(self.metric.calls.repeated(function), n, names)
        except Exception as error:
            self.note_failure(positions, error)
            return np.full((n, len(names)), np.nan)

    def note_failure(self, positions: Sequence[int], error: Exception) -> None:
        """Remember captions whose call failed; raise the error where `on_error` is "raise"."""
        if self.metric.calls.on_error == "raise":
            raise error
        if not self._failed:
            problem = " ".join(f"{type(error).__name__}: {error}".split())
            title = self.columns[-1].name
            log.warning("%s: a call failed (%s); its captions are not scored", title, problem)
        self._failed += positions

    @abstractmethod
    def values(self, captions: list[str], image_index: npt.NDArray[np.intp]) -> Scores:
        """The scores [n, columns] of n captions that can be scored, tokenised as asked."""

    def objects(self, index: int) -> Any | None:
        """The annotated objects of an image, `None` where it has none."""
        annotated: Any = self.dataset.part("objects")
        return annotated.get(self.dataset.image_ids[index])

    @cached_property
    def paths(self) -> list[Path | None]:
        """The file of each image."""
        return annotated_images.paths_of(self.dataset)

    @cached_property
    def _image_digests(self) -> list[bytes | None]:
        return annotated_images.digests(self.paths, self.store)


def check_returned_scores(values: Any, n: int, names: Sequence[str]) -> Scores:
    """What foreign code returned for n captions as float64 [n, columns].

    Taken are a sequence, array or tensor of n numbers, one [n, columns], and a mapping from the
    columns' names to n numbers each (other keys are left out). `None` is "not scored". Raises
    TypeError or ValueError that say what came instead.
    """
    if isinstance(values, Mapping):
        if lacking := [name for name in names if name not in values]:
            there = ", ".join(map(str, values))
            raise ValueError(f"gives no '{lacking[0]}', only {there}; choose columns of these")
        return np.concatenate(
            [check_returned_scores(values[name], n, [name]) for name in names], axis=1
        )
    array = _numbers(values)
    shape = list(array.shape)
    if array.ndim == 0:
        if n != 1:
            raise TypeError(f"returned one number for {n} captions, not one for each")
        array = array[None]
    if array.ndim == 1:
        array = array[:, None]
    if array.shape != (n, len(names)):
        raise ValueError(
            f"returned numbers {shape} for {n} captions and "
            f"{len(names)} column{'s' * (len(names) != 1)} ({', '.join(names)})"
        )
    return array


def _numbers(values: Any) -> npt.NDArray[np.float64]:
    if hasattr(values, "detach"):  # a tensor, on whatever device
        values = values.detach().cpu().numpy()
    elif isinstance(values, list | tuple):
        values = [v.item() if hasattr(v, "item") and np.ndim(v) == 0 else v for v in values]
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        kind = type(values[0] if isinstance(values, list | tuple) and values else values).__name__
        raise TypeError(f"returned {kind} where numbers are expected") from None


def _bounds(bounds: Sequence[float] | None, name: str) -> tuple[float, float]:
    if bounds is None:
        return float("-inf"), float("inf")
    if len(bounds) != 2 or not bounds[0] < bounds[1]:
        raise ConfigError(f"{name}: bounds must be [lowest, highest], not {list(bounds)}")
    return float(bounds[0]), float(bounds[1])


class ScoresFileMetric(OwnMetric):
    """Looks scores up that were computed elsewhere: by a large model, on another machine.

    A score belongs to an image and the text of a caption, so that one file serves any experiment
    that has these captions (`metaeval.data.own.score_files` has the form of the files). Captions
    that the file does not have score NaN and are counted. An image that the file has with another
    folder or suffix is found where only one is meant, and its captions are counted, too.

    If the file contains the references, its scores are for exactly these. Otherwise they are for
    any references: the same caption always has the same score.

    Parameters
    ----------
    file
        A .csv, .tsv, .jsonl, .json or .parquet file, several, or a folder of them.
    columns
        Which scores; by default all.
    fields
        What the file calls `image_id`, `caption`, `references`, `system`, `metric`, `score`.
    captions
        A table from `image_id` and `system` to `caption`, where the file has no captions.
    label
        Stands behind the names of the scores in brackets, for those that metaeval computes too.
    bounds, higher_is_better
        See `OwnMetric`.
    answers
        The scale where the scores are at the beginning of a model's answers.
    """

    def __init__(
        self,
        file: str | Path | Sequence[str | Path] | None = None,
        columns: Sequence[str] | None = None,
        fields: Fields | None = None,
        captions: str | Path | None = None,
        label: str | None = None,
        bounds: Sequence[float] | None = None,
        higher_is_better: bool = True,
        answers: tuple[float, float] | None = None,
    ) -> None:
        if not file:
            raise ConfigError("give the file of scores: metric.scores.file=FILE")
        super().__init__("scores", columns, bounds, higher_is_better)
        self.file: Any = file if isinstance(file, str | Path) else tuple(file)
        self.asked = tuple(columns) if columns is not None else None
        named = {key: column for key, column in (fields or {}).items() if column is not None}
        self.fields, self.captions, self.label = named, captions, label
        self.answers = answers

    @cached_property
    def scores(self) -> ScoreFiles:
        """The contents of the files, read on first use: once for the runs of a battery."""
        states = (file_state(path) for path in self._read() if path.is_file())
        options = self.asked, self.fields, self.captions, self.answers
        return load_once(
            ("scores", self.how_read, *states), lambda: read_scores(self.file, *options)
        )

    def _read(self) -> list[Path]:
        """The files that are read."""
        others = [user_path(self.captions)] if self.captions is not None else []
        return [*table_files(self.file, "metric.scores.file"), *others]

    def contents(self) -> list[str]:
        """What the scores of a dataset follow from: how the files are read, and their digests."""
        return [self.how_read, *map(file_sha256, self._read())]

    @property
    def how_read(self) -> str:
        """A digest of the options by which a file gives other numbers."""
        captions = None if self.captions is None else Path(self.captions).name
        options = [self.asked, self.fields, captions, self.answers, self.higher_is_better]
        return content_digest([json.dumps(options, sort_keys=True)]).hex()[:8]

    @property
    def reads_systems(self) -> bool:
        """Whether systems that wrote one caption have different scores of it."""
        return bool(self.scores.of_systems)

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        behind = f" ({self.label})" if self.label else ""
        return tuple(
            ScoreColumn(name + behind, bounds=self.bounds, higher_is_better=self.higher_is_better)
            for name in self.scores.columns
        )

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> FileScorer:
        return FileScorer(self, dataset)


class FileScorer(Scorer):
    """The scores of a dataset's captions that a file has."""

    batch_size = 50_000

    def __init__(self, metric: ScoresFileMetric, dataset: CaptionDataset) -> None:
        settings = {"file": metric.scores.sha256[:12], "read": metric.how_read, "v": 3}
        super().__init__(metric.columns, settings)
        self.dataset, self.files = dataset, metric.scores
        self._ids = self.files.ids_of([str(image_id) for image_id in dataset.image_ids])
        self.counted = {
            "captions without a score in the file": "captions",
            "captions whose image has another id in the file": "captions",
            "captions with the mean of several scores in the file": "captions",
        }

    @property
    def knows_images(self) -> bool:
        """Whether the file has a score for some image of the dataset."""
        return any(image_id is not None for image_id in self._ids)

    def context(self, index: int) -> bytes:
        return content_digest([self._ids[index] or "", *self.dataset.references[index]])

    def score_caption(self, caption: str, image_index: int) -> float | tuple[float, ...]:
        """The scores of a caption, which its system may follow (`join_pair`)."""
        item = self._item(caption, image_index)
        return np.nan if item is None else self.files.of(item, split_pair(caption)[1])

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        counts = []
        for text, i in zip(captions, image_index.tolist(), strict=True):
            item, system = self._item(text, i), split_pair(text)[1]
            of_system = (item, system or "") in self.files.of_systems
            is_mean = item in self.files.averaged and not of_system
            moved = item is not None and self._ids[i] != str(self.dataset.image_ids[i])
            counts.append((item is None, moved, is_mean))
        return np.array(counts, dtype=np.int64).reshape(len(captions), len(self.counted))

    def why_unscored(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> tuple[str, str]:
        """Which half does not match (image, caption or references), with both sides of one."""
        by_image: dict[str, dict[str, tuple[str, ...] | None]] = {}
        for image, caption, references in self.files.scores:
            by_image.setdefault(image, {})[caption] = references
        examples: dict[str, list[tuple[object, object]]] = {
            "image_id": [],
            "caption": [],
            "references": [],
        }
        for text, i in zip(captions, image_index.tolist(), strict=True):
            image, caption = self._ids[i], split_pair(text)[0]
            if image is None:
                examples["image_id"].append((self.dataset.image_ids[i], next(iter(by_image))))
            elif caption not in by_image[image]:
                examples["caption"].append((caption, next(iter(by_image[image]))))
            elif self._item(caption, i) is None:
                sides = list(self.dataset.references[i]), list(by_image[image][caption] or ())
                examples["references"].append(sides)
        if not (unmatched := {half: found for half, found in examples.items() if found}):
            return "", ""
        counts = ", ".join(f"{len(found):,} by {half}" for half, found in unmatched.items())
        n = sum(map(len, unmatched.values()))
        half, found = next(iter(unmatched.items()))
        ours, theirs = found[0]
        return (
            f"{self.files.name}: no record is of {count_captions(n)} ({counts}), for example "
            f"{half} {ours!r:.80} in the dataset, {theirs!r:.80} in the file",
            "write image_id and caption as the run with metrics=[] exports them",
        )

    def _item(self, text: str, index: int) -> Item | None:
        """The record of the file that a caption has its scores of."""
        image = self._ids[index]
        if image is None:
            return None
        return self.files.item(image, split_pair(text)[0], self.dataset.references[index])
