"""PASCAL-50S (Vedantam, Zitnick, Parikh 2015): which of two captions describes an image better?

`pair_pascal.mat` holds 4,000 pairs: `new_input` (image file name, caption B, caption C) and
`category` (1 = HC, two human captions of the image; 2 = HI, one of another image; 3 = HM, human
against machine; 4 = MM, two machines). `consensus_pascal.mat` holds 48 `triplets` a pair, in the
same order: a reference sentence A, the captions B and C, and which of the two a person found closer
to A (1: B, −1: C). So a pair has 48 votes and, in the 48 sentences A, its references.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import CaptionDataset, Part
from metaeval.data.judgments.files import find_files
from metaeval.data.judgments.judged import images_part
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError, require_count
from metaeval.runs.digests import file_sha256

PAIRS = "pair_pascal.mat"
TRIPLETS = "consensus_pascal.mat"
SOURCE = "https://vrama91.github.io/cider/ (pyCIDErConsensus.zip)"
CATEGORIES = ("HC", "HI", "HM", "MM")
VOTES = 48


@dataclass(frozen=True)
class ForcedChoice:
    """Pairs of captions and which of the two people prefer.

    Attributes
    ----------
    image, first, second
        n image file names, and the two captions.
    references
        n tuples of references, 48 in the official files.
    category
        n of "HC", "HI", "HM", "MM".
    votes
        int64 [n, 2]: how many people preferred the first and the second.
    """

    name: str
    title: str
    image: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    category: tuple[str, ...]
    votes: npt.NDArray[np.int64]
    n_references: tuple[int, ...]
    draws: int
    sources: Mapping[str, str]
    notes: tuple[str, ...]
    images: str | Path | None = None

    def __len__(self) -> int:
        return len(self.image)

    def documents(self, n_references: int = 1, draw: int = 0, seed: int = 0) -> CaptionDataset:
        """Every pair as a document with so many of its references, drawn at random.

        The references of a pair depend on seed, draw and the pair's place only: fewer references
        are the first of more.
        """
        chosen = []
        for k, references in enumerate(self.references):
            rng = np.random.default_rng([seed, draw, k])
            order = rng.permutation(len(references))[:n_references]
            chosen.append(tuple(references[i] for i in order))
        width = len(str(len(self)))
        keys = tuple(f"{k:0{width}d} {image}" for k, image in enumerate(self.image))
        words = tuple(r[0] for r in chosen)
        parts: dict[str, Part] = {
            "images": images_part(dict(zip(keys, self.image, strict=True)), self.images)
        }
        return CaptionDataset(
            self.name, keys, words, tuple(chosen), keys, words, self.sources, self.notes,
            parts=parts,
        )  # fmt: skip


def load_pascal50s(
    root: str | Path | None = None,
    data: str | Path | None = None,
    images: str | Path | None = None,
    n_references: int | tuple[int, ...] | list[int] = (5,),
    draws: int = 5,
    limit: int | None = None,
) -> ForcedChoice:
    """PASCAL-50S: 4,000 pairs, 1,000 of each category.

    Parameters
    ----------
    root
        The folder of the two files; by default `pascal50s` in the data folder.
    images
        The folder of the image files (of PASCAL VOC 2008 to 2010).
    n_references
        How many references metrics see, from 1 to 48: a number or several.
    draws
        How many random choices of the references to average over; with all 48 there is one.
    limit
        Only the first so many pairs of each category.

    Raises InputError for files that are not there or not as they should be.
    """
    counts = (n_references,) if isinstance(n_references, int) else tuple(n_references)
    if not counts or any(isinstance(c, bool) or not 1 <= c <= VOTES for c in counts):
        raise ConfigError(f"dataset.n_references must be from 1 to {VOTES}: {counts}")
    require_count("dataset.draws", draws)
    files = find_files([PAIRS, TRIPLETS], folder="pascal50s", source=SOURCE, root=root, data=data)
    pairs, triplets = _matlab(files[PAIRS]), _matlab(files[TRIPLETS])
    inputs = _variable(pairs, "new_input", files[PAIRS])
    category = _variable(pairs, "category", files[PAIRS])
    votes_of = _variable(triplets, "triplets", files[TRIPLETS])
    if len(inputs) != len(category) or len(votes_of) != VOTES * len(inputs):
        raise InputError(
            f"holds {len(votes_of):,} triplets for {len(inputs):,} pairs with {len(category):,} "
            f"categories: {VOTES} triplets a pair are expected",
            file=files[TRIPLETS],
        )
    tidy, taken = Tidy(), dict.fromkeys(CATEGORIES, 0)
    columns: dict[str, list[Any]] = {
        k: [] for k in ("image", "first", "second", "references", "category", "votes")
    }
    for k, entry in enumerate(inputs):
        where, path = f"new_input {k + 1:,}", files[PAIRS]
        parts = [_leaf(x) for x in _members(entry)]
        number = int(_leaf(category[k]))
        if len(parts) != 3 or not all(isinstance(p, str) for p in parts):
            raise InputError("is not an image and two captions", file=path, record=where)
        if not 1 <= number <= len(CATEGORIES):
            raise InputError(f"{number} is no category", file=path, record=f"category {k + 1:,}")
        kind = CATEGORIES[number - 1]
        taken[kind] += 1
        if limit is not None and taken[kind] > limit:
            continue
        image, b, c = (tidy.read(p, file=path, record=where, field="new_input") for p in parts)
        references, counted = _consensus(
            votes_of[VOTES * k : VOTES * (k + 1)], b, c, tidy, files[TRIPLETS], VOTES * k
        )
        for key, value in zip(columns, (image, b, c, references, kind, counted), strict=True):
            columns[key].append(value)
    return ForcedChoice(
        name="pascal50s",
        title="PASCAL-50S",
        image=tuple(columns["image"]),
        first=tuple(columns["first"]),
        second=tuple(columns["second"]),
        references=tuple(columns["references"]),
        category=tuple(columns["category"]),
        votes=np.array(columns["votes"], dtype=np.int64),
        n_references=counts,
        draws=draws,
        sources={p.name: file_sha256(p) for p in files.values()},
        notes=tuple(tidy.notes()),
        images=images,
    )


def _consensus(
    triplets: Any, b: str, c: str, tidy: Tidy, path: Path, start: int
) -> tuple[tuple[str, ...], tuple[int, int]]:
    """The sentences A of a pair, and its votes. B and C may have changed places in a triplet, and
    are compared by their letters and digits alone."""
    references, votes = [], {_letters(b): 0, _letters(c): 0}
    for j, triplet in enumerate(triplets):
        where = f"triplet {start + j + 1:,}"
        parts = [_leaf(x) for x in _members(triplet)]
        if len(parts) != 4 or not all(isinstance(p, str) for p in parts[:3]):
            raise InputError("is not three sentences and a vote", file=path, record=where)
        a, left, right = (
            tidy.read(p, file=path, record=where, field="triplets") for p in parts[:3]
        )
        if {_letters(left), _letters(right)} != set(votes):
            raise InputError(
                f"its captions are not those of pair {start // VOTES + 1:,}",
                file=path, record=where,
            )  # fmt: skip
        votes[_letters(left if parts[3] == 1 else right)] += 1
        references.append(a)
    first, second = _letters(b), _letters(c)
    return tuple(references), (votes[first], votes[second] if second != first else 0)


def _letters(caption: str) -> str:
    return re.sub(r"\W+", "", caption).lower()


def _matlab(path: Path) -> Mapping[str, Any]:
    from scipy.io import loadmat  # slow to import

    try:
        content: Mapping[str, Any] = loadmat(path)
    except Exception as error:  # scipy has no common ancestor for what may be wrong with a file
        raise InputError(f"not a readable MATLAB file ({error})", file=path) from None
    return content


def _variable(content: Mapping[str, Any], name: str, path: Path) -> Any:
    if name not in content:
        raise InputError("the variable is missing", file=path, field=name)
    return np.asarray(content[name]).reshape(-1)


def _members(entry: Any) -> list[Any]:
    """The parts of a MATLAB struct, or of a cell array, in order."""
    if not isinstance(entry, np.void):
        array = np.asarray(entry)
        if not array.dtype.names:
            return [*array.reshape(-1)]
        entry = array.reshape(-1)[0]
    return [entry[name] for name in entry.dtype.names or ()]


def _leaf(value: Any) -> Any:
    """What is inside arrays of one element around arrays of one element."""
    while isinstance(value, np.ndarray):
        if value.size != 1:
            return "" if value.size == 0 else value
        value = value.reshape(-1)[0]
    return value.item() if isinstance(value, np.generic) else value
