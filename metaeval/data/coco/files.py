"""Where COCO's files are, and how the official annotations are fetched.

A *root* is a folder laid out as COCO's archives unpack, or one that holds such a folder under
`coco`: `annotations/captions_SPLIT.json` and `annotations/instances_SPLIT.json`, images in `SPLIT`
or `images/SPLIT`.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict, Unpack

from metaeval.data.dataset import Absent
from metaeval.data.download import data_folder, download
from metaeval.errors import ConfigError, InputError
from metaeval.progress import progress_bar
from metaeval.readers.files import MOST_TEXT, user_path
from metaeval.readers.zips import open_zip, unpack_member
from metaeval.runs.files import file_sha256

ARCHIVE_URL = "http://images.cocodataset.org/annotations/annotations_trainval2017.zip"
ARCHIVE_SHA256 = "113a836d90195ee1f884e704da6304dfaaecff1f023f49b6ca93c4aaae470268"
ARCHIVE_SPLITS = ("train2017", "val2017")
# what the official captions are, whatever the file's form: see `CaptionFile.digest`
CONTENT_SHA256 = {"val2017": "89ce04d0afd690c94a308b105c36cb092d14c33a82262c0d33a87ae6a8a62106"}
IMAGES_URL = "http://images.cocodataset.org/zips/{split}.zip"


class Places(TypedDict, total=False):
    """Where COCO's files may be.

    `root` (a folder), where given, is the only place looked at. Otherwise the folder `data`
    (default: the environment variable METAEVAL_DATA), then the folder `cache`.
    """

    root: str | Path | None
    data: str | Path | None
    cache: str | Path | None


def find_coco_captions(
    split: str = "val2017", *, captions: str | Path | None = None, **places: Unpack[Places]
) -> Path | Absent:
    """The captions file of a split, without reading it; or why there is none and what would help.

    `captions`, the file itself, is the only place looked at where it is given.
    """
    if captions is not None:
        path = user_path(captions)
        if path.is_file():
            return path
        return Absent("captions", f"no file {path}", "correct dataset.captions")
    name = f"annotations/captions_{split}.json"
    looked = [base / name for base in search_bases(**places)]
    for path in looked:
        if path.is_file():
            return path
    names = [str(path) for path in looked]
    if places.get("root") is None and data_folder(places.get("data")) is None:
        names.insert(0, "METAEVAL_DATA (which is not set)")
    remedy = f"set METAEVAL_DATA or dataset.root to the folder that contains {name}"
    if split in ARCHIVE_SPLITS:
        remedy += ", or fetch COCO's annotations (253 MB) with dataset.download=true"
    return Absent(
        "captions",
        f"the COCO {split} captions were not found; looked at {', '.join(names)}",
        remedy,
    )


def companions(captions: Path, split: str, bases: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Where the instances file and the image folder of a captions file may be, best first."""
    home = captions.parent.parent if captions.parent.name == "annotations" else captions.parent
    instances = [captions.parent / f"instances_{split}.json"]
    images = []
    for base in dict.fromkeys([home, *bases]):
        instances.append(base / "annotations" / f"instances_{split}.json")
        images += [base / split, base / "images" / split]
    return list(dict.fromkeys(instances)), list(dict.fromkeys(images))


def annotation_files(names: Iterable[str], data: str | Path | None) -> list[Path]:
    """The files `annotations/NAME.json` that are there, by the order of names, then of search."""
    bases = search_bases(data=data)
    paths = [base / "annotations" / f"{name}.json" for name in names for base in bases]
    return [path for path in dict.fromkeys(paths) if path.is_file()]


def search_bases(
    root: str | Path | None = None,
    data: str | Path | None = None,
    cache: str | Path | None = None,
) -> list[Path]:
    """The folders that may be laid out as COCO's, in the order of search."""
    if root is not None:
        top = user_path(root)
        return [top, top / "coco"]
    bases = []
    if (folder := data_folder(data)) is not None:
        bases += [folder, folder / "coco"]
    if cache is not None:
        bases.append(user_path(cache) / "coco")
    return bases


def fetch_annotations(split: str, cache: str | Path, source: Path | None = None) -> Path:
    """Download a split's official captions and instances into the cache; return the captions' path.

    The archive stays in the cache, so that the other split needs no second download. With
    `source`, a local copy of the archive, nothing is fetched. Raises ConfigError for a split that
    is not in the archive, InputError or DownloadError where checksums do not match.
    """
    if split not in ARCHIVE_SPLITS:
        known = " and ".join(ARCHIVE_SPLITS)
        raise ConfigError(f"dataset.download=true can fetch the splits {known}, not '{split}'")
    folder = user_path(cache) / "coco"
    archive = folder / "annotations_trainval2017.zip"
    if source is not None:
        archive = user_path(source)
        if file_sha256(archive) != ARCHIVE_SHA256:
            raise InputError("is not COCO's annotations_trainval2017.zip", file=archive)
    else:
        download(ARCHIVE_URL, archive, sha256=ARCHIVE_SHA256, most=1 << 28)
    captions = folder / "annotations" / f"captions_{split}.json"
    # the captions last: where they are found, the instances are there too
    extract(archive, [folder / "annotations" / f"instances_{split}.json", captions])
    return captions


def install(cache: Path, source: Path | None = None) -> None:
    """Put val2017's annotations into the cache folder, from a local archive if given."""
    fetch_annotations("val2017", cache, source)


def extract(archive: Path, targets: Iterable[Path]) -> None:
    """Unpack `annotations/NAME` of a zip to each target of that name, atomically."""
    with open_zip(archive) as packed:
        for target in targets:
            name = f"annotations/{target.name}"
            if name not in packed.namelist():
                raise InputError(f"holds no {name}", file=archive)
            size = packed.getinfo(name).file_size
            target.parent.mkdir(parents=True, exist_ok=True)
            with progress_bar(total=size, desc=target.name, unit="B", unit_scale=True) as bar:
                unpack_member(packed, name, archive, target, MOST_TEXT, bar.update)
