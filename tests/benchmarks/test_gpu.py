"""The benchmarks for a GPU, as far as they go without one."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import torch

from benchmarks import gpu

TRANSPORT = "exact transport"


def test_one_benchmark_reports_the_difference_from_pot() -> None:
    command = [sys.executable, "-m", "benchmarks.gpu", "--cpu", "--only", TRANSPORT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout.splitlines()[-1])
    assert (row["n"], row["reference"], row["agrees"]) == (64, "POT", True)
    assert 0 <= row["difference"] <= 1e-12


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_without_a_gpu_the_reason_is_printed() -> None:
    command = [sys.executable, "-m", "benchmarks.gpu"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no CUDA device; --cpu tries it out" in done.stderr


def test_what_is_missing_or_late_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    work = gpu.BENCHMARKS[TRANSPORT][0]
    monkeypatch.setitem(gpu.BENCHMARKS, TRANSPORT, (work, ("no_such_module",)))
    assert gpu.run_apart(TRANSPORT, "cpu", True, 60) == {"problem": "no_such_module not installed"}
    assert gpu.run_apart("TIGEr", "cpu", True, -3.0) == {"problem": "no time was left"}


def test_the_table_says_what_was_measured_and_what_was_not() -> None:
    about = {"date": "2026-01-02", "device": "a device", "cores": 3, "python": "3.12", "torch": "2"}
    row: dict[str, Any] = {
        "n": 1000,
        "unit": "captions",
        "seconds": 0.5,
        "process_mib": 7,
        "difference": 0.01,
        "agrees": False,
    }
    rows = {"A": row, "B": {"problem": "no time was left"}}
    record = {"machine": about, "tiny": True, "tests": {"outcome": "2 passed"}, "benchmarks": rows}
    text = gpu.table(record)
    assert "| A | 1,000 captions | 0.50 |  | 2,000 | off by 1e-02 **too much** | 7 |" in text
    assert "not measured: no time was left" in text
    assert "2026-01-02 on a device (3 cores)" in text
    assert "a dry run, no measurement" in text
    assert "dry run" not in gpu.table({**record, "tiny": False})
