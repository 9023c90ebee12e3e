"""Published accuracies on PASCAL-50S and AudioCaps-Eval, to compare with ours."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.data.judgments.pascal50s import ForcedChoice
from metaeval.papers.expected import cells_of
from metaeval.results.forced_choice import PublishedChoice

FAIER = "Wang et al. (2021), FAIEr, CVPR"
VIFIDEL = "Madhyastha et al. (2019), VIFIDEL, ACL"

# labels → the source, and paper and item with its percentages for five references
_PASCAL50S: Mapping[str, tuple[str, str, str]] = {
    "direct": (FAIER, "wang2021faier", "pascal50s"),
    "consensus": (VIFIDEL, "madhyastha2019vifidel", "tables5-6"),
}
_FIVE = 5  # references of all of them

FENSE = "Zhou et al. (2022), FENSE, ICASSP"
_AUDIOCAPS_PAIRS = 1483


def published(pairs: ForcedChoice, limit: int | None) -> PublishedChoice:
    """The published accuracies on AudioCaps-Eval, or on PASCAL-50S with these labels and five
    references; none for a part of the data, or for other data."""
    if pairs.labels == "votes":
        audiocaps = pairs.name == "audiocaps_eval" and len(pairs) == _AUDIOCAPS_PAIRS
        return PublishedChoice(
            source=FENSE,
            n_references=pairs.n_references[0],
            values=_shares("zhou2022fense", "audiocaps") if audiocaps and limit is None else {},
        )
    source, paper, item = _PASCAL50S[pairs.labels]
    whole = limit is None and len(pairs) == 4000 and _FIVE in pairs.n_references
    return PublishedChoice(
        source=source, n_references=_FIVE, values=_shares(paper, item) if whole else {}
    )


def _shares(paper: str, item: str) -> Mapping[str, Mapping[str, float]]:
    """Metric → category → the printed percentage as a share."""
    return {
        metric: {category: value / 100 for category, value in of_metric.items()}
        for metric, of_metric in cells_of(paper, item).items()
    }
