"""The downloader against a real HTTP server on the loopback that misbehaves on demand."""

import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from werkzeug import Request, Response

from metaeval.data.download import DownloadError, download
from tests.loopback import Endpoint

CONTENT = bytes(i * i % 251 for i in range(700_000))
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MD5 = hashlib.md5(CONTENT).hexdigest()


@pytest.fixture
def server() -> Iterator[SimpleNamespace]:
    """Serves `content`; `cut` closes connections after these numbers of bytes, once each."""
    state = SimpleNamespace(
        content=CONTENT,
        ranges=True,
        cut=[],
        statuses=[],
        length=True,
        length_told=None,  # instead of the right one
        requests=[],  # the Range header of each
        before=lambda: None,
    )

    def serve(request: Request) -> Response:
        wanted = request.headers.get("Range")
        state.requests.append(wanted)
        state.before()
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and state.ranges else 0
        end = len(state.content)
        if state.statuses or start >= end:
            return Response(status=state.statuses.pop(0) if state.statuses else 416)
        body = state.content[start:]
        sent = body[: state.cut.pop(0)] if state.cut else body
        response = Response(sent, 206 if start else 200)
        response.automatically_set_content_length = False
        response.headers["Content-Length"] = state.length_told or str(len(body))
        if not state.length:
            del response.headers["Content-Length"]
        if start:
            response.headers["Content-Range"] = f"bytes {start}-{end - 1}/{end}"
        return response

    with Endpoint(threaded=True) as http:
        http.expect_request("/folder/file.bin").respond_with_handler(serve)
        state.url = http.url_for("/folder/file.bin?x=1")
        yield state


def fetch(server: SimpleNamespace, target: Path, **options) -> Path:
    options = {"sha256": SHA256, "pause": 0.001, "timeout": 5, **options}
    return download(server.url, target, **options)


def part(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def holds(target: Path, server: SimpleNamespace, requests: list[str | None]) -> bool:
    """Whether the whole file is there, after these requests."""
    assert server.requests == requests
    return target.read_bytes() == CONTENT and not part(target).exists()


# what the server does, what is there before, options, and the ranges that are asked for
FETCHED = {
    "a whole file": ({}, {}, {"md5": MD5}, [None]),
    "what is there is not fetched again": (
        {},
        {"file.bin": CONTENT},
        {"sha256": None, "md5": MD5.upper()},
        [],
    ),
    "a damaged file is fetched again": ({}, {"file.bin": CONTENT[:-1] + b"!"}, {}, [None]),
    "a cut connection is continued": (
        {"cut": [300_000, 100_000]},
        {},
        {},
        [None, "bytes=300000-", "bytes=400000-"],
    ),
    "a server without range sends all again": (
        {"ranges": False, "cut": [300_000]},
        {},
        {},
        [None, "bytes=300000-"],
    ),
    "progress forgives earlier failures": (
        {"cut": [100_000] * 6},
        {},
        {"attempts": 2},
        [None, *(f"bytes={k}00000-" for k in range(1, 7))],
    ),
    "a part of another version is thrown away": (
        {},
        {"file.bin.part": b"of an older version"},
        {},
        ["bytes=19-", None],
    ),
    "a part that is too long is thrown away": (
        {},
        {"file.bin.part": CONTENT + b"more"},
        {},
        ["bytes=700004-", None],
    ),
    "a complete part needs no network": ({}, {"file.bin.part": CONTENT}, {}, []),
    "without a length the checksum decides": ({"length": False}, {}, {}, [None]),
    "a busy server is retried": ({"statuses": [503, 429]}, {}, {}, [None] * 3),
}


@pytest.mark.parametrize(("serving", "there", "options", "requests"), FETCHED.values(), ids=FETCHED)
def test_fetching(serving, there, options, requests, server, tmp_path):
    vars(server).update(serving)
    for name, content in there.items():
        (tmp_path / name).write_bytes(content)
    target = tmp_path / ("file.bin" if there else "new/folder/file.bin")
    assert fetch(server, target, **options) == target
    assert holds(target, server, requests)


def test_a_later_call_continues(server, tmp_path):
    server.cut = [300_000]
    target = tmp_path / "file.bin"
    with pytest.raises(DownloadError, match=r"broke off after 300,000 of 700,000 bytes; 300,000"):
        fetch(server, target, attempts=1)
    assert part(target).read_bytes() == CONTENT[:300_000]
    assert not target.exists()
    fetch(server, target, attempts=1)
    assert holds(target, server, [None, "bytes=300000-"])


# what the server does, options, the message, and the number of requests
GIVEN_UP = {
    "no range, and always cut": (
        {"ranges": False, "cut": [300_000] * 10},
        {"attempts": 3},
        "broke off",
        3,
    ),
    "wrong sha256": ({}, {"sha256": "0" * 64}, r"wrong checksum \(sha256 \w+ instead of 0", 1),
    "wrong md5": ({}, {"md5": "0" * 32}, r"wrong checksum \(md5 \w+ instead of 0", 1),
    "no length, and cut": ({"length": False, "cut": [300_000]}, {}, "wrong checksum", 1),
    **{
        f"length {length[:5]}": (
            {"length_told": length},
            {"attempts": 2},
            "the server names no length, but '",
            2,
        )
        for length in ("abc", "-5", "1_000", "٣".encode().decode("latin-1"), "9" * 40)
    },
    "a missing file": ({"statuses": [404]}, {}, "the server says 404", 1),
    "always busy": ({"statuses": [500] * 9}, {"attempts": 3}, "the server says 500", 3),
}


@pytest.mark.parametrize(("serving", "options", "problem", "n"), GIVEN_UP.values(), ids=GIVEN_UP)
def test_what_cannot_be_fetched(serving, options, problem, n, server, tmp_path):
    vars(server).update(serving)
    with pytest.raises(DownloadError, match=problem) as refused:
        fetch(server, tmp_path / "file.bin", **options)
    assert (len(str(refused.value).splitlines()), len(server.requests)) == (1, n)
    assert not (tmp_path / "file.bin").exists()
    # what came before a connection broke off is kept for a later call
    assert part(tmp_path / "file.bin").exists() == ("broke off" in problem)


def test_a_silent_server_times_out(server, tmp_path):
    release = threading.Event()
    server.before = lambda: release.wait(10)
    try:
        with pytest.raises(DownloadError, match="timed out"):
            fetch(server, tmp_path / "file.bin", timeout=0.1, attempts=2)
    finally:
        release.set()
    assert len(server.requests) == 2


def test_two_at_once_fetch_once(server, tmp_path):
    target = tmp_path / "file.bin"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: fetch(server, target), range(4)))
    assert holds(target, server, [None])


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("file:///etc/hostname", "only http and https"),
        ("http://[::1/x", r"http://\[::1/x: is not an address"),
        ("http://a.org:99999999/x", "is not an address"),
        ("http://127.0.0.1:9/x", "no connection"),
    ],
)
def test_addresses_that_are_none(url: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=problem):
        download(url, tmp_path / "x", sha256=SHA256, attempts=2, pause=0.001)


def test_bad_arguments(server, tmp_path):
    with pytest.raises(ValueError, match="checksum"):
        download(server.url, tmp_path / "x")
    other = tmp_path / "somebody's file"
    other.write_text("kept")
    (tmp_path / "x.lock").symlink_to(other)
    for target in (other / "below", tmp_path / "x"):
        with pytest.raises(DownloadError, match=f"{target.name}: cannot be written"):
            fetch(server, target, attempts=1)
    assert (server.requests, other.read_text()) == ([], "kept")


@pytest.mark.parametrize("length", [True, False])
def test_a_server_that_sends_more_than_is_accepted_is_cut_off(length, server, tmp_path):
    """With and without a length; what was sent before counts too, and nothing of it stays."""
    server.length = length
    target = tmp_path / "file.bin"
    message = "the server sends more than 400,000 bytes; check the address"
    for before in (b"", CONTENT[:300_000]):
        if before:
            part(target).write_bytes(before)
        with pytest.raises(DownloadError, match=message):
            fetch(server, target, most=400_000)
        assert not part(target).exists()
    assert server.requests == [None, "bytes=300000-"]
    fetch(server, target, most=len(CONTENT))
    assert target.read_bytes() == CONTENT
