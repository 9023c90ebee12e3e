"""Memory that was freed and that the C library still holds."""

from __future__ import annotations

import ctypes
import sys


def return_free_memory() -> None:
    """Return freed memory to the system, where the C library can do it (glibc).

    Arrays of many sizes, freed in several threads, leave it in pieces that the library keeps: two
    thirds of its memory at the end of a battery of experiments.
    """
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
