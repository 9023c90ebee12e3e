"""True against false captions: `python -m metaeval experiment=pairs dataset=sugarcrepe`.

Pairs of a true and a false caption of one image, scored by every metric and control: which of the
two does it prefer? See docs/pairs.md.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
import pyarrow as pa
from omegaconf import DictConfig

from metaeval.config import build_all, selected
from metaeval.data.dataset import Absent
from metaeval.data.pairs.pairs import CaptionPairs
from metaeval.experiments import (
    ConfigError,
    Floats,
    MeasuredResult,
    Metric,
    MetricExperiment,
    MetricScores,
    RunRecord,
    ToScore,
    dataset_info,
    score_all,
)
from metaeval.experiments.fitted import TEXT, caption_features, fitted_row, predictions
from metaeval.experiments.pairs.statistics import Ties, statistics
from metaeval.experiments.record import counted_noun, language_note
from metaeval.experiments.scores import scored_columns
from metaeval.options import PositiveInt, checked, unknown
from metaeval.runs import files
from metaeval.runs.records import CAPTION, IMAGE_ID, ITEM, RIVAL

DESCRIBED = (
    "{title}: {facts[pairs]:,} {what} of {facts[images]:,} images, {kinds}; the true caption of "
    "{facts[true_among_references]:,} was among the references and was taken out{near}; "
    "{records}{language}"
)
NEAR_COPIES = {True: ", near-copies of {:,} too", False: ", near-copies of {:,} stay"}  # dropped?


class TrueAgainstFalse(
    MetricExperiment[CaptionPairs, list[MetricScores]],
    name="pairs",
    title="True against false captions",
    question="Which metric prefers the truth, and where does a control do as well?",
    data=CaptionPairs,
    needs=(
        "experiment=pairs needs true and false captions: dataset=sugarcrepe, sugarcrepe_pp, valse, "
        "foil, rococo, discourse_foil or pairs"
    ),
):
    """How often each metric prefers the truth, next to controls that do not see the image.

    Parameters
    ----------
    refine
        A control's column ("Brevity"): accuracies again on pairs thinned so that this control is
        right as often as wrong.
    bins
        How many bins of the control's gap that thinning has.
    ties
        How equal scores count, for metrics and controls alike: "half", as if a coin decided, or
        "wrong".
    fitted
        Whether a control is fitted to the answers: a ridge regression on the caption alone, out of
        fold by image.
    """

    @checked
    def __init__(
        self,
        refine: str | None = None,
        bins: PositiveInt = 50,
        ties: Ties = "half",
        fitted: bool = True,
    ) -> None:
        self.refine, self.bins, self.ties, self.fitted = refine, bins, ties, fitted

    def check(self, config: DictConfig) -> None:
        self._control(config)

    def _control(self, config: DictConfig) -> Metric | None:
        """The control to refine by; ConfigError for a column that is not a control of this run."""
        if self.refine is None or not (metrics := build_all(selected(config), config)):
            return None
        controls = {c.name: m for m in metrics.values() for c in m.columns if c.control}
        if self.refine not in controls:
            raise unknown("task.refine", "control", self.refine, controls)
        return controls[self.refine]

    def load(self, config: DictConfig) -> CaptionPairs:
        pairs: CaptionPairs = super().load(config)
        if (control := self._control(config)) is not None:
            absent = control.bind(pairs.dataset)
            if isinstance(absent, Absent):
                raise ConfigError(f"task.refine: '{self.refine}' cannot run here: {absent}")
        return pairs

    def describe(self, data: CaptionPairs) -> str:
        n, dropped = data.facts["near_copies"], bool(data.facts["near_copies_dropped"])
        return DESCRIBED.format(
            title=data.title,
            facts=data.facts,
            what="triplets" if data.triplets else "pairs",
            kinds=counted_noun(len(data.kinds), "kind"),
            near=NEAR_COPIES[dropped].format(n) if n else "",
            records=data.dataset.records,
            language=language_note(data.dataset),
        )

    def write_versions(self, data: CaptionPairs, record: RunRecord) -> None:
        """pairs.parquet: one pair a row."""
        columns = {
            "pair": pa.array(range(len(data)), pa.int64()),
            "image_id": pa.array([p.image for p in data.pairs], pa.string()),
            "kind": pa.array([p.kind for p in data.pairs], pa.string()),
            "true": pa.array([p.true for p in data.pairs], pa.string()),
            "false": pa.array([p.false for p in data.pairs], pa.string()),
            "paraphrase": pa.array([p.paraphrase for p in data.pairs], pa.string()),
            "references": pa.array(
                [list(p.references or ()) for p in data.pairs], pa.list_(pa.string())
            ),
        }
        files.write_arrow(record.out / files.PAIRS, pa.table(columns))
        record.update(dataset=dataset_info(data.dataset))

    def to_score(self, data: CaptionPairs, record: RunRecord) -> Iterable[ToScore]:
        return [ToScore(data.dataset, paired_captions(data))]

    def score(
        self, data: CaptionPairs, metrics: Mapping[str, Metric], record: RunRecord
    ) -> list[MetricScores]:
        """Every caption; in scores.parquet, a pair and metric a row, are the scores as the metric
        gave them: `true`, `false` and, of triplets, `paraphrase`."""
        captions = paired_captions(data)
        results = score_all(metrics.values(), data.dataset, captions, record.config)
        if self.fitted:
            predicted = predict_truth(data, captions, record.config.stats.seed)
            results.append(fitted_row(TEXT, predicted))
        given = list(scored_columns(results))
        n, roles = len(data), ("true", "false", "paraphrase")[: len(data.roles)]
        of_roles = np.array([values for _, values in given]).reshape(len(given), len(roles), n)
        columns: dict[str, object] = {
            "pair": pa.array(np.tile(np.arange(n), len(given)), pa.int64()),
            "metric": pa.array(np.repeat([column.name for column, _ in given], n), pa.string()),
            **{
                role: pa.array(of_roles[:, k].ravel(), pa.float64()) for k, role in enumerate(roles)
            },
        }
        files.write_arrow(record.out / files.SCORES, pa.table(columns))
        return results

    def statistics(
        self, data: CaptionPairs, scores: list[MetricScores], record: RunRecord
    ) -> MeasuredResult:
        """Also written: accuracies.csv, a line a comparison, metric and kind, in full precision."""
        stats = record.config.stats
        result = statistics(
            data, scores, self.ties, stats, refine=self.refine, bins=self.bins
        )
        table = result.extra("accuracies")
        text = files.csv_text([table.columns, *table.rows])
        files.atomic(record.out / files.ACCURACIES, lambda p: p.write_text(text, encoding="utf-8"))
        return result


def paired_captions(data: CaptionPairs) -> pd.DataFrame:
    """The true captions of all pairs, the false ones and, if all have one, the paraphrases."""
    roles = data.roles
    rivals = {RIVAL: [caption for role in roles[::-1] for caption in role]}
    return pd.DataFrame(
        {
            IMAGE_ID: [p.image for p in data.pairs] * len(roles),
            ITEM: np.tile(data.image_index, len(roles)),
            CAPTION: [caption for role in roles for caption in role],
            **({} if data.triplets else rivals),  # a pairwise metric compares two, not three
        }
    )


def predict_truth(pairs: CaptionPairs, captions: pd.DataFrame, seed: int) -> Floats:
    """[n] How true each of the `paired_captions` looks without image and references, fitted on
    other images' pairs.

    A control of the references or of the image alone has nothing to tell: both captions of a pair
    have the same, and so the same prediction.
    """
    roles = len(pairs.roles)
    photograph = np.unique([p.image for p in pairs.pairs], return_inverse=True)[1]
    features = caption_features(pairs.dataset, list(captions[CAPTION]), captions[ITEM].to_numpy())
    target = np.repeat([1.0, 0.0, 1.0][:roles], len(pairs))
    return predictions(features, target, np.tile(photograph, roles), seed)
