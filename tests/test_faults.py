"""What disks, kills and locales do to a run: the same bytes, or one line."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metaeval.runs import files

pytestmark = pytest.mark.slow

ARGUMENTS = (
    "experiment=replace",
    "dataset=scenes",
    "dataset.limit=300",
    "stats.replicates=20",
    "metrics=[bleu,rouge_l,cider]",
    "cache.batch_size=20",
    "report=none",
    "hydra.run.dir=OUT",
)
SAME = (files.CAPTIONS, files.REFERENCES, files.SCORES, files.STATISTICS)


def command(*overrides: str) -> list[str]:
    return [sys.executable, "-m", "metaeval", *ARGUMENTS, *overrides]


def environment(cache: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "METAEVAL_CACHE": str(cache), **more}


def run(cwd: Path, *overrides: str, **env: str) -> subprocess.CompletedProcess[str]:
    cwd.mkdir(exist_ok=True)
    return subprocess.run(
        command(*overrides),
        cwd=cwd,
        env=environment(cwd / "cache", **env),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=600,
    )


def numbers(cwd: Path) -> dict[str, bytes]:
    assert files.read_json(cwd / "OUT" / files.RUN)["status"] == "finished"
    return {name: (cwd / "OUT" / name).read_bytes() for name in SAME}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cwd = tmp_path_factory.mktemp("faults") / "undisturbed"
    started = time.monotonic()
    done = run(cwd)
    assert done.returncode == 0, done.stderr
    (cwd / "seconds").write_text(str(time.monotonic() - started))
    return cwd


def test_twenty_kills_at_random_moments(undisturbed: Path, tmp_path: Path) -> None:
    """Each killed run leaves a folder that says so, or nothing; the last one ends as if none of
    them had been."""
    rng, begun = random.Random(0), 0
    whole = float((undisturbed / "seconds").read_text())
    for _ in range(20):
        victim = subprocess.Popen(
            command(),
            cwd=tmp_path,
            env=environment(tmp_path / "cache"),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            victim.wait(rng.uniform(0.1, 1.0) * whole)
        except subprocess.TimeoutExpired:
            os.killpg(victim.pid, signal.SIGKILL)
            victim.wait()
        info = tmp_path / "OUT" / files.RUN
        if info.exists():
            begun += 1
            assert json.loads(info.read_text())["status"] in ("unfinished", "finished")
    assert begun, "no run came as far as its first file"
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    assert numbers(tmp_path) == numbers(undisturbed)
    assert not [p.name for p in (tmp_path / "OUT").iterdir() if p.name.startswith(".")]


def test_eight_runs_on_one_cache(undisturbed: Path, tmp_path: Path) -> None:
    folders = [tmp_path / str(k) for k in range(8)]
    for folder in folders:
        folder.mkdir()
    runs = [
        subprocess.Popen(
            command(),
            cwd=folder,
            env=environment(tmp_path / "cache"),
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        for folder in folders
    ]
    for process, folder in zip(runs, folders, strict=True):
        _, errors = process.communicate(timeout=900)
        assert process.returncode == 0, errors
        assert errors == ""
        assert numbers(folder) == numbers(undisturbed)


def in_a_namespace(script: str, cwd: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell script that may mount, where the system lets us."""
    if (
        shutil.which("unshare") is None
        or subprocess.run(
            ["unshare", "-rm", "mount", "-t", "tmpfs", "none", str(cwd)], capture_output=True
        ).returncode
    ):
        pytest.skip("mounting a disk is not permitted here (unshare -rm)")
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        cwd=cwd,
        env=environment(cache),
        capture_output=True,
        text=True,
        timeout=600,
    )


def quoted(*overrides: str) -> str:
    return " ".join(f"'{part}'" for part in command(*overrides))


def test_a_full_disk_beneath_the_run(tmp_path: Path) -> None:
    """Too small for the files of the run: one line, exit code 2, and no half of a file."""
    (tmp_path / "small").mkdir()
    script = f"""
        mount -t tmpfs -o size=64k none small && mkdir small/OUT || exit 99
        head -c 50000 /dev/zero > small/filler
        cd small && {quoted()}; code=$?
        ls -A OUT >&2; exit $code
    """
    done = in_a_namespace(script, tmp_path, tmp_path / "cache")
    assert done.returncode == 2, done.stderr
    line, *left = done.stderr.splitlines()
    assert line.startswith("metaeval: ")
    assert "No space left on device" in line
    assert set(left) <= {files.RUN, files.CONFIG, "metaeval.log"}


def test_a_full_disk_beneath_the_cache(undisturbed: Path, tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    script = f"mount -t tmpfs -o size=200k none small && {quoted()}"
    done = in_a_namespace(script, tmp_path, tmp_path / "small" / "cache")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the score cache cannot be written") == 1
    assert numbers(tmp_path) == numbers(undisturbed)


def test_a_read_only_cache_is_read(undisturbed: Path, tmp_path: Path) -> None:
    """One with the smaller half of the scores: the others are computed, and not stored."""
    (tmp_path / "cache").mkdir()
    before = run(tmp_path, "metrics=[bleu]", "hydra.run.dir=FIRST")
    assert before.returncode == 0, before.stderr
    database = (tmp_path / "cache" / "content.sqlite").read_bytes()
    script = f"mount --bind cache cache && mount -o remount,ro,bind cache && {quoted()}"
    done = in_a_namespace(script, tmp_path, tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    assert "the score cache cannot be written" in done.stderr
    assert numbers(tmp_path) == numbers(undisturbed)
    scored = [m["n_scored"] for m in files.read_json(tmp_path / "OUT" / files.RUN)["metrics"]]
    assert scored[0] == 0
    assert all(scored[1:])
    assert (tmp_path / "cache" / "content.sqlite").read_bytes() == database


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},  # ASCII
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "iso-8859-1"},
    ],
)
def test_locales_that_know_few_letters(
    env: dict[str, str], undisturbed: Path, tmp_path: Path
) -> None:
    done = run(tmp_path, "report=default", **env)
    assert done.returncode == 0, done.stderr
    assert "rank-order rho" in done.stdout
    assert numbers(tmp_path) == numbers(undisturbed)
    assert "ρ" in (tmp_path / "OUT" / files.REPORT).read_text(encoding="utf-8")


def test_a_home_that_is_not_there(undisturbed: Path, tmp_path: Path) -> None:
    env = {k: v for k, v in os.environ.items() if k not in ("METAEVAL_CACHE", "XDG_CACHE_HOME")}
    done = subprocess.run(
        command(),
        cwd=tmp_path,
        env={**env, "HOME": "/proc/no/such/home"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "the score cache cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert numbers(tmp_path) == numbers(undisturbed)


def test_an_argument_and_a_folder_that_are_not_utf8(tmp_path: Path) -> None:
    raw = b"caf\xe9"
    for arguments in (["experiment=captioners", b"captions=" + raw], [b"hydra.run.dir=" + raw]):
        done = subprocess.run(
            [sys.executable, "-m", "metaeval", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            errors="replace",
            env=environment(tmp_path / "cache"),
        )
        assert done.returncode == 2
        assert done.stderr.startswith("metaeval: an argument is not UTF-8")
        assert len(done.stderr.splitlines()) == 1
    folder = tmp_path / os.fsdecode(raw)
    folder.mkdir()
    done = run(folder, METAEVAL_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 2
    assert "the name of the run's folder is not UTF-8" in done.stderr
    assert len(done.stderr.splitlines()) == 1
