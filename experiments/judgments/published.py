"""Published agreement with human judgements, to compare with ours under the same protocol."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.data.judgments.judged import Judgments
from metaeval.papers.expected import cells_of, values_of
from metaeval.results.judgments import PublishedAgreement

CLIPSCORE = "Hessel et al. (2021), CLIPScore, EMNLP"
THUMB = "Kasai et al. (2022), THumB, NAACL"

Values = Mapping[str, Mapping[str, float]]  # dimension → metric → the value as printed

# dataset → the item of hessel2021clipscore with the values of the protocol "clipscore2021" × 100,
# and the dimension that they are of
_CLIPSCORE_2021: Mapping[str, tuple[str, str]] = {
    "flickr8k_expert": ("flickr8k-expert", "rating"),
    "flickr8k_cf": ("flickr8k-cf", "yes"),
    "composite": ("composite", "correctness"),
}
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
    scale = 1.0
    source, digits = (THUMB, 0) if judged.name == "thumb" else (CLIPSCORE, 1)
    if whole and judged.protocol.name == "clipscore2021":
        if judged.name in _CLIPSCORE_2021:
            item, dimension = _CLIPSCORE_2021[judged.name]
            values, scale = {dimension: values_of("hessel2021clipscore", item)}, 100.0
    elif judged.name == "thumb" and whole and not human_reference and statistic == "pearson":
        values = _by_dimension(cells_of("kasai2022thumb", "everyone"))
        views = {"without Human": _by_dimension(cells_of("kasai2022thumb", "machines"))}
    return PublishedAgreement(
        source=source,
        digits=digits,
        values=_fractions(values, scale),
        views={view: _fractions(of_view, scale) for view, of_view in views.items()},
    )


def _by_dimension(of_metrics: Mapping[str, Mapping[str, float]]) -> Values:
    """Dimension → metric → value, from metric → dimension → value."""
    values: dict[str, dict[str, float]] = {}
    for metric, of_metric in of_metrics.items():
        for dimension, value in of_metric.items():
            values.setdefault(dimension, {})[metric] = value
    return values


def _fractions(values: Values, scale: float) -> dict[str, dict[str, float]]:
    return {
        dimension: {metric: value / scale for metric, value in of_metrics.items()}
        for dimension, of_metrics in values.items()
    }
