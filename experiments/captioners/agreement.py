"""How metrics agree on captioners' captions, and on which images they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from metaeval.stats.ordering.agreement import answers, kendall_matrix
from metaeval.stats.ordering.disagreement import disagreement
from metaeval.stats.resampling.bootstrap import Counts, percentile_interval
from metaeval.stats.resampling.items import Floats


class Voice(NamedTuple):
    """A score that orders systems or captions.

    `values` is float64 [systems, cases]: a caption of each image, or a replicate's score.
    """

    name: str
    part_of: str | None
    higher: bool
    values: Floats
    family: str = ""

    @property
    def upward(self) -> Floats:
        """The values, more being better."""
        return self.values if self.higher else -self.values


def agreement(
    whole: Sequence[Voice],
    points: Mapping[str, Sequence[float]],
    sentences: Sequence[Voice],
    counts: Counts,
    confidence: float,
) -> dict[str, Any]:
    """Kendall's τ-b between all metrics (components left out) in three ways; see docs/models.md.

    Parameters
    ----------
    whole, points
        The scores of systems in each bootstrap replicate, and the scores themselves by name.
    sentences
        The scores of captions.
    counts
        [replicates, images], the same as those of the replicates in `whole`.
    """
    whole = [voice for voice in whole if voice.part_of is None]
    sentences = [voice for voice in sentences if voice.part_of is None]
    if not sentences:
        return {}
    systems = np.array([[[x] for x in points[v.name]] for v in whole])
    signs = np.array([1.0 if voice.higher else -1.0 for voice in whole])
    drawn = answers(np.array([voice.upward for voice in whole])).tau_of_each()
    within = answers(np.array([voice.upward for voice in sentences]))
    return {
        "systems": {
            "metrics": [voice.name for voice in whole],
            "n_systems": systems.shape[1],
            "tau_b": answers(systems * signs[:, None, None]).tau(),
            "tau_b_ci": _intervals(drawn, confidence),
        },
        "within_image": {
            "metrics": [voice.name for voice in sentences],
            "n_images": sentences[0].values.shape[1],
            "tau_b": within.tau(),
            "tau_b_ci": _intervals(within.tau_resampled(counts), confidence),
        },
        "captions": {
            "metrics": [voice.name for voice in sentences],
            "tau_b": kendall_matrix([voice.upward for voice in sentences]),
        },
    }


def disagreements(
    sentences: Sequence[Voice], images: pd.Index[Any]
) -> tuple[dict[str, Any], pd.DataFrame]:
    """The metrics' disagreement per image: what votes in it, its mean, and the table of all images.

    Each metric has one vote: of BLEU the last order (BLEU-4), of others the first column.
    """
    votes: dict[str, Voice] = {}
    for voice in sentences:
        if voice.part_of is None and (voice.family not in votes or voice.family == "bleu"):
            votes[voice.family] = voice
    values = np.full(len(images), np.nan)
    if votes:
        values = disagreement(np.array([voice.upward for voice in votes.values()]))
    defined = values[~np.isnan(values)]
    told = {
        "votes": [voice.name for voice in votes.values()],
        "n_images": len(defined),
        "mean": float(defined.mean()) if len(defined) else float("nan"),
    }
    return told, pd.DataFrame({"image_id": images, "disagreement": values})


def _intervals(replicates: Floats, confidence: float) -> list[list[list[float]]]:
    """[m, m] intervals from [m, m, replicates]."""
    return [[percentile_interval(cell, confidence) for cell in row] for row in replicates]
