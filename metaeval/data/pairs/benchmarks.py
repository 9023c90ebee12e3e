"""Benchmarks of true and false captions of COCO's images, in the authors' files.

FOIL (Shekhar et al. 2017), one noun of a caption replaced: `foilv1.0_test_2017.json`, annotated
like COCO's captions, lists `annotations` with `image_id`, `id` (of COCO's caption), `caption`,
`foil` (true or false), `target_word` and `foil_word`: the caption itself, and behind it its foils
under the same `id`.

The others have a file `KIND.json` a kind, with a list of records or an object name → record.

DiscourseFOIL (Lin et al. 2025): `DiscourseFOIL-200.json`, long captions of images of COCO and SA-1B
with a hallucination (`hall_caption`) and as people corrected it (`human_corrected_hall_caption`,
where `fixed` is "true"). `caption`, another description of the image, is the reference.

Reformulations (Berger et al. 2025): `full_reformulation_dataset.json`, machines' captions
(`question`) of images of COCO and Flickr30k (`image`, the file's name), and the same as a person
improved them (`answer`); those that a person left as they were are equal.

RoCOCO (Park et al. 2024), one word replaced: records with `image` (the file's name) and `caption`,
a list of human captions followed by their altered versions: five of each, or six human ones and
five altered ones. The kinds are what the new word is: of the same concept as the old one, of
another concept, any word of the vocabulary, or a dangerous word.

SugarCrepe (Hsieh et al. 2023): `filename`, `caption`, `negative_caption`. The images and the true
captions are COCO val2017's; a language model wrote the false ones, and those that two text-only
models recognise were thinned out. SugarCrepe++ (Dumpala et al. 2024) has five of the kinds, with a
second true caption in other words, `caption2`.

VALSE (Parcalabescu et al. 2022): foils centred on linguistic phenomena, on COCO's images.

A piece is a JSON object, name → `image_file`, `caption`, `foil`, and `mturk`: how many of three
people found that the caption alone fits the image. Pairs that fewer than two chose the caption of
are not valid, as in its authors' own evaluation. `plurals` changed COCO's caption a little
("exactly one"): what it was made from is `orig_caption`. The pieces on other images (Visual7W,
SWiG, VisDial) have no references and are not read.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from operator import eq
from pathlib import Path
from typing import Unpack

from metaeval.data.content_words import kind_of_edit
from metaeval.data.download import find_files
from metaeval.data.identity import coco_source, source_of_file
from metaeval.data.pairs.pairs import (
    CaptionPair,
    CaptionPairs,
    PairOptions,
    arrange_pairs,
    chosen_kinds,
)
from metaeval.data.records import Record, json_type, records
from metaeval.data.rows import Row
from metaeval.data.tidy import Tidy, count_captions, letters_and_digits
from metaeval.errors import InputError
from metaeval.options import Limit, Names, checked
from metaeval.readers.files import read_json

FOIL = "foilv1.0_test_2017.json"
FOIL_SITE = "https://foilunitn.github.io"
ROCOCO = ("same_concept", "diff_concept", "rand_voca", "danger")
SUGARCREPE_PP = ("replace_obj", "replace_att", "replace_rel", "swap_obj", "swap_att")
SUGARCREPE = (*SUGARCREPE_PP, "add_obj", "add_att")
VALSE = ("plurals", "relations", "foil-it")
PEOPLE = 3  # judged each pair of VALSE
VALID = 2  # of them, from where a pair counts
# benchmark → its title, and where to get its files
_SOURCES = {
    "discourse_foil": ("DiscourseFOIL", "https://github.com/ShaoqLin/DiscoSG"),
    "reformulations": ("Reformulations", "https://github.com/uriberger/re_cap"),
    "rococo": ("RoCOCO", "https://github.com/pseulki/rococo"),
    "sugarcrepe": ("SugarCrepe", "https://github.com/RAIVNLab/sugar-crepe (folder data)"),
    "sugarcrepe_pp": ("SugarCrepe++", "https://github.com/Sri-Harsha/scpp (folder data)"),
    "valse": ("VALSE", "https://github.com/Heidelberg-NLP/VALSE (folder data)"),
}
_PUNCTUATION = re.compile(r"[^\w\s'-]|(?<!\w)['-]|['-](?!\w)")


@checked
def load_foil(
    root: str | Path | None = None,
    file: str = FOIL,
    limit: Limit = None,
    **options: Unpack[PairOptions],
) -> CaptionPairs:
    """FOIL: every foil with the caption that it was made from.

    Parameters
    ----------
    root
        The folder of the file; by default `foil` in the data folder.
    file
        Its name.
    limit, options
        As in `load_sugarcrepe`.

    A foil whose caption is not in the file is left out and counted in the notes. Raises InputError
    for a file that is not there or not as it should be.
    """
    data = options.get("data")
    files = find_files([file], folder="foil", source=FOIL_SITE, root=root, data=data)
    value, sha256 = read_json(path := files[file])
    tidy = Tidy()
    true: dict[int | str, tuple[int, str]] = {}
    foils: list[tuple[int | str, int, str]] = []
    for i, fields in enumerate(records(value, "annotations", path)):
        row = Row(fields, path, f"annotations[{i}]", tidy)
        image, key = _foil_ids(row)
        caption = row.caption("caption")
        if fields["foil"]:
            foils.append((key, image, caption))
        elif true.setdefault(key, (image, caption)) != (image, caption):
            raise row.error(f"another caption has the id {key!r:.60}, too", "id")
    for key, image, _ in foils:
        if key in true and true[key][0] != image:
            raise InputError(
                f"a foil of the image {image} has the id {key!r:.60} of a caption of the image "
                f"{true[key][0]}",
                file=path,
                field="image_id",
            )
    pairs = [
        CaptionPair(str(image), "object", true[key][1], foil, source=coco_source(image))
        for key, image, foil in foils
        if key in true
    ]
    notes = tidy.notes()
    if lone := len(foils) - len(pairs):
        notes.append(
            f"{count_captions(lone)} called foils were left out: nothing true has their id."
        )
    sources = {path.name: sha256}
    return arrange_pairs(
        "foil", "FOIL", pairs, sources=sources, notes=notes, limit=limit, read=len(foils), **options
    )


@checked
def load_rococo(
    root: str | Path | None = None,
    kinds: Names = None,
    limit: Limit = None,
    **options: Unpack[PairOptions],
) -> CaptionPairs:
    """RoCOCO: the 5,000 images of the Karpathy test split, five altered captions per kind.

    Parameters
    ----------
    root
        The folder of the files; by default `rococo` in the data folder.
    kinds
        Only these of `ROCOCO`; by default those whose files are there.
    limit, options
        As in `load_sugarcrepe`.

    Notes
    -----
    Altered captions are partly lower-cased and without punctuation, true ones are not. Both sides
    are converted to lower case without punctuation, so that no metric can use that difference.
    An altered caption is paired with the true one that shares the most words at the same places. An
    altered caption that still equals one of its image's true captions is left out and counted.

    Raises InputError for files that are not there or not as they should be.
    """
    chosen = chosen_kinds(kinds, ROCOCO)
    if kinds is None:
        chosen = [k for k in chosen if _is_there("rococo", k, root, options)] or chosen[:1]
    left_out = "altered captions equal a true one and were left out."
    return _load("rococo", chosen, root, _altered, limit, options, left_out)


@checked
def load_discourse_foil(
    root: str | Path | None = None, limit: Limit = None, **options: Unpack[PairOptions]
) -> CaptionPairs:
    """DiscourseFOIL: 199 captions of about 180 words, with a hallucination and corrected.

    The file is looked for in `discourse_foil` in the data folder; `limit` and `options` are as in
    `load_sugarcrepe`. Records without a correction, or with two equal captions, are left out and
    counted.
    """
    left_out = "records were left out: nobody corrected the caption, or both are equal."
    kinds = ["DiscourseFOIL-200"]
    return _load("discourse_foil", kinds, root, _corrected, limit, options, left_out)


@checked
def load_reformulations(
    root: str | Path | None = None,
    by_edit: bool = False,
    limit: Limit = None,
    **options: Unpack[PairOptions],
) -> CaptionPairs:
    """Reformulations: a machine's caption, and the same as a person improved it.

    Parameters
    ----------
    root
        The folder of the file; by default `reformulations` in the data folder.
    by_edit
        Whether kinds are what the person did to the content words (`kind_of_edit`); otherwise all
        pairs are of one kind.
    limit, options
        As in `load_sugarcrepe`.

    Images of Flickr30k have no references here: their pairs are left out.
    """
    kinds = ["full_reformulation_dataset"]
    pairs_of = partial(_improved, by_edit=by_edit)
    return _load("reformulations", kinds, root, pairs_of, limit, options)


@checked
def load_sugarcrepe(
    root: str | Path | None = None,
    kinds: Names = None,
    limit: Limit = None,
    **options: Unpack[PairOptions],
) -> CaptionPairs:
    """SugarCrepe: 7,511 pairs of 1,560 images of COCO val2017, in seven kinds.

    Parameters
    ----------
    root
        The folder of the seven files; by default `sugarcrepe` in the data folder.
    kinds
        Only these of `SUGARCREPE`.
    limit
        Only `limit` images, drawn by their names: the same ones in every run.
    options
        `captions`: the captions file that holds the references; by default COCO's in the data
        folder. `near_copies`: "keep" or "drop" references that are nearly the true caption (a word
        in five differs). `instances`, `images`,
        `data`: see `metaeval.data.annotated_images`.

    Raises InputError for files that are not there or not as they should be.
    """
    return _load("sugarcrepe", chosen_kinds(kinds, SUGARCREPE), root, _negative, limit, options)


@checked
def load_sugarcrepe_pp(
    root: str | Path | None = None,
    kinds: Names = None,
    limit: Limit = None,
    **options: Unpack[PairOptions],
) -> CaptionPairs:
    """SugarCrepe++: 4,757 triplets of a true caption, a true paraphrase and a false near-copy.

    The files are looked for in `sugarcrepe_pp` in the data folder; all else as in
    `load_sugarcrepe`.
    """
    pairs_of = partial(_negative, paraphrase="caption2")
    return _load(
        "sugarcrepe_pp", chosen_kinds(kinds, SUGARCREPE_PP), root, pairs_of, limit, options
    )


@checked
def load_valse(
    root: str | Path | None = None,
    kinds: Names = None,
    validated: bool = True,
    limit: Limit = None,
    **options: Unpack[PairOptions],
) -> CaptionPairs:
    """VALSE's pieces on COCO's images: plurals, relations and foil-it.

    Parameters
    ----------
    root
        The folder of the files; by default `valse` in the data folder.
    validated
        Only pairs whose caption at least two of three people chose.
    kinds, limit, options
        As in `load_sugarcrepe`.

    Raises InputError for files that are not there or not as they should be.
    """
    left_out = f"pairs were left out: fewer than {VALID} of {PEOPLE} people chose the caption."
    pairs_of = partial(_validated, validated=validated)
    return _load("valse", chosen_kinds(kinds, VALSE), root, pairs_of, limit, options, left_out)


def _photograph(row: Row, name: str, field: str) -> str:
    """The source of the image of COCO's whose file has this name."""
    if (source := source_of_file(name)) is None:
        raise row.error(f"'{name}' is not the name of one of COCO's images", field)
    return source


def _foil_ids(row: Row) -> tuple[int, int | str]:
    """The image's id and the caption's of a record of FOIL, which says whether it is a foil."""
    image, key = row.value("image_id"), row.value("id")
    if not isinstance(row.value("foil"), bool):
        raise row.error("is not true or false", "foil")
    if type(image) is not int or image < 0:
        raise row.error(f"{image!r:.60} is not a COCO id", "image_id")
    if not isinstance(key, int | str) or isinstance(key, bool):
        raise row.error(f"{key!r:.60} is not an id", "id")
    return image, key


PairsOf = Callable[[Row, str], Iterator[CaptionPair | None]]  # of a record and its kind


def _load(
    name: str,
    kinds: Sequence[str],
    root: str | Path | None,
    pairs_of: PairsOf,
    limit: int | None,
    options: PairOptions,
    left_out: str = "",
) -> CaptionPairs:
    """The pairs of a file per kind; where `pairs_of` gives `None`, one is left out."""
    title, source = _SOURCES[name]
    names = [f"{each}.json" for each in kinds]
    files = find_files(names, folder=name, source=source, root=root, data=options.get("data"))
    tidy = Tidy()
    sources: dict[str, str] = {}
    made: list[CaptionPair | None] = []
    for each, path in zip(kinds, files.values(), strict=True):
        value, sources[path.name] = read_json(path)
        for where, record in _numbered_records(value, path):
            made += pairs_of(Row(record, path, where, tidy), each)
    pairs = [pair for pair in made if pair is not None]
    notes = tidy.notes()
    if n := len(made) - len(pairs):
        notes.append(f"{n:,} {left_out}")
    return arrange_pairs(
        name, title, pairs, sources=sources, notes=notes, limit=limit, read=len(made), **options
    )


def _is_there(name: str, kind: str, root: str | Path | None, options: PairOptions) -> bool:
    """Whether the file of a kind is there."""
    try:
        find_files([f"{kind}.json"], folder=name, source="", root=root, data=options.get("data"))
    except InputError:
        return False
    return True


def _numbered_records(value: object, path: Path) -> Iterator[tuple[str, Record]]:
    """The records of a JSON object (name → record) or of a list, each with its place."""
    if isinstance(value, dict):
        listed = [(f"record '{key}'", record) for key, record in value.items()]
    elif isinstance(value, list):
        listed = [(f"record {k}", record) for k, record in enumerate(value)]
    else:
        raise InputError(f"holds {json_type(value)} where records are expected", file=path)
    for where, record in listed:
        if not isinstance(record, dict):
            raise InputError(f"is {json_type(record)}, not an object", file=path, record=where)
        yield where, record


def _negative(row: Row, kind: str, paraphrase: str | None = None) -> Iterator[CaptionPair]:
    """SugarCrepe's pair; `paraphrase` is the field of the second true caption."""
    name = row.caption("filename")
    yield CaptionPair(
        name,
        kind,
        row.caption("caption"),
        row.caption("negative_caption"),
        paraphrase=row.caption(paraphrase) if paraphrase else None,
        file=name,
        source=_photograph(row, name, "filename"),
    )


def _validated(row: Row, kind: str, validated: bool) -> Iterator[CaptionPair | None]:
    """VALSE's pair; `None` for one that too few people confirmed."""
    if validated and _votes(row) < VALID:
        yield None
        return
    name = row.caption("image_file")
    yield CaptionPair(
        name,
        kind,
        row.caption("caption"),
        row.caption("foil"),
        made_from=row.caption("orig_caption") if "orig_caption" in row.fields else None,
        file=name,
        source=_photograph(row, name, "image_file"),
    )


def _corrected(row: Row, kind: str) -> Iterator[CaptionPair | None]:
    """DiscourseFOIL's pair; `None` for a record that has no correction."""
    true, false = row.caption("human_corrected_hall_caption"), row.caption("hall_caption")
    if row.fields.get("fixed") != "true" or true == false:  # not "false" or "not clear"
        yield None
        return
    name = row.caption("image_url").rpartition("/")[2]
    yield CaptionPair(
        name,
        "hallucination",
        true,
        false,
        references=(row.caption("caption"),),
        file=name,
        source=source_of_file(name),
    )


def _improved(row: Row, kind: str, by_edit: bool) -> Iterator[CaptionPair]:
    """A machine's caption and its reformulation."""
    name, before, better = (row.caption(field) for field in ("image", "question", "answer"))
    edit = kind_of_edit(before, better) if by_edit else "reformulation"
    yield CaptionPair(name, edit, better, before, file=name, source=source_of_file(name))


def _votes(row: Row) -> int:
    """How many people chose VALSE's true caption."""
    votes = row.fields.get("mturk")
    chosen = votes.get("caption") if isinstance(votes, dict) else None
    if type(chosen) is not int or not 0 <= chosen <= PEOPLE:
        raise row.error("does not say how many people chose the caption", "mturk")
    return chosen


def _altered(row: Row, kind: str) -> Iterator[CaptionPair | None]:
    """RoCOCO's pairs, one for each altered caption; `None` for one that equals a true caption."""
    name = row.caption("image").split("/")[-1]
    source = _photograph(row, name, "image")
    given = row.fields.get("caption")
    if not isinstance(given, list) or len(given) < 2:
        raise row.error(
            f"is {json_type(given)}, not a list of true captions and altered ones", "caption"
        )
    texts = [
        row.tidy.read(text, file=row.path, record=row.where, field="caption") for text in given
    ]
    altered_ones = len(texts) // 2
    true = texts[:-altered_ones]
    for place, altered in enumerate(texts[-altered_ones:]):
        if letters_and_digits(altered) in map(letters_and_digits, true):
            yield None
            continue
        made_from = _made_from(altered, true, place)
        yield CaptionPair(
            name,
            kind,
            normalise_caption(made_from),
            normalise_caption(altered),
            made_from=made_from,
            file=name,
            source=source,
        )


@lru_cache(maxsize=100_000)  # RoCOCO's true captions are compared with each altered one
def normalise_caption(caption: str) -> str:
    """Lower case, without punctuation except inside words, single spaces.

    >>> normalise_caption("A man's red-hot  stove, on fire .")
    "a man's red-hot stove on fire"
    """
    return " ".join(_PUNCTUATION.sub(" ", caption.lower()).split())


def _made_from(altered: str, true: Sequence[str], place: int) -> str:
    """The true caption with the most equal words at equal places from either end; of several, the
    one at the same place in the list."""
    words = normalise_caption(altered).split()

    def shared(k: int) -> tuple[float, bool]:
        other = normalise_caption(true[k]).split()
        equal = sum(map(eq, words, other)), sum(map(eq, reversed(words), reversed(other)))
        return max(equal) / max(len(words), len(other), 1), k == place

    return true[max(range(len(true)), key=shared)]
