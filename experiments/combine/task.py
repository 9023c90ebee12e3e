"""`experiment=combine`: does a combination of metrics beat its best part?"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from omegaconf import DictConfig
from pydantic import Field

from metaeval.choices import list_choices
from metaeval.experiments import (
    ConfigError,
    Estimate,
    Extra,
    Floats,
    Measure,
    MeasuredResult,
    Metric,
    MetricScores,
    RunRecord,
    ScoreColumn,
    Streaming,
)
from metaeval.experiments.choices import credit
from metaeval.experiments.combine.benchmarks import Benchmark, read_benchmark
from metaeval.experiments.combine.fits import (
    BEST,
    FittedWeights,
    fit,
    fold_of,
    of_ranks,
)
from metaeval.experiments.measure import Items, MeanOutcome, Outcomes, measure, of_stats
from metaeval.experiments.printout import printout
from metaeval.metrics.combined import weighted
from metaeval.options import PositiveInt
from metaeval.progress import progress_bar
from metaeval.readers.files import user_path
from metaeval.results.comparison import Comparisons
from metaeval.runs import files
from metaeval.stats.resampling.bootstrap import bootstrap_counts

FILE = "combined.json"
Method = Literal["equal", "ridge", "nnls", "pls", "logistic", "forward"]
GENERAL = {"own", "table", "pairs", "battles", "coco"}  # datasets whose images may be anybody's
CONTROLS = "Controls together"
RANKS = "Equal weights of ranks"
LEFT_OUT, WITHIN = "left_out", "within"
FITTED_ON = {LEFT_OUT: "the other benchmarks", WITHIN: "other images of the benchmark"}
TITLES = {
    BEST: "Best part",
    "equal": "Equal weights",
    "ridge": "Ridge",
    "nnls": "Nonnegative least squares",
    "pls": "PLS",
    "logistic": "Logistic",
    "forward": "Forward selection",
}
NOTES = (
    "Choices: how often the better caption is higher, equal scores half; of rated captions "
    "all pairs of one image with different mean ratings (at most 50 an image).",
    "Best part: the column that is right most often where the combination was fitted. Controls "
    "together: a ridge over the controls alone.",
)


class CombinedColumns(NamedTuple):
    """What is combined: columns that every run has, and their controls."""

    metrics: list[str]
    controls: list[str]


class Combine(
    Streaming,
    name="combine",
    title="Combinations of metrics",
    question="Does a combination of metrics beat its best part, on choices that it has not seen?",
):
    """Combinations fitted on finished runs, judged on other images and on other benchmarks.

    Parameters
    ----------
    runs
        Folders of finished runs of judgments, forced_choice, pairs or sensitivity.
    parts
        The columns to combine; all ranked ones that every run has where `None`.
    method
        The method whose weights, fitted to all runs, are written to `combined.json`.
    given
        Files in the form of `combined.json`: weights that are judged as they are.
    folds
        Of images; a combination is judged on those that it was not fitted to.
    draws
        Resamples of images for the intervals of weights.
    """

    def __init__(
        self,
        runs: Sequence[str] = (),
        parts: Sequence[str] | None = None,
        method: Method = "ridge",
        given: Sequence[str] = (),
        folds: Annotated[int, Field(ge=2)] = 5,
        draws: PositiveInt = 20,
    ) -> None:
        self.runs, self.parts, self.method = tuple(runs), parts, method
        self.folds, self.draws = folds, draws
        self.given = [weighted.read_combination(file) for file in given]

    def check(self, config: DictConfig) -> None:
        if config.metrics != "all":
            raise ConfigError("metrics: the runs have their scores; leave metrics=... out")
        if not self.runs:
            raise ConfigError("task.runs: give at least one folder of a finished run")

    def stream(self, metrics: Mapping[str, Metric], record: RunRecord) -> MeasuredResult:
        config = record.config
        benchmarks = [read_benchmark(user_path(run), config.seed) for run in self.runs]
        names = [each.name for each in benchmarks]
        if len(set(names)) < len(names):
            raise ConfigError("task.runs: two folders have the same name")
        parts = combined_columns(benchmarks, self.parts)
        record.begin()
        weights = self.weights(benchmarks, parts, config.seed, config.stats.confidence)
        self._write(record.out / FILE, benchmarks, weights)
        return self.result(benchmarks, parts, weights, config.seed, config.stats)

    def result(
        self,
        benchmarks: Sequence[Benchmark],
        parts: CombinedColumns,
        weights: Sequence[Mapping[str, Any]],
        seed: int,
        stats: DictConfig,
    ) -> MeasuredResult:
        """Every combination on images, and on benchmarks, that it was not fitted to."""
        predicted = {
            of.name: self._predicted(of, benchmarks, parts, seed)
            for of in progress_bar(benchmarks, desc="benchmarks")
        }
        outcomes = [
            each for of in benchmarks for each in self._outcomes(of, predicted[of.name], stats)
        ]
        of_parts = (
            {"part": part}
            | {of.name: float(np.nanmean(credit(of.columns[part]))) for of in benchmarks}
            for part in (*parts.metrics, *parts.controls)
        )
        groups = [f"Fitted on {how}" for how in FITTED_ON.values()]
        order = sorted((each.measure for each in outcomes), key=lambda m: groups.index(m.group))
        titles = [*TITLES.values(), RANKS, *(each.title for each in self.given)]
        shown = [ScoreColumn(title) for title in titles]
        shown += [ScoreColumn(name, control=True) for name in (*parts.controls, CONTROLS)]
        measured = measure(outcomes, shown, stats.confidence)
        columns = tuple(column for column in shown if column.name in measured.values)
        return measured.result(
            [MetricScores("combine", columns, (None,) * len(columns), "ok")],
            experiment=self.name,
            dataset=", ".join(predicted),
            facts={"Benchmarks": len(predicted), "Parts": len(parts.metrics)},
            settings={**of_stats(stats), "method": self.method, "folds": self.folds},
            declared=tuple(order),
            extras=(
                *self._gains(measured.comparisons, order, titles),
                Extra.of("weights", f"Weights: {TITLES[self.method]}, all benchmarks", weights),
                Extra.of("parts", "Each part", of_parts),
            ),
            notes=NOTES,
        )

    def printout(self, summary: MeasuredResult, out: Path, file: Path) -> str:
        return f"{printout(summary, file)}\nweights: {out / FILE}"

    def _predicted(
        self, of: Benchmark, benchmarks: Sequence[Benchmark], parts: CombinedColumns, seed: int
    ) -> dict[str, dict[str, Floats]]:
        """What was fitted to other images, and to other benchmarks without its images → column → by
        how much the better caption is above the other one."""
        seen = frozenset(of.images[k] for k in np.unique(of.image))
        others = [other.without(seen) for other in benchmarks if other is not of]
        others = [other for other in others if len(other.image)]
        predicted = {WITHIN: self._within(of, parts, seed)}
        if others:
            predicted[LEFT_OUT] = predicted_gaps(others, of, parts)
        same = {name: of.columns[name] for name in parts.controls}
        same |= {each.title: of.weighted(each) for each in self.given}
        return {how: columns | same for how, columns in predicted.items()}

    @staticmethod
    def _outcomes(
        of: Benchmark, predicted: Mapping[str, Mapping[str, Floats]], stats: DictConfig
    ) -> Iterator[Outcomes]:
        items = Items(of.image)
        statistic = MeanOutcome(items, items.resamples(stats))
        for how, columns in predicted.items():
            group = f"Fitted on {FITTED_ON[how]}"
            made = Measure(f"{of.name}_{how}", of.name, unit="share", group=group)
            right = {name: credit(column) for name, column in columns.items()}
            yield Outcomes(made, right, statistic, family=made.key)

    def _within(self, of: Benchmark, parts: CombinedColumns, seed: int) -> dict[str, Floats]:
        """Each fold of images by what was fitted to the others."""
        fold = fold_of(of.image, self.folds, seed)
        columns: dict[str, Floats] = {}
        for k in range(self.folds):
            for name, column in predicted_gaps([of.of(fold != k)], of.of(fold == k), parts).items():
                columns.setdefault(name, np.full(len(of.image), np.nan))[fold == k] = column
        return columns

    def weights(
        self, benchmarks: Sequence[Benchmark], parts: CombinedColumns, seed: int, confidence: float
    ) -> list[dict[str, Any]]:
        """Fitted to all benchmarks, a row a part, the largest weight first; intervals by resampled
        images."""
        every = [(of, np.ones(of.n_images)) for of in benchmarks]
        final = fitted(self.method, every, parts.metrics)
        counts = [bootstrap_counts(of.n_images, self.draws, seed) for of in benchmarks]
        drawn = [
            fitted(
                self.method,
                [(of, each[k]) for of, each in zip(benchmarks, counts, strict=True)],
                parts.metrics,
            )
            for k in range(self.draws)
        ]
        # as if all columns had the scales of the final fit
        replicates = np.array([each.weights * final.scales / each.scales for each in drawn])
        n = sum(of.n_images for of in benchmarks)
        rows = [
            {
                "part": name,
                "weight": Estimate.resampled(float(weight), replicates[:, k], confidence, n),
                "scale": float(final.scales[k]),
            }
            for k, (name, weight) in enumerate(zip(parts.metrics, final.weights, strict=True))
        ]
        return sorted(rows, key=lambda row: -abs(row["weight"].value))

    def _gains(
        self,
        comparisons: Mapping[str, Comparisons],
        measures: Sequence[Measure],
        titles: Sequence[str],
    ) -> Iterator[Extra]:
        """By how much each combination is more often right than the best part, and on how many
        benchmarks a test says so."""
        pairs = [
            (title, each, pair)
            for title in titles[1:]
            for each in measures
            if (pair := comparisons[each.key].between(title, titles[0])) is not None
        ]
        first = measures[0].group
        for group in dict.fromkeys(each.group for each in measures):
            rows: dict[str, dict[str, Any]] = {
                title: {"combination": title, "above": 0, "below": 0} for title in titles[1:]
            }
            for title, each, pair in pairs:
                if each.group == group:
                    rows[title][each.title] = pair.difference
                    if pair.is_significant(comparisons[each.key].alpha):
                        rows[title]["above" if (pair.difference.value or 0) > 0 else "below"] += 1
            name = "gains" if group == first else "gains_within"
            yield Extra.of(name, f"Against the best part: {group.lower()}", rows.values())

    def _write(
        self, path: Path, benchmarks: Sequence[Benchmark], weights: Sequence[Mapping[str, Any]]
    ) -> None:
        entries = {m.name: m for of in benchmarks for m in of.result.metrics}
        known = set(list_choices("dataset")) - GENERAL
        images = {
            weighted.image_digest(dataset, name)
            for of in benchmarks
            for name in of.images
            for dataset in (of.result.dataset, *([""] if of.result.dataset in known else []))
        }
        content = weighted.Combination(
            title=f"Combined ({TITLES[self.method].lower()})",
            method=self.method,
            parts=tuple(
                weighted.WeightedPart(
                    of=f"{entries[row['part']].family}/{row['part']}",
                    weight=row["weight"].value,
                    scale=row["scale"],
                    signature=entries[row["part"]].signature,
                    low=row["weight"].low,
                    high=row["weight"].high,
                )
                for row in weights
            ),
            learned_from=tuple(of.name for of in benchmarks),
            images=tuple(sorted(images)),
        )
        files.write_json(path, content.model_dump(mode="json"))


def combined_columns(
    benchmarks: Sequence[Benchmark], asked: Sequence[str] | None
) -> CombinedColumns:
    """The columns that every run has. Raises ConfigError for one that some run lacks, and where
    fewer than two are left."""
    shared = set.intersection(*(set(of.columns) for of in benchmarks))
    columns = {m.name: m.column for of in benchmarks for m in of.result.metrics}
    for name in asked or ():
        if name not in shared:
            lacking = next(of.name for of in benchmarks if name not in of.columns)
            raise ConfigError(f"task.parts: {lacking} has no scores of '{name}'")
    ranked = [n for n, c in columns.items() if n in shared and c.is_ranked and c.headline]
    metrics = list(asked or ranked)
    if len(metrics) < 2:
        raise ConfigError("task.runs: the runs share fewer than two metrics")
    return CombinedColumns(metrics, [n for n, c in columns.items() if n in shared and c.is_control])


def fitted(
    method: str, given: Sequence[tuple[Benchmark, Floats]], names: Sequence[str]
) -> FittedWeights:
    """Fit a method to benchmarks that count equally, each with how often each image counts."""
    return fit(method, *_together(given, names))


def _together(
    given: Sequence[tuple[Benchmark, Floats]], names: Sequence[str]
) -> tuple[Floats, Floats]:
    """[choices, names] of all benchmarks, and how much each choice counts."""
    tables, weights = [], []
    for of, counts in given:
        table = of.table(names)
        share = np.where(np.isnan(table).any(axis=1), 0.0, counts[of.image])
        tables.append(np.nan_to_num(table))
        weights.append(share / max(share.sum(), 1.0))
    return np.concatenate(tables), np.concatenate(weights)


def predicted_gaps(
    train: Sequence[Benchmark], test: Benchmark, parts: CombinedColumns
) -> dict[str, Floats]:
    """By how much each combination, fitted to some choices, has the better caption above the
    other one, on other choices."""
    given = [(of, np.ones(of.n_images)) for of in train]
    columns = {
        title: fitted(method, given, parts.metrics).of(test.table(parts.metrics))
        for method, title in TITLES.items()
    }
    columns[RANKS] = of_ranks(*_together(given, parts.metrics), test.table(parts.metrics))
    if parts.controls:
        together = fitted("ridge", given, parts.controls)
        columns[CONTROLS] = together.of(test.table(parts.controls))
    return columns
