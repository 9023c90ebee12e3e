"""`metaeval check my_module.MyMetric`: check a metric's contract.

Takes a `Metric`, a function of captions, or a class with compute_score(gts, res), with options as
`name=value`, and scores drawn scenes with it in every way in which a run may call it. Seconds,
for a metric that takes milliseconds a caption. Exit codes: 0 it keeps them, 1 it does not, 2 it
cannot be checked.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.errors import MetaevalError
from metaeval.metrics.adapters.function import CocoScorerMetric, FunctionMetric, metric_from
from metaeval.metrics.base import Metric, Scorer, Scores
from metaeval.overrides import option_value
from metaeval.runs.store import MemoryStore
from metaeval.scoring import close, gaps, require_in_bounds

IMAGES = 16
SECONDS = 5.0  # for calls with one caption: a slow metric gets fewer captions


class Observation(NamedTuple):
    """One rule of the contract: whether the metric keeps it, and the observation in words."""

    what: str
    ok: bool
    seen: str


@dataclass(frozen=True)
class ContractInput:
    """What the metric has to score: captions of images of a dataset."""

    dataset: CaptionDataset
    captions: list[str]
    index: npt.NDArray[np.intp]

    def at(self, rows: Sequence[int] | npt.NDArray[np.intp]) -> ContractInput:
        return replace(
            self, captions=[self.captions[k] for k in rows], index=self.index[list(rows)]
        )


def questions(n_images: int = IMAGES) -> ContractInput:
    """Captions of scenes: people's, the same in disorder, another image's, and odd ones."""
    dataset = load_scenes(limit=n_images)
    n = len(dataset)
    human = list(dataset.human)
    odd = ["a", "dog", "Überall ein Hund!", "the the the the", "zxqv", human[0].upper()]
    captions = [
        *human,
        *(" ".join(reversed(text.split())) for text in human),
        *(human[(i + 1) % n] for i in range(n)),
        *odd,
    ]
    index = np.array([*range(n), *range(n), *range(n), *(k % n for k in range(len(odd)))])
    return ContractInput(dataset, captions, index.astype(np.intp))


def check(
    metric: Metric, asked: ContractInput, remake: Callable[..., Metric] | None = None
) -> Iterator[Observation]:
    """All findings on a metric, in order; those after a failure that ends it are left out.

    `remake` makes the metric with one more option, to see whether its signature changes.
    """
    yield _travels(metric)
    scorer = metric.scorer(asked.dataset, MemoryStore())
    if isinstance(scorer, Absent):
        yield Observation("runs", False, f"cannot run here: {scorer}")
        return
    yield Observation("signature", bool(scorer.signatures), " ".join(scorer.signatures))
    started = time.perf_counter()
    try:
        scorer.prepare()
        together = scorer.score(asked.captions, asked.index)
    except Exception as error:
        yield Observation("scores", False, f"{type(error).__name__}: {error}")
        return
    per_caption = (time.perf_counter() - started) / len(asked.captions)
    shape = _shape(together, len(asked.captions), scorer)
    yield shape
    if not shape.ok:
        return
    yield _in_bounds(scorer, together, asked)
    few = min(len(asked.captions), max(6, int(SECONDS / max(per_caption, 1e-6))))
    rows = np.unique(np.linspace(0, len(asked.captions) - 1, few).astype(int))
    yield from _other_ways(scorer, together, asked, rows)
    repeated = scores_of(metric, asked)
    yield _same("repetition", together, repeated, asked, "at first", "bound anew")
    yield from _edges(metric, asked)
    if remake is not None:
        yield from _options(metric, together, asked, remake)
    scorer.close()
    yield Observation(
        "time", True, f"{1000 * per_caption:.3g} ms per caption, with the preparation"
    )


def _travels(metric: Metric) -> Observation:
    """Whether it can be pickled, as it may travel to another process."""
    try:
        copy = pickle.loads(pickle.dumps(metric))
    except Exception as error:
        return Observation("travels", False, f"it cannot be pickled ({error})")
    return Observation("travels", copy.columns == metric.columns, "pickled and back")


def _shape(scores: Any, n: int, scorer: Scorer) -> Observation:
    expected = (n, len(scorer.columns))
    if not isinstance(scores, np.ndarray):
        return Observation("scores", False, f"score() returned {type(scores).__name__}, no array")
    if scores.shape != expected or scores.dtype != np.float64:
        return Observation(
            "scores",
            False,
            f"score() returned {scores.dtype} {list(scores.shape)}, not float64 {list(expected)}",
        )
    return Observation("scores", True, f"float64 {list(expected)}")


def _in_bounds(scorer: Scorer, scores: Scores, asked: ContractInput) -> Observation:
    if not np.isfinite(scores).any():
        return Observation("bounds", False, "no caption has a score")
    try:
        for column, values in zip(scorer.columns, scores.T, strict=True):
            require_in_bounds(column, values, asked.captions)
    except ValueError as error:
        return Observation("bounds", False, str(error))
    low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
    return Observation("bounds", True, f"seen {low:.4g} to {high:.4g}")


def _other_ways(
    scorer: Scorer, together: Scores, asked: ContractInput, rows: npt.NDArray[np.intp]
) -> Iterator[Observation]:
    """Whether a caption's score depends on the other captions of the call."""
    few = asked.at(rows)
    alone = [scorer.score([c], few.index[k : k + 1]) for k, c in enumerate(few.captions)]
    name = f"among {len(asked.captions)}"
    yield _same("neighbours", together[rows], np.concatenate(alone), few, name, "alone")
    parts = [
        asked.at(range(k, min(k + 7, len(asked.captions))))
        for k in range(0, len(asked.captions), 7)
    ]
    sevens = np.concatenate([scorer.score(part.captions, part.index) for part in parts])
    yield _same("batch size", together, sevens, asked, name, "in batches of 7")
    order = np.random.default_rng(0).permutation(len(asked.captions))
    mixed = asked.at(order)
    shuffled = np.empty_like(together)
    shuffled[order] = scorer.score(mixed.captions, mixed.index)
    yield _same("order", together, shuffled, asked, "in order", "in another order")


def _edges(metric: Metric, asked: ContractInput) -> Iterator[Observation]:
    """An empty caption, and an image without references."""
    bare = replace(asked.dataset, references=((), *asked.dataset.references[1:]))
    for what, inputs in (
        ("empty caption", replace(asked, captions=[""], index=np.array([0]))),
        ("no references", replace(asked.at([0, 1]), dataset=bare)),
    ):
        try:
            scores = scores_of(metric, inputs)
        except Exception as error:
            yield Observation(what, False, f"{type(error).__name__}: {error}")
            continue
        fine, rule = not np.isinf(scores).any(), ""
        has_score = what == "no references" and not np.isnan(scores[0]).all()
        if has_score and _reads_references(metric, asked):
            fine, rule = False, ": a metric of references must give NaN, which is “not scored”"
        yield Observation(what, fine, f"scores {_shown(scores[0])}{rule}")


def _reads_references(metric: Metric, asked: ContractInput) -> bool:
    """Whether other references make another score."""
    data = asked.dataset
    turned = replace(data, references=(*data.references[1:], data.references[0]))
    first = asked.at(range(len(data)))
    return not np.array_equal(
        scores_of(metric, first), scores_of(metric, replace(first, dataset=turned)), equal_nan=True
    )


def _options(
    metric: Metric, scores: Scores, asked: ContractInput, remake: Callable[..., Metric]
) -> Iterator[Observation]:
    """Whether the signature changes where an option changes a score."""
    known = metric.scorer(asked.dataset, MemoryStore())
    silent, tried = [], []
    for name, value in _others(type(metric)):
        try:
            other = remake(**{name: value})
            scorer = other.scorer(asked.dataset, MemoryStore())
            if isinstance(scorer, Absent) or isinstance(known, Absent):
                continue
            changed = not np.array_equal(scores_of(other, asked), scores, equal_nan=True)
        except Exception:  # an option that this metric refuses shows nothing
            continue
        tried.append(name)
        if changed and scorer.signatures == known.signatures:
            silent.append(f"{name}={value}")
    if silent:
        problem = f"{', '.join(silent)} changes scores but not the signature; add it to `settings`"
        yield Observation("options", False, problem)
    elif tried:
        yield Observation(
            "options", True, f"{', '.join(tried)}: in the signature or without effect"
        )


def _others(kind: type) -> Iterator[tuple[str, Any]]:
    """Options of a class with another value than their default."""
    for name, parameter in inspect.signature(kind).parameters.items():
        default = parameter.default
        if isinstance(default, bool):
            yield name, not default
        elif isinstance(default, int):
            yield name, default + 1
        elif isinstance(default, float):
            yield name, default * 2 or 1.0


def scores_of(metric: Metric, asked: ContractInput) -> Scores:
    """Scores by a newly bound scorer."""
    scorer = metric.scorer(asked.dataset, MemoryStore())
    if isinstance(scorer, Absent):
        raise MetaevalError(str(scorer))
    try:
        scorer.prepare()
        return scorer.score(asked.captions, asked.index)
    finally:
        scorer.close()


def _same(
    what: str, one: Scores, other: Scores, asked: ContractInput, here: str, there: str
) -> Observation:
    """Whether two arrays of scores of the same captions are equal, up to rounding."""
    gap = gaps(one, other)
    worst = float(gap.max(initial=0.0))
    if close(one, other):
        return Observation(what, True, "the same" if worst == 0 else f"the same to {worst:.1g}")
    k = int(np.argmax(gap.max(axis=1)))
    return Observation(
        what,
        False,
        f"{asked.captions[k]!r:.60} scores {_shown(one[k])} {here} and {_shown(other[k])} {there}",
    )


def _shown(scores: npt.NDArray[np.float64]) -> str:
    return ", ".join("NaN" if np.isnan(v) else f"{v:.6g}" for v in scores)


def in_another_process(
    what: str, options: Sequence[str], asked: ContractInput, metric: Metric
) -> Observation:
    """Whether another process, with other hash seeds and one thread, gives the same scores."""
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scores.json"
        command = [sys.executable, "-m", "metaeval", "check", what, *options, "--write", str(file)]
        command += ["--images", str(len(asked.dataset))]
        env = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            return Observation("another process", False, last)
        there = np.array(json.loads(file.read_text()), dtype=np.float64)
    here = scores_of(metric, asked)
    return _same("another process", here, there, asked, "here", "in another process")


def main(given: argparse.Namespace) -> int:
    """Print every rule of the contract and whether the metric keeps it; 1 where it does not."""
    options = dict(option_value(text) for text in given.options)
    metric = metric_from(given.what, **options)
    inputs = questions(given.images)
    if given.write is not None:
        given.write.write_text(json.dumps(scores_of(metric, inputs).tolist()))
        return 0
    findings = []
    for finding in _all(given, options, metric, inputs):
        findings.append(finding)
        print(
            f"{'ok   ' if finding.ok else 'FAILS'} {finding.what:<16} {finding.seen}",
            flush=True,
        )
    broken = [f.what for f in findings if not f.ok]
    print(f"{given.what}: " + (f"fails {', '.join(broken)}" if broken else "keeps the contract"))
    return 1 if broken else 0


def _all(
    given: argparse.Namespace, options: Mapping[str, object], metric: Metric, asked: ContractInput
) -> Iterator[Observation]:
    own_class = not isinstance(metric, FunctionMetric | CocoScorerMetric)
    remake = (lambda **more: metric_from(given.what, **{**options, **more})) if own_class else None
    ran = False
    for finding in check(metric, asked, remake):
        ran = ran or finding.what == "time"
        yield finding
    if ran:
        yield in_another_process(given.what, given.options, asked, metric)
