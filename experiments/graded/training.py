"""What a metric's training has to do with a run: captions like the run's, and other training seeds.

A corruption is new to a metric only if its training drew nothing of the kind: not by its name, but
by what is wrong with its captions (`Corruption.flaw`) and by how much of them. Words out of the bag
at random places ("insert") were drawn by a training that replaced words out of a bag.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from corruptions.base import Corruption
from metaeval.runs.records import DrawnCorruption, TrainingSeeds

SEEN = "seen in training"  # the same corruption, at a rate that was drawn
INSIDE = "inside the range drawn in training"  # another one, with the same flaw in as many words
NEW = "new"


def in_training(drawn: Iterable[DrawnCorruption], corruption: Corruption) -> str | None:
    """Whether a training that drew these saw captions like the corruption's.

    A corruption without a rate is held against no range. `None` where it does not declare its flaw.
    """
    if corruption.flaw is None:
        return None
    rate = corruption.parameters.get("rate")
    alike = [
        each.corruption == corruption.name
        for each in drawn
        if each.flaw == corruption.flaw
        and (each.rates is None or rate is None or each.rates[0] <= rate <= each.rates[1])
    ]
    return NEW if not alike else SEEN if any(alike) else INSIDE


def versions_in_training(
    drawn: Sequence[DrawnCorruption], corruptions: Sequence[Corruption]
) -> dict[str, str]:
    """`in_training` by set of versions; empty for a metric whose training drew nothing."""
    if not drawn:
        return {}
    told = {corruption.label: in_training(drawn, corruption) for corruption in corruptions}
    return {label: status for label, status in told.items() if status is not None}


def training_seeds(
    spreads: Iterable[TrainingSeeds],
    column: str,
    experiment: str,
    dataset: str,
    n_images: int,
    seed: int,
    corruptions: Sequence[Corruption],
) -> dict[str, Any] | None:
    """The spread over training seeds that was measured on this very run, if one was.

    The run is known by its experiment, data, number of images and seed, and by its corruptions'
    names and parameters, which are all that its captions depend on.
    """
    versions = [[c.name, dict(c.parameters)] for c in corruptions]
    for spread in spreads:
        same = (spread.column, spread.experiment, spread.dataset, spread.n_images, spread.seed)
        if same == (column, experiment, dataset, n_images, seed) and versions == [
            list(version) for version in spread.versions
        ]:
            return {
                "seeds": list(spread.seeds),
                "rank_order_rho": dict(spread.rank_order_rho),
                "rank_order_rho_within": spread.rank_order_rho_within
                and dict(spread.rank_order_rho_within),
            }
    return None
