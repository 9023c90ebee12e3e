"""An endpoint on loopback, and retries that do not wait."""

from collections.abc import Iterator

import pytest
from pytest_httpserver import HTTPServer

from metaeval.metrics.judge import client
from tests.loopback import Endpoint
from tests.metrics.judge.judge_cases import Served, length_score


@pytest.fixture
def httpserver() -> Iterator[HTTPServer]:
    with Endpoint(threaded=True) as server:
        yield server


@pytest.fixture
def lengths(httpserver: HTTPServer) -> Served:
    """An endpoint whose answer is the number of characters of the caption."""
    return Served(httpserver, length_score)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_FIRST_WAIT", 0.01)
    monkeypatch.setattr(client, "_LONGEST_WAIT", 0.05)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
