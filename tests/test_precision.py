"""A score's declared precision holds across batches, threads, kernels and processes."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from metaeval.config import build, compose_config
from metaeval.metrics.base import round_scores
from metaeval.runs.records import NETWORK_PRECISION, ScoreColumn
from tests.precision import assert_same_scores
from tests.score_in_process import ColumnScores, in_process

ATEN, MKL, THREADS = "ATEN_CPU_CAPABILITY", "MKL_CBWR", "OMP_NUM_THREADS"


# of each family the tests that score captions in several ways; the two runs take under 2 minutes
def test_scores_are_rounded_to_a_grid_of_short_decimals() -> None:
    columns = [ScoreColumn("network", precision=1e-5), ScoreColumn("counts")]
    exact = np.array([0.1234567, 0.1234568, -2e-9, np.nan])
    rounded = round_scores(columns, np.stack([exact, exact], axis=1))
    assert rounded[:3, 0].tolist() == [0.12346, 0.12346, 0.0]
    assert not np.signbit(rounded[2, 0])  # 0.0 and -0.0 would be two stored scores
    assert np.isnan(rounded[3]).all()
    assert rounded[:, 1].tobytes() == exact.tobytes()
    assert round_scores(columns, rounded).tobytes() == rounded.tobytes()


def test_the_precision_follows_the_networks_type() -> None:
    for dtype, precision in (("float16", 1e-3), ("bfloat16", 1e-2)):
        config = compose_config(["metrics=[bertscore]", f"metric.bertscore.dtype={dtype}"])
        (column,) = build("bertscore", config).columns
        assert column.precision == precision


def compare(one: Mapping[str, ColumnScores], other: Mapping[str, ColumnScores]) -> None:
    """Every column of default metrics: equal bits where none is declared, else its precision."""
    assert set(one) == set(other)
    assert {column.precision for column in one.values()} == {None, NETWORK_PRECISION}
    for name, column in one.items():
        try:
            assert_same_scores(column.scores, other[name].scores, column.precision)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


@pytest.mark.slow
def test_default_metrics_in_other_circumstances(tmp_path: Path) -> None:
    """Threads, batch size, order of the metrics, hash seed and kernels, all at once."""
    plain = in_process(tmp_path / "plain.npz", {THREADS: "2", "PYTHONHASHSEED": "0"})
    assert len(plain) > 20
    environment = {THREADS: "1", "PYTHONHASHSEED": "1", ATEN: "default", MKL: "COMPATIBLE"}
    compare(
        plain, in_process(tmp_path / "other.npz", environment, "--batch-size", "7", "--reverse")
    )
