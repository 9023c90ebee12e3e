"""The columns of the table, defined once for the headers, the tooltips and the glossary."""

from __future__ import annotations

from metaeval.reports.shared.elements import Term

TERMS: tuple[Term, ...] = (
    Term(
        "metric",
        "Metric",
        "The score that is evaluated. Indented rows are parts of the metric "
        "above them and are not ranked.",
    ),
    Term(
        "rho",
        "Rank-order ρ",
        "All captions are put in order of score; ρ is Spearman's "
        "correlation between the levels in that order and the perfect order. 1 is perfect, 0 is "
        "chance.",
        "Ties are broken at random; the value is the exact expectation. The bar shows the "
        "bootstrap interval (resampled by image), the thin line the exact range from the worst "
        "to the best way of breaking ties, the diamond the published value. Not the same as "
        "Spearman's ρ of level and score, which averages tied ranks.",
    ),
    Term(
        "within",
        "ρ within",
        "The rank-order ρ among the versions of one image, averaged over the images. 1 is perfect, "
        "0 is chance.",
        "Differences between whole images (an easy image scores high in every version) do not "
        "matter here, but lower the pooled ρ. “below control”: not better than the best control, "
        "by a paired test after Holm's correction.",
    ),
    Term(
        "offset",
        "Offset",
        "The share of the variance of the scores between images, over all versions.",
        "Two-way analysis of variance: image, level and rest add up to 1. The pooled ρ of a metric "
        "with much offset says little about what it notices.",
    ),
    Term(
        "",
        "Control",
        "Not a metric, but a baseline that a metric must beat: length, a random score, a bigram "
        "language model of the other images' captions (no image, no reference), the longest run of "
        "words copied from a reference; and the ceiling, the value of a perfect metric.",
    ),
    Term(
        "accuracy",
        "Pairwise",
        "Pairwise accuracy: over all pairs of versions of one image, the "
        "share in which the better version scores strictly higher.",
        "A tie counts as not correct; 0.5 is chance for a metric without ties.",
    ),
    Term(
        "monotone",
        "All in order",
        "Share of images whose versions are all strictly in the right order.",
    ),
    Term(
        "paper",
        "Paper",
        "The published rank-order ρ of the same experiment.",
        "Where a metric names another model than the paper's (BERTScore (MiniLM)), the paper's "
        "value is shown for orientation, marked “another model”, and never compared.",
    ),
    Term(
        "delta",
        "Difference",
        "Ours minus the paper's, and whether corruption seeds or random ties account for it.",
        "The paper used the same images, so the interval over images does not measure it. With "
        "corruption.seeds above 1: how many standard deviations of seeds and ties it differs by. "
        "“ties”: within two standard deviations of random tie-breaking.",
    ),
    Term(
        "spearman",
        "Spearman ρ",
        "Spearman's correlation of level and score over all captions, "
        "tied scores at their mean rank.",
        "Reaches less than 1 even for a perfect order, since the levels themselves are tied.",
    ),
    Term(
        "tau",
        "Kendall τ-b",
        "Kendall's correlation of level and score over all captions, "
        "corrected for ties on both sides.",
        "Like Spearman's ρ it stays below 1 here for a perfect order of distinct scores.",
    ),
    Term(
        "ties",
        "Ties",
        "Tie fraction: the share of captions whose score at least one other caption has as well. "
        "Below it, the share of tied pairs among the versions of one image.",
        "The effect of ties on ρ is the exact range from the worst to the "
        "best way of breaking them.",
    ),
    Term(
        "auc",
        "Adjacent AUC",
        "For each step between neighbouring levels, worst first: the "
        "probability that a caption of the better level outscores one of the worse. 0.5 is "
        "chance; ties count half.",
        "Sorted by the hardest step.",
    ),
    Term(
        "inversions",
        "Inversions",
        "Share of within-image pairs in which the worse version scores strictly higher.",
        "Pairwise accuracy, inversions and within-image ties add up to 1.",
    ),
    Term(
        "",
        "Level",
        "How good a version is known to be: 0 is the worst, the human caption has the highest.",
    ),
    Term(
        "",
        "Interval",
        "Percentile bootstrap. The unit that is resampled is the image, because "
        "the captions of one image belong together.",
    ),
    Term(
        "",
        "Applied",
        "Whether a corruption changed the caption. A shuffle of few words often "
        "leaves them where they were; such captions equal the original, and no metric can separate "
        "them.",
    ),
    Term(
        "",
        "Signature",
        "Everything that changes a metric's numbers: tokeniser, smoothing, model, "
        "weights, library version. Same signature and same caption: same score.",
    ),
)

COLUMNS = {term.key: term for term in TERMS if term.key}
