"""Metrics whose skills are known, through the battery on the scenes as a user would run it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import metaeval
from metaeval.api import TrustRun
from metaeval.experiments.trust.verdicts import read_battery

# a caption of an image is known by its references, as a metric of a user's sees it
MODULE = """
import json, zlib

known = json.load(open("known.json"))

def of(table, captions, references):
    return [known[table]["|".join([c, *r])] for c, r in zip(captions, references)]

def oracle(captions, references):
    return of("truth", captions, references)

def leak(captions, references):
    return of("control", captions, references)

def chance(captions):
    return [zlib.crc32(c.encode()) / 2**32 for c in captions]

def words(captions):
    return [float(len(c.split())) for c in captions]
"""
TRUTH = {"lower": 0.0, "same": 0.5}  # and 1 for the human caption
CONTROL = "Bigram model"  # the best control on most items
USES = ("objects", "details", "language", "rewrites")  # what the quick battery tests


def tables(battery: Path) -> dict[str, dict[str, float]]:
    """From the finished items: the truth of each caption, and the scores of the best control."""
    truth: dict[str, float] = {}
    control: dict[str, float] = {}
    key = ["image_id", "set", "level"]
    for item in sorted(battery.iterdir()):
        references = pd.read_parquet(item / "references.parquet").set_index("image_id").references
        captions = pd.read_parquet(item / "captions.parquet")
        scores = pd.read_parquet(item / "scores.parquet").query("metric == @CONTROL")
        table = captions.merge(scores[[*key, "score"]], on=key, how="left", validate="1:1")
        assert not table["score"].isna().any()
        for row in table.itertuples():
            text = "|".join([row.caption, *references[row.image_id]])
            value = 1.0 if row.caption == row.source_caption else TRUTH[row.expected or "lower"]
            if item.name.startswith("shuffle") and value < 1:
                value = row.level / 1000  # level 0 has most words out of place
            truth[text] = max(value, truth.get(text, 0.0))
            control.setdefault(text, row.score)  # the model of an item has learned its captions
    return {"truth": truth, "control": control}


def captions_alone() -> Iterator[tuple[str, list[str]]]:
    """The quick battery's captions, with few of the replicates and controls that take its time."""
    for name, overrides in read_battery("quick").items.items():
        fitted = [] if "shuffle" in name else ["task.fitted=false"]
        given = [o for o in overrides if not o.startswith(("stats.replicates=", "task.fitted="))]
        yield name, [*given, *fitted, "stats.replicates=20"]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> TrustRun:
    folder = tmp_path_factory.mktemp("known")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("METAEVAL_CACHE", str(folder / "cache"))
        patch.syspath_prepend(folder)
        Path("captions.yaml").write_text(yaml.safe_dump({"items": dict(captions_alone())}))
        first = metaeval.trust(
            metrics=["rouge_l"], battery="captions.yaml", out="FIRST", report="none", quiet=True
        )
        Path("known.json").write_text(json.dumps(tables(first.directory / "items")))
        Path("known_answers.py").write_text(MODULE)
        brought = import_module("known_answers")
        mine = [getattr(brought, name) for name in ("oracle", "leak", "chance", "words")]
        run = metaeval.trust(metrics=["rouge_l", *mine], out="OUT", report="none", quiet=True)
        return TrustRun(run.directory.resolve())


def of_uses(run: TrustRun, metric: str, what: str = "word") -> dict[str, Any]:
    """Use → what a cell holds, of the uses for which anything counts."""
    cells = run.result.extra("cells").records
    return {
        cell["use"]: cell[what]
        for cell in cells
        if cell["metric"] == metric and cell["word"] != "cannot tell"
    }


@pytest.mark.slow
def test_an_oracle_is_shown_for_every_use_that_is_tested(found: TrustRun) -> None:
    assert of_uses(found, "oracle") == dict.fromkeys(USES, "shown")
    skills = of_uses(found, "oracle", "skill")  # some captions of a shuffle are equal
    assert skills == pytest.approx(dict.fromkeys(USES, 1.0), abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["chance", "words", "leak"])
def test_what_knows_nothing_is_shown_for_nothing(found: TrustRun, metric: str) -> None:
    """A random number, the length, and a metric that equals a blind control. The language model is
    one but for language, which it can judge."""
    made = of_uses(found, metric)
    assert set(made) == set(USES)
    if metric == "leak":
        del made["language"]
    assert set(made.values()) <= {"below", "not shown"}


@pytest.mark.slow
def test_scenes_alone_are_not_to_be_reported(found: TrustRun) -> None:
    assert "do not report" in found.result.caveat
