"""Batch files of OpenAI's form: requests to be answered later, and their answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from metaeval.errors import InputError
from metaeval.metrics.judge.reply import answer_from
from metaeval.metrics.judge.requests import Request
from metaeval.readers.files import read_text
from metaeval.readers.json_text import read_json_lines
from metaeval.runs import files
from metaeval.runs.answers import Answer


def export_batch(path: Path, requests: Sequence[Request]) -> None:
    """Write requests, one JSON object a line; `custom_id` is the request's key."""

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8") as file:
            for request in requests:
                line = {
                    "custom_id": request.key, "method": "POST", "url": "/v1/chat/completions",
                    "body": request.body(),
                }  # fmt: skip
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
