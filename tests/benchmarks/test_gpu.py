"""Benchmarks, as far as they go without a GPU; their stages; and what papers report."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks import gpu
from benchmarks.numbers.usage import counts


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_without_a_gpu_the_reason_is_printed() -> None:
    command = [sys.executable, "-m", "benchmarks.gpu"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no CUDA device; --cpu tries it out" in done.stderr


def test_what_cannot_run_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(device: str, tiny: bool) -> gpu.Row:
        raise ImportError("no module named 'x'")

    monkeypatch.setitem(gpu.BENCHMARKS, "TIGEr", fails)
    row = gpu.measure("TIGEr", "cpu", tiny=True)
    assert row == {"problem": "ImportError: no module named 'x'"}


def test_the_table_says_what_was_measured_and_what_was_not() -> None:
    row = {"n": 1000, "unit": "captions", "seconds": 0.5, "difference": 0.01, "agrees": False}
    rows = {"TIGEr": {**row, "mib": 7}, "B": {"problem": "no time was left"}}
    text = gpu.table("Measured on a device.", rows)
    cells = "1,000 captions | 0.50 |  | 2,000 | 100,000 | off by 1e-02 **too much** | 7"
    assert f"| TIGEr | {cells} |" in text
    assert "not measured: no time was left" in text


PAPERS = (
    "Year,Metrics,Human evaluation framework,Significance test,Annotator agreement\n"
    '2024,"BLEU, mBLEU, CLIPScore ",comparative,yes,no\n'
    '2015,"Self-CIDEr, BLEU",scale rating,no,yes\n'
    "2010,RefCLIPScore,,,\n"
)


def test_a_metric_counts_where_a_paper_names_it(tmp_path: Path) -> None:
    file = tmp_path / "metric_usage.csv"
    file.write_text(PAPERS, encoding="utf-8")
    assert list(counts(file).values()) == [3, 2, 0, 0, 0, 0, 1, 2, 1, 1]
