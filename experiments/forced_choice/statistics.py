"""How often metrics choose as people do: the statistics of a forced choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from omegaconf import DictConfig

from metaeval.data.judgments.pascal50s import CATEGORIES, VOTES, ForcedChoice
from metaeval.experiments.controls import is_ranked, merged
from metaeval.experiments.forced_choice.published import published
from metaeval.experiments.forced_choice.scores import ChoiceScores
from metaeval.results.base import Estimate
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.forced_choice import (
    MEAN,
    ChoiceAgreement,
    ForcedChoiceFacts,
    ForcedChoiceResult,
    ForcedChoiceSettings,
    ForcedChoiceStatistics,
)
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts, percentile_interval
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import (
    PairTest,
    against_best_control,
    compare,
    gap_differences,
    mean_difference,
)

Images = npt.NDArray[np.intp]
MEASURE = "accuracy"


def statistics(
    pairs: ForcedChoice,
    scores: ChoiceScores,
    config: DictConfig,
    permutations: int,
    alpha: float,
) -> ForcedChoiceResult:
    """Accuracies by category and number of references, and the tests between metrics."""
    outcomes, image = scores.outcomes, image_numbers(pairs)
    agreements = choice_agreements(pairs, scores, config)
    metrics = tuple(
        scored.result(
            c,
            ForcedChoiceStatistics(choice=agreements[column.name])
            if scored.status == "ok"
            else None,
        )
        for scored in scores.results
        for c, column in enumerate(scored.columns)
    )
    ranked = [m.name for m in metrics if m.ok and is_ranked(m.column)]
    controls = [m.name for m in metrics if m.ok and m.column.control]
    settings = config.stats
    return ForcedChoiceResult(
        dataset=pairs.name,
        title=pairs.title,
        settings=ForcedChoiceSettings(
            replicates=settings.replicates,
            confidence=settings.confidence,
            seed=settings.seed,
            permutations=permutations,
            alpha=alpha,
        ),
        facts=ForcedChoiceFacts(
            pairs=len(pairs),
            images=len(set(pairs.image)),
            undecided=int((pairs.votes[:, 0] == pairs.votes[:, 1]).sum()),
        ),
        labels=pairs.labels,
        ties="half" if pairs.ties == "half" else "wrong",
        label_agreement=label_agreement(pairs),
        people=one_against_the_others(pairs) if pairs.labels == "direct" else None,
        published=published(pairs, config.dataset.get("limit")),
        draws=pairs.draws,
        unit="clip" if pairs.unit == "clip" else "image",
        average="pairs" if pairs.average == "pairs" else "categories",
        groups=(*categories_of(pairs), MEAN),
        n_references=pairs.n_references,
        metrics=metrics,
        controls={
            n: controls_by_category(
                pairs.category,
                image,
                {name: outcomes[name][k] for name in (*ranked, *controls)},
                ranked,
                controls,
                permutations=permutations,
                alpha=alpha,
                seed=settings.seed,
                average=pairs.average,
            )
            for k, n in enumerate(pairs.n_references)
        },
        differences={
            n: choice_differences(
                {name: outcomes[name][k] for name in ranked}, image, permutations, alpha, config
            )
            for k, n in enumerate(pairs.n_references)
        },
    )


def image_numbers(pairs: ForcedChoice) -> Images:
    """[pairs] The number of each pair's image, from 0."""
    return np.unique(pairs.image, return_inverse=True)[1].reshape(-1)


def choice_agreements(
    pairs: ForcedChoice, scores: ChoiceScores, config: DictConfig
) -> Mapping[str, tuple[ChoiceAgreement, ...]]:
    """Column that was scored → its accuracies, one entry for each number of references."""
    image = image_numbers(pairs)
    counts = bootstrap_counts(int(image.max()) + 1, config.stats.replicates, config.stats.seed)
    return {
        name: tuple(
            _agreement(n, 1 if n == VOTES else pairs.draws, outcome, pairs, image, counts,
                       config.stats.confidence).model_copy(
                update={"draw_sd": _draw_sd(pairs, scores.by_draw[name][k])}
            )
            for k, (n, outcome) in enumerate(zip(pairs.n_references, of_column, strict=False))
        )
        for name, of_column in scores.outcomes.items()
    }  # fmt: skip


def _agreement(
    n_references: int,
    draws: int,
    outcome: Floats,
    pairs: ForcedChoice,
    image: Images,
    counts: Counts,
    confidence: float,
) -> ChoiceAgreement:
    """Accuracy by category and their mean, with intervals by resampling images."""
    category, weights = np.array(pairs.category), counts.astype(np.float64)
    categories: dict[str, Estimate] = {}
    points, replicates, images = [], [], []
    for name in categories_of(pairs):
        scored = (category == name) & ~np.isnan(outcome)
        right = np.bincount(image[scored], outcome[scored], minlength=counts.shape[1])
        total = np.bincount(image[scored], minlength=counts.shape[1]).astype(np.float64)
        with np.errstate(invalid="ignore"):
            resampled = np.einsum("ru,u->r", weights, right) / np.einsum("ru,u->r", weights, total)
        points.append(float(outcome[scored].mean()) if scored.any() else float("nan"))
        replicates.append(resampled)
        images.append(int((total > 0).sum()))
        low, high = percentile_interval(resampled, confidence, images[-1])
        categories[name] = Estimate(value=points[-1], low=low, high=high, n=int(scored.sum()))
    n = int((~np.isnan(outcome)).sum())
    if pairs.average == "pairs":
        scored = ~np.isnan(outcome)
        right = np.bincount(image[scored], outcome[scored], minlength=counts.shape[1])
        total = np.bincount(image[scored], minlength=counts.shape[1]).astype(np.float64)
        with np.errstate(invalid="ignore"):
            resampled = np.einsum("ru,u->r", weights, right) / np.einsum("ru,u->r", weights, total)
        value = float(outcome[scored].mean()) if n else float("nan")
        images = [int((total > 0).sum())]
    else:
        resampled, value = np.mean(replicates, axis=0), float(np.mean(points))
    low, high = percentile_interval(resampled, confidence, min(images))
    mean = Estimate(value=value, low=low, high=high, n=n)
    return ChoiceAgreement(n_references=n_references, draws=draws, categories=categories, mean=mean)


def _draw_sd(pairs: ForcedChoice, by_draw: Floats) -> Mapping[str, float]:
    """Category → standard deviation (n − 1) of the accuracy over the draws [draws, pairs].

    Pairs without a score are left out; a category without any has none.
    """
    if len(by_draw) < 2:
        return {}
    category = np.array(pairs.category)
    deviations = {}
    for name in categories_of(pairs):
        of_category = by_draw[:, category == name]
        scored = of_category[:, ~np.isnan(of_category).any(axis=0)]
        if scored.size:
            deviations[name] = float(scored.mean(axis=1).std(ddof=1))
    return deviations


def label_agreement(pairs: ForcedChoice) -> Mapping[str, float] | None:
    """The share of pairs on which the majorities of both sets of labels prefer the same caption, by
    category and over all; `None` where the data has one set."""
    if pairs.other_votes is None:
        return None
    one, other = (np.sign(v[:, 0] - v[:, 1]) for v in (pairs.votes, pairs.other_votes))
    category = np.array(pairs.category)
    shares = {n: float((one == other)[category == n].mean()) for n in categories_of(pairs)}
    return {**shares, "all": float((one == other).mean())}


def one_against_the_others(pairs: ForcedChoice) -> Mapping[str, float]:
    """How often one person votes as the majority of the other people: a metric's ceiling.

    The mean over the voters of a pair, then over pairs; where the others are divided, one half.
    """
    votes = pairs.votes.astype(np.float64)
    first, second = votes[:, 0], votes[:, 1]

    def right(preferred: Floats, other: Floats) -> Floats:  # of a voter who prefers `own`
        return np.where(preferred - 1 > other, 1.0, np.where(preferred - 1 == other, 0.5, 0.0))

    share = (first * right(first, second) + second * right(second, first)) / (first + second)
    category = np.array(pairs.category)
    values = {name: float(share[category == name].mean()) for name in categories_of(pairs)}
    return {**values, MEAN: float(np.mean(list(values.values())))}


def categories_of(pairs: ForcedChoice) -> list[str]:
    """The categories that occur, in their usual order."""
    return [name for name in CATEGORIES if name in pairs.category]


def controls_by_category(
    category: Sequence[str],
    image: Images,
    outcomes: Mapping[str, Floats],
    ranked: Sequence[str],
    controls: Sequence[str],
    *,
    permutations: int,
    alpha: float,
    seed: int,
    average: str = "categories",
) -> Mapping[str, AgainstControl] | None:
    """Every metric against the best control: in each category, and in their mean.

    One family over all metrics and groups; images are swapped at random.

    Parameters
    ----------
    category, image
        [pairs] The category of each pair, and the number of its image.
    outcomes
        Column → [pairs].
    average
        The mean is over "categories" or over all "pairs".
    """
    if not ranked or not controls:
        return None
    kind = np.array(category)
    categories = [name for name in CATEGORIES if name in category]
    values: dict[str, dict[str, float]] = {group: {} for group in (*categories, MEAN)}
    for name, outcome in outcomes.items():
        for group in categories:
            of_group = outcome[(kind == group) & ~np.isnan(outcome)]
            values[group][name] = float(of_group.mean()) if of_group.size else float("nan")
        known = outcome[~np.isnan(outcome)]
        values[MEAN][name] = (
            float(known.mean())
            if average == "pairs" and known.size
            else float(np.mean([values[group][name] for group in categories]))
        )

    def gaps(group: str, name: str, control: str) -> Floats:
        if group == MEAN and average == "categories":
            parts = [gaps(each, name, control) for each in categories]
            return np.asarray(np.mean(parts, axis=0), np.float64)
        gap = outcomes[name] - outcomes[control]
        rows = ((kind == group) | (group == MEAN)) & ~np.isnan(gap)
        added = np.bincount(image[rows], gap[rows], minlength=int(image.max()) + 1)
        return np.asarray(added / max(int(rows.sum()), 1), np.float64)

    def test(hypotheses: Sequence[tuple[str, str, str]]) -> list[PairTest]:
        table = np.stack([gaps(*hypothesis) for hypothesis in hypotheses], axis=1)
        return gap_differences(table, replicates=permutations, seed=seed)

    family = "metrics against the best control, in each category and their mean"
    compared = against_best_control(
        values, ranked, controls, test, family, alpha=alpha,
        gapped=[name for name in ranked if np.isnan(outcomes[name]).any()],
        difference=lambda *hypothesis: float(gaps(*hypothesis).sum()),
    )  # fmt: skip
    return {group: AgainstControl.of(each, MEASURE, alpha) for group, each in compared.items()}


def choice_differences(
    outcomes: Mapping[str, Floats],
    image: Any,
    permutations: int,
    alpha: float,
    config: DictConfig,
) -> Comparisons:
    """Paired tests of the mean outcome over all pairs, swapped and resampled by image."""
    settings, pairs = config.stats, list(combinations(outcomes, 2))
    permuted, resampled = {}, {}
    for a, b in pairs:
        x, y = outcomes[a], outcomes[b]
        permuted[a, b] = mean_difference(
            x, y, image, method="permutation", replicates=permutations, seed=settings.seed
        )._replace(low=float("nan"), high=float("nan"))
        resampled[a, b] = mean_difference(
            x, y, image, method="bootstrap", replicates=settings.replicates,
            confidence=settings.confidence, seed=settings.seed,
        )  # fmt: skip
    family = "pairs of metrics"
    common = [int((~np.isnan(outcomes[a] + outcomes[b])).sum()) for a, b in pairs]
    return merged(
        MEASURE, alpha, common,
        compare(permuted, family, alpha=alpha), compare(resampled, family, alpha=alpha),
    )  # fmt: skip
