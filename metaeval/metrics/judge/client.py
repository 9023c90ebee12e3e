"""Asking an OpenAI-compatible chat endpoint: concurrently, within limits, with bounded patience."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import mktime_tz, parsedate_tz
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from metaeval.errors import InputError, MetaevalError
from metaeval.metrics.judge.reply import BadReply, read_answer, read_body, redaction
from metaeval.metrics.judge.requests import (
    NOTHING,
    UNKNOWN,
    Cost,
    Ledger,
    Request,
    Usage,
    usage_of,
)
from metaeval.readers.files import one_line
from metaeval.runs.answers import Answer

if TYPE_CHECKING:
    import httpx

    from metaeval.metrics.judge.metric import Judge

log = logging.getLogger(__name__)

_RETRIED = frozenset({408, 409, 425, 429})
_FATAL = {
    401: "the key is refused",
    403: "the key may not use this model",
    404: "no such address or model",
}
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0  # seconds between attempts
_LONGEST_RETRY_AFTER = 600.0
_MOST_MESSAGE = 1 << 16  # bytes of a refusal that are searched for its reason


class Retriable(Exception):
    """An attempt that may succeed later.

    `retry_after` is the endpoint's wait, `usage` what the attempt has cost.
    """

    def __init__(
        self, reason: str, retry_after: float | None = None, usage: Usage = NOTHING
    ) -> None:
        super().__init__(reason)
        self.retry_after, self.usage = retry_after, usage


class RequestFailed(Exception):
    """A request that this endpoint will not answer."""


class JudgeStopped(MetaevalError):
    """The judge cannot go on: a refused key, too many failures, or a reached budget."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.remedy = remedy


@dataclass
class Endpoint:
    """A chat endpoint.

    Parameters
    ----------
    judge
        The options: address, concurrency, rates, patience.
    key
        Sent as a bearer token; it is removed from whatever the endpoint returns (see `redaction`).
    ledger
        The budget.
    save
        Called with each answer before the next request: it must be on disk on return.
    """

    judge: Judge
    key: str | None
    ledger: Ledger
    save: Callable[[Answer], None]
    failures: dict[str, str] = field(default_factory=dict)
    repeated: int = 0  # attempts after the first of a request
    _not_before: float = 0.0
    _stop: MetaevalError | None = None

    def ask_all(self, requests: Sequence[Request], advance: Callable[[int], None]) -> None:
        """Ask every request; answers go to `save`, reasons of failures to `failures` by key.

        `advance` is called with the number of requests that are done. Raises
        JudgeStopped; what was answered until then is saved.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            asyncio.run(self._ask_all(requests, advance))
            return
        # a notebook runs a loop of its own in this thread
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, self._ask_all(requests, advance)).result()

    async def _ask_all(self, requests: Sequence[Request], advance: Callable[[int], None]) -> None:
        import httpx
        from aiolimiter import AsyncLimiter

        logging.getLogger("httpx").setLevel(logging.WARNING)  # a line for every request
        self._redact = redaction(self.key)
        n = min(self.judge.concurrency, len(requests))
        per_minute, tokens = self.judge.requests_per_minute, self.judge.tokens_per_minute
        self._requests = AsyncLimiter(1, 60 / per_minute) if per_minute else None
        self._tokens = AsyncLimiter(tokens, 60) if tokens else None
        self._settled = asyncio.Condition()
        trusts = not self.judge.is_local  # proxies and certificates of the environment
        headers = {"Accept-Encoding": "gzip", "Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {self.key}"} if self.key else {}
        queue = iter(requests)
        async with httpx.AsyncClient(
            headers=headers,
            timeout=None,  # each attempt has one timeout as a whole
            trust_env=trusts,
            limits=httpx.Limits(),
        ) as http:
            workers = [asyncio.create_task(self._work(queue, http, advance)) for _ in range(n)]
            try:
                await asyncio.gather(*workers)
            finally:  # an interrupt: what is in flight is lost
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
        if self._stop is not None:
            raise self._stop

    async def _work(
        self, queue: Iterator[Request], http: httpx.AsyncClient, advance: Callable[[int], None]
    ) -> None:
        """Ask one request after another, until one worker has a reason to stop."""
        while self._stop is None and (request := next(queue, None)) is not None:
            try:
                try:
                    answer = await self._answer(request, http)
                except Retriable as error:
                    attempts = self.judge.retries + 1
                    self._fail(request, f"{error}" + f" ({attempts} attempts)" * (attempts > 1))
                except (RequestFailed, InputError) as error:
                    self._fail(request, str(error))
                else:
                    self.save(answer)
            except MetaevalError as error:
                self._stop = self._stop or error  # the other workers save what is in flight
            advance(1)

    def _fail(self, request: Request, reason: str) -> None:
        self.failures[request.key] = reason
        most = self.judge.max_failures
        image_id, caption, *_ = request.subject
        log.info("no answer for %r of image %s: %s", caption, image_id, reason)
        if most is not None and len(self.failures) > most:
            raise JudgeStopped(
                f"more than {most} requests failed, the last with: {reason}",
                "run the same command again to go on, or raise metric.judge.max_failures",
            )

    async def _answer(self, request: Request, http: httpx.AsyncClient) -> Answer:
        """The answer to a request, after as many attempts as allowed."""
        from tenacity import (
            AsyncRetrying,
            RetryCallState,
            retry_if_exception_type,
            stop_after_attempt,
            wait_random_exponential,
        )

        backoff = wait_random_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT)

        def wait(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            return max(backoff(state), getattr(error, "retry_after", None) or 0.0)

        def count(_: RetryCallState) -> None:
            self.repeated += 1

        attempts = AsyncRetrying(
            stop=stop_after_attempt(self.judge.retries + 1),
            retry=retry_if_exception_type(Retriable),
            wait=wait,
            before_sleep=count,
            reraise=True,
        )
        return await attempts(self._attempt, request, http)

    async def _attempt(self, request: Request, http: httpx.AsyncClient) -> Answer:
        """One attempt, within the budget and the limits."""
        judge = self.judge
        estimate = request.estimated_tokens(judge.chars_per_token, judge.image_tokens)
        cost = request.most_cost(judge.image_tokens, judge.longest_answer)
        await self._reserve(cost)
        usage, key = NOTHING, ""
        try:
            if self._tokens is not None:
                amount = min(estimate + judge.longest_answer, self._tokens.max_rate)
                await self._tokens.acquire(amount)
            await self._wait_for_turn()
            answer = await self._send(request, http)
            usage, key = usage_of(answer), answer.key
            return answer
        except Retriable as error:
            usage = error.usage
            raise
        finally:
            self.ledger.settle(cost, usage, key)
            async with self._settled:
                self._settled.notify_all()

    async def _wait_for_turn(self) -> None:
        """Wait for the endpoint's pause, then for the next free moment."""
        while True:
            while (pause := self._not_before - time.monotonic()) > 0:
                await asyncio.sleep(pause)
            if self._requests is not None:
                await self._requests.acquire()
            if self._not_before <= time.monotonic():  # no new pause meanwhile
                return

    async def _reserve(self, cost: Cost) -> None:
        """Reserve a cost, waiting for requests in flight that may turn out cheaper."""
        async with self._settled:
            while (ceiling := self.ledger.exceeded_by(cost)) is not None:
                if self.ledger.reserved.calls == 0:
                    unstated = self.ledger.unstated
                    most = f" ({unstated:,} at their most: no usage is stated)" if unstated else ""
                    raise JudgeStopped(
                        f"{ceiling} is reached after {self.ledger.spent.calls:,} calls{most}",
                        "raise the budget and run the same command again: all answers are kept",
                    )
                await self._settled.wait()
            if self._stop is not None:
                raise self._stop
            self.ledger.reserved = self.ledger.reserved.plus(cost)

    async def _send(self, request: Request, http: httpx.AsyncClient) -> Answer:
        """One HTTP request; Retriable, RequestFailed or JudgeStopped without an answer."""
        import httpx

        body = await asyncio.to_thread(request.body) if request.image else request.payload
        content = json.dumps(body)
        started = time.perf_counter()
        address = f"{str(self.judge.base_url).rstrip('/')}/chat/completions"
        try:
            async with (
                asyncio.timeout(self.judge.timeout),
                http.stream("POST", address, content=content) as response,
            ):
                reply = await read_body(response)
            self._check_status(response, reply)
            return read_answer(request, reply, time.perf_counter() - started, self._redact)
        except BadReply as error:
            problem, usage = f"the endpoint's reply is not a chat completion ({error})", error.usage
        except TimeoutError:
            problem, usage = f"no answer within {self.judge.timeout:g} s", UNKNOWN
        except httpx.HTTPError as error:
            problem = f"{type(error).__name__}: {one_line(self._redact(str(error)))}"
            usage = UNKNOWN
            if isinstance(error, httpx.ConnectError):
                problem, usage = _no_connection(str(self.judge.base_url), error) or problem, NOTHING
        raise Retriable(problem, usage=usage)

    def _check_status(self, response: httpx.Response, body: bytes) -> None:
        status = response.status_code
        if status == 200:
            return
        message = one_line(self._redact(body[:_MOST_MESSAGE].decode(errors="replace"))[:200])
        reason = f"HTTP {status}: {message or 'no message'}"
        if status in _FATAL:
            raise JudgeStopped(
                f"{_FATAL[status]} ({reason})",
                "correct metric.judge.base_url, metric.judge.model or the key",
            )
        if status in _RETRIED or status >= 500:
            after = retry_after(response.headers.get("Retry-After"))
            if after is not None and after > _LONGEST_RETRY_AFTER:
                raise JudgeStopped(
                    f"the endpoint requires a wait of {after:.0f} s ({reason})",
                    "run the same command again later: all answers are kept",
                )
            if after is not None:
                self._not_before = max(self._not_before, time.monotonic() + after)
            raise Retriable(reason, after)
        raise RequestFailed(reason)


def _no_connection(url: str, error: BaseException) -> str | None:
    """What the system says why there is no connection: "Connection refused"; `None` for nothing."""
    causes: list[BaseException | None] = [error]
    for cause in causes:
        if isinstance(cause, OSError) and cause.errno:
            # asyncio writes addresses into `strerror`; names that do not resolve have no errno > 0
            reason = os.strerror(cause.errno) if cause.errno > 0 else cause.strerror
            return f"no connection to {urlsplit(url).netloc} ({reason})"
        if cause is not None:
            causes += [cause.__cause__, cause.__context__, *getattr(cause, "exceptions", ())]
    return None


def key_from(variable: str) -> str | None:
    """The key in an environment variable, `None` where it is not set or empty."""
    return os.environ.get(variable, "").strip() or None


def retry_after(header: str | None) -> float | None:
    """The seconds in a `Retry-After` header: a number of seconds, or a date."""
    if header is None:
        return None
    with suppress(ValueError):
        return max(0.0, float(header))
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, mktime_tz(parsedate_tz(header)) - time.time())  # type: ignore[arg-type]
    return None
