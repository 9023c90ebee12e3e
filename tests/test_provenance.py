"""How many cores there are, those that this process may use; and which Java a run has used."""

import os
import sys

import pytest

from metaeval.java import services
from metaeval.provenance import core_count, java


def test_cores_are_those_that_we_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 6}, raising=False)
    assert core_count() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert core_count() == 1


def test_java_is_that_which_something_has_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    services._probe.cache_clear()
    assert java() is None
    assert services.java_version() == java()
    monkeypatch.delitem(sys.modules, services.__name__)
    assert java() is None
