"""Recorded answers: a run's `answers.parquet`, or a table of images, captions and answers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from metaeval.data.json_records import check_id
from metaeval.data.own.tables import Table, TableRow, read_table, table_files
from metaeval.data.tidy import Tidy
from metaeval.errors import InputError
from metaeval.runs.answers import Answer, add_answer

_IMAGE, _CAPTION = ("image_id", "image"), ("caption", "candidate")  # names of columns


class ReplayFiles:
    """The answers of recorded files.

    A file with a column `key` is one of metaeval's own: an answer is found by its full request.
    Another one needs `image_id` (or `image`), `caption` (or `candidate`) and `answer`: then an
    answer is found by image and caption, whatever prompt and model it came from, and several rows
    of one caption are its samples.

    Attributes
    ----------
    by_request
        Whether answers are found by request.
    sha256
        Of all files.
    """

    def __init__(self, files: str | Sequence[str]) -> None:
        tables = [read_table(path) for path in table_files(files, "metric.judge.replay")]
        self.sha256 = hashlib.sha256("".join(t.sha256 for t in tables).encode()).hexdigest()
        self.by_request = "key" in tables[0].rows[0].fields
        self._by_key: dict[str, Answer] = {}
        self._by_item: dict[tuple[str, str], list[Answer]] = {}
        tidy = Tidy()
        for table in tables:
            if ("key" in table.rows[0].fields) != self.by_request:
                raise InputError(
                    "has a column 'key' where another file has none, or the other way round; "
                    "replay files of one kind", file=table.path,
                )  # fmt: skip
            for row in table.rows:
                if self.by_request:
                    answer = Answer.from_record(row.fields, file=table.path, where=row.where)
                    add_answer(self._by_key, answer, table.path, row.where)
                else:
                    self._add(table, row, tidy)

    def _add(self, table: Table, row: TableRow, tidy: Tidy) -> None:
        image = check_id(_cell(table, row, _IMAGE), table.path, row.where, _IMAGE[0])
        caption = tidy.read(
            str(_cell(table, row, _CAPTION)), file=table.path, record=row.where, field="caption"
        )
        text = row.cell("answer", table.path)
        if text is None:
            text = ""
        if not isinstance(text, str | int | float):
            raise InputError("is not text", file=table.path, record=row.where, field="answer")
        of_item = self._by_item.setdefault((str(image), caption), [])
        identity = f"{self.sha256} {image} {caption} {len(of_item)}"
        of_item.append(
            Answer(
                key=hashlib.sha256(identity.encode()).hexdigest(),
                request=str(row.fields.get("prompt") or ""),
                answer=str(text),
                image_id=str(image),
                caption=caption,
                sample=len(of_item),
            )
        )

    def of_request(self, key: str) -> Answer | None:
        """The answer to a request."""
        return self._by_key.get(key)

    def of_item(self, image_id: str, caption: str) -> list[Answer]:
        """All answers about a caption of an image."""
        return self._by_item.get((image_id, caption), [])


def _cell(table: Table, row: TableRow, names: Sequence[str]) -> Any:
    name = next((name for name in names if name in row.fields), names[0])
    return row.cell(name, table.path)
