"""A judge as a metric: `metric=[judge] metric.judge.base_url=URL metric.judge.model=NAME`."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from metaeval import progress
from metaeval.data import annotated_images
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.base import Metric, NotScored, Scorer, Scores, reference_digests, split_pair
from metaeval.metrics.judge.client import Endpoint, key_from
from metaeval.metrics.judge.reply import (
    PARSERS,
    Choice,
    Json,
    Parser,
    Regex,
    ReplayFiles,
    export_batch,
    import_batch,
)
from metaeval.metrics.judge.requests import (
    Attachment,
    Budget,
    Cost,
    Ledger,
    Price,
    Prompt,
    Request,
    Subject,
    make_request,
    usage_of,
)
from metaeval.options import NonNegativeInt, Positive, PositiveInt, Seed, checked
from metaeval.readers.files import user_path
from metaeval.runs.answers import SURROGATE, Answer, current_journal
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store

log = logging.getLogger(__name__)

_NAMESPACE = "answers of judges"
_LEDGERS: WeakKeyDictionary[object, dict[str, Ledger]] = WeakKeyDictionary()  # by run
UNPARSED, UNANSWERED, TRUNCATED, ESCAPED = COUNTED = (
    "captions with an answer that cannot be parsed",
    "captions without an answer",
    "captions with an answer cut at max_tokens",
    "captions with an answer that is stored escaped",
)


class JudgeScorer(Scorer):
    """Asks a model about the captions of a dataset.

    Scores are not cached: they are read anew in the answers, and the answers are kept, in the
    score cache and in the run's folder.
    """

    cacheable = False
    saves_itself = True
    usual_ms = 200.0
    batch_size = 1_000_000_000
    counted = MappingProxyType(dict.fromkeys(COUNTED, "captions"))

    def __init__(self, metric: Judge, dataset: CaptionDataset, store: Store | None) -> None:
        super().__init__(metric.columns, metric.settings())
        self.metric, self.dataset, self.store = metric, dataset, store
        self._answers: dict[str, Answer] = {}
        self._counts: dict[tuple[str, int], tuple[bool, ...]] = {}
        self._failures: dict[str, str] = {}  # key of a request → why it has no answer

    def context(self, index: int) -> bytes:
        return reference_digests(self.dataset)[index]

    @cached_property
    def _paths(self) -> list[Path | None]:
        return annotated_images.paths_of(self.dataset)

    @cached_property
    def _digests(self) -> list[bytes | None]:
        return annotated_images.digests(self._paths, self.store)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        index, files = image_index.tolist(), self.metric.files
        if files is not None and not files.by_request:
            of_items = [self._of_file(c, i) for c, i in zip(captions, index, strict=True)]
        else:
            items = [self._requests(c, i) for c, i in zip(captions, index, strict=True)]
            self._get_answers([request for item in items for request, _ in item])
            of_items = [[(self._answers.get(r.key), back) for r, back in item] for item in items]
        rows = [self._row(*each) for each in zip(captions, index, of_items, strict=True)]
        return np.array(rows, dtype=np.float64).reshape(len(captions), len(self.columns))

    def _of_file(self, caption: str, index: int) -> list[tuple[Answer | None, bool]]:
        """The answers of a foreign file, which belong to images and captions."""
        image_id, files = str(self.dataset.image_ids[index]), self.metric.files
        answers = files.of_item(image_id, caption) if files is not None else []
        if not answers and self.metric.resolved_mode == "replay_or_fail":
            raise self._not_recorded(image_id, caption)
        return [(answer, False) for answer in answers]

    def _row(
        self, text: str, index: int, answers: Sequence[tuple[Answer | None, bool]]
    ) -> list[float]:
        """The scores of one item: the mean of its answers, for each aspect and over all."""
        parser, n, journal = self.metric.answer_parser, len(self.columns), current_journal()
        low, high = self.metric.scale
        values, unparsed, cut, escaped, missing = [], False, False, False, not answers
        for answer, swapped in answers:
            if answer is None:
                missing = True
                continue
            parsed = parser.read(answer)
            bad = any(map(math.isnan, parsed))
            unparsed |= bad
            cut |= answer.finish_reason == "length"
            escaped |= SURROGATE.search(answer.answer) is not None  # `storable` escapes it
            if journal is not None:  # pairwise, the score of the caption A
                score = math.nan if bad else float(np.mean(parsed))
                usage = usage_of(answer)
                usd = None if None in usage else Cost(1, *usage).usd(self.metric.price)  # type: ignore[arg-type]
                journal.use(replace(answer, score=score, judge=self.columns[-1].name, usd=usd))
            if swapped:
                parsed = tuple(low + high - value for value in parsed)
            values.append(parsed)
        self._counts[text, index] = unparsed, missing, cut, escaped
        incomplete = missing or unparsed
        if not values or (self.metric.pairwise and incomplete):
            return [math.nan] * n  # one order alone would carry the order's bias
        table = np.array(values)
        table = table[~np.isnan(table).any(axis=1)]
        if missing or not len(table):
            return [math.nan] * n
        means = table.mean(axis=0).tolist()
        return [*means, float(np.mean(means))] if parser.aspects else means

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        counts = [self._counts[c, i] for c, i in zip(captions, image_index.tolist(), strict=True)]
        return np.array(counts, dtype=np.int64).reshape(len(captions), len(self.counted))

    def why_unscored(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> tuple[str, str]:
        if not self._failures:
            return "", ""
        n = sum(self._counts[c, i][1] for c, i in zip(captions, image_index.tolist(), strict=True))
        return (
            f"{n:,} captions have no answer; the last request: {[*self._failures.values()][-1]}",
            "the same command requests them again",
        )

    def _requests(self, text: str, index: int) -> list[tuple[Request, bool]]:
        """The requests for a caption, or, pairwise, for a caption and its rival in both orders;
        each with whether the rival is first."""
        metric, image_id = self.metric, str(self.dataset.image_ids[index])
        caption, rival = split_pair(text)
        if metric.pairwise and rival is None:
            raise ValueError("a pairwise judge needs two captions")
        if not self._shows_something(index):
            return []
        orders = [(caption, rival), (rival, caption)] if rival is not None else [(caption, None)]
        return [
            (self._request(index, image_id, str(first), second, sample), bool(k))
            for k, (first, second) in enumerate(orders)
            for sample in range(metric.n_samples)
        ]

    def _shows_something(self, index: int) -> bool:
        """Whether the prompt has the references or the image that the options require."""
        if self.metric.references == 0 and self.metric.image == "none":
            return True
        references = self.metric.references != 0 and bool(self.dataset.references[index])
        return references or (self.metric.image != "none" and self._paths[index] is not None)

    def _request(
        self, index: int, image_id: str, first: str, second: str | None, sample: int
    ) -> Request:
        metric, image = self.metric, None
        if metric.image != "none" and (path := self._paths[index]) is not None:
            image = Attachment(path, self._digests[index] or b"", metric.image)
        references = list(self.dataset.references[index][: metric.references])
        captions = {"caption": first} if second is None else {"first": first, "second": second}
        prompt = metric.template.render(**captions, references=references, image=image is not None)
        messages = [{"role": "user", "content": prompt}]
        if metric.system:
            messages.insert(0, {"role": "system", "content": metric.system})
        parameters = metric.request_parameters
        if metric.seed is not None:
            parameters["seed"] = metric.seed + sample
        subject = Subject(image_id, first, second, sample)
        endpoint = str(metric.endpoint or metric.base_url)
        return make_request(messages, parameters, endpoint, subject, image)

    def _get_answers(self, requests: Sequence[Request]) -> None:
        """Fill `_answers`: from the files, the run's folder and the cache, then from the model."""
        metric = self.metric
        wanted: dict[str, Request] = {}  # of different keys, in the order in which they come
        for request in requests:
            if request.key not in self._answers:
                wanted.setdefault(request.key, request)
        for key in wanted:
            if (answer := self._recorded(key)) is not None:
                self._answers[key] = answer
        if metric.resolved_mode == "record":
            self._read_store([key for key in wanted if key not in self._answers])
            if metric.batch_import is not None:
                missing = {k: r for k, r in wanted.items() if k not in self._answers}
                self._save(import_batch(user_path(str(metric.batch_import)), missing))
        todo = [r for key, r in wanted.items() if key not in self._answers]
        if not todo:
            return
        if metric.resolved_mode == "replay_or_fail":
            raise self._not_recorded(*todo[0].subject[:2])
        if metric.resolved_mode == "record" and metric.batch_import is None:
            self._ask(todo, [r for key, r in wanted.items() if key in self._answers])

    def _recorded(self, key: str) -> Answer | None:
        files, journal = self.metric.files, current_journal()
        answer = files.by_key.get(key) if files is not None else None
        if answer is None and journal is not None and self.metric.resolved_mode == "record":
            answer = journal.get(key)
        return answer

    def _read_store(self, keys: Sequence[str]) -> None:
        if self.store is None:
            return
        known = self.store.get_many(_NAMESPACE, [bytes.fromhex(key) for key in keys])
        for key, value in known.items():
            record = json.loads(value)
            self._answers[key.hex()] = Answer.from_record(record, file=None, where="the cache")

    def _ask(self, todo: Sequence[Request], answered: Sequence[Request]) -> None:
        metric = self.metric
        # one budget for all of a run's requests to this judge, however often it is bound
        of_run = _LEDGERS.setdefault(current_journal() or self, {})
        ledger = of_run.setdefault(self.signatures[-1], Ledger(metric.budget or {}, metric.price))
        for request in answered:
            most = request.most_cost(metric.image_tokens, metric.longest_answer)
            ledger.record(most, usage_of(self._answers[request.key]), request.key)
        if metric.dry_run or metric.batch_export is not None:
            self._send_nothing(todo)
        key = key_from(metric.api_key_env)
        done, unparsed, line, before = 0, 0, progress.current(), ledger.spent

        def save(answer: Answer) -> None:
            nonlocal unparsed
            self._save([answer])
            unparsed += any(map(math.isnan, metric.answer_parser.read(answer)))

        endpoint = Endpoint(metric, key, ledger, save)
        with progress.progress_bar(total=len(todo), desc=metric.name, unit=" calls") as bar:

            def advance(n: int) -> None:
                nonlocal done
                done += n
                bar.update(n)
                spent = ledger.spent.minus(before)
                facts = [
                    f"{done:,} of {len(todo):,} requests",
                    f"{len(answered):,} recorded before",
                ]
                facts += [f"{endpoint.repeated:,} repeated"] if endpoint.repeated else []
                facts += [f"{len(endpoint.failures):,} failed", f"{unparsed:,} unparsed"]
                facts.append(f"{spent.input + spent.output:,} tokens")
                if (usd := spent.usd(metric.price)) is not None:
                    to_come = usd * (len(todo) - done) / done
                    facts.append(f"{usd:,.2f} USD, about {to_come:,.2f} to come")
                line.report(done, len(todo), ", ".join(facts))

            endpoint.ask_all(todo, advance)
        self._failures |= endpoint.failures
        journal = current_journal()
        if journal is not None and endpoint.repeated:
            journal.repeated[self.columns[-1].name] += endpoint.repeated
        if endpoint.failures:
            if journal is not None:
                journal.failed[self.columns[-1].name] += len(endpoint.failures)
            reasons = list(endpoint.failures.values())
            log.warning(
                "%s: %s of %s requests have no answer, the last: %s; their captions are not "
                "scored; the same command requests them again",
                self.columns[-1].name,
                f"{len(reasons):,}",
                f"{len(todo):,}",
                reasons[-1],
            )

    def _send_nothing(self, todo: Sequence[Request]) -> None:
        """Write the batch file, or state the cost of the requests; then the metric is skipped."""
        metric = self.metric
        if metric.batch_export is not None:
            path = user_path(metric.batch_export)
            export_batch(path, todo)
            raise NotScored(
                f"{len(todo):,} requests are written to {path}",
                "run again with metric.judge.batch_import=FILE when they are answered",
            )
        tokens = sum(r.estimated_tokens(metric.chars_per_token, metric.image_tokens) for r in todo)
        cost = Cost(len(todo), tokens, len(todo) * metric.longest_answer)
        usd = cost.usd(metric.price)
        price = "no price is declared" if usd is None else f"at most about {usd:,.2f} USD"
        raise NotScored(
            f"dry run: {cost.calls:,} calls, about {cost.input:,} tokens of prompts and at most "
            f"{cost.output:,} of answers, {price}; nothing was sent",
            "run again without metric.judge.dry_run",
        )

    def _save(self, answers: Iterable[Answer]) -> None:
        """Put answers on disk, in the run's folder and in the cache."""
        journal = current_journal()
        for answer in answers:
            if journal is not None:
                journal.append(answer)
            if self.store is not None:
                value = answer.to_json().encode()
                self.store.put_many(_NAMESPACE, {bytes.fromhex(answer.key): value})
            self._answers[answer.key] = answer

    def _not_recorded(self, image_id: str, caption: str) -> InputError:
        return InputError(
            f"no answer is recorded for {caption!r:.100} of image {image_id}; "
            "metric.judge.mode=replay leaves such captions unscored",
            field="metric.judge.replay",
        )


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
        of_prompt = ASPECTS if self.prompt == "aspects" else ()
        fields = of_prompt if self.fields is None else self.fields
        name = self.parser or (Json.name if fields or of_prompt else "leading_number")
        name = Choice.name if self.pairwise and self.parser is None else name
        if name == Json.name:
            return Json(low, high, fields)
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
    def longest_answer(self) -> int:
        """The most tokens that one call may answer."""
        most = [self.request_parameters.get(name) for name in _OUTPUT_LIMITS]
        return max(n for n in (1, *most) if isinstance(n, int))

    @property
    def is_local(self) -> bool:
        """Whether the endpoint is on this machine."""
        return urlsplit(self.base_url or "").hostname in ("localhost", "127.0.0.1", "::1")

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
            key = key_from(self.api_key_env)
            if key is not None and not _KEY.fullmatch(key):
                return Absent(
                    "key",
                    f"the environment variable {self.api_key_env} has a space, a line break, a "
                    "control character or one that is not ASCII",
                    "set it to the key alone",
                )
            if key is None and not self.is_local:
                return Absent(
                    "key",
                    f"the environment variable {self.api_key_env} is not set",
                    f"export {self.api_key_env}=…, or name another in metric.judge.api_key_env",
                )
        return JudgeScorer(self, dataset, store)
