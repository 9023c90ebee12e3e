"""Every table that runs export fits a two-column paper: compiled, without an overfull box."""

import json
from pathlib import Path

import pytest

import metaeval
from tests.reports.paper.skeleton import compile_tables, needs_latex

FAST = {"stats__replicates": 20, "quiet": True}
WORDS = ["a dog runs on grass", "two cats sleep", "a red bus waits", "people eat pizza"]


def _rows(n: int = 24) -> list[dict[str, object]]:
    return [
        {
            "image_id": f"i{k % 8}",
            "candidate": f"{WORDS[k % 4]} {k}",
            "system": f"s{k % 3}",
            "references": [WORDS[(k + j) % 4] for j in range(2)],
            "human": k % 5,
        }
        for k in range(n)
    ]


@needs_latex
@pytest.mark.slow
def test_tables_of_real_runs_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    metrics = ["bleu", "cider", "rouge_l", "sacrebleu", "controls"]
    (tmp_path / "systems").mkdir()
    for name, step in (("One", 1), ("Two", 2)):
        captions = [{"image_id": f"i{k}", "caption": WORDS[(k * step) % 4]} for k in range(8)]
        (tmp_path / "systems" / f"{name}.json").write_text(json.dumps(captions))
    own = [{"image_id": f"i{k}", "caption": f"{w} here"} for k in range(8) for w in WORDS]
    pairs = [
        {
            "image_id": f"i{k}",
            "true": WORDS[k % 4],
            "false": WORDS[(k + 1) % 4],
            "kind": f"kind_{k % 5}",
            "references": [WORDS[k % 4] + " today"],
        }
        for k in range(20)
    ]
    runs = {
        "replace": {"dataset": "scenes", "dataset__limit": 30, "report__figures": False},
        "judgments": {"dataset": _rows(), "dataset__image_source": "other"},
        "pairs": {"dataset": pairs, "dataset__image_source": "other", "report__figures": False},
        "captioners": {"dataset": own, "captions": str(tmp_path / "systems")},
        "sensitivity": {"dataset": "scenes", "dataset__limit": 20},
    }
    for experiment, options in runs.items():
        out = tmp_path / experiment
        metaeval.run(experiment, metrics=metrics, out=out, report__scale=100, **options, **FAST)
        tables = sorted((out / "tables").glob("*.tex"))
        assert tables, experiment
        assert compile_tables(tables, out) == [], experiment
