"""Work on several processor threads, each of which computes alone.

Small matrix products gain nothing from being split over threads, but several of them side by side
do. A number computed so does not depend on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

T = TypeVar("T")


def together(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """What the jobs return, in order, run on as many threads as torch may use.

    Each runs without gradients, its operators on one thread. The first exception is raised.
    """
    threads = torch.get_num_threads()

    def alone(job: Callable[[], T]) -> T:
        torch.set_num_threads(1)  # of this thread
        with torch.inference_mode():
            return job()

    try:
        if threads == 1:
            return [alone(job) for job in jobs]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(alone, jobs))
    finally:
        torch.set_num_threads(threads)
