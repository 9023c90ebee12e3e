"""True against false captions: `python -m metaeval experiment=pairs dataset=sugarcrepe`.

Pairs of a true and a false caption of one image, scored by every metric and control: which of the
two does it prefer? See docs/pairs.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from omegaconf import DictConfig

from metaeval.config import build_all, selected
from metaeval.data.dataset import Absent
from metaeval.data.pairs.pairs import CaptionPairs
from metaeval.errors import ConfigError
from metaeval.experiments.base import MetricExperiment, ToScore
from metaeval.experiments.fitted import TEXT, caption_features, fitted_row, predictions
from metaeval.experiments.pairs.outcomes import Ties
from metaeval.experiments.pairs.statistics import (
    PairScores,
    PairsSettings,
    RefineBy,
    statistics,
)
from metaeval.experiments.record import (
    RunRecord,
    counted_noun,
    language_info,
    language_note,
    record_counts,
)
from metaeval.experiments.scores import score_all
from metaeval.metrics.base import Metric
from metaeval.options import OpenShare, PositiveInt, checked, unknown
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.run import DatasetInfo
from metaeval.runs import files
from metaeval.runs.files import csv_text
from metaeval.runs.records import CAPTION, IMAGE_ID, ITEM, RIVAL
from metaeval.scoring import MetricScores
from metaeval.stats.resampling.items import Floats

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
    alpha
        The level at which the printout and the report call a difference significant.
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
        alpha: OpenShare = 0.05,
        refine: str | None = None,
        bins: PositiveInt = 50,
        ties: Ties = "half",
        fitted: bool = True,
    ) -> None:
        self.alpha, self.ties = float(alpha), ties
        self.refine, self.bins, self.fitted = refine, bins, fitted

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
        write_pairs(record.out, data)
        record.update(
            dataset=DatasetInfo(
                name=data.name,
                n_images=data.facts["images"],
                n_references=tuple(sorted({len(p.references or ()) for p in data.pairs})),
                sources=dict(data.dataset.sources),
                notes=tuple(data.dataset.notes),
                fallback=None,
                records=record_counts(data.dataset.records),
                language=language_info(data.dataset),
            )
        )

    def to_score(self, data: CaptionPairs, record: RunRecord) -> Iterable[ToScore]:
        return [ToScore(data.dataset, paired_captions(data))]

    def score(
        self, data: CaptionPairs, metrics: Mapping[str, Metric], record: RunRecord
    ) -> list[MetricScores]:
        captions = paired_captions(data)
        results = score_all(metrics.values(), data.dataset, captions, record.config)
        if self.fitted:
            results.append(
                fitted_row(TEXT, predict_truth(data, captions, record.config.stats.seed))
            )
        _write_pair_scores(record.out, data, results)
        return results

    def statistics(
        self, data: CaptionPairs, scores: list[MetricScores], record: RunRecord
    ) -> MeasuredResult:
        stats, settings = record.config.stats, PairsSettings(self.alpha, self.ties)
        refine = None if self.refine is None else RefineBy(self.refine, self.bins)
        result = statistics(data, scores, pair_scores(scores, len(data)), settings, stats, refine)
        write_accuracies(record.out, result.extra("accuracies"))
        return result


def paired_captions(data: CaptionPairs) -> pd.DataFrame:
    """The true captions of all pairs, the false ones and, if all have one, the paraphrases."""
    roles = data.roles
    captions = pd.DataFrame(
        {
            IMAGE_ID: [p.image for p in data.pairs] * len(roles),
            ITEM: np.tile(data.image_index, len(roles)),
            CAPTION: [caption for role in roles for caption in role],
        }
    )
    if not data.triplets:  # a pairwise metric compares two captions, not three
        captions[RIVAL] = [caption for role in roles[::-1] for caption in role]
    return captions


def pair_scores(results: Sequence[MetricScores], n: int) -> dict[str, PairScores]:
    """Column → the scores of the n true captions, the false ones and, if any, the paraphrases."""
    scores = {}
    for scored in results:
        if scored.scores is None:
            continue
        for column, values in zip(scored.columns, scored.scores.T, strict=True):
            upward = values if column.higher_is_better else -values
            roles = np.split(upward, len(upward) // n)
            scores[column.name] = PairScores(
                roles[0], roles[1], roles[2] if len(roles) > 2 else None
            )
    return scores


def predict_truth(pairs: CaptionPairs, captions: pd.DataFrame, seed: int) -> Floats:
    """[n] How true each of the `paired_captions` looks without image and references, fitted on
    other images' pairs.

    A control of the references or of the image alone has nothing to tell: both captions of a pair
    have the same, and so the same prediction.
    """
    roles = len(captions) // len(pairs)
    photograph = np.unique([p.image for p in pairs.pairs], return_inverse=True)[1]
    features = caption_features(pairs.dataset, list(captions[CAPTION]), captions[ITEM].to_numpy())
    target = np.repeat([1.0, 0.0, 1.0][:roles], len(pairs))
    return predictions(features, target, np.tile(photograph, roles), seed)


def write_pairs(out: Path, pairs: CaptionPairs) -> None:
    """One pair a row: `pair` (its number), image_id, kind, true, false, paraphrase, references."""
    columns = {
        "pair": pa.array(range(len(pairs)), pa.int64()),
        "image_id": pa.array([p.image for p in pairs.pairs], pa.string()),
        "kind": pa.array([p.kind for p in pairs.pairs], pa.string()),
        "true": pa.array([p.true for p in pairs.pairs], pa.string()),
        "false": pa.array([p.false for p in pairs.pairs], pa.string()),
        "paraphrase": pa.array([p.paraphrase for p in pairs.pairs], pa.string()),
        "references": pa.array(
            [list(p.references or ()) for p in pairs.pairs], pa.list_(pa.string())
        ),
    }
    files.write_arrow(out / files.PAIRS, pa.table(columns))


def _write_pair_scores(out: Path, data: CaptionPairs, results: Sequence[MetricScores]) -> None:
    """scores.parquet, a pair and metric a row: `true`, `false`, `paraphrase` as the metric gave
    them (NaN = could not be scored)."""
    given = [
        (column.name, values)
        for scored in results
        if scored.scores is not None
        for column, values in zip(scored.columns, scored.scores.T, strict=True)
    ]
    n, roles = len(data), ("true", "false", "paraphrase")[: len(data.roles)]
    of_roles = np.array([values for _, values in given]).reshape(len(given), len(roles), n)
    columns: dict[str, object] = {
        "pair": pa.array(np.tile(np.arange(n), len(given)), pa.int64()),
        "metric": pa.array([name for name, _ in given for _ in range(n)], pa.string()),
        **{role: pa.array(of_roles[:, k].ravel(), pa.float64()) for k, role in enumerate(roles)},
    }
    files.write_arrow(out / files.SCORES, pa.table(columns))


def write_accuracies(out: Path, accuracies: Extra) -> None:
    """accuracies.csv: a line a comparison, metric and kind, in full precision."""
    rows = [["" if cell is None else cell for cell in row] for row in accuracies.rows]
    text = csv_text([accuracies.columns, *rows])
    files.atomic(out / files.ACCURACIES, lambda p: p.write_text(text, encoding="utf-8"))
