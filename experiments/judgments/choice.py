"""Forced choice between two captions (PASCAL-50S): how often does a metric choose as people do?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from experiments.base import ToScore
from experiments.controls import against_controls, is_ranked
from experiments.judgments.files import write_score_columns
from experiments.judgments.published import published_choice
from experiments.scores import score_all
from metaeval.data.judgments.pascal50s import CATEGORIES, VOTES, ForcedChoice
from metaeval.metrics.base import Metric
from metaeval.scoring import Scored
from metaeval.stats.resampling.bootstrap import bootstrap_counts, percentile_interval
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.holm import holm
from metaeval.stats.significance.paired_bootstrap import bootstrap_of_means
from metaeval.stats.significance.paired_permutation import permutation_of_means

ALL = "mean"  # the mean over the categories
TESTS = ("permutation", "bootstrap")


@dataclass(frozen=True, slots=True)
class ChoiceScores:
    """What became of the metrics (in the first draw), and how often each column chose rightly.

    `outcomes` is column → [pairs] for each number of references: 1 where the metric prefers the
    caption that most people preferred, 0 where it prefers the other, and 1/2 where metric or people
    are undecided: what random tie-breaking gives on average. Averaged over the draws of references.
    """

    results: list[Scored]
    outcomes: dict[str, list[Floats]]


def score_choices(
    pairs: ForcedChoice, metrics: Sequence[Metric], config: DictConfig, out: Path
) -> ChoiceScores:
    """Score every pair with so many references in so many draws, and write scores.parquet."""
    keys = pairs.documents(1, 0, 0).image_ids
    captions = pd.DataFrame({"image_id": [*keys, *keys], "caption": [*pairs.first, *pairs.second]})
    people = np.sign(pairs.votes[:, 0] - pairs.votes[:, 1])
    outcomes: dict[str, list[Floats]] = {}
    first: list[Scored] = []
    asked, parts = list(metrics), []
    drawn: dict[str, list[int]] = {"n_references": [], "draw": []}
    for n_references in pairs.n_references:
        draws = 1 if n_references == VOTES else pairs.draws
        sums: dict[str, Floats] = {}
        for draw in range(draws):
            documents = pairs.documents(n_references, draw, config.seed)
            results = score_all(asked, documents, captions, config)
            if not first:  # what does not run now would not with other references
                first = results
                asked = [m for m, s in zip(asked, results, strict=True) if s.status == "ok"]
            else:
                first = _with_another_draw(first, results)
            for scored in results:
                if scored.scores is None:
                    continue
                for column, values in zip(scored.columns, scored.scores.T, strict=True):
                    upward = values if column.higher_is_better else -values
                    gap = upward[: len(pairs)] - upward[len(pairs) :]
                    right = _agreement(gap, people, pairs.ties)
                    sums[column.name] = sums.get(column.name, np.zeros(len(pairs))) + right / draws
                    # first captions, then second ones
                    parts.append((column.name, values))
                    drawn["n_references"].append(n_references)
                    drawn["draw"].append(draw)
        for name, outcome in sums.items():
            outcomes.setdefault(name, []).append(outcome)
    write_score_columns(out, "candidate", parts, **drawn)
    return ChoiceScores(first, outcomes)


def pairs_to_score(pairs: ForcedChoice, seed: int) -> Iterator[ToScore]:
    """Both captions of every pair, against the references of each number and draw."""
    for n_references in pairs.n_references:
        for draw in range(1 if n_references == VOTES else pairs.draws):
            documents = pairs.documents(n_references, draw, seed)
            keys = documents.image_ids
            yield ToScore(documents, [*keys, *keys], [*pairs.first, *pairs.second])


def _with_another_draw(total: Sequence[Scored], draw: Sequence[Scored]) -> list[Scored]:
    """What became of the metrics, with the time and the counts of one more draw of references."""
    more = {scored.family: scored for scored in draw}
    return [
        scored
        if (other := more.get(scored.family)) is None
        else replace(
            scored,
            status=other.status,
            reason=other.reason,
            remedy=other.remedy,
            n_scored=scored.n_scored + other.n_scored,
            n_cached=scored.n_cached + other.n_cached,
            seconds=scored.seconds + other.seconds,
        )
        for scored in total
    ]


def choice_records(
    pairs: ForcedChoice, scores: ChoiceScores, config: DictConfig
) -> list[dict[str, Any]]:
    """A record a column, with its accuracies by category and number of references."""
    outcomes = scores.outcomes
    image = np.unique(pairs.image, return_inverse=True)[1].reshape(-1)
    counts = bootstrap_counts(int(image.max()) + 1, config.stats.replicates, config.stats.seed)
    records = []
    for scored in scores.results:
        for c, column in enumerate(scored.columns):
            choice = [
                {
                    "n_references": n,
                    "draws": 1 if n == VOTES else pairs.draws,
                    "accuracy": _accuracies(outcome, pairs, image, counts, config.stats.confidence),
                }
                for n, outcome in zip(
                    pairs.n_references, outcomes.get(column.name, []), strict=False
                )
            ]
            records.append(scored.record(c, choice=choice).as_dict())
    return records


def choice_statistics(
    pairs: ForcedChoice,
    scores: ChoiceScores,
    config: DictConfig,
    permutations: int,
    alpha: float,
) -> dict[str, Any]:
    """Accuracies by category and number of references, and the tests between metrics."""
    outcomes = scores.outcomes
    image = np.unique(pairs.image, return_inverse=True)[1].reshape(-1)
    records = choice_records(pairs, scores, config)
    compared = [r["metric"] for r in records if is_ranked(r) and r["status"] == "ok"]
    controls = [r["metric"] for r in records if r["control"] and r["status"] == "ok"]
    return {
        "kind": "forced_choice",
        "facts": {
            "pairs": len(pairs),
            "images": len(set(pairs.image)),
            "undecided": int((pairs.votes[:, 0] == pairs.votes[:, 1]).sum()),
        },
        "labels": pairs.labels,
        "ties": pairs.ties,
        "label_agreement": label_agreement(pairs),
        "people": one_against_the_others(pairs) if pairs.labels == "direct" else None,
        "published": published_choice(pairs, config.dataset.get("limit")),
        "draws": pairs.draws,
        "groups": [*_present(pairs), ALL],
        "n_references": list(pairs.n_references),
        "metrics": records,
        "controls": {
            str(n): controls_by_category(
                pairs.category,
                image,
                {name: outcomes[name][k] for name in (*compared, *controls)},
                compared,
                controls,
                permutations=permutations,
                alpha=alpha,
                seed=config.stats.seed,
            )
            for k, n in enumerate(pairs.n_references)
        },
        "differences": {
            str(n): _differences(
                {name: outcomes[name][k] for name in compared}, image, permutations, config
            )
            for k, n in enumerate(pairs.n_references)
        },
    }


def _agreement(difference: Floats, people: Floats, ties: str = "half") -> Floats:
    """1 or 0 for each pair; NaN where a caption has no score.

    Where metric or people are undecided 1/2, or 0 with `ties` "wrong".
    """
    undecided = (people == 0) | (difference == 0)
    tied = 0.5 if ties == "half" else 0.0
    agrees = np.where(undecided, tied, np.sign(difference) == people)
    return np.where(np.isnan(difference), np.nan, agrees)


def label_agreement(pairs: ForcedChoice) -> dict[str, Any] | None:
    """The share of pairs on which the majorities of both sets of labels prefer the same caption, by
    category and over all; `None` where the data has one set."""
    if pairs.other_votes is None:
        return None
    here, there = (np.sign(v[:, 0] - v[:, 1]) for v in (pairs.votes, pairs.other_votes))
    category = np.array(pairs.category)
    return {name: float((here == there)[category == name].mean()) for name in _present(pairs)} | {
        "all": float((here == there).mean())
    }


def one_against_the_others(pairs: ForcedChoice) -> dict[str, Any]:
    """How often one person's vote is the majority's of the other people asked: a metric's ceiling.

    The mean over the voters of a pair, then over pairs; where the others are divided, one half.
    """
    votes = pairs.votes.astype(np.float64)
    first, second = votes[:, 0], votes[:, 1]

    def right(own: Floats, other: Floats) -> Floats:  # of a voter who prefers `own`
        return np.where(own - 1 > other, 1.0, np.where(own - 1 == other, 0.5, 0.0))

    share = (first * right(first, second) + second * right(second, first)) / (first + second)
    category = np.array(pairs.category)
    values = {name: float(share[category == name].mean()) for name in _present(pairs)}
    return {**values, ALL: float(np.mean(list(values.values())))}


def _present(pairs: ForcedChoice) -> list[str]:
    return [name for name in CATEGORIES if name in pairs.category]


def _accuracies(
    outcome: Floats, pairs: ForcedChoice, image: Any, counts: Any, confidence: float
) -> dict[str, Any]:
    """Accuracy by category and their mean, with intervals by resampling images."""
    category, weights = np.array(pairs.category), counts.astype(np.float64)
    accuracies: dict[str, Any] = {}
    points, replicates = [], []
    for name in _present(pairs):
        there = (category == name) & ~np.isnan(outcome)
        right = np.bincount(image[there], outcome[there], minlength=counts.shape[1])
        total = np.bincount(image[there], minlength=counts.shape[1]).astype(np.float64)
        with np.errstate(invalid="ignore"):
            resampled = np.einsum("ru,u->r", weights, right) / np.einsum("ru,u->r", weights, total)
        points.append(float(outcome[there].mean()) if there.any() else float("nan"))
        replicates.append(resampled)
        accuracies[name] = {
            "value": points[-1],
            "ci": percentile_interval(resampled, confidence),
            "n": int(there.sum()),
        }
    accuracies[ALL] = {
        "value": float(np.mean(points)),
        "ci": percentile_interval(np.mean(replicates, axis=0), confidence),
        "n": int((~np.isnan(outcome)).sum()),
    }
    return accuracies


def controls_by_category(
    category: Sequence[str],
    image: npt.NDArray[np.intp],
    outcomes: Mapping[str, Floats],
    ranked: Sequence[str],
    controls: Sequence[str],
    *,
    permutations: int,
    alpha: float,
    seed: int,
) -> dict[str, Any] | None:
    """By category, and in their mean, the control that chooses best, and the metrics that surely
    choose better (`against_controls`).

    `category` and `image` [pairs] are the category of each pair and the number of its image,
    `outcomes` is column → [pairs].
    """
    kind = np.array(category)
    categories = [name for name in CATEGORIES if name in category]
    values: dict[str, dict[str, float]] = {group: {} for group in (*categories, ALL)}
    for name, outcome in outcomes.items():
        for group in categories:
            own = outcome[(kind == group) & ~np.isnan(outcome)]
            values[group][name] = float(own.mean()) if own.size else float("nan")
        values[ALL][name] = float(np.mean([values[group][name] for group in categories]))

    def gaps(group: str, name: str, control: str) -> Floats:
        if group == ALL:
            parts = [gaps(each, name, control) for each in categories]
            return np.asarray(np.mean(parts, axis=0), np.float64)
        gap = outcomes[name] - outcomes[control]
        rows = (kind == group) & ~np.isnan(gap)
        added = np.bincount(image[rows], gap[rows], minlength=int(image.max()) + 1)
        return np.asarray(added / max(int(rows.sum()), 1), np.float64)

    return against_controls(
        values, ranked, controls, gaps, permutations=permutations, alpha=alpha, seed=seed
    )


def _differences(
    outcomes: dict[str, Floats], image: Any, permutations: int, config: DictConfig
) -> dict[str, Any]:
    """Paired tests of the mean outcome over all pairs, swapped and resampled by image."""
    names = list(outcomes)
    pairs: list[dict[str, Any]] = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            x, y = outcomes[a], outcomes[b]
            seed = config.stats.seed
            permuted = permutation_of_means(x, y, image, replicates=permutations, seed=seed)
            resampled = bootstrap_of_means(
                x, y, image, replicates=config.stats.replicates,
                confidence=config.stats.confidence, seed=seed,
            )  # fmt: skip
            pairs.append(
                {
                    "a": a,
                    "b": b,
                    "difference": permuted.difference,
                    "permutation": {"p": permuted.p_two_sided, "p_greater": permuted.p_greater},
                    "bootstrap": {
                        "p": resampled.p_two_sided,
                        "p_greater": resampled.p_greater,
                        "ci": [resampled.low, resampled.high],
                    },
                }
            )
    for test in TESTS:
        for pair, p in zip(pairs, holm([pair[test]["p"] for pair in pairs]), strict=True):
            pair[test]["p_holm"] = float(p)
    return {"statistic": "accuracy", "pairs": pairs}
