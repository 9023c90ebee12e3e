"""The result of `experiment=sample_size`: the order of the metrics by the number of images."""

from __future__ import annotations

from metaeval.results.base import Estimate, Model, Number
from metaeval.results.graded import GradedResult


class NeighbourPair(Model):
    """Two metrics that are neighbours in the order of all images.

    Attributes
    ----------
    better, worse
        Their names; `better` is first in the order of all images.
    difference
        Of ρ within an image, better minus worse, with a 95 % interval over images.
    sd
        Standard deviation of the difference over images.
    images_for_power
        The images that a paired test needs for the power of the run, by the formula: at the
        difference, at the end of its interval that is nearest to 0 (`high`) and at the other
        (`low`). `None` where the number is undefined: where the interval contains 0, no number of
        images can be given.
    images_observed
        The least number of images from which on the test was significant in that share of the
        samples; `None` where it was not with the images at hand.
    images_same_sign
        The least number from which on the pair had this order in the share `stable` of the samples.
    same_sign, significant, predicted
        For each size: the share of samples with this order, the share with a significant test, and
        the power by the formula.
    """

    better: str
    worse: str
    difference: Estimate
    sd: Number
    images_for_power: Estimate
    images_observed: Number
    images_same_sign: Number
    same_sign: tuple[float, ...]
    significant: tuple[float, ...]
    predicted: tuple[float, ...]


class OrderStabilityResult(Model):
    """How the order of the metrics by ρ within an image depends on the number of images.

    Attributes
    ----------
    n_images
        Images that every metric could score.
    sizes, draws
        The sizes of the samples, and the samples of each size.
    stable, power, alpha
        The share of samples from which on an order counts as stable, and power and level of the
        test of two neighbours.
    order
        The metrics, best first, on all images.
    same_order
        For each size the share of samples with the whole order.
    tau
        For each size the mean Kendall τ between the order of a sample and that of all images.
    images_stable
        The least size from which on that share is at least `stable`; `None` if there is none.
    neighbours
        One entry for each pair of neighbours.
    """

    n_images: int
    sizes: tuple[int, ...]
    draws: int
    stable: float
    power: float
    alpha: float
    order: tuple[str, ...]
    same_order: tuple[float, ...]
    tau: tuple[Number, ...]
    images_stable: Number
    neighbours: tuple[NeighbourPair, ...]


class SampleSizeResult(GradedResult):
    """A result of graded corruption, and the order of its metrics by the number of images.

    `sample_size` is `None` with fewer than two metrics.
    """

    sample_size: OrderStabilityResult | None = None
