"""A chat endpoint on loopback that answers each request after a fixed time."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from types import TracebackType


class LoopbackEndpoint:
    """An endpoint in a thread of this process; `requests` counts what it was sent.

    The answer to a prompt is a number from 0 to 100 that its digest determines.
    """

    def __init__(self, delay: float) -> None:
        self.delay, self.requests = delay, 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> LoopbackEndpoint:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @property
    def url(self) -> str:
        """Its `base_url`."""
        return f"http://127.0.0.1:{self._port}/v1"

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        )
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.decode("latin-1").lower().split("\r\n")
                length = next(
                    int(line.partition(":")[2])
                    for line in lines
                    if line.startswith("content-length:")
                )
                body = await reader.readexactly(length)
                self.requests += 1
                await asyncio.sleep(self.delay)
                writer.write(_response(body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def _response(body: bytes) -> bytes:
    prompt = json.loads(body)["messages"][-1]["content"]
    number = hashlib.sha256(str(prompt).encode()).digest()[0] % 101
    reply = json.dumps(
        {
            "model": "loopback",
            "choices": [
                {"message": {"role": "assistant", "content": f" {number}"}, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": len(prompt) // 4, "completion_tokens": 1},
        }
    ).encode()
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(reply)}\r\n\r\n"
    )
    return head.encode() + reply
