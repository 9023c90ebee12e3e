"""Starting a child that cannot outlive us, and ending it.

On Linux the kernel ends the child when we die, even by SIGKILL (`prctl(PR_SET_PDEATHSIG)`). That
signal is tied to the *thread* that forked the child, so every child is forked by one thread which
lives as long as the process. Elsewhere a service still ends when its standard input closes, and
whatever lives at a normal exit is ended by `atexit`.

The child leads a process group of its own: Ctrl-C in a terminal reaches only us, and we end it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

# Runs in the child before it becomes Java. A preexec_fn would do the same, but is not safe in a
# process with threads. argv: our pid (to end the child if we died meanwhile), command.
_BEFORE_EXEC = """
import os, sys
try:
    import ctypes
    ctypes.CDLL(None).prctl(1, 9)
except Exception:
    pass
if os.getppid() != int(sys.argv[1]):
    os._exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""

_Job = tuple["Future[subprocess.Popen[bytes]]", list[str], dict[str, str], Path | None]
_jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
_guard = threading.Lock()
_owner = 0  # the pid whose spawning thread runs; another pid means that we were forked since
_alive: set[subprocess.Popen[bytes]] = set()


def spawn(
    command: Sequence[str], env: Mapping[str, str], cwd: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start `command` (its first item a full path) with three pipes; `end` it when done.

    Raises OSError where the program cannot be started.
    """
    _ensure_thread()
    full = list(command)
    if sys.platform == "linux" and sys.executable:
        full = [sys.executable, "-I", "-S", "-c", _BEFORE_EXEC, str(os.getpid()), *full]
    future: Future[subprocess.Popen[bytes]] = Future()
    _jobs.put((future, full, dict(env), cwd))
    try:
        return future.result()
    except BaseException:  # Ctrl-C while the thread was starting it: end it when it is there
        future.add_done_callback(_end_unwanted)
        raise


def end(process: subprocess.Popen[bytes], grace: float = 0.0) -> None:
    """End a child and its group: by itself within `grace` seconds, or by SIGKILL. Idempotent."""
    if process.poll() is None and grace > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (AttributeError, ProcessLookupError, PermissionError):
            process.kill()
        process.wait()
    _alive.discard(process)


def _ensure_thread() -> None:
    global _owner, _jobs
    with _guard:
        if _owner != os.getpid():
            if _owner:  # forked: the thread and the children are our parent's
                _jobs = queue.SimpleQueue()
                _alive.clear()
            _owner = os.getpid()
            threading.Thread(
                target=_serve, args=(_jobs,), name="metaeval-spawn", daemon=True
            ).start()


def _serve(jobs: queue.SimpleQueue[_Job]) -> None:
    while True:
        future, command, env, cwd = jobs.get()
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=env,
                cwd=cwd,
                process_group=0 if os.name == "posix" else None,
            )
        except BaseException as error:
            future.set_exception(error)
        else:
            _alive.add(process)
            future.set_result(process)


def _end_unwanted(future: Future[subprocess.Popen[bytes]]) -> None:
    if future.exception() is None:
        end(future.result())


@atexit.register
def _end_all() -> None:
    if _owner == os.getpid():
        for process in list(_alive):
            end(process)
