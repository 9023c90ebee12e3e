"""Metrics against people: `python -m metaeval experiment=judgments dataset=flickr8k_expert`.

Every metric scores captions that people have rated: how far do the two agree, and which of two
metrics agrees more? See docs/judgments.md for the protocols and the meaning of each number.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import pandas as pd
from omegaconf import DictConfig, OmegaConf

from metaeval.data.judgments.judged import Judgments
from metaeval.experiments.base import Experiment, MetricExperiment, ToScore
from metaeval.experiments.forced_choice.task import ForcedChoiceAgreement
from metaeval.experiments.judgments.sample import (
    FittedControls,
    fitted_controls,
    row_counts,
    write_judgments,
    write_score_columns,
)
from metaeval.experiments.judgments.statistics import statistics
from metaeval.experiments.printout import spread
from metaeval.experiments.record import (
    RunRecord,
    image_paths,
    language_info,
    language_note,
    record_counts,
)
from metaeval.experiments.scores import score_all, scored_columns
from metaeval.metrics.base import Metric
from metaeval.metrics.judge.diagnostics import RatedCaption
from metaeval.options import checked
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import DatasetInfo
from metaeval.runs.records import CAPTION, IMAGE_ID, ITEM, SYSTEM
from metaeval.scoring import MetricScores

DESCRIBED = (
    "{title}: {facts[judged]:,} captions of {facts[images]:,} images{language}, {rows} rows "
    "({protocol.name}: own captions {protocol.own_captions}, ratings {protocol.ratings}, documents "
    "by {protocol.documents}); references per caption: {references}; {records}"
)
FORCED_CHOICE = "metaeval.data.judgments.pascal50s.load_pascal50s"


class Scores(NamedTuple):
    """The scores of the judged captions, and what the fitted controls are and predict."""

    metrics: list[MetricScores]
    fitted: FittedControls


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

    def hand_over(self, config: DictConfig) -> tuple[Experiment, DictConfig]:
        """Forced choice (PASCAL-50S) is an experiment of its own, with a page of its own."""
        if config.dataset.get("_target_") != FORCED_CHOICE:
            return self, config
        changed: DictConfig = OmegaConf.create(config)
        OmegaConf.set_struct(changed, False)
        changed.task = {
            "_target_": f"{ForcedChoiceAgreement.__module__}.{ForcedChoiceAgreement.__name__}",
        }
        return ForcedChoiceAgreement(), changed

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
        return statistics(data, scores.metrics, scores.fitted, record.config)

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
