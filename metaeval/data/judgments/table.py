"""Any judged captions: a table with one record a caption, as JSON Lines, CSV or Parquet.

Columns: `image_id`, `candidate`, `references` (a list of strings; in a CSV cell a JSON list),
one or more columns of human scores (a number, or a list of numbers from several people; empty = not
judged), and optionally `system` and `image_path`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from metaeval.data.annotated_images import sources_of_ids
from metaeval.data.dataset import ImageId
from metaeval.data.json_records import check_id, require_fields
from metaeval.data.judgments.judged import Judged, Judgments, arrange
from metaeval.data.judgments.protocol import Choices, protocol_for
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError
from metaeval.options import Limit, is_unicode
from metaeval.readers.files import read_text
from metaeval.readers.json_text import read_json_lines
from metaeval.readers.tables import read_csv, read_parquet
from metaeval.readers.values import read_list, read_number
from metaeval.runs.digests import file_sha256

FORMATS = (".jsonl", ".csv", ".parquet")


def load_table(
    file: str | Path | None = None,
    human: str | tuple[str, ...] | list[str] = "human",
    name: str = "table",
    instances: str | Path | None = None,
    images: str | Path | None = None,
    image_source: str | None = None,
    data: str | Path | None = None,
    limit: Limit = None,
    protocol: str | None = None,
    **choices: Unpack[Choices],
) -> Judgments:
    """Judged captions from a table of your own.

    Parameters
    ----------
    file
        A `.jsonl`, `.csv` or `.parquet` file.
    human
        The column or columns that hold what people said; more is better.
    name
        What tables call the dataset.
    instances
        COCO's annotated objects, for captions of COCO's images; by default those in the data
        folder.
    images
        The folder that the names in `image_path` are looked for in.
    image_source
        Which photographs these are: "coco", `image_id` is COCO's; "other", none of them is COCO's.
        By default the names in `image_path` tell, and without them ids that are, all of them, ids
        of annotated images of COCO.
    data
        The data folder; by default METAEVAL_DATA.
    limit, protocol, choices
        As in `metaeval.data.judgments.flickr8k.load_expert`; the default ("plain") keeps
        everything, averages several ratings of a caption, counts images as CIDEr's documents and
        is quoted by τ-b.

    Raises InputError for a file that is not there or not as it should be.
    """
    if file is None:
        raise ConfigError("dataset=table needs a file: dataset.file=FILE.jsonl (or .csv, .parquet)")
    path = Path(file).expanduser()
    if path.suffix.lower() not in FORMATS:
        raise ConfigError(f"dataset.file: '{path.name}' is not one of {', '.join(FORMATS)}")
    chosen = protocol_for(name, protocol, **choices)
    dimensions = [human] if isinstance(human, str) else list(human)
    if not dimensions:
        raise ConfigError("dataset.human names no column")
    tidy = Tidy()
    judged, sha256, headed, read = [], "", False, 0
    for where, record, sha256 in table_records(path):  # noqa: B007  (the last one is the file's)
        if not headed:
            hint = " (dataset.human names those with what people said)"
            require_columns(record, ["image_id", "candidate", *dimensions], path, where, hint)
            headed = True
        require_fields(record, ("image_id", "candidate", *dimensions), path, where)
        image = check_id(record["image_id"], path, where, "image_id")
        candidate = record["candidate"]
        if not isinstance(candidate, str):
            raise InputError("is not a string", file=path, record=where, field="candidate")
        human_ratings = {
            d: _ratings(record[d], path, where, d) for d in dimensions if _is_judged(record[d])
        }
        read += 1
        if not human_ratings:
            continue
        judged.append(
            Judged(
                str(image),
                tidy.read(candidate, file=path, record=where, field="candidate"),
                texts_of(record.get("references"), tidy, path, where, "references"),
                human_ratings,
                optional_text(record, "system", path, where),
                optional_text(record, "image_path", path, where),
            )
        )
    if unjudged := read - len(judged):
        tidied = [*tidy.notes(), f"{unjudged:,} of {read:,} records without a judgement left out."]
    else:
        tidied = tidy.notes()
    judged, note = _with_sources(judged, image_source, name, instances, data)
    return arrange(
        name, name, judged, chosen, sources={path.name: sha256}, notes=[*tidied, *note],
        limit=limit, read=read, instances=instances, images=images, data=data,
    )  # fmt: skip


def _with_sources(
    judged: Sequence[Judged],
    declared: str | None,
    name: str,
    instances: str | Path | None,
    data: str | Path | None,
) -> tuple[list[Judged], list[str]]:
    """The captions with what is known of their photographs, and a note where it is not."""
    names: dict[ImageId, str] = {j.image: j.file for j in judged if j.file}
    sources, note = sources_of_ids(
        dict.fromkeys(j.image for j in judged), names,
        declared=declared, collection=name, instances=instances, data=data,
    )  # fmt: skip
    return [replace(j, source=sources[j.image]) for j in judged], note


def table_records(path: Path) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The records of a JSON Lines, CSV or Parquet file: where, the record, the file's SHA-256."""
    if path.suffix.lower() == ".parquet":
        digest = file_sha256(path)
        for where, row in read_parquet(path):
            yield where, row, digest
        return
    file = read_text(path)
    records = read_csv(file) if path.suffix.lower() == ".csv" else read_json_lines(file)
    for where, record in records:
        yield where, dict(record), file.sha256


def require_columns(
    record: dict[str, Any], needed: Sequence[str], path: Path, where: str, hint: str = ""
) -> None:
    """Raise InputError naming all columns that a record lacks, and those that it has."""
    if missing := [column for column in needed if column not in record]:
        names = ", ".join(f"'{column}'" for column in missing)
        raise InputError(
            f"is missing; the columns are: {', '.join(map(str, record))}{hint}",
            file=path, record=where, field=names.strip("'"),
        )  # fmt: skip


def _is_judged(value: Any) -> bool:
    """Whether there is a judgement: not null, not an empty cell or list, not NaN."""
    if value is None or value == "" or value == []:
        return False
    return not (isinstance(value, float) and np.isnan(value))


def _ratings(value: Any, path: Path, where: str, column: str) -> tuple[float, ...]:
    listed = read_list(value, path, where, column)
    several = listed if isinstance(listed, list) else [listed]
    return tuple(read_number(one, path, where, column) for one in several)


def texts_of(value: Any, tidy: Tidy, path: Path, where: str, column: str) -> tuple[str, ...]:
    """The captions in a cell: a list of them, or one; none in an empty cell."""
    listed = read_list(value, path, where, column)
    if listed is None or listed == "":
        return ()
    if isinstance(listed, str):
        listed = [listed]
    if not isinstance(listed, list) or not all(isinstance(r, str) for r in listed):
        raise InputError("is not a list of strings", file=path, record=where, field=column)
    return tuple(tidy.read(r, file=path, record=where, field=column) for r in listed)


def optional_text(record: dict[str, Any], column: str, path: Path, where: str) -> str | None:
    """The text of a column that need not be there; `None` where it is not, or is empty."""
    value = record.get(column)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise InputError("is not a string", file=path, record=where, field=column)
    if not is_unicode(value):
        raise InputError("holds half a character", file=path, record=where, field=column)
    return value
