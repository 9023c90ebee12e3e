"""The photograph of an image, independent of a dataset's names.

A model must not score an image that it has learned from, and one photograph has many names: a
COCO id, a file of COCO 2014 or of COCO 2017, the number of a judged caption. Its *source* is one
text for all of them: "coco:391895". Other collections have sources of their own
("flickr8k:1000268201_693b08cb0e"); `None` means unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from metaeval.data.dataset import ImageId, ImageSource
from metaeval.data.identity import image_key, is_decimal
from metaeval.errors import ConfigError

COCO = "coco"
OTHER = "other"
CHOICES = (COCO, OTHER)
# 000000391895.jpg, and COCO_val2014_000000391895.jpg: the numbers of both years are the same
_COCO_NAME = re.compile(r"(?:COCO_[a-z]+\d{4}_)?(\d{12})\.\w+")


def coco_source(number: int) -> ImageSource:
    """The source of COCO's image of that id."""
    return f"{COCO}:{number}"


def coco_number(source: ImageSource | None) -> int | None:
    """The COCO id of a source, `None` where it is none of COCO's."""
    collection, _, number = (source or "").partition(":")
    return int(number) if collection == COCO else None


def source_of_file(name: str | None, collection: str | None = None) -> ImageSource | None:
    """The source of an image by its file's name.

    COCO's file names contain the image's number. Any other name belongs to the `collection`;
    without a collection (`None`) its source is unknown.
    """
    stem = PurePosixPath((name or "").replace("\\", "/"))
    if match := _COCO_NAME.fullmatch(stem.name):
        return coco_source(int(match[1]))
    return f"{collection}:{stem.stem}" if collection and stem.stem else None


def sources_of(
    ids: Iterable[ImageId],
    names: Mapping[ImageId, str],
    *,
    declared: str | None = None,
    collection: str = "",
) -> dict[ImageId, ImageSource | None]:
    """The source of each image of a dataset.

    Parameters
    ----------
    ids, names
        The images, and the file names of those that have one.
    declared
        What the user says (`dataset.image_source`): "coco", the ids are COCO's; "other", none of
        the images is COCO's; `None`, go by the file names.
    collection
        What the dataset is called, for the sources of "other" images.

    Raises ConfigError for another word, and for "coco" with an id that is neither a number nor a
    name of a COCO file.
    """
    if declared is None:
        return {i: source_of_file(names.get(i)) for i in ids}
    if declared not in CHOICES:
        raise ConfigError(f"dataset.image_source: '{declared}' is not one of {', '.join(CHOICES)}")
    if declared == OTHER:
        return {i: f"{OTHER}:{collection}/{i}" for i in ids}
    sources: dict[ImageId, ImageSource | None] = {}
    for image_id in ids:
        number = image_key(image_id)  # of COCO_val2014_000000000042.jpg: 42
        if not is_decimal(number):
            raise ConfigError(f"dataset.image_source=coco: {image_id!r} is not a COCO id")
        sources[image_id] = coco_source(int(number))
    return sources
