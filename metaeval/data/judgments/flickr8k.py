"""Flickr8k-Expert and Flickr8k-CF: the official files of Hodosh, Young and Hockenmaier (2013).

`Flickr8k.token.txt` holds "IMAGE.jpg#K <tab> caption", five captions per image.
`ExpertAnnotations.txt` holds an image, the id of a caption, and three experts' ratings from 1 to
4; `CrowdFlowerAnnotations.txt` an image, the id of a caption, the share of "yes" to "does the
caption describe the image?", and the numbers of yes and no.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Unpack

from metaeval.data.download import find_files
from metaeval.data.identity import source_of_file
from metaeval.data.judgments.judged import Choices, JudgedCaption, Judgments, arrange, protocol_for
from metaeval.data.tidy import Tidy
from metaeval.errors import InputError
from metaeval.options import Limit, checked
from metaeval.readers.files import TextFile, read_text
from metaeval.readers.tables import read_fields, read_number

TOKENS = "Flickr8k.token.txt"
EXPERT = "ExpertAnnotations.txt"
CROWD = "CrowdFlowerAnnotations.txt"
_MOST_PEOPLE = 1_000_000  # who said yes, or no
SOURCE = "Flickr8k_text.zip of the Flickr8k dataset (Hodosh, Young and Hockenmaier, 2013)"


@checked
def load_expert(
    root: str | Path | None = None,
    data: str | Path | None = None,
    images: str | Path | None = None,
    limit: Limit = None,
    protocol: str | None = "clipscore2021",
    **choices: Unpack[Choices],
) -> Judgments:
    """5,822 captions, each rated by three experts from 1 (unrelated) to 4 (describes the image).

    Parameters
    ----------
    root
        The folder of the three files; by default `flickr8k` in the data folder.
    data
        The data folder; by default METAEVAL_DATA.
    images
        The folder of the image files, for metrics that look at them.
    limit
        Only the first `limit` images by name.
    protocol, choices
        See `metaeval.data.judgments.judged`. "clipscore2021": own captions dropped (5,664
        captions left), every rating as a row (16,992), every row a document, τ-c.

    Raises InputError for files that are not there or not as they should be.
    """
    chosen = protocol_for("flickr8k_expert", protocol, **choices)
    files = find_files([TOKENS, EXPERT], folder="flickr8k", source=SOURCE, root=root, data=data)
    tokens, expert = read_text(files[TOKENS]), read_text(files[EXPERT])
    captions = Flickr8kCaptions(tokens)
    judged = [
        captions.judged(expert, where, ids, {"rating": tuple(ratings)})
        for where, ids, ratings in _annotations(
            expert, ("expert 1", "expert 2", "expert 3"), [(1, 4)] * 3
        )
    ]
    return arrange(
        "flickr8k_expert",
        "Flickr8k-Expert",
        judged,
        chosen,
        sources={TOKENS: tokens.sha256, EXPERT: expert.sha256},
        notes=captions.tidy.notes(),
        images=images,
        data=data,
        limit=limit,
    )


@checked
def load_crowd(
    root: str | Path | None = None,
    data: str | Path | None = None,
    images: str | Path | None = None,
    limit: Limit = None,
    protocol: str | None = "clipscore2021",
    **choices: Unpack[Choices],
) -> Judgments:
    """47,830 captions with the share of at least three people who said that it fits the image.

    Parameters as in `load_expert`. "clipscore2021": an image's own captions stay, but go out of
    the image's references; every caption a document; τ-b.
    """
    chosen = protocol_for("flickr8k_cf", protocol, **choices)
    files = find_files([TOKENS, CROWD], folder="flickr8k", source=SOURCE, root=root, data=data)
    tokens, crowd = read_text(files[TOKENS]), read_text(files[CROWD])
    captions = Flickr8kCaptions(tokens)
    judged = []
    for where, ids, (share, yes, no) in _annotations(
        crowd, ("share of yes", "yes", "no"), [(0, 1), (0, _MOST_PEOPLE), (0, _MOST_PEOPLE)]
    ):
        if yes + no < 1 or abs(share - yes / (yes + no)) > 1e-5:
            raise InputError(
                f"{share:g} is not the share of {yes:g} yes and {no:g} no",
                file=crowd.path,
                record=where,
                field="share of yes",
            )
        judged.append(captions.judged(crowd, where, ids, {"yes": (share,)}))
    return arrange(
        "flickr8k_cf",
        "Flickr8k-CF",
        judged,
        chosen,
        sources={TOKENS: tokens.sha256, CROWD: crowd.sha256},
        notes=captions.tidy.notes(),
        images=images,
        data=data,
        limit=limit,
    )


def _annotations(
    file: TextFile, numbers: Sequence[str], scales: Sequence[tuple[int, int]]
) -> Iterator[tuple[str, tuple[str, str], list[float]]]:
    """The lines of an annotation file: where, the ids of image and caption, and three numbers.

    Ratings are integers; proportions are in [0, 1].
    """
    for where, (image, caption, *cells) in read_fields(file, ("image", "caption id", *numbers)):
        yield (
            where,
            (image, caption),
            [
                read_number(
                    cell, file.path, where, name, low=low, high=high, whole=(low, high) != (0, 1)
                )
                for cell, name, (low, high) in zip(cells, numbers, scales, strict=True)
            ],
        )


class Flickr8kCaptions:
    """The captions of Flickr8k by id, and by image in the order of the file."""

    def __init__(self, file: TextFile) -> None:
        self.tidy = Tidy()
        self._caption: dict[str, str] = {}
        by_image: dict[str, list[str]] = {}
        for where, (name, text) in read_fields(file, ("caption id", "caption")):
            image, mark, _ = name.partition("#")
            if not mark or name in self._caption:
                problem = "occurs twice" if mark else "is not IMAGE#NUMBER"
                raise InputError(
                    f"'{name}' {problem}", file=file.path, record=where, field="caption id"
                )
            caption = self.tidy.read(text, file=file.path, record=where, field="caption")
            self._caption[name] = caption
            by_image.setdefault(image, []).append(caption)
        self._references = {image: tuple(captions) for image, captions in by_image.items()}

    def judged(
        self,
        file: TextFile,
        where: str,
        ids: tuple[str, str],
        human: dict[str, tuple[float, ...]],
    ) -> JudgedCaption:
        """A line of an annotation file, its ids of image and caption resolved."""
        image, caption = ids
        if image not in self._references:
            raise InputError(
                f"no caption of '{image}' is in {TOKENS}",
                file=file.path,
                record=where,
                field="image",
            )
        if caption not in self._caption:
            raise InputError(
                f"'{caption}' is not in {TOKENS}", file=file.path, record=where, field="caption id"
            )
        source = source_of_file(image, "flickr8k")
        return JudgedCaption(
            image, self._caption[caption], self._references[image], human, file=image, source=source
        )
