"""Published correlations with human judgements, to stand beside ours under their protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metaeval.data.judgments.judged import Judgments

SOURCE = "Hessel et al. (2021), CLIPScore, EMNLP"

# dataset → metric → the paper's statistic, times 100 as printed
_CLIPSCORE_2021: Mapping[str, Mapping[str, float]] = {
    "flickr8k_expert": {
        "BLEU-1": 32.3, "BLEU-4": 30.8, "ROUGE-L": 32.3, "METEOR": 41.8, "CIDEr": 43.9,
        "SPICE": 44.9, "CLIPScore": 51.2, "RefCLIPScore": 53.0,
    },
    "flickr8k_cf": {
        "BLEU-4": 16.9, "ROUGE-L": 19.9, "METEOR": 22.2, "CIDEr": 24.6, "SPICE": 24.4,
        "CLIPScore": 34.4, "RefCLIPScore": 36.4,
    },
}  # fmt: skip


# dataset → what was rated, and how many judged captions its files hold
_WHOLE = {
    "flickr8k_expert": ("rating", 5822),
    "flickr8k_cf": ("yes", 47830),
}


def published(judged: Judgments, limit: int | None) -> dict[str, Any]:
    """source, dimension and values (as fractions) of what was published on this data.

    There are no values under another protocol, or where only a part of the data is used.
    """
    dimension, n = _WHOLE.get(judged.name, (judged.dimensions[0], 0))
    whole = limit is None and judged.facts["judged_in_files"] == n
    same = judged.protocol.name == "clipscore2021"
    values = _CLIPSCORE_2021.get(judged.name, {}) if whole and same else {}
    return {
        "source": SOURCE,
        "dimension": dimension,
        "values": {metric: value / 100 for metric, value in values.items()},
    }
