"""True against false captions: `python -m metaeval experiment=pairs dataset=sugarcrepe`.

Pairs of a true and a false caption of one image, scored by every metric and control: which of the
two does it prefer? See docs/pairs.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from metaeval.config import build_all, load_dataset, selected
from metaeval.data.dataset import Absent
from metaeval.data.pairs.pairs import CaptionPairs
from metaeval.errors import ConfigError
from metaeval.experiments.base import MetricExperiment, Pass, ToScore
from metaeval.experiments.captions import language_info, language_note, record_counts
from metaeval.experiments.fitted import TEXT, as_scores
from metaeval.experiments.pairs.files import write_accuracies, write_pairs, write_scores
from metaeval.experiments.pairs.fitted import fitted_text
from metaeval.experiments.pairs.printout import printout
from metaeval.experiments.pairs.statistics import PairScores, RefineBy, statistics
from metaeval.experiments.record import RunRecord
from metaeval.experiments.scores import score_all
from metaeval.metrics.base import Metric
from metaeval.options import Draws, OpenShare, PositiveInt, checked
from metaeval.results.pairs import PairsResult, PairsSettings, Ties
from metaeval.results.run import DatasetInfo
from metaeval.runs.columns import CAPTION, IMAGE_ID, ITEM, RIVAL
from metaeval.scoring import MetricScores


class TrueAgainstFalse(MetricExperiment[CaptionPairs, list[MetricScores]]):
    """How often each metric prefers the truth, next to controls that do not see the image.

    Parameters
    ----------
    permutations
        Random arrangements of the paired permutation tests.
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

    name = "pairs"
    title = "True against false captions"
    report = "pairs"
    question = "Which metric prefers the truth, and where does a control do as well?"

    @checked
    def __init__(
        self,
        permutations: Draws = 10_000,
        alpha: OpenShare = 0.05,
        refine: str | None = None,
        bins: PositiveInt = 50,
        ties: Ties = "half",
        fitted: bool = True,
    ) -> None:
        self.permutations, self.alpha, self.ties = permutations, float(alpha), ties
        self.refine, self.bins, self.fitted = refine, bins, fitted

    def check(self, config: DictConfig) -> None:
        self._control(config)

    def _control(self, config: DictConfig) -> Metric | None:
        """The control to refine by; ConfigError for a column that is not a control of this run."""
        if self.refine is None or not (metrics := build_all(selected(config), config)):
            return None
        controls = {c.name: m for m in metrics.values() for c in m.columns if c.control}
        if self.refine not in controls:
            raise ConfigError(
                f"task.refine: '{self.refine}' is not among the controls of this run: "
                f"{', '.join(controls) or 'none (add metrics=[…,controls])'}"
            )
        return controls[self.refine]

    def load(self, config: DictConfig) -> CaptionPairs:
        pairs = load_dataset(config)
        if not isinstance(pairs, CaptionPairs):
            raise ConfigError(
                "experiment=pairs needs true and false captions: dataset=sugarcrepe, "
                "sugarcrepe_pp, valse, foil or pairs"
            )
        if (control := self._control(config)) is not None:
            absent = control.bind(pairs.dataset)
            if isinstance(absent, Absent):
                raise ConfigError(f"task.refine: '{self.refine}' cannot run here: {absent}")
        return pairs

    def describe(self, data: CaptionPairs) -> str:
        facts = data.facts
        what = "triplets" if data.triplets else "pairs"
        near = ""
        if n := facts["near_copies"]:
            near = f", near-copies of {n:,} {'too' if facts['near_copies_dropped'] else 'stay'}"
        return (
            f"{data.title}: {facts['pairs']:,} {what} of {facts['images']:,} images, "
            f"{len(data.kinds)} kind{'' if len(data.kinds) == 1 else 's'}; the true caption of "
            f"{facts['true_among_references']:,} was among the references and was taken out"
            f"{near}; {data.dataset.records}{language_note(data.dataset)}"
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
        higher = {c.name: c.higher_is_better for s in results for c in s.columns}
        scores = pair_scores(results, len(data))
        write_scores(record.out, {name: (s, higher[name]) for name, s in scores.items()})
        return results

    def passes(self, scores: list[MetricScores]) -> Sequence[Pass]:
        return [Pass(scored) for scored in scores]

    def statistics(
        self, data: CaptionPairs, scores: list[MetricScores], record: RunRecord
    ) -> PairsResult:
        stats = record.config.stats
        settings = PairsSettings(
            replicates=stats.replicates,
            confidence=stats.confidence,
            seed=stats.seed,
            permutations=self.permutations,
            alpha=self.alpha,
            ties=self.ties,
        )
        refine = None if self.refine is None else RefineBy(self.refine, self.bins)
        table = pair_scores(scores, len(data))
        if self.fitted:
            scores = [*scores, as_scores(TEXT)]
            table[TEXT] = fitted_text(data, stats.seed)
        result = statistics(data, scores, table, settings, refine)
        write_accuracies(record.out, result)
        return result

    def printout(self, result: PairsResult, record: RunRecord, file: Path) -> str:
        return printout(result, file)


def paired_captions(data: CaptionPairs) -> pd.DataFrame:
    """The true captions of all pairs, the false ones and, if all have one, the paraphrases."""
    roles = [[p.true for p in data.pairs], [p.false for p in data.pairs]]
    if data.triplets:
        roles.append([p.paraphrase or "" for p in data.pairs])
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
