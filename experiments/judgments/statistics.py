"""How well metrics agree with people: the records of a judgement run's `statistics.json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from omegaconf import DictConfig

from experiments.controls import beside_control, best_of, is_ranked
from metaeval.data.judgments.judged import HUMAN, Judgments
from metaeval.progress import progress_bar
from metaeval.scoring import Scored
from metaeval.stats.correlation.correlations import (
    NAMES,
    Correlations,
    WeightedCorrelations,
    correlations,
)
from metaeval.stats.ordering.tie_calibration import pair_outcomes, pairs_within, tie_calibration
from metaeval.stats.ordering.ties import ties
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts, percentile_interval
from metaeval.stats.resampling.items import Floats
from metaeval.stats.resampling.means import resampled_sums
from metaeval.stats.significance.holm import holm
from metaeval.stats.significance.paired_bootstrap import (
    Paired,
    difference_of,
    paired_bootstrap,
)
from metaeval.stats.significance.paired_permutation import perm_both, swap_units
from metaeval.stats.significance.williams import williams_test

TESTS = ("permutation", "bootstrap", "williams")


class RankedScores(NamedTuple):
    """One score of a metric that ran: its name and its scores [n], more is better."""

    name: str
    scores: Floats


class View(NamedTuple):
    """A part of the judged captions that has numbers of its own: "without Human", "8k"."""

    name: str
    captions: npt.NDArray[np.bool_]


class Ratings(NamedTuple):
    """What people said in one dimension, as the correlations need it.

    `row` [rows] is the caption of each row, `value` [rows] its rating; `mean` [n] the mean rating
    of each caption; `image` [n] the number of each caption's image.
    """

    row: npt.NDArray[np.intp]
    value: Floats
    mean: Floats
    image: npt.NDArray[np.int64]
    n_images: int


def statistics(
    judged: Judgments,
    scored: Sequence[Scored],
    config: DictConfig,
    permutations: int,
    swap: str,
    alpha: float,
) -> dict[str, Any]:
    """Everything in `statistics.json` but its head: `metrics`, `systems`, `differences` …

    Parameters
    ----------
    permutations, swap
        How many arrangements of the permutation test, and what it swaps ("both", "image",
        "system"; see `swap_units`).
    alpha
        The level at which a metric is above a control.
    """
    images = sorted({j.image for j in judged.judged})
    number = {image: k for k, image in enumerate(images)}
    image = np.array([number[j.image] for j in judged.judged], dtype=np.int64)
    counts = bootstrap_counts(len(images), config.stats.replicates, config.stats.seed)
    systems = sorted({j.system for j in judged.judged if j.system is not None})
    views = views_of(judged)
    bare = np.array([not j.references for j in judged.judged], dtype=np.bool_)
    units = swap_units([j.system or "" for j in judged.judged], image, swap)
    if swap == "both" and not systems:  # without systems, every judged caption is on its own
        units = np.arange(len(image))
    records = [s.record(c).as_dict() for s in scored for c in range(len(s.columns))]
    columns = [
        RankedScores(c.name, values if c.higher_is_better else -values)
        for s in scored
        if s.scores is not None
        for c, values in zip(s.columns, s.scores.T, strict=True)
    ]
    ratings = {}
    for name in judged.dimensions:
        row, value = judged.rows(name)
        ratings[name] = Ratings(row, value, judged.means(name), image, len(images))
    by_name = {record["metric"]: record for record in records}
    replicates: dict[tuple[str, str], Correlations] = {}
    with progress_bar(total=len(columns) * len(ratings), desc="intervals") as bar:
        for column in columns:
            record = by_name[column.name]
            record["n"] = int((~np.isnan(column.scores)).sum())
            record["n_nan"] = int(np.isnan(column.scores).sum())
            record["n_nan_without_references"] = int((np.isnan(column.scores) & bare).sum())
            record["ties"] = ties(column.scores).pairs
            record["human"] = {}
            for name, given in ratings.items():
                segment, resampled = _segment(column, given, counts, config.stats.confidence)
                replicates[name, column.name] = resampled
                if len(systems) > 1:
                    segment["system"] = _system(
                        column, given, [j.system for j in judged.judged], systems, counts,
                        config.stats.confidence,
                    )  # fmt: skip
                segment["views"] = {
                    view.name: _of_view(
                        column, given, view, counts, judged.protocol.statistic,
                        config.stats.confidence,
                    )
                    for view in views
                }  # fmt: skip
                record["human"][name] = segment
                bar.update()
    compared = [c for c in columns if is_ranked(by_name[c.name]) and _varies(c)]
    for name, given in ratings.items():
        common = _on_common_rows(compared, given, judged.protocol.statistic)
        for column in compared:
            by_name[column.name]["human"][name]["common"] = common.get(column.name)
    differences = {
        name: _differences(
            compared, given, units, counts,
            {c.name: replicates[name, c.name] for c in compared},
            judged.protocol.statistic, permutations, config,
        )
        for name, given in ratings.items()
    }  # fmt: skip
    blind = [c for c in columns if by_name[c.name]["control"] and _varies(c)]
    controls = {
        name: _against_controls(
            compared, blind, given, counts, {c.name: replicates[name, c.name] for c in columns},
            judged.protocol.statistic, config.stats.confidence, alpha,
        )
        for name, given in ratings.items()
    }  # fmt: skip
    return {
        "metrics": records,
        "controls": controls,
        "systems": systems,
        "views": {view.name: int(view.captions.sum()) for view in views},
        "people": {name: people_agreement(judged, name) for name in judged.dimensions},
        "differences": differences,
    }


def views_of(judged: Judgments) -> list[View]:
    """The parts that have numbers of their own: without people's captions, and each subset."""
    views = []
    human = np.array([j.system == HUMAN for j in judged.judged], dtype=np.bool_)
    if human.any() and not human.all():
        views.append(View(f"without {HUMAN}", ~human))
    subsets = list(dict.fromkeys(j.subset for j in judged.judged if j.subset is not None))
    if len(subsets) > 1:
        views += [
            View(subset, np.array([j.subset == subset for j in judged.judged], dtype=np.bool_))
            for subset in subsets
        ]
    return views


def people_agreement(judged: Judgments, dimension: str) -> dict[str, Any] | None:
    """How far a person agrees with the others who rated the same captions: a metric's ceiling.

    Each rater in turn is taken for a metric: the protocol's statistic of that rater's ratings with
    the ratings of all others (each a row, or their mean, as the protocol has it), averaged over the
    raters. The k-th rating of a caption counts as the k-th rater's. `None` unless all rated
    captions have the same number of ratings, at least two.
    """
    given = [j.human[dimension] for j in judged.judged if j.human.get(dimension)]
    n = len(given[0]) if given else 0
    if n < 2 or any(len(ratings) != n for ratings in given):
        return None
    table = np.array(given)
    values = []
    for rater in range(n):
        others = np.delete(table, rater, axis=1)
        if judged.protocol.ratings == "mean":
            pair = table[:, rater], others.mean(axis=1)
        else:
            pair = np.repeat(table[:, rater], n - 1), others.reshape(-1)
        values.append(correlations(*pair)[judged.protocol.statistic])
    return {"value": float(np.mean(values)), "raters": n, "captions": len(given)}


def _of_view(
    column: RankedScores,
    given: Ratings,
    view: View,
    counts: Counts,
    statistic: str,
    confidence: float,
) -> dict[str, Any]:
    """The correlations on a part of the captions, the protocol's with its interval."""
    rows = view.captions[given.row]
    x, y, unit = column.scores[given.row[rows]], given.value[rows], given.image[given.row[rows]]
    weighted = WeightedCorrelations(x, y, unit, given.n_images, names=(statistic,))
    interval = percentile_interval(getattr(weighted.of(counts), statistic), confidence)
    return {"n": int((~np.isnan(x)).sum()), **correlations(x, y), f"{statistic}_ci": interval}


def _on_common_rows(
    columns: Sequence[RankedScores], given: Ratings, statistic: str
) -> dict[str, dict[str, Any]]:
    """The statistic on the rows that all metrics could score: column → n, value.

    Empty where the metrics scored the same rows anyway. A metric that scored fewer than half of the
    rows takes no part: the others are not to be judged by what it left.
    """
    scored = {c.name: ~np.isnan(c.scores[given.row]) for c in columns}
    taking_part = [c for c in columns if 2 * scored[c.name].sum() >= len(given.row)]
    if not taking_part or len({scored[c.name].tobytes() for c in taking_part}) < 2:
        return {}
    rows = np.logical_and.reduce([scored[c.name] for c in taking_part])
    return {
        c.name: {
            "n": int(rows.sum()),
            "value": correlations(c.scores[given.row[rows]], given.value[rows])[statistic],
        }
        for c in taking_part
    }


def _varies(column: RankedScores) -> bool:
    there = column.scores[~np.isnan(column.scores)]
    return len(there) > 1 and bool((there != there[0]).any())


def _segment(
    column: RankedScores, given: Ratings, counts: Counts, confidence: float
) -> tuple[dict[str, Any], Correlations]:
    """Correlations over rows and accuracy within images, with intervals; and the replicates."""
    x, unit = column.scores[given.row], given.image[given.row]
    weighted = WeightedCorrelations(x, given.value, unit, given.n_images)
    resampled = weighted.of(counts)
    segment: dict[str, Any] = {"n": int((~np.isnan(x)).sum())}
    for name, value in correlations(x, given.value).items():
        segment[name] = value
        segment[f"{name}_ci"] = percentile_interval(getattr(resampled, name), confidence)
    calibrated = tie_calibration(column.scores, given.mean, given.image)
    segment["accuracy"] = {
        "value": calibrated.accuracy,
        "ci": _accuracy_interval(column, given, calibrated.epsilon, counts, confidence),
        "epsilon": calibrated.epsilon,
        "uncalibrated": calibrated.uncalibrated,
        "tied": _share_tied(column, given, calibrated.epsilon),
        "n_pairs": calibrated.n_pairs,
        "n_images": calibrated.n_groups,
    }
    return segment, resampled


def _share_tied(column: RankedScores, given: Ratings, epsilon: float) -> float:
    """The share of pairs of captions of one image that ε makes ties; NaN without pairs."""
    distance = pairs_within(column.scores, given.mean, given.image).distance
    return float((distance <= epsilon).mean()) if len(distance) else float("nan")


def _accuracy_interval(
    column: RankedScores, given: Ratings, epsilon: float, counts: Counts, confidence: float
) -> list[float]:
    """Images resampled, ε as it is."""
    pairs = pairs_within(column.scores, given.mean, given.image)
    # `pairs_within` numbers the images from 0 in ascending order, as `given.image` does
    right, total = pair_outcomes(pairs, epsilon, given.n_images)
    held = total > 0
    if not held.any():
        return [float("nan"), float("nan")]
    shares = np.where(held, right / np.maximum(total, 1), 0.0)
    sums = resampled_sums(np.stack([shares, held.astype(np.float64)], axis=1), counts)
    with np.errstate(invalid="ignore"):
        means = sums[:, 0] / sums[:, 1]
    return percentile_interval(means, confidence)


def _system(
    column: RankedScores,
    given: Ratings,
    system: Sequence[str | None],
    systems: Sequence[str],
    counts: Counts,
    confidence: float,
) -> dict[str, Any]:
    """Agreement over systems: their mean scores against their mean ratings."""
    there = ~(np.isnan(column.scores) | np.isnan(given.mean))
    tables = np.zeros((3, given.n_images, len(systems)))  # Σ score, Σ rating, captions
    place = {name: k for k, name in enumerate(systems)}
    for j in np.flatnonzero(there).tolist():
        name = system[j]
        if name is not None:
            tables[:, given.image[j], place[name]] += column.scores[j], given.mean[j], 1
    metric, human = _system_means(tables, np.ones((1, given.n_images), dtype=np.int8))
    point = _system_agreement(metric, human)
    resampled = _system_agreement(*_system_means(tables, counts))
    return {
        "means": {
            name: {"score": float(metric[0, k]), "human": float(human[0, k])}
            for name, k in place.items()
        },
        **{
            key: value
            for name in point
            for key, value in (
                (name, float(point[name][0])),
                (f"{name}_ci", percentile_interval(resampled[name], confidence)),
            )
        },
    }


def _system_means(tables: Floats, counts: Counts) -> tuple[Floats, Floats]:
    """Mean score and mean rating [r, systems] from tables [3, images, systems]."""
    three, images, systems = tables.shape
    flat = tables.transpose(1, 0, 2).reshape(images, three * systems)
    score, human, n = resampled_sums(flat, counts).reshape(-1, three, systems).transpose(1, 0, 2)
    with np.errstate(invalid="ignore"):
        return score / n, human / n


def _system_agreement(metric: Floats, human: Floats) -> dict[str, Floats]:
    """Pearson, τ-b and pairwise accuracy over systems, [r] each, from means [r, systems].

    Pairwise accuracy (Kocmi et al. 2021): the share of pairs of systems that metric and people put
    in the same order.
    """
    x, y = (v - v.mean(axis=1, keepdims=True) for v in (metric, human))
    first, second = np.triu_indices(metric.shape[1], 1)
    a = np.sign(metric[:, first] - metric[:, second])
    b = np.sign(human[:, first] - human[:, second])
    with np.errstate(invalid="ignore", divide="ignore"):
        pearson = (x * y).sum(axis=1) / np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
        tau = (a * b).sum(axis=1) / np.sqrt((a != 0).sum(axis=1) * (b != 0).sum(axis=1))
    undefined = np.isnan(a).any(axis=1) | np.isnan(b).any(axis=1)
    accuracy = np.where(undefined, np.nan, (a == b).mean(axis=1))
    return {"pearson": pearson, "kendall_tau_b": tau, "accuracy": accuracy}


def _differences(
    columns: Sequence[RankedScores],
    given: Ratings,
    units: npt.NDArray[np.int64],
    counts: Counts,
    replicates: dict[str, Correlations],
    statistic: str,
    permutations: int,
    config: DictConfig,
) -> dict[str, Any]:
    """Every pair of metrics, by three tests, each with Holm's correction over all pairs."""
    assert statistic in NAMES
    pairs: list[dict[str, Any]] = []
    n = len(columns)
    with progress_bar(total=n * (n - 1) // 2, desc="differences") as bar:
        for i, a in enumerate(columns):
            for b in columns[i + 1 :]:
                pairs.append(
                    _pair(a, b, given, units, counts, replicates, statistic, permutations, config)
                )
                bar.update()
    for test in TESTS:
        adjusted = holm([pair[test]["p"] for pair in pairs])
        for pair, p in zip(pairs, adjusted, strict=True):
            pair[test]["p_holm"] = float(p)
    return {"statistic": statistic, "pairs": pairs}


def _against_controls(
    ranked: Sequence[RankedScores],
    controls: Sequence[RankedScores],
    given: Ratings,
    counts: Counts,
    replicates: dict[str, Correlations],
    statistic: str,
    confidence: float,
    alpha: float,
) -> dict[str, Any] | None:
    """The best control in one dimension, and the metrics that surely agree better with people: by
    the paired bootstrap over images, with Holm's correction over the metrics.

    `None` without controls or metrics.
    """
    if not ranked or not controls:
        return None

    def agreement(column: RankedScores, beside: RankedScores) -> float:
        """On the rows that both could score."""
        x = np.where(np.isnan(beside.scores), np.nan, column.scores)[given.row]
        return correlations(x, given.value)[statistic]

    values = {c.name: agreement(c, c) for c in (*ranked, *controls)}
    best = best_of(values, [c.name for c in controls])
    control = next(c for c in controls if c.name == best)
    resampled = [
        _resampled(
            metric, control, agreement(metric, control) - agreement(control, metric), given, counts,
            replicates, statistic, confidence,
        )
        for metric in ranked
    ]  # fmt: skip
    adjusted = holm([r.p_two_sided for r in resampled])
    above = [
        metric.name
        for metric, r, p in zip(ranked, resampled, adjusted, strict=True)
        if r.difference > 0 and p <= alpha
    ]
    return beside_control(values, [c.name for c in ranked], best, above)


def _resampled(
    a: RankedScores,
    b: RankedScores,
    difference: float,
    given: Ratings,
    counts: Counts,
    replicates: dict[str, Correlations],
    statistic: str,
    confidence: float,
) -> Paired:
    """The paired bootstrap of two columns whose observed difference is known."""
    if (np.isnan(a.scores) == np.isnan(b.scores)).all():
        first, second = (getattr(replicates[c.name], statistic) for c in (a, b))
        return difference_of(difference, 0.0, first, second, confidence)
    # captions that one of the two cannot score are left out of both
    return paired_bootstrap(
        a.scores[given.row], b.scores[given.row], given.value, given.image[given.row],
        statistic=statistic, counts=counts[:, np.unique(given.image[given.row])],
        confidence=confidence,
    )  # fmt: skip


def _pair(
    a: RankedScores,
    b: RankedScores,
    given: Ratings,
    units: npt.NDArray[np.int64],
    counts: Counts,
    replicates: dict[str, Correlations],
    statistic: str,
    permutations: int,
    config: DictConfig,
) -> dict[str, Any]:
    x, y = a.scores[given.row], b.scores[given.row]
    seed, confidence = config.stats.seed, config.stats.confidence
    permuted = perm_both(
        x, y, given.value, units[given.row], statistic=statistic, replicates=permutations, seed=seed
    )
    bootstrapped = _resampled(
        a, b, permuted.difference, given, counts, replicates, statistic, confidence
    )
    williams = williams_test(a.scores, b.scores, given.mean)
    return {
        "a": a.name,
        "b": b.name,
        "difference": permuted.difference,
        "permutation": {"p": permuted.p_two_sided, "p_greater": permuted.p_greater},
        "bootstrap": {
            "p": bootstrapped.p_two_sided,
            "p_greater": bootstrapped.p_greater,
            "ci": [bootstrapped.low, bootstrapped.high],
        },
        "williams": {
            "p": williams.p_two_sided,
            "p_greater": williams.p_greater,
            "t": williams.t,
            "df": williams.df,
        },
    }
