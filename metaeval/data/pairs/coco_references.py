"""COCO's human captions for images that come without them, looked up by COCO id."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from metaeval.data.coco.captions import read_captions
from metaeval.data.coco.files import search_bases
from metaeval.data.dataset import ImageId, ImageSource
from metaeval.data.image_source import coco_number
from metaeval.errors import InputError
from metaeval.readers.files import user_path

# whose captions files are looked for; the numbers of both years are the same
SPLITS = ("val2017", "karpathy_test", "val2014", "train2017", "train2014")


class CocoReferences:
    """Captions from a file of COCO's schema or, by default, from those in the data folder.

    The files are read in the order of `SPLITS`, and only as many as it takes to have every image.
    Raises InputError for a file that the user named and that is not there.

    Attributes
    ----------
    looked
        The files, in words.
    checksums, notes
        SHA-256 of the files that served, and what was tidied in them.
    """

    def __init__(self, captions: str | Path | None = None, data: str | Path | None = None) -> None:
        if captions is not None:
            path = user_path(captions)
            if not path.is_file():
                raise InputError("file not found; correct dataset.captions", file=path)
            self._paths = [path]
        else:
            names = [f"annotations/captions_{split}.json" for split in SPLITS]
            places = [base / name for name in names for base in search_bases(data=data)]
            self._paths = [path for path in dict.fromkeys(places) if path.is_file()]
        self.looked = ", ".join(map(str, self._paths)) or (
            f"annotations/captions_{{{','.join(SPLITS)}}}.json in METAEVAL_DATA"
        )
        self.checksums: dict[str, str] = {}
        self.notes: list[str] = []

    def image_ids(self) -> frozenset[ImageId]:
        """The ids of all images that have captions in the files."""
        return frozenset(i for path in self._paths for i in read_captions(path).captions)

    def of(self, sources: Collection[ImageSource]) -> dict[ImageSource, tuple[str, ...]]:
        """The captions of each image that the files have, all of an image from one file."""
        references: dict[ImageSource, tuple[str, ...]] = {}
        for path in self._paths:
            missing = {
                s: n for s in sources - references.keys() if (n := coco_number(s)) is not None
            }
            if not missing:
                break
            file = read_captions(path)
            served = {s: file.captions[n] for s, n in missing.items() if n in file.captions}
            if served:
                references |= served
                self.checksums[path.name] = file.sha256
                self.notes += [f"{path.name}: {note}" for note in file.notes]
        return references
