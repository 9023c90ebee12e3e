"""Pairs of a true and a false caption, as a dataset that every metric can score.

A `CaptionPairs` is what the experiment `pairs` works on: pairs of a true and a false caption of one
image, perhaps with a true paraphrase, and a `CaptionDataset` of what metrics compare them with. The
true captions of these benchmarks are mostly captions of COCO itself: a true caption that stands
among its image's references is taken out of them, or every metric would compare it with itself.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal, Unpack

import numpy as np
import numpy.typing as npt

from metaeval.data.annotated_images import ImagePlaces, annotated_dataset, sources_of_records
from metaeval.data.coco.captions import CocoReferences
from metaeval.data.dataset import CaptionDataset, ImageSource
from metaeval.data.fields import Fields, rename_fields
from metaeval.data.identity import drawn_images
from metaeval.data.own.tables import Reading, read_table, take_reading, unfolded
from metaeval.data.records import require_known
from metaeval.data.rows import Row
from metaeval.data.tidy import Tidy, count_captions, letters_and_digits
from metaeval.errors import ConfigError, InputError
from metaeval.options import Limit, checked
from metaeval.readers.files import user_path
from metaeval.results.notes import fill_sentences

NEAR_COPY = 0.2  # of the words: two captions no farther apart are near-copies


class PairOptions(ImagePlaces, total=False):
    """Options of every dataset of pairs; see `arrange_pairs`."""

    captions: str | Path | None
    near_copies: Literal["keep", "drop"]


class PairTableOptions(PairOptions, Reading, total=False):
    """Options of `load_pairs_table`: also how the table is read."""


@dataclass(frozen=True, slots=True)
class CaptionPair:
    """A true and a false caption of one image.

    Attributes
    ----------
    image
        The image's id, the unit of resampling.
    kind
        What makes the false caption false, as the benchmark calls it: "swap_obj".
    true, false
        The two captions.
    paraphrase
        Another true caption, in other words, where the benchmark has one.
    references
        The image's human captions; `None`: those of COCO's captions files.
    made_from
        The human caption that the true one was made from, where the benchmark changed it.
    file
        The image's file name.
    source
        Which photograph the image is (`metaeval.data.identity`), `None` if unknown.
    """

    image: str
    kind: str
    true: str
    false: str
    paraphrase: str | None = None
    references: tuple[str, ...] | None = None
    made_from: str | None = None
    file: str | None = None
    source: ImageSource | None = None


@dataclass(frozen=True)
class CaptionPairs:
    """Pairs of true and false captions, with the references that metrics see.

    Attributes
    ----------
    name, title
        "sugarcrepe" and what a reader calls it.
    pairs
        n pairs, their references without the true captions.
    dataset
        What metrics see: an image once for each set of references; pair j is compared with those
        at `image_index[j]`.
    kinds
        The kinds of falsehood, in the benchmark's order.
    facts
        Counts: records in the files, records left out, captions among the references.
    """

    name: str
    title: str
    pairs: tuple[CaptionPair, ...]
    dataset: CaptionDataset
    image_index: npt.NDArray[np.intp]
    kinds: tuple[str, ...]
    facts: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def roles(self) -> list[list[str]]:
        """The true captions, the false ones and, of triplets, the paraphrases."""
        roles = [[p.true for p in self.pairs], [p.false for p in self.pairs]]
        return [*roles, *([[p.paraphrase or "" for p in self.pairs]] if self.triplets else [])]

    @property
    def triplets(self) -> bool:
        """Whether every pair comes with a paraphrase of its true caption."""
        return all(pair.paraphrase is not None for pair in self.pairs)

    def documents(self) -> CaptionDataset:
        """What metrics see: `dataset`."""
        return self.dataset


def arrange_pairs(
    name: str,
    title: str,
    pairs: Sequence[CaptionPair],
    *,
    sources: Mapping[str, str],
    notes: Sequence[str] = (),
    limit: int | None = None,
    read: int | None = None,
    **options: Unpack[PairOptions],
) -> CaptionPairs:
    """Find the references of the pairs, remove the true captions, and make the dataset.

    Parameters
    ----------
    pairs
        In the benchmark's order; where `references` is `None`, COCO's captions of the image serve.
    limit
        Only `limit` images, drawn by their names: the same ones in every run.
    read
        How many pairs the files held, where they are not all among `pairs`.
    options
        `captions`: a captions file of COCO's schema; by default those in the data folder.
        `near_copies`: "keep" or "drop" references that are nearly the true caption; they are
        counted either way. `instances`, `images`, `data`: where objects and image files are.

    A pair of two equal captions, or whose image has no captions in these files, is left out, and
    counted in the notes. Raises InputError where none is left.
    """
    near_copies = options.get("near_copies", "drop")
    facts = {"pairs_in_files": len(pairs), "images_in_files": len({p.image for p in pairs})}
    pairs = [p for p in pairs if p.true.split() != p.false.split()]
    facts["equal"] = facts["pairs_in_files"] - len(pairs)
    if limit is not None:
        drawn = drawn_images((p.image for p in pairs), limit)
        pairs = [p for p in pairs if p.image in drawn]
    coco = CocoReferences(options.get("captions"), options.get("data"))
    with_references = _with_references(pairs, coco, sources)
    facts["without_captions"] = len(pairs) - len(with_references)
    chosen = [_without_true_captions(p) for p in with_references]
    fewer = [_without_near_copies(p) for p in chosen]
    facts |= _counts(with_references, chosen, fewer)
    chosen = fewer if near_copies == "drop" else chosen
    facts["near_copies_dropped"] = facts["near_copies"] if near_copies == "drop" else 0
    facts["without_references"] = sum(not p.references for p in chosen)
    dataset, places = annotated_dataset(
        name,
        [p.image for p in chosen],
        [p.references or () for p in chosen],
        [p.true for p in chosen],
        photographs=[p.source for p in chosen],
        names={p.image: p.file for p in chosen if p.file},
        sources={**sources, **coco.checksums},
        notes=[*notes, *coco.notes, *_notes(facts, near_copies)],
        read=facts["pairs_in_files"] if read is None else read,
        instances=options.get("instances"), images=options.get("images"), data=options.get("data"),
    )  # fmt: skip
    kinds = tuple(dict.fromkeys(p.kind for p in chosen))
    facts["documents"] = len(dataset.corpus())
    return CaptionPairs(name, title, tuple(chosen), dataset, places, kinds, facts)


def chosen_kinds(asked: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """The kinds that the user chose (by default all), in the benchmark's order; ConfigError naming
    every one that is not known."""
    require_known("kinds", asked, known)
    return [kind for kind in known if asked is None or kind in asked]


def _with_references(
    pairs: Sequence[CaptionPair], coco: CocoReferences, sources: Mapping[str, str]
) -> list[CaptionPair]:
    """The pairs that have references, or whose image has captions in COCO's files; InputError
    where there are none."""
    by_source = coco.of({p.source for p in pairs if p.references is None and p.source is not None})
    found = [
        (p, by_source.get(p.source or "") if p.references is None else p.references) for p in pairs
    ]
    known = [replace(p, references=texts) for p, texts in found if texts is not None]
    if not known:
        raise InputError(
            f"none of the images of the {len(pairs):,} pairs has captions in {coco.looked}; give "
            "a captions file of COCO's schema as dataset.captions",
            file=", ".join(sources) or None,
        )
    return known


def _without_true_captions(pair: CaptionPair) -> CaptionPair:
    texts = (pair.true, pair.paraphrase, pair.made_from)  # all true ones
    true = {letters_and_digits(text) for text in texts if text is not None}
    left = tuple(r for r in pair.references or () if letters_and_digits(r) not in true)
    return replace(pair, references=left)


def _without_near_copies(pair: CaptionPair) -> CaptionPair:
    left = tuple(r for r in pair.references or () if not is_near_copy(pair.true, r))
    return replace(pair, references=left)


def _counts(
    before: Sequence[CaptionPair], after: Sequence[CaptionPair], fewer: Sequence[CaptionPair]
) -> dict[str, int]:
    """How many pairs, and how many of their captions were, or are, among the references; `after`
    are those without true captions, `fewer` also without near-copies of them."""
    return {
        "pairs": len(after),
        "images": len({p.image for p in after}),
        "true_among_references": sum(
            len(p.references or ()) > len(q.references or ())
            for p, q in zip(before, after, strict=True)
        ),
        "false_among_references": sum(
            letters_and_digits(p.false) in map(letters_and_digits, p.references or ())
            for p in after
        ),
        "near_copies": sum(p.references != q.references for p, q in zip(after, fewer, strict=True)),
    }


@cache
def is_near_copy(caption: str, other: str) -> bool:
    """Whether at most one word in five has to be inserted, deleted or replaced to make one caption
    of the other (the words' letters and digits; of the longer caption's words).

    >>> is_near_copy("A man on a red horse.", "a man on the red horse")
    True
    >>> is_near_copy("A man on a horse.", "Two dogs in the snow.")
    False
    """
    from nltk.metrics.distance import edit_distance

    a, b = ([w for w in map(letters_and_digits, text.split()) if w] for text in (caption, other))
    longer = max(len(a), len(b))
    most = NEAR_COPY * longer
    in_both = sum((Counter(a) & Counter(b)).values())  # all others have to be changed
    return longer - in_both <= most and edit_distance(a, b) <= most


NOTES = (
    "{equal:,} pairs of two equal captions were left out.",
    "{without_captions:,} pairs were left out: the captions files do not have their images.",
    "The true caption of {true_among_references:,} of {pairs:,} pairs were among the references "
    "and was taken out, by letters and digits.",
    "In {near_copies:,} pairs a reference is nearly the true caption (at most one word in five "
    "differs): it {kept}.",
    "{untrue} called false are among the references.",
)


def _notes(facts: Mapping[str, int], near_copies: str) -> list[str]:
    known: dict[str, object] = {name: n or None for name, n in facts.items()}
    untrue = facts["false_among_references"]
    known |= {"untrue": count_captions(untrue) if untrue else None}
    kept = "stays" if near_copies == "keep" else "was taken out, too"
    return list(fill_sentences(NOTES, kept=kept, **known))


# Any true and false captions: a table with one record per item, as JSON Lines, CSV or Parquet.
#
# Columns: `image_id`, `true`, `false` (a caption, or a list of them; in a CSV cell a JSON list),
# and optionally `paraphrase` (another true caption), `kind`, `references` (a list; without the
# column, COCO's captions of the image) and `image_path`.

REQUIRED = ("image_id", "true", "false")
OPTIONAL = ("paraphrase", "kind", "references", "image_path")


@checked
def load_pairs_table(
    file: str | Path | None = None,
    name: str = "pairs",
    image_source: str | None = None,
    limit: Limit = None,
    fields: Fields | None = None,
    language: str | None = None,
    **options: Unpack[PairTableOptions],
) -> CaptionPairs:
    """True and false captions from your own table; several false ones make several pairs.

    Parameters
    ----------
    file
        A `.jsonl`, `.json`, `.csv`, `.tsv`, `.txt`, `.parquet` or `.xlsx` file.
    name
        What tables call the dataset.
    image_source
        Which photographs these are, as in `metaeval.data.judgments.table.load_table`.
    fields
        What the file calls `image_id`, `true`, `false`, `paraphrase`, `kind`, `references` and
        `image_path`, where it calls them otherwise. Common names are recognised, which is logged.
    language
        The language of the captions ("de"); by default it is detected.
    delimiter, quoting, encoding, sheet
        How the file is read: see `metaeval.data.own.tables.Reading`.
    limit, options
        See `arrange_pairs`; `captions` are of images without `references`.

    Raises InputError for a file that is not there or not as it should be.
    """
    if file is None:
        raise ConfigError("dataset=pairs needs a file: dataset.file=FILE.jsonl (or .csv, .parquet)")
    path = user_path(file)
    tidy = Tidy()
    pairs: list[CaptionPair] = []
    table = unfolded(read_table(path, take_reading(options), "dataset"), REQUIRED, fields)
    notes = list(table.notes)
    for where, record in rename_fields(table.rows, fields, REQUIRED, path, notes, OPTIONAL):
        pairs += _pairs(Row(record, path, where, tidy))
    sources, note = sources_of_records(
        (p.image for p in pairs),
        {p.image: p.file for p in pairs if p.file},
        declared=image_source,
        collection=name,
        instances=options.get("instances"),
        data=options.get("data"),
    )
    arranged = arrange_pairs(
        name,
        name,
        [replace(p, source=sources[p.image]) for p in pairs],
        sources={path.name: table.sha256},
        notes=[*tidy.notes(), *notes, *note],
        limit=limit,
        **options,  # type: ignore[misc]  # without those that `take_reading` took
    )
    return replace(arranged, dataset=replace(arranged.dataset, language=language))


def _pairs(row: Row) -> Iterator[CaptionPair]:
    image, true, false = str(row.id()), row.caption("true"), row.captions("false")
    if not true or not false:
        raise row.error("holds no caption", "false" if true else "true")
    references = None if row.fields.get("references") is None else row.captions("references")
    paraphrase = row.text("paraphrase") and row.caption("paraphrase")
    for caption in false:
        yield CaptionPair(
            image,
            row.name("kind") or "all",
            true,
            caption,
            paraphrase=paraphrase,
            references=references,
            file=row.text("image_path"),
        )
