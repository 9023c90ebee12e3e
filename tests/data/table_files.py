"""One value as a file of any format, by the file's ending."""

import json
from pathlib import Path
from typing import Any

import pandas as pd


def write(path: Path, value: Any) -> Path:
    """Bytes, a text, JSON, or records as JSON Lines, CSV, TSV, Excel (lists in JSON) or Parquet;
    or a function writes them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if callable(value):
        value(path)
    elif isinstance(value, bytes):
        path.write_bytes(value)
    elif isinstance(value, str):
        path.write_text(value, encoding="utf-8")
    elif path.suffix == ".parquet":
        pd.DataFrame(value).to_parquet(path)
    elif path.suffix in (".csv", ".tsv", ".xlsx"):
        table = pd.DataFrame(
            {k: as_json(v) if isinstance(v, list) else v for k, v in row.items()} for row in value
        )
        if path.suffix == ".xlsx":
            table.to_excel(path, index=False)
        else:
            table.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    elif path.suffix == ".jsonl":
        path.write_text("".join(f"{as_json(row)}\n" for row in value), encoding="utf-8")
    else:
        path.write_text(as_json(value), encoding="utf-8")
    return path


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
