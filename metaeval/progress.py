"""Progress on stderr, for who watches it: one line for a run, bars for long work outside of one.

Where stderr is no terminal nothing is written: a log has no use for bars. `progress_bar` is the one
place where bars are made, and `RunLine` the one line of a run:

    metric 6 of 13, FAIEr, about 40 s left
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

_DELAY = 2.0  # seconds before anything is shown
_EVERY = 0.5  # seconds between two drawings of the line
_PRIOR = 5.0  # seconds of usual pace that a run's own pace is weighed against

_line: RunLine | None = None  # of the run that is on


def watched() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def progress_bar(iterable: Iterable[Any] | None = None, **options: Any) -> tqdm[Any]:
    """A tqdm bar that appears after two seconds, goes when it is full, and is silent in a log.

    It is silent within a run too, where the run's own line tells how far it is.
    """
    shown = {"leave": False, "delay": _DELAY, "disable": not watched() or _line is not None}
    return tqdm(iterable, **{**shown, **options})


class RunLine:
    """The line of a run: which of its parts is being done, and how long the others may take.

    What a part takes is estimated from what such parts usually take, and from how much faster or
    slower than that the parts were that are done.

    Parameters
    ----------
    clock
        Seconds, as of `time.monotonic`.
    """

    def __init__(self, clock: Any = time.monotonic) -> None:
        self._clock = clock
        self._todo: dict[str, float] = {}  # part → the seconds it usually takes, in order
        self._part, self._number, self._count, self._kind = "", 0, 0, ""
        self._since = clock()
        self._usual = self._taken = _PRIOR

    def plan(self, parts: Sequence[tuple[str, float]], kind: str = "") -> None:
        """What is to be done, in order, with the seconds that each usually takes on two cores.

        With a `kind` ("metric") its parts are counted. Plans follow one another.
        """
        self._end()
        self._todo.update(parts)
        if kind:
            self._number, self._count, self._kind = 0, len(parts), kind

    def begin(self, part: str) -> None:
        """A part of the plan begins, and with it the one before ends."""
        self._end()
        self._part, self._since = part, self._clock()
        if self._kind:
            self._number += 1

    def text(self) -> str:
        """The line as it is now."""
        head = f"{self._kind} {self._number} of {self._count}, " if self._kind else ""
        return f"{head}{self._part}, about {rounded_seconds(self.seconds_left())} left"

    def seconds_left(self) -> float:
        """What is left of the plan, in seconds; never less than one."""
        pace = self._taken / self._usual
        now = self._todo.get(self._part, 0.0) * pace - (self._clock() - self._since)
        later = sum(usual for part, usual in self._todo.items() if part != self._part)
        return float(max(1.0, max(now, 0.0) + later * pace))

    def _end(self) -> None:
        if (usual := self._todo.pop(self._part, None)) is not None:
            self._usual += usual
            self._taken += self._clock() - self._since
        self._part = ""


def rounded_seconds(seconds: float) -> str:
    """A duration as coarsely as it is known: "8 s", "40 s", "3 min"."""
    if seconds < 10:
        return f"{math.ceil(seconds)} s"
    if seconds < 90:
        return f"{10 * math.ceil(seconds / 10)} s"
    return f"{math.ceil(seconds / 60)} min"


@contextmanager
def run_line() -> Iterator[RunLine]:
    """The line of a run, drawn while the block lasts, where stderr is a terminal."""
    global _line
    line = RunLine()
    if not watched() or _line is not None:
        yield line
        return
    _line, stop = line, threading.Event()
    thread = threading.Thread(target=_draw, args=(line, stop), name="progress", daemon=True)
    thread.start()
    try:
        yield line
    finally:
        stop.set()
        thread.join()
        _line = None


def _draw(line: RunLine, stop: threading.Event) -> None:
    """Draw the line again and again, and wipe it at the end."""
    wait, width = _DELAY, 0
    while not stop.wait(wait):
        text, wait = line.text(), _EVERY
        sys.stderr.write(f"\r{text:<{width}}\r")
        sys.stderr.flush()
        width = len(text)
    if width:
        sys.stderr.write(f"\r{'':<{width}}\r")
        sys.stderr.flush()
