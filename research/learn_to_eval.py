"""Train LearnToEval on images that are not to be scored.

    python -m research.learn_to_eval FOLDER --split karpathy_test --exclude val2017

For each caption and pass, a pair (a reference of the same image, this caption) that is right and a
pair (the same reference, a false caption) that is not. False are, each as often as the others:
this caption with words replaced, with words out of place, and, with `--machine FILES` (COCO's
format of results), a captioner's caption of the image; another image's caption twice as often. The
paper also samples captions from the captioner under training, which there is none of here. In half
of the batches nothing stands in the image's place: so one network serves with and without images.
"""

from __future__ import annotations

import argparse
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from metaeval.data.system_captions import read_system_captions
from metaeval.metrics.learn_to_eval.network import SPREAD, CaptionJudge, JudgeShape, mean_regions
from metaeval.runs.records import OTHER_CAPTION, WRONG_PLACES, WRONG_WORDS, DrawnCorruption
from metaeval.text.vocabulary import SPECIAL, Vocabulary, pad_sequences
from metaeval.text.word_vectors.base import MiniLmVectors
from metaeval.vision.regions.gold import GoldRegions
from research.train.caption_similarity import start_embedding
from research.train.dataset import (
    CaptionData,
    add_data_options,
    command_line,
    read_caption_data,
)
from research.train.loop import TrainingSettings, fit
from research.weights import half, save_weights

BATCH = 100
# how often another image's, replaced, shuffled and machine captions are drawn
SHARES = (2, 1, 1, 1)
HIDDEN = 0.5  # the share of batches in which the images are hidden
# The share of words that is corrupted is drawn for each caption from these ranges.
SHUFFLED_RATES, REPLACED_RATES = (0.2, 1.0), (0.1, 0.7)
DRAWN = (
    DrawnCorruption("random", OTHER_CAPTION),
    DrawnCorruption("shuffle", WRONG_PLACES, SHUFFLED_RATES),
    DrawnCorruption("replace", WRONG_WORDS, REPLACED_RATES),
)
Ints = npt.NDArray[np.int64]


class OwnedCaptions(NamedTuple):
    """Captions by number, and which of them are whose; `human` marks those of people.

    `tokens` int64 [m, longest], `lengths` [m], `owner` [m]: the image, as a row of the regions.
    """

    tokens: Ints
    lengths: Ints
    owner: Ints
    human: npt.NDArray[np.bool_]

    @classmethod
    def of(
        cls, data: CaptionData, images: Sequence[int], machine: Sequence[Mapping[Any, str]]
    ) -> OwnedCaptions:
        texts: list[str] = []
        owner: list[int] = []
        human: list[bool] = []
        for i in images:
            people = data.captions[i]
            others = [each[key] for each in machine if (key := data.dataset.image_ids[i]) in each]
            texts += [*people, *others]
            owner += [i] * (len(people) + len(others))
            human += [True] * len(people) + [False] * len(others)
        tokens, lengths = pad_sequences(data.vocabulary.encode_all(texts))
        return cls(tokens, lengths, np.array(owner), np.array(human))

    def draw(self, rng: np.random.Generator, bag: Ints) -> list[Drawn]:
        """A right and a false pair for each human caption of an image with at least two."""
        people = np.flatnonzero(self.human)
        machines = np.flatnonzero(~self.human)
        shares = np.array(SHARES if len(machines) else SHARES[:3])
        drawn = []
        for part in np.array_split(rng.permutation(people), math.ceil(len(people) / (BATCH // 2))):
            reference = np.array([self._other(k, people, rng) for k in part.tolist()])
            kind = rng.choice(len(shares), len(part), p=shares / shares.sum())
            tokens, lengths = self.tokens[part].copy(), self.lengths[part].copy()
            rows = np.flatnonzero(kind == 0)
            other = rng.choice(people, len(rows))
            same = self.owner[other] == self.owner[part[rows]]
            other[same] = np.roll(people, 97)[np.searchsorted(people, other[same])]
            tokens[rows], lengths[rows] = self.tokens[other], self.lengths[other]
            rows = np.flatnonzero(kind == 1)
            tokens[rows] = replaced(tokens[rows], lengths[rows], rng, bag)
            rows = np.flatnonzero(kind == 2)
            tokens[rows] = shuffled(tokens[rows], lengths[rows], rng)
            for row in np.flatnonzero(kind == 3).tolist():
                candidates = machines[self.owner[machines] == self.owner[part[row]]]
                if len(candidates):
                    pick = int(rng.choice(candidates))
                    tokens[row], lengths[row] = self.tokens[pick], self.lengths[pick]
                else:
                    tokens[row : row + 1] = shuffled(
                        tokens[row : row + 1], lengths[row : row + 1], rng
                    )
            blind = bool(rng.random() < HIDDEN)
            drawn.append(Drawn(reference, part, tokens, lengths, self.owner[part], blind))
        return drawn

    def _other(self, caption: int, people: Ints, rng: np.random.Generator) -> int:
        """Another human caption of the same image; itself where there is none."""
        low, high = np.searchsorted(
            self.owner[people], [self.owner[caption], self.owner[caption] + 1]
        )
        others = people[low:high]
        others = others[others != caption]
        return int(rng.choice(others)) if len(others) else caption


class Drawn(NamedTuple):
    """n right pairs (reference, candidate) by row, and the tokens of n false candidates; `blind`:
    whether the images are hidden."""

    reference: Ints
    candidate: Ints
    false_tokens: Ints
    false_lengths: Ints
    image: Ints
    blind: bool


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_data_options(parser, min_count=4)
    parser.add_argument("--text", action="store_true", help="the image is never looked at")
    parser.add_argument("--machine", nargs="*", type=Path, default=[], metavar="FILE")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    data = read_caption_data(options)
    known = frozenset(data.dataset.image_ids) | data.dataset.excluded_ids
    machine = [read_system_captions(p, p.stem, known).captions for p in options.machine]
    regions = None if options.text else mean_regions(GoldRegions().load(data.dataset, None))
    train, dev = (OwnedCaptions.of(data, images, machine) for images in (data.train, data.dev))
    torch.manual_seed(options.seed)
    shape = JudgeShape(len(data.vocabulary), dim=0 if regions is None else regions.shape[1])
    model = CaptionJudge(shape)
    vectors = MiniLmVectors(device="cpu")
    set_words = start_embedding(model.embedding, vectors, data.vocabulary, SPREAD)
    bag = bag_numbers(data.vocabulary)
    means = None if regions is None else torch.from_numpy(regions)

    def batches(epoch: int, rng: np.random.Generator) -> list[tuple[Drawn, OwnedCaptions]]:
        return [(each, train) for each in train.draw(rng, bag)]

    def logits(drawn: Drawn, pairs: OwnedCaptions) -> torch.Tensor:
        """[2 n, 2] Of the right pairs, then of the false ones."""
        chosen = np.concatenate([drawn.reference, drawn.candidate])
        tokens = np.concatenate([pairs.tokens[chosen], drawn.false_tokens])
        lengths = np.concatenate([pairs.lengths[chosen], drawn.false_lengths])
        read = model.read(
            torch.from_numpy(tokens[:, : int(lengths.max())]), torch.from_numpy(lengths)
        )
        references, right, false = read.chunk(3)
        seen = None
        if means is not None and not drawn.blind:
            seen = model.see(means[torch.from_numpy(drawn.image)])
        return torch.cat([model.judge(seen, references, each) for each in (right, false)])

    def loss(item: tuple[Drawn, OwnedCaptions], epoch: int) -> torch.Tensor:
        out = logits(*item)
        truth = torch.arange(len(out)) >= len(out) // 2
        return torch.nn.functional.cross_entropy(out, truth.long())

    fixed = dev.draw(np.random.default_rng([options.seed, 0xDE7]), bag)

    def measure(blind: bool) -> dict[str, float]:
        right = total = 0.0
        for each in fixed:
            out = logits(each._replace(blind=blind), dev)
            human = out[:, 0] > out[:, 1]
            truth = torch.arange(len(out)) < len(out) // 2
            right, total = right + float((human == truth).sum()), total + len(out)
        above = own_above_other(model, dev, None if blind else means)
        return {"accuracy": right / total, "own_above_other": above}

    def validate(network: CaptionJudge) -> Mapping[str, Any]:
        with torch.inference_mode():
            ways = {} if means is None else {"dev": measure(blind=False)}
            ways["dev_text"] = measure(blind=True)
        values = {f"{way}_{name}": x for way, each in ways.items() for name, x in each.items()}
        return {**values, "accuracy": fmean(each["accuracy"] for each in ways.values())}

    settings = TrainingSettings(
        epochs=options.epochs,
        learning_rate=2e-3,
        schedule="cosine",
        warmup=0.3,
        clip=1.0,
        select="accuracy",
        seed=options.seed,
    )
    trained = fit(model, batches, loss, validate, settings, title="LearnToEval")
    half(model)
    model.eval()
    card = {
        "kind": "learn_to_eval",
        "variant": "",
        "trained_on_corruptions": True,
        "regions": "none" if options.text else GoldRegions().identity(None),
        "shape": asdict(shape),
        "command": command_line("research.learn_to_eval", arguments),
        "seed": options.seed,
        "data": data.card(min_count=options.min_count, machine=[p.name for p in options.machine]),
        "start": {"vectors": vectors.identity(), "words": set_words},
        "caption_models": [
            {"model": each.model, "pairs": dict(each.pairs)} for each in vectors.caption_models
        ],
        "drawn": [asdict(each) for each in DRAWN],
        "epochs": len(trained.history),
        **{name: round(value, 4) for name, value in validate(model).items()},
    }
    saved = save_weights(options.out, model, data.vocabulary, card, data.dataset)
    print(
        f"{saved.label}: {card['accuracy']:.4f} of the pairs of {len(data.dev):,} dev images; "
        f"an image's caption above the next one's, without looking, in "
        f"{card['dev_text_own_above_other']:.4f} of them"
    )


def own_above_other(
    model: CaptionJudge, captions: OwnedCaptions, means: torch.Tensor | None
) -> float:
    """The share of images whose first human caption scores above the next image's first, by the
    mean over the image's other human captions."""
    people = np.flatnonzero(captions.human)
    images, first = np.unique(captions.owner[people], return_index=True)
    read = model.read(
        torch.from_numpy(captions.tokens[people]), torch.from_numpy(captions.lengths[people])
    )
    above = 0
    for k, references in enumerate(np.split(np.arange(len(people)), first[1:])):
        given = read[references[1:]]
        seen = None if means is None else model.see(means[[images[k]] * len(given)])
        own_caption, other = (
            model.judge(seen, given, read[[place] * len(given)]).softmax(dim=1)[:, 0].mean()
            for place in (first[k], first[(k + 1) % len(first)])
        )
        above += bool(own_caption > other)
    return above / len(images)


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
    keys = np.where(chosen, rng.random(tokens.shape), np.inf)
    out = _moved(tokens, chosen, keys.argsort(axis=1, kind="stable"))
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
    return inner & (rank < count[:, None])


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


if __name__ == "__main__":
    main()
