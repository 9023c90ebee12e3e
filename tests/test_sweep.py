"""Sweeps as a user runs them: here, and by the launchers that spread their jobs."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from metaeval.cli.main import run_verb
from metaeval.compute.device import keep_networks
from metaeval.config import load_dataset
from metaeval.runs import files
from tests.forked import command

SMALL = ("dataset=scenes", "dataset.limit=30", "stats.replicates=50", "metrics=[bleu,length]")
LAUNCHERS = {
    "joblib": "hydra_plugins.hydra_joblib_launcher",
    "submitit_local": "hydra_plugins.hydra_submitit_launcher",
    "ray": "hydra_plugins.hydra_ray_launcher",
}


@pytest.mark.slow
def test_jobs_write_no_pages_by_default_and_the_sweep_reports_what_was_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = "corruption.rates=[0.2],[0.5],[0.8]"
    done = command("-m", "experiment=replace", *SMALL, rates, "hydra.sweep.dir=S", cwd=tmp_path)
    # two metrics, 30 images: Random and Human are scored once, each rate once
    assert "Of 540 scores 240 were looked up (44.4%), 300 computed." in done.stdout
    assert [*tmp_path.glob("S/*/report.html"), *tmp_path.glob("S/*/figures")] == []
    page = (tmp_path / "S" / "sweep.html").read_text()
    assert "By what was varied" in page
    (tmp_path / "S" / "sweep.html").unlink()
    assert run_verb(["report", str(tmp_path / "S")]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "S" / "sweep.html")
    assert (tmp_path / "S" / "sweep.html").read_text() == page
    command(
        "-m", "experiment=replace", *SMALL, "seed=0", "sweep.reports=true", "report.figures=false",
        "hydra.sweep.dir=P", cwd=tmp_path,
    )  # fmt: skip
    assert (tmp_path / "P" / "0" / "report.html").is_file()


def test_a_sweep_loads_its_dataset_once() -> None:
    config = OmegaConf.create({
        "dataset": {"_target_": "metaeval.data.scenes.load.load_scenes", "limit": 3}
    })  # fmt: skip
    other = OmegaConf.merge(config, {"dataset": {"limit": 2}})
    with keep_networks():
        first = load_dataset(config)
        assert load_dataset(config) is first
        assert load_dataset(other) is not first
    assert load_dataset(config) is not first


@pytest.mark.slow
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_launcher_gives_the_same_bytes(launcher: str, tmp_path: Path) -> None:
    """Two jobs and one that is refused, in processes of their own: pip install 'metaeval[ray]'."""
    package, _, module = LAUNCHERS[launcher].rpartition(".")
    if find_spec(package) is None or find_spec(f"{package}.{module}") is None:
        pytest.skip(f"{module} is not installed")
    common = ("experiment=replace", *SMALL, "seed=0,1,-1")
    command("-m", *common, "hydra.sweep.dir=HERE", cwd=tmp_path, code=2)
    spread = (f"hydra/launcher={launcher}", "hydra.sweep.dir=THERE")
    assert "Traceback" not in command("-m", *common, *spread, cwd=tmp_path, code=2).stderr
    for job in ("0", "1"):
        for name in (files.STATISTICS, files.SCORES, files.CAPTIONS):
            one, two = (tmp_path / f / job / name for f in ("HERE", "THERE"))
            assert one.read_bytes() == two.read_bytes()
    page = (tmp_path / "THERE" / "sweep.html").read_text()
    assert [part for part in ("2 of 3 jobs finished", "seed: -1") if part not in page] == []
