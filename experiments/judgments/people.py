"""Agreement among the people who rated captions: the ceiling of a metric."""

from __future__ import annotations

import numpy as np

from metaeval.data.judgments.judged import Judgments
from metaeval.results.judgments import PeopleAgreement
from metaeval.stats.agreement.ceiling import rater_agreement, sorted_rows


def people_agreement(judged: Judgments, dimension: str) -> PeopleAgreement | None:
    """How far one rating agrees with the others of the same caption: a metric's ceiling.

    The others are separate rows, or their mean, according to the protocol. The files do not say
    who gave a rating, so raters are exchangeable (`rater_agreement`). `None` unless all rated
    captions have the same number of ratings, at least two.
    """
    given = [j.human[dimension] for j in judged.judged if j.human.get(dimension)]
    n = len(given[0]) if given else 0
    if n < 2 or any(len(ratings) != n for ratings in given):
        return None
    table = np.array(given, dtype=np.float64)
    agreement = rater_agreement(
        table, judged.protocol.statistic, averaged=judged.protocol.ratings == "mean"
    )
    return PeopleAgreement(
        value=agreement.value,
        raters=n,
        captions=len(given),
        sorted_rows=sorted_rows(table).are_sorted,
    )
