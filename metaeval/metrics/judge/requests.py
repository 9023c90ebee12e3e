"""Requests to a chat endpoint: what is sent, and the key under which its answer is kept.

What a judge may spend: a ceiling on calls, tokens and money that is never exceeded.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import StrictUndefined, Template
from jinja2.sandbox import SandboxedEnvironment
from typing_extensions import TypedDict

from metaeval.errors import ConfigError
from metaeval.options import NotNegative, PositiveInt
from metaeval.readers.files import read_text, user_path
from metaeval.readers.images import open_image
from metaeval.runs.answers import Answer


class Budget(TypedDict, total=False):
    """Ceilings for all calls of a run, those of an earlier, interrupted attempt included."""

    calls: PositiveInt | None
    tokens: PositiveInt | None
    usd: NotNegative | None


class Price(TypedDict):
    """US dollars per million tokens."""

    input: NotNegative
    output: NotNegative


class Cost(NamedTuple):
    """Calls, tokens of prompts and of answers."""

    calls: int = 0
    input: int = 0
    output: int = 0

    def plus(self, other: Cost) -> Cost:
        """The sum of both."""
        return Cost(self.calls + other.calls, self.input + other.input, self.output + other.output)

    def minus(self, other: Cost) -> Cost:
        """The difference of both."""
        return Cost(self.calls - other.calls, self.input - other.input, self.output - other.output)

    def usd(self, price: Price | None) -> float | None:
        """Its price, `None` where no price is declared."""
        if price is None:
            return None
        return (self.input * price["input"] + self.output * price["output"]) / 1e6


class Usage(NamedTuple):
    """Tokens of prompt and answer that a reply states, `None` where it states none."""

    prompt: int | None = None
    completion: int | None = None


UNKNOWN = Usage()
NOTHING = Usage(0, 0)  # of a request that is not charged


def usage_of(answer: Answer) -> Usage:
    """The usage that is recorded with an answer."""
    return Usage(answer.prompt_tokens, answer.completion_tokens)


@dataclass
class Ledger:
    """Spends a budget: a request's greatest possible cost is reserved before it is sent.

    Attributes
    ----------
    spent, reserved
        What was paid, and the greatest possible cost of what is in flight.
    unstated
        Calls of unknown usage, which count as the most that was reserved for them.
    """

    budget: Budget
    price: Price | None
    spent: Cost = field(default_factory=Cost)
    reserved: Cost = field(default_factory=Cost)
    unstated: int = 0
    _counted: set[str] = field(default_factory=set)

    def record(self, most: Cost, usage: Usage, key: str = "") -> None:
        """Count a call of at most this cost; an answer, by its request's key, counts once."""
        if key in self._counted:
            return
        self._counted |= {key} if key else set()
        self.unstated += None in usage
        prompt, completion = usage
        self.spent = self.spent.plus(
            Cost(
                1,
                most.input if prompt is None else prompt,
                most.output if completion is None else completion,
            )
        )

    def exceeded_by(self, cost: Cost) -> str | None:
        """The ceiling that this cost would exceed: "budget.calls=100"."""
        total = self.spent.plus(self.reserved).plus(cost)
        values = (
            ("calls", total.calls),
            ("tokens", total.input + total.output),
            ("usd", total.usd(self.price) or 0.0),
        )
        for name, value in values:
            ceiling = self.budget.get(name)
            if isinstance(ceiling, int | float) and value > ceiling:
                return f"budget.{name}={ceiling:g}"
        return None

    def settle(self, reserved: Cost, usage: Usage, key: str) -> None:
        """Replace a reserved cost by the real one; a failed attempt has no key."""
        self.reserved = self.reserved.minus(reserved)
        self.record(reserved, usage, key)


FOLDER = Path(__file__).parent / "prompts"
SHIPPED = ("absolute", "aspects", "pairwise")
_MOST = 1 << 20  # bytes of a prompt file
_EXAMPLE = {
    "caption": "a dog",
    "first": "a dog",
    "second": "a cat",
    "references": ["a dog runs"],
    "image": True,
}


class Prompt:
    """A prompt file that renders to the text of a request.

    A template sees `caption` (or, pairwise, `first` and `second`), `references` (a list, perhaps
    empty) and `image` (whether one is attached).

    Parameters
    ----------
    name
        One of `SHIPPED`, or the path of a .jinja file.

    Raises ConfigError for a template that cannot be rendered, InputError for a missing file.
    """

    def __init__(self, name: str) -> None:
        self.path = FOLDER / f"{name}.jinja" if name in SHIPPED else user_path(name)
        if name not in SHIPPED and self.path.suffix not in (".jinja", ".j2", ".txt"):
            raise ConfigError(
                f"metric.judge.prompt: '{name}' is neither a shipped prompt "
                f"({', '.join(SHIPPED)}) nor a .jinja file"
            )
        self.source = read_text(self.path, _MOST).text
        self.label = self.path.stem
        text = self.render(**_EXAMPLE)
        other = self.render(**{**_EXAMPLE, "caption": "a bus", "first": "a bus"})
        if text == other:
            raise ConfigError(
                f"{self.path}: the prompt does not contain the caption; "
                "write {{ caption }}, or {{ first }} and {{ second }}"
            )

    @property
    def pairwise(self) -> bool:
        """Whether it is pairwise."""
        one, other = (self.render(**{**_EXAMPLE, "second": text}) for text in ("a cat", "a bus"))
        return one != other

    @property
    def digest(self) -> str:
        """12 hexadecimal digits of SHA-256 of the file's text."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:12]

    @cached_property
    def _template(self) -> Template:
        environment = SandboxedEnvironment(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        return environment.from_string(self.source)

    def render(self, **values: Any) -> str:
        """The text of a request."""
        try:
            return self._template.render(**values)
        except Exception as error:  # whatever the user's template does with its values
            line = getattr(error, "lineno", None)
            where = f", line {line}" if line else ""
            problem = " ".join(str(getattr(error, "message", None) or error).split())
            raise ConfigError(
                f"{self.path}{where}: the prompt cannot be rendered: {problem}; "
                "it may use caption, first, second, references and image"
            ) from None


_QUALITY = 90  # of the JPEG that is sent
_MESSAGE_TOKENS = 8  # what a chat template adds to a message, about


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
    subject, image
        What it is about, and the image that it shows, if any.
    """

    key: str
    text: str
    payload: Mapping[str, Any]
    subject: Subject
    image: Attachment | None

    def body(self) -> dict[str, Any]:
        """The body with the image as a data URL; InputError for an image that cannot be read."""
        body = dict(self.payload)
        if self.image is not None:
            *others, last = body["messages"]
            url = data_url(self.image.path, self.image.size)
            parts = [
                {"type": "text", "text": last["content"]},
                {"type": "image_url", "image_url": {"url": url}},
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
    if image is not None:
        shown = {"sha256": image.digest.hex(), "size": image.size, "jpeg": _QUALITY}
        identity["image"] = shown
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    key = hashlib.sha256(text.encode()).hexdigest()
    return Request(key, text, payload, subject, image)


def data_url(path: Path, size: int) -> str:
    """An image as a data URL: JPEG, its longer side at most `size` pixels."""
    with open_image(path) as image:
        image.thumbnail((size, size))
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=_QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
