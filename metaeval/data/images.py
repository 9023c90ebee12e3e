"""The image files of a dataset: a folder, whole or in part."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from metaeval.data.dataset import ImageId

# COCO 2014 put the split before the number: COCO_val2014_000000000042.jpg is 000000000042.jpg
_PREFIX = re.compile(r"^COCO_\w+?_(?=\d{12}\.\w+$)")


class ImageFiles:
    """The path of an id's image, if it exists. A folder may contain only some of the images.

    The folder is listed once, when the object is made.

    Parameters
    ----------
    folder
        The folder of the files.
    names
        Image id → file name. A name may hold folders ("val2014/1.jpg"): the file is looked for
        there, then directly in the folder. A COCO 2014 name also finds the same image under its
        COCO 2017 name (the numbers are the same). A name that leaves the folder
        finds nothing, and neither does a symbolic link to a file outside of it: a report embeds
        photos, and must not embed other files of the user.
    """

    on_demand = False  # getting a path creates nothing

    def __init__(self, folder: Path, names: Mapping[ImageId, str]) -> None:
        self.folder = folder
        try:
            with os.scandir(folder) as entries:
                present = {entry.name for entry in entries if entry.is_file()}
        except (FileNotFoundError, NotADirectoryError):
            present = set()
        home = os.path.realpath(folder)
        self._files: dict[ImageId, str] = {}
        self.total = len(names)
        for image_id, name in names.items():
            relative = PurePosixPath(name.replace("\\", "/"))
            if relative.is_absolute() or ".." in relative.parts or not relative.name:
                continue
            if len(relative.parts) > 1 and self._inside(home, relative):
                self._files[image_id] = str(relative)
                continue
            for candidate in (relative.name, _PREFIX.sub("", relative.name)):
                if candidate in present and self._inside(home, candidate):
                    self._files[image_id] = candidate
                    break

    @staticmethod
    def _inside(home: str, name: str | PurePosixPath) -> bool:
        """Whether a name is a file of the folder, and not a link to one elsewhere."""
        file = os.path.realpath(os.path.join(home, name))
        return file.startswith(os.path.join(home, "")) and os.path.isfile(file)

    def path(self, image_id: ImageId) -> Path | None:
        """The image's file, or `None` if it is not there."""
        name = self._files.get(image_id)
        return None if name is None else self.folder / name

    def __contains__(self, image_id: object) -> bool:
        return image_id in self._files

    def __len__(self) -> int:
        """How many of the images are there."""
        return len(self._files)

    def count(self, image_ids: Iterable[ImageId]) -> int:
        """How many of these images are there."""
        return sum(image_id in self._files for image_id in image_ids)

    def __str__(self) -> str:
        return f"{len(self):,} of {self.total:,} files in {self.folder}"
