"""The names `experiments`, `corruptions` and `reports` mean ours, wherever the command starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import metaeval


def test_a_folder_with_packages_of_our_names_does_not_disturb_the_command(tmp_path: Path) -> None:
    for name in ("experiments", "corruptions", "reports"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong package')")
    done = subprocess.run(
        [sys.executable, "-m", "metaeval", "--cfg", "job", "experiment=replace"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "experiments.graded.replace.Replace" in done.stdout
    check = (
        "import metaeval.__main__, experiments.graded.replace, corruptions.base, reports;"
        "print(experiments.graded.replace.__file__, corruptions.base.__file__, reports.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", check], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    ours = str(Path(metaeval.__file__).resolve().parents[1])
    assert all(path.startswith(ours) for path in done.stdout.split()), done.stdout


def test_importing_the_library_leaves_the_users_packages_alone(tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "__init__.py").write_text("whose = 'the user'")
    code = (
        "import metaeval, metaeval.scoring, metaeval.doctor, experiments; print(experiments.whose)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.strip() == "the user", done.stderr
