"""How many images it takes: a run on scenes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from metaeval.runs import files


def test_the_order_is_that_of_the_whole_run(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "metaeval", "experiment=sample_size", "dataset=scenes",
         "dataset.limit=60", "stats.replicates=50", "metrics=[bleu,cider,length]",
         "task.draws=200", "hydra.run.dir=OUT"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**os.environ, "METAEVAL_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    summary = files.read_json(tmp_path / "OUT" / files.STATISTICS)
    told = summary["sample_size"]
    within = {r["metric"]: r["rank_order_rho_within"] for r in summary["metrics"]}
    assert "Length" not in told["order"]  # a control is no metric
    assert [within[m] for m in told["order"]] == sorted(
        (within[m] for m in told["order"]), reverse=True
    )
    assert told["sizes"] == [25, 50, 60]
    for pair in told["neighbours"]:
        gap = within[pair["better"]] - within[pair["worse"]]
        np.testing.assert_allclose(pair["difference"], gap, atol=1e-12)
    assert (tmp_path / "OUT" / files.REPORT).is_file()
    assert (tmp_path / "OUT/figures/sample_size.pdf").is_file()
