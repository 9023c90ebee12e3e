"""ImageInWords (Garg et al. 2024): two long descriptions of an image, compared on five aspects.

A line of `docci_test.jsonl` has an image of DOCCI (`image`), its description there (`DOCCI`) and
that of ImageInWords' annotators (`IIW`). Each aspect is a field, whose value is "IIW is marginally
better", "IIW is substantially better", the same with DOCCI, or "Neutral".

A line of `iiw400.jsonl` has an image (`image/key`) and the annotators' description (`IIW`). 100 of
the 400 have a model's description (`IIW-P5B`) and the judgements of both in the object
`iiw-human-sxs-iiw-p5b`. Those of `iiw-human-sxs-gpt4v` are left out and counted: the file does not
have GPT-4V's descriptions.

No image has a third description, so a user's file is the one source of references. What annotators
wrote of each object is not one: they wrote their description from it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Unpack

from metaeval.data.dataset import RecordCount
from metaeval.data.download import find_files
from metaeval.data.identity import image_key
from metaeval.data.judgments.battles import Battle, BattleOptions, Battles, arrange_battles
from metaeval.data.judgments.table import read_references
from metaeval.data.own.tables import read_table
from metaeval.data.records import json_type
from metaeval.data.rows import Row
from metaeval.data.tidy import Tidy
from metaeval.options import checked

SOURCE = "https://github.com/google/imageinwords (folder datasets)"
Subset = Literal["docci_test", "iiw400"]
Aspect = Literal["comprehensiveness", "specificity", "hallucination", "first_lines", "human_like"]
ASPECTS: Mapping[Aspect, str] = {
    "comprehensiveness": "metrics/Comprehensiveness",
    "specificity": "metrics/Specificity",
    "hallucination": "metrics/Hallucination",
    "first_lines": "metrics/First few line(s) as tldr",
    "human_like": "metrics/Human Like",
}
# file → the field of the image, of the judgements ("": the record has them), and, by their names
# in judgements, of both descriptions
LAYOUTS: Mapping[Subset, tuple[str, str, Mapping[str, str]]] = {
    "docci_test": ("image", "", {"DOCCI": "DOCCI", "IIW": "IIW"}),
    "iiw400": ("image/key", "iiw-human-sxs-iiw-p5b", {"IIW-Human": "IIW", "IIW-P5B": "IIW-P5B"}),
}
WITHOUT_TEXT = "iiw-human-sxs-gpt4v"  # judgements of descriptions that the file does not have
RATER = "people"  # one judgement of each aspect: the files name nobody
_PREFERENCE = re.compile(r"(.+) is (marginally|substantially) better")


@checked
def load_iiw(
    root: str | Path | None = None,
    subsets: tuple[Subset, ...] | list[Subset] | None = None,
    aspects: tuple[Aspect, ...] | list[Aspect] | None = None,
    strength: Literal["equal", "weighted"] = "equal",
    references: str | Path | None = None,
    **options: Unpack[BattleOptions],
) -> Battles:
    """ImageInWords: a battle for each aspect (`category`) of 200 pairs of descriptions.

    Parameters
    ----------
    root
        The folder of the two files; by default `iiw` in the data folder.
    subsets, aspects
        Only these files, `docci_test` (people against people) and `iiw400` (people against a
        model), and only these of `ASPECTS`.
    strength
        "equal": every judgement counts once; "weighted": a substantial preference counts twice.
    references
        A file with references of the images; without it no image has any.
    options
        As in `metaeval.data.judgments.battles.load_battles`; no image is COCO's.

    Raises InputError for files that are not there or not as they should be.
    """
    layouts = {name: of for name, of in LAYOUTS.items() if subsets is None or name in subsets}
    chosen = [aspect for aspect in ASPECTS if aspects is None or aspect in aspects]
    files = find_files(
        [f"{name}.jsonl" for name in layouts],
        folder="iiw",
        source=SOURCE,
        root=root,
        data=options.get("data"),
    )
    tidy, sources, notes, left_out = Tidy(), dict[str, str](), list[str](), 0
    known = read_references(references, notes)
    battles: list[tuple[Battle, int]] = []
    for layout, path in zip(layouts.values(), files.values(), strict=True):
        table = read_table(path)
        sources[path.name] = table.sha256
        left_out += len(chosen) * sum(WITHOUT_TEXT in row.fields for row in table.rows)
        for row in table.rows:
            battles += _battles(Row(row.fields, path, row.where, tidy), layout, chosen)
    if left_out:
        notes.append(f"{left_out:,} judgements were left out: the text of GPT-4V is not there.")
    made = [
        battle._replace(references=known.get(image_key(battle.image), ()))
        for battle, weight in battles
        for _ in range(weight if strength == "weighted" else 1)
    ]
    if strength == "weighted":
        notes.append("A substantial preference counts twice, a marginal one and a tie once.")
    options["image_source"] = "other"
    arranged = arrange_battles(
        "iiw", "ImageInWords", made, sources=sources, notes=[*tidy.notes(), *notes], **options
    )
    used = set(zip(arranged.image, arranged.systems, arranged.category, strict=True))
    return replace(arranged, records=RecordCount(len(battles) + left_out, len(used)))


def _battles(
    row: Row, layout: tuple[str, str, Mapping[str, str]], aspects: Sequence[Aspect]
) -> Iterator[tuple[Battle, int]]:
    """The battles of a record, each with the weight of its preference; none without judgements."""
    image_field, judgments_field, sides = layout
    judgments = row.fields.get(judgments_field) if judgments_field else row.fields
    if judgments is None:
        return
    if not isinstance(judgments, dict):
        raise row.error(f"is {json_type(judgments)}, not an object", judgments_field)
    image, of_judgments = str(row.id(image_field)), replace(row, fields=judgments)
    first, second = map(row.caption, sides.values())
    one, other = sides.values()
    for aspect in aspects:
        winner, weight = _preference(of_judgments, list(sides), ASPECTS[aspect])
        names = (one, other, RATER, aspect)
        yield Battle(image, first, second, winner, *names, file=f"{image}.jpg"), weight


def _preference(row: Row, names: Sequence[str], field: str) -> tuple[float, int]:
    """1 (the first name won), 0 (the second) or 0.5 (a tie), and the weight: 2 if substantially."""
    value = row.value(field)
    if value == "Neutral":
        return 0.5, 1
    match = _PREFERENCE.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[1] not in names:
        expected = " or ".join(f"'{name} is marginally better'" for name in names)
        raise row.error(
            f"{value!r:.60} is not a judgement; write 'Neutral', {expected} (substantially)", field
        )
    return 1.0 - names.index(match[1]), 2 if match[2] == "substantially" else 1
