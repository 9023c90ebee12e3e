"""How many images it takes: a run on scenes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from metaeval.results.files import read_result
from metaeval.results.sample_size import SampleSizeResult
from metaeval.runs import files
from tests.forked import run_command


def test_the_order_is_that_of_the_whole_run(tmp_path: Path) -> None:
    done = run_command(
        "metaeval", "experiment=sample_size", "dataset=scenes", "dataset.limit=60",
        "stats.replicates=50", "metrics=[bleu,cider,length]", "task.draws=200",
        "hydra.run.dir=OUT", cwd=tmp_path, env={"METAEVAL_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = read_result(tmp_path / "OUT" / files.STATISTICS)
    assert isinstance(result, SampleSizeResult)
    stability = result.sample_size
    assert stability is not None
    within = {m.name: m.numbers.rank_order_rho_within.value or 0.0 for m in result.metrics}
    assert "Length" not in stability.order  # a control is not a metric
    assert [within[m] for m in stability.order] == sorted(
        (within[m] for m in stability.order), reverse=True
    )
    assert stability.sizes == (25, 50, 60)
    for pair in stability.neighbours:
        gap = within[pair.better] - within[pair.worse]
        np.testing.assert_allclose(pair.difference.value or 0.0, gap, atol=1e-12)
    assert (tmp_path / "OUT" / files.REPORT).is_file()
    assert (tmp_path / "OUT/figures/sample_size.pdf").is_file()
