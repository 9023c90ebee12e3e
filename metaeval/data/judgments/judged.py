"""Captions that people have judged, as a dataset that every metric can score.

A `Judgments` is what the experiment `judgments` works on: one `JudgedCaption` for each caption
shown to people with an image, and a `CaptionDataset` of what the metrics compare it with. The
protocol (`metaeval.data.judgments.judged`) decides which captions stay, what their references are
and how many documents CIDEr counts.

The protocols of correlation with human judgements, named and exact.

Published correlations differ in four choices that papers often do not state. A `Protocol` makes
each of them; a name means the choices of a paper.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from metaeval.data.annotated_images import ImagePlaces, annotated_dataset
from metaeval.data.dataset import CaptionDataset, ImageSource
from metaeval.data.identity import drawn_images
from metaeval.data.tidy import letters_and_digits
from metaeval.errors import InputError
from metaeval.options import Limit, NonNegativeInt
from metaeval.runs.records import HUMAN
from metaeval.stats.resampling.items import without_rounding

ProtocolName = Literal["clipscore2021", "averaged", "plain"] | None


class Choices(TypedDict, total=False):
    """Single choices of a `Protocol` that replace those of its name; `None` replaces nothing."""

    own_captions: Literal["drop", "unreference", "leave_out", "keep"] | None
    ratings: Literal["each", "mean"] | None
    documents: Literal["rating", "pair", "image"] | None
    statistic: Literal["kendall_tau_c", "kendall_tau_b", "spearman", "pearson"] | None
    n_references: Limit
    draw: NonNegativeInt


@dataclass(frozen=True, slots=True)
class Protocol:
    """How judged captions become rows of a correlation.

    Attributes
    ----------
    name
        What it is called, "custom" where no name fits.
    own_captions
        What happens to a candidate that is, by its letters and digits, one of its own image's
        references:
        "drop" leaves the judged caption out; "unreference" takes it out of the references of its
        image, for every caption judged with that image; "leave_out" takes it out of its own
        references only, and other captions of the image keep it; "keep" does nothing, and the
        candidate is compared with itself.
    ratings
        "each": every rating is a row of its own, so a caption rated by three people is there three
        times; "mean": a caption is one row with the mean of its ratings.
    documents
        What CIDEr counts as a document for its idf: "rating" (as many documents as ratings),
        "pair" (every judged caption with its references), "image".
    statistic
        The correlation that the protocol is quoted by.
    n_references
        How many references of a caption metrics see, drawn at random; `None` is all.
    draw
        The number of the draw. Captions of an image get the same references, and fewer
        references are the first of more.
    """

    name: str
    own_captions: str
    ratings: str
    documents: str
    statistic: str
    n_references: int | None = None
    draw: int = 0


# J. Hessel, A. Holtzman, M. Forbes, R. Le Bras, Y. Choi (2021), CLIPScore, EMNLP, appendix A and
# the code published with it; for Flickr8k-Expert it follows P. Anderson et al. (2016), SPICE.
_CLIPSCORE_2021 = {
    "flickr8k_expert": ("drop", "each", "rating", "kendall_tau_c"),
    "flickr8k_cf": ("unreference", "mean", "pair", "kendall_tau_b"),
    "composite": ("unreference", "each", "pair", "kendall_tau_c"),
}
_NAMED = {
    "clipscore2021": _CLIPSCORE_2021,
    # one row per caption: Flickr8k-Expert with 5,664 rows instead of 16,992
    "averaged": {
        name: (own_captions, "mean", "pair", statistic)
        for name, (own_captions, _, _, statistic) in _CLIPSCORE_2021.items()
    },
}
# what a dataset without a protocol of its own gets
_PLAIN = ("keep", "mean", "image", "kendall_tau_b")


def protocol_for(dataset: str, name: ProtocolName, **choices: Unpack[Choices]) -> Protocol:
    """The protocol of that name for a dataset, with single choices replaced where given.

    Where a choice differs, the name says so: "clipscore2021 with ratings=mean".
    """
    name = name or "plain"
    made = Protocol(name, *_NAMED.get(name, {}).get(dataset, _PLAIN))
    changed: dict[str, Any] = {
        key: value
        for key, value in choices.items()
        if value is not None and value != getattr(made, key)
    }
    if not changed:
        return made
    changes = ", ".join(f"{key}={value}" for key, value in changed.items())
    return replace(made, name=f"{made.name} with {changes}", **changed)


@dataclass(frozen=True, slots=True)
class JudgedCaption:
    """One caption that people have judged.

    Attributes
    ----------
    image
        The image's id, the unit of resampling.
    candidate
        The judged caption.
    references
        The image's human captions, before the protocol has had its say.
    human
        Dimension ("rating", "precision", …) → the ratings given to the caption, at least one.
        More is better.
    system
        What wrote the caption, where that is known.
    file
        The image's file name.
    source
        Which photograph the image is (`metaeval.data.identity`), `None` if unknown.
    subset
        The part of the benchmark that the caption belongs to ("8k"), where it has parts.
    raters
        Who gave the ratings of the one dimension, in their order; empty where that is not known.
    wrong
        Which of the candidate's words, at white space, people marked as wrong; empty where nobody
        marked them.
    """

    image: str
    candidate: str
    references: tuple[str, ...]
    human: Mapping[str, tuple[float, ...]]
    system: str | None = None
    file: str | None = None
    source: ImageSource | None = None
    subset: str | None = None
    raters: tuple[str, ...] = ()
    wrong: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Judgments:
    """Judged captions under a protocol.

    Attributes
    ----------
    name, title
        "flickr8k_expert" and what a reader calls it.
    protocol
        How the captions were chosen and arranged.
    judged
        n captions, references as the protocol leaves them.
    dataset
        What metrics see: the images with their references; caption j is compared with those at
        `image_index[j]`.
    dimensions
        The names of what people rated.
    facts
        Counts: what the files held, what the protocol left out.
    higher_is_better
        False where the file's ratings are higher for worse captions: those here are negated.
    """

    name: str
    title: str
    protocol: Protocol
    judged: tuple[JudgedCaption, ...]
    dataset: CaptionDataset
    image_index: npt.NDArray[np.intp]
    dimensions: tuple[str, ...]
    facts: Mapping[str, int] = field(default_factory=dict)
    higher_is_better: bool = True

    def __len__(self) -> int:
        return len(self.judged)

    def documents(self) -> CaptionDataset:
        """What metrics see: `dataset`."""
        return self.dataset

    def rows(self, dimension: str) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
        """The rows that correlations are taken over: the caption of each, and its rating.

        With `ratings: each` a caption has as many rows as ratings, with `mean` one.
        """
        if self.protocol.ratings == "mean":
            means = self.means(dimension)
            rated = np.flatnonzero(~np.isnan(means))
            return rated, means[rated]
        ratings = [judged.human.get(dimension, ()) for judged in self.judged]
        caption = np.repeat(np.arange(len(ratings), dtype=np.intp), list(map(len, ratings)))
        return caption, np.array([value for r in ratings for value in r], dtype=np.float64)

    def means(self, dimension: str) -> npt.NDArray[np.float64]:
        """The mean rating of each caption (`without_rounding`), NaN where it has none."""
        ratings = (judged.human.get(dimension, ()) for judged in self.judged)
        return without_rounding([sum(r) / len(r) if r else np.nan for r in ratings])


def arrange(
    name: str,
    title: str,
    judged: Sequence[JudgedCaption],
    protocol: Protocol,
    *,
    sources: Mapping[str, str],
    notes: Sequence[str] = (),
    limit: int | None = None,
    read: int | None = None,
    **places: Unpack[ImagePlaces],
) -> Judgments:
    """Apply a protocol to judged captions and make the dataset that metrics see.

    `places` say where objects and image files are, `read` how many records the files held, where
    they are not all among `judged`.

    Raises InputError where nothing is left.
    """
    facts = {"judged_in_files": len(judged), "images_in_files": len({j.image for j in judged})}
    chosen = list(judged)
    if limit is not None:
        drawn = drawn_images((j.image for j in chosen), limit)
        chosen = [j for j in chosen if j.image in drawn]
    own_captions = own_captions_of(chosen)
    facts["own_captions"] = sum(caption is not None for caption in own_captions)
    chosen = _with_own_captions(chosen, own_captions, protocol.own_captions)
    if protocol.n_references is not None:
        chosen = [_with_drawn_references(j, protocol.n_references, protocol.draw) for j in chosen]
    if not chosen:
        raise InputError(f"no judged caption is left ({name})", file=", ".join(sources) or None)
    dimensions = tuple(dict.fromkeys(d for j in chosen for d in j.human))
    facts |= {
        "judged": len(chosen),
        "images": len({j.image for j in chosen}),
        "without_references": sum(not j.references for j in chosen),
    }
    dataset, places_of = annotated_dataset(
        name,
        [j.image for j in chosen],
        [j.references for j in chosen],
        [j.references[0] if j.references else "" for j in chosen],
        photographs=[j.source for j in chosen],
        names={j.image: j.file for j in chosen if j.file},
        sources=sources,
        notes=notes,
        read=len(judged) if read is None else read,
        documents=_documents(chosen, protocol.documents),
        **places,
    )
    facts["documents"] = len(dataset.corpus())
    return Judgments(name, title, protocol, tuple(chosen), dataset, places_of, dimensions, facts)


def own_captions_of(judged: Sequence[JudgedCaption]) -> list[str | None]:
    """The letters and digits of each candidate that is one of its own image's references, or None.

    Where captions of people are marked (a system is called "Human"), only these are own captions:
    an equal caption of a machine does not remove a reference.
    """
    people = any(j.system == HUMAN for j in judged)
    captions: list[str | None] = []
    for j in judged:
        letters = letters_and_digits(j.candidate)
        is_own = letters in map(letters_and_digits, j.references)
        captions.append(letters if is_own and (j.system == HUMAN or not people) else None)
    return captions


def _with_own_captions(
    judged: list[JudgedCaption], captions: Sequence[str | None], how: str
) -> list[JudgedCaption]:
    """What is left where captions that are references of their own image are treated like this."""
    pairs = list(zip(judged, captions, strict=True))
    if how == "drop":
        return [j for j, own in pairs if own is None]
    if how == "leave_out":
        return [_left_out(j, own) for j, own in pairs]
    return _unreferenced(judged, captions) if how == "unreference" else judged


def _unreferenced(
    judged: Sequence[JudgedCaption], own_captions: Sequence[str | None]
) -> list[JudgedCaption]:
    """Take a caption that was judged with its own image out of that image's references, for all
    captions judged with the image: once for each time it was judged, as often as it is there."""
    by_image: dict[str, list[str]] = {}
    for j, caption in zip(judged, own_captions, strict=True):
        if caption is not None:
            by_image.setdefault(j.image, []).append(caption)

    def without(j: JudgedCaption) -> tuple[str, ...]:
        left = {k: letters_and_digits(r) for k, r in enumerate(j.references)}
        for caption in by_image[j.image]:
            first = next((k for k, letters in left.items() if letters == caption), None)
            if first is not None:
                del left[first]
        return tuple(j.references[k] for k in left)

    return [replace(j, references=without(j)) if j.image in by_image else j for j in judged]


def _left_out(judged: JudgedCaption, caption: str | None) -> JudgedCaption:
    """The caption with the reference that it equals taken out of its own references, once."""
    if caption is None:
        return judged
    place = list(map(letters_and_digits, judged.references)).index(caption)
    others = judged.references[:place] + judged.references[place + 1 :]
    return replace(judged, references=others)


def _with_drawn_references(judged: JudgedCaption, n: int, draw: int) -> JudgedCaption:
    """The caption with n of its references, drawn at random."""
    rng = np.random.default_rng([draw, *judged.image.encode()])
    order = rng.permutation(len(judged.references))[:n]
    return replace(judged, references=tuple(judged.references[k] for k in order.tolist()))


def _documents(judged: Sequence[JudgedCaption], how: str) -> list[int] | None:
    """As how many documents each caption with its references counts; `None`: images are counted."""
    if how == "image":
        return None
    return [max(map(len, j.human.values())) if how == "rating" else 1 for j in judged]
