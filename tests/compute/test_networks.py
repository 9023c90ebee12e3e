"""Networks are loaded once within a run, and forgotten with it."""

from __future__ import annotations

from metaeval.compute.networks import keep_networks, load_once, release


def test_a_network_is_loaded_once_a_run() -> None:
    loaded: list[object] = []

    def load() -> object:
        loaded.append(object())
        return loaded[-1]

    assert load_once("a", load) is not load_once("a", load)
    with keep_networks():
        first = load_once("a", load)
        with keep_networks():  # a run within a run shares
            assert load_once("a", load) is first
        assert load_once("a", load) is first
        assert load_once("b", load) is not first
    with keep_networks():
        assert load_once("a", load) is not first
    assert len(loaded) == 5


def test_what_is_released_is_loaded_again_and_the_rest_stays() -> None:
    loaded: list[str] = []

    def load(name: str) -> str:
        return load_once((name, 1), lambda: loaded.append(name) or name)

    with keep_networks():
        for name in ("dataset", "network", "dataset"):
            load(name)
        release("dataset")
        load("dataset")
        load("network")
    assert loaded == ["dataset", "network", "dataset"]
    release("dataset")  # outside, where nothing is kept
