"""A run in which metrics reach the ceiling together says that little room is left between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forked import run_experiment


def test_metrics_at_the_ceiling_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty caption is below the original by every metric; shuffled words are not by BLEU-1."""
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    options = {"dataset": "scenes", "dataset__limit": 20, "metrics": ["bleu", "rouge_l"],
               "stats__replicates": 10, "report__figures": False}  # fmt: skip
    empty = run_experiment("graded", corruption="empty", out=tmp_path / "1", **options)
    assert {"BLEU-1", "ROUGE-L"} <= set(empty.result.saturated())
    assert "little room between them" in capsys.readouterr().out
    assert "Saturation." in (empty.directory / "report.html").read_text(encoding="utf-8")
    shuffled = run_experiment("shuffle", out=tmp_path / "2", **options)
    assert "BLEU-1" not in shuffled.result.saturated()
