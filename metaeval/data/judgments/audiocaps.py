"""AudioCaps-Eval and files of its layout (FENSE, Zhou et al. 2022): which caption fits a clip?

The file is a JSON list. A record holds `audio_id`, `references` and pairs by category: `HC` (two
human captions of the clip), `HI` (one of another clip), `HM` (human against machine), `MM_1` …
`MM_5` (two machines). A pair is a list that begins with the two captions and the sources of both,
and ends with the votes: 1 for the first caption, −1 for the second, 0 for neither. A category may
be null or missing.

No audio is needed: metrics compare captions with the references.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from metaeval.data.dataset import Absent, CaptionDataset, RecordCount, items_by_references
from metaeval.data.download import benchmark_file
from metaeval.data.judgments.pascal50s import ForcedChoice, ScoringTable, Ties
from metaeval.data.own.tables import listed_records
from metaeval.data.records import json_type
from metaeval.data.rows import Row
from metaeval.data.tidy import Tidy
from metaeval.errors import InputError
from metaeval.options import Limit, checked
from metaeval.readers.files import read_json

FILE = "audiocaps_eval.json"
SOURCE = "https://github.com/blmoistawinde/fense (folder dataset)"
WITH_PEOPLE = ("HC", "HI", "HM")
MACHINES = tuple(f"MM_{k}" for k in range(1, 6))
IDS = ("audio_id", "raw_name", "file_name", "id")
SEEN = 4  # references that a metric sees

ReferenceSets = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


@dataclass(frozen=True)
class ClipPairs(ForcedChoice):
    """Pairs of captions of an audio clip, with the references of the benchmark's protocol.

    `image` holds the ids of the clips.

    Attributes
    ----------
    sets
        n: the reference sets of each pair, as (those of the first caption, those of the second).
        A caption's score is its mean over the sets.
    corpus
        n: which pairs are one corpus for CIDEr's document frequencies.
    divided
        Clip, reference sets and corpus of the pairs that were left out, as people were divided on
        them: they are part of the corpus.
    """

    fixed_references = True
    sets: tuple[ReferenceSets, ...] = ()
    corpus: tuple[str, ...] = ()
    divided: tuple[tuple[str, ReferenceSets, str], ...] = ()

    def tables(self, n_references: int = SEEN, draw: int = 0, seed: int = 0) -> list[ScoringTable]:
        """Each corpus and side is a dataset of its own: a document for each reference set.

        Nothing is drawn: all arguments are ignored.
        """
        made = []
        for corpus in dict.fromkeys(self.corpus):
            members = [k for k, c in enumerate(self.corpus) if c == corpus]
            others = [(clip, sets) for clip, sets, c in self.divided if c == corpus]
            for side, texts in enumerate((self.first, self.second)):
                pair = [k for k in members for _ in self.sets[k]]
                clips = [self.image[k] for k in pair]
                listed = [s[side] for k in members for s in self.sets[k]]
                clips += [clip for clip, sets in others for _ in sets]
                listed += [s[side] for _, sets in others for s in sets]
                items = items_by_references(clips, listed)
                ids = items.image_ids
                documents = CaptionDataset(
                    self.name,
                    ids,
                    tuple(r[0] for r in items.references),
                    items.references,
                    sources=self.sources,
                    notes=self.notes,
                    parts={
                        part: Absent(part, "the benchmark is of audio clips, without images")
                        for part in ("images", "objects")
                    },
                    image_source=(None,) * len(ids),
                    documents=items.sums([1] * len(clips)),
                )
                of_caption, captions = items.of_caption[: len(pair)], [texts[k] for k in pair]
                sides = np.full(len(pair), side, dtype=np.int64)
                pairs = np.array(pair, dtype=np.int64)
                made.append(ScoringTable(documents, of_caption, captions, pairs, sides))
        return made


@checked
def load_clip_pairs(
    file: str | Path | None = None,
    root: str | Path | None = None,
    data: str | Path | None = None,
    name: str = "audiocaps_eval",
    title: str = "AudioCaps-Eval",
    ties: Ties = "wrong",
    limit: Limit = None,
) -> ClipPairs:
    """Pairs of audio captions in the layout of AudioCaps-Eval, under the protocol of FENSE.

    References
        HC: each caption leaves the references that it is compared with. HI and HM: both are
        compared with the references without the human caption. MM: with every choice of all
        references but one; a caption's score is the mean over these sets. Fewer than four are
        filled up by repetition from the start.
    Corpus
        For CIDEr, HC, HI and HM are one corpus and MM another, for the first and the second
        captions each.
    People
        The sum of the votes decides; a pair whose votes sum to 0 is left out.
    Source
        Z. Zhou et al. (2022), Can audio captions be evaluated with image caption metrics?, ICASSP;
        its CIDEr and ROUGE-L are reproduced to the digit (tested).

    `conf/dataset/audiocaps_eval.yaml` describes the options. Raises InputError for a file that is
    not there or not as it should be.
    """
    folder = "audiocaps_eval"
    path = benchmark_file(file, FILE, folder=folder, source=SOURCE, root=root, data=data)
    value, checksum = read_json(path)
    tidy = Tidy()
    used, divided, read = _chosen(list(_pairs(value, tidy, path)), limit)
    if not used:
        raise InputError("no pair is left", file=path)
    notes = tidy.notes()
    if n := len(divided):
        notes.append(f"{n:,} pairs were left out: the votes for both captions are equal.")
    return ClipPairs(
        name=name,
        title=title,
        image=tuple(p.clip for p in used),
        first=tuple(p.first for p in used),
        second=tuple(p.second for p in used),
        references=tuple(p.references for p in used),
        category=tuple(p.category for p in used),
        votes=np.array([p.votes for p in used], dtype=np.int64),
        n_references=(SEEN,),
        draws=1,
        sources={path.name: checksum},
        notes=tuple(notes),
        records=RecordCount(read, len(used)),
        labels="votes",
        ties=ties,
        unit="clip",
        average="pairs",
        sets=tuple(p.sets for p in used),
        corpus=tuple(_corpus(p.category) for p in used),
        divided=tuple((p.clip, p.sets, _corpus(p.category)) for p in divided),
    )


class _Pair(NamedTuple):
    clip: str
    category: str
    first: str
    second: str
    references: tuple[str, ...]
    votes: tuple[int, int]
    sets: ReferenceSets


def _pairs(value: Any, tidy: Tidy, path: Path) -> Iterator[_Pair]:
    """All pairs of the file, in its order."""
    for where, record in listed_records(value, path):
        row = Row(record, path, where, tidy)
        clip, references = _clip(row)
        for field in (*WITH_PEOPLE, *MACHINES):
            if record.get(field) is None:
                continue
            first, second, votes = _votes(row, field)
            category = field if field in WITH_PEOPLE else "MM"
            sets = _reference_sets(row, category, first, second, references)
            yield _Pair(clip, category, first, second, references, votes, sets)


def _chosen(pairs: Sequence[_Pair], limit: int | None) -> tuple[list[_Pair], list[_Pair], int]:
    """Pairs that are used, pairs that people are divided on, and how many the file holds."""
    taken: Counter[str] = Counter()
    used: list[_Pair] = []
    divided: list[_Pair] = []
    for pair in pairs:
        taken[pair.category] += 1
        if limit is None or taken[pair.category] <= limit:
            (divided if pair.votes[0] == pair.votes[1] else used).append(pair)
    return used, divided, len(pairs)


def _corpus(category: str) -> str:
    return "MM" if category == "MM" else "people"


def _clip(row: Row) -> tuple[str, tuple[str, ...]]:
    """The clip's id and its references."""
    field = next((name for name in IDS if name in row.fields), IDS[0])
    clip, given = row.value(field), row.value("references")
    if isinstance(clip, bool) or not isinstance(clip, str | int) or clip == "":
        raise row.error(f"is {json_type(clip)}, not an id", field)
    if not isinstance(given, list) or len(given) < 2:
        raise row.error(
            f"is {json_type(given)}, not a list of two references or more", "references"
        )
    read = partial(row.tidy.read, file=row.path, record=row.where)
    return read(str(clip), field=field), tuple(read(r, field="references") for r in given)


def _votes(row: Row, field: str) -> tuple[str, str, tuple[int, int]]:
    """The two captions of a pair, and the votes for each."""
    entry = row.fields[field]
    if not isinstance(entry, list) or len(entry) < 5:
        raise row.error("is not a list of two captions, their two sources and the votes", field)
    votes = entry[-1]
    good = isinstance(votes, list) and all(type(v) is int and v in (-1, 0, 1) for v in votes)
    if not good or not votes:
        raise row.error("ends without a list of votes 1, 0 or -1", field)
    first, second = (
        row.tidy.read(text, file=row.path, record=row.where, field=field) for text in entry[:2]
    )
    return first, second, (votes.count(1), votes.count(-1))


def _reference_sets(
    row: Row, category: str, first: str, second: str, references: Sequence[str]
) -> ReferenceSets:
    if category == "MM":
        n = len(references)
        left = (tuple(r for j, r in enumerate(references) if j != k) for k in range(n))
        return tuple((choice, choice) for choice in map(_filled, left))
    without_first = tuple(r for r in references if r != first)
    without_second = tuple(r for r in references if r != second)
    own_references = (without_first, without_second if category == "HC" else without_first)
    if not all(own_references):
        raise row.error("no reference is left beyond the caption itself", "references")
    return ((_filled(own_references[0]), _filled(own_references[1])),)


def _filled(references: tuple[str, ...]) -> tuple[str, ...]:
    """At least `SEEN` references, by repetition from the start."""
    n = max(SEEN, len(references))
    return tuple(references[k % len(references)] for k in range(n))
