"""WordNet for nltk's METEOR: where its files are, and how they come into the cache folder.

nltk looks for a corpus `wordnet` in folders of its own (`NLTK_DATA` and others), which
`python -m nltk.downloader wordnet` fills; `doctor --install wordnet` puts one into our cache.
Distributions carry the same files (Debian: the package wordnet-base, /usr/share/wordnet), except
for two which nltk's reader opens as well: `lexnames`, a list that is part of the format, and
`index.sense`, which only WordNets of other languages are found by.
"""

from __future__ import annotations

import shutil
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.compute.requirements import missing_packages
from metaeval.data.dataset import Absent
from metaeval.data.download import DownloadError
from metaeval.errors import InputError
from metaeval.readers.files import user_path

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

PARTS = ("noun", "verb", "adj", "adv")
# what decides which words are synonyms, and so what a signature names
FILES = tuple(f"{kind}.{part}" for kind in ("index", "data") for part in PARTS)
_EXCEPTIONS = tuple(f"{part}.exc" for part in PARTS)
# WordNet's files of lexicographers in the order of their numbers (lexnames(5WN)): part of speech,
# its number, names
_LEXICOGRAPHERS = (
    ("adj", 3, "all pert"),
    ("adv", 4, "all"),
    ("noun", 1, "Tops act animal artifact attribute body cognition communication event feeling"),
    ("noun", 1, "food group location motive object person phenomenon plant possession process"),
    ("noun", 1, "quantity relation shape state substance time"),
    ("verb", 2, "body change cognition communication competition consumption contact creation"),
    ("verb", 2, "emotion motion perception possession social stative weather"),
    ("adj", 3, "ppl"),
)


def find_wordnet(cache: Path | None = None) -> Path | Absent:
    """The folder of WordNet's files, in our cache folder or one of nltk's; or how to install it.

    A folder in which one of the files is missing is passed over.
    """
    if (absent := missing_packages("wordnet", "nltk")) is not None:
        return absent
    from nltk.data import path as nltk_folders

    folders = [Path(folder) / "corpora" / "wordnet" for folder in nltk_folders]
    for folder in [*([_target(cache)] if cache else []), *folders]:
        if all((folder / name).is_file() for name in (*FILES, *_EXCEPTIONS, "lexnames")):
            return folder
    return Absent(
        "wordnet",
        "WordNet, the source of synonyms for nltk's METEOR, is not installed",
        "python -m metaeval.doctor --install wordnet",
    )


def read_wordnet(folder: Path) -> WordNetCorpusReader:
    """nltk's reader of these files (English alone, which needs no further corpus)."""
    from nltk import data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    if (root := str(folder.parent.parent)) not in data.path:
        data.path.append(root)  # nltk reads from nowhere else

    class English(WordNetCorpusReader):  # type: ignore[misc]  # nltk has no types
        """Without the map between versions, for which other languages would need `index.sense`."""

        def map_wn(self, version: str = "wordnet") -> None:
            return None

    with warnings.catch_warnings():  # a warning that other languages are missing
        warnings.simplefilter("ignore")
        return English(str(folder), None)


def install(cache: Path, source: Path | None = None) -> None:
    """Bring WordNet 3.0 into the cache folder: by nltk's downloader, or from a local folder.

    Raises InputError for a folder without WordNet's files, DownloadError where nltk cannot download
    them.
    """
    target = _target(user_path(cache))
    if source is None:
        import nltk

        if not nltk.download("wordnet", download_dir=str(target.parent.parent), quiet=True):
            raise DownloadError("nltk could not download its corpus 'wordnet'")
        shutil.unpack_archive(target.with_suffix(".zip"), target.parent)
    else:
        source = user_path(source)
        for name in (*FILES, *_EXCEPTIONS):
            if not (source / name).is_file():
                raise InputError(f"contains no WordNet: '{name}' is missing", file=source)
        target.mkdir(parents=True, exist_ok=True)
        for name in (*FILES, *_EXCEPTIONS):
            shutil.copyfile(source / name, target / name)
        (target / "lexnames").write_text(_lexnames(), encoding="utf-8")
    print(f"WordNet is in {target}", file=sys.stderr)


def _target(cache: Path) -> Path:
    return cache / "nltk_data" / "corpora" / "wordnet"


def _lexnames() -> str:
    entries = [
        (f"{part}.{name}", number)
        for part, number, names in _LEXICOGRAPHERS
        for name in names.split()
    ]
    return "".join(f"{i:02d}\t{name}\t{number}\n" for i, (name, number) in enumerate(entries))
