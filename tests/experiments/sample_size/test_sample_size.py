"""How many images it takes: a run on scenes."""

from pathlib import Path

import numpy as np
import pytest

from metaeval.experiments.sample_size.task import images_with_interval
from metaeval.runs import files
from tests.shared import run_here


@pytest.mark.slow
def test_the_order_is_that_of_the_whole_run(tmp_path: Path) -> None:
    result = run_here(
        tmp_path, "experiment=sample_size", "dataset=scenes", "dataset.limit=60",
        "stats.replicates=50", "metrics=[bleu,cider,length]", "task.draws=200",
    )  # fmt: skip
    within = {m.name: m.numbers.value("rank_order_rho_within") or 0.0 for m in result.metrics}
    neighbours = result.extra("neighbours").records
    order = [row["better"] for row in neighbours] + [neighbours[-1]["worse"]]
    assert order == sorted(order, key=lambda name: -within[name])
    assert "Length" not in order  # a control is not a metric
    images = result.extra("samples").frame()["images"].tolist()
    assert (images, result.caveat, result.declared[0].key) == (
        [25, 50, 60], "", "rank_order_rho_within",
    )  # fmt: skip
    gaps = [within[row["better"]] - within[row["worse"]] for row in neighbours]
    assert [row["difference"] for row in neighbours] == pytest.approx(gaps, abs=1e-12)
    for name in ("figures/sample_size.pdf", "figures/ranking.svg", "tables/neighbours.tex"):
        assert (tmp_path / "OUT" / name).is_file()


def test_one_metric_has_no_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_here(
        tmp_path, "experiment=sample_size", "dataset=scenes", "dataset.limit=12",
        "stats.replicates=20", "metrics=[rouge_l]", "report.figures=false",
    )  # fmt: skip
    assert "there is no order to test" in capsys.readouterr().out
    assert (tmp_path / "OUT" / files.REPORT).is_file()


def test_an_interval_of_images_holds_the_number_of_a_larger_sample() -> None:
    """At 200 images the point estimate is off by a factor; the interval covers the true number."""
    rng = np.random.default_rng(0)
    true = ((1.959964 + 0.841621) * 1.0 / 0.25) ** 2  # 125.6 images for a difference of 1/4 sd
    covered = 0
    for _ in range(400):
        images = images_with_interval(rng.normal(0.25, 1.0, 200), 0.05, 0.8)
        low, high = images.interval or (0.0, float("inf"))
        covered += low <= true <= high
    assert 0.92 <= covered / 400 <= 0.98
