"""The rule-based metrics against pycocoevalcap's, on the same captions, in the same run.

    METAEVAL_DATA=… python benchmarks/rule_based.py [--limit N] [--meteor]

scores the four Replace sets of COCO val2017 (Human, Replace 25 %, Replace 50 %, Random: 20,000
captions, 4 references each), tokenised beforehand, with both, asserts that every score is equal to
1e-9, and prints how many times as long pycocoevalcap takes. Ours includes the statistics of the
references, which it computes once for all sets; pycocoevalcap is called once a set, as it scores
one caption per image.

BLEU, ROUGE-L and CIDEr run in this process alone and are measured in its processor time, which
other work on the machine disturbs least; METEOR runs in Java in parallel, so by the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from pycocoevalcap.bleu.bleu import Bleu as CocoBleu
from pycocoevalcap.cider.cider import Cider as CocoCider
from pycocoevalcap.rouge.rouge import Rouge as CocoRouge

from benchmarks.side_by_side import greatest_difference, joined, options_parser, replace_sets
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import Metric, Scorer, Scores
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from metaeval.text.tokenizers import base as tokenizers

Sets = Sequence[Sequence[str]]
CocoScorer = Callable[[dict[int, list[str]], dict[int, list[str]]], Any]

TOLERANCE = 1e-9


def tokenised(dataset: CaptionDataset) -> tuple[CaptionDataset, Sets]:
    """The dataset and its four Replace sets, all captions as PTB tokens joined by spaces."""

    def split(texts: Sequence[str]) -> tuple[str, ...]:
        # a no-break space within a token would be split by some scorers and not by others
        tokens = tokenizers.get("ptb")(texts)
        return tuple(" ".join(words).replace("\xa0", "_") for words in tokens)

    sets = [split(texts) for texts in replace_sets(dataset)]
    ids = dataset.image_ids
    references = tuple(split(group) for group in dataset.references)
    return CaptionDataset("tokenised", ids, sets[0], references, ids, sets[0]), sets


def ours(
    make: Callable[[], Metric], dataset: CaptionDataset, sets: Sets, clock: Callable[[], float]
) -> tuple[Scores, float]:
    """All sets in one call, and the seconds from nothing to the scores."""
    tokenizers.get.cache_clear()  # no metric profits from what another has tokenised
    captions, index = joined(sets)
    started = clock()
    scorer = make().bind(dataset)
    assert isinstance(scorer, Scorer), scorer
    with closing(scorer):
        scorer.prepare()
        return scorer.score(captions, index), clock() - started


def theirs(
    make: Callable[[], CocoScorer], dataset: CaptionDataset, sets: Sets, clock: Callable[[], float]
) -> tuple[Scores, float]:
    """Set by set, and the seconds."""
    references = {i: list(group) for i, group in enumerate(dataset.references)}
    candidates = [{i: [caption] for i, caption in enumerate(captions)} for captions in sets]
    started = clock()
    scorer = make()
    each_set = [scorer(references, each)[1] for each in candidates]
    seconds = clock() - started
    columns: list[npt.NDArray[np.float64]] = [
        np.asarray(scores, dtype=np.float64).reshape(-1, len(dataset)).T for scores in each_set
    ]
    return np.concatenate(columns), seconds


def compare(
    name: str,
    mine: Callable[[], Metric],
    other: Callable[[], CocoScorer],
    dataset: CaptionDataset,
    sets: Sets,
    clock: Callable[[], float] = time.process_time,
) -> tuple[float, float]:
    """Run both, refuse unequal scores, print a line, and return the seconds."""
    scores, fast = ours(mine, dataset, sets, clock)
    expected, slow = theirs(other, dataset, sets, clock)
    line(name, fast, slow, f"{greatest_difference(scores, expected, TOLERANCE):.0e}")
    return fast, slow


def line(name: str, fast: float, slow: float, difference: str = "") -> None:
    print(f"{name:<24}{fast:>9.2f} s{slow:>15.2f} s{slow / fast:>9.1f} ×{difference:>21}")


def rule_based(dataset: CaptionDataset, sets: Sets) -> None:
    """BLEU-1 … BLEU-4, ROUGE-L and CIDEr."""
    pairs: list[tuple[str, Callable[[], Metric], Callable[[], CocoScorer]]] = [
        (
            "BLEU-1 … BLEU-4",
            lambda: Bleu(tokenizer="whitespace"),
            lambda: partial(CocoBleu(4).compute_score, verbose=0),
        ),
        ("ROUGE-L", lambda: RougeL(tokenizer="whitespace"), lambda: CocoRouge().compute_score),
        ("CIDEr", lambda: Cider(tokenizer="whitespace"), lambda: CocoCider().compute_score),
    ]
    seconds = [compare(*pair, dataset, sets) for pair in pairs]
    line("together", *(sum(column) for column in zip(*seconds, strict=True)))


def meteor(dataset: CaptionDataset, sets: Sets) -> None:
    """METEOR, from a cold start of Java on either side."""
    from pycocoevalcap.meteor.meteor import Meteor as CocoMeteor

    from metaeval.metrics.meteor.metric import Meteor

    compare(
        "METEOR (clock)",
        lambda: Meteor(tokenizer="whitespace"),
        lambda: CocoMeteor().compute_score,
        dataset,
        sets,
        clock=time.perf_counter,
    )


def main() -> None:
    parser = options_parser(__doc__, "limit")
    parser.add_argument("--meteor", action="store_true", help="METEOR too")
    options = parser.parse_args()

    dataset, sets = tokenised(load_coco("coco_val2017", limit=options.limit))
    references = sum(map(len, dataset.references)) / len(dataset)
    print(f"{len(sets) * len(dataset):,} captions, {references:g} references each")
    print(f"{'':<24}{'metaeval':>11}{'pycocoevalcap':>17}{'ratio':>11}{'greatest difference':>21}")
    rule_based(dataset, sets)
    if options.meteor:
        meteor(dataset, sets)


if __name__ == "__main__":
    main()
