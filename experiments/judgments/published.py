"""Published agreement with human judgements, to stand beside ours under the same protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metaeval.data.judgments.judged import Judgments
from metaeval.data.judgments.pascal50s import ForcedChoice

CLIPSCORE = "Hessel et al. (2021), CLIPScore, EMNLP"
THUMB = "Kasai et al. (2022), THumB, NAACL"
FAIER = "Wang et al. (2021), FAIEr, CVPR"
VIFIDEL = "Madhyastha et al. (2019), VIFIDEL, ACL"

Values = Mapping[str, Mapping[str, float]]  # dimension → metric → the statistic, times 100

# dataset → the values of the protocol "clipscore2021", as printed
_CLIPSCORE_2021: Mapping[str, Values] = {
    "flickr8k_expert": {
        "rating": {
            "BLEU-1": 32.3, "BLEU-4": 30.8, "ROUGE-L": 32.3, "METEOR": 41.8, "CIDEr": 43.9,
            "SPICE": 44.9, "CLIPScore": 51.2, "RefCLIPScore": 53.0,
        },
    },
    "flickr8k_cf": {
        "yes": {
            "BLEU-4": 16.9, "ROUGE-L": 19.9, "METEOR": 22.2, "CIDEr": 24.6, "SPICE": 24.4,
            "CLIPScore": 34.4, "RefCLIPScore": 36.4,
        },
    },
    "composite": {
        "correctness": {
            "BLEU-1": 31.3, "BLEU-4": 30.6, "ROUGE-L": 32.4, "METEOR": 38.9, "CIDEr": 37.7,
            "SPICE": 40.3,
        },
    },
}  # fmt: skip
# THumB's Pearson r of five kinds of captions, people's among them, and without these
_THUMB: Values = {"precision": {"CIDEr": 21}, "recall": {"CIDEr": 11}, "total": {"CIDEr": 23}}
_THUMB_MACHINES: Values = {
    "precision": {"CIDEr": 27}, "recall": {"CIDEr": 18}, "total": {"CIDEr": 33},
}  # fmt: skip
# how many judged captions the files of a whole dataset hold
_WHOLE = {"flickr8k_expert": 5822, "flickr8k_cf": 47830, "composite": 11985, "thumb": 2500}

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
_CATEGORIES = ("HC", "HI", "HM", "MM")
_FIVE = 5  # references of all of them


def published(
    judged: Judgments, limit: int | None, human_reference: bool = False
) -> dict[str, Any]:
    """What was published on this data: `source`, and values as fractions.

    `digits` are the decimals of the percentages that were printed.
    `values` is dimension → metric → value, `views` the same for each part of the captions. There
    are none under another protocol, where only a part of the data is used, or where a person's
    caption joined THumB's references.
    """
    whole = limit is None and judged.facts["judged_in_files"] == _WHOLE.get(judged.name)
    statistic = judged.protocol.statistic
    values: Values = {}
    views: Mapping[str, Values] = {}
    source, digits = (THUMB, 0) if judged.name == "thumb" else (CLIPSCORE, 1)
    if whole and judged.protocol.name == "clipscore2021":
        values = _CLIPSCORE_2021.get(judged.name, {})
    elif judged.name == "thumb" and whole and not human_reference and statistic == "pearson":
        values, views = _THUMB, {"without Human": _THUMB_MACHINES}
    return {
        "source": source,
        "digits": digits,
        "values": _fractions(values),
        "views": {view: _fractions(of_view) for view, of_view in views.items()},
    }


def published_choice(pairs: ForcedChoice, limit: int | None) -> dict[str, Any]:
    """What was published on PASCAL-50S with these labels and five references, as fractions."""
    source, values = _PASCAL50S[pairs.labels]
    whole = limit is None and len(pairs) == 4000 and _FIVE in pairs.n_references
    return {
        "source": source,
        "n_references": _FIVE,
        "values": {
            metric: {c: v / 100 for c, v in zip(_CATEGORIES, row, strict=True)}
            for metric, row in (values if whole else {}).items()
        },
    }


def _fractions(values: Values) -> dict[str, dict[str, float]]:
    return {
        dimension: {metric: value / 100 for metric, value in of_metrics.items()}
        for dimension, of_metrics in values.items()
    }
