"""The result of `experiment=retrieval`: finding the right caption for an image, and the image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from metaeval.results.base import Estimate, Model
from metaeval.results.metric import MetricResult
from metaeval.results.run import Measure, RunResult


class RetrievalStatistics(Model):
    """How often the right one is among the first k.

    Attributes
    ----------
    n
        The images, and as many captions, that the metric could score with each other.
    image_to_text, text_to_image
        "R@1", "R@5", "R@10" → the share of images (captions) whose own caption (image) is among
        the first k, with an interval by resampling the queries. Equal scores count against the
        metric.
    """

    n: int
    image_to_text: Mapping[str, Estimate]
    text_to_image: Mapping[str, Estimate]


class RetrievalSettings(Model):
    """What the statistics depend on, besides the data."""

    replicates: int
    confidence: float
    seed: int


class RetrievalResult(RunResult[RetrievalStatistics]):
    """Every metric as a search: each image's human caption among those of all images.

    `n_images` is the number of images, and of captions.
    """

    experiment: Literal["retrieval"] = "retrieval"
    n_images: int
    settings: RetrievalSettings

    def measures(
        self, metric: MetricResult[RetrievalStatistics]
    ) -> Iterator[tuple[Measure, Estimate]]:
        """All recalls, image to text first."""
        if metric.statistics is None:
            return
        ways = {
            "image to text": metric.statistics.image_to_text,
            "text to image": metric.statistics.text_to_image,
        }
        for way, recalls in ways.items():
            for name, estimate in recalls.items():
                key = f"{way} {name}".replace(" ", "_").replace("@", "")
                yield Measure(key, f"{name}, {way}"), estimate
