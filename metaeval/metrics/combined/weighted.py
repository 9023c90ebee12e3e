"""A weighted sum of metrics that was fitted to people's choices: `combined.json` of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric
from metaeval.metrics.combined.mean import Mean, MeanScorer
from metaeval.options import checked
from metaeval.readers.files import user_path
from metaeval.readers.yaml_text import read_declared
from metaeval.results.base import Model
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store

FREE = float("-inf"), float("inf")


class WeightedPart(Model):
    """One column of a combination; a score counts weight / scale.

    Attributes
    ----------
    of
        The metric in the configuration and its column: "vifidel/VIFIDEL-ref".
    signature
        Of the column where it was fitted; `None` where the weights are somebody else's.
    low, high
        The interval of the weight.
    """

    of: str
    weight: float
    scale: Annotated[float, Field(gt=0)] = 1.0
    signature: str | None = None
    low: float | None = None
    high: float | None = None


class Combination(Model):
    """`combined.json`.

    Attributes
    ----------
    title
        What tables call it.
    method
        How the weights were fitted.
    learned_from
        The runs by whose choices.
    images
        A digest of each image of them, from `image_digest`.
    """

    title: str
    method: str
    parts: Annotated[tuple[WeightedPart, ...], Field(min_length=1)]
    learned_from: tuple[str, ...] = ()
    images: tuple[str, ...] = ()


def image_name(image: object) -> str:
    """COCO's id without zeros and endings; of another image the file's name without its ending.

    >>> image_name("COCO_val2014_000000000974.jpg"), image_name("a/2008_1.jpg")
    ('974', '2008_1')
    """
    stem = str(image).rpartition("/")[2].partition(".")[0]
    if stem.startswith("COCO_"):
        stem = stem.rpartition("_")[2]
    return (stem.lstrip("0") or "0") if stem.isdigit() else stem


def image_digest(dataset: str, image: object) -> str:
    """What stands for an image in `combined.json`; `dataset` is "" of published photographs, whose
    names are the same in every dataset."""
    return hashlib.sha256(f"{dataset}\0{image_name(image)}".encode()).hexdigest()[:16]


def read_combination(file: str | None) -> Combination:
    """Read `combined.json`, which YAML's reader reads. Raises InputError, naming the field, and
    ConfigError without a file."""
    if not file:
        raise ConfigError("give the weights: metric.combined.file=combined.json")
    return read_declared(user_path(file), Combination)


class Combined(Mean):
    """The sum of weight / scale · score over the parts of a file.

    Parameters
    ----------
    file
        `combined.json` of a run of experiment=combine, or written by hand.
    parts
        The metrics, given by the reader of the configuration.
    """

    @checked
    def __init__(self, file: str | None = None, parts: Sequence[Metric] = ()) -> None:
        self.combination = read_combination(file)
        names = [part.of for part in self.combination.parts]
        super().__init__(names, title=self.combination.title, name="combined", parts=parts)
        self.weights = [part.weight / part.scale for part in self.combination.parts]
        self.over = 1

    def _bounds(self, chosen: Sequence[ScoreColumn]) -> tuple[float, float]:
        return FREE

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> MeanScorer | Absent:
        learned = set(self.combination.images)
        sources = dataset.image_source or (None,) * len(dataset)
        n = sum(
            image_digest(dataset.name, i) in learned
            or (source is not None and image_digest("", source.rpartition(":")[2]) in learned)
            for i, source in zip(dataset.image_ids, sources, strict=True)
        )
        if n:
            return Absent(
                "images",
                f"its weights were fitted to choices about {n:,} of these images",
                "fit them without: leave that run out of task.runs",
            )
        return super().bind(dataset, store)
