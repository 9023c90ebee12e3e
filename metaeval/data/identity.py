"""Image ids of files: one written form for each image, and no two images that become one.

Every loader that turns something written (a cell, a file name, an id with leading zeros) into an
image id registers it here. Two written forms of one id are refused: their captions would become
each other's references, or the features of one image would be used for the other.

The photograph of an image, independent of a dataset's names.

A model must not score an image that it has learned from, and one photograph has many names: a
COCO id, a file of COCO 2014 or of COCO 2017, the number of a judged caption. Its *source* is one
text for all of them: "coco:391895". Other collections have sources of their own
("flickr8k:1000268201_693b08cb0e"); `None` means unknown.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath

from metaeval.data.dataset import ImageId, ImageSource
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import one_line

_DECIMAL = re.compile("[0-9]{1,18}")  # ASCII only: isdecimal() accepts digits of other scripts
_SUFFIX = re.compile(r"\.(?:jpe?g|png|webp|bmp|gif|tiff?|npy|npz)", re.IGNORECASE)
_COCO_STEM = re.compile(r"COCO_(?:.*_)?([0-9]+)")


def is_decimal(text: str) -> bool:
    """Whether a text is a non-negative integer in ASCII digits that fits 64 bits."""
    return _DECIMAL.fullmatch(text) is not None


class ImageIdRegistry:
    """The image ids of one file, each with the form in which the file writes it.

    Parameters
    ----------
    file
        For messages.
    field
        The column or key that holds the ids, for messages.

    >>> registry = ImageIdRegistry(Path("captions.csv"), "image_id")
    >>> registry.add(7, "007", "line 2")
    7
    >>> registry.add(7, "7", "line 3")
    Traceback (most recent call last):
        ...
    metaeval.errors.InputError: captions.csv, line 3, field 'image_id': '7' and '007' (line 2) \
become the same image 7; write each image's id in one form, and different images' ids differently
    """

    def __init__(self, file: Path, field: str | None = None) -> None:
        self._file, self._field = file, field
        self._written: dict[str, tuple[str, str]] = {}

    def add(self, image: ImageId, written: str, where: str, once: bool = False) -> ImageId:
        """Register an id; InputError for a second written form and, with `once`, for a second
        record of it."""
        for key in _forms(image, written):
            known, place = self._written.setdefault(key, (written, where))
            if known != written or (once and place != where):
                self._refuse(image, written, known, place, where)
        return image

    def _refuse(self, image: ImageId, written: str, known: str, place: str, where: str) -> None:
        same = composed(written) == composed(known)  # Unicode's forms look alike: escaped
        this, other = (ascii(t) if same else one_line(repr(t), 80) for t in (written, known))
        if written == known:
            problem = f"the image {this} occurs twice: {place} has it too; remove one of them"
        else:
            problem = (
                f"{this} and {other} ({place}) become the same image {image_key(image)}; write "
                "each image's id in one form, and different images' ids differently"
            )
        raise InputError(problem, file=self._file, record=where, field=self._field)


def _forms(image: ImageId, written: str) -> tuple[str, ...]:
    """What no other image may have: the id and, where that is no number, the written form's key.

    They differ in Flickr8k's `2258277193_586949ec62.jpg.1`, which is another image than `….jpg`.
    """
    if isinstance(image, int):
        return (str(image),)
    return tuple(dict.fromkeys((str(image), image_key(written))))


def composed(text: str) -> str:
    """A text in Unicode's normal form C: the same for "é" as one character and as two.

    >>> composed("cafe\u0301") == "café"
    True
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def image_key(value: object) -> str:
    """An image id in the form in which files are compared.

    Folder, suffix of an image or array file, COCO 2014's prefix and leading zeros are removed, and
    Unicode's normal form is C; a name that is not a number otherwise stays as it is, and so does a
    sentence.

    >>> [image_key(x) for x in (42, "000042", "COCO_val2014_000000000042.jpg", "imgs/dog_1.png")]
    ['42', '42', '42', 'dog_1']
    >>> image_key("at 5 km/h")
    'at 5 km/h'
    """
    written = str(value.decode("utf-8", "replace") if isinstance(value, bytes) else value)
    text = composed(written.strip())
    if " " in text and not _SUFFIX.search(text[-5:]):
        return text
    stem = text.replace("\\", "/").rsplit("/", 1)[-1]
    if match := _SUFFIX.search(stem, max(0, stem.rfind("."))):
        stem = stem[: match.start()] if match.end() == len(stem) else stem
    if coco := _COCO_STEM.fullmatch(stem):
        stem = coco[1]
    return (stem.lstrip("0") or "0") if stem.isascii() and stem.isdigit() else stem


class IdJoin:
    """Finds the ids that one side has of the images of another, where only one can be meant.

    An equal id is the same image. Where there is none, it is the only one that is equal by
    `image_key` (without folder, suffix and leading zeros) on both sides.

    >>> join = IdJoin([42, 7], "COCO_val2014_000000000042.jpg 7 8".split())
    >>> join.of("COCO_val2014_000000000042.jpg"), join.of("7"), join.of("8"), join.in_other_form
    (42, 7, None, {'COCO_val2014_000000000042.jpg': 42})
    """

    def __init__(self, known: Iterable[ImageId], others: Iterable[ImageId]) -> None:
        self._known = set(known)
        self._by_key, self._of_others = _by_key(self._known), _by_key(set(others))
        self.in_other_form: dict[ImageId, ImageId] = {}  # id of the other side → the known one

    def of(self, image: ImageId) -> ImageId | None:
        """The known id of the other side's image; `None` where there is none, or several."""
        if image in self._known:
            return image
        key = image_key(image)
        same = self._by_key.get(key, [])
        if len(same) != 1 or len(self._of_others.get(key, [image])) != 1:
            return None
        if str(same[0]) != composed(str(image)):
            self.in_other_form[image] = same[0]
        return same[0]

    def note(self, file: Path) -> list[str]:
        """A note that counts the ids of a file that the dataset writes otherwise."""
        if not self.in_other_form:
            return []
        theirs, ours = next(iter(self.in_other_form.items()))
        return [
            f"{len(self.in_other_form):,} ids of {file.name} are joined without folder, ending and "
            f"leading zeros: {theirs!r} is {ours!r}."
        ]


def drawn_images(images: Iterable[str], n: int) -> set[str]:
    """n of the images, drawn by a digest of their names: files often list them by where they come
    from, and the same ones are drawn whatever the order, and again among more.

    >>> drawn_images(["a", "b", "c", "d"], 2) == drawn_images(["d", "c", "b", "a", "a"], 2)
    True
    """
    return set(sorted(set(images), key=lambda name: (sha256(name.encode()).hexdigest(), name))[:n])


def _by_key(ids: Iterable[ImageId]) -> dict[str, list[ImageId]]:
    by_key: dict[str, list[ImageId]] = {}
    for image in ids:
        by_key.setdefault(image_key(image), []).append(image)
    return by_key


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
        return {i: source_of_file(names.get(i, str(i))) for i in ids}
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
