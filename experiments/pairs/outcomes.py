"""Which caption a metric prefers, pair by pair: what all statistics of `pairs` count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from metaeval.experiments.measure import Mask
from metaeval.stats.resampling.items import Floats

TRUE, PARAPHRASE, BOTH = "true > false", "paraphrase > false", "both"
_STREAM = 0x4EF1  # keeps the choice of pairs apart from the resampling under the same seed

Ties = Literal["half", "wrong"]


class PairOutcomes(NamedTuple):
    """The outcome of each pair under one comparison, float64 [n].

    Attributes
    ----------
    right
        1 where the metric scores the true caption strictly higher, otherwise 0; NaN where a caption
        has no score.
    tied
        1 where neither caption is higher.
    credit
        What the pair adds to the accuracy: 1, 0, and for a tie what the tie rule gives.
    """

    right: Floats
    tied: Floats
    credit: Floats


def comparison_outcomes(
    true: Floats, false: Floats, paraphrase: Floats | None = None, ties: Ties = "wrong"
) -> dict[str, PairOutcomes]:
    """Comparison → outcomes.

    The arguments are scores (higher is better) of the true captions, the false ones and, where the
    data has them, the true paraphrases. "both" is right where both true captions are above the
    false one, and tied where neither is below it and at least one is equal. With `ties` "half" the
    credit is the chance of being right where a coin decides every tie: 1/2, and for "both" the
    product of the two credits.
    """
    first = _compared(true - false, ties)
    if paraphrase is None:
        return {TRUE: first}
    second = _compared(paraphrase - false, ties)
    right = first.right * second.right
    tied = (first.right + first.tied) * (second.right + second.tied) - right
    both = PairOutcomes(right, tied, first.credit * second.credit)
    return {TRUE: first, PARAPHRASE: second, BOTH: both}


def _compared(gap: Floats, ties: Ties) -> PairOutcomes:
    unscored = np.isnan(gap)
    right = np.where(unscored, np.nan, gap > 0)
    tied = np.where(unscored, np.nan, gap == 0)
    return PairOutcomes(right, tied, right + tied / 2 if ties == "half" else right)


def refined(gap: Floats, kinds: Sequence[Mask], bins: int, seed: int) -> Mask:
    """Which pairs stay, [n], for a control that gives the true caption `gap` more than the false.

    `kinds` are bool [n] each.

    Notes
    -----
    Definition
        Within each kind the sizes |gap| up to the greatest are cut into equal bins. A bin and its
        mirror image (the pairs in which the control is wrong by as much) keep equally many pairs,
        as many as the smaller of the two has, drawn at random. So the control's gap contains
        no information about the truth, except for what differs within a bin. Pairs that the control
        ties stay all; those that it cannot score go.
    Source
        The adversarial refinement of C.-Y. Hsieh et al. (2023), SugarCrepe, NeurIPS: there by the
        gaps of two models at once, here by that of one control.
    """
    rng = np.random.default_rng([_STREAM, seed])
    stays: Mask = gap == 0
    for kind in kinds:
        of_kind = kind & ~np.isnan(gap) & (gap != 0)
        size = np.abs(gap)
        greatest = size[of_kind].max(initial=0)
        if not greatest:
            continue
        # (0, 1/bins], (1/bins, 2/bins], … of the greatest
        place = np.where(of_kind, np.ceil(size / greatest * bins - 1e-9), 0)
        for number in np.unique(place[of_kind]):
            there = of_kind & (place == number)
            right, wrong = np.flatnonzero(there & (gap > 0)), np.flatnonzero(there & (gap < 0))
            n = min(len(right), len(wrong))
            for side in (right, wrong):
                stays[rng.permutation(side)[:n]] = True
    return stays
