"""Metrics of the package sacrebleu, of single captions: SacreBLEU, chrF, chrF++ and TER.

SacreBLEU (Post, 2018), chrF (Popović, 2015), chrF++ (Popović, 2017) and TER (Snover et al., 2006)
share a base class in the package whose hooks return the information on references, a segment's
statistics, and the score of statistics (also of their sums). Those are called here; no arithmetic
is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.bleu import BLEU, MAX_NGRAM_ORDER
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Scores, Statistics, SummableMetric, SummableScorer
from metaeval.options import NonNegativeInt, PositiveInt, checked
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store

# those of sacrebleu's; flores200 downloads a model on first use
Tokenizer = Literal["13a", "intl", "char", "zh", "ja-mecab", "flores200", "none"]
Smoothing = Literal["exp", "floor", "add-k", "none"]


def library_settings(library: Any) -> dict[str, object]:
    """sacrebleu's own signature of a metric, without the number of references: those are in the key
    of every cached score."""
    pairs = [pair.split(":", 1) for pair in library.get_signature().format().split("|")]
    return {key: value for key, value in pairs if key != "nrefs"}


class SegmentMetric(SummableMetric):
    """One or more of sacrebleu's metrics, a column each; 100 there is 1 here."""

    scorer_class: ClassVar[type[SegmentScorer]]

    def __init__(self, libraries: Sequence[Any], widths: Sequence[int]) -> None:
        """sacrebleu's metric objects, in the order of the columns, and how many statistics each of
        them has."""
        self.libraries = self.of_corpora = tuple(libraries)
        self.widths = tuple(widths)
        for library in self.libraries:
            library.num_refs = -1  # needed for its signature

    def settings(self) -> dict[str, object]:
        """Whatever would change a number."""
        return {k: v for each in self.libraries for k, v in library_settings(each).items()}

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> SegmentScorer | Absent:
        settings = {**self.settings(), "v": 1}
        return self.missing_part(dataset) or self.scorer_class(self, settings, dataset)

    def of_statistics(self, statistics: Statistics, *, corpus: bool = False) -> Scores:
        """The scores of captions; of a corpus too, which is the same arithmetic on the sums."""
        libraries = self.of_corpora if corpus else self.libraries
        scores = np.full((len(statistics), len(libraries)), np.nan)
        for row in np.flatnonzero(~np.isnan(statistics).any(axis=1)):
            begin = 0
            for column, (library, width) in enumerate(zip(libraries, self.widths, strict=True)):
                part = statistics[row, begin : begin + width].tolist()
                scores[row, column] = library._compute_score_from_stats(part).score / 100
                begin += width
        return scores


class SegmentScorer(SummableScorer):
    """sacrebleu's statistics of captions against the references of a dataset."""

    metric: SegmentMetric
    batch_size = 5000

    def prepare(self) -> None:
        self._references = cache(self._read_references)

    def statistics(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Statistics:
        rows = np.full((len(captions), sum(self.metric.widths)), np.nan)
        for row, (caption, image) in enumerate(zip(captions, image_index.tolist(), strict=True)):
            if self.dataset.references[image]:
                rows[row] = [
                    number
                    for library, known in zip(
                        self.metric.libraries, self._references(image), strict=True
                    )
                    for number in library._compute_segment_statistics(
                        library._preprocess_segment(caption), known
                    )
                ]
        return rows

    def _read_references(self, image: int) -> list[dict[str, object]]:
        """What each library keeps of an image's references."""
        group = self.dataset.references[image]
        return [
            library._extract_reference_info([library._preprocess_segment(r) for r in group])
            for library in self.metric.libraries
        ]


class SacreBleu(SegmentMetric):
    """`sacrebleu.sentence_bleu(caption, references).score / 100`, in [0, 1].

    Sentence level, with effective order: orders beyond the caption's length do not count. 0 for a
    caption without any match, an empty one among them. Not a number only where the image has no
    reference. The raw text goes in: sacrebleu tokenises for itself, and by default keeps case and
    punctuation.

    Parameters
    ----------
    smooth
        sacrebleu's smoothing: "exp", "floor", "add-k" (the two with their default values), "none".
    tokenizer
        sacrebleu's tokeniser: "13a", "intl", "char", "zh", "ja-mecab", "flores200" or "none".
    lowercase
        Fold case first.
    """

    name = "sacrebleu"
    columns = (ScoreColumn("SacreBLEU"),)
    statistics_names = (
        *("length", "reference-length"),
        *(f"{what}-{n}" for what in ("matches", "guesses") for n in range(1, MAX_NGRAM_ORDER + 1)),
    )
    scorer_class = SegmentScorer

    @checked
    def __init__(
        self, smooth: Smoothing = "exp", tokenizer: Tokenizer = "13a", lowercase: bool = False
    ) -> None:
        self._options = (smooth, tokenizer, lowercase)
        self._spaced = tokenizer in ("13a", "intl")
        options: dict[str, Any] = {
            "smooth_method": smooth,
            "tokenize": tokenizer,
            "lowercase": lowercase,
        }
        super().__init__([BLEU(**options, effective_order=True)], [len(self.statistics_names)])
        self.of_corpora = (BLEU(**options),)  # without effective order, as `corpus_bleu`

    def __reduce__(self) -> tuple[type[SacreBleu], tuple[object, ...]]:
        return type(self), self._options  # MeCab's tagger cannot be pickled

    @property
    def needs_spaces(self) -> bool:
        return self._spaced


class TerScorer(SegmentScorer):
    """TER against the references of a dataset."""

    usual_ms = 3.0
    batch_size = 1000


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
    scorer_class = SegmentScorer

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

    def settings(self) -> dict[str, object]:
        return {**super().settings(), "beta": self.libraries[0].beta}

    @property
    def statistics_names(self) -> tuple[str, ...]:
        return tuple(
            f"{column.name} {side} of order {order}"
            for column, library in zip(self.columns, self.libraries, strict=True)
            for order in range(1, library.order + 1)
            for side in ("candidate", "reference", "matches")
        )


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
    scorer_class = TerScorer

    def __init__(
        self, normalized: bool = False, no_punct: bool = False, case_sensitive: bool = False
    ) -> None:
        library = TER(normalized=normalized, no_punct=no_punct, case_sensitive=case_sensitive)
        super().__init__([library], [2])
