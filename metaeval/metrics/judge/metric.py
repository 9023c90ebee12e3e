"""A judge as a metric: `metric=[judge] metric.judge.base_url=URL metric.judge.model=NAME`."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric
from metaeval.metrics.judge.client import Limits, key_from
from metaeval.metrics.judge.reply import PARSERS, Choice, Json, Parser, Regex, ReplayFiles
from metaeval.metrics.judge.requests import Budget, Price, Prompt
from metaeval.metrics.judge.scorer import JudgeScorer
from metaeval.options import NonNegativeInt, Positive, PositiveInt, Seed, checked
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store

ASPECTS = ("fidelity", "adequacy", "fluency")  # of the shipped prompt "aspects"
PAIRWISE_CHOICES = {"A": 1.0, "B": 0.0, "tie": 0.5}
_EXTRA = ("httpx", "tenacity", "aiolimiter")
_OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens")  # fields of a request
_KEY = re.compile("[!-~]+")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")


@checked
@dataclass(frozen=True, kw_only=True)
class Judge(Metric):
    """A metric whose scores are a model's answers to a prompt about each caption.

    Absolute prompts ask for a number. A prompt that uses `first` and `second` is pairwise: it asks
    which of two captions is better, once in each order, and the score of a caption against its
    rival is the mean of both preferences (1 it is preferred, 1/2 undecided, 0 the rival is).

    Parameters
    ----------
    base_url
        An OpenAI-compatible endpoint: "https://api.openai.com/v1", "http://localhost:8000/v1".
    model
        The model as the endpoint calls it.
    endpoint
        What the signature calls the endpoint; by default `base_url`. Give it where the same model
        is served at changing addresses.
    api_key_env
        The name of the environment variable that holds the key.
    prompt
        "absolute", "aspects", "pairwise", or a Jinja file.
    system
        A system message before the prompt.
    references
        How many references the prompt may show; `None` for all.
    image
        "none", or the longer side of the image that is sent, in pixels.
    parser
        How the score is read in an answer; by default by the prompt (see `reply.py`).
    fields, pattern, choices
        Options of the parsers `json`, `regex` and `choice`.
    bounds
        [lowest, highest] score: an answer outside cannot be parsed.
    temperature, seed, max_tokens, stop
        Parameters of the request. `seed` is increased by one with each sample.
    parameters
        More fields of the request: {reasoning_effort: low}.
    n_samples
        Answers a caption; the score is their mean.
    concurrency, requests_per_minute, tokens_per_minute
        Limits of the endpoint.
    timeout, retries, max_failures
        Seconds a call, attempts after the first, and failed captions after which the judge stops.
    budget
        Ceilings: {calls: 1000, tokens: 1e6, usd: 5}.
    price
        US dollars per million tokens: {input: 2.5, output: 10}.
    chars_per_token, image_tokens
        For estimates before anything is sent.
    dry_run
        Only print calls, tokens and price.
    replay, mode
        Files of recorded answers. "record" requests answers that are not in them, "replay" leaves
        it NaN, "replay_or_fail" fails. By default "replay" with files, else "record".
    batch_export, batch_import
        A file of requests to write for OpenAI's batch endpoint, and its file of answers to read.
    title
        What tables call the score, instead of `Judge (MODEL)`.
    """

    name = "judge"
    needs = frozenset()

    base_url: str | None = None
    model: str | None = None
    endpoint: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    prompt: str = "absolute"
    system: str | None = None
    references: NonNegativeInt | None = None
    image: Literal["none", 512, 1024] = "none"
    parser: Literal["number", "leading_number", "json", "regex", "choice", "expected"] | None = None
    fields: list[str] | None = None
    pattern: str | None = None
    choices: dict[str, float] | None = None
    bounds: list[float] | None = None
    temperature: float | None = 0.0
    seed: Seed | None = None
    max_tokens: PositiveInt = 64
    stop: str | list[str] | None = None
    parameters: dict[str, Any] | None = None
    n_samples: PositiveInt = 1
    concurrency: PositiveInt = 8
    requests_per_minute: PositiveInt | None = None
    tokens_per_minute: PositiveInt | None = None
    timeout: Positive = 60.0
    retries: NonNegativeInt = 5
    max_failures: NonNegativeInt | None = 50
    budget: Budget | None = None
    price: Price | None = None
    chars_per_token: Positive = 4.0
    image_tokens: PositiveInt = 1500
    dry_run: bool = False
    replay: str | list[str] | None = None
    mode: Literal["record", "replay", "replay_or_fail"] | None = None
    batch_export: str | None = None
    batch_import: str | None = None
    title: str | None = None

    @property
    def reads(self) -> frozenset[str]:
        image = {"image"} if self.image != "none" else set()
        return frozenset(image | ({"references"} if self.references != 0 else set()))

    def __post_init__(self) -> None:
        self._check_endpoint()
        if self.bounds is not None and (len(self.bounds) != 2 or self.bounds[0] >= self.bounds[1]):
            raise ConfigError(
                f"metric.judge.bounds is {self.bounds}, not [lowest, highest]; write e.g. [0,100]"
            )
        if self.price is None and self.budget is not None and self.budget.get("usd") is not None:
            raise ConfigError(
                "metric.judge.budget.usd needs prices; give "
                "metric.judge.price={input: USD, output: USD}, per million tokens"
            )
        if "n" in self.request_parameters:
            raise ConfigError(
                "metric.judge.parameters.n: one choice of a reply is read; "
                "write metric.judge.n_samples"
            )
        ceilings = {name for name, value in (self.budget or {}).items() if value is not None}
        if ceilings - {"calls"} and not self.request_parameters.keys() & set(_OUTPUT_LIMITS):
            raise ConfigError(
                "metric.judge.budget: the answers have no limit; give metric.judge.max_tokens or "
                "metric.judge.parameters.max_completion_tokens"
            )
        if self.pairwise and self.answer_parser.aspects:
            raise ConfigError("metric.judge.fields: a pairwise prompt has one score; leave it out")

    def _check_endpoint(self) -> None:
        if not _VARIABLE.fullmatch(self.api_key_env):
            # the value may be the key itself: it is not shown
            raise ConfigError(
                "metric.judge.api_key_env is not the name of an environment variable; give the "
                "name, e.g. OPENAI_API_KEY, never the key"
            )
        if self.base_url is not None:
            parts = urlsplit(self.base_url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ConfigError(
                    f"metric.judge.base_url: '{self.base_url}' is not an http address; "
                    "write e.g. http://localhost:8000/v1"
                )
            if parts.username or parts.password or parts.query:
                raise ConfigError(
                    "metric.judge.base_url contains a password or a query; give the key in the "
                    "environment variable that metric.judge.api_key_env names"
                )
        if self.files is None and (self.base_url is None or self.model is None):
            missing = "base_url" if self.base_url is None else "model"
            raise ConfigError(
                f"metric.judge.{missing} is not given; a judge needs base_url and model, "
                "or replay=FILE with recorded answers"
            )

    @cached_property
    def template(self) -> Prompt:
        """The prompt."""
        return Prompt(self.prompt)

    @property
    def pairwise(self) -> bool:
        """Whether it compares a caption with another one."""
        return self.template.pairwise

    @cached_property
    def answer_parser(self) -> Parser:
        """The parser of the answers; ConfigError for options that do not fit it."""
        low, high = self.scale
        name = self.parser or self._usual_parser()
        if name == Json.name:
            return Json(low, high, self._fields())
        if name == Regex.name:
            if self.pattern is None:
                raise ConfigError(r"metric.judge.pattern is not given; write e.g. 'Score: (\d+)'")
            return Regex(low, high, self.pattern)
        if name == Choice.name:
            choices = self.choices or (PAIRWISE_CHOICES if self.pairwise else None)
            if not choices:
                raise ConfigError("metric.judge.choices is not given; write e.g. {good: 1, bad: 0}")
            return Choice(low, high, choices)
        return PARSERS[name](low, high)

    def _usual_parser(self) -> str:
        if self.pairwise:
            return Choice.name
        return Json.name if self.prompt == "aspects" or self.fields else "leading_number"

    def _fields(self) -> list[str]:
        if self.fields is not None:
            return self.fields
        return list(ASPECTS) if self.prompt == "aspects" else []

    @property
    def scale(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        if self.bounds is not None:
            return float(self.bounds[0]), float(self.bounds[1])
        values = self.choices.values() if self.choices else ()
        if values and not self.pairwise:
            return min(values), max(values)
        return (0.0, 1.0) if self.pairwise else (0.0, 100.0)

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        kind = " pairwise" * self.pairwise + " expected" * (self.parser == "expected")
        whole = self.title or f"Judge{kind} ({self.label})"
        parts = [
            ScoreColumn(f"{whole}: {aspect}", part_of=whole, bounds=self.scale, headline=False)
            for aspect in self.answer_parser.aspects
        ]
        return (*parts, ScoreColumn(whole, bounds=self.scale))

    @property
    def label(self) -> str:
        """The model, or the file that its answers are replayed from."""
        if self.model is not None:
            return self.model
        first = self.replay if isinstance(self.replay, str) else (self.replay or ["?"])[0]
        return Path(first).stem

    @property
    def resolved_mode(self) -> str:
        """The mode, with its default."""
        return self.mode or ("replay" if self.replay else "record")

    @cached_property
    def files(self) -> ReplayFiles | None:
        """The recorded answers; `None` without `replay`."""
        return ReplayFiles(self.replay) if self.replay else None

    @property
    def limits(self) -> Limits:
        """How the endpoint is asked; `max_tokens` is the most that one call may answer."""
        limits = Limits(**{f.name: getattr(self, f.name) for f in fields(Limits)})
        most = [self.request_parameters.get(name) for name in _OUTPUT_LIMITS]
        return replace(limits, max_tokens=max(n for n in (1, *most) if isinstance(n, int)))

    @property
    def request_parameters(self) -> dict[str, object]:
        """The fields of a request besides its messages and its seed."""
        parameters = {
            "model": self.model,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "stop": self.stop,
        }
        if self.answer_parser.name == "expected":
            parameters |= {"logprobs": True, "top_logprobs": 20}
        return {k: v for k, v in {**parameters, **(self.parameters or {})}.items() if v is not None}

    def settings(self) -> dict[str, object]:
        """What would change a score."""
        settings: dict[str, object]
        if self.files is not None and not self.files.by_request:
            settings = {"answers": self.files.sha256[:12]}
        else:
            more = {**self.request_parameters, "seed": self.seed, "system": self.system}
            text = json.dumps(more, sort_keys=True)
            settings = {
                "endpoint": self.endpoint or self.base_url,
                "model": self.model,
                "prompt": f"{self.template.label}-{self.template.digest}",
                "refs": "all" if self.references is None else self.references,
                "image": self.image,
                "request": hashlib.sha256(text.encode()).hexdigest()[:12],
                "samples": self.n_samples,
            }
        low, high = self.scale
        settings["parser"] = self.answer_parser.signature
        return {**settings, "scale": f"{low:g}-{high:g}", "v": 1}

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> JudgeScorer | Absent:
        by_item = self.files is not None and not self.files.by_request
        if self.image != "none" and not by_item:
            images = dataset.part("images")
            if isinstance(images, Absent):
                return images
        if self.resolved_mode == "record" and not (self.dry_run or self.batch_export):
            if missing := [name for name in _EXTRA if find_spec(name) is None]:
                return Absent(
                    "judge", f"{missing[0]} is not installed", "pip install 'metaeval[judge]'"
                )
            host, key = urlsplit(self.base_url or "").hostname, key_from(self.api_key_env)
            if key is not None and not _KEY.fullmatch(key):
                return Absent(
                    "key",
                    f"the environment variable {self.api_key_env} has a space, a line break, a "
                    "control character or one that is not ASCII",
                    "set it to the key alone",
                )
            if key is None and host not in ("localhost", "127.0.0.1", "::1"):
                return Absent(
                    "key",
                    f"the environment variable {self.api_key_env} is not set",
                    f"export {self.api_key_env}=…, or name another in metric.judge.api_key_env",
                )
        return JudgeScorer(self, dataset, store)

    def __getstate__(self) -> dict[str, object]:
        """Without what was read: another process reads it itself."""
        lazy = ("template", "answer_parser", "files")
        return {key: value for key, value in vars(self).items() if key not in lazy}
