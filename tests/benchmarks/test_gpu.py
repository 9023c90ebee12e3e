"""Benchmarks, as far as they go without a GPU."""

from __future__ import annotations

import sys

import pytest
import torch

from benchmarks import gpu


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_without_a_gpu_the_reason_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["gpu"])
    assert gpu.main() == 2
    assert "no CUDA device; --cpu tries it out" in capsys.readouterr().err


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
