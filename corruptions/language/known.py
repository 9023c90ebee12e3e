"""A dataset's knowledge of an image besides the current caption: references, annotated objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import punctuation
from typing import Any

from metaeval.corruptions.language.categories import categories_in, supercategory
from metaeval.corruptions.language.inflection import singular, verb_lemma
from metaeval.data.dataset import Absent, CaptionDataset, ImageId


@dataclass(frozen=True, slots=True)
class Known:
    """What other captions of the image say and what is annotated in it.

    Attributes
    ----------
    references
        The references.
    words
        The words of references and human caption in lower case, with the singulars and the verbs'
        lemmas of them all.
    present
        COCO's categories that are annotated or named.
    """

    references: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    present: frozenset[str] = frozenset()

    def speaks_of(self, phrase: str) -> bool:
        """Whether some word of the phrase is said of the image; then it is not sure to be false."""
        parts = phrase.lower().split()
        return any(word in self.words or verb_lemma(word) in self.words for word in parts)

    @property
    def families(self) -> frozenset[str]:
        """COCO's supercategories of what is present."""
        return frozenset(map(supercategory, self.present))


def words_of(texts: Iterable[str]) -> frozenset[str]:
    """The words of texts, with singulars and lemmas."""
    words = {token.strip(punctuation).lower() for text in texts for token in text.split()} - {""}
    split = {part for word in words for part in word.split("-")}
    words |= split
    return frozenset(words | {singular(w) for w in words} | {verb_lemma(w) for w in words})


def known_images(dataset: CaptionDataset) -> Mapping[ImageId, Known]:
    """Image id → what is known of it; made once a dataset."""
    return dataset.derive("what is known of images", lambda: _known_images(dataset))


def _known_images(dataset: CaptionDataset) -> dict[ImageId, Known]:
    objects: Any = dataset.part("objects")
    known = {}
    for image_id, human, references in zip(
        dataset.image_ids, dataset.human, dataset.references, strict=True
    ):
        words = words_of([human, *references])
        labels = (
            frozenset[str]()
            if isinstance(objects, Absent) or image_id not in objects
            else frozenset(objects[image_id].labels)
        )
        named = frozenset(
            category for text in (human, *references) for category in categories_in(text)
        )
        known[image_id] = Known(tuple(references), words, labels | named)
    return known
