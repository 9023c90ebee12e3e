"""METEOR's score from its sufficient statistics (Denkowski and Lavie, 2014, section 2).

The aligner says, for a candidate and the best of its references, how many words there are, how
many of them matched at each stage, and in how many chunks. The rest is arithmetic.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

STATISTICS = 23
STAGES = ("exact", "stem", "synonym", "paraphrase")
# the statistics of a caption in the jar's order
NAMES = (
    *("words", "reference-words", "function-words", "reference-function-words"),
    *(
        f"{stage}-{part}"
        for stage in STAGES
        for part in ("content", "reference-content", "function", "reference-function")
    ),
    *("chunks", "matches", "reference-matches"),
)


class Parameters(NamedTuple):
    """The parameters of METEOR 1.5 for a language, tuned for ranking; `weights` are what a match at
    each of the `STAGES` counts, 0 where the stage has no data in the package."""

    alpha: float
    beta: float
    gamma: float
    delta: float
    weights: tuple[float, float, float, float]


ENGLISH = Parameters(0.85, 0.2, 0.6, 0.75, (1.0, 0.6, 0.8, 0.6))
# the jar's, of the languages that it can normalise and stem
PARAMETERS = {
    "en": ENGLISH,
    "de": Parameters(0.95, 1.0, 0.55, 0.55, (1.0, 0.8, 0.0, 0.0)),
    "es": Parameters(0.65, 1.3, 0.5, 0.8, (1.0, 0.8, 0.0, 0.0)),
    "fr": Parameters(0.9, 1.4, 0.6, 0.65, (1.0, 0.2, 0.0, 0.0)),
    "ru": Parameters(0.75, 1.4, 0.7, 0.5, (1.0, 0.5, 0.0, 0.0)),
}


def scores(
    statistics: npt.NDArray[np.float64], parameters: Parameters = ENGLISH
) -> npt.NDArray[np.float64]:
    """METEOR of n candidates from their statistics, in [0, 1].

    Parameters
    ----------
    statistics
        [n, 23], in the order of meteor-1.5.jar: words of the candidate, of the reference; function
        words of the candidate, of the reference; per stage (exact, stem, synonym, paraphrase) the
        matched content words of the candidate and the reference, then their matched function
        words; chunks; all matched words of the candidate, of the reference.

    Returns
    -------
    [n]. Without any match, and for an empty candidate or reference, 0.
    """
    alpha, beta, gamma, delta, weights = parameters
    stages = statistics[:, 4:20].reshape(-1, len(STAGES), 4)
    candidate, reference = (
        _matched(stages[:, :, side], stages[:, :, side + 2], delta, weights)
        / _weighted(statistics[:, side] - statistics[:, side + 2], statistics[:, side + 2], delta)
        for side in (0, 1)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        f_mean = 1 / ((1 - alpha) / candidate + alpha / reference)
        fragmentation = statistics[:, 20] / ((statistics[:, 21] + statistics[:, 22]) / 2)
    fragmentation[_unbroken(statistics)] = 0
    # Python's own power: NumPy's may round by the place that a number has in its array
    penalty = gamma * np.array([x**beta for x in fragmentation.tolist()]).reshape(-1)
    return np.maximum(np.nan_to_num(f_mean * (1 - penalty), nan=0.0), 0.0)


def make_summable(statistics: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The statistics in the form in which they add up over captions, [n, 23].

    The jar's aggregate, a corpus score, is the score of the sums; but a caption that matches its
    reference wholly, in one chunk, adds no chunk. On its own it scores the same either way.
    """
    summands = statistics.copy()
    summands[_unbroken(statistics), 20] = 0
    return summands


def _unbroken(statistics: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Whether all words of candidate and reference match, in one chunk: no penalty then."""
    matched = statistics[:, 4:20].reshape(-1, len(STAGES), 4).sum(axis=1)
    whole = matched[:, :2] + matched[:, 2:] == statistics[:, :2]
    unbroken: npt.NDArray[np.bool_] = whole.all(axis=1) & (statistics[:, 20] == 1)
    return unbroken


def _weighted(
    content: npt.NDArray[np.float64], function: npt.NDArray[np.float64], delta: float
) -> npt.NDArray[np.float64]:
    total = delta * content + (1 - delta) * function
    return np.where(total > 0, total, np.nan)  # no words, no precision


def _matched(
    content: npt.NDArray[np.float64],
    function: npt.NDArray[np.float64],
    delta: float,
    weights: tuple[float, float, float, float],
) -> npt.NDArray[np.float64]:
    """Σ over stages of weight · (δ · content + (1 - δ) · function); both [n, 4]."""
    each = np.array(weights) * (delta * content + (1 - delta) * function)
    return each[:, 0] + each[:, 1] + each[:, 2] + each[:, 3]  # in one order, whatever n is
