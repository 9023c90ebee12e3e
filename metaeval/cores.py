"""How many processor cores there are for this process."""

import os

_sharing = 1  # processes that use the cores


def share_cores(processes: int) -> None:
    """Leave room for as many processes that work at the same time, this one among them."""
    global _sharing
    _sharing = processes


def core_count() -> int:
    """Cores that this process may use, at least 1: its share of all, or of those that it is
    restricted to."""
    affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if affinity else os.cpu_count() or 1
    return max(1, cores // _sharing)
