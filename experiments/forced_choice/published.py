"""Published accuracies on PASCAL-50S and AudioCaps-Eval, to compare with ours."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.data.judgments.pascal50s import CATEGORIES, ForcedChoice
from metaeval.results.forced_choice import PublishedChoice

FAIER = "Wang et al. (2021), FAIEr, CVPR"
VIFIDEL = "Madhyastha et al. (2019), VIFIDEL, ACL"

# labels → metric → percent of HC, HI, HM, MM with five references
_PASCAL50S: Mapping[str, tuple[str, Mapping[str, tuple[float, ...]]]] = {
    "direct": (
        FAIER,
        {
            "BLEU-4": (53.0, 92.3, 86.3, 60.6), "METEOR": (58.1, 97.3, 93.8, 63.0),
            "CIDEr": (54.6, 98.1, 91.3, 64.0), "TIGEr": (56.0, 99.8, 92.8, 74.2),
            "FAIEr": (59.7, 99.9, 92.7, 73.4),
        },
    ),
    "consensus": (
        VIFIDEL,
        {"METEOR": (66, 98, 94, 66), "CIDEr": (67, 98, 90, 66)},
    ),
}  # fmt: skip
_FIVE = 5  # references of all of them

FENSE = "Zhou et al. (2022), FENSE, ICASSP"
# metric → percent of HC, HI, HM, MM of AudioCaps-Eval's 1,483 decided pairs
_AUDIOCAPS: Mapping[str, tuple[float, ...]] = {
    "BLEU-4": (54.7, 85.8, 78.7, 50.6), "METEOR": (66.0, 96.4, 90.0, 60.1),
    "ROUGE-L": (61.1, 91.5, 82.8, 52.1), "CIDEr": (56.2, 96.0, 90.4, 61.2),
    "SPICE": (50.2, 83.8, 77.8, 49.1),
}  # fmt: skip
_AUDIOCAPS_PAIRS = 1483


def published(pairs: ForcedChoice, limit: int | None) -> PublishedChoice:
    """The published accuracies on AudioCaps-Eval, or on PASCAL-50S with these labels and five
    references; none for a part of the data, or for other data."""
    if pairs.labels == "votes":
        audiocaps = pairs.name == "audiocaps_eval" and len(pairs) == _AUDIOCAPS_PAIRS
        return PublishedChoice(
            source=FENSE,
            n_references=pairs.n_references[0],
            values={
                metric: {c: v / 100 for c, v in zip(CATEGORIES, row, strict=True)}
                for metric, row in (_AUDIOCAPS if audiocaps and limit is None else {}).items()
            },
        )
    source, values = _PASCAL50S[pairs.labels]
    whole = limit is None and len(pairs) == 4000 and _FIVE in pairs.n_references
    return PublishedChoice(
        source=source,
        n_references=_FIVE,
        values={
            metric: {c: v / 100 for c, v in zip(CATEGORIES, row, strict=True)}
            for metric, row in (values if whole else {}).items()
        },
    )
