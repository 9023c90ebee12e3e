"""Published agreement with human judgements, to compare with ours under the same protocol."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.data.judgments.judged import Judgments
from metaeval.results.judgments import PublishedAgreement

CLIPSCORE = "Hessel et al. (2021), CLIPScore, EMNLP"
THUMB = "Kasai et al. (2022), THumB, NAACL"

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


def published(
    judged: Judgments, limit: int | None, human_reference: bool = False
) -> PublishedAgreement:
    """The published values on this data, as fractions.

    There are none under another protocol, where only a part of the data is used, or where a
    person's caption joined THumB's references.
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
    return PublishedAgreement(
        source=source,
        digits=digits,
        values=_fractions(values),
        views={view: _fractions(of_view) for view, of_view in views.items()},
    )


def _fractions(values: Values) -> dict[str, dict[str, float]]:
    return {
        dimension: {metric: value / 100 for metric, value in of_metrics.items()}
        for dimension, of_metrics in values.items()
    }
