"""Files of answers: batch files of OpenAI's form, and recorded answers to replay."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metaeval.data.json_records import check_id
from metaeval.data.own.tables import Table, TableRow, read_table, table_files
from metaeval.data.tidy import Tidy
from metaeval.errors import InputError
from metaeval.metrics.judge.reply import answer_from
from metaeval.metrics.judge.requests import Request
from metaeval.readers.files import read_text
from metaeval.readers.json_text import read_json_lines
from metaeval.runs import files
from metaeval.runs.answers import Answer, add_answer


def export_batch(path: Path, requests: Sequence[Request]) -> None:
    """Write requests, one JSON object a line; `custom_id` is the request's key."""

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8") as file:
            for request in requests:
                line = {
                    "custom_id": request.key,
                    "method": "POST",
                    "url": "/v1/chat/completions",
                    "body": request.body(),
                }
                file.write(json.dumps(line) + "\n")

    files.atomic(path, write)


def import_batch(path: Path, requests: Mapping[str, Request]) -> Iterator[Answer]:
    """The answers in a file of a finished batch, by their requests' keys.

    Lines of other requests and failed ones are left out. Raises InputError for a file that is not
    one of a batch.
    """
    for where, record in read_json_lines(read_text(path)):
        key = record.get("custom_id")
        if not isinstance(key, str):
            raise InputError("is missing", file=path, record=where, field="custom_id")
        response = record.get("response")
        if key not in requests or record.get("error") or not isinstance(response, dict):
            continue
        if response.get("status_code") != 200:
            continue
        try:
            yield answer_from(requests[key], response["body"], None)
        except (LookupError, ValueError) as error:
            problem = f"is not a chat completion ({error})"
            raise InputError(problem, file=path, record=where, field="response.body") from None


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
                problem = (
                    "has a column 'key' where another file has none, or the other way round; "
                    "replay files of one kind"
                )
                raise InputError(problem, file=table.path)
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
        if not isinstance(text, str | int | float | None):
            raise InputError("is not text", file=table.path, record=row.where, field="answer")
        of_item = self._by_item.setdefault((str(image), caption), [])
        identity = f"{self.sha256} {image} {caption} {len(of_item)}"
        of_item.append(
            Answer(
                key=hashlib.sha256(identity.encode()).hexdigest(),
                request=str(row.fields.get("prompt") or ""),
                answer="" if text is None else str(text),
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
