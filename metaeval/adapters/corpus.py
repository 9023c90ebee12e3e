"""The scores of candidates and references in lists, as the libraries hand them over."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.api import score
from metaeval.errors import MetaevalError
from metaeval.metrics.base import Metric
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.spice.metric import Spice


class CorpusScore(NamedTuple):
    """The score of all captions together, and float64 [n], each one's own."""

    together: float
    each: npt.NDArray[np.float64]


def bleu(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    max_n: int = 4,
    tokenizer: str = "ptb",
) -> CorpusScore:
    """BLEU of order `max_n`, as in pycocoevalcap; the corpus score is of summed counts."""
    return _scored(Bleu(tokenizer, max_n), candidates, references, f"BLEU-{max_n}")


def cider(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    idf: str = "dataset",
    tokenizer: str = "ptb",
) -> CorpusScore:
    """CIDEr in [0, 10]; the corpus score is the mean."""
    return _scored(Cider(tokenizer=tokenizer, idf=idf), candidates, references, "CIDEr")


def spider(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    idf: str = "dataset",
    tokenizer: str = "ptb",
    parser: str = "auto",
) -> CorpusScore:
    """The mean of SPICE and CIDEr, caption by caption (Liu et al. 2017)."""
    one = cider(candidates, references, idf, tokenizer)
    spice = Spice(parser=parser)
    other = _scored(spice, candidates, references, None)
    each = (one.each + other.each) / 2
    return CorpusScore(float(np.nanmean(each)), each)


def _scored(
    metric: Metric,
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    column: str | None,
) -> CorpusScore:
    """One column of a metric, by default its first; MetaevalError where it cannot run."""
    result = score(list(candidates), [list(group) for group in references], metrics=metric)
    if result.skipped:
        raise MetaevalError(next(iter(result.skipped.values())))
    name = column or next(iter(result.corpus))
    return CorpusScore(result.corpus[name], result.table[name].to_numpy(dtype=np.float64))
