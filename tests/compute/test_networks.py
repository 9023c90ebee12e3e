"""Networks are loaded once within a run, and forgotten with it."""

from __future__ import annotations

from metaeval.compute.networks import keep_networks, load_once


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
