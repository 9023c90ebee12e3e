"""What captions of each kind answer about their references: graded, rated, or in pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from metaeval.data.dataset import CaptionDataset
from metaeval.data.judgments.judged import Judgments
from metaeval.data.judgments.pascal50s import VOTES, ForcedChoice
from metaeval.errors import ConfigError
from metaeval.experiments.captions import describe_dataset
from metaeval.experiments.forced_choice.scores import ChoiceScores, score_choices, write_pairs
from metaeval.experiments.forced_choice.statistics import MEAN, measure_of, statistics
from metaeval.experiments.forced_choice.task import pairs_info
from metaeval.experiments.graded.statistics import matrix, set_table
from metaeval.experiments.graded.task import Graded
from metaeval.experiments.judgments.files import write_score_columns
from metaeval.experiments.judgments.task import HumanCorrelation, judged_captions
from metaeval.experiments.record import RunRecord
from metaeval.experiments.references.ratings import rated_agreement
from metaeval.experiments.scores import score_all
from metaeval.metrics.base import Metric
from metaeval.results.base import Estimate
from metaeval.results.references import AtReferences
from metaeval.runs import files
from metaeval.runs.columns import IMAGE_ID, SET
from metaeval.scoring import MetricScores
from metaeval.stats.ordering.graded import graded_result
from metaeval.stats.resampling.bootstrap import bootstrap_counts

CHOICE_COUNTS = [0, 1, 2, 5, 10, 20, VOTES]


class CountScores(NamedTuple):
    """The scores with this number of references; `choice` holds those of a forced choice."""

    n_references: int
    scored: list[MetricScores]
    choice: ChoiceScores | None = None


class ReferenceData(ABC):
    """Captions that can be scored with fewer references than they have.

    Attributes
    ----------
    name
        Name of the dataset.
    most
        The largest number of references of an image.
    n_images, n_bare
        How many images there are, and how many of them have no reference.
    usual
        The numbers of references of a run that names none: from none to all that every image has.
    """

    kind: ClassVar[Literal["graded", "choice", "ratings"]]

    def __init__(self, name: str, references: Sequence[Sequence[str]]) -> None:
        counts = [len(of_image) for of_image in references]
        self.name, self.most = name, max(counts)
        self.n_images, self.n_bare = len(counts), counts.count(0)
        self.usual = list(range(min(counts) + 1))

    @abstractmethod
    def describe(self, counts: str) -> str:
        """The data in a line."""

    @abstractmethod
    def write_versions(self, counts: Sequence[int], record: RunRecord) -> None:
        """Write what is scored, and the dataset's entry in `run.json`."""

    @abstractmethod
    def score(
        self, counts: Sequence[int], metrics: Sequence[Metric], record: RunRecord
    ) -> list[CountScores]:
        """The scores with each number of references, which are also written into the run."""

    @abstractmethod
    def values(self, scores: CountScores, record: RunRecord) -> dict[str, AtReferences]:
        """Column → its agreement with this number of references; of those that ran."""


def _score(
    dataset: CaptionDataset,
    captions: pd.DataFrame,
    counts: Sequence[int],
    metrics: Sequence[Metric],
    record: RunRecord,
) -> list[CountScores]:
    """Scores against the first references of each image."""
    made, parts = [], []
    of_part: list[int] = []
    for n in counts:
        fewer = replace(dataset, references=tuple(r[:n] for r in dataset.references))
        scored = score_all(metrics, fewer, captions, record.config)
        made.append(CountScores(n, scored))
        for each in scored:
            for c, column in enumerate(each.columns if each.scores is not None else ()):
                assert each.scores is not None
                parts.append((column.name, each.scores[:, c]))
                of_part.append(n)
    write_score_columns(record.out, "caption", parts, n_references=of_part)
    return made


class GradedData(ReferenceData):
    """Captions to corrupt; `values` are the order of the versions."""

    kind = "graded"

    def __init__(self, dataset: CaptionDataset, graded: Graded) -> None:
        super().__init__(dataset.name, dataset.references)
        self.dataset, self.graded = dataset, graded

    def describe(self, counts: str) -> str:
        return f"{describe_dataset(self.dataset)}; with {counts}"

    def write_versions(self, counts: Sequence[int], record: RunRecord) -> None:
        self.graded.write_versions(self.dataset, record)

    def score(
        self, counts: Sequence[int], metrics: Sequence[Metric], record: RunRecord
    ) -> list[CountScores]:
        captions = files.read_table(record.out / files.CAPTIONS, ("image_id", "caption"))
        return _score(self.dataset, captions, counts, metrics, record)

    def values(self, scores: CountScores, record: RunRecord) -> dict[str, AtReferences]:
        stats = record.config.stats
        captions = files.read_table(record.out / files.CAPTIONS)
        images, sets = pd.Index(captions[IMAGE_ID].unique()), set_table(captions)
        names, levels = [s.name for s in sets], np.array([s.level for s in sets])
        counts = bootstrap_counts(len(images), stats.replicates, stats.seed)
        keys = captions[[IMAGE_ID, SET]]
        values = {}
        for scored in scores.scored:
            for c, column in enumerate(scored.columns):
                if scored.status != "ok" or scored.scores is None:
                    continue
                table = matrix(keys.assign(score=scored.scores[:, c]), "score", images, names)
                computed = graded_result(
                    table, levels, names, higher_is_better=column.higher_is_better,
                    counts=counts, confidence=stats.confidence,
                ).record  # fmt: skip
                values[column.name] = AtReferences(
                    n_references=scores.n_references,
                    status="ok",
                    rank_order_rho=Estimate.of(computed.rank_order_rho),
                    rank_order_rho_within=Estimate.of(computed.rank_order_rho_within),
                    pairwise_accuracy=Estimate.of(computed.pairwise_accuracy),
                )
        return values


class RatedData(ReferenceData):
    """Captions that people rated; `values` are correlations with the ratings."""

    kind = "ratings"

    def __init__(self, judged: Judgments) -> None:
        super().__init__(judged.name, judged.dataset.references)
        self.judged = judged

    def describe(self, counts: str) -> str:
        return f"{self.judged.title}: {len(self.judged):,} rated captions, with {counts} references"

    def write_versions(self, counts: Sequence[int], record: RunRecord) -> None:
        HumanCorrelation().write_versions(self.judged, record)

    def score(
        self, counts: Sequence[int], metrics: Sequence[Metric], record: RunRecord
    ) -> list[CountScores]:
        captions = judged_captions(self.judged)
        return _score(self.judged.dataset, captions, counts, metrics, record)

    def values(self, scores: CountScores, record: RunRecord) -> dict[str, AtReferences]:
        return rated_agreement(self.judged, scores.n_references, scores.scored, record.config)


class PairData(ReferenceData):
    """Pairs of captions; `values` are the shares of pairs on which people agree with a metric."""

    kind = "choice"

    def __init__(self, pairs: ForcedChoice) -> None:
        if pairs.fixed_references:
            raise ConfigError(
                f"experiment=references cannot vary the references of {pairs.title}: its protocol "
                "fixes them"
            )
        super().__init__(pairs.name, pairs.references)
        self.pairs, self.usual = pairs, CHOICE_COUNTS

    def describe(self, counts: str) -> str:
        return (
            f"{self.pairs.title}: {len(self.pairs):,} pairs of captions, with {counts} references"
        )

    def write_versions(self, counts: Sequence[int], record: RunRecord) -> None:
        write_pairs(record.out, self.pairs)
        record.update(dataset=pairs_info(self.pairs, counts))

    def score(
        self, counts: Sequence[int], metrics: Sequence[Metric], record: RunRecord
    ) -> list[CountScores]:
        made = []
        for n in counts:
            # the scores of each number have a folder: what cannot run without references can with
            folder = record.out / f"{files.BY_REFERENCES}{n}"
            choice = score_choices(self._with(n), metrics, record.config, folder)
            made.append(CountScores(n, choice.results, choice))
        return made

    def values(self, scores: CountScores, record: RunRecord) -> dict[str, AtReferences]:
        assert scores.choice is not None
        n = scores.n_references
        result = statistics(self._with(n), scores.choice, record.config, 1, 0.05)
        mean = measure_of(n, MEAN).key
        return {
            metric.name: AtReferences(
                n_references=n,
                status="ok",
                agreement=metric.numbers[mean],
                categories={
                    key.removeprefix(f"{mean}_"): each.value
                    for key, each in metric.numbers.values.items()
                    if key != mean
                },
            )
            for metric in result.metrics
            if metric.statistics is not None
        }

    def _with(self, n: int) -> ForcedChoice:
        return replace(self.pairs, n_references=(n,), draws=self.pairs.draws if n else 1)


@singledispatch
def reference_data(data: object, config: DictConfig, floor: bool) -> ReferenceData:
    """The data of a run with ever more references; ConfigError for those that have none."""
    raise ConfigError(
        "experiment=references needs captions with references (coco_val2017, scenes, own) "
        "or captions that people judged (pascal50s, composite, flickr8k_expert …)"
    )


@reference_data.register
def _(data: CaptionDataset, config: DictConfig, floor: bool) -> ReferenceData:
    graded = Graded(floor)
    graded.check(config)
    return GradedData(graded.corruptible(data, config), graded)


@reference_data.register
def _(data: Judgments, config: DictConfig, floor: bool) -> ReferenceData:
    return RatedData(data)


@reference_data.register
def _(data: ForcedChoice, config: DictConfig, floor: bool) -> ReferenceData:
    return PairData(data)
