"""Memory that is freed in pieces goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
from metaeval.compute.memory import return_free_memory

def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

pieces = [np.ones(7_500) for _ in range(4_000)]  # 60 kB each, 229 MiB
full = resident()
last = pieces[-1]  # it keeps the end of the heap in use, so that nothing before it is returned
del pieces
held = resident()
return_free_memory()
print(full - held, full - resident(), last.sum())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and only glibc returns memory")
def test_freed_pieces_are_returned() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    by_itself, returned, kept = map(float, done.stdout.split())
    assert by_itself < 50, "the C library returns this by itself: the function is not needed"
    assert returned > 150
    assert kept == 7_500
