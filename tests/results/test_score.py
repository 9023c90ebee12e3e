"""The typed result of `score` has the numbers of the file that came before it (schema 1)."""

from __future__ import annotations

import contextlib
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

from metaeval.config import compose_config
from metaeval.experiments.run import run_configured
from metaeval.results.files import read_result
from metaeval.results.score import ExtremeRows, Histogram, RowSample, ScoreResult, ScoreStatistics
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


def statistics(old: dict[str, Any]) -> ScoreStatistics | None:
    if "n" not in old:
        return None
    bins = old["histogram"]
    histogram = Histogram(low=bins["from"], high=bins["to"], counts=bins["counts"])
    names = [name for name in ScoreStatistics.model_fields if name != "histogram"]
    return ScoreStatistics(**{name: old[name] for name in names}, histogram=histogram)


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
    assert isinstance(result, ScoreResult)
    assert read_result(tmp_path / "OUT" / files.STATISTICS) == result

    assert (result.experiment, result.dataset) == (before["experiment"], before["dataset"])
    assert (result.n_captions, result.n_empty) == (before["n_captions"], before["n_empty"])
    shown = before["shown"]
    ends = {name: ExtremeRows(**rows) for name, rows in shown["extremes"].items()}
    drawn = {DRAWN_BY_ID: result.shown.extremes[DRAWN_BY_ID]}
    assert result.shown == RowSample(
        seed=shown["seed"], random=shown["random"], extremes={**ends, **drawn}
    )
    assert [m.name for m in result.metrics] == [m["metric"] for m in before["metrics"]]
    for old, new in zip(before["metrics"], result.metrics, strict=True):
        assert (new.status, new.signature) == (old["status"], old["signature"])
        assert new.name == DRAWN_BY_ID or new.statistics == statistics(old)
    assert result.metric("Bigram model").statistics is None
    assert result.metric("BLEU-4").numbers.histogram == Histogram(low=-0.5, high=0.5, counts=(40,))
