"""`python -m metaeval doctor --install coco-images`: the 5,000 photographs of COCO val2017."""

import sys
from pathlib import Path, PurePosixPath

from metaeval.data.download import download
from metaeval.errors import InputError
from metaeval.progress import progress_bar
from metaeval.readers.files import user_path
from metaeval.readers.zips import open_zip, unpack_member

URL = "http://images.cocodataset.org/zips/val2017.zip"
MD5 = "442b8da7639aecaf257c1dceb8ba8c80"
SPLIT = "val2017"
_MOST = 1 << 28  # bytes of a photograph


def install(cache: Path, source: Path | None = None, url: str = URL, md5: str = MD5) -> None:
    """Put the images (816 MB) into the cache folder, from a local archive if given.

    Files that are there already are left alone; the archive is deleted once it is unpacked. Raises
    InputError for an archive without images, DownloadError without a connection.
    """
    folder = user_path(cache) / "coco"
    target = folder / SPLIT
    if source is None:
        archive = download(url, folder / "val2017.zip", md5=md5, most=1 << 30)
        _unpack(archive, target)
        archive.unlink()
    else:
        _unpack(user_path(source), target)
    print(f"{len(list(target.glob('*.jpg'))):,} images are in {target}", file=sys.stderr)


def _unpack(archive: Path, target: Path) -> None:
    try:
        with open_zip(archive) as content:
            # only the file's own name is used: an archive cannot write anywhere else
            images = [e for e in content.infolist() if e.filename.lower().endswith(".jpg")]
            if not images:
                raise InputError("no .jpg file in it", file=archive)
            target.mkdir(parents=True, exist_ok=True)
            for entry in progress_bar(images, desc="unpacking", unit=" images"):
                file = target / PurePosixPath(entry.filename).name
                if not file.is_file() or file.stat().st_size != entry.file_size:
                    unpack_member(content, entry.filename, archive, file, _MOST)
    except OSError as error:
        raise InputError(f"cannot be unpacked ({error})", file=archive) from None
