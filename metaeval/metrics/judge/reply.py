"""Reading a reply of a chat endpoint: of a limited size, with its usage, and without the key."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from metaeval.errors import InputError
from metaeval.metrics.judge.budget import UNKNOWN, Usage
from metaeval.metrics.judge.requests import Request
from metaeval.readers.json_text import parse_json
from metaeval.readers.values import is_number
from metaeval.runs.answers import Answer, storable, token_count

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 1 << 24  # of a reply, unpacked
SHORTEST_KEY = 8  # characters; a shorter one is a placeholder ("EMPTY", "0"), not a secret
_LOGPROB_POSITIONS = 32


class BadReply(Exception):
    """A reply that is not a chat completion; `usage` is what it costs all the same."""

    def __init__(self, problem: str, usage: Usage = UNKNOWN) -> None:
        super().__init__(problem)
        self.usage = usage


async def read_body(response: httpx.Response) -> bytes:
    """The unpacked bytes of a reply; BadReply for more than MOST_BYTES, before they are there."""
    encoding = response.headers.get("Content-Encoding") or "identity"
    if encoding not in ("identity", "gzip"):
        raise BadReply(f"Content-Encoding {encoding!r:.40} was not requested")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress if encoding == "gzip" else None
    body = bytearray()
    async for chunk in response.aiter_raw():
        try:
            body += unpack(chunk, MOST_BYTES + 1 - len(body)) if unpack else chunk
        except zlib.error as error:
            raise BadReply(f"damaged gzip ({error})") from None
        if len(body) > MOST_BYTES:
            raise BadReply(f"more than {MOST_BYTES:,} bytes")
    return bytes(body)


def read_answer(
    request: Request, body: bytes, seconds: float, redact: Callable[[str], str] = str
) -> Answer:
    """The answer in the bytes of a reply; BadReply where it is not a chat completion."""
    usage = UNKNOWN
    try:
        reply = parse_json(body.decode(), "the reply")
        usage = _usage(reply)
        return answer_from(request, reply, round(seconds, 4), redact)
    except (InputError, ValueError) as error:
        raise BadReply(redact(str(error)), usage) from None


def answer_from(
    request: Request, reply: Any, seconds: float | None, redact: Callable[[str], str] = str
) -> Answer:
    """The answer in a chat completion; ValueError where it is not one."""
    try:
        choice = reply["choices"][0]
        message, logprobs = choice["message"], _logprobs(choice.get("logprobs"))
        content = message.get("content")
        if content is not None and not isinstance(content, str):
            raise TypeError("the content is not text")
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None

    def text(value: Any) -> str | None:
        return storable(redact(value)) if isinstance(value, str) else None

    usage = _usage(reply)
    return Answer(
        key=request.key,
        request=request.text,
        answer=text(content) or "",
        image_id=request.image_id,
        caption=request.caption,
        rival=request.rival,
        sample=request.sample,
        finish_reason=text(choice.get("finish_reason")),
        refusal=text(message.get("refusal")),
        logprobs=text(logprobs),
        prompt_tokens=usage.prompt,
        completion_tokens=usage.completion,
        seconds=seconds,
        model=text(reply.get("model")),
    )


def redaction(key: str | None) -> Callable[[str], str]:
    """A function that removes the key from a text, however JSON escapes it there.

    Keys shorter than SHORTEST_KEY and keys that are numbers stay: they are placeholders, and they
    occur in the numbers of answers.

    >>> redaction("sk-12/abc")('{"message": "bad key sk-12\\\\/\\\\u0061bc"}'), redaction("0")("70")
    ('{"message": "bad key [key]"}', '70')
    """
    if key is None or len(key) < SHORTEST_KEY or re.fullmatch(r"[-+.\deE]+", key):
        return str
    # backslashes: one for each JSON text within another, and a limit, so that none costs time
    escaped = [rf"\\{{0,8}}(?:{re.escape(c)}|u(?i:{ord(c):04x}))" for c in key]
    pattern = re.compile("".join(escaped))
    return lambda text: pattern.sub("[key]", text)


def _usage(reply: Any) -> Usage:
    stated = reply.get("usage") if isinstance(reply, dict) else None
    if not isinstance(stated, dict):
        return UNKNOWN
    return Usage(
        token_count(stated.get("prompt_tokens")), token_count(stated.get("completion_tokens"))
    )


def _logprobs(value: Any) -> str | None:
    """Positions as JSON: the token that was said, then [token, logprob] of the most probable."""
    positions = value.get("content") if isinstance(value, dict) else None
    if not positions:
        return None
    rows = []
    for position in positions[:_LOGPROB_POSITIONS]:
        tops = [(top["token"], top["logprob"]) for top in position["top_logprobs"]]
        tokens = [position["token"], *(token for token, _ in tops)]
        if not all(isinstance(token, str) for token in tokens):
            raise TypeError("a token is not text")
        if not all(is_number(logprob) and logprob < 1 for _, logprob in tops):
            raise TypeError("a logprob is not the logarithm of a probability")
        rows.append([[position["token"]], *map(list, tops)])
    return json.dumps(rows, ensure_ascii=False)
