"""chrF (Popović, 2015) and chrF++ (Popović, 2017) of single captions: sacrebleu's."""

from __future__ import annotations

from sacrebleu.metrics.chrf import CHRF

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.ngram.sacrebleu_segments import SegmentMetric, SegmentScorer
from metaeval.options import NonNegativeInt, PositiveInt
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store


class Chrf(SegmentMetric):
    """`CHRF.sentence_score(caption, references).score / 100`, in [0, 1].

    An F-score of character n-grams: precision and recall, each averaged over the orders that both
    sides have, recall weighted β times; with several references the best one counts. chrF++ also
    counts single words and pairs of words. An empty caption scores 0. Not a number only where the
    image has no reference. The raw text goes in: case and punctuation count.

    Parameters
    ----------
    char_order, word_order
        The longest n-grams of characters, and, for chrF++, of words.
    beta
        How much recall counts against precision.
    lowercase
        Fold case first.
    whitespace
        Whether blanks are characters.
    """

    name = "chrf"
    columns = (ScoreColumn("chrF", headline=False), ScoreColumn("chrF++"))

    def __init__(
        self,
        char_order: PositiveInt = 6,
        word_order: PositiveInt = 2,
        beta: NonNegativeInt = 2,
        lowercase: bool = False,
        whitespace: bool = False,
    ) -> None:
        libraries = [
            CHRF(char_order, words, beta, lowercase, whitespace) for words in (0, word_order)
        ]
        super().__init__(libraries, [3 * library.order for library in libraries])

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> SegmentScorer | Absent:
        if (absent := self.missing_part(dataset)) is not None:
            return absent
        beta = self.libraries[0].beta
        return SegmentScorer(self, {**self.settings(), "beta": beta, "v": 1}, dataset)

    @property
    def statistics_names(self) -> tuple[str, ...]:
        return tuple(
            f"{column.name} {side} of order {order}"
            for column, library in zip(self.columns, self.libraries, strict=True)
            for order in range(1, library.order + 1)
            for side in ("candidate", "reference", "matches")
        )
