"""Fitted controls: what the best use of features that see no truth would reach.

A control with a fixed sign ("longer is better") understates what such features reach. Each control
here is a ridge regression of the truth on what can be known of the caption alone, of the references
alone, or of the image alone. A prediction is never fitted on the truth of its own image.
"""

from collections.abc import Sequence

import numpy as np

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.controls import BigramModel, Length
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import MemoryStore, Store
from metaeval.scoring import FITTED, MetricScores, score_captions
from metaeval.stats.agreement.controls import fitted_control
from metaeval.stats.resampling.items import Floats, Ints

FAMILY = "fitted"
FOLDS, PENALTY = 5, 1.0
TEXT, REFERENCES, IMAGE = FITTED
_FUNCTION_WORDS = (
    "a", "an", "the", "and", "of", "in", "on", "at", "with", "to", "is", "are", "his", "her",
    "while", "that", "there",
)  # fmt: skip


def column_of(name: str) -> ScoreColumn:
    """The score column of a fitted control."""
    return ScoreColumn(name, bounds=(-np.inf, np.inf), control=True, headline=False)


def signature(name: str) -> str:
    """The identity of a fitted control."""
    return f"{name.lower().replace(' ', '-')}|ridge:{PENALTY:g}|folds:{FOLDS}|by:image|v:3"


def fitted_row(name: str, predicted: Floats) -> MetricScores:
    """A fitted control as a row of a run, next to the metrics, with its predictions [n]."""
    return MetricScores(
        FAMILY, (column_of(name),), (signature(name),), "ok", scores=predicted[:, None]
    )


def predictions(features: Floats, target: Floats, image: Ints, seed: int) -> Floats:
    """[n] The target predicted from features, out of fold by image; NaN is a target not fitted."""
    return fitted_control(features, target, image, folds=FOLDS, penalty=PENALTY, seed=seed)


def caption_features(
    dataset: CaptionDataset, captions: Sequence[str], image: Ints, store: Store | None = None
) -> Floats:
    """[n, k] Of captions alone: their length and probability under a bigram model of the captions
    of other images, letters, variety, punctuation and function words.

    `image[i]` is the place of the image of `captions[i]` in the dataset. Where the dataset has no
    captions that a bigram model can be made of, the other features are left. Scores that are in the
    store are not computed again.
    """
    tables = [np.array([_of_words(caption) for caption in captions], dtype=np.float64)]
    for metric in (Length(), BigramModel()):
        scored = score_captions(metric, dataset, captions, image, store or MemoryStore())
        if scored.scores is not None:
            tables.append(scored.scores)
    return np.hstack(tables)


def _of_words(caption: str) -> list[float]:
    words = caption.lower().split()
    n = max(len(words), 1)
    return [
        len(caption),
        sum(map(len, words)) / n,
        len(set(words)) / n,
        caption.count(","),
        float(caption[:1].isupper()),
        float(caption.rstrip().endswith(".")),
        *(words.count(word) / n for word in _FUNCTION_WORDS),
    ]


def reference_features(references: Sequence[Sequence[str]]) -> Floats | None:
    """[n, 5] Number, lengths, variety and mutual overlap of each item's references; NaN for one
    without any, `None` where no item has any."""
    distinct = {group: _of_references(group) for group in {tuple(g) for g in references}}
    table = np.array([distinct[tuple(group)] for group in references], dtype=np.float64)
    return None if np.isnan(table).all() else table


def _of_references(references: Sequence[str]) -> list[float]:
    if not references:
        return [float("nan")] * 5
    references = sorted(references)  # sums in one order, whatever that of the references
    sets = [set(reference.lower().split()) for reference in references]
    lengths = [len(reference.split()) for reference in references]
    overlaps = [len(a & b) / max(len(a | b), 1) for k, a in enumerate(sets) for b in sets[k + 1 :]]
    return [
        len(references),
        float(np.mean(lengths)),
        float(np.std(lengths)),
        len(set().union(*sets)),
        float(np.mean(overlaps)) if overlaps else 0.0,
    ]


def image_features(dataset: CaptionDataset, image: Ints) -> Floats | None:
    """[n, 4] Number, variety and kinds of the annotated objects; NaN where none are known, `None`
    where the dataset has no objects."""
    objects = dataset.part("objects")
    if isinstance(objects, Absent):
        return None
    rows = []
    for image_id in dataset.image_ids:
        known = objects.get(image_id)
        labels = () if known is None else known.labels
        people = sum(label == "person" for label in labels)
        row = [len(labels), len(set(labels)), people, float(people > 0)]
        rows.append([float("nan")] * 4 if known is None else row)
    return np.array(rows, dtype=np.float64)[image]
