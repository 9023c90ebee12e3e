"""The fitted controls of judged captions: regressions of the mean rating on what sees no truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from omegaconf import DictConfig

from metaeval.data.judgments.judged import Judgments
from metaeval.experiments.fitted import (
    IMAGE,
    REFERENCES,
    TEXT,
    caption_features,
    image_features,
    predictions,
    reference_features,
)
from metaeval.experiments.judgments.sample import image_numbers
from metaeval.experiments.scores import open_store
from metaeval.runs.store import Store
from metaeval.stats.resampling.items import Floats


class FittedControls(NamedTuple):
    """`features`: control → [n, k]. `predicted`: dimension → control → mean rating [n]."""

    features: Mapping[str, Floats]
    predicted: Mapping[str, Mapping[str, Floats]]

    def columns(self) -> list[tuple[str, Floats]]:
        """The predictions under the names that they have in scores.parquet."""
        several = len(self.predicted) > 1
        return [
            (f"{control} ({dimension})" if several else control, values)
            for dimension, of in self.predicted.items()
            for control, values in of.items()
        ]


def fitted_controls(
    judged: Judgments, which: bool | Literal["text"], config: DictConfig
) -> FittedControls:
    """The controls of the text, the references and the image; of the text alone, or none."""
    features: Mapping[str, Floats] = {}
    if which:
        with open_store(config) as store:
            features = features_of(judged, store, text_alone=which == "text")
    image = image_numbers(judged)
    predicted = {
        name: {
            control: predictions(of, judged.means(name), image, config.stats.seed)
            for control, of in features.items()
        }
        for name in judged.dimensions
    }
    return FittedControls(features, predicted)


def features_of(
    judged: Judgments, store: Store, *, text_alone: bool = False
) -> Mapping[str, Floats]:
    """Fitted control → features [n, k]: of the caption, its references, the annotated objects.

    A control whose features no caption has is left out. NaN where one caption's are missing.
    """
    captions = [j.candidate for j in judged.judged]
    of_text = {TEXT: caption_features(judged.dataset, captions, judged.image_index, store)}
    if text_alone:
        return of_text
    features = {
        **of_text,
        REFERENCES: reference_features([j.references or () for j in judged.judged]),
        IMAGE: image_features(judged.dataset, judged.image_index),
    }
    return {name: table for name, table in features.items() if table is not None}
