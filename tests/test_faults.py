"""What disks, kills and locales do to a run: the same bytes, or one line."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from metaeval.runs import files

pytestmark = pytest.mark.slow

ARGUMENTS = (
    "experiment=replace",
    "dataset=scenes",
    "dataset.limit=40",
    "stats.replicates=20",
    "metrics=[bleu,rouge_l,cider]",
    "controls=[]",
    "cache.batch_size=20",
    "report=none",
    "hydra.run.dir=OUT",
)
SAME = (files.CAPTIONS, files.REFERENCES, files.SCORES, files.STATISTICS)


def command(*overrides: str) -> list[str]:
    return [sys.executable, "-m", "metaeval", *ARGUMENTS, *overrides]


def environment(cache: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "METAEVAL_CACHE": str(cache), **more}


def python(cwd: Path, command: Sequence[Any], env: Mapping[str, str]) -> Any:
    text: dict[str, Any] = {"capture_output": True, "text": True, "errors": "replace"}
    return subprocess.run(command, cwd=cwd, env=env, timeout=600, **text)


def run(cwd: Path, *overrides: str, **env: str) -> subprocess.CompletedProcess[str]:
    return python(cwd, command(*overrides), environment(cwd / "cache", **env))


def numbers(cwd: Path, done: subprocess.CompletedProcess[str]) -> dict[str, bytes]:
    """The files of a run that ended well."""
    assert done.returncode == 0, done.stderr
    assert files.read_run_json(cwd / "OUT" / files.RUN)["status"] == "finished"
    return {name: (cwd / "OUT" / name).read_bytes() for name in SAME}


class Undisturbed(NamedTuple):
    numbers: dict[str, bytes]
    seconds: float


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    cwd = tmp_path_factory.mktemp("faults")
    started = time.monotonic()
    done = run(cwd)
    return Undisturbed(numbers(cwd, done), time.monotonic() - started)


def test_kills_at_several_moments(undisturbed: Undisturbed, tmp_path: Path) -> None:
    """Each killed run leaves a folder that says so, or nothing; the last one ends as if none of
    them had been."""
    begun = 0
    for share in (0.5, 0.7, 0.9):  # before that little is written: it imports
        victim = subprocess.Popen(
            command(),
            cwd=tmp_path,
            env=environment(tmp_path / "cache"),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            victim.wait(share * undisturbed.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(victim.pid, signal.SIGKILL)
            victim.wait()
        info = tmp_path / "OUT" / files.RUN
        if info.exists():
            begun += 1
            assert json.loads(info.read_text())["status"] in ("unfinished", "finished")
    assert begun, "no run came as far as its first file"
    assert numbers(tmp_path, run(tmp_path)) == undisturbed.numbers
    assert not [p.name for p in (tmp_path / "OUT").iterdir() if p.name.startswith(".")]


def in_a_namespace(script: str, cwd: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell script that may mount, where the system lets us."""
    if (
        shutil.which("unshare") is None
        or subprocess.run(
            ["unshare", "-rm", "mount", "-t", "tmpfs", "none", str(cwd)], capture_output=True
        ).returncode
    ):
        pytest.skip("mounting a disk is not permitted here (unshare -rm)")
    return python(cwd, ["unshare", "-rm", "sh", "-c", script], environment(cache))


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
    line, *left = done.stderr.splitlines()
    assert (done.returncode, line[:10]) == (2, "metaeval: "), done.stderr
    assert "No space left on device" in line
    assert set(left) <= {files.RUN, files.CONFIG, "metaeval.log"}


def test_a_full_disk_beneath_the_cache(undisturbed: Undisturbed, tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    script = f"mount -t tmpfs -o size=80k none small && {quoted()}"
    done = in_a_namespace(script, tmp_path, tmp_path / "small" / "cache")
    assert numbers(tmp_path, done) == undisturbed.numbers
    assert done.stderr.count("the score cache cannot be written") == 1


def test_a_locale_that_knows_few_letters(undisturbed: Undisturbed, tmp_path: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run(tmp_path, "report=default", "report.figures=false", **ascii_only)
    assert numbers(tmp_path, done) == undisturbed.numbers
    assert "rank-order rho" in done.stdout
    assert "ρ" in (tmp_path / "OUT" / files.REPORT).read_text(encoding="utf-8")


def test_a_home_that_is_not_there(undisturbed: Undisturbed, tmp_path: Path) -> None:
    env = {k: v for k, v in os.environ.items() if k not in ("METAEVAL_CACHE", "XDG_CACHE_HOME")}
    done = python(tmp_path, command(), {**env, "HOME": "/proc/no/such/home"})
    assert numbers(tmp_path, done) == undisturbed.numbers
    assert "the score cache cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_argument_and_a_folder_that_are_not_utf8(tmp_path: Path) -> None:
    raw = b"caf\xe9"
    folder = tmp_path / os.fsdecode(raw)
    folder.mkdir()
    begin = [sys.executable, "-m", "metaeval"]
    argument, name = "an argument is not UTF-8", "the name of the run's folder is not UTF-8"
    for where, arguments, line in (
        (tmp_path, [*begin, "experiment=captioners", b"captions=" + raw], argument),
        (tmp_path, [*begin, b"hydra.run.dir=" + raw], argument),
        (folder, command(), name),
    ):
        done = python(where, arguments, environment(tmp_path / "cache"))
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert line in done.stderr


def test_images_that_no_cache_keeps_go_with_the_process(tmp_path: Path) -> None:
    code = """if True:
        from metaeval.data.scenes import load_scenes
        data = load_scenes(n=2)
        print([data.part("images").path(i).is_file() for i in data.image_ids])"""
    env = environment(tmp_path, TMPDIR=str(tmp_path))
    done = python(tmp_path, [sys.executable, "-c", code], env)
    assert (done.stdout, list(tmp_path.iterdir())) == ("[True, True]\n", [])
