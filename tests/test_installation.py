"""One import name: packages of the user's called `experiments` or `reports` are left alone."""

import os
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

import metaeval
from metaeval.runs.files import read_run_json

ROOT = Path(__file__).parents[1]
NAMES = ("experiments", "corruptions", "reports", "conf")


def users_packages(folder: Path) -> None:
    for name in NAMES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("owner = 'the user'\n")


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_program_with_packages_of_these_names_uses_the_library(tmp_path: Path) -> None:
    users_packages(tmp_path)
    program = (
        f"import {', '.join(NAMES)}, metaeval\n"
        "changed = metaeval.corrupt(['a man rides a brown horse'], 'shuffle', rate=1.0, seed=1)\n"
        "print(bool(changed['applied'][0]))\n"
        f"print({', '.join(f'{name}.owner' for name in NAMES)}, sep=';')\n"
        "import metaeval.experiments.run, metaeval.reports.graded.page\n"
        "print(metaeval.experiments.run.__file__)\n"
    )
    done = python(tmp_path, "-c", program)
    assert done.returncode == 0, done.stderr
    applied, owners, where = done.stdout.split("\n")[:3]
    assert (applied, owners) == ("True", ";".join(["the user"] * 4))
    assert where.startswith(str(Path(metaeval.__file__).parent))


def test_importing_the_library_imports_no_dependency(tmp_path: Path) -> None:
    program = (
        "import sys; before = set(sys.modules); import metaeval; "
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    done = python(tmp_path, "-c", program)
    outside = {name for name in done.stdout.split() if name not in sys.stdlib_module_names}
    assert outside == {"metaeval"}, done.stderr


@pytest.mark.slow
def test_it_is_installed_next_to_a_distribution_with_these_packages(tmp_path: Path) -> None:
    """From the wheel of the source distribution, which holds what the checkout's wheel holds."""
    neighbour = tmp_path / "neighbour"
    neighbour.mkdir()
    users_packages(neighbour)
    (neighbour / "pyproject.toml").write_text(
        "[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'\n"
        "[project]\nname = 'neighbour'\nversion = '1'\n"
        f"[tool.hatch.build.targets.wheel]\npackages = {list(NAMES)}\n"
    )
    checkout = tmp_path / "checkout"
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for name in filter(None, tracked):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, checkout / name, follow_symlinks=False)
    direct = build(checkout, tmp_path / "dist1", "wheel")
    with tarfile.open(build(checkout, tmp_path / "dist", "sdist")) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    source = build(next((tmp_path / "unpacked").iterdir()), tmp_path / "dist2", "wheel")
    with ZipFile(source) as wheel, ZipFile(direct) as other:
        names = wheel.namelist()
        assert sorted(names) == sorted(other.namelist())
    packed = {f"metaeval/{n}" for n in ("experiments/run.py", "conf/config.yaml")}
    assert {*packed, "metaeval/data/scenes/val.jsonl.xz"} <= set(names)
    top = {name.partition("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"metaeval"}
    home = tmp_path / "home"
    venv.create(home, with_pip=False)
    target = next((home / "lib").iterdir()) / "site-packages"
    for wheel_file in (source, build(neighbour, tmp_path / "dist3", "wheel")):
        with ZipFile(wheel_file) as wheel:
            assert [name for name in wheel.namelist() if (target / name).exists()] == []
            wheel.extractall(target)
    # the dependencies come from this environment, metaeval itself from the wheel
    dependencies = os.pathsep.join(p for p in sys.path if Path(p).name == "site-packages")
    program = (
        "import experiments, metaeval, metaeval.experiments.run as run; "
        "print(experiments.owner, run.__file__, sep=';'); "
        "print(metaeval.corrupt(['a red bus stops'], 'shuffle', rate=1.0)['applied'].all())\n"
        "metaeval.run('replace', dataset='scenes', dataset__limit=12, metrics=['bleu', 'cider'], "
        "stats__replicates=20, out='OUT', quiet=True)"
    )
    done = subprocess.run(
        [home / "bin" / "python", "-c", program],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": f"{target}{os.pathsep}{dependencies}",
            "METAEVAL_CACHE": str(tmp_path / "cache"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert (first[: len(f"the user;{target}")], second) == (f"the user;{target}", "True")
    assert (tmp_path / "OUT" / "report.html").is_file()  # without a checkout
    assert read_run_json(tmp_path / "OUT" / "run.json")["git"] is None


def build(folder: Path, out: Path, form: str) -> Path:
    """Build the distribution in `folder`, without fetching anything; return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", form, "-d", str(out)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return next(out.iterdir())
