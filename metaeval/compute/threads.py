"""Work on several processor threads, each of which computes alone.

Small matrix products gain nothing from being split over threads, but several of them side by side
do. A number computed so does not depend on how many threads there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from torch.overrides import TorchFunctionMode

S = TypeVar("S")
T = TypeVar("T")


def run_parallel(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """What the jobs return, in order, each run as by `map_ordered`."""
    return list(map_ordered(lambda job: job(), jobs))


def map_ordered(job: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """What `job` returns for each item, in order, on as many threads as torch may use.

    Each runs without gradients, its operators on one thread. At most two items a thread are taken
    ahead of the result that is needed next, so that results need not all be in memory. The
    first exception is raised in its place; what has not begun by then never does.
    """
    import torch

    def alone(item: S) -> T:
        with torch.inference_mode():
            return job(item)

    threads = torch.get_num_threads()
    if threads == 1:
        yield from map(alone, items)
        return
    pending: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads, initializer=partial(torch.set_num_threads, 1)) as pool:
        try:
            for item in items:
                pending.append(pool.submit(alone, item))
                if len(pending) > 2 * threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def divide_products_only() -> TorchFunctionMode:
    """A context in which matrix products are divided among torch's threads, and nothing else is.

    For many small operators: threads that wait for one another take most of the time of a `tanh`
    of a few hundred numbers, the more so where the cores are busy. The numbers stay as they are to
    the last bit, which those of products on one thread would not.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    threads = torch.get_num_threads()
    products = {
        *(torch.mm, torch.bmm, torch.addmm, torch.matmul, torch.nn.functional.linear),
        *(torch.Tensor.mm, torch.Tensor.bmm, torch.Tensor.matmul, torch.Tensor.__matmul__),
    }

    class DividedProducts(TorchFunctionMode):
        def __enter__(self) -> TorchFunctionMode:
            torch.set_num_threads(1)
            return super().__enter__()  # type: ignore[no-untyped-call]

        def __exit__(self, *error: Any) -> None:
            super().__exit__(*error)  # type: ignore[no-untyped-call]
            torch.set_num_threads(threads)

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func not in products:
                return func(*args, **(kwargs or {}))
            torch.set_num_threads(threads)
            try:
                return func(*args, **(kwargs or {}))
            finally:
                torch.set_num_threads(1)

    return DividedProducts()
