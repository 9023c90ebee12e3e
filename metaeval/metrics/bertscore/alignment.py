"""What BERTScore tells of one caption: how alike its tokens and those of each reference are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.metrics.bertscore.match import Floats, Singles

_DIGITS = 4  # of a cosine; the file has one for each pair of tokens


def explanation(
    words: Sequence[Sequence[str]],
    weights: Sequence[Floats],
    vectors: Sequence[Singles],
    scores: Floats,
) -> dict[str, Any]:
    """The payload "alignment" of `Scorer.explain`, for the report's drill-down.

    Parameters
    ----------
    words, weights, vectors
        Of the caption and then of each of its r references: k tokens, their weights [k] (0: they
        can be met, but do not count) and unit vectors [k, width].
    scores
        Precision, recall and F1 [r, 3].
    """
    references = []
    for k, (precision, recall, f1) in enumerate(scores.tolist(), start=1):
        references.append({
            "words": list(words[k]),
            "weights": weights[k].tolist(),
            "similarity": _short(vectors[0] @ vectors[k].T),
            "precision": precision,
            "recall": recall,
            "f1": f1,
        })  # fmt: skip
    return {
        "kind": "alignment",
        "words": list(words[0]),
        "weights": weights[0].tolist(),
        "references": references,
        "best": int(np.argmax(scores[:, 2])),
    }


def _short(values: npt.NDArray[np.floating[Any]]) -> list[list[float]]:
    rows: list[list[float]] = np.round(values.astype(np.float64), _DIGITS).tolist()
    return rows
