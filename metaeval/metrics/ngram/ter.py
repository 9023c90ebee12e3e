"""TER, translation edit rate (Snover et al., 2006), of single captions: sacrebleu's."""

from __future__ import annotations

from sacrebleu.metrics.ter import TER

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.ngram.sacrebleu_segments import SegmentMetric, SegmentScorer
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store


class Ter(SegmentMetric):
    """`TER.sentence_score(caption, references).score / 100`, from 0 upwards; *lower is better*.

    The least number of edits (words inserted, deleted, replaced, or a run of words moved) that make
    a reference of the caption, over the references' mean length: 1 for an empty caption, and above
    1 for one that is longer than it should be. Not a number only where the image has no reference.

    Parameters
    ----------
    normalized
        Take punctuation off words, as tercom's -N does.
    no_punct
        Leave punctuation out.
    case_sensitive
        Whether case counts.
    """

    name = "ter"
    columns = (ScoreColumn("TER", bounds=(0.0, float("inf")), higher_is_better=False),)
    statistics_names = ("edits", "mean length of the references")

    def __init__(
        self, normalized: bool = False, no_punct: bool = False, case_sensitive: bool = False
    ) -> None:
        library = TER(normalized=normalized, no_punct=no_punct, case_sensitive=case_sensitive)
        super().__init__([library], [2])

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> TerScorer | Absent:
        if (absent := self.missing_part(dataset)) is not None:
            return absent
        return TerScorer(self, {**self.settings(), "v": 1}, dataset)


class TerScorer(SegmentScorer):
    """TER against the references of a dataset."""

    usual_ms = 3.0
    batch_size = 1000
