"""The three goals as searches against one metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt

from metaeval.corruptions.language.whole.corpus import corpus_of
from metaeval.data.dataset import CaptionDataset
from metaeval.search.beam import SearchLimits, Trace, search
from metaeval.search.drafts import Draft, free, vocabulary
from metaeval.search.falsehoods import FOIL, REFERENCES, FoilCheck, false_drafts, rule_of
from metaeval.search.fluency import Fluency
from metaeval.search.target import Target

# captions that say nothing of an image; the dataset's most frequent ones come to them
GENERIC = (
    "a photo of something", "a picture of some things", "there is something in the picture",
    "a man is standing in a room", "a group of people standing together",
    "a person standing next to something", "a man is sitting at a table",
    "a close up of an object on a table", "a street with people and cars",
    "a man and a woman standing next to each other",
)  # fmt: skip
_FREQUENT, _OTHERS = 20, 20


@dataclass(frozen=True, slots=True)
class Material:
    """What all searches of a run share.

    Attributes
    ----------
    false
        Per image, provably false captions made from its human caption.
    copied
        The same made from its references.
    near
        Per image, the words of its references.
    far
        The words of the dataset.
    """

    dataset: CaptionDataset
    false: list[list[Draft]]
    copied: list[list[Draft]]
    near: list[tuple[str, ...]]
    far: tuple[str, ...]
    fluency: Fluency | None
    check: FoilCheck | None
    seed: int

    @property
    def index(self) -> npt.NDArray[np.intp]:
        """The positions of all images."""
        return np.arange(len(self.dataset), dtype=np.intp)


def gather_material(dataset: CaptionDataset, fluency: Fluency | None, seed: int) -> Material:
    """False captions and vocabularies of a dataset."""
    return Material(
        dataset,
        false_drafts(dataset, seed),
        false_drafts(dataset, seed, REFERENCES),
        [vocabulary(references) for references in dataset.references],
        vocabulary(dataset.pool[:2000]),
        fluency,
        FoilCheck(dataset) if rule_of(dataset) == FOIL else None,
        seed,
    )


@dataclass(slots=True)
class Attacked:
    """What the searches against one metric found.

    Attributes
    ----------
    human
        [n] The scores of the human captions.
    other_human
        [n] The scores of one reference each against the other captions, for the spread.
    false
        "fluent", "unconstrained" and "references copied" → a trace per image.
    known, unknown
        Traces of the inflation, of the first images.
    generic
        [captions, n] Scores of the generic captions.
    """

    human: npt.NDArray[np.float64]
    other_human: npt.NDArray[np.float64]
    false: dict[str, list[Trace]] = field(default_factory=dict)
    known: list[Trace] = field(default_factory=list)
    unknown: list[Trace] = field(default_factory=list)
    generic: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))


def attack(
    target: Target,
    swapped: Target,
    material: Material,
    limits: SearchLimits,
    inflation_images: int,
) -> Attacked:
    """Search against one metric.

    `swapped` is the same metric on the dataset in which the human caption and the first reference
    have changed places: its score of that reference, against the others, gives the spread.
    """
    data, name = material.dataset, target.bound.family
    index = material.index
    first = [r[0] if r else h for h, r in zip(data.human, data.references, strict=True)]
    found = Attacked(target.score(data.human, index), swapped.score(first, index))

    def run(starts: Sequence[Sequence[Draft]], goal: str, *, fluent: bool) -> list[Trace]:
        allowed = material.fluency.allowed if fluent and material.fluency else None
        n = len(starts)
        return search(
            target.score, starts, material.near[:n] if goal != "unknown" else [()] * n,
            material.far, data.image_ids[:n], limits, material.seed, f"{name} {goal}", allowed,
        )  # fmt: skip

    if material.fluency is not None:
        found.false["fluent"] = run(material.false, "false", fluent=True)
    found.false["unconstrained"] = run(material.false, "false", fluent=False)
    found.false["references copied"] = run(material.copied, "copied", fluent=True)
    n = min(inflation_images, len(data))
    if n:
        found.known = run(_known_starts(data, n), "known", fluent=False)
        found.unknown = run(_unknown_starts(data, n, material.seed), "unknown", fluent=False)
    found.generic = np.stack(
        [target.score([text] * len(data), index) for text in generic_captions(data)]
    )
    return found


def generic_captions(dataset: CaptionDataset) -> list[str]:
    """Captions that say nothing specific, and the dataset's most frequent human captions."""
    counts: dict[str, int] = {}
    for text in dataset.pool:
        counts[text] = counts.get(text, 0) + 1
    frequent = sorted(counts, key=lambda text: (-counts[text], text))[:_FREQUENT]
    return list(dict.fromkeys([*GENERIC, *frequent]))


def swapped_dataset(dataset: CaptionDataset) -> CaptionDataset:
    """The dataset with each human caption in place of its first reference, and the reverse."""
    pairs = list(zip(dataset.human, dataset.references, strict=True))
    return replace(
        dataset,
        human=tuple(r[0] if r else h for h, r in pairs),
        references=tuple((h, *r[1:]) if r else () for h, r in pairs),
    )


def _known_starts(dataset: CaptionDataset, n: int) -> list[list[Draft]]:
    """References, each twice and five times over, and each two of them joined."""
    starts = []
    for human, references in zip(dataset.human[:n], dataset.references[:n], strict=True):
        texts = [human, *references]
        texts += [" ".join([r] * k) for r in references for k in (2, 5)]
        texts += [f"{a} {b}" for a, b in permutations(references, 2)]
        texts += [" ".join(references)]
        starts.append([free(text) for text in dict.fromkeys(texts)])
    return starts


def _unknown_starts(dataset: CaptionDataset, n: int, seed: int) -> list[list[Draft]]:
    """Captions of other images, drawn from the file, and each joined with the next."""
    corpus = corpus_of(dataset)
    starts = []
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        drawn = rng.permutation(len(corpus.ids))[: _OTHERS + 1].tolist()
        others = [corpus.captions[k] for k in drawn if corpus.ids[k] != dataset.image_ids[i]]
        joined = [f"{a} {b}" for a, b in pairwise(others)]
        texts = [*others[:_OTHERS], *joined[: _OTHERS // 2]]
        starts.append([free(text) for text in dict.fromkeys(texts)])
    return starts
