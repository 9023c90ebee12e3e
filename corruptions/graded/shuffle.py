"""Shuffle and Reverse: a caption's words change places among themselves; no word is lost."""

from collections import Counter
from collections.abc import Sequence
from string import punctuation as ASCII
from typing import Literal

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted, Corruption, RatedCorruption
from metaeval.corruptions.sentences import bare_word, rewritten, split, with_word, words_by_position
from metaeval.options import Rate, checked
from metaeval.runs.records import WRONG_PLACES

_DRAWS = 50  # a random permutation moves every word with probability about 1/e


class Shuffle(
    RatedCorruption,
    title="Shuffle",
    severity_by_rate=((0, "major"), (0.5, "critical")),
    flaw=WRONG_PLACES,
    kind="order",
    options=("rate", "derange"),
):
    """round(rate · n) of a caption's n words, chosen at random, are permuted among their places.

    The rule of González-Chávez et al., "Are metrics measuring what they should?", with Python's
    `round` (2.5 is 2). The permutation is uniform over all of them, so that a few words often come
    out as they were: such captions are `applied = False`, about 37 % of COCO val2017 at rate 0.25
    and 2 % at 0.5.

    Parameters
    ----------
    rate
        The share of words to permute, in (0, 1].
    derange
        Every chosen place gets another word than it had. Places whose words do not allow that
        ("a", "a", "dog") are drawn again; if 50 draws of places find none that do, as many
        words as can be change. The permutation is uniform over those that leave no word as far as
        50 draws find one, and constructed otherwise. A single word still cannot move.
    punctuation
        "moves": with the word that it is attached to. "stays": at its place, as in `Replace`; the
        full stop then often follows "a", and tokenisers read an initial, "a.", where no word
        changed.
    """

    @checked
    def __init__(
        self,
        rate: Rate,
        derange: bool = False,
        punctuation: Literal["moves", "stays"] = "moves",
    ) -> None:
        super().__init__(rate)
        self.derange, self.punctuation = derange, punctuation

        if punctuation != "moves":  # the default came later, and is not to change what seeds give
            self.options = (*self.options, "punctuation")  # type: ignore[misc]  # of this object

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = split(caption.text)
        holds_word = list(words_by_position(tokens))
        n = round(self.rate * len(holds_word))
        for _ in range(_DRAWS):
            places = rng.permutation(holds_word)[:n].tolist()
            before = [tokens[i] for i in places]
            if not self.derange or 2 * most_frequent(before) <= n:
                break
        order = deranged(before, rng) if self.derange else rng.permutation(len(places)).tolist()
        new = {place: before[j] for place, j in zip(places, order, strict=True)}
        if self.punctuation == "stays":
            new = {i: with_word(tokens[i], word.strip(ASCII)) for i, word in new.items()}
        return rewritten(caption.text, new, self.rate)


def deranged(tokens: Sequence[str], rng: np.random.Generator) -> list[int]:
    """An order of the tokens that leaves as few places as possible with the word they had."""
    word = [bare_word(token) for token in tokens]
    for _ in range(_DRAWS):
        order: list[int] = rng.permutation(len(tokens)).tolist()
        if all(word[i] != word[j] for i, j in enumerate(order)):
            return order
    # Equal words side by side, and each place gets the word as far on as the most frequent word
    # occurs: no group of equal words can reach into itself unless it is more than half of all.
    most = most_frequent(tokens)
    side_by_side = sorted(rng.permutation(len(tokens)).tolist(), key=lambda i: word[i])
    order = list(range(len(tokens)))
    for i, j in zip(side_by_side, side_by_side[most:] + side_by_side[:most], strict=True):
        order[i] = j
    return order


def most_frequent(tokens: Sequence[str]) -> int:
    """How often the most frequent of the tokens' words occurs; 0 of no tokens."""
    return max(Counter(map(bare_word, tokens)).values(), default=0)


class Reverse(Corruption, title="Reversed", severity="critical", flaw=WRONG_PLACES, kind="order"):
    """The words of a caption in reversed order, each with the punctuation attached to it.

    The farthest that order can be from right with every pair of words turned round; nothing about
    it is random. Tokens without a word stay where they are.
    """

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = split(caption.text)
        places = list(words_by_position(tokens))
        new = {i: tokens[j] for i, j in zip(places, reversed(places), strict=True)}
        return rewritten(caption.text, new, 1.0)
