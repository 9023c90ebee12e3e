"""Requests to a chat endpoint: what is sent, and the key under which its answer is kept."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from metaeval.metrics.judge.budget import Cost
from metaeval.readers.images import open_image

_QUALITY = 90  # of the JPEG that is sent
_MESSAGE_TOKENS = 8  # what a chat template adds to a message, about


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    Attributes
    ----------
    key
        SHA-256 of `text`, hexadecimal.
    text
        All that the answer may depend on, as canonical JSON; an image is its digest and size.
    payload
        The body of the HTTP request, without the image.
    image, size
        The image's file and the length of the longer side that is sent; `None` without an image.
    image_id, caption, rival, sample
        As in `metaeval.runs.answers.Answer`.
    """

    key: str
    text: str
    payload: Mapping[str, Any]
    image: Path | None
    size: int | None
    image_id: str
    caption: str
    rival: str | None
    sample: int

    def body(self) -> dict[str, Any]:
        """The body with the image as a data URL; InputError for an image that cannot be read."""
        body = dict(self.payload)
        if self.image is not None and self.size is not None:
            *others, last = body["messages"]
            parts = [
                {"type": "text", "text": last["content"]},
                {"type": "image_url", "image_url": {"url": data_url(self.image, self.size)}},
            ]
            body["messages"] = [*others, {**last, "content": parts}]
        return body

    def estimated_tokens(self, chars_per_token: float, image_tokens: int) -> int:
        """Tokens of the prompt, about: characters by a declared ratio, and those of the image."""
        texts = [m["content"] for m in self.payload["messages"]]
        text = sum(-int(-len(text) // chars_per_token) + _MESSAGE_TOKENS for text in texts)
        return text + (image_tokens if self.image is not None else 0)

    def most_cost(self, image_tokens: int, max_tokens: int) -> Cost:
        """What the request cannot exceed: no token of its prompt is shorter than a byte."""
        texts = [m["content"].encode() for m in self.payload["messages"]]
        text = sum(len(text) + 2 * _MESSAGE_TOKENS for text in texts)
        return Cost(1, text + (image_tokens if self.image is not None else 0), max_tokens)


class Attachment(NamedTuple):
    """An image that a request shows: its file, the digest of its content, and the size sent."""

    path: Path
    digest: bytes
    size: int


class Subject(NamedTuple):
    """What a request is about, as `metaeval.runs.answers.Answer` records it."""

    image_id: str
    caption: str
    rival: str | None = None
    sample: int = 0


def make_request(
    messages: Sequence[Mapping[str, str]],
    parameters: Mapping[str, object],
    endpoint: str,
    subject: Subject,
    image: Attachment | None = None,
) -> Request:
    """The request for one answer.

    `parameters` are the other fields of the body ("model", "temperature" …). An image belongs to
    the last message.
    """
    payload = {**parameters, "messages": list(messages)}
    identity: dict[str, Any] = {"endpoint": endpoint, "sample": subject.sample, **payload}
    path = size = None
    if image is not None:
        path, size = image.path, image.size
        identity["image"] = {"sha256": image.digest.hex(), "size": size, "jpeg": _QUALITY}
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    key = hashlib.sha256(text.encode()).hexdigest()
    return Request(key, text, payload, path, size, *subject)


def data_url(path: Path, size: int) -> str:
    """An image as a data URL: JPEG, its longer side at most `size` pixels."""
    with open_image(path) as image:
        image.thumbnail((size, size))
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=_QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def distinct_requests(requests: Sequence[Request]) -> list[Request]:
    """The requests of different keys, in the order of their first appearance."""
    return list({request.key: request for request in reversed(requests)}.values())[::-1]
