"""How many references a metric needs: `python -m metaeval experiment=references`.

On a captioning dataset the order of graded corruptions, on captions that people judged (PASCAL-50S,
Composite …) the agreement with people, by the number of references, from none on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from metaeval.config import load_dataset
from metaeval.data.dataset import CaptionDataset
from metaeval.data.judgments.judged import Judgments
from metaeval.data.judgments.pascal50s import VOTES, ForcedChoice
from metaeval.errors import ConfigError
from metaeval.experiments.base import MetricExperiment, Pass
from metaeval.experiments.captions import describe_dataset
from metaeval.experiments.forced_choice.scores import ChoiceScores, score_choices, write_pairs
from metaeval.experiments.forced_choice.statistics import choice_agreements
from metaeval.experiments.graded.statistics import matrix, set_table
from metaeval.experiments.graded.task import Graded
from metaeval.experiments.judgments.files import write_score_columns
from metaeval.experiments.judgments.task import HumanCorrelation, judged_captions
from metaeval.experiments.record import RunRecord
from metaeval.experiments.references.ratings import rated_agreement
from metaeval.experiments.scores import score_all
from metaeval.experiments.text_table import text_table
from metaeval.metrics.base import Metric
from metaeval.options import NonNegativeInt
from metaeval.results.base import Estimate
from metaeval.results.graded import StatisticsSettings
from metaeval.results.metric import MetricResult
from metaeval.results.references import (
    AtReferences,
    ReferenceMeasure,
    ReferencesResult,
    ReferencesStatistics,
)
from metaeval.results.run import DatasetInfo
from metaeval.runs import files
from metaeval.runs.columns import IMAGE_ID, SET
from metaeval.scoring import MetricScores
from metaeval.stats.ordering.graded import graded_result
from metaeval.stats.resampling.bootstrap import bootstrap_counts

CHOICE_COUNTS = (0, 1, 2, 5, 10, 20, VOTES)

Data = CaptionDataset | ForcedChoice | Judgments


class OfCount(NamedTuple):
    """The scores with this number of references; `choice` holds those of a forced choice."""

    n_references: int
    scored: list[MetricScores]
    choice: ChoiceScores | None = None


class ByReferences(MetricExperiment[Data, list[OfCount]]):
    """Every metric with ever more references.

    Parameters
    ----------
    n_references
        The numbers of references; always an image's first ones. By default from none to all that an
        image has, on PASCAL-50S CHOICE_COUNTS.
    floor
        Put another image's caption below the strongest corruption.
    """

    name = "references"
    title = "How many references does a metric need?"
    question = "How does a metric's agreement grow with the number of references?"
    report = "references"

    def __init__(
        self, n_references: list[NonNegativeInt] | None = None, floor: bool = True
    ) -> None:
        self.n_references = None if n_references is None else sorted(set(n_references))
        self.graded, self.rated = Graded(floor), HumanCorrelation()

    def load(self, config: DictConfig) -> Data:
        data: Data = load_dataset(config)
        if isinstance(data, ForcedChoice):
            most = VOTES
        elif isinstance(data, Judgments):
            most = max(map(len, data.dataset.references))
        elif isinstance(data, CaptionDataset):
            self.graded.check(config)
            self.graded.load(config)
            most = max(map(len, data.references))
        else:
            raise ConfigError(
                "experiment=references needs captions with references (coco_val2017, scenes, own) "
                "or captions that people judged (pascal50s, composite, flickr8k_expert …)"
            )
        if self.n_references is not None and max(self.n_references, default=0) > most:
            raise ConfigError(
                f"task.n_references: {max(self.n_references)} is more than the {most} there are"
            )
        return data

    def describe(self, data: Data) -> str:
        numbers = ", ".join(map(str, self.counts(data)))
        if isinstance(data, ForcedChoice):
            return f"{data.title}: {len(data):,} pairs of captions, with {numbers} references"
        if isinstance(data, Judgments):
            return f"{data.title}: {len(data):,} rated captions, with {numbers} references"
        return f"{describe_dataset(data)}; with {numbers}"

    def counts(self, data: Data) -> list[int]:
        """The numbers of references, ascending."""
        if self.n_references is not None:
            return self.n_references
        if isinstance(data, ForcedChoice):
            return list(CHOICE_COUNTS)
        references = data.dataset.references if isinstance(data, Judgments) else data.references
        return list(range(min(map(len, references)) + 1))

    def write_versions(self, data: Data, record: RunRecord) -> None:
        if isinstance(data, CaptionDataset):
            self.graded.write_versions(data, record)
            return
        if isinstance(data, Judgments):
            self.rated.write_versions(data, record)
            return
        write_pairs(record.out, data)
        record.update(
            dataset=DatasetInfo(
                name=data.name,
                n_images=len(set(data.image)),
                n_references=tuple(self.counts(data)),
                sources=dict(data.sources),
                notes=tuple(data.notes),
                fallback=None,
                records=None,
            )
        )

    def score(self, data: Data, metrics: Mapping[str, Metric], record: RunRecord) -> list[OfCount]:
        if isinstance(data, ForcedChoice):
            return self._score_pairs(data, metrics, record)
        if isinstance(data, Judgments):
            dataset, captions = data.dataset, judged_captions(data)
        else:
            dataset = data
            captions = files.read_table(record.out / files.CAPTIONS, ("image_id", "caption"))
        made, parts = [], []
        counts: list[int] = []
        for n in self.counts(data):
            fewer = replace(dataset, references=tuple(r[:n] for r in dataset.references))
            scored = score_all(metrics.values(), fewer, captions, record.config)
            made.append(OfCount(n, scored))
            for each in scored:
                for c, column in enumerate(each.columns if each.scores is not None else ()):
                    assert each.scores is not None
                    parts.append((column.name, each.scores[:, c]))
                    counts.append(n)
        write_score_columns(record.out, "caption", parts, n_references=counts)
        return made

    def _score_pairs(
        self, data: ForcedChoice, metrics: Mapping[str, Metric], record: RunRecord
    ) -> list[OfCount]:
        made = []
        for n in self.counts(data):
            # the scores of each number have a folder: what cannot run without references can with
            folder = record.out / f"{files.BY_REFERENCES}{n}"
            pairs = replace(data, n_references=(n,), draws=data.draws if n else 1)
            choice = score_choices(pairs, list(metrics.values()), record.config, folder)
            made.append(OfCount(n, choice.results, choice))
        return made

    def passes(self, scores: list[OfCount]) -> Sequence[Pass]:
        """A metric that runs with some number of references has run; its record has the others."""
        best: dict[str, Pass] = {}
        for n, scored, _ in scores:
            for each in scored:
                if each.family not in best or each.status == "ok":
                    best[each.family] = Pass(each, f"{n} references")
        return list(best.values())

    def statistics(self, data: Data, scores: list[OfCount], record: RunRecord) -> ReferencesResult:
        config = record.config
        entries: dict[str, MetricResult[ReferencesStatistics]] = {}
        by_count: dict[str, list[AtReferences]] = {}
        for of_count in scores:
            if isinstance(data, ForcedChoice):
                values = self._of_pairs(data, of_count, config)
            elif isinstance(data, Judgments):
                values = rated_agreement(data, of_count.n_references, of_count.scored, config)
            else:
                values = self._of_captions(record.out, of_count, config)
            for scored in of_count.scored:
                for c, column in enumerate(scored.columns):
                    name = column.name
                    if name not in entries or scored.status == "ok":
                        entries[name] = scored.result(c, None)
                    by_count.setdefault(name, []).append(
                        values.get(name)
                        or AtReferences(
                            n_references=of_count.n_references,
                            status=scored.status,
                            reason=scored.reason,
                        )
                    )
        return ReferencesResult(
            dataset=data.name,
            metrics=tuple(
                entry.model_copy(
                    update={"statistics": ReferencesStatistics(by_references=tuple(by_count[name]))}
                )
                for name, entry in entries.items()
            ),
            kind=_kind(data),
            n_references=tuple(self.counts(data)),
            settings=StatisticsSettings(
                replicates=config.stats.replicates,
                confidence=config.stats.confidence,
                seed=config.stats.seed,
            ),
        )

    def _of_captions(
        self, out: Path, of_count: OfCount, config: DictConfig
    ) -> dict[str, AtReferences]:
        """Column → its ρ, pooled and within, and its pairwise accuracy; of those that ran."""
        captions = files.read_table(out / files.CAPTIONS)
        images, sets = pd.Index(captions[IMAGE_ID].unique()), set_table(captions)
        names, levels = [s.name for s in sets], np.array([s.level for s in sets])
        counts = bootstrap_counts(len(images), config.stats.replicates, config.stats.seed)
        keys = captions[[IMAGE_ID, SET]]
        values = {}
        for scored in of_count.scored:
            for c, column in enumerate(scored.columns):
                if scored.status != "ok" or scored.scores is None:
                    continue
                table = matrix(keys.assign(score=scored.scores[:, c]), "score", images, names)
                computed = graded_result(
                    table, levels, names, higher_is_better=column.higher_is_better,
                    counts=counts, confidence=config.stats.confidence,
                ).record  # fmt: skip
                values[column.name] = AtReferences(
                    n_references=of_count.n_references,
                    status="ok",
                    rank_order_rho=Estimate.of(computed.rank_order_rho),
                    rank_order_rho_within=Estimate.of(computed.rank_order_rho_within),
                    pairwise_accuracy=Estimate.of(computed.pairwise_accuracy),
                )
        return values

    def _of_pairs(
        self, data: ForcedChoice, of_count: OfCount, config: DictConfig
    ) -> dict[str, AtReferences]:
        """Column → its agreement: the mean of the categories, and each of them."""
        pairs = replace(data, n_references=(of_count.n_references,))
        assert of_count.choice is not None
        values = {}
        for name, agreements in choice_agreements(pairs, of_count.choice, config).items():
            for choice in agreements:
                values[name] = AtReferences(
                    n_references=of_count.n_references,
                    status="ok",
                    agreement=choice.mean,
                    categories={k: v.value for k, v in choice.categories.items()},
                )
        return values

    def printout(self, summary: ReferencesResult, record: RunRecord, file: Path) -> str:
        graded = summary.kind == "graded"
        measure: ReferenceMeasure = "rank_order_rho" if graded else "agreement"
        what = "rank-order ρ" if graded else "agreement with people"
        lines = []
        for metric in summary.metrics:
            if metric.column.part_of is None:
                cells = {
                    f"{at.n_references} refs": _four_digits(at.estimate(measure))
                    for at in metric.numbers.by_references
                }
                lines.append({"metric": metric.name, **cells})
        return "\n".join([*text_table(lines, what), f"{file.stem}: {file}"])


def _kind(data: Data) -> Literal["graded", "choice", "ratings"]:
    if isinstance(data, ForcedChoice):
        return "choice"
    return "ratings" if isinstance(data, Judgments) else "graded"


def _four_digits(estimate: Estimate | None) -> str:
    return "–" if estimate is None or estimate.value is None else f"{estimate.value:.4f}"
