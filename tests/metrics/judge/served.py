"""A model's folder behind `transformers serve`, on loopback and in another process."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

_PROGRAM = shutil.which("transformers", path=str(Path(sys.executable).parent))
_NEEDED = ("accelerate", "fastapi", "openai", "uvicorn")
MISSING = [name for name in _NEEDED if find_spec(name) is None]
if _PROGRAM is None:
    MISSING.append("the command 'transformers'")
_START = 180  # seconds; about 30 on an idle machine


class Server(NamedTuple):
    url: str
    model: Path


@contextmanager
def served(model: Path, log: Path) -> Iterator[Server]:
    """The server while the block lasts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(_PROGRAM), "serve", str(model), "--host", "127.0.0.1"]
    more = ["--port", str(port), "--device", "cpu", "--dtype", "float32"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, *more], env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait(process, port, log)
        yield Server(f"http://127.0.0.1:{port}/v1", model)
    finally:
        process.terminate()
        process.wait(30)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + _START
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.5)
        else:
            return
    pytest.fail(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")
