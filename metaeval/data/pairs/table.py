"""Any true and false captions: a table with one record per item, as JSON Lines, CSV or Parquet.

Columns: `image_id`, `true`, `false` (a caption, or a list of them; in a CSV cell a JSON list), and
optionally `paraphrase` (another true caption), `kind`, `references` (a list; without the column,
COCO's captions of the image) and `image_path`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from metaeval.data.annotated_images import sources_of_ids
from metaeval.data.dataset import ImageId
from metaeval.data.fields import rename_fields
from metaeval.data.json_records import check_id
from metaeval.data.judgments.table import (
    FORMATS,
    optional_name,
    optional_text,
    require_columns,
)
from metaeval.data.own.tables import read_table
from metaeval.data.pairs.pairs import CaptionPair, CaptionPairs, PairOptions, arrange_pairs
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError
from metaeval.options import Limit, checked
from metaeval.readers.files import user_path

REQUIRED = ("image_id", "true", "false")
OPTIONAL = ("paraphrase", "kind", "references", "image_path")


@checked
def load_pairs_table(
    file: str | Path | None = None,
    name: str = "pairs",
    image_source: str | None = None,
    limit: Limit = None,
    fields: Mapping[str, str | None] | None = None,
    language: str | None = None,
    **options: Unpack[PairOptions],
) -> CaptionPairs:
    """True and false captions from your own table; several false ones make several pairs.

    Parameters
    ----------
    file
        A `.jsonl`, `.json` (a list of records), `.csv`, `.tsv` or `.parquet` file.
    name
        What tables call the dataset.
    image_source
        Which photographs these are, as in `metaeval.data.judgments.table.load_table`.
    fields
        What the file calls `image_id`, `true`, `false`, `paraphrase`, `kind`, `references` and
        `image_path`, where it calls them otherwise. Common names are recognised, which is logged.
    language
        The language of the captions ("de"); by default it is detected.
    limit, options
        See `arrange_pairs`; `captions` are of images without `references`.

    Raises InputError for a file that is not there or not as it should be.
    """
    if file is None:
        raise ConfigError("dataset=pairs needs a file: dataset.file=FILE.jsonl (or .csv, .parquet)")
    path = user_path(file)
    if path.suffix.lower() not in FORMATS:
        raise ConfigError(f"dataset.file: '{path.name}' is not one of {', '.join(FORMATS)}")
    tidy = Tidy()
    pairs: list[CaptionPair] = []
    notes: list[str] = []
    table = read_table(path)
    rows = [(row.where, row.fields) for row in table.rows]
    renamed = rename_fields(
        rows, fields, REQUIRED, path, notes, OPTIONAL, guessed=("references", "kind")
    )
    for where, record in renamed:
        hint = " (dataset.fields says what they are called)"
        require_columns(record, REQUIRED, path, where, hint)
        pairs += _pairs(record, tidy, path, where)
    if not pairs:
        raise InputError("holds no record", file=path)
    names: dict[ImageId, str] = {p.image: p.file for p in pairs if p.file}
    sources, note = sources_of_ids(
        dict.fromkeys(p.image for p in pairs),
        names,
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
        **options,
    )
    return replace(arranged, dataset=replace(arranged.dataset, language=language))


def _pairs(record: dict[str, object], tidy: Tidy, path: Path, where: str) -> Iterator[CaptionPair]:
    image = check_id(record["image_id"], path, where, "image_id")
    true = tidy.read(record["true"], file=path, record=where, field="true")
    false = tidy.read_several(record["false"], file=path, record=where, field="false")
    if not true or not false:
        field = "false" if true else "true"
        raise InputError("holds no caption", file=path, record=where, field=field)
    given, references = record.get("references"), None
    if given is not None:
        references = tidy.read_several(given, file=path, record=where, field="references")
    other = optional_text(record, "paraphrase", path, where)
    paraphrase = other and tidy.read(other, file=path, record=where, field="paraphrase")
    for caption in false:
        yield CaptionPair(
            str(image),
            optional_name(record, "kind", path, where) or "all",
            true,
            caption,
            paraphrase=paraphrase,
            references=references,
            file=optional_text(record, "image_path", path, where),
        )
