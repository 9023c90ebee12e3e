"""Progress on stderr: one line for a run, bars for long work outside of a run.

Where stderr is not a terminal, as in a log, a run writes its line once a minute, and no bars.
`progress_bar` is the one place where bars are made, and `RunLine` is the line of a run:

    metric 6 of 13, FAIEr, 35%, about 40 s left
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

_DELAY = 2.0  # seconds before anything is shown
_EVERY = 0.5  # seconds between two drawings of the line
_MINUTE = 60.0  # seconds between two lines of a log
_PRIOR = 5.0  # seconds of usual pace that a run's own pace is weighed against

_line: RunLine | None = None  # of the run that is on


def watched() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def progress_bar(iterable: Iterable[Any] | None = None, **options: Any) -> tqdm[Any]:
    """A tqdm bar that appears after two seconds, goes when it is full, and is silent in a log.

    It is silent within a run too, where the run's own line shows the progress.
    """
    if _line is not None and iterable is not None:
        iterable = _line.following(iterable, str(options.get("desc", "")))
    shown = {"leave": False, "delay": _DELAY, "disable": not watched() or _line is not None}
    return tqdm(iterable, **{**shown, **options})


@dataclass(frozen=True, eq=False)
class Part:
    """Something that a run does.

    Attributes
    ----------
    name
        What the line calls it.
    usual
        The seconds that it usually takes on two cores.
    number
        "metric 6 of 13", or nothing where it is not one of several.
    """

    name: str
    usual: float
    number: str = ""


class RunLine:
    """The line of a run: which of its parts is being done, and how long the others may take.

    What is left is estimated from what the parts usually take, and from how much faster or slower
    than that those were that are done.

    Parameters
    ----------
    clock
        Seconds, as of `time.monotonic`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._todo: list[Part] = []
        self._part: Part | None = None
        self._since = clock()
        self._share, self._detail = 0.0, ""  # of the part that is done
        self._usual = self._taken = _PRIOR
        self._thread = threading.get_ident()  # that does the part

    def plan(self, parts: Sequence[tuple[str, float]], kind: str = "") -> list[Part]:
        """What else is to be done: names, and the seconds that they usually take on two cores.

        With a `kind` ("metric") they are numbered: "metric 6 of 13".
        """
        planned = [
            Part(name, usual, f"{kind} {k} of {len(parts)}" if kind else "")
            for k, (name, usual) in enumerate(parts, start=1)
        ]
        self._todo = [*self._todo, *planned]
        return planned

    def begin(self, part: Part) -> None:
        """A part begins, and with it the one before ends."""
        if self._part is not None:
            if self._part.usual:  # what nobody planned says nothing of the pace of the others
                self._usual += self._part.usual
                self._taken += self._clock() - self._since
            self.strike(self._part)
        self._part, self._since, self._share, self._detail = part, self._clock(), 0.0, ""
        self._thread = threading.get_ident()

    def report(self, done: int, total: int, detail: str = "") -> None:
        """Note that so much of the part that is being done is finished: its real speed. What other
        threads do meanwhile is not counted."""
        if threading.get_ident() != self._thread:
            return
        self._share, self._detail = done / total if total else 0.0, detail

    def following(self, iterable: Iterable[Any], detail: str) -> Iterator[Any]:
        """The members of an iterable; of a stage, the line says how many of them are done."""
        total = len(iterable) if isinstance(iterable, Sized) else 0
        for k, member in enumerate(iterable):
            if total and self._part is not None and not self._part.number:
                self.report(k, total, detail)
            yield member

    def begin_stage(self, name: str) -> None:
        """As `begin`, for the planned part of that name; where there is none, of one unplanned."""
        planned = (part for part in self._todo if part.name == name and not part.number)
        self.begin(next(planned, None) or Part(name, 0.0))

    def strike(self, part: Part) -> None:
        """A part is done, or will not be done."""
        self._todo = [other for other in self._todo if other is not part]

    def text(self) -> str:
        """The line as it is now; empty before the first part."""
        if self._part is None:
            return ""
        share = f"{self._share:.0%}" if self._share else ""
        left = f"about {rounded_seconds(self.seconds_left())} left"
        parts = (self._part.number, self._part.name, share, self._detail, left)
        return ", ".join(text for text in parts if text)

    def seconds_left(self) -> float:
        """What is left of the plan, in seconds; never less than one."""
        pace, part = self._taken / self._usual, self._part
        spent = self._clock() - self._since
        now = part.usual * pace - spent if part is not None else 0.0
        if self._share and spent > 1:
            now = spent * (1 - self._share) / self._share
        later = sum(other.usual for other in self._todo if other is not part)
        return max(1.0, max(now, 0.0) + later * pace)


def rounded_seconds(seconds: float) -> str:
    """A duration as coarsely as it is known: "8 s", "40 s", "3 min"."""
    if seconds < 10:
        return f"{math.ceil(seconds)} s"
    if seconds < 90:
        return f"{10 * math.ceil(seconds / 10)} s"
    return f"{math.ceil(seconds / 60)} min"


def current() -> RunLine:
    """The line of the current run; outside of a run, a line that is not printed."""
    return _line or RunLine()


@contextmanager
def run_line() -> Iterator[RunLine]:
    """The line of a run, drawn while the block lasts; in a log, written once a minute.

    A run within a run goes on with the line of the outer one.
    """
    global _line
    if _line is not None:
        yield _line
        return
    line = RunLine()
    _line, stop = line, threading.Event()
    show = _draw if watched() else _write
    thread = threading.Thread(target=show, args=(line, stop), name="progress", daemon=True)
    try:
        thread.start()
        yield line
    finally:
        _line = None
        stop.set()
        thread.join()


@contextmanager
def unseen() -> Iterator[None]:
    """Runs within the block have a line that is not drawn: the caller's says how far it is."""
    global _line
    outer, _line = _line, RunLine()
    try:
        yield
    finally:
        _line = outer


def _write(line: RunLine, stop: threading.Event) -> None:
    """Write the line into a log, once a minute, after the time that the run has taken."""
    minutes = 0
    while not stop.wait(_MINUTE):
        minutes += 1
        if sys.stderr is not None and (text := line.text()):
            print(f"{minutes} min: {text}", file=sys.stderr, flush=True)


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
