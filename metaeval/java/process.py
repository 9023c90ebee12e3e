"""Java programs that are talked to line by line (`JavaProcess`).

METEOR and SPICE's parser run here with the same care: a fixed locale and encoding (a decimal comma
breaks METEOR), a heap that the machine can give, stderr always drained and shown when something
fails, a limit on time, and no JVM left behind after success, failure, Ctrl-C or the death of our
process.

On Linux the kernel ends the child when we die, even by SIGKILL (`prctl(PR_SET_PDEATHSIG)`). That
signal is tied to the *thread* that forked the child, so every child is forked by one thread which
lives as long as the process. Elsewhere a service still ends when its standard input closes, and
whatever lives at a normal exit is ended by `atexit`. The child leads a process group of its own:
Ctrl-C in a terminal reaches only us, and we end it.

Java services that outlive the metric that began them: shared by the jobs of a sweep.

A JVM with METEOR's references or SPICE's models takes seconds to start. Within
`shared_java_services` a service that is given back stays, and the next metric that needs the same
service takes it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from metaeval.java.services import JavaRuntime

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

_guard = threading.Lock()
_owner = 0  # the pid whose spawning thread runs; another pid means that we were forked since
_spawner: ThreadPoolExecutor | None = None  # with one thread, which forks all children
_alive: set[subprocess.Popen[bytes]] = set()


def spawn(command: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start `command` (its first item a full path) with three pipes; `end` it when done.

    Raises OSError where the program cannot be started.
    """
    full = list(command)
    if sys.platform == "linux" and sys.executable:
        full = [sys.executable, "-I", "-S", "-c", _BEFORE_EXEC, str(os.getpid()), *full]
    future = _spawning_thread().submit(_popen, full, env)
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


def _spawning_thread() -> ThreadPoolExecutor:
    global _owner, _spawner
    with _guard:
        if _spawner is None or _owner != os.getpid():
            _alive.clear()  # forked: the thread and the children are our parent's
            _owner, _spawner = os.getpid(), ThreadPoolExecutor(1, "metaeval-spawn")
        return _spawner


def _popen(command: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        process_group=0 if os.name == "posix" else None,
    )
    _alive.add(process)
    return process


def _end_unwanted(future: Future[subprocess.Popen[bytes]]) -> None:
    if future.exception() is None:
        end(future.result())


@atexit.register
def _end_all() -> None:
    if _owner == os.getpid():
        for process in list(_alive):
            end(process)


_TAIL = 8192  # bytes of stderr that are kept
_FIXED = (
    "-Duser.language=en",
    "-Duser.country=US",
    "-Dfile.encoding=UTF-8",
    "-Dstdout.encoding=UTF-8",  # Java 19+ no longer takes the streams' encoding from the file's
    "-Dstderr.encoding=UTF-8",
    "-Djava.awt.headless=true",
    "-XX:+ExitOnOutOfMemoryError",  # else a thread dies and the others wait for it
    "-XX:+DisplayVMOutputToStderr",
)


class JavaError(RuntimeError):
    """A Java program failed. The message is one line; `stderr` is the tail of what it wrote."""

    def __init__(self, what: str, problem: str, stderr: str = "") -> None:
        lines = [line.strip() for line in stderr.splitlines() if line.strip()]
        # "at package.Class(File.java:1)" says little in one line; the exception's own line does
        messages = [line for line in lines if not line.startswith("at ")][-3:]
        shown = " / ".join(messages)[-400:]
        super().__init__(f"{what}: {problem}" + (f"; stderr: {shown}" if shown else ""))
        self.stderr = stderr
        if len(lines) > len(messages):
            self.add_note(f"the end of its stderr:\n{stderr}")


def memory_mib() -> int | None:
    """Return the machine's memory or the control group's limit, the lower; `None` if unknown."""
    sizes = []
    try:
        sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        group = Path("/proc/self/cgroup").read_text().strip().splitlines()[-1].split(":")[-1]
    except (AttributeError, ValueError, OSError, IndexError):
        group = "/"
    root = Path("/sys/fs/cgroup")
    here = root / group.strip("/")
    for folder in {here, *here.parents, root / "memory"}:
        for name in ("memory.max", "memory.limit_in_bytes"):
            try:
                sizes.append(int((folder / name).read_text()))
            except (OSError, ValueError):  # not there, or "max"
                continue
    return min(sizes) >> 20 if sizes else None


def heap_mib(wanted: int) -> int:
    """Return `wanted` MiB of heap, at most half of the memory of the machine."""
    memory = memory_mib()
    return wanted if memory is None else max(16, min(wanted, memory // 2))


def _start(
    java: JavaRuntime,
    args: Sequence[str],
    what: str,
    heap: int,
    options: Sequence[str],
) -> subprocess.Popen[bytes]:
    """Start the launcher with its heap (MiB, cut to half the memory), locale and the rest."""
    # the crash report of a JVM does not go into the user's folder
    crash = f"-XX:ErrorFile={tempfile.gettempdir()}/hs_err_pid%p.log"
    command = [str(java.executable), f"-Xmx{heap_mib(heap)}m", crash, *_FIXED, *options, *args]
    try:
        return spawn(command, _environment())
    except OSError as error:
        raise JavaError(what, f"cannot be started ({error})") from None


def _environment() -> dict[str, str]:
    env = dict(os.environ)
    # _JAVA_OPTIONS would override our command line; in JAVA_TOOL_OPTIONS it only adds to it
    extra = f"{env.get('JAVA_TOOL_OPTIONS', '')} {env.pop('_JAVA_OPTIONS', '')}".strip()
    if extra:
        env["JAVA_TOOL_OPTIONS"] = extra
    env["LC_ALL"] = "C.UTF-8"  # else Java cannot open paths with umlauts in the C locale
    return env


class _Drain(threading.Thread):
    """Reads a stream to its end, and keeps the last bytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(name="metaeval-drain", daemon=True)
        self._stream, self._bytes = stream, bytearray()
        self.start()

    def run(self) -> None:
        try:
            while chunk := os.read(self._stream.fileno(), 65536):
                self._bytes = (self._bytes + chunk)[-_TAIL:]
        except (OSError, ValueError):  # closed under us: the process has been ended
            pass

    def text(self) -> str:
        """Return what was read, after waiting a moment for the end of the stream; without the
        JVM's lines on options from the environment."""
        self.join(2)
        lines = self._bytes.decode(errors="replace").splitlines(keepends=True)
        return "".join(x for x in lines if not x.startswith("Picked up "))


class JavaProcess:
    """A Java program that answers each line on stdin with one line on stdout, in order.

    One that failed is ended and stays so.

    Parameters
    ----------
    args
        What follows the JVM's options: `["-cp", path, "Main"]`, `["-jar", …]`.
    what
        The program's name in messages: "SPICE".
    heap
        MiB; never more than half of the machine's memory is used.
    silence
        How many seconds it may take from one reply to the next.
    options
        Further options of the JVM.

    Raises JavaError where it cannot be started.
    """

    def __init__(
        self,
        java: JavaRuntime,
        args: Sequence[str],
        *,
        what: str,
        heap: int,
        silence: float,
        options: Sequence[str] = (),
    ) -> None:
        self.what, self._silence = what, silence
        self._lock = threading.Lock()
        self._process = _start(java, args, what, heap, options)
        assert self._process.stderr is not None
        self._stderr = _Drain(self._process.stderr)
        self._replies: SimpleQueue[bytes] = SimpleQueue()  # the last one is empty
        threading.Thread(target=self._read, name="metaeval-read", daemon=True).start()

    @property
    def pid(self) -> int:
        """Return the process id of the JVM."""
        return self._process.pid

    def exchange(self, lines: Sequence[str]) -> list[str]:
        """Send n lines without waiting in between; return the n replies, in order.

        Raises
        ------
        JavaError
            It ended, or was silent for too long; no JVM is left then, nor after Ctrl-C.
        ValueError
            A line holds a line break.
        """
        if any("\n" in line or "\r" in line for line in lines):
            raise ValueError("a line to Java must not hold a line break")
        process = self._process
        assert process.stdin is not None
        with self._lock:
            try:
                if process.stdin.closed:
                    raise JavaError(self.what, "was closed already")
                data = "".join(f"{line}\n" for line in lines).encode(errors="replace")
                writer = threading.Thread(
                    target=_send, args=(process.stdin, data), name="metaeval-write", daemon=True
                )
                writer.start()
                replies: list[str] = []
                while len(replies) < len(lines):
                    try:
                        raw = self._replies.get(timeout=self._silence)
                    except Empty:
                        raise self._failure(len(replies), len(lines), silent=True) from None
                    if not raw:
                        raise self._failure(len(replies), len(lines))
                    replies.append(raw.rstrip(b"\r\n").decode(errors="replace"))
                writer.join()
                return replies
            except BaseException:  # the pipe is out of step: no further request is possible
                self._end()
                raise

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError):  # closed under us
            for line in self._process.stdout:
                self._replies.put(line)
        self._replies.put(b"")

    def _failure(self, got: int, sent: int, silent: bool = False) -> JavaError:
        end(self._process, grace=0 if silent else 2)
        code = self._process.returncode
        how = f"ended with signal {-code}" if code < 0 else f"ended with exit code {code}"
        how += " (killed; out of memory?)" if code == -9 else ""
        how = f"was silent for {self._silence:g} s" if silent else how
        return JavaError(self.what, f"{how} after {got} of {sent} replies", self._stderr.text())

    @property
    def is_running(self) -> bool:
        """Return whether it accepts requests: the process runs and is not closed."""
        stdin = self._process.stdin
        return self._process.poll() is None and stdin is not None and not stdin.closed

    def close(self) -> None:
        """Close its stdin, give it a second, end it; at once if it is at work. Idempotent."""
        if not self._lock.acquire(blocking=False):
            self._end()
            return
        try:
            if self._process.stdin and not self._process.stdin.closed:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()
            self._end(grace=1)
        finally:
            self._lock.release()

    def _end(self, grace: float = 0.0) -> None:
        end(self._process, grace)
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream:
                    stream.close()


def _send(stream: IO[bytes], data: bytes) -> None:
    try:
        stream.write(data)
        stream.flush()
    except (OSError, ValueError):
        pass  # it ended: the reading side raises the error


class Service(Protocol):
    """Something that runs until it is closed."""

    @property
    def is_running(self) -> bool:
        """Return whether it accepts requests."""
        ...

    def close(self) -> None:
        """End it. Idempotent."""
        ...


S = TypeVar("S", bound=Service)


@dataclass
class _Kept:
    kind: str
    key: Hashable
    service: Service
    in_use: bool = True


_kept: list[_Kept] | None = None


@contextmanager
def shared_java_services() -> Iterator[None]:
    """Keep services that are given back, one of a kind, until the block ends; then end all."""
    global _kept
    if _kept is not None:
        yield
        return
    _kept = []
    try:
        yield
    finally:
        for kept in _kept:
            kept.service.close()
        _kept = None


def borrow(kind: str, key: Hashable, start: Callable[[], S]) -> S:
    """Borrow a service: the one that is there for the same key, else a new one.

    `key` names all that the service depends on. A service in use is not shared; one of another
    key that is not in use is ended, as its memory is needed.
    """
    if _kept is None:
        return start()
    for kept in [kept for kept in _kept if kept.kind == kind and not kept.in_use]:
        if kept.key == key and kept.service.is_running:
            kept.in_use = True
            return kept.service  # type: ignore[return-value]
        kept.service.close()
        _kept.remove(kept)
    service = start()
    _kept.append(_Kept(kind, key, service))
    return service


def give_back(service: Service) -> None:
    """Return a borrowed service; outside `shared_java_services`, or where it broke, end it."""
    for kept in _kept or ():
        if kept.service is service:
            kept.in_use = False
            return
    service.close()
