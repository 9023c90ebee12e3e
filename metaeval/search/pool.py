"""Captions of which it is known that they are false: where a search begins."""

from typing import Any

from metaeval.corruptions.base import Caption, Corruption
from metaeval.corruptions.language.categories import known_images, mentions
from metaeval.corruptions.language.content.objects import FoilObject, HallucinateObject, OtherObject
from metaeval.corruptions.language.parsed import parse, parse_all
from metaeval.corruptions.truth.base import Harmed
from metaeval.corruptions.truth.changes import (
    AddObject,
    ReplaceAttribute,
    ReplaceCount,
    ReplaceObject,
)
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.search.beam import Draft, false_draft

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
    found: list[dict[str, tuple[str, float | None]]] = []  # false caption → source and harm
    for i, image_id in enumerate(dataset.image_ids):
        made: dict[str, tuple[str, float | None]] = {}
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
                    made.setdefault(result.text, (text, result.harm))
        found.append(made)
    parse_all([text for made in found for text in made])
    return [[false_draft(source, text, harm) for text, (source, harm) in m.items()] for m in found]


class FoilCheck:
    """FOIL's rule on any caption: does it name an object that the image does not show?"""

    def __init__(self, dataset: CaptionDataset) -> None:
        known = known_images(dataset)
        self._present = [known[image_id].present for image_id in dataset.image_ids]

    def absent(self, text: str, index: int) -> frozenset[str]:
        """The categories that the caption names beyond doubt and the image does not show."""
        named = {m.category for m in mentions(parse(text))}
        return frozenset(named) - self._present[index]
