"""Pools of captions of which it is known whether they are false: what a best of n chooses from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.corruptions.base import Caption, Corruption
from metaeval.corruptions.harmless.grammar import MirrorRelation, Passive, SwapConjuncts
from metaeval.corruptions.harmless.wording import (
    DefiniteArticle,
    Filler,
    FinalStop,
    LowerCase,
    NumberFormat,
    PhotoPrefix,
    Synonym,
    ThereIsFrame,
)
from metaeval.corruptions.language.categories import known_images, mentions
from metaeval.corruptions.language.content.objects import FoilObject, HallucinateObject, OtherObject
from metaeval.corruptions.language.parsed import parse
from metaeval.corruptions.truth.base import Harmed
from metaeval.corruptions.truth.changes import (
    AddObject,
    ReplaceAttribute,
    ReplaceCount,
    ReplaceObject,
)
from metaeval.data.dataset import Absent, CaptionDataset, ImageId
from metaeval.search.beam import Draft, false_draft, mutated

SCENE_GRAPH, FOIL = "scene graph", "FOIL: neither annotated nor named"


def rule_of(dataset: CaptionDataset) -> str | None:
    """By which rule a caption of this dataset is provably false; `None` where none applies."""
    if not isinstance(dataset.part("scene_graphs"), Absent):
        return SCENE_GRAPH
    return None if isinstance(dataset.part("objects"), Absent) else FOIL


HUMAN, REFERENCES = "human", "references"
_DRAWS = 4  # generators per caption


def false_drafts(dataset: CaptionDataset, seed: int, source: str = HUMAN) -> list[list[Draft]]:
    """Per image, captions with a false statement, made from its human caption or its references.

    On scenes by the scene graph: an object, attribute or number is contradicted or an object is
    added, and nothing is lost; changes of the search may lose other statements.
    Elsewhere by FOIL's rule: an object of COCO's categories that is neither annotated in the image
    nor named in any of its captions.
    """
    scenes = rule_of(dataset) == SCENE_GRAPH
    kinds: list[Corruption] = (
        [ReplaceObject(), ReplaceAttribute(), ReplaceCount(), AddObject()]
        if scenes
        else [FoilObject(), OtherObject(), HallucinateObject()]
    )
    for corruption in kinds:
        corruption.fit(dataset)
    graphs: Any = dataset.part("scene_graphs") if scenes else {}
    drafts: list[list[Draft]] = []
    for i, image_id in enumerate(dataset.image_ids):
        made: dict[str, Draft] = {}
        texts = (dataset.human[i],) * _DRAWS if source == HUMAN else dataset.references[i]
        for k, text in enumerate(texts):
            for corruption in kinds:
                rng = corruption.generator(seed + k, image_id)
                result = corruption.corrupt(
                    Caption(image_id, text, graphs.get(image_id) if scenes else None), rng
                )
                lost = isinstance(result, Harmed) and (
                    result.lost or not (result.false + result.added)
                )
                if result.applied and not lost:
                    made.setdefault(result.text, false_draft(text, result.text, result.harm))
        drafts.append(list(made.values()))
    return drafts


class FoilCheck:
    """FOIL's rule on any caption: does it name an object that the image does not show?"""

    def __init__(self, dataset: CaptionDataset) -> None:
        known = known_images(dataset)
        self._present = [known[image_id].present for image_id in dataset.image_ids]

    def absent(self, text: str, index: int) -> frozenset[str]:
        """The categories that the caption names beyond doubt and the image does not show."""
        named = {m.category for m in mentions(parse(text))}
        return frozenset(named) - self._present[index]


SIZE = 64
_HARMLESS = (
    Passive,
    MirrorRelation,
    SwapConjuncts,
    Synonym,
    NumberFormat,
    ThereIsFrame,
    PhotoPrefix,
    Filler,
    DefiniteArticle,
    LowerCase,
    FinalStop,
)
_EDITS, _TRIES = 3, 20


@dataclass(frozen=True, slots=True)
class Pool:
    """64 captions of each of some images.

    Attributes
    ----------
    index
        [n] The positions of the images in the dataset.
    captions
        [n][64] The captions.
    true
        [n, 64] Whether a caption says nothing that is known to be false.
    """

    index: npt.NDArray[np.intp]
    captions: tuple[tuple[str, ...], ...]
    true: npt.NDArray[np.bool_]


def draw_pool(
    dataset: CaptionDataset,
    false: Sequence[Sequence[Draft]],
    near: Sequence[Sequence[str]],
    far: Sequence[str],
    check: FoilCheck | None,
    images: int,
    seed: int,
    systems: Mapping[str, Mapping[ImageId, str]] | None = None,
) -> Pool:
    """The pools of the first `images` images for which 64 distinct captions can be made.

    True are the human caption and harmless rewrites of it; false are the drafts of `false`, and
    these with up to three changed words that leave the false statement in place. Captions of
    `systems` (name → image id → caption) are false where `check` finds a false object, else they
    count as true.
    """
    rewrites: list[Corruption] = [kind() for kind in _HARMLESS]
    for corruption in rewrites:
        corruption.fit(dataset)
    index: list[int] = []
    captions: list[tuple[str, ...]] = []
    true: list[list[bool]] = []
    for i, image_id in enumerate(dataset.image_ids):
        if len(index) == images:
            break
        human = dataset.human[i]
        entries = {human: True}
        for corruption in rewrites:
            rng = corruption.generator(seed, image_id)
            result = corruption.corrupt(Caption(image_id, human), rng)
            if result.applied:
                entries.setdefault(result.text, True)
        for of_system in (systems or {}).values():
            if text := of_system.get(image_id):
                entries.setdefault(text, check is None or not check.absent(text, i))
        _add_false(entries, i, false[i], near[i], far, check, np.random.default_rng([seed, i]))
        if len(entries) == SIZE:
            index.append(i)
            captions.append(tuple(entries))
            true.append(list(entries.values()))
    return Pool(
        np.array(index, dtype=np.intp),
        tuple(captions),
        np.array(true, dtype=np.bool_).reshape(-1, SIZE),
    )


def _add_false(
    entries: dict[str, bool],
    i: int,
    drafts: Sequence[Draft],
    near: Sequence[str],
    far: Sequence[str],
    check: FoilCheck | None,
    rng: np.random.Generator,
) -> None:
    """Fill a pool with false captions: the drafts, then changed ones of them."""
    queue = list(drafts)
    for _ in range(_TRIES * SIZE if drafts else 0):
        if len(entries) == SIZE:
            return
        if queue:
            draft: Draft | None = queue.pop(0)
        else:
            draft = drafts[int(rng.integers(len(drafts)))]
            for _ in range(int(rng.integers(1, _EDITS + 1))):
                draft = draft and mutated(draft, near, far, rng)
        if draft is not None and (check is None or check.absent(draft.text, i)):
            entries.setdefault(draft.text, False)


def chance_of_choice(scores: npt.NDArray[np.float64], n: int) -> npt.NDArray[np.float64]:
    """[m] The probability that each of m captions is the best of n drawn without replacement.

    Of equal scores each is chosen equally often. An undefined score (NaN) is the lowest.

    >>> chance_of_choice(np.array([0.1, 0.9, 0.5]), 2).round(3).tolist()
    [0.0, 0.667, 0.333]
    """
    m = len(scores)
    values = np.where(np.isnan(scores), -np.inf, scores)
    # at_most(k): the probability that all n drawn are among the k lowest
    at_most = np.zeros(m + 1)
    for k in range(n, m + 1):
        at_most[k] = np.prod((k - np.arange(n)) / (m - np.arange(n)))
    ordered = np.sort(values)
    low = np.searchsorted(ordered, values, side="left")
    high = np.searchsorted(ordered, values, side="right")
    return (at_most[high] - at_most[low]) / (high - low)
