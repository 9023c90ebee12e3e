"""The changes that a profile is of, and means over their kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
from omegaconf import DictConfig, OmegaConf

from metaeval import installation
from metaeval.corruptions.base import KINDS, SEVERITIES, Corruption
from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.graded.task import configured
from metaeval.experiments.measure import ResampledValue, once_each
from metaeval.options import unknown
from metaeval.results.run import CorruptionInfo
from metaeval.stats.ordering.detection import drawn_sums, won
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.items import Floats

Sets = Sequence[CorruptionInfo]


def summarised(sets: Sets) -> list[int]:
    """The places of the sets that summaries count: no experimental ones, and not without images."""
    return [k for k, entry in enumerate(sets) if entry.n_applied and not entry.experimental]


def by_kind(sets: Sets, places: Iterable[int]) -> dict[str, list[int]]:
    """Kind → its places, in order."""
    groups: dict[str, list[int]] = {}
    for k in places:
        groups.setdefault(sets[k].kind, []).append(k)
    return groups


class MeanAuc:
    """Means of AUC over sets and kinds, with whole images resampled; each table once.

    A table is float64 [n_images, 1 + n_sets], the human captions first, higher is better. A set
    without a score in a replicate is left out of its kind there.
    """

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self._by_set = once_each(self._of_sets)

    def of(self, table: Floats, kinds: Iterable[Sequence[int]]) -> ResampledValue:
        """The mean over kinds of the mean over the sets of each."""
        known, point, replicates = self._by_set(table)
        places = [list(kind) for kind in kinds]
        if not places:
            return ResampledValue(np.nan, np.full(len(replicates), np.nan), 0, 0)
        mean = mean_without_nan([mean_without_nan(point[g], 0) for g in places], 0)
        drawn = mean_without_nan([mean_without_nan(replicates[:, g], 1) for g in places], 0)
        n = int(known[:, [k for g in places for k in g]].any(axis=1).sum())
        return ResampledValue(float(mean), drawn, n, n)

    def _of_sets(self, table: Floats) -> tuple[npt.NDArray[np.bool_], Floats, Floats]:
        """Which images have a score, the AUC, and its replicates: of each set."""
        wins = won(table[:, [0]] - table[:, 1:])
        known = ~np.isnan(wins)
        values = np.where(known, wins, 0.0)
        sums, sizes = drawn_sums([values, known], self.counts)
        with np.errstate(invalid="ignore", divide="ignore"):
            return known, values.sum(axis=0) / known.sum(axis=0), sums / sizes


def mean_without_nan(values: object, axis: int) -> Floats:
    """The mean without NaN; NaN where all are."""
    table = np.asarray(values, np.float64)
    known = ~np.isnan(table)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = np.where(known, table, 0.0).sum(axis=axis) / known.sum(axis=axis)
    return means


def severity_order(table: Floats, sets: Sets) -> Floats:
    """[n_images] How often the milder of two changes that harm has the higher score, equal scores
    one half; NaN without a pair.

    Pairs are of the same image and of different severity. Per image and kind of the milder change
    the mean over pairs; then the mean over kinds.
    """
    places = [k for k in summarised(sets) if sets[k].expected == "lower" and sets[k].severity]
    rank: dict[str | None, int] = {severity: r for r, severity in enumerate(SEVERITIES)}
    per_kind = [np.full(len(table), np.nan)]
    for milder in by_kind(sets, places).values():
        worse = {
            k: [j for j in places if rank[sets[j].severity] > rank[sets[k].severity]]
            for k in milder
        }
        gaps = [table[:, [k + 1]] - table[:, [j + 1 for j in of_k]] for k, of_k in worse.items()]
        per_kind.append(mean_without_nan(won(np.hstack(gaps)), 1))
    return mean_without_nan(per_kind, 0)


def replicated_mean(values: Floats, counts: Counts) -> ResampledValue:
    """The mean of values in [0, 1] over images, NaN left out, with its replicates."""
    known = ~np.isnan(values)
    n = int(known.sum())
    whole = np.rint(np.where(known, values, 0.0) * 2**20) / 2**20  # so that drawn sums are exact
    total, size = drawn_sums([whole[:, None], known[:, None]], counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        replicates = (total / size)[:, 0]
    return ResampledValue(float(whole[known].mean()) if n else np.nan, replicates, n, n)


def severities(sets: Sets) -> list[str]:
    """The severities of the sets that harm, mildest first."""
    present = {sets[k].severity for k in summarised(sets) if sets[k].expected == "lower"}
    return [severity for severity in SEVERITIES if severity in present]


OWN = ("callable", "file", "mixture")
TRUTH = "truth"  # the kind of corruptions that know the scene


def corruption_kind(corruption: Corruption) -> str:
    """The group of a corruption; "truth" of those that know the scene."""
    return corruption.kind or TRUTH


def suite(dataset: CaptionDataset, chosen: Sequence[str] | str = "all") -> list[Corruption]:
    """The chosen corruptions that are possible on the dataset, by kind, mildest levels first.

    `chosen` is "all", names of files in conf/corruption, or kinds ("objects"). Raises ConfigError
    for a name that is neither.
    """
    wanted = [chosen] if isinstance(chosen, str) else list(chosen)
    folder, kinds = installation.conf() / "corruption", (*KINDS, TRUTH)
    known = sorted(file.stem for file in folder.glob("*.yaml") if file.stem not in OWN)
    for name in wanted:
        if name not in (*known, *kinds, "all"):
            raise unknown("task.corruptions", "corruption", name, ["all", *kinds, *known])
    made: list[Corruption] = []
    for name in known:
        node = cast(DictConfig, OmegaConf.load(folder / f"{name}.yaml"))
        for corruption in reversed(configured(node)):
            picked = {"all", name, corruption_kind(corruption)} & set(wanted)
            if picked and corruption.missing(dataset) is None:
                made.append(corruption)
    return sorted(made, key=lambda c: kinds.index(corruption_kind(c)))
