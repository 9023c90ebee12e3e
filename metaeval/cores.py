"""How many processor cores there are for this process."""

import os


def core_count() -> int:
    """Cores that this process may use, at least 1: all, or those that it is restricted to."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
