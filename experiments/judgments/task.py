"""Metrics against people: `python -m metaeval experiment=judgments dataset=flickr8k_expert`.

Every metric scores captions that people have rated: how far do the two agree, and which of two
metrics agrees more? See docs/judgments.md for the protocols and the meaning of each number.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import asdict, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from metaeval.data.judgments.judged import Judgments
from metaeval.experiments import Estimate, Floats, Metric, MetricScores, fill_sentences
from metaeval.experiments.base import MetricExperiment, ToScore
from metaeval.experiments.fitted import column_of, fitted_row, predictions
from metaeval.experiments.judgments.agreement import (
    EPSILON,
    Estimates,
    accuracy_estimates,
    agreement_of,
    further_agreement,
    of_view,
    on_common_rows,
    pair_accuracy,
    ratings_of,
    system_statistics,
)
from metaeval.experiments.judgments.sample import (
    SYMBOL,
    FittedControls,
    Sample,
    fitted_controls,
    row_correlations,
    row_counts,
    sample_of,
    varies,
    write_judgments,
    write_score_columns,
)
from metaeval.experiments.measure import (
    Measurements,
    Outcomes,
    ResampledValue,
    Statistic,
    measure,
    of_stats,
    once_each,
)
from metaeval.experiments.printout import spread
from metaeval.experiments.record import (
    RunRecord,
    image_paths,
    language_info,
    language_note,
    record_counts,
)
from metaeval.experiments.scores import score_all, scored_columns, upward
from metaeval.metrics.judge.diagnostics import RatedCaption
from metaeval.options import checked
from metaeval.papers.expected import cells_of, values_of
from metaeval.progress import progress_bar
from metaeval.results.measured import Extra, MeasuredResult, PublishedValues
from metaeval.results.run import DatasetInfo, Measure
from metaeval.runs.records import CAPTION, IMAGE_ID, ITEM, SYSTEM, ScoreColumn
from metaeval.stats.agreement.ceiling import rater_agreement, sorted_rows
from metaeval.stats.resampling.items import ties

DESCRIBED = (
    "{title}: {facts[judged]:,} captions of {facts[images]:,} images{language}, {rows} rows "
    "({protocol.name}: own captions {protocol.own_captions}, ratings {protocol.ratings}, documents "
    "by {protocol.documents}); references per caption: {references}; {records}"
)


class Scores(NamedTuple):
    """The scores of the judged captions, and what the fitted controls are and predict."""

    metrics: list[MetricScores]
    fitted: FittedControls


FEW_VALUES = 20  # τ-c of a column with fewer different scores depends on how many they are
FEW_PAIRS = 30  # below this an accuracy has a note with its number of pairs
NEARLY_ALL = 0.9  # the share of pairs made ties from which a tie calibration gets a warning
COUNTS = {
    "judged_in_files": "Judged captions in the files",
    "images_in_files": "Images in the files",
    "own_captions": "Captions that are references of their own image",
    "judged": "Judged captions",
    "without_references": "Captions without references",
    "documents": "Documents of CIDEr's idf",
}
OF_DATA = (
    "Protocol {protocol.name}: own captions {protocol.own_captions}, ratings {protocol.ratings}, "
    "documents by {protocol.documents}.",
    "People (exchangeable raters): {people}.",
)
WARNINGS = (
    "τ-c depends on how many values there are; compare by τ-b: {few}.",
    "Tie calibration ties at least {nearly_all:.0%} of the pairs of {tied} ({of}): such an "
    "accuracy shows how often people tie captions.",
    "Accuracy: of {n:,} of {total:,} pairs of captions of an image, drawn at random.",
    "Accuracy ({of}): of {pairs} alone.",
    "Outside its own interval ({of}): {outside}. A bootstrap over few images can shift a "
    "correlation; use more images.",
)
PEOPLE = (
    "one rating with the other ratings of its caption; a metric, which is compared with all of "
    "them, may be above"
)
ALT_TEST = "Alt-test with ε = {epsilon:g}: a metric may replace a rater where ω is at least ½."
ONE_RATING = "{}: one rating with the {} others of {:,} captions{}{}"
SORTED = ", whose ratings are sorted"
OTHER_NUMBER = "; {:,} with another number of ratings left out"
NO_SCORE = "No score for {n_nan:,} of {n_all:,} captions{bare}: {names}."
BARE = " ({:,} of them without references)"

CLIPSCORE = "Hessel et al. (2021), CLIPScore, EMNLP"
THUMB = "Kasai et al. (2022), THumB, NAACL"
# dataset → the item of hessel2021clipscore with the values of the protocol "clipscore2021" × 100,
# and the dimension that they are of
_CLIPSCORE_2021: Mapping[str, tuple[str, str]] = {
    "flickr8k_expert": ("flickr8k-expert", "rating"),
    "flickr8k_cf": ("flickr8k-cf", "yes"),
    "composite": ("composite", "correctness"),
}
# how many judged captions the files of a whole dataset hold
_WHOLE = {"flickr8k_expert": 5822, "flickr8k_cf": 47830, "composite": 11985, "thumb": 2500}


_SHOWN = (
    Measure("accuracy", "Accuracy", unit="share", primary=True),
    Measure("average_precision", "AP", unit="share"),
    Measure("positive", "AP by chance", unit="share", best="neither"),
    Measure("auroc", "AUROC", unit="share"),
)
_OF = "Further statistics"
_FURTHER = (
    Measure("length_controlled", "r given length", group=_OF),
    Measure("difference_pearson", "PDP", group=_OF),
    Measure("uncalibrated", "Accuracy at ε = 0", unit="share", group=_OF),
    Measure("epsilon", "ε", best="neither", group=_OF),
    Measure("tied", "Pairs tied by ε", unit="share", best="neither", group=_OF),
    Measure("cross_fitted_accuracy", "Cross-fitted accuracy", unit="share", group=_OF),
    Measure("disattenuated", "r without noise", group=_OF),
    Measure("labels_worth", "100 labels are worth", unit="count", group=_OF),
    Measure("noticed", "Δ at 75 %", best="neither", group=_OF),
    Measure("winning_rate", "Alt-test ω", group=_OF),
    Measure("advantage", "Alt-test ρ", group=_OF),
)
_SYSTEMS = (
    Measure("system_pearson", "r", group="Systems"),
    Measure("system_kendall_tau_b", "τ-b", group="Systems"),
    Measure("system_accuracy", "Pairs of systems", unit="share", group="Systems"),
    Measure("soft_pairwise_accuracy", "SPA", unit="share", group="Systems"),
)


class HumanCorrelation(
    MetricExperiment[Judgments, Scores],
    name="judgments",
    stored=True,
    title="Metrics against people",
    question="Which metric agrees best with what people say about captions?",
    data=Judgments,
    needs=(
        "experiment=judgments needs rated captions: dataset=flickr8k_expert, flickr8k_cf, "
        "composite, thumb or table; dataset=pascal50s is for experiment=forced_choice"
    ),
):
    """Every metric's agreement with human judgements, and the tests between metrics.

    Parameters
    ----------
    fitted
        Whether controls are fitted to the ratings: ridge regressions on the caption alone, on its
        references alone, on the annotated objects alone, out of fold by image; "text": the first.
    """

    @checked
    def __init__(
        self,
        fitted: bool | Literal["text"] = True,
    ) -> None:
        self.fitted = fitted

    def describe(self, data: Judgments) -> str:
        return DESCRIBED.format(
            title=data.title,
            facts=data.facts,
            language=language_note(data.dataset),
            rows=" and ".join(f"{n:,}" for n in dict.fromkeys(row_counts(data).values())),
            protocol=data.protocol,
            references=spread([len(j.references) for j in data.judged]),
            records=data.dataset.records,
        )

    def write_versions(self, data: Judgments, record: RunRecord) -> None:
        photos = bool(record.config.report and record.config.report.get("photos"))
        write_judgments(record.out, data, image_paths(data.dataset, photos))
        record.update(
            dataset=DatasetInfo(
                name=data.name,
                n_images=data.facts["images"],
                n_references=tuple(sorted({len(j.references) for j in data.judged})),
                sources=dict(data.dataset.sources),
                notes=tuple(data.dataset.notes),
                records=record_counts(data.dataset.records),
                language=language_info(data.dataset),
            )
        )

    def to_score(self, data: Judgments, record: RunRecord) -> Iterable[ToScore]:
        return [ToScore(data.dataset, judged_captions(data))]

    def score(self, data: Judgments, metrics: Mapping[str, Metric], record: RunRecord) -> Scores:
        captions = judged_captions(data)
        captions[SYSTEM] = [j.system for j in data.judged]
        results = score_all(metrics.values(), data.dataset, captions, record.config)
        fitted = fitted_controls(data, self.fitted, record.config)
        parts = [(column.name, values) for column, values in scored_columns(results)]
        write_score_columns(record.out, "caption", [*parts, *fitted.columns()])
        return Scores(results, fitted)

    def statistics(self, data: Judgments, scores: Scores, record: RunRecord) -> MeasuredResult:
        """Agreement of every metric with people, and the tests between metrics."""
        sample, stats = sample_of(data, record.config.stats), record.config.stats
        columns = [c for c, values in scored_columns(scores.metrics) if varies(values)]
        of_metrics, fitted = upward(scores.metrics), scores.fitted
        made = [Dimension(n, sample, of_metrics, columns, fitted, stats) for n in sample.ratings]
        tested = [dimension.measured() for dimension in made]
        values: dict[str, Estimates] = {}
        for dimension in made:
            for name, of_column in dimension.values.items():
                of_all = values.setdefault(name, {})
                of_all |= {dimension.key(k): estimate for k, estimate in of_column.items()}
        measured = Measurements(
            values,
            {k: each for of in tested for k, each in of.comparisons.items()},
            {k: each for of in tested for k, each in of.controls.items()},
            [row for of in tested for row in of.resampled],
        )
        rated = {name: people_agreement(data, name) for name in data.dimensions}
        controls = [fitted_row(name, predicted) for name, predicted in made[0].fitted.items()]
        rows, dataset = [*scores.metrics, *controls], record.config.dataset
        facts_of = {column.name: _facts_of(given, data) for column, given in scored_columns(rows)}
        return measured.result(
            rows,
            facts_of,
            experiment="judgments",
            dataset=data.name,
            title=data.title,
            facts={
                "Protocol": data.protocol.name,
                "Captions": data.facts["judged"],
                "Images": data.facts["images"],
            },
            settings={
                **of_stats(stats),
                **{name: value for name, value in asdict(data.protocol).items() if name != "name"},
                "dimensions": data.dimensions,
            },
            declared=tuple(measure for dimension in made for measure in dimension.declared()),
            people={
                dimension.key(dimension.statistic): people.estimate
                for dimension in made
                if (people := rated[dimension.name]) is not None
            },
            people_note=PEOPLE,
            published=published_correlations(
                data, dataset.get("limit"), bool(dataset.get("human_reference"))
            ),
            extras=tuple(_extras(data, sample, made)),
            notes=tuple(_notes(data, made, rated, scores.metrics, facts_of)),
        )

    def rated_captions(self, data: Judgments) -> Sequence[RatedCaption]:
        means = {name: data.means(name) for name in data.dimensions}
        return [
            RatedCaption(
                j.image,
                j.candidate,
                j.system,
                {name: float(values[n]) for name, values in means.items() if j.human.get(name)},
            )
            for n, j in enumerate(data.judged)
        ]


def judged_captions(data: Judgments) -> pd.DataFrame:
    """The judged captions, each with its image and the item of the dataset that it belongs to."""
    return pd.DataFrame(
        {
            IMAGE_ID: [j.image for j in data.judged],
            ITEM: data.image_index,
            CAPTION: [j.candidate for j in data.judged],
        }
    )


class Dimension:
    """The numbers and tests of one dimension of ratings.

    Attributes
    ----------
    values
        Column → name of a number → its estimate.
    scores
        Column or fitted control → its scores, more is better.
    columns
        The metrics and controls that are compared.
    curves
        Column → the points of its curve of preference.
    """

    def __init__(
        self,
        name: str,
        sample: Sample,
        scores: Mapping[str, Floats],
        columns: Sequence[ScoreColumn],
        fitted: FittedControls,
        stats: DictConfig,
    ) -> None:
        self.name, self.sample, self.stats = name, sample, stats
        self.given = sample.ratings[name]
        self.statistic = sample.judged.protocol.statistic
        self.rows = row_correlations(self.given, sample.counts)
        self.pairs = once_each(lambda column: pair_accuracy(column, self.given, sample.counts))
        self.systems = once_each(lambda column: system_statistics(column, self.given, sample))
        self.fitted = fitted.predicted[name]
        self.scores = {**scores, **self.fitted}
        shown = [column for column in columns if column.is_ranked or column.is_control]
        varying = (column_of(control) for control, of in self.fitted.items() if varies(of))
        self.columns = [*shown, *varying]
        self.ranked = [column.name for column in shown if column.is_ranked]
        self.values: dict[str, Estimates] = {}
        self.curves: dict[str, list[dict[str, Any]]] = {}
        names = {column.name for column in shown}
        for column, given in progress_bar(self.scores.items(), desc=f"intervals, {name}"):
            rated = self.rated(given)
            of_systems = self.systems(rated) if len(sample.systems) > 1 else {}
            self.values[column] = {
                **{s: ScoreStatistic(self, s).estimate(given, stats.confidence) for s in SYMBOL},
                **accuracy_estimates(*self.pairs(rated), stats.confidence),
                **{s: value.estimate(stats.confidence) for s, value in of_systems.items()},
                **agreement_of(given, self.given, sample, self.statistic, stats.confidence),
            }
            if column in names:
                further, self.curves[column] = further_agreement(
                    given, self.given, sample, name, stats.confidence
                )
                self.values[column] |= further
        for control, features in fitted.features.items():
            # on a part of the captions it is fitted there
            for view, captions in sample.views.items():
                ratings = np.where(captions, self.given.mean, np.nan)
                of_part = predictions(features, ratings, sample.image, stats.seed)
                self.values[control] |= of_view(
                    of_part, self.given, view, captions, sample.counts, self.statistic,
                    stats.confidence,
                )  # fmt: skip
        metrics = {column: self.scores[column] for column in self.ranked}
        for column, common in on_common_rows(metrics, self.given, self.statistic).items():
            self.values[column][f"{self.statistic}_common"] = common

    def rated(self, column: Floats) -> Floats:
        """The scores, with a number for the captions without a rating, whose scores do not matter
        where they are missing, either."""
        return np.where(np.isnan(self.given.mean), 0.0, column)

    def key(self, name: str) -> str:
        """The key of a measure of this dimension; without its name where it is the only one."""
        return dimension_key(name, self.name, self.sample.ratings)

    def declared(self) -> Iterator[Measure]:
        """The measures of this dimension that some column has, the protocol's correlation first."""
        known = dict.fromkeys(name for of in self.values.values() for name in of)
        several = len(self.sample.ratings) > 1
        for row in self._rows(list(known)):
            if row.key in known or row.key in SYMBOL or row.key == "accuracy":
                group = f"{row.group}, {self.name}" if row.group and several else row.group
                yield replace(
                    row, key=self.key(row.key), shown=not row.group, group=group or self.name
                )
        for view in self.sample.views:  # correlations that the protocol is not quoted by
            for name in SYMBOL:
                if name != self.statistic:
                    yield Measure(self.key(f"{name}_{view}"), SYMBOL[name], shown=False)

    def _rows(self, known: Sequence[str]) -> list[Measure]:
        """All measures that a dimension may have, in the order of the page."""
        quoted = SYMBOL[self.statistic]
        views = [
            (view, f"{quoted}, {view} ({int(captions.sum()):,})")
            for view, captions in self.sample.views.items()
        ]
        by_rating = [
            Measure(name, name.removeprefix(prefix), best="neither", group=group)
            for prefix, group in (
                ("mean_score_", "Mean score by rating"),
                ("step_", "Steps between ratings"),
            )
            for name in known
            if name.startswith(prefix)
        ]
        return [
            Measure(self.statistic, quoted),
            *(Measure(name, SYMBOL[name]) for name in SYMBOL if name != self.statistic),
            *_SHOWN,
            Measure(f"{self.statistic}_common", f"{quoted}, common rows"),
            *_FURTHER,
            *_SYSTEMS,
            *(
                Measure(f"{self.statistic}_{name}", title, group="Parts of the captions")
                for name, title in views
            ),
            *by_rating,
        ]

    def measured(self) -> Measurements:
        """Every pair of metrics by each correlation and by the accuracy; by these and, where the
        systems are known, by the pairs of systems, every metric against the best control."""
        columns = {c.name: self.rated(self.scores[c.name]) for c in self.columns}
        names = [*SYMBOL, "accuracy"]
        if len(self.sample.systems) > 1:
            names.append("system_accuracy")
        outcomes = [
            Outcomes(
                Measure(self.key(name), name),
                columns,
                ScoreStatistic(self, name),
                family=name,
                pairs=name != "system_accuracy",
                ceiling=self.given.mean if name in SYMBOL else None,
            )
            for name in names
        ]
        return measure(outcomes, self.columns, self.stats.confidence)


class ScoreStatistic(Statistic):
    """A statistic of scores and ratings. Scores of captions without a rating do not matter."""

    def __init__(self, dimension: Dimension, name: str) -> None:
        self.dimension, self.name = dimension, name
        self.span = 2.0 if name in SYMBOL else 1.0

    def of(self, column: Floats) -> ResampledValue:
        given = self.dimension.given
        if self.name == "accuracy":
            return self.dimension.pairs(column)[0]
        if self.name in SYMBOL:
            value, replicates = (getattr(x, self.name) for x in self.dimension.rows(column))
        else:
            value, replicates, *_ = self.dimension.systems(column)[self.name]
        n = int((~np.isnan(column[given.row])).sum())
        return ResampledValue(value, replicates, given.images_of(column), n)


class PeopleAgreement(NamedTuple):
    """How far one rating of a caption agrees with its other ratings.

    `estimate` is the protocol's correlation, the expectation over which rating of each of `n`
    captions is left out; `raters` the ratings of each caption; `sorted_rows` whether the ratings
    ascend (or descend) within every caption: the columns are then minimum to maximum.
    """

    estimate: Estimate
    raters: int
    sorted_rows: bool
    left_out: int


def people_agreement(judged: Judgments, dimension: str) -> PeopleAgreement | None:
    """How far one rating agrees with the others of the same caption.

    What to hold a metric's value against, and no ceiling: the mean of several ratings agrees better
    with them than one rating does, and so may a metric.

    The others are separate rows, or their mean, according to the protocol. The files do not say
    who gave a rating, so raters are exchangeable (`rater_agreement`). The captions are those of
    `ratings_of`; `None` where no caption has two ratings.
    """
    table = ratings_of(judged.judged, dimension)
    if not table.shape[1]:
        return None
    rated = sum(bool(j.human.get(dimension)) for j in judged.judged)
    table = table[~np.isnan(table[:, 0])]
    agreement = rater_agreement(
        table, judged.protocol.statistic, averaged=judged.protocol.ratings == "mean"
    )
    estimate = Estimate(value=agreement, n=len(table))
    return PeopleAgreement(estimate, table.shape[1], sorted_rows(table), rated - len(table))


def dimension_key(name: str, dimension: str, dimensions: Sized) -> str:
    """The key of a measure of a dimension; without its name where it is the only one."""
    return name if len(dimensions) == 1 else f"{name}_{dimension}"


def published_correlations(
    judged: Judgments, limit: int | None, human_reference: bool = False
) -> tuple[PublishedValues, ...]:
    """The published values on this data, as fractions.

    There are none under another protocol, where only a part of the data is used, or where a
    person's caption joined THumB's references.
    """
    statistic = judged.protocol.statistic
    if limit is not None or judged.facts["judged_in_files"] != _WHOLE.get(judged.name):
        return ()
    if judged.protocol.name == "clipscore2021" and judged.name in _CLIPSCORE_2021:
        source, (item, rated) = CLIPSCORE, _CLIPSCORE_2021[judged.name]
        printed = values_of("hessel2021clipscore", item)
        cells = {"": {metric: {rated: value / 100} for metric, value in printed.items()}}
    elif judged.name == "thumb" and not human_reference and statistic == "pearson":
        source, parts = THUMB, {"": "everyone", "_without Human": "machines"}
        cells = {part: cells_of("kasai2022thumb", item) for part, item in parts.items()}
    else:
        return ()
    values: dict[str, dict[str, float]] = {}
    for part, of_metrics in cells.items():
        for metric, of_metric in of_metrics.items():
            for dimension, value in of_metric.items():
                if dimension in judged.dimensions:
                    key = dimension_key(statistic + part, dimension, judged.dimensions)
                    values.setdefault(metric, {})[key] = value
    return (PublishedValues(source=source, values=values),)


def _facts_of(scores: Floats, judged: Judgments) -> dict[str, int | float | None]:
    """Captions with and without a score, different scores, and the share of pairs with ties."""
    missing = np.isnan(scores)
    bare = np.array([not j.references for j in judged.judged], dtype=np.bool_)
    return {
        "n": int((~missing).sum()),
        "n_nan": int(missing.sum()),
        "n_nan_without_references": int((missing & bare).sum()),
        "n_distinct": len(np.unique(scores[~missing])),
        "ties": ties(scores).pairs,
    }


def _extras(judged: Judgments, sample: Sample, made: Sequence[Dimension]) -> Iterator[Extra]:
    for dimension in made:
        yield Extra.of(
            f"curves-{dimension.name}" if len(made) > 1 else "curves",
            "How often people prefer the higher score, by the difference of scores",
            (
                {"panel": name, "line": "preferred", "x_title": dimension.name, **point}
                for name, points in dimension.curves.items()
                for point in points
            ),
            kind="curves",
            folded=True,
        )
    of_texts = {
        "captions": [j.candidate for j in judged.judged],
        "references": [text for j in judged.judged for text in j.references],
    }
    counts = {
        **{title: judged.facts[fact] for fact, title in COUNTS.items()},
        **{f"Rows, {name}": n for name, n in row_counts(judged).items()},
        **{f"Captions, {view}": int(captions.sum()) for view, captions in sample.views.items()},
        **{
            f"Mean words of {name}": float(np.mean([len(text.split()) for text in texts]))
            for name, texts in of_texts.items()
            if texts
        },
    }
    yield Extra.of(
        "counts",
        "How judgements became rows",
        ({"": name, "n": n} for name, n in counts.items()),
        folded=True,
    )


def _notes(
    judged: Judgments,
    made: Sequence[Dimension],
    rated: Mapping[str, PeopleAgreement | None],
    scored: Sequence[MetricScores],
    facts_of: Mapping[str, Mapping[str, Any]],
) -> Iterator[str]:
    """What a reader may look up."""
    people = [
        ONE_RATING.format(
            name,
            each.raters - 1,
            each.estimate.n,
            SORTED if each.sorted_rows else "",
            OTHER_NUMBER.format(each.left_out) if each.left_out else "",
        )
        for name, each in rated.items()
        if each is not None
    ]
    yield from fill_sentences(OF_DATA, protocol=judged.protocol, people="; ".join(people))
    for dimension in made:
        yield from _warnings(dimension)
    yield from _without_scores(scored, facts_of)
    tried = any("winning_rate" in of for d in made for of in d.values.values())
    yield from fill_sentences([ALT_TEST], epsilon=EPSILON if tried else None)


def _warnings(dimension: Dimension) -> Iterator[str]:
    """Numbers of a dimension that need care."""
    values = {name: dimension.values[name] for name in dimension.ranked}
    distinct = {name: np.unique(dimension.scores[name]) for name in dimension.ranked}
    numbers = {name: int((~np.isnan(of)).sum()) for name, of in distinct.items()}
    few = [f"{name} ({n} values)" for name, n in numbers.items() if n < FEW_VALUES]
    tied = [name for name, each in values.items() if (each["tied"].value or 0) >= NEARLY_ALL]
    drawn = [(each["accuracy"].n or 0, int(each["pairs"].value or 0)) for each in values.values()]
    n, total = max(drawn, key=lambda pair: pair[1], default=(0, 0))
    outside = [name for name, each in values.items() if not each[dimension.statistic].is_inside]
    return fill_sentences(
        WARNINGS,
        of=dimension.name,
        few=", ".join(few) if dimension.statistic == "kendall_tau_c" else None,
        nearly_all=NEARLY_ALL,
        tied=", ".join(tied),
        n=n,
        total=total if n < total else None,
        pairs=f"{n} pair{'s' * (n != 1)}" if 0 < n < FEW_PAIRS else None,
        outside=", ".join(outside),
    )


def _without_scores(
    scored: Sequence[MetricScores], facts_of: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    unscored: dict[tuple[Any, ...], list[str]] = {}
    for column, values in scored_columns(scored):
        facts = facts_of[column.name]
        if column.part_of is None and facts["n_nan"]:
            counts = (facts["n_nan"], len(values), facts["n_nan_without_references"])
            unscored.setdefault(counts, []).append(column.name)
    for (n_nan, n_all, bare), names in unscored.items():
        of_bare = BARE.format(bare) if bare else ""
        yield NO_SCORE.format(n_nan=n_nan, n_all=n_all, bare=of_bare, names=", ".join(names))
