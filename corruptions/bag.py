"""The bag of words that wrong words are drawn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from metaeval.corruptions.base import RatedCorruption
from metaeval.corruptions.tokens import split, words
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.options import PositiveInt, Rate, checked

MIN_COUNT = 4


class FromBag(RatedCorruption):
    """A corruption that draws words from the bag of the dataset's human captions.

    Parameters
    ----------
    rate
        The share of words to change, in (0, 1].
    min_count
        How often a word must occur in the human captions to be in the bag.
    """

    @checked
    def __init__(self, rate: Rate, min_count: PositiveInt = MIN_COUNT) -> None:
        super().__init__(rate)
        self.min_count = min_count
        self.bag: tuple[str, ...] = ()

    @property
    def parameters(self) -> Mapping[str, object]:
        return {**super().parameters, "min_count": self.min_count}

    def fit(self, dataset: CaptionDataset) -> None:
        # the pool is the whole file: the bag does not change with `dataset.limit`
        self.bag = dataset.derive(
            f"bag of words, from {self.min_count} times on",
            lambda: bag_of_words(dataset.pool, self.min_count),
        )

    def facts(self) -> Mapping[str, object]:
        return {"bag_words": len(self.bag), "bag_min_count": self.min_count}


def bag_of_words(captions: Iterable[str], min_count: PositiveInt = MIN_COUNT) -> tuple[str, ...]:
    """The distinct words that occur at least `min_count` times, in alphabetical order.

    Captions are lower-cased, split at white space, and stripped of the ASCII punctuation around
    each token; what is empty then is dropped. Over the 5,000 Human captions of COCO val2017, with
    at least four occurrences, these are 1,039 words, the number given by González-Chávez et al.
    (the references would make it 2,707).

    Raises ConfigError where no word occurs often enough.
    """
    counts: Counter[str] = Counter()
    n = 0
    for n, caption in enumerate(captions, 1):  # noqa: B007  (n is the number of captions)
        counts.update(words(split(caption.lower())).values())
    bag = tuple(sorted(word for word, count in counts.items() if count >= min_count))
    if not bag:
        raise ConfigError(
            f"the bag of words is empty: none of the {len(counts):,} words in the {n:,} human "
            f"captions occurs {min_count} times; use more images, or one corruption with "
            "corruption.min_count=1"
        )
    return bag
