"""Work on several threads: in order, not too far ahead, and the first exception in its place."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from metaeval.compute.threads import divide_products_only, map_ordered, run_parallel  # noqa: E402


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_in_order_whatever_takes_longest(threads: int) -> None:
    """The first job ends last: it waits for the last of those begun with it."""
    last = threading.Event()
    if threads == 1:
        last.set()  # nothing could set it later

    def job(item: int) -> int:
        if item == threads - 1:
            last.set()
        assert last.wait(10)
        return item * item

    assert list(map_ordered(job, range(20))) == [k * k for k in range(20)]


def test_operators_run_on_one_thread_and_without_gradients(threads: int) -> None:
    parameter = torch.nn.Parameter(torch.ones(2))

    def job(_: int) -> tuple[int, bool]:
        return torch.get_num_threads(), (parameter * 2).requires_grad

    assert set(map_ordered(job, range(5))) == {(1, False)}
    assert set(run_parallel([lambda: job(0)] * 5)) == {(1, False)}
    assert torch.get_num_threads() == threads


def test_only_a_few_items_are_taken_ahead(threads: int) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(100):
            taken.append(item)
            yield item

    results = map_ordered(lambda item: item, items())
    assert next(results) == 0
    assert len(taken) <= 2 * threads + 1
    results.close()
    assert len(taken) <= 2 * threads + 1


def test_the_first_exception_comes_in_its_place(threads: int) -> None:
    started: list[int] = []

    def job(item: int) -> int:
        started.append(item)
        if item >= 3:
            raise ValueError(f"item {item}")
        return item

    found: list[int] = []
    with pytest.raises(ValueError, match="item 3"):
        found.extend(map_ordered(job, range(1000)))
    assert found == [0, 1, 2]
    assert len(started) < 30
    assert torch.get_num_threads() == threads


def test_only_products_are_divided() -> None:
    threads, generator = torch.get_num_threads(), torch.Generator().manual_seed(0)
    words, weight = (torch.randn(n, 384, generator=generator) for n in (13, 17))

    def compute() -> object:
        return torch.tanh(torch.nn.functional.linear(words, weight)) @ weight

    expected = compute()
    with divide_products_only():
        assert torch.get_num_threads() == 1
        torch.testing.assert_close(compute(), expected)  # float32, on another number of threads
        assert torch.get_num_threads() == 1
        with pytest.raises(RuntimeError):
            _ = words @ weight  # shapes that do not fit
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == threads
