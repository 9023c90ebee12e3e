"""Helpers for tests of processes."""

import time
from pathlib import Path


def gone(pid: int, seconds: float = 10) -> bool:
    """Whether the process ends within this number of seconds (a zombie has ended)."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True
        if stat.rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False
