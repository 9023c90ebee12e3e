"""A score's declared precision holds across batches, threads, kernels and processes."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from metaeval.config import build, compose_config, selected
from metaeval.metrics.base import round_scores
from metaeval.results.files import read_result
from metaeval.runs import files
from metaeval.runs.records import NETWORK_PRECISION, ScoreColumn
from tests.precision import assert_same_scores

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
        config = compose_config(["metric=[bertscore]", f"metric.bertscore.dtype={dtype}"])
        (column,) = build("bertscore", config).columns
        assert column.precision == precision


JAVA = ("meteor", "spice")  # nothing of which hangs on kernels, and they take longest


def scored(
    out: Path, metrics: Sequence[str], environment: Mapping[str, str], *options: str
) -> dict[str, npt.NDArray[np.float64]]:
    """Column → its scores in a run of a new process with more environment variables."""
    command = [
        *(sys.executable, "-m", "metaeval", "experiment=shuffle", "dataset=scenes"),
        *("dataset.limit=8", f"metrics=[{','.join(metrics)}]", "controls=[]", "offline=true"),
        *("device=cpu", "stats.replicates=10", "report=none", f"hydra.run.dir={out}"),
        *(f"paths.cache={out / 'cache'}", *options),
    ]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True)
    assert done.returncode == 0, done.stderr
    table = files.read_run_table(out / files.SCORES)
    return {str(name): of["score"].to_numpy() for name, of in table.groupby("metric")}


@pytest.mark.slow
def test_default_metrics_in_other_circumstances(tmp_path: Path) -> None:
    """Threads, batch size, order of the metrics, hash seed and kernels, all at once: equal bits
    where no precision is declared, else to it."""
    default = selected(compose_config(["dataset=scenes", "metrics=all"]))
    names = [name for name in default if name not in JAVA]
    plain = scored(tmp_path / "plain", names, {THREADS: "2", "PYTHONHASHSEED": "0"})
    environment = {THREADS: "1", "PYTHONHASHSEED": "1", ATEN: "default", MKL: "COMPATIBLE"}
    other = scored(tmp_path / "other", names[::-1], environment, "cache.batch_size=7")
    result = read_result(tmp_path / "plain" / files.STATISTICS)
    columns = {m.name: m.column.precision for m in result.metrics if m.ok}
    assert len(columns) > 20
    assert set(columns.values()) == {None, NETWORK_PRECISION}
    for name, precision in columns.items():
        assert_same_scores(plain[name], other[name], precision)
