"""The baselines that BERTScore can be rescaled with: the scores of unrelated sentences."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import read_text, user_path
from metaeval.readers.tables import read_csv
from metaeval.readers.values import read_number


def baseline_f1(table: bool | str, model: str, layer: int) -> float:
    """The baseline's F1 of a layer of a model.

    `table` is `True` for bert-score's own table of an English model, or the path of a table like
    it (comma-separated columns LAYER, P, R, F). Raises ConfigError if the table is missing,
    InputError if the table has no row for the layer.
    """
    if isinstance(table, str):
        path = user_path(table)
    else:
        spec = find_spec("bert_score")
        root = Path((spec.submodule_search_locations or ["."])[0] if spec else ".")
        path = root / "rescale_baseline" / "en" / f"{model.split('/')[-1]}.tsv"
    if not path.is_file():
        raise ConfigError(
            f"metric.bertscore.rescale: no baseline for {model} ({path}); give the file "
            "of one, or set rescale=false"
        )
    try:
        rows = {row["LAYER"]: row for _, row in read_csv(read_text(path))}
        where = f"layer {layer}"
        return read_number(rows[str(layer)]["F"], path, where, "F", low=-1, high=1)
    except KeyError:
        raise InputError(
            "no baseline for this layer", file=path, record=f"layer {layer}", field="F"
        ) from None
