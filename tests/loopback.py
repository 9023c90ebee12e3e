"""A chat endpoint on loopback that answers each request after a fixed time."""

import hashlib
import json
import time

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response


class Endpoint(HTTPServer):
    """A server that answers several requests at once and stops at once."""

    def thread_target(self) -> None:
        assert self.server is not None
        self.server.serve_forever(poll_interval=0.01)


class LoopbackEndpoint(Endpoint):
    """An endpoint in a thread of this process; `requests` counts what it was sent.

    The answer to a prompt is a number from 0 to 100 that its digest determines.
    """

    def __init__(self, delay: float) -> None:
        super().__init__(threaded=True)
        self.delay, self.requests = delay, 0
        self.expect_request("/v1/chat/completions").respond_with_handler(self._reply)

    @property
    def url(self) -> str:
        """Its `base_url`."""
        return self.url_for("/v1")

    def _reply(self, request: Request) -> Response:
        prompt = request.get_json()["messages"][-1]["content"]
        self.requests += 1
        time.sleep(self.delay)
        number = hashlib.sha256(str(prompt).encode()).digest()[0] % 101
        message = {"role": "assistant", "content": f" {number}"}
        reply = {
            "model": "loopback",
            "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": len(prompt) // 4, "completion_tokens": 1},
        }
        return Response(json.dumps(reply), content_type="application/json")
