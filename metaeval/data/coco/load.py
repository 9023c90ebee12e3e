"""COCO captions, and any dataset in COCO's files, as a `CaptionDataset`.

The default dataset: COCO val2017 where it is found, otherwise the embedded scenes.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from metaeval.data.annotated_images import images_in
from metaeval.data.coco.captions import CaptionFile, read_captions
from metaeval.data.coco.files import (
    ARCHIVE_SPLITS,
    CONTENT_SHA256,
    IMAGES_URL,
    Places,
    companions,
    fetch_annotations,
    find_coco_captions,
    search_bases,
)
from metaeval.data.coco.objects import CocoObjects, coco_objects
from metaeval.data.dataset import Absent, CaptionDataset, ImageId, Part, RecordCount
from metaeval.data.download import given_path
from metaeval.data.identity import sources_of
from metaeval.data.tidy import count_captions
from metaeval.errors import ConfigError, InputError
from metaeval.options import Limit, PositiveInt, checked
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
            raise InputError(
                f"no image is left without those of {path} (dataset.exclude)", file=file.path
            )
        images = "1 image was" if gone == 1 else f"{gone:,} images were"
        note = f"{images} left out because {path.name} has them too (dataset.exclude)."
        file = replace(file, captions=captions, notes=(*file.notes, note))
    return file, sources


def _find(name: str, captions: Path, **places: Unpack[Places]) -> Path:
    """The captions file of a split's name, or the file itself."""
    path = user_path(name)
    if path.suffix == ".json" or path.is_file():
        return given_path(path, "exclude")
    split = name.removeprefix("coco_")
    neighbour = captions.with_name(f"captions_{split}.json")
    if neighbour.is_file():
        return neighbour
    elsewhere = find_coco_captions(split, **places)
    if isinstance(elsewhere, Absent):
        raise InputError(f"dataset.exclude={name}: {elsewhere.reason}")
    return elsewhere


@checked
def load_coco(
    name: str = "coco",
    split: str | None = "val2017",
    captions: str | Path | None = None,
    instances: str | Path | None = None,
    images: str | Path | None = None,
    download: bool = False,
    limit: Limit = None,
    n_references: PositiveInt = 4,
    exclude: str | Path | Sequence[str | Path] | None = None,
    image_source: str | None = None,
    **places: Unpack[Places],
) -> CaptionDataset:
    """Load captions from a file of COCO's schema by the protocol of González-Chávez et al.

    Of an image's captions, in ascending order of annotation id, the first is the *Human* caption,
    the next `n_references` are the references, further ones are left out (val2017 has 14 of them).
    An image with fewer is refused. Images of `exclude` are left out of the pool, too. The parts
    "objects" and "images" are loaded on first use. `conf/dataset/coco.yaml` describes the options.

    Raises InputError for files that are not there or not as they should be.
    """
    split = _split_of(captions, split)
    folder = given_path(images, "images", "folder") if images is not None else None
    objects_file = given_path(instances, "instances") if instances is not None else None
    path = _captions_path(split, captions, download, places)
    whole = read_captions(path)
    others = [exclude] if isinstance(exclude, str | Path) else list(exclude or ())
    file, excluded = without_images_of(whole, others, **places)
    human, references, dropped = _protocol(file, n_references)
    ids, sources = tuple(file.captions), {path.name: file.sha256, **excluded}
    near, images_near = companions(path, split, search_bases(**places))
    remedy = "set dataset.images=FOLDER"
    if split in ARCHIVE_SPLITS:
        remedy += f" (the official files: {IMAGES_URL.format(split=split)})"
    folders, files = [folder] if folder else images_near, [objects_file] if objects_file else near
    parts: dict[str, Part] = {
        "images": lambda: images_in(folders, file.file_names, remedy),
        "objects": lambda: _objects(ids, files, sources),
    }
    names = {i: name for i, name in file.file_names.items() if i in file.named}
    official = split not in CONTENT_SHA256 or whole.digest() == CONTENT_SHA256[split]
    if image_source is None and not file.named and split in CONTENT_SHA256 and official:
        image_source = "coco"
    other = [] if official else [f"These are not the captions of the official COCO {split} file."]
    photographs = sources_of(ids, names, declared=image_source, collection=name)
    read = sum(map(len, whole.captions.values()))
    return CaptionDataset(
        name,
        ids,
        human,
        references,
        sources=sources,
        notes=(*other, *file.notes, *dropped),
        parts=parts,
        image_source=tuple(photographs.values()),
        records=RecordCount(read, sum(map(len, references)) + len(human)),
        excluded_ids=frozenset(whole.captions) - frozenset(ids),
    ).limited(limit)


def _split_of(captions: str | Path | None, split: str | None) -> str:
    """The split: that of a captions file by its name, or the given one."""
    if captions is not None:
        stem = Path(captions).stem
        named = stem.removeprefix("captions_")
        return named if named != stem else split or stem
    if not split:
        raise ConfigError("give dataset.captions (a file) or dataset.split")
    return split


def _captions_path(split: str, captions: str | Path | None, download: bool, places: Places) -> Path:
    """The captions file, downloaded if it is not there and the user wants that."""
    path = find_coco_captions(split, captions=captions, **places)
    if isinstance(path, Absent) and download and captions is None:
        if (cache := places.get("cache")) is None:
            raise ConfigError("dataset.download=true needs a cache folder (paths.cache)")
        return fetch_annotations(split, cache)
    if isinstance(path, Absent):
        raise InputError(str(path))
    return path


def _protocol(
    file: CaptionFile, k: int
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], list[str]]:
    """The human captions, k references each, and a note that counts further captions."""
    few = [i for i, captions in file.captions.items() if len(captions) <= k]
    if few:
        n = len(file.captions[few[0]])
        others = f" ({len(few):,} images have too few)" if len(few) > 1 else ""
        remedy = f"; dataset.n_references={n - 1} is possible for it" if n > 1 else ""
        raise InputError(
            f"has {count_captions(n)}, {1 + k} are needed (one human and {k} references)"
            f"{others}{remedy}",
            file=file.path,
            record=f"image id {few[0]!r}",
        )
    human = tuple(captions[0] for captions in file.captions.values())
    references = tuple(captions[1 : 1 + k] for captions in file.captions.values())
    dropped = sum(len(c) - 1 - k for c in file.captions.values())
    note = f"{count_captions(dropped)} after an image's first {1 + k} left out."
    return human, references, [note] if dropped else []


def _objects(
    ids: tuple[ImageId, ...], files: list[Path], sources: dict[str, str]
) -> CocoObjects | Absent:
    """The objects of all images, or an `Absent`; the file's checksum joins the sources."""
    path = next((path for path in files if path.is_file()), None)
    remedy = "set dataset.instances=FILE"
    if path is None:
        looked = ", ".join(map(str, files))
        return Absent("objects", f"no annotated objects were found; looked at {looked}", remedy)
    objects = coco_objects(path)
    sources[path.name] = objects.sha256
    if lacking := sum(i not in objects for i in ids):
        reason = f"{path}: {lacking:,} of the dataset's {len(ids):,} images are missing"
        return Absent("objects", reason, remedy + " that has them all")
    return objects


STAND_IN = 1000  # scenes: with every metric a first run then ends within minutes


class CocoFiles(Places, total=False):
    """What only COCO has: see `load_coco`."""

    captions: str | Path | None
    instances: str | Path | None
    images: str | Path | None
    download: bool
    exclude: str | Path | Sequence[str | Path] | None
    image_source: str | None


@checked
def load_auto(
    limit: Limit = None,
    n_references: PositiveInt = 4,
    **options: Unpack[CocoFiles],
) -> CaptionDataset:
    """COCO val2017, or the embedded `scenes`, which then say so in `CaptionDataset.fallback`.

    Parameters are those of `load_coco`; of the scenes, `limit` is 1,000 where none is given. Where
    the user gives a place (`root` or `captions`) or the download, COCO is used,
    without a replacement.

    Raises InputError for what `load_coco` refuses.
    """
    wanted = any(options.get(key) for key in ("root", "captions", "download"))
    data, cache = options.get("data"), options.get("cache")
    if wanted or not isinstance(find_coco_captions("val2017", data=data, cache=cache), Absent):
        return load_coco(
            "coco_val2017", "val2017", limit=limit, n_references=n_references, **options
        )
    from metaeval.data.scenes import load_scenes  # only where it is needed

    scenes = load_scenes(
        limit=STAND_IN if limit is None else limit, n_references=n_references, cache=cache
    )
    total = len(scenes.pool)
    part = f"{len(scenes):,} of the {total:,} " if len(scenes) < total else "the "
    whole = f"; all of them: dataset.limit={total}" if limit is None else ""
    fallback = (
        f"COCO val2017 was not found, so {part}embedded scenes are used instead{whole}; "
        "for COCO set METAEVAL_DATA or dataset.root, or add dataset.download=true"
    )
    return replace(scenes, fallback=fallback)
