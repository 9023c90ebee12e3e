"""Whole captions: of another image, empty, generic, and of words glued together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted, Corruption
from metaeval.corruptions.graded.random import donated
from metaeval.corruptions.language.base import rewritten_whole
from metaeval.corruptions.language.known import Known, known_images
from metaeval.corruptions.language.parsed import NO_THINGS, parse
from metaeval.corruptions.language.whole.corpus import Corpus, corpus_of
from metaeval.data.dataset import CaptionDataset, ImageId

_GENERIC = (
    "A photo of something.",
    "An image of some things.",
    "A picture of a scene.",
    "This is a picture.",
    "There is something in this photo.",
    "Some things are in a place.",
)


class Generic(Corruption):
    """A caption that is true of every image and not specific to this one."""

    name = "generic"
    title = "Generic caption"
    kind = "whole caption"
    severity = "critical"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        return rewritten_whole(
            caption.text, _GENERIC[int(rng.integers(len(_GENERIC)))], "is generic"
        )


class Empty(Corruption):
    """No caption at all."""

    name = "empty"
    title = "Empty caption"
    kind = "whole caption"
    severity = "critical"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        return rewritten_whole(caption.text, "", "is empty already")


class ObjectList(Corruption):
    """The nouns of the caption, one after another, without anything else."""

    name = "object_list"
    title = "List of objects"
    kind = "whole caption"
    severity = "major"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        parsed = parse(caption.text)
        nouns = [
            " ".join(parsed.words[p.noun : p.end])
            for p in parsed.phrases
            if parsed.word(p.head) not in NO_THINGS
        ]
        nouns = list(dict.fromkeys(nouns))
        if len(nouns) < 2:
            return Corrupted(
                caption.text, False, realised=0.0, reason="names fewer than two things"
            )
        return rewritten_whole(caption.text, ", ".join(nouns), "is a list already")


class ShuffledReferences(Corruption):
    """Words of all references and the caption in random order, as many as the caption has."""

    name = "shuffled_references"
    title = "References' words shuffled"
    kind = "whole caption"
    severity = "critical"

    def __init__(self) -> None:
        self._known: Mapping[ImageId, Known] = {}

    def fit(self, dataset: CaptionDataset) -> None:
        self._known = known_images(dataset)

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        known = self._known.get(caption.image_id, Known())
        words = [
            token.strip(".,!?\"'").lower()
            for text in (caption.text, *known.references)
            for token in text.split()
        ]
        words = [word for word in words if word]
        n = len(caption.text.split())
        text = " ".join(words[i] for i in rng.permutation(len(words))[:n].tolist())
        return rewritten_whole(caption.text, text, "has too few words")


class JoinCaptions(Corruption):
    """The caption, and another image's behind it."""

    name = "join_captions"
    title = "Another image's caption added"
    kind = "whole caption"
    severity = "critical"

    def __init__(self) -> None:
        self._donated: dict[ImageId, str] = {}

    def apply(self, dataset: CaptionDataset, seed: int) -> list[Corrupted]:
        self._donated = donated(dataset.pool_ids, dataset.pool, seed)
        return super().apply(dataset, seed)

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        other = self._donated.get(caption.image_id, "")
        if not other or other.lower().split() == caption.text.lower().split():
            return Corrupted(caption.text, False, realised=0.0, reason="no other caption")
        first = caption.text.rstrip()
        joint = first if first.endswith((".", "!", "?")) else f"{first}."
        return rewritten_whole(caption.text, f"{joint} {other}", "no other caption")


class _FromCorpus(Corruption):
    """Makes captions from all human captions of the dataset's file."""

    def __init__(self) -> None:
        self._corpus: Corpus | None = None
        self._known: Mapping[ImageId, Known] = {}

    def fit(self, dataset: CaptionDataset) -> None:
        self._corpus = corpus_of(dataset)
        self._known = known_images(dataset)

    def facts(self) -> Mapping[str, object]:
        return {"corpus_captions": len(self._corpus.captions)} if self._corpus else {}

    @property
    def corpus(self) -> Corpus:
        if self._corpus is None:
            raise RuntimeError(f"{self.name}: fit comes before corrupt")
        return self._corpus


class SimilarImage(_FromCorpus):
    """The caption of the most similar other image that names a thing missing in this image.

    Similar by tf-idf over the words of all human captions of the file. Of COCO's categories, the
    other caption names at least one, and not people, that is neither annotated nor named in this
    image's captions: else it might be true here, too.
    """

    name = "similar_image"
    title = "Most similar image's caption"
    kind = "whole caption"
    severity = "critical"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        known = self._known.get(caption.image_id, Known())
        for text in self.corpus.most_similar(caption.image_id, caption.text):
            if self.corpus.surely_named(text) - known.present - {"person"}:
                return rewritten_whole(caption.text, text, "the same caption")
        return Corrupted(
            caption.text, False, realised=0.0, reason="no similar caption is false of it"
        )


class Nonsense(_FromCorpus):
    """A sentence that a trigram model of all human captions makes up: fluent, of no image.

    Probably not about this image: it shares at most one content word with its captions.
    """

    name = "nonsense"
    title = "Fluent nonsense"
    kind = "whole caption"
    severity = "critical"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        known = self._known.get(caption.image_id, Known())
        for _ in range(20):
            text = self.corpus.sentence(rng)
            if 5 <= len(text.split()) <= 20 and self._strange(text, known):
                return rewritten_whole(caption.text, text, "the same caption")
        return Corrupted(caption.text, False, realised=0.0, reason="20 sentences might be about it")

    @staticmethod
    def _strange(text: str, known: Known) -> bool:
        parsed = parse(text)
        content = {t.word for t in parsed.tokens if t.is_noun and t.word not in NO_THINGS}
        return len(content & known.words) < 2


class FrequentNgrams(_FromCorpus):
    """Frequent four-grams of all human captions glued together, about as long as the caption."""

    name = "frequent_ngrams"
    title = "Frequent n-grams glued"
    kind = "whole caption"
    severity = "critical"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        grams: Sequence[str] = self.corpus.frequent
        n = max(2, round(len(caption.text.split()) / 4))
        if len(grams) < n:
            return Corrupted(caption.text, False, realised=0.0, reason="the corpus is too small")
        chosen = rng.permutation(len(grams))[:n].tolist()
        return rewritten_whole(caption.text, " ".join(grams[i] for i in chosen), "the same caption")
