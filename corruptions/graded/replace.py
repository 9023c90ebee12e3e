"""Replace and Insert: random words of the corpus in the place of a caption's words, or added.

A corruption is a class with, in its head,
  `name`        what the configuration calls it: conf/corruption/replace.yaml,
  `title`       what a reader calls it; its `label` may say more: "Replace 25%",
and with
  `options`     the attributes that make one instance differ from another; they enter the seed,
  `fit`         (optional) what it takes from the whole dataset before the first caption,
  `corrupt`     one caption in, one `Corrupted` out, drawing on `rng` and on nothing else random.
Everything else (a generator per image, running over a dataset) is in `base.py`; splitting a
caption into words and putting it together again is in `metaeval.corruptions.sentences`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted, RatedCorruption
from metaeval.corruptions.sentences import join, rewritten, split, with_word, words_by_position
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.options import PositiveInt, Rate, checked
from metaeval.runs.records import MISSING_WORDS, WRONG_WORDS, Edit

MIN_COUNT = 4


class FromBag(RatedCorruption, options=("rate", "min_count")):
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
    texts = [split(caption.lower()) for caption in captions]
    counts = Counter(word for tokens in texts for word in words_by_position(tokens).values())
    bag = tuple(sorted(word for word, count in counts.items() if count >= min_count))
    if not bag:
        raise ConfigError(
            f"the bag of words is empty: none of the {len(counts):,} words in the {len(texts):,} "
            f"human captions occurs {min_count} times; use more images, or one corruption with "
            "corruption.min_count=1"
        )
    return bag


class Replace(
    FromBag,
    title="Replace",
    severity_by_rate=((0, "major"), (0.5, "critical")),
    flaw=WRONG_WORDS,
    kind="words",
    options=("rate", "min_count", "distinct"),
):
    """round(rate · n) of a caption's n words are replaced, each by a word of the bag.

    The rule of González-Chávez et al., "Are metrics measuring what they should?". `round` is
    Python's: a half goes to the even number, so 2.5 words are 2. The words are chosen at random
    without repetition; each new word is uniform over the bag, in lower case, and takes over the
    punctuation around the old one.

    Parameters
    ----------
    rate
        The share of words to replace, in (0, 1].
    distinct
        A word is never replaced by itself. Off in the paper, where chance may draw it again.
    min_count
        How often a word must occur in the human captions to be in the bag.
    """

    @checked
    def __init__(
        self, rate: Rate, distinct: bool = False, min_count: PositiveInt = MIN_COUNT
    ) -> None:
        super().__init__(rate, min_count)
        self.distinct = distinct

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = split(caption.text)
        old = words_by_position(tokens)
        # a prefix of a permutation, not `choice`: its stream is the plainest NumPy has
        chosen = rng.permutation(list(old))[: round(self.rate * len(old))].tolist()
        new = {i: with_word(tokens[i], self._draw(old[i], rng)) for i in chosen}
        return rewritten(caption.text, new, self.rate)

    def _draw(self, old: str, rng: np.random.Generator) -> str:
        """A word of the bag; with `distinct`, one of those that are not `old`."""
        words = self.bag
        if self.distinct:
            words = tuple(word for word in self.bag if word != old.lower()) or (old,)
        return words[rng.integers(len(words))]


class Insert(
    FromBag,
    title="Insert",
    severity_by_rate=((0, "major"), (0.5, "critical")),
    flaw=WRONG_WORDS,
    kind="words",
):
    """round(rate · n) words of the bag come into a caption of n words.

    Each is uniform over the bag that Replace draws from, in lower case, and stands before a word of
    the caption that is drawn anew each time; so the caption's last word, with its full stop, stays
    the last. `round` is Python's (2.5 is 2).

    Parameters
    ----------
    rate
        How many words come in, as a share of those that are there, in (0, 1].
    min_count
        How often a word must occur in the human captions to be in the bag.
    """

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = split(caption.text)
        holds_word = list(words_by_position(tokens))
        n = round(self.rate * len(holds_word))
        if n == 0:
            return Corrupted(caption.text, False, (), self.rate, 0.0)
        places = sorted(holds_word[k] for k in rng.integers(len(holds_word), size=n))
        new = [self.bag[k] for k in rng.integers(len(self.bag), size=n)]
        edits = tuple(Edit(i, "", word) for i, word in zip(places, new, strict=True))
        for place, word in reversed(list(zip(places, new, strict=True))):
            tokens.insert(place, word)
        return Corrupted(join(tokens, caption.text), True, edits, self.rate, n / len(holds_word))


class Delete(
    RatedCorruption,
    title="Delete",
    severity_by_rate=((0, "major"), (0.5, "critical")),
    flaw=MISSING_WORDS,
    kind="words",
):
    """round(rate · n) of a caption's n words, chosen at random, are left out, but never the last
    one that is left.

    `round` is Python's (2.5 is 2). Punctuation goes with the word that it is attached to.

    Parameters
    ----------
    rate
        The share of words to leave out, in (0, 1].
    """

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = split(caption.text)
        holds_word = list(words_by_position(tokens))
        n = min(round(self.rate * len(holds_word)), len(holds_word) - 1)
        if n <= 0:
            return Corrupted(caption.text, False, (), self.rate, 0.0)
        chosen = set(rng.permutation(holds_word)[:n].tolist())
        return Corrupted(
            join([token for i, token in enumerate(tokens) if i not in chosen], caption.text),
            True,
            tuple(Edit(i, tokens[i], "") for i in sorted(chosen)),
            self.rate,
            n / len(holds_word),
        )
