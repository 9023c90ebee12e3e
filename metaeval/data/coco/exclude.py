"""Leave out the images of other captions files, so that training images are not scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from metaeval.data.coco.captions import CaptionFile, read_captions
from metaeval.data.coco.files import Places, find_coco_captions
from metaeval.data.dataset import Absent
from metaeval.errors import InputError
from metaeval.readers.files import user_path


def without_images_of(
    file: CaptionFile,
    exclude: Sequence[str | Path],
    **places: Unpack[Places],
) -> tuple[CaptionFile, dict[str, str]]:
    """The captions file less all images whose id is in one of the others; a note says how many.

    Parameters
    ----------
    exclude
        Captions files, or names of splits ("val2017") whose file is next to this one or in the
        usual places.
    places
        Where to look for the files of splits.

    Returns the smaller file, and the file name → SHA-256 of each file that was read for it.
    Raises InputError for a file that is not there, and where no image is left.
    """
    sources: dict[str, str] = {}
    for each in exclude:
        path = _find(str(each), file.path, **places)
        other = read_captions(path)
        sources[path.name] = other.sha256
        captions = {i: texts for i, texts in file.captions.items() if i not in other.captions}
        gone = len(file.captions) - len(captions)
        if not captions:
            problem = f"no image is left without those of {path} (dataset.exclude)"
            raise InputError(problem, file=file.path)
        images = "1 image was" if gone == 1 else f"{gone:,} images were"
        note = f"{images} left out because {path.name} has them too (dataset.exclude)."
        file = replace(file, captions=captions, notes=(*file.notes, note))
    return file, sources


def _find(name: str, captions: Path, **places: Unpack[Places]) -> Path:
    """The captions file of a split's name, or the file itself."""
    path = user_path(name)
    if path.suffix == ".json" or path.is_file():
        if not path.is_file():
            raise InputError("file not found; correct dataset.exclude", file=path)
        return path
    split = name.removeprefix("coco_")
    neighbour = captions.with_name(f"captions_{split}.json")
    if neighbour.is_file():
        return neighbour
    elsewhere = find_coco_captions(split, **places)
    if isinstance(elsewhere, Absent):
        raise InputError(f"dataset.exclude={name}: {elsewhere.reason}")
    return elsewhere
