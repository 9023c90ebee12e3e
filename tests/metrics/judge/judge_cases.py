"""A small dataset, and an endpoint on loopback that answers as a test says."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.judge.metric import Judge
from metaeval.runs.store import MemoryStore, Store
from metaeval.scoring import MetricScores, score_captions
from tests.metrics.metric_cases import images

KEY = "sk-secret-0123456789"
CAPTIONS = ("a dog runs", "a cat sleeps", "two men talk", "a red bus")


def dataset(n: int = 4) -> CaptionDataset:
    references = [(f"reference {i} one", f"reference {i} two") for i in range(n)]
    return images(references, [one for one, _ in references])


def completion(text: str | None, **more: Any) -> dict[str, Any]:
    """A chat completion, in the form of OpenAI's API reference."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    choice |= more.pop("choice", {})
    usage = {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102}
    return {
        "id": "x",
        "object": "chat.completion",
        "model": "tiny-1",
        "choices": [choice],
        "usage": usage,
        **more,
    }


def reply_with(usage: Any) -> dict[str, Any]:
    """A completion with another usage; `None`: without."""
    reply = completion("70", usage=usage)
    return {name: value for name, value in reply.items() if value is not None}


def caption_in(body: str) -> str:
    return re.search(r"^Caption: (.*)$", prompt_in(body), re.MULTILINE)[1]


def prompt_in(body: str) -> str:
    content = json.loads(body)["messages"][-1]["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


class Served:
    """The requests that an endpoint was sent; `reply` makes the response to a request's body."""

    def __init__(self, server: HTTPServer, reply: Callable[[str, int], Any]) -> None:
        self.bodies: list[str] = []
        self.headers: list[dict[str, str]] = []

        def handle(request: Request) -> Response:
            body = request.get_data(as_text=True)
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
            made = reply(body, len(self.bodies))
            if isinstance(made, Response):
                return made
            text = made if isinstance(made, str) else json.dumps(made)
            return Response(text, content_type="application/json")

        server.expect_request("/v1/chat/completions", method="POST").respond_with_handler(handle)
        self.url = server.url_for("/v1")


def length_score(body: str, _: int) -> dict[str, Any]:
    return completion(f" {len(caption_in(body))}")


def judge(url: str, **options: Any) -> Judge:
    return Judge(**{"base_url": url, "model": "tiny", "retries": 2, **options})


def scored(
    metric: Judge, captions: Sequence[str] = CAPTIONS, store: Store | None = None
) -> MetricScores:
    index = np.arange(len(captions)) % 4
    return score_captions(metric, dataset(), captions, index, store or MemoryStore())
