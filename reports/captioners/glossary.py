"""The words of the captioners' report."""

from __future__ import annotations

from metaeval.reports.shared.elements import Term

_TEXTS = {
    "Corpus score": (
        "BLEU, SacreBLEU or METEOR of all captions of a system together: their counts of matches "
        "and words are summed first, and the score is computed from the sums, as in papers.",
    ),
    "Mean of sentences": (
        "The mean of the scores of single captions. For metrics without a corpus score it is what "
        "papers report; for BLEU, SacreBLEU and METEOR it is a different number.",
    ),
    "References": (
        "A system's captions are compared with all captions that people wrote for the image; "
        "against Human, both sides are compared with all except the first.",
    ),
    "Against Human": (
        "Captions of a system (lower level) and of people (upper level), put in order of score; ρ "
        "is Spearman's correlation between the levels in that order and the perfect order. 1: all "
        "human captions above all of the machine's, 0: no difference, below 0: machine above "
        "people.",
    ),
    "> and ≈": (
        "Neighbours in a ranking: > where the permutation test, corrected, separates them, ≈ "
        "where it does not.",
        "The two captions of each image change places at random; p is the share of such "
        "arrangements with a difference at least as large.",
    ),
    "Holm": (
        "Correction for several tests: all pairs of neighbours in one metric's ranking. Each "
        "ranking is a separate family.",
    ),
    "Interval": (
        "Percentile bootstrap over images: the systems are fixed, the images are a sample.",
    ),
    "Kendall τ-b": (
        "Pairs in the same order minus pairs in opposite order, over those that either metric "
        "separates (geometric mean).",
    ),
    "Disagreement": (
        "Of an image: take two captions and two metrics that both prefer one of them; the share of "
        "such cases in which they prefer different ones. Each metric has one vote; a metric "
        "with a tie abstains.",
    ),
    "Conflict of two metrics": (
        "The pair of captions of an image on which one metric prefers the first, the other the "
        "second, by most: the smaller of the two leads, each in standard deviations of its metric "
        "over all captions.",
    ),
    "Mean rank": (
        "A system's place, 1 being first, averaged over the scores that represent their metrics: "
        "the corpus score where there is one, of BLEU the highest order, no components.",
    ),
}
TERMS = tuple(Term("", name, *texts) for name, texts in _TEXTS.items())
