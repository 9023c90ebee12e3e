"""How the training of a metric relates to a run: similar captions, and other training seeds.

A corruption is new to a metric only if its training drew nothing similar. Similar means: the same
flaw (`Corruption.flaw`) at a rate in the same range, whatever the corruption is called. A training
that replaced words by words of a bag has seen captions like those of "insert".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metaeval.corruptions.base import Corruption
from metaeval.results.metric import Spread, TrainingSpread
from metaeval.runs.records import DrawnCorruption, TrainingSeeds

SEEN = "seen in training"  # the same corruption, at a rate that was drawn
INSIDE = "inside the range drawn in training"  # another one, with the same flaw in as many words
NEW = "new"


def in_training(drawn: Iterable[DrawnCorruption], corruption: Corruption) -> str | None:
    """Whether a training that drew these saw captions like the corruption's.

    A corruption without a rate is compared with no range. `None` if it does not declare its flaw.
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
    statuses = {corruption.label: in_training(drawn, corruption) for corruption in corruptions}
    return {label: status for label, status in statuses.items() if status is not None}


def training_seeds(
    spreads: Iterable[TrainingSeeds],
    column: str,
    experiment: str,
    dataset: str,
    n_images: int,
    seed: int,
    corruptions: Sequence[Corruption],
) -> TrainingSpread | None:
    """The spread over training seeds that was measured on this run; `None` where none was.

    A run is identified by its experiment, data, number of images and seed, and by the names and
    parameters of its corruptions: its captions depend on nothing else.
    """
    versions = [[c.name, dict(c.parameters)] for c in corruptions]
    for spread in spreads:
        same = (spread.column, spread.experiment, spread.dataset, spread.n_images, spread.seed)
        if same == (column, experiment, dataset, n_images, seed) and versions == [
            list(version) for version in spread.versions
        ]:
            within = spread.rank_order_rho_within
            return TrainingSpread(
                seeds=tuple(spread.seeds),
                rank_order_rho=_spread(spread.rank_order_rho),
                rank_order_rho_within=None if within is None else _spread(within),
            )
    return None


def _spread(entry: Mapping[str, float]) -> Spread:
    """A card's entry, which may also contain the values of the single trainings."""
    return Spread(mean=entry["mean"], sd=entry["sd"])
