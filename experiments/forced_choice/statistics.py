"""How often metrics choose as people do: the statistics of a forced choice."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from omegaconf import DictConfig

from metaeval.data.judgments.battles import Battles
from metaeval.data.judgments.pascal50s import CATEGORIES, LABELS, VOTES, ForcedChoice, ScoringTable
from metaeval.experiments.base import ToScore
from metaeval.experiments.judgments.sample import write_score_columns
from metaeval.experiments.measure import Items, Mask, MeanOutcome, Outcomes, measure, of_stats
from metaeval.experiments.scores import score_all
from metaeval.metrics.base import Metric
from metaeval.papers.expected import cells_of, item_of
from metaeval.results.base import Estimate
from metaeval.results.measured import Extra, MeasuredResult, PublishedValues
from metaeval.results.notes import fill_sentences
from metaeval.results.run import Measure
from metaeval.runs import files
from metaeval.runs.records import CAPTION, IMAGE_ID, ITEM, RIVAL, SYSTEM, ScoreColumn
from metaeval.scoring import MetricScores
from metaeval.stats.resampling.items import Floats


@dataclass(frozen=True, slots=True)
class ChoiceScores:
    """The scores of the first draw of references, and how often each column chose as people did.

    `outcomes` is column → [pairs] for each number of references: 1 where the metric prefers the
    caption that most people preferred, 0 where it prefers the other, and 1/2 where metric or people
    are undecided, which is the expected value of random tie-breaking. `gaps` is of the same shape:
    the score of the first caption minus that of the second, higher is better. Both are averaged
    over the draws of references. `by_draw` has the outcomes of each draw, [draws, pairs].
    """

    results: list[MetricScores]
    outcomes: dict[str, list[Floats]]
    gaps: dict[str, list[Floats]] = field(default_factory=dict)
    by_draw: dict[str, list[Floats]] = field(default_factory=dict)


def score_choices(
    pairs: ForcedChoice, metrics: Sequence[Metric], config: DictConfig, out: Path
) -> ChoiceScores:
    """Score every pair with each number of references in each draw, and write scores.parquet."""
    people = np.sign(pairs.votes[:, 0] - pairs.votes[:, 1])
    made = ChoiceScores([], {}, {}, {})
    running, parts = list(metrics), []
    drawn: dict[str, list[int]] = {"n_references": [], "draw": []}
    for n_references, draws in _draws(pairs):
        gaps: dict[str, list[Floats]] = {}
        for draw in range(draws):
            of_column: dict[ScoreColumn, Floats] = {}
            for table in pairs.tables(n_references, draw, config.seed):
                results = score_all(running, table.documents, _captions(pairs, table), config)
                if not made.results:  # a metric that fails now fails with other references, too
                    made.results[:] = results
                    running = [m for m, s in zip(running, results, strict=True) if s.status == "ok"]
                else:
                    made.results[:] = _with_another_draw(made.results, results)
                _add_means(of_column, results, table, len(pairs))
            for column, values in of_column.items():
                upward = values if column.higher_is_better else -values
                gaps.setdefault(column.name, []).append(upward[: len(pairs)] - upward[len(pairs) :])
                # the first captions of all pairs, then the second ones
                parts.append((column.name, values))
                drawn["n_references"].append(n_references)
                drawn["draw"].append(draw)
        for name, of_draws in gaps.items():
            right = np.array([choice_outcomes(gap, people, pairs.ties) for gap in of_draws])
            for by_column, value in (
                (made.outcomes, (right / draws).sum(axis=0)),
                (made.gaps, (np.array(of_draws) / draws).sum(axis=0)),
                (made.by_draw, right),
            ):
                by_column.setdefault(name, []).append(value)
    write_score_columns(out, "candidate", parts, **drawn)
    return made


def _draws(pairs: ForcedChoice) -> Iterator[tuple[int, int]]:
    """Each number of references, and how many draws it has."""
    for n_references in pairs.n_references:
        yield n_references, 1 if n_references == VOTES else pairs.draws


def pairs_to_score(pairs: ForcedChoice, seed: int) -> Iterator[ToScore]:
    """Both captions of every pair, against the references of each number and draw."""
    for n_references, draws in _draws(pairs):
        for draw in range(draws):
            for table in pairs.tables(n_references, draw, seed):
                yield ToScore(table.documents, _captions(pairs, table))


def _captions(pairs: ForcedChoice, table: ScoringTable) -> pd.DataFrame:
    """The captions of a table, each with the other caption of its pair."""
    texts = (pairs.first, pairs.second)
    rivals = [texts[1 - s][p] for p, s in zip(table.pair, table.side, strict=True)]
    images = [pairs.image[p] for p in table.pair]
    columns = {IMAGE_ID: images, ITEM: table.items, CAPTION: table.captions, RIVAL: rivals}
    captions = pd.DataFrame(columns)
    if systems := getattr(pairs, "systems", ()):  # of battles
        sides = zip(table.pair, table.side, strict=True)
        captions[SYSTEM] = [systems[p][s] for p, s in sides]
    return captions


def _add_means(
    of_column: dict[ScoreColumn, Floats],
    results: Sequence[MetricScores],
    table: ScoringTable,
    n: int,
) -> None:
    """Put the mean score of every caption of the table at its place in [2n]: the first captions of
    all pairs, then the second ones."""
    place = table.side * n + table.pair
    times = np.bincount(place, minlength=2 * n)
    scored = times > 0
    for metric in results:
        if metric.scores is None:
            continue
        for column, values in zip(metric.columns, metric.scores.T, strict=True):
            target = of_column.setdefault(column, np.full(2 * n, np.nan))
            total = np.bincount(place, values, minlength=2 * n)
            target[scored] = total[scored] / times[scored]


def _with_another_draw(
    total: Sequence[MetricScores], draw: Sequence[MetricScores]
) -> list[MetricScores]:
    """The outcomes of the metrics, with the time and the counts of one more draw added."""
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


def choice_outcomes(difference: Floats, people: Floats, ties: str = "half") -> Floats:
    """1 or 0 for each pair; NaN where a caption has no score.

    Where the metric (`difference` is 0) or people (`people` is 0) are undecided: 1/2, or 0 with
    `ties` "wrong"; with "drop", NaN where people are, and 1/2 where only the metric is.
    """
    undecided = (people == 0) | (difference == 0)
    tied = 0.0 if ties == "wrong" else 0.5
    agrees = np.where(undecided, tied, np.sign(difference) == people)
    dropped = (people == 0) & (ties == "drop")
    return np.where(np.isnan(difference) | dropped, np.nan, agrees)


def write_choices(out: Path, pairs: ForcedChoice) -> None:
    """Write judgments.parquet: pair (its number), image_id, category, both captions and votes."""
    files.write_arrow(out / files.JUDGMENTS, pa.table(pair_columns(pairs)))


def pair_columns(pairs: ForcedChoice) -> dict[str, pa.Array]:
    """The columns of judgments.parquet."""
    return {
        "pair": pa.array(range(len(pairs)), pa.int64()),
        "image_id": pa.array(pairs.image, pa.string()),
        "category": pa.array(pairs.category, pa.string()),
        "first": pa.array(pairs.first, pa.string()),
        "second": pa.array(pairs.second, pa.string()),
        "votes_first": pa.array(pairs.votes[:, 0]),
        "votes_second": pa.array(pairs.votes[:, 1]),
    }


MEAN = "mean"  # over the categories, as a group of pairs
EXAMPLES = 6  # pairs shown for each metric

FAIER = "Wang et al. (2021), FAIEr, CVPR"
VIFIDEL = "Madhyastha et al. (2019), VIFIDEL, ACL"
FENSE = "Zhou et al. (2022), FENSE, ICASSP"
# labels → the source, and paper and item with its percentages for five references
_PASCAL50S: Mapping[str, tuple[str, str, str]] = {
    "direct": (FAIER, "wang2021faier", "pascal50s"),
    "consensus": (VIFIDEL, "madhyastha2019vifidel", "tables5-6"),
}
PEOPLE = (
    "one person with the majority of the others; a metric, which is compared with the majority of "
    "all, may be above"
)
EQUAL = {
    "half": "Equal scores, and people who are divided, count one half",
    "wrong": "Equal scores, and people who are divided, are wrong",
    "drop": "Pairs on which people are divided are left out; equal scores count one half",
}
NOTES = (
    "Labels: {labels}.",
    "{equal}.",
    "The mean is over the {average}.",
)
_FIVE = 5  # references of all of them
_AUDIOCAPS_PAIRS = 1483


def statistics(
    pairs: ForcedChoice, scores: ChoiceScores, config: DictConfig, alpha: float
) -> MeasuredResult:
    """Accuracies by category and number of references, and the tests between metrics."""
    stats, items = config.stats, choice_items(pairs)
    columns = [c for scored in scores.results if scored.status == "ok" for c in scored.columns]
    tested = list(category_outcomes(pairs, scores, [c.name for c in columns], items, stats))
    measured = measure(tested, columns, stats.confidence, alpha)
    votes = one_against_the_others(pairs) if pairs.labels == "direct" else {}
    preferred = (pairs.votes[:, 0] - pairs.votes[:, 1]).astype(np.float64)
    known = published_accuracies(pairs, config.dataset.get("limit"))
    return MeasuredResult(
        experiment="forced_choice",
        dataset=pairs.name,
        title=pairs.title,
        facts=_facts(pairs, items),
        settings={
            **of_stats(stats),
            "alpha": alpha,
            "labels": pairs.labels,
            "ties": pairs.ties,
            "average": pairs.average,
            "draws": pairs.draws,
            "n_references": pairs.n_references,
            "categories": tuple(categories_of(pairs)),
        },
        declared=tuple(each.measure for each in tested),
        metrics=tuple(
            scored.result(c, measured.of(column.name, _draw_sd(pairs, scores, column.name)))
            for scored in scores.results
            for c, column in enumerate(scored.columns)
        ),
        comparisons=measured.comparisons,
        controls=measured.controls,
        resampled=tuple(measured.resampled),
        people_note=PEOPLE,
        people={
            measure_of(n, group).key: Estimate(value=share)
            for n in pairs.n_references
            for group, share in votes.items()
        },
        published=(known,) if known.values else (),
        extras=(
            *_label_agreement(pairs),
            disagreements_with_people(pairs, scores, columns, preferred),
        ),
        notes=tuple(
            fill_sentences(
                NOTES,
                labels=LABELS[pairs.labels],
                equal=EQUAL[pairs.ties],
                average=pairs.average,
            )
        ),
    )


def _facts(pairs: ForcedChoice, items: Items) -> dict[str, int]:
    return {
        **counted_facts("Pairs", items, np.ones(len(pairs), np.bool_)),
        f"{pairs.unit.capitalize()}s": len(set(pairs.image)),
        "Undecided by people": int((pairs.votes[:, 0] == pairs.votes[:, 1]).sum()),
    }


def category_outcomes(
    pairs: ForcedChoice,
    scores: ChoiceScores,
    columns: Sequence[str],
    items: Items,
    stats: DictConfig,
) -> Iterator[Outcomes]:
    """The outcomes of all pairs and of each category, with each number of references."""
    counts, category = items.resamples(stats), np.array(pairs.category)
    masks = {name: np.asarray(category == name) for name in categories_of(pairs)}
    every = list(masks.values()) if pairs.average == "categories" else None
    means = {MEAN: MeanOutcome(items, counts, every)}
    means |= {name: MeanOutcome(items, counts, [mask]) for name, mask in masks.items()}
    for k, n in enumerate(pairs.n_references):
        of_columns = {name: scores.outcomes[name][k] for name in columns}
        for group, mean in means.items():
            yield Outcomes(measure_of(n, group), of_columns, mean, family=f"references: {n}")


def choice_items(pairs: ForcedChoice) -> Items:
    """The pairs as items; of battles every vote is an item, and what counts are the pairs."""
    image = np.unique(pairs.image, return_inverse=True)[1].reshape(-1)
    if not isinstance(pairs, Battles):
        return Items(image)
    captions = zip(pairs.image, pairs.first, pairs.second, strict=True)
    place: dict[tuple[str, ...], int] = {}
    return Items(
        image,
        np.array([place.setdefault((i, *sorted((a, b))), len(place)) for i, a, b in captions]),
    )


def counted_facts(what: str, items: Items, rows: Mask) -> dict[str, int]:
    """How many things these rows are of, and how many votes where these are more."""
    n, votes = items.number_of(rows), int(rows.sum())
    return {what: n} if n == votes else {what: n, "Votes": votes}


def measure_of(n_references: int, group: str) -> Measure:
    """The accuracy in a category, or the mean, with so many references."""
    references = f"{n_references} reference{'' if n_references == 1 else 's'}"
    if group == MEAN:
        return Measure(f"agreement_{n_references}", "Mean accuracy", unit="share", group=references)
    return Measure(f"agreement_{n_references}_{group}", group, unit="share", group=references)


def categories_of(pairs: ForcedChoice) -> list[str]:
    """The categories that occur, in their usual order."""
    return [name for name in CATEGORIES if name in pairs.category]


def _draw_sd(pairs: ForcedChoice, scores: ChoiceScores, column: str) -> Mapping[str, float]:
    """The standard deviation (n − 1) of each accuracy over the draws of references, by
    "draw_sd_" and the measure's key; of pairs with a score, where there are several draws."""
    category, deviations = np.array(pairs.category), {}
    for n, by_draw in zip(pairs.n_references, scores.by_draw.get(column, ()), strict=False):
        for name in categories_of(pairs) if len(by_draw) > 1 else ():
            of_category = by_draw[:, category == name]
            scored = of_category[:, ~np.isnan(of_category).any(axis=0)]
            if scored.size:
                key = f"draw_sd_{measure_of(n, name).key}"
                deviations[key] = float(scored.mean(axis=1).std(ddof=1))
    return deviations


def _label_agreement(pairs: ForcedChoice) -> list[Extra]:
    """The share of pairs on which the majorities of both sets of labels prefer the same caption;
    none where the data has one set."""
    if pairs.other_votes is None:
        return []
    one, other = (np.sign(v[:, 0] - v[:, 1]) for v in (pairs.votes, pairs.other_votes))
    category = np.array(pairs.category)
    shares = {name: float((one == other)[category == name].mean()) for name in categories_of(pairs)}
    shares["all"] = float((one == other).mean())
    title = "Share of pairs on which direct and consensus labels agree"
    records = ({"pairs": name, "share": share} for name, share in shares.items())
    return [Extra.of("label_agreement", title, records, folded=True)]


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
    return {MEAN: float(np.mean(list(values.values()))), **values}


def disagreements_with_people(
    pairs: ForcedChoice,
    scores: ChoiceScores,
    columns: Sequence[ScoreColumn],
    preferred: Floats,
) -> Extra:
    """Of each metric the pairs with the greatest difference of scores against people's choice.

    `preferred` [pairs] is above 0 where people prefer the first caption. The difference is in
    standard deviations of the metric's differences, with the most references of the run.
    """
    records = []
    most = int(np.argmax(pairs.n_references))
    for column in columns:
        if not (column.is_ranked and column.headline):
            continue
        gap = scores.gaps[column.name][most]
        against = np.nan_to_num(np.where(preferred * gap < 0, np.abs(gap), 0.0))
        spread = float(np.nanstd(gap)) or np.nan  # a metric with one gap has no unit for it
        for k in np.argsort(-against, kind="stable")[:EXAMPLES].tolist():
            if against[k] > 0:
                captions = [
                    (pairs.first[k], pairs.votes[k, 0]),
                    (pairs.second[k], pairs.votes[k, 1]),
                ]
                (chosen, n), (other, n_other) = captions if gap[k] < 0 else captions[::-1]
                records.append(
                    {
                        "metric": column.name,
                        "image_id": str(pairs.image[k]),
                        "kind": pairs.category[k],
                        "people prefer": chosen,
                        "votes": f"{n:g} to {n_other:g}",
                        "the metric prefers": other,
                        "gap (sd)": round(against[k] / spread, 6),
                    }
                )
    title = "Where a metric most clearly prefers the caption that people do not"
    return Extra.of("examples", title, records, kind="examples", folded=True)


def published_accuracies(pairs: ForcedChoice, limit: int | None) -> PublishedValues:
    """The published accuracies on AudioCaps-Eval, or on PASCAL-50S with these labels and five
    references; none for a part of the data, or for other data. They cannot be compared where the
    paper counts ties in another way."""
    if pairs.labels == "votes":
        source, paper, item, n = FENSE, "zhou2022fense", "audiocaps", pairs.n_references[0]
        whole = pairs.name == "audiocaps_eval" and len(pairs) == _AUDIOCAPS_PAIRS
    else:
        source, paper, item = _PASCAL50S[pairs.labels]
        n, whole = _FIVE, len(pairs) == 4000 and _FIVE in pairs.n_references
    printed = cells_of(paper, item) if whole and limit is None else {}
    ties = str(item_of(paper, item).run.get("dataset.ties", "half"))
    return PublishedValues(
        source=source,
        why_not=None if ties == pairs.ties else f"add dataset.ties={ties}",
        values={
            metric: {measure_of(n, group).key: value / 100 for group, value in of_metric.items()}
            for metric, of_metric in printed.items()
        },
    )
