"""PASCAL-50S (Vedantam, Zitnick, Parikh 2015): which of two captions describes an image better?

`pair_pascal.mat` holds 4,000 pairs: `new_input` (image file name, caption B, caption C), `category`
(1 = HC, two human captions of the image; 2 = HI, one of another image; 3 = HM, human against
machine; 4 = MM, two machines) and `result` (10 or 11 votes of people who saw the image: 1 for B, −1
for C). `consensus_pascal.mat` holds 48 `triplets` a pair, in the same order: a reference sentence
A, the captions B and C, and which of the two a person found closer to A (1: B, −1: C).

So a pair has two sets of labels, the direct votes and the 48 votes of the consensus, and in the 48
sentences A its references. On two human captions (HC) the two sets often disagree.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.data.annotated_images import annotated_dataset
from metaeval.data.dataset import (
    CaptionDataset,
    ImageId,
    ImageSource,
    RecordCount,
)
from metaeval.data.download import find_files
from metaeval.data.identity import source_of_file
from metaeval.data.tidy import Tidy, letters_and_digits
from metaeval.errors import ConfigError, InputError
from metaeval.options import Limit, PositiveInt, checked
from metaeval.readers.files import one_line, read_bytes
from metaeval.readers.matlab import matlab_json
from metaeval.runs.source import digest_of_code
from metaeval.runs.store import remember

PAIRS = "pair_pascal.mat"
TRIPLETS = "consensus_pascal.mat"
SOURCE = "https://vrama91.github.io/cider/ (pyCIDErConsensus.zip)"
CATEGORIES = ("HC", "HI", "HM", "MM")
VOTES = 48
PAIR_FIELDS = ("name", "sent1", "sent2")
TRIPLET_FIELDS = ("A", "B", "C", "winner")
LABELS = {
    "consensus": "48 people who compared the captions with one reference each",
    "direct": "10 or 11 people who saw the image",
    "votes": "the sum of the votes",
}
Ties = Literal["half", "wrong", "drop"]


class ScoringTable(NamedTuple):
    """Captions to be scored against one dataset.

    Attributes
    ----------
    documents
        What metrics see.
    items, captions
        m captions and, intp [m], the position in `documents` of what each is compared with.
    pair, side
        int64 [m]: the pair of each caption, and whether it is the first (0) or the second (1) of
        it. A caption may occur several times, with other references: its scores are averaged.
    """

    documents: CaptionDataset
    items: npt.NDArray[np.intp]
    captions: list[str]
    pair: npt.NDArray[np.int64]
    side: npt.NDArray[np.int64]


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
        int64 [n, 2]: how many people preferred the first and the second, by the `labels`.
    labels
        Whose votes these are: see `LABELS`.
    ties
        What an undecided metric (or undecided people) counts: "half", or "wrong"; with "drop",
        pairs on which people are undecided are left out, and an undecided metric counts half.
    records
        How many pairs of the files were used.
    other_votes
        int64 [n, 2]: those of the other set of labels; `None` where the files lack it.
    unit
        What `image` names: "image", or "clip" for audio.
    average
        What the mean over all is: of "categories", or of "pairs" (the micro average).
    fixed_references
        Whether the protocol fixes the references, so that `n_references` changes nothing.
    counts_pairs
        Whether each pair with its references is a document of CIDEr's idf (as in the tables that
        were published), not each image.
    photographs, names
        Image → which photograph it is (`metaeval.data.identity`), and its file's name.
    instances
        COCO's annotated objects.
    """

    fixed_references: ClassVar[bool] = False
    counts_pairs: ClassVar[bool] = True
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
    records: RecordCount
    labels: str = "consensus"
    ties: str = "half"
    other_votes: npt.NDArray[np.int64] | None = None
    images: str | Path | None = None
    data: str | Path | None = None
    unit: str = "image"
    average: str = "categories"
    photographs: Mapping[str, ImageSource | None] | None = None
    names: Mapping[ImageId, str] | None = None
    instances: str | Path | None = None

    def __len__(self) -> int:
        return len(self.image)

    def tables(self, n_references: int = 1, draw: int = 0, seed: int = 0) -> list[ScoringTable]:
        """Every pair against `n` of its references (or none), drawn at random.

        The references of a pair depend on seed, draw and the pair's place only: fewer references
        are the first of more.
        """
        references = self._drawn(n_references, draw, seed)
        documents, places = annotated_dataset(
            self.name,
            self.image,
            references,
            [r[0] if r else "" for r in references],
            photographs=[(self.photographs or {}).get(image) for image in self.image],
            names=self.names or {},
            sources=self.sources,
            notes=self.notes,
            read=self.records.read,
            documents=[1] * len(self) if self.counts_pairs else None,
            images=self.images,
            instances=self.instances,
            data=self.data,
        )
        pair, side = np.tile(np.arange(len(self)), 2), np.repeat([0, 1], len(self))
        captions = [*self.first, *self.second]
        return [ScoringTable(documents, np.tile(places, 2), captions, pair, side)]

    def _drawn(self, n_references: int, draw: int, seed: int) -> Sequence[tuple[str, ...]]:
        """The references of each pair."""
        chosen = []
        for k, references in enumerate(self.references):
            rng = np.random.default_rng([seed, draw, k])
            order = rng.permutation(len(references))[:n_references]
            chosen.append(tuple(references[i] for i in order))
        return chosen

    def documents(self, n_references: int = 1, draw: int = 0, seed: int = 0) -> CaptionDataset:
        """What metrics see; arguments of `tables`."""
        return self.tables(n_references, draw, seed)[0].documents


@checked
def load_pascal50s(
    root: str | Path | None = None,
    data: str | Path | None = None,
    images: str | Path | None = None,
    n_references: PositiveInt | tuple[PositiveInt, ...] | list[PositiveInt] = (5,),
    draws: PositiveInt = 5,
    labels: Literal["consensus", "direct"] = "consensus",
    ties: Ties = "half",
    limit: Limit = None,
) -> ForcedChoice:
    """PASCAL-50S: 4,000 pairs, 1,000 of each category; options as in `conf/dataset/pascal50s.yaml`.

    By the labels "consensus" a pair's right caption is what most of the 48 people preferred who
    compared it with one reference each (the tables of VIFIDEL and CLIPScore), by "direct" what most
    of the 10 or 11 preferred who saw the image (those of TIGEr and FAIEr). For `ties` see
    `ForcedChoice`. Raises InputError for missing or wrong files.
    """
    counts = (n_references,) if isinstance(n_references, int) else tuple(n_references)
    if not counts or max(counts) > VOTES:
        raise ConfigError(f"dataset.n_references must be from 1 to {VOTES}: {counts}")
    files = find_files([PAIRS, TRIPLETS], folder="pascal50s", source=SOURCE, root=root, data=data)
    raw = {path: read_bytes(path) for path in files.values()}
    sources = {path.name: hashlib.sha256(content).hexdigest() for path, content in raw.items()}
    pairs, triplets = (_contents(p, content, sources[p.name]) for p, content in raw.items())
    inputs, category = (_variable(pairs, n, files[PAIRS]) for n in ("new_input", "category"))
    votes_of = _variable(triplets, "triplets", files[TRIPLETS])
    if len(inputs) != len(category) or len(votes_of) != VOTES * len(inputs):
        raise InputError(
            f"holds {len(votes_of):,} triplets for {len(inputs):,} pairs with {len(category):,} "
            f"categories: {VOTES} triplets a pair are expected",
            file=files[TRIPLETS],
        )
    results = _direct(pairs, len(inputs), files[PAIRS], required=labels == "direct")
    read = list(_read_pairs(inputs, category, votes_of, files, limit, tidy := Tidy()))
    votes = {"consensus": np.array([pair.votes for pair in read], dtype=np.int64)}
    if results is not None:
        votes["direct"] = np.array([results[pair.place] for pair in read], dtype=np.int64)
    images_of = tuple(pair.image for pair in read)
    return ForcedChoice(
        name="pascal50s",
        title="PASCAL-50S",
        image=images_of,
        first=tuple(pair.first for pair in read),
        second=tuple(pair.second for pair in read),
        references=tuple(pair.references for pair in read),
        category=tuple(pair.category for pair in read),
        votes=votes[labels],
        n_references=counts,
        draws=draws,
        sources=sources,
        notes=tuple(tidy.notes()),
        records=RecordCount(len(inputs), len(read)),
        labels=labels,
        ties=ties,
        other_votes=next((v for name, v in votes.items() if name != labels), None),
        images=images,
        data=data,
        photographs={image: source_of_file(image, "pascal") for image in images_of},
        names={image: image for image in images_of},
    )


class _Pair(NamedTuple):
    """A pair of the files, its place in them, and the votes of the consensus."""

    place: int
    image: str
    first: str
    second: str
    category: str
    references: tuple[str, ...]
    votes: tuple[int, int]


def _read_pairs(
    inputs: Any,
    category: Any,
    triplets: Any,
    files: Mapping[str, Path],
    limit: int | None,
    tidy: Tidy,
) -> Iterator[_Pair]:
    """The first `limit` pairs of each category."""
    taken, path = dict.fromkeys(CATEGORIES, 0), files[PAIRS]
    for k, entry in enumerate(inputs):
        where = f"new_input {k + 1:,}"
        parts, number = _parts(entry, PAIR_FIELDS, path, where), category[k]
        if not all(isinstance(p, str) for p in parts):
            raise InputError("is not an image and two captions", file=path, record=where)
        if number not in range(1, len(CATEGORIES) + 1):
            problem = f"{number!r:.40} is not a category from 1 to {len(CATEGORIES)}"
            raise InputError(problem, file=path, record=f"category {k + 1:,}")
        kind = CATEGORIES[int(number) - 1]
        taken[kind] += 1
        if limit is None or taken[kind] <= limit:
            image, b, c = (tidy.read(p, file=path, record=where, field="new_input") for p in parts)
            of_pair = triplets[VOTES * k : VOTES * (k + 1)]
            counted = _consensus(of_pair, b, c, tidy, files[TRIPLETS], VOTES * k)
            yield _Pair(k, image, b, c, kind, *counted)


@lru_cache(maxsize=2)
def _contents(path: Path, raw: bytes, digest: str) -> Mapping[str, Any]:
    """The variables of a file with this content. SciPy needs seconds for 192,000 triplets: the runs
    of a program read them once, and what it gave is kept."""
    reader = f"MATLAB files {digest_of_code(['readers'], ['numpy', 'scipy'])}"
    variables: Mapping[str, Any] = json.loads(
        remember(reader, digest, partial(matlab_json, path, raw))
    )
    return variables


def _direct(
    pairs: Mapping[str, object], n: int, path: Path, *, required: bool
) -> list[tuple[int, int]] | None:
    """The direct votes for B and C of each pair; `None` where the file has none."""
    if "result" not in pairs and not required:
        return None
    results = _variable(pairs, "result", path)
    if len(results) != n:
        raise InputError(
            f"holds {len(results):,} results for {n:,} pairs", file=path, field="result"
        )
    counts = []
    for k, entry in enumerate(results):
        where = f"result {k + 1:,}"
        (part,) = _parts(entry, ("result",), path, where)
        votes = part if isinstance(part, list) else [part]
        if not votes or any(vote not in (1, -1) for vote in votes):
            raise InputError("must be votes of 1 or -1", file=path, record=where, field="result")
        counts.append((votes.count(1), votes.count(-1)))
    return counts


def _consensus(
    triplets: Any, b: str, c: str, tidy: Tidy, path: Path, start: int
) -> tuple[tuple[str, ...], tuple[int, int]]:
    """The sentences A of a pair, and its votes. B and C may have changed places in a triplet, and
    are compared by their letters and digits alone."""
    references, votes = [], {letters_and_digits(b): 0, letters_and_digits(c): 0}
    letters: dict[str, str] = {}  # the two captions are there 48 times each
    for j, triplet in enumerate(triplets):
        where = f"triplet {start + j + 1:,}"
        parts = _parts(triplet, TRIPLET_FIELDS, path, where)
        if not all(isinstance(p, str) for p in parts[:3]):
            raise InputError("is not three sentences and a vote", file=path, record=where)
        for text in parts[1:3]:
            if text not in letters:
                caption = tidy.read(text, file=path, record=where, field="triplets")
                letters[text] = letters_and_digits(caption)
        if parts[3] not in (1, -1):
            raise InputError(
                f"must be 1 or -1, not {parts[3]!r:.40}", file=path, record=where, field="winner"
            )
        left, right = letters[parts[1]], letters[parts[2]]
        if {left, right} != set(votes):
            raise InputError(
                f"its captions are not those of pair {start // VOTES + 1:,}",
                file=path,
                record=where,
            )
        votes[left if parts[3] == 1 else right] += 1
        references.append(tidy.read(parts[0], file=path, record=where, field="triplets"))
    first, second = letters_and_digits(b), letters_and_digits(c)
    return tuple(references), (votes[first], votes[second] if second != first else 0)


def _variable(content: Mapping[str, object], name: str, path: Path) -> Any:
    """A variable that is a row of structs or numbers."""
    if name not in content:
        raise InputError("the variable is missing", file=path, field=name)
    if isinstance(content[name], str):
        raise InputError("is a text, not an array", file=path, field=name)
    return content[name]


def _parts(entry: Any, names: Sequence[str], path: Path, where: str) -> list[Any]:
    """The texts and numbers of a struct's fields, in the order of their names."""
    if not isinstance(entry, Mapping):
        raise InputError("is not a struct", file=path, record=where)
    if missing := [name for name in names if name not in entry]:
        fields = ", ".join(f"'{one_line(name, 40)}'" for name in entry) or "no field"
        problem = f"is missing (the struct has {fields})"
        raise InputError(problem, file=path, record=where, field=missing[0])
    values = [entry[name] for name in names]
    return [v[0] if isinstance(v, list) and len(v) == 1 else v for v in values]
