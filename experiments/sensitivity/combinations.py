"""Which two metrics notice most together: chosen on one half of the images, measured on the other.

A combination is one that a user can compute without knowing which caption is which: the sum of
z-scores, or the minimum of ranks, with means, deviations and ranks of the first half.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from omegaconf import DictConfig, OmegaConf

from metaeval import installation
from metaeval.corruptions.base import KINDS, SEVERITIES, Corruption
from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.graded.task import configured
from metaeval.experiments.measure import ResampledValue
from metaeval.options import unknown
from metaeval.results.base import Estimate
from metaeval.results.run import CorruptionInfo
from metaeval.stats.ordering.detection import drawn_sums, won
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts
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


def of_images(value: float, replicates: Floats, n: int) -> ResampledValue:
    """A mean over so many images, with its replicates."""
    return ResampledValue(value, replicates, n, n)


class MeanAuc:
    """Means of AUC over sets and kinds, with whole images resampled.

    `table` is float64 [n_images, 1 + n_sets], the human captions first, higher is better. A set
    without a score in a replicate is left out of its kind there.
    """

    def __init__(self, table: Floats, counts: Counts, confidence: float) -> None:
        wins = won(table[:, [0]] - table[:, 1:])
        known = ~np.isnan(wins)
        values = np.where(known, wins, 0.0)
        sums, sizes = drawn_sums([values, known], counts)
        self._n = known
        self._confidence = confidence
        with np.errstate(invalid="ignore", divide="ignore"):
            self._point = values.sum(axis=0) / known.sum(axis=0)
            self._replicates = sums / sizes

    def over_kinds(self, groups: Iterable[Sequence[int]]) -> Estimate:
        """The mean over kinds of the mean over the sets of each."""
        return self.replicated(groups).estimate(self._confidence)

    def replicated(self, groups: Iterable[Sequence[int]]) -> ResampledValue:
        """The same with its replicates."""
        places = [list(group) for group in groups]
        if not places:
            return of_images(np.nan, np.full(len(self._replicates), np.nan), 0)
        point = _mean_of([_mean_of(self._point[None, g], 1) for g in places], 0)
        replicates = _mean_of([_mean_of(self._replicates[:, g], 1) for g in places], 0)
        n = int(self._n[:, [k for g in places for k in g]].any(axis=1).sum())
        return of_images(float(point[0]), replicates, n)


def _mean_of(values: object, axis: int) -> Floats:
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
    per_kind = []
    for milder in by_kind(sets, places).values():
        total, n = np.zeros(len(table)), np.zeros(len(table))
        for k in milder:
            worse = [j for j in places if rank[sets[j].severity] > rank[sets[k].severity]]
            if worse:
                wins = won(table[:, [k + 1]] - table[:, [j + 1 for j in worse]])
                total += np.nansum(wins, axis=1)
                n += (~np.isnan(wins)).sum(axis=1)
        with np.errstate(invalid="ignore"):
            per_kind.append(total / n)
    return _mean_of(per_kind, 0) if per_kind else np.full(len(table), np.nan)


def mean_of_images(values: Floats, counts: Counts, confidence: float) -> Estimate:
    """The mean of values in [0, 1] over images, NaN left out, with its interval."""
    return replicated_mean(values, counts).estimate(confidence)


def replicated_mean(values: Floats, counts: Counts) -> ResampledValue:
    """The mean of values in [0, 1] over images, NaN left out, with its replicates."""
    known = ~np.isnan(values)
    if not known.any():
        return of_images(np.nan, np.full(len(counts), np.nan), 0)
    whole = np.rint(np.where(known, values, 0.0) * 2**20) / 2**20  # so that drawn sums are exact
    total, n = drawn_sums([whole[:, None], known[:, None]], counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        replicates = (total / n)[:, 0]
    return of_images(float(whole[known].mean()), replicates, int(known.sum()))


def severities(sets: Sets) -> list[str]:
    """The severities of the sets that harm, mildest first."""
    present = {sets[k].severity for k in summarised(sets) if sets[k].expected == "lower"}
    return [severity for severity in SEVERITIES if severity in present]


Images = npt.NDArray[np.intp]
_STREAM = 0x7067  # separates the halves from other uses of the same seed
Rule = Literal["alone", "sum of z-scores", "minimum of ranks"]
RULES: tuple[Rule, ...] = ("sum of z-scores", "minimum of ranks")


class _Candidate(NamedTuple):
    columns: tuple[str, ...]
    rule: Rule


class Combination(NamedTuple):
    """One metric, or two columns combined by a rule that needs no knowledge of the answer.

    Attributes
    ----------
    columns
        One name or two.
    rule
        How they are combined, by means and ranks of the first half of images.
    chosen_on, held_out
        Mean AUC over the kinds that harm on the first half, by which it was chosen, and on the
        second.
    """

    columns: tuple[str, ...]
    rule: Rule
    chosen_on: float
    held_out: Estimate

    @property
    def name(self) -> str:
        """ "CIDEr + Length (sum of z-scores)", or the name of a metric alone."""
        if len(self.columns) == 1:
            return self.columns[0]
        return f"{' + '.join(self.columns)} ({self.rule})"


class Together(NamedTuple):
    """The best combination of two metrics, chosen on one half of the images.

    Attributes
    ----------
    metrics, single, with_control
        The best of two metrics, of one metric, and of a metric with a control.
    over_single, over_control
        What the two metrics have on the other half above each of these.
    """

    metrics: Combination
    single: Combination
    with_control: Combination | None
    over_single: Estimate
    over_control: Estimate | None


def together(
    tables: Mapping[str, Floats],
    metrics: Sequence[str],
    controls: Sequence[str],
    sets: Sets,
    *,
    seed: int,
    replicates: int,
    confidence: float,
) -> Together | None:
    """The best two metrics against the best single metric and the best metric with a control.

    All three are chosen by their mean AUC over the kinds that harm on a random half of the images;
    what is compared is that mean on the other half, with intervals by resampling its images.
    `None` with fewer than two metrics, fewer than four images, or without sets that harm.
    """
    places = [k for k in summarised(sets) if sets[k].expected == "lower"]
    groups = list(by_kind(sets, places).values())
    n_images = len(next(iter(tables.values()), ()))
    if len(metrics) < 2 or n_images < 4 or not groups:
        return None
    order = np.random.default_rng([_STREAM, seed]).permutation(n_images)
    first, second = order[: n_images // 2], order[n_images // 2 :]
    prepared = {name: _Prepared(tables[name], first) for name in (*metrics, *controls)}
    weights = bootstrap_counts(len(second), replicates, seed)

    def mean_auc(candidate: _Candidate, images: Images, counts: Counts) -> ResampledValue:
        table = _combined(prepared, candidate)[images]
        return (
            MeanAuc(table, counts, confidence)
            .replicated(groups)
            ._replace(n_units=len(images), n=len(images))
        )

    def best(candidates: Iterable[_Candidate]) -> tuple[Combination, ResampledValue]:
        values = [(c, mean_auc(c, first, weights[:0, : len(first)]).value) for c in candidates]
        chosen, value = max(values, key=lambda pair: (not np.isnan(pair[1]), pair[1]))
        held_out = mean_auc(chosen, second, weights)
        return Combination(*chosen, value, held_out.estimate(confidence)), held_out

    def above(one: ResampledValue, other: ResampledValue) -> Estimate:
        value, drawn = one.value - other.value, one.replicates - other.replicates
        return of_images(value, drawn, len(second)).estimate(confidence)

    pair, of_pair = best(
        _Candidate(two, rule) for two in combinations(metrics, 2) for rule in RULES
    )
    single, of_single = best(_Candidate((metric,), "alone") for metric in metrics)
    control, over_control = None, None
    if controls:
        mixed = product(product(metrics, controls), RULES)
        control, of_control = best(_Candidate(two, rule) for two, rule in mixed)
        over_control = above(of_pair, of_control)
    return Together(pair, single, control, above(of_pair, of_single), over_control)


class _Prepared:
    """A column's scores as z-scores and as ranks in [0, 1], by the scores of the given images."""

    def __init__(self, table: Floats, images: Images) -> None:
        reference = table[images]
        known = np.sort(reference[~np.isnan(reference)])
        self.plain = table
        spread = float(known.std()) if len(known) else 0.0
        mean = float(known.mean()) if len(known) else 0.0
        self.z: Floats = (table - mean) / (spread or 1.0)
        left = np.searchsorted(known, table, side="left")
        right = np.searchsorted(known, table, side="right")
        self.rank: Floats = np.where(
            np.isnan(table), np.nan, (left + right) / (2 * max(1, len(known)))
        )


def _combined(prepared: Mapping[str, _Prepared], candidate: _Candidate) -> Floats:
    columns = [prepared[name] for name in candidate.columns]
    if candidate.rule == "alone":
        return columns[0].plain
    if candidate.rule == "sum of z-scores":
        return columns[0].z + columns[1].z
    return np.minimum(columns[0].rank, columns[1].rank)


OWN = ("callable", "file", "mixture")
TRUTH = "truth"  # the kind of corruptions that know the scene


def corruption_kind(corruption: Corruption) -> str:
    """The group of a corruption; "truth" of those that know the scene."""
    return corruption.kind or TRUTH


def corruption_names() -> list[str]:
    """The values of `corruption=`, except those that need a file of the user."""
    folder = installation.conf() / "corruption"
    return sorted(file.stem for file in folder.glob("*.yaml") if file.stem not in OWN)


def suite(dataset: CaptionDataset, chosen: Sequence[str] | str = "all") -> list[Corruption]:
    """The chosen corruptions that are possible on the dataset, by kind, mildest levels first.

    `chosen` is "all", names of files in conf/corruption, or kinds ("objects"). Raises ConfigError
    for a name that is neither.
    """
    wanted = [chosen] if isinstance(chosen, str) else list(chosen)
    known, kinds = corruption_names(), (*KINDS, TRUTH)
    for name in wanted:
        if name not in (*known, *kinds, "all"):
            raise unknown("task.corruptions", "corruption", name, ["all", *kinds, *known])
    made: list[Corruption] = []
    for name in known:
        for corruption in reversed(configured(_node(name))):
            picked = {"all", name, corruption_kind(corruption)} & set(wanted)
            if picked and corruption.missing(dataset) is None:
                made.append(corruption)
    return sorted(made, key=lambda c: kinds.index(corruption_kind(c)))


def _node(name: str) -> DictConfig:
    return cast(DictConfig, OmegaConf.load(installation.conf() / "corruption" / f"{name}.yaml"))
