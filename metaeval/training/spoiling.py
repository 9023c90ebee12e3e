"""Corrupted copies of captions, for training a variant that recognises corrupted captions.

A model so trained is "trained on corruptions", and says so. To keep training and evaluation apart,
the words come from the captions that are learned from, the random numbers from a stream of their
own, and the degrees are drawn anew each time instead of the evaluation's three.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaeval.runs.records import OTHER_CAPTION, WRONG_PLACES, WRONG_WORDS, DrawnCorruption
from metaeval.text.vocabulary import END, SPECIAL, START, Vocabulary

Ints = npt.NDArray[np.int64]
# The share of words that is corrupted is drawn for each caption from these ranges.
SHUFFLED_RATES, REPLACED_RATES = (0.2, 1.0), (0.1, 0.7)
_STREAM = 0xBAD  # so that no other generator of a run gives the same numbers


def drawn_corruptions(spoiled: bool) -> tuple[DrawnCorruption, ...]:
    """What a contrastive training draws (other images' captions, corrupted ones), for its card.

    Captions of other images always, and with `spoiled` copies by `shuffled` and `replaced`.
    """
    others = DrawnCorruption("random", OTHER_CAPTION)
    if not spoiled:
        return (others,)
    return (
        others,
        DrawnCorruption("shuffle", WRONG_PLACES, SHUFFLED_RATES),
        DrawnCorruption("replace", WRONG_WORDS, REPLACED_RATES),
    )


def generator(seed: int, epoch: int) -> np.random.Generator:
    """The random numbers of corrupted captions in one epoch of one training."""
    return np.random.default_rng([seed, epoch, _STREAM])


def bag(words: Sequence[Sequence[str]], min_count: int = 4) -> tuple[str, ...]:
    """The words, sorted, that occur at least `min_count` times in the captions."""
    counts = Counter(word for each in words for word in each)
    return tuple(sorted(word for word, count in counts.items() if count >= min_count))


def bag_numbers(vocabulary: Vocabulary) -> Ints:
    """The numbers of all words of a vocabulary but the special ones: a bag for `replaced`."""
    return np.arange(len(SPECIAL), len(vocabulary), dtype=np.int64)


def shuffled(
    tokens: Ints,
    lengths: Ints,
    rng: np.random.Generator,
    rates: tuple[float, float] = SHUFFLED_RATES,
) -> Ints:
    """Copies of captions in which some words have changed places; none equals its original.

    Parameters
    ----------
    tokens, lengths
        int64 [m, L] and [m], as in `EncodedCaptions`: `<start>`, words, `<end>`, padding.
    rates
        The share of the words that move is drawn for each caption from this range; at least two.

    A caption without two different words stays as it is. Returns int64 [m, L].
    """
    chosen = _chosen(tokens, lengths, rng, rates, least=2)
    out = _permuted(tokens, chosen, rng)
    # permuting a few words often gives the caption back: then each takes the next one's place
    same = (out == tokens).all(axis=1)
    if same.any():
        out[same] = _rotated(tokens[same], chosen[same])
    same = (out == tokens).all(axis=1)
    if same.any():  # the chosen words were equal: take all of the caption's
        every = _inner(tokens[same], lengths[same])
        out[same] = _rotated(tokens[same], every)
    return out


def replaced(
    tokens: Ints,
    lengths: Ints,
    rng: np.random.Generator,
    bag: Ints,
    rates: tuple[float, float] = REPLACED_RATES,
) -> Ints:
    """Copies of captions in which some words, at least one, are others from the bag.

    `bag` holds the words' numbers, at least two, all equally likely; a word is never replaced by
    itself. Otherwise as `shuffled`; a caption without a word stays as it is.
    """
    if len(bag) < 2:
        raise ValueError("a bag needs at least two words")
    chosen = _chosen(tokens, lengths, rng, rates, least=1)
    drawn = rng.integers(0, len(bag), size=tokens.shape)
    unchanged = bag[drawn] == tokens
    # the next in the bag, going round, where the draw gave the word itself
    words = bag[np.where(unchanged, (drawn + 1) % len(bag), drawn)]
    return np.where(chosen, words, tokens)


def spoiled_words(
    captions: Sequence[Sequence[str]],
    kind: str,
    rng: np.random.Generator,
    bag: Sequence[str] = (),
    rates: tuple[float, float] | None = None,
) -> list[list[str]]:
    """`shuffled` or `replaced` (the two kinds) for captions that are lists of words.

    For models that read more than word numbers, such as triplets: unknown words stay known.
    """
    names = sorted({word for words in captions for word in words} | set(bag))
    numbers = {name: len(SPECIAL) + i for i, name in enumerate(names)}
    lengths = np.array([len(words) + 2 for words in captions], dtype=np.int64)
    tokens = np.zeros((len(captions), int(lengths.max(initial=2))), dtype=np.int64)
    for row, words in zip(tokens, captions, strict=True):
        row[: len(words) + 2] = [START, *(numbers[word] for word in words), END]
    if kind == "shuffled":
        out = shuffled(tokens, lengths, rng, *([rates] if rates else []))
    elif kind == "replaced":
        in_bag = np.array([numbers[word] for word in bag], dtype=np.int64)
        out = replaced(tokens, lengths, rng, in_bag, *([rates] if rates else []))
    else:
        raise ValueError(f"kind must be 'shuffled' or 'replaced': {kind!r}")
    return [
        [names[i - len(SPECIAL)] for i in row[1 : n - 1]]
        for row, n in zip(out, lengths.tolist(), strict=True)
    ]


def _inner(tokens: Ints, lengths: Ints) -> npt.NDArray[np.bool_]:
    """Where words are: neither `<start>`, `<end>` nor padding."""
    place = np.arange(tokens.shape[1])[None, :]
    return (place > 0) & (place < lengths[:, None] - 1)


def _chosen(
    tokens: Ints, lengths: Ints, rng: np.random.Generator, rates: tuple[float, float], least: int
) -> npt.NDArray[np.bool_]:
    """For each caption a random set of places, as many as a rate drawn from the range says."""
    inner = _inner(tokens, lengths)
    n = inner.sum(axis=1)
    rate = rng.uniform(*rates, size=len(tokens))
    count = np.minimum(np.maximum(np.rint(rate * n), least), n).astype(np.int64)
    keys = np.where(inner, rng.random(tokens.shape), 2.0)
    rank = keys.argsort(axis=1).argsort(axis=1)
    chosen: npt.NDArray[np.bool_] = inner & (rank < count[:, None])
    return chosen


def _permuted(tokens: Ints, chosen: npt.NDArray[np.bool_], rng: np.random.Generator) -> Ints:
    """The words at the chosen places of each row in random order, the others where they are."""
    keys = np.where(chosen, rng.random(tokens.shape), np.inf)
    return _moved(tokens, chosen, keys.argsort(axis=1, kind="stable"))


def _rotated(tokens: Ints, chosen: npt.NDArray[np.bool_]) -> Ints:
    """The words at the chosen places of each row, each one place on, the last one first."""
    place = np.where(chosen, np.arange(tokens.shape[1])[None, :], tokens.shape[1])
    order = place.argsort(axis=1, kind="stable")
    count = chosen.sum(axis=1)
    steps = np.arange(tokens.shape[1])[None, :]
    turned = np.where(steps < count[:, None], (steps + 1) % np.maximum(count, 1)[:, None], steps)
    return _moved(tokens, chosen, np.take_along_axis(order, turned, axis=1))


def _moved(tokens: Ints, chosen: npt.NDArray[np.bool_], order: Ints) -> Ints:
    """Put each row's words at the first places of `order` into its chosen places, from the left."""
    rank = chosen.cumsum(axis=1) - 1
    source = np.take_along_axis(order, np.maximum(rank, 0), axis=1)
    return np.where(chosen, np.take_along_axis(tokens, source, axis=1), tokens)
