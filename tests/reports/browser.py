"""A real headless Chromium, driven over its DevTools pipe with the standard library alone."""

import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXECUTABLE = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


class Page:
    """One tab. `errors` gathers console errors and exceptions, `requests` every requested URL."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back, self._buffer, self._id = to, back, b"", 0
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._events: list[str] = []
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._id += 1
        message: dict[str, Any] = {"id": self._id, "method": method, "params": params}
        if self._session and not method.startswith("Target."):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read(60)
            if answer.get("id") == self._id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, url: str, width: int = 1280) -> None:
        """Open an address in light colours; forget the errors and the requests of what was open."""
        for seen in (self.errors, self.requests, self._events):
            seen.clear()
        self.size(width, 900)
        self.media("light")
        self.call("Page.navigate", url=url)
        end = time.monotonic() + 30
        while "Page.loadEventFired" not in self._events:
            if time.monotonic() > end:
                raise TimeoutError(url)
            self._read(30)

    def open_report(self, run: Path) -> None:
        """Open the page of a run with its cards."""
        self.open((run / "report.html").as_uri())
        self.wait("document.querySelectorAll('.card').length")

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression; a promise is awaited."""
        result = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:600])
        return result["result"].get("value")

    def wait(self, script: str, seconds: float = 20) -> Any:
        """Wait until a JavaScript expression is truthy."""
        end = time.monotonic() + seconds
        while not (value := self.run(script)):
            if time.monotonic() > end:
                raise TimeoutError(script)
            time.sleep(0.05)
        return value

    def size(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def media(self, scheme: str = "light", media: str = "") -> None:
        self.call(
            "Emulation.setEmulatedMedia",
            media=media,
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def press(self, key: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                text="\r" if key == "Enter" and kind == "keyDown" else "",
            )

    def _read(self, seconds: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._back], [], [], seconds)[0]:
                raise TimeoutError("no answer from the browser")
            chunk = os.read(self._back, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser went away")
            self._buffer += chunk
        raw, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(raw)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.errors.append(json.dumps(params["args"])[:500])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])


@contextlib.contextmanager
def chromium() -> Iterator[Page]:
    """A browser with an empty profile; ended and its profile removed on leaving."""
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # DevTools uses descriptors 3 and 4
        shell = f'exec "$@" 3<&{read_in} 4>&{write_out}'
        process = subprocess.Popen(
            [
                "/bin/bash",
                "-c",
                shell,
                "bash",
                EXECUTABLE,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-pipe",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-dev-shm-usage",
                f"--user-data-dir={profile}",
            ],
            pass_fds=(read_in, write_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_in)
        os.close(write_out)
        try:
            yield Page(write_in, read_out)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(write_in)
            os.close(read_out)
