"""Commands of metaeval in processes of their own that need not import it again.

`run_command("metaeval", "experiment=replace", …, cwd=FOLDER, env={…})` is
`python -m metaeval experiment=replace …` there: another process with its own arguments, folder,
environment and output. It is forked from one that has imported most of metaeval and written the
scenes, which is most of the time of a small run. Tests of the interpreter itself (encodings, an
installed wheel, what is imported, the network) start one of their own.

One such server serves each test process; it reads requests as lines of JSON and forks for each.
"""

import atexit
import gc
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import metaeval
from metaeval.data.scenes import load_scenes
from metaeval.overrides import override_texts
from tests.shared import without_controls

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 600
# what most runs import; none of it starts a thread
IMPORTED = (
    "hydra", "metaeval.api", "metaeval.experiments.run", "metaeval.experiments.graded.task",
    "metaeval.experiments.captioners.task", "metaeval.experiments.judgments.task",
    "metaeval.reports.measured", "metaeval.reports.graded.page",
    "metaeval.metrics.ngram.bleu", "metaeval.metrics.ngram.cider", "metaeval.metrics.ngram.rouge",
    "metaeval.corruptions.graded.replace", "metaeval.corruptions.graded.shuffle",
    # the classes of all listed metrics are looked at before any run
    "metaeval.metrics.bertscore.metric", "metaeval.metrics.clipscore.metric",
    "metaeval.metrics.faier.metric", "metaeval.metrics.hallucination.chair",
    "metaeval.metrics.meteor.metric", "metaeval.metrics.ngram.sacrebleu",
    "metaeval.metrics.scan.metric", "metaeval.metrics.spice.metric",
    "metaeval.metrics.vifidel.metric",
    "pyarrow.dataset", "pyarrow.parquet",
    "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "fontTools.subset",
)  # fmt: skip


def run_command(
    module: str, *arguments: str, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`python -m MODULE ARGUMENTS` in a folder, with a cache of its own below it, or with these
    variables added to this process's."""
    more = {"METAEVAL_CACHE": str(cwd / "cache")} if env is None else env
    if any(argument.startswith("experiment=") for argument in arguments):
        arguments = tuple(without_controls(*arguments))
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        request = {
            "module": module, "arguments": arguments, "cwd": str(cwd), "out": str(out),
            "err": str(err), "env": {**os.environ, **more},
        }  # fmt: skip
        server = _server()
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        return subprocess.CompletedProcess(
            [sys.executable, "-m", module, *arguments], code, out.read_text(), err.read_text()
        )


def command(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, code: int = 0
) -> subprocess.CompletedProcess[str]:
    """`python -m metaeval ARGUMENTS`, as `run_command` has it, which must end with this code."""
    done = run_command("metaeval", *arguments, cwd=cwd, env=env)
    assert done.returncode == code, done.stderr
    return done


def run_experiment(experiment: str, out: Path, **options: Any) -> metaeval.Run:
    """`metaeval.run(experiment, out=out, …)`, forked; what it prints goes to standard output."""
    arguments = (f"experiment={experiment}", *override_texts(options), f"hydra.run.dir={out}")
    print(command(*arguments, cwd=ROOT, env={}).stdout)
    return metaeval.load_run(out)


@cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.forked"],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    atexit.register(server.kill)
    return server


def serve() -> None:
    for name in IMPORTED:
        import_module(name)
    load_scenes(n=5_000)  # as conf/dataset/scenes.yaml has it
    gc.freeze()  # what every command shares is not looked through by each
    for line in sys.stdin:
        request = json.loads(line)
        if (child := os.fork()) == 0:
            os._exit(_carry_out(**request))
        signal.signal(signal.SIGALRM, lambda *_, child=child: os.kill(child, signal.SIGKILL))
        signal.alarm(SECONDS)
        _, status = os.waitpid(child, 0)
        signal.alarm(0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _carry_out(
    module: str, arguments: list[str], cwd: str, out: str, err: str, env: dict[str, str]
) -> int:
    """What the interpreter does with `-m`, and the exit code."""
    for descriptor, path in ((0, os.devnull), (1, out), (2, err)):
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path[:1] = [cwd, *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = [module, *arguments]
    code = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # as the interpreter does at its end
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    serve()
