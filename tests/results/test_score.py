"""The typed result of `score` has the numbers of the file that came before it (schema 1)."""

from __future__ import annotations

import contextlib
import io
import json
import random
from pathlib import Path

import pytest

from metaeval.config import compose_config
from metaeval.experiments.run import run_configured
from metaeval.results.files import read_result
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files
from tests.results.conftest import DRAWN_BY_ID, read_former

BEFORE = Path(__file__).with_name("schema_1") / "score.json.gz"
WORDS = ["a", "man", "rides", "the", "red", "horse", "on", "grass", "near", "two", "dogs", "and",
         "water"]  # fmt: skip


def write_captions(path: Path) -> None:
    """The 40 captions of 20 images that the earlier file is of; the sixth is empty."""
    draw = random.Random(7)
    rows = []
    for image in range(20):
        texts = [" ".join(draw.choices(WORDS, k=draw.randint(3, 9))) for _ in range(5)]
        rows += [
            {"image_id": image, "caption": caption, "references": texts[2:]}
            for caption in texts[:2]
        ]
    rows[5]["caption"] = ""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.mark.usefixtures("former_bleu")
def test_every_number_is_the_same_to_the_last_bit(tmp_path: Path) -> None:
    before = read_former(BEFORE)
    write_captions(tmp_path / "captions.jsonl")
    config = compose_config(
        [
            "experiment=score", f"captions={tmp_path / 'captions.jsonl'}",
            "metrics=[bleu,rouge_l,cider,length,random_score,bigram_model,longest_copy]",
            "task.block=16", "report=none", f"paths.cache={tmp_path / 'cache'}",
        ]
    )  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()):
        result = run_configured(config, tmp_path / "OUT")
    assert isinstance(result, MeasuredResult)
    assert read_result(tmp_path / "OUT" / files.STATISTICS) == result

    assert (result.experiment, result.dataset) == (before["experiment"], before["dataset"])
    facts = {"Captions": before["n_captions"], "Empty captions": before["n_empty"]}
    assert result.facts == facts
    shown = result.extra("shown").records
    assert result.settings["seed"] == before["shown"]["seed"]
    assert [r["row"] for r in shown if r["metric"] is None] == before["shown"]["random"]
    for name, ends in before["shown"]["extremes"].items():
        for end, rows in ends.items():
            now = [r["row"] for r in shown if (r["metric"], r["chosen"]) == (name, end)]
            assert name == DRAWN_BY_ID or now == rows
    assert [m.name for m in result.metrics] == [m["metric"] for m in before["metrics"]]
    bins = result.extra("histogram").records
    for old, new in zip(before["metrics"], result.metrics, strict=True):
        assert (new.status, new.signature) == (old["status"], old["signature"])
        if "n" not in old or new.name == DRAWN_BY_ID:
            continue
        for key in ("n", "n_nan", "mean", "sd", "min", "p5", "p25", "median", "p75", "p95", "max"):
            assert new.numbers.value(key) == old[key], (new.name, key)
        assert new.numbers.facts == {"n_lowest": old["n_lowest"]}
        of_column = [row for row in bins if row["metric"] == new.name]
        assert [row["count"] for row in of_column] == old["histogram"]["counts"]
        ends = {"from": of_column[0]["from"], "to": of_column[-1]["to"]}
        assert ends == {key: old["histogram"][key] for key in ends}
    assert result.metric("Bigram model").statistics is None
    assert [row for row in bins if row["metric"] == "BLEU-4"] == [
        {"metric": "BLEU-4", "from": -0.5, "to": 0.5, "count": 40}
    ]
