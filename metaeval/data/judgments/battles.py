"""Battles: which of two captions of an image is better? From a table, or between captioners.

A battle is an image, two captions and the winner, which may be a tie. Where the systems that wrote
the captions are known, the battles rank them.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from metaeval.data.annotated_images import ImagePlaces, sources_of_records
from metaeval.data.coco.captions import CocoReferences
from metaeval.data.dataset import ImageId, RecordCount
from metaeval.data.download import benchmark_file
from metaeval.data.fields import Fields, is_missing, rename_fields
from metaeval.data.identity import image_key, sources_of
from metaeval.data.judgments.pascal50s import ForcedChoice, Ties
from metaeval.data.judgments.table import read_references
from metaeval.data.own.tables import Reading, read_table, take_reading, unfolded
from metaeval.data.rows import Row
from metaeval.data.system_captions import find_system_files, read_system_captions
from metaeval.data.tidy import Tidy, letters_and_digits
from metaeval.errors import ConfigError, InputError
from metaeval.options import Limit, PositiveInt, Seed, checked

log = logging.getLogger(__name__)

REQUIRED = ("image_id", "first", "second", "winner")
OPTIONAL = ("first_system", "second_system", "rater", "category", "references", "image_path")
ALL = "all"  # the category of battles that have none
WORDS = {
    **dict.fromkeys(("first", "a", "left", "caption1", "caption 1", "model_a"), 1.0),
    **dict.fromkeys(("second", "b", "right", "caption2", "caption 2", "model_b"), 0.0),
    **dict.fromkeys(("tie", "equal", "both", "neither", "tie (bothbad)"), 0.5),
    # verdicts of judges, also in brackets: [[A>>B]]
    **dict.fromkeys(("a>b", "a>>b", "b<a", "b<<a"), 1.0),
    **dict.fromkeys(("b>a", "b>>a", "a<b", "a<<b"), 0.0),
    **dict.fromkeys(("a=b", "b=a", "[[c]]"), 0.5),
}
# benchmark → what its files call the fields
LAYOUTS = {
    "caparena": {
        "image_id": "img",
        "first": "caption1",
        "second": "caption2",
        "winner": "winner",
        "first_system": "source1",
        "second_system": "source2",
        "category": "cluster",
        "references": "ref",
        "rater": "annotator",
    },
}
# benchmark → folder in the data folder, file, where to get it
FILES = {
    "caparena": ("caparena", "caparena_annots_eval.json", "https://github.com/njucckevin/CapArena"),
}
OUTCOMES = {"first": 1.0, "second": 0.0, "tie": 0.5}
_DRAWS = 0xBA77


TAKEN_OUT = (
    "Captions that are one of their image's references were taken out of them for both sides in "
    "{:,} of {:,} battles; {:,} have no reference left (dataset.own_captions=keep leaves the "
    "captions in)."
)


class BattleOptions(ImagePlaces, total=False):
    """Options of battles: see `load_battles`."""

    own_captions: Literal["drop", "keep"]
    ties: Ties
    image_source: str | None
    limit: Limit


class BattleTableOptions(BattleOptions, Reading, total=False):
    """Options of `load_battles`: also how the table is read."""


class Battle(NamedTuple):
    """One battle. `winner` is 1 (the first caption), 0 (the second), 0.5 (a tie), or NaN where
    it was not judged. `references` are those of the image."""

    image: str
    first: str
    second: str
    winner: float
    first_system: str | None = None
    second_system: str | None = None
    rater: str | None = None
    category: str = ALL
    references: tuple[str, ...] = ()
    file: str | None = None


@dataclass(frozen=True)
class Battles(ForcedChoice):
    """Battles as a forced choice: `votes` are of the one rater of each battle.

    Attributes
    ----------
    winner
        float64 [n]: see `Battle`.
    systems
        n pairs of names; empty where the systems of some battle are not known.
    raters
        n names, `None` where the rater is not known.
    """

    fixed_references = True
    counts_pairs = False
    winner: npt.NDArray[np.float64] | None = None
    systems: tuple[tuple[str, str], ...] = ()
    raters: tuple[str | None, ...] = ()

    def _drawn(self, n_references: int, draw: int, seed: int) -> Sequence[tuple[str, ...]]:
        """All references: nothing is drawn."""
        return self.references


@checked
def load_battles(
    file: str | Path | None = None,
    name: str = "battles",
    title: str | None = None,
    layout: Literal["caparena"] | None = None,
    fields: Fields | None = None,
    winners: Mapping[str, Literal["first", "second", "tie"]] | None = None,
    references: str | Path | None = None,
    **options: Unpack[BattleTableOptions],
) -> Battles:
    """Battles from a table with a record per battle.

    `conf/dataset/battles.yaml` describes the options. A value of `winner` is the name of one of the
    two systems, first, second, A, B, left, right, tie, equal, both, neither, A>B, A>>B or A=B, also
    in double brackets ([[C]] is a tie), or what `winners` says. With `own_captions="drop"` a
    caption of the battle that is one of the image's references, by letters and digits, is taken out
    of the references for both sides.

    Raises InputError for a file that is not there or not as it should be.
    """
    if file is None and layout not in FILES:
        raise ConfigError("dataset=battles needs a file: dataset.file=FILE.jsonl (.csv, .parquet)")
    folder, official, source = FILES.get(layout or "", ("", "", ""))
    path = benchmark_file(file, official, folder=folder, source=source, data=options.get("data"))
    outcomes = _outcomes(winners)
    notes: list[str] = []
    more = read_references(references, notes, fields)
    table, tidy, battles = read_table(path, take_reading(options), "dataset"), Tidy(), []
    if layout is not None:
        given = {key: value for key, value in (fields or {}).items() if value is not None}
        fields = {**_of_layout(layout, table.rows[0].fields), **given}
    table = unfolded(table, REQUIRED, fields)
    notes += table.notes
    for where, record in rename_fields(table.rows, fields, REQUIRED, path, notes, OPTIONAL):
        battle = _battle(Row(record, path, where, tidy), outcomes)
        if not battle.references:
            battle = battle._replace(references=more.get(image_key(battle.image), ()))
        battles.append(battle)
    return arrange_battles(
        name,
        title or name,
        battles,
        sources={path.name: table.sha256},
        notes=[*tidy.notes(), *notes],
        **options,  # type: ignore[misc]  # without those that `take_reading` took
    )


@checked
def load_captioner_battles(
    captions: str | list[str] | dict[str, str] | None = None,
    n_battles: PositiveInt = 1000,
    seed: Seed = 0,
    references: str | Path | None = None,
    name: str = "captioners",
    **options: Unpack[BattleOptions],
) -> Battles:
    """Battles between the captions of captioners, without judgments.

    `conf/dataset/captioner_battles.yaml` describes the options. The battles are drawn at random,
    without repetition: an image and two captioners, in either order.

    Raises InputError for a file that is not there or not as it should be.
    """
    coco = CocoReferences(references, options.get("data"))
    known_images = coco.image_ids()
    if not known_images:
        raise InputError(
            f"no captions file of COCO's schema ({coco.looked}); give one as dataset.references"
        )
    systems: dict[str, Mapping[ImageId, str]] = {}
    checksums: dict[str, str] = {}
    notes: list[str] = []
    for system, path in find_system_files(captions).items():
        read = read_system_captions(path, system, known_images)
        systems[system], checksums[path.name] = read.captions, read.sha256
        notes += [f"{path.name}: {note}" for note in read.notes]
    if len(systems) < 2:
        raise ConfigError("dataset.captions names one captioner; a battle needs two")
    images = {i for written in systems.values() for i in written}
    sources = sources_of(images, {}, declared="coco")
    known = coco.of({s for s in sources.values() if s is not None})
    battles = [
        Battle(
            str(image),
            str(systems[a][image]),
            str(systems[b][image]),
            float("nan"),
            a,
            b,
            references=known.get(str(sources[image]), ()),
        )
        for image, a, b in _drawn(systems, n_battles, seed, options.get("limit"))
    ]
    options["image_source"] = "coco"
    return arrange_battles(
        name,
        "Captioners",
        battles,
        sources={**checksums, **coco.checksums},
        notes=[*notes, *coco.notes],
        **options,
    )


def arrange_battles(
    name: str,
    title: str,
    battles: Sequence[Battle],
    *,
    sources: Mapping[str, str],
    notes: Sequence[str] = (),
    **options: Unpack[BattleOptions],
) -> Battles:
    """Battles as a dataset. Raises InputError where nothing is left, ConfigError for an option."""
    ties, own_captions = options.get("ties", "half"), options.get("own_captions", "drop")
    limit, photographed = options.get("limit"), options.get("image_source")
    places = ImagePlaces(**{key: options.get(key) for key in ImagePlaces.__annotations__})  # type: ignore[typeddict-item]
    read, messages = len(battles), list(notes)
    if limit is not None:
        first = set(sorted({b.image for b in battles})[:limit])
        battles = [b for b in battles if b.image in first]
    if not battles:
        raise InputError("holds no battle", file=", ".join(sources) or None)
    drop = own_captions == "drop"
    listed = [_without_own(b) if drop else b.references for b in battles]
    fewer = [left for left, b in zip(listed, battles, strict=True) if left != b.references]
    if fewer:
        messages.append(TAKEN_OUT.format(len(fewer), len(battles), fewer.count(())))
        log.warning("%s", messages[-1])
    images = tuple(b.image for b in battles)
    names: dict[ImageId, str] = {b.image: b.file for b in battles if b.file}
    photographs, note = sources_of_records(
        images, names, declared=photographed, collection=name, **places
    )
    winner = np.array([b.winner for b in battles])
    systems = tuple((b.first_system or "", b.second_system or "") for b in battles)
    return Battles(
        name=name,
        title=title,
        image=images,
        first=tuple(b.first for b in battles),
        second=tuple(b.second for b in battles),
        references=tuple(listed),
        category=tuple(b.category for b in battles),
        votes=np.stack([winner == 1, winner == 0], axis=1).astype(np.int64),
        n_references=(max(map(len, listed)),),
        draws=1,
        sources=sources,
        notes=(*messages, *note),
        records=RecordCount(read, len(battles)),
        labels="votes",
        ties=ties,
        images=places.get("images"),
        data=places.get("data"),
        average="pairs",
        winner=winner,
        systems=systems if all(map(all, systems)) else (),
        raters=tuple(b.rater for b in battles),
        photographs={str(image): source for image, source in photographs.items()},
        names=names,
        instances=places.get("instances"),
    )


def _of_layout(layout: str, record: Mapping[str, object]) -> dict[str, str]:
    """The names of a layout, without those of optional fields that the file does not have."""
    names = LAYOUTS[layout]
    return {ours: name for ours, name in names.items() if ours in REQUIRED or name in record}


def _outcomes(winners: Mapping[str, str] | None) -> dict[str, float]:
    """Value of the column `winner`, in lower case → 1, 0 or 0.5."""
    given = {str(key): str(value) for key, value in (winners or {}).items()}
    return {**WORDS, **{key.lower(): OUTCOMES[value] for key, value in given.items()}}


def _battle(row: Row, outcomes: Mapping[str, float]) -> Battle:
    image, first, second = str(row.id()), row.caption("first"), row.caption("second")
    systems = [row.name("first_system"), row.name("second_system")]
    if systems[0] is not None and systems[0] == systems[1]:
        raise row.error(
            f"'{systems[0]}' is both systems of the battle; leave such battles out",
            "second_system",
        )
    return Battle(
        image,
        first,
        second,
        _winner(row, systems, outcomes),
        systems[0],
        systems[1],
        None if is_missing(row.fields.get("rater")) else str(row.id("rater")),
        row.name("category") or ALL,
        row.captions("references"),
        row.text("image_path"),
    )


def _winner(row: Row, systems: Sequence[str | None], outcomes: Mapping[str, float]) -> float:
    """1, 0, 0.5, or NaN for an empty cell."""
    value = row.value("winner")
    if is_missing(value):
        return float("nan")
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if text in systems:
        return 1.0 - systems.index(text)
    compact = text.lower().replace(" ", "")
    spellings = (text.lower(), compact, compact.strip("[]"))
    word = next((each for each in spellings if each in outcomes), "")
    if word not in outcomes:
        raise row.error(
            f"'{text:.60}' is neither system of the battle, nor first, second or tie; "
            "dataset.winners={VALUE: first} says what a value means",
            "winner",
        )
    names = [name and name.lower() for name in systems]
    if word in names and outcomes[word] != 1.0 - names.index(word):
        raise row.error(
            f"'{text:.60}' can be the system '{systems[names.index(word)]}' or the other "
            "caption; use the systems' names as they are, or first, second and tie",
            "winner",
        )
    return outcomes[word]


def _without_own(battle: Battle) -> tuple[str, ...]:
    names = {letters_and_digits(battle.first), letters_and_digits(battle.second)}
    return tuple(r for r in battle.references if letters_and_digits(r) not in names)


def _drawn(
    systems: Mapping[str, Mapping[ImageId, str]], n: int, seed: int, limit: int | None
) -> list[tuple[ImageId, str, str]]:
    """Images with two systems that have captioned them, drawn without repetition."""
    names = sorted(systems)
    every = {image for captions in systems.values() for image in captions}
    images = sorted(every, key=str)[:limit]
    possible = [
        (image, a, b)
        for image in images
        for k, a in enumerate(names)
        for b in names[k + 1 :]
        if image in systems[a] and image in systems[b]
    ]
    rng = np.random.default_rng([_DRAWS, seed])
    chosen = rng.permutation(len(possible))[:n]
    turned = rng.random(len(chosen)) < 0.5
    drawn = zip((possible[k] for k in chosen.tolist()), turned.tolist(), strict=True)
    return [(image, b, a) if turn else (image, a, b) for (image, a, b), turn in drawn]
