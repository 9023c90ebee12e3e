"""Train LearnToEval on images that are not to be scored.

    python -m metaeval.metrics.learn_to_eval.train FOLDER --split karpathy_test --exclude val2017

For each caption and pass, a pair (a reference of the same image, this caption) that is right and a
pair (the same reference, a false caption) that is not. False are, each as often as the others:
another image's caption, this one with words replaced, this one with words out of place, and, with
`--machine FILES` (COCO's format of results), a captioner's caption of the image. The paper also
samples captions from the captioner under training, which there is none of here.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from metaeval.data.system_captions import read_system_captions
from metaeval.metrics.learn_to_eval.network import CaptionJudge, JudgeShape
from metaeval.metrics.learn_to_eval.regions import mean_regions
from metaeval.text.vocabulary import padded
from metaeval.text.word_vectors.minilm import MiniLmVectors
from metaeval.training import spoiling
from metaeval.training.caption_data import (
    CaptionData,
    add_data_options,
    command_line,
    read_caption_data,
)
from metaeval.training.embedding_init import start_embedding
from metaeval.training.loop import TrainingSettings, fit
from metaeval.vision.regions.gold import GoldRegions
from metaeval.weights import pretrained

BATCH = 100
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
        tokens, lengths = padded(data.vocabulary.encode_all(texts))
        return cls(tokens, lengths, np.array(owner), np.array(human))

    def draw(self, rng: np.random.Generator, bag: Ints) -> list[Drawn]:
        """A right and a false pair for each human caption of an image with at least two."""
        people = np.flatnonzero(self.human)
        machines = np.flatnonzero(~self.human)
        drawn = []
        for part in np.array_split(rng.permutation(people), math.ceil(len(people) / (BATCH // 2))):
            reference = np.array([self._other(k, people, rng) for k in part.tolist()])
            kind = rng.integers(0, 4 if len(machines) else 3, len(part))
            tokens, lengths = self.tokens[part].copy(), self.lengths[part].copy()
            rows = np.flatnonzero(kind == 0)
            other = rng.choice(people, len(rows))
            same = self.owner[other] == self.owner[part[rows]]
            other[same] = np.roll(people, 97)[np.searchsorted(people, other[same])]
            tokens[rows], lengths[rows] = self.tokens[other], self.lengths[other]
            rows = np.flatnonzero(kind == 1)
            tokens[rows] = spoiling.replaced(tokens[rows], lengths[rows], rng, bag)
            rows = np.flatnonzero(kind == 2)
            tokens[rows] = spoiling.shuffled(tokens[rows], lengths[rows], rng)
            for row in np.flatnonzero(kind == 3).tolist():
                own = machines[self.owner[machines] == self.owner[part[row]]]
                if len(own):
                    pick = int(rng.choice(own))
                    tokens[row], lengths[row] = self.tokens[pick], self.lengths[pick]
                else:
                    tokens[row : row + 1] = spoiling.shuffled(
                        tokens[row : row + 1], lengths[row : row + 1], rng
                    )
            drawn.append(Drawn(reference, part, tokens, lengths, self.owner[part]))
        return drawn

    def _other(self, caption: int, people: Ints, rng: np.random.Generator) -> int:
        """Another human caption of the same image; itself where there is none."""
        low, high = np.searchsorted(
            self.owner[people], [self.owner[caption], self.owner[caption] + 1]
        )
        own = people[low:high]
        own = own[own != caption]
        return int(rng.choice(own)) if len(own) else caption


class Drawn(NamedTuple):
    """n right pairs (reference, candidate) by row, and the tokens of n false candidates."""

    reference: Ints
    candidate: Ints
    false_tokens: Ints
    false_lengths: Ints
    image: Ints


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_data_options(parser, min_count=2)
    parser.add_argument("--text", action="store_true", help="the image is not looked at")
    parser.add_argument("--machine", nargs="*", type=Path, default=[], metavar="FILE")
    options = parser.parse_args(arguments)
    data = read_caption_data(options)
    known = frozenset(data.dataset.image_ids) | data.dataset.excluded_ids
    machine = [read_system_captions(p, p.stem, known).captions for p in options.machine]
    regions = None if options.text else mean_regions(GoldRegions().load(data.dataset, None))
    train, dev = (OwnedCaptions.of(data, images, machine) for images in (data.train, data.dev))
    torch.manual_seed(options.seed)
    shape = JudgeShape(len(data.vocabulary), dim=0 if regions is None else regions.shape[1])
    model = CaptionJudge(shape)
    vectors = MiniLmVectors(device="cpu")
    set_words = start_embedding(model.embedding, vectors, data.vocabulary, 0.1)
    bag = spoiling.bag_numbers(data.vocabulary)
    means = None if regions is None else torch.from_numpy(regions)

    def batches(epoch: int, rng: np.random.Generator) -> list[tuple[Drawn, OwnedCaptions]]:
        return [(each, train) for each in train.draw(rng, bag)]

    def logits(drawn: Drawn, pairs: OwnedCaptions) -> torch.Tensor:
        """[2 n, 2] Of the right pairs, then of the false ones."""

        def read(tokens: Ints, lengths: Ints) -> torch.Tensor:
            longest = int(lengths.max())
            return model.read(torch.from_numpy(tokens[:, :longest]), torch.from_numpy(lengths))

        references = read(pairs.tokens[drawn.reference], pairs.lengths[drawn.reference])
        right = read(pairs.tokens[drawn.candidate], pairs.lengths[drawn.candidate])
        false = read(drawn.false_tokens, drawn.false_lengths)
        seen = None if means is None else model.see(means[torch.from_numpy(drawn.image)])
        return torch.cat([model.judge(seen, references, each) for each in (right, false)])

    def loss(item: tuple[Drawn, OwnedCaptions], epoch: int) -> torch.Tensor:
        out = logits(*item)
        truth = torch.arange(len(out)) >= len(out) // 2
        return torch.nn.functional.cross_entropy(out, truth.long())

    fixed = dev.draw(np.random.default_rng([options.seed, 0xDE7]), bag)

    def validate(network: CaptionJudge) -> Mapping[str, Any]:
        right = total = 0.0
        with torch.inference_mode():
            for each in fixed:
                out = logits(each, dev)
                human = out[:, 0] > out[:, 1]
                truth = torch.arange(len(out)) < len(out) // 2
                right, total = right + float((human == truth).sum()), total + len(out)
        return {"dev_accuracy": right / total}

    settings = TrainingSettings(
        epochs=options.epochs,
        learning_rate=2e-3,
        schedule="cosine",
        warmup=0.3,
        clip=1.0,
        select="dev_accuracy",
        seed=options.seed,
    )
    trained = fit(model, batches, loss, validate, settings, title="LearnToEval")
    pretrained.half(model)
    model.eval()
    card = {
        "kind": "learn_to_eval",
        "variant": "text" if options.text else "",
        "trained_on_corruptions": True,
        "regions": "none" if options.text else GoldRegions().identity(None),
        "shape": shape.as_dict(),
        "command": command_line("metaeval.metrics.learn_to_eval.train", arguments),
        "seed": options.seed,
        "data": data.card(min_count=options.min_count, machine=[p.name for p in options.machine]),
        "start": {"vectors": vectors.identity(), "words": set_words},
        "caption_models": [model._asdict() for model in map(_plain, vectors.caption_models)],
        "drawn": [each._asdict() for each in spoiling.drawn_corruptions(True)],
        "epochs": len(trained.history),
        "dev_accuracy": round(validate(model)["dev_accuracy"], 4),
    }
    saved = pretrained.save(options.out, model, data.vocabulary, card, data.dataset)
    print(f"{saved.label}: {card['dev_accuracy']:.4f} of the pairs of {len(data.dev):,} dev images")


def _plain(model: Any) -> Any:
    """A record whose mapping can be written as JSON."""
    return model._replace(pairs=dict(model.pairs))


if __name__ == "__main__":
    main()
