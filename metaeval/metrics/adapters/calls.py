"""Calls of foreign code that may fail, hang or be slow."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from metaeval.options import NonNegativeInt, Positive, checked

log = logging.getLogger(__name__)

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0  # seconds before a call is repeated


class CallOptions(TypedDict, total=False):
    """Options of every metric that users bring; see `OwnMetric`."""

    on_error: Literal["raise", "nan"]
    retries: NonNegativeInt
    timeout: Positive | None


@checked
@dataclass
class Calls:
    """How calls are made; the fields are options of `OwnMetric`."""

    on_error: Literal["raise", "nan"] = "raise"
    retries: NonNegativeInt = 0
    timeout: Positive | None = None

    def repeated(self, function: Callable[[], Any]) -> Any:
        """What a function returns, called again as often as allowed while it fails."""
        for attempt in range(self.retries + 1):
            try:
                return self._once(function)
            except Exception as error:
                if attempt == self.retries:
                    raise
                log.info("a call failed and is repeated", exc_info=error)
                wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt)
                time.sleep(wait * random.uniform(0.5, 1))
        raise AssertionError("the last attempt returns or raises")

    def _once(self, function: Callable[[], Any]) -> Any:
        """One call. One that takes too long goes on in a thread whose result is not used."""
        if self.timeout is None:
            return function()
        outcome: list[tuple[bool, Any]] = []

        def run() -> None:
            try:
                outcome.append((True, function()))
            except BaseException as error:
                outcome.append((False, error))

        thread = threading.Thread(target=run, daemon=True, name="call with a timeout")
        thread.start()
        thread.join(self.timeout)
        if not outcome:
            raise TimeoutError(f"no result within {self.timeout:g} s")
        returned, value = outcome[0]
        if not returned:
            raise value
        return value
