"""Beam search over word changes, for all images at once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from string import punctuation
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.corruptions.base import generator_of
from metaeval.corruptions.language.parsed import parse
from metaeval.data.dataset import ImageId
from metaeval.text.scene_graphs.rules.tagger import set_of_words as word_set

# words that would undo a false statement: they are never inserted
UNDOING = word_set(
    "no not never none neither nor nobody nothing without or might may could maybe perhaps "
    "possibly seems appears like than as fake toy pretend imaginary drawing painting picture "
    "photo image poster sign printed shaped if instead unless except but isn't aren't doesn't "
    "don't statue reflection"
)


class Draft(NamedTuple):
    """A caption under change.

    Attributes
    ----------
    words
        Its tokens.
    fixed
        Which of them stay: the words of the false statement, and their neighbours.
    edits
        How many words the search has changed.
    harm
        The share of the caption's statements that are false, where that is known.
    """

    words: tuple[str, ...]
    fixed: tuple[bool, ...]
    edits: int = 0
    harm: float | None = None

    @property
    def text(self) -> str:
        """The caption."""
        return " ".join(self.words)


def false_draft(source: str, text: str, harm: float | None = None) -> Draft:
    """A draft of a caption that became false by changed words: these stay as they are.

    Fixed is the stretch from the first changed word to the last, the noun phrases that it touches,
    and one word on either side, so that no noun is put next to a false one ("dog house").
    """
    old, new = source.split(), text.split()
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    first, last = start, max(start, len(new) - 1 - end)
    phrases = [p for p in parse(text).phrases if p.start <= last + 1 and p.end >= first]
    first = min([first, *(p.start for p in phrases)])
    last = max([last, *(p.end - 1 for p in phrases)])
    fixed = tuple(first - 1 <= i <= last + 1 for i in range(len(new)))
    return Draft(tuple(new), fixed, 0, harm)


def vocabulary(captions: Iterable[str]) -> tuple[str, ...]:
    """The words of captions in lower case, in alphabetical order, without those that undo."""
    words = {w for text in captions for t in text.lower().split() if (w := t.strip(punctuation))}
    return tuple(sorted(words - UNDOING))


def mutated(
    draft: Draft, near: Sequence[str], far: Sequence[str], rng: np.random.Generator
) -> Draft | None:
    """One random change of one word; `None` where the draw cannot be made.

    A free word is replaced or deleted, a word is inserted, or two free neighbours change places.
    New words come from `near` (what is known of the image) three times in four, else from `far`.
    """
    words, fixed = list(draft.words), list(draft.fixed)
    places = [i for i, stays in enumerate(fixed) if not stays]
    pool = near if near and (not far or rng.random() < 0.75) else far
    kind = ("replace", "insert", "delete", "swap")[int(rng.integers(4))]
    if kind == "insert":
        places = [i for i in range(len(words) + 1) if not _closed(fixed, i)]
    new = kind in ("replace", "insert")
    if not places or (new and not pool):
        return None
    at = places[int(rng.integers(len(places)))]
    word = pool[int(rng.integers(len(pool)))] if new else ""
    if kind == "insert":
        words.insert(at, word)
        fixed.insert(at, False)
    elif kind == "replace" and word != words[at].lower():
        words[at] = word
    elif kind == "delete" and len(words) > 1:
        del words[at], fixed[at]
    elif (
        kind == "swap" and at + 1 < len(words) and not fixed[at + 1] and words[at] != words[at + 1]
    ):
        words[at], words[at + 1] = words[at + 1], words[at]
    else:
        return None
    return Draft(tuple(words), tuple(fixed), draft.edits + 1, draft.harm)


def _closed(fixed: Sequence[bool], gap: int) -> bool:
    """Whether nothing may be inserted there: within or at the edge of what stays."""
    left = fixed[gap - 1] if gap else bool(fixed and fixed[0])
    right = fixed[gap] if gap < len(fixed) else bool(fixed and fixed[-1])
    return left and right


Score = Callable[[Sequence[str], npt.NDArray[np.intp]], npt.NDArray[np.float64]]
Allowed = Callable[[Sequence[str], npt.NDArray[np.intp]], npt.NDArray[np.bool_]]
Reached = Callable[["Trial", int], bool]  # a trial and the index of its image


class SearchLimits(NamedTuple):
    """What a search may spend on an image.

    Attributes
    ----------
    calls
        Captions that the metric scores.
    edits
        Words that may be changed.
    beam
        Drafts that are changed further in each round.
    proposals
        Changes of each of these per round.
    """

    calls: int
    edits: int
    beam: int = 3
    proposals: int = 5


class Trial(NamedTuple):
    """A caption that was scored, in the order of the calls.

    `admitted` is whether it keeps the constraint; of trials that score too low to matter this is
    not asked, and it is False.
    """

    draft: Draft
    score: float
    admitted: bool = True


@dataclass(slots=True)
class Trace:
    """All that a search tried on one image."""

    trials: list[Trial] = field(default_factory=list)

    def best_first(self, calls: int) -> list[Trial]:
        """The trials among the first `calls`, with 0 calls the first, unasked; of equal scores the
        earliest first, and without those that have no score or do not keep the constraint."""
        tried = self.trials[: max(1, calls)]
        usable = [t for t in tried if t.admitted and not np.isnan(t.score)]
        return sorted(usable, key=lambda t: -t.score)

    def first(self, reached: Callable[[Trial], bool]) -> int | None:
        """How many calls it took to the first admitted trial that reached a goal; `None` where
        none did."""
        successes = (k for k, t in enumerate(self.trials, 1) if t.admitted and reached(t))
        return next(successes, None)


def search(
    score: Score,
    starts: Sequence[Sequence[Draft]],
    near: Sequence[Sequence[str]],
    far: Sequence[str],
    image_ids: Sequence[ImageId],
    limits: SearchLimits,
    seed: int,
    name: str,
    allowed: Allowed | None = None,
    reached: Reached | None = None,
) -> list[Trace]:
    """Search, per image, for the caption with the highest score.

    The starts are scored first, in a random order (best of n); then the `beam` best drafts are
    changed by one word in `proposals` ways each, as long as the budget lasts. Of each round, the
    `beam` best captions are checked by `allowed`; only those that pass are changed further or
    count. With `reached`, the search on an image ends with the first round in which an admitted
    trial reaches the goal. The generator of an image follows from (seed, name, image id), so
    neither the other images nor an interruption change what is tried.
    """
    generators = [generator_of(seed, name, image_id) for image_id in image_ids]
    traces = [Trace() for _ in starts]
    seen: list[set[str]] = [set() for _ in starts]
    queue = [
        [drafts[i] for i in rng.permutation(len(drafts)).tolist()]
        for drafts, rng in zip(starts, generators, strict=True)
    ]
    _score_round(score, queue, traces, seen, limits, allowed, most=max(1, limits.calls // 2))
    per_round = limits.beam * limits.proposals
    for _ in range(2 + -(-limits.calls // per_round)):
        queue = [
            _proposals(trace, known, near[i], far, limits, rng)
            if len(trace.trials) < limits.calls
            and not (reached and any(t.admitted and reached(t, i) for t in trace.trials))
            else []
            for i, (trace, known, rng) in enumerate(zip(traces, seen, generators, strict=True))
        ]
        if not any(queue):
            break
        _score_round(score, queue, traces, seen, limits, allowed)
    return traces


def _proposals(
    trace: Trace,
    known: set[str],
    near: Sequence[str],
    far: Sequence[str],
    limits: SearchLimits,
    rng: np.random.Generator,
) -> list[Draft]:
    """New drafts from the best ones so far."""
    scored = [t for t in trace.best_first(len(trace.trials)) if t.draft.edits < limits.edits]
    new: dict[str, Draft] = {}
    for trial in scored[: limits.beam]:
        for _ in range(limits.proposals):
            draft = mutated(trial.draft, near, far, rng)
            if draft is not None and draft.text not in known:
                new.setdefault(draft.text, draft)
    return list(new.values())


def _score_round(
    score: Score,
    queue: Sequence[Sequence[Draft]],
    traces: Sequence[Trace],
    seen: Sequence[set[str]],
    limits: SearchLimits,
    allowed: Allowed | None,
    most: int | None = None,
) -> None:
    """Score what is allowed, up to the budget."""
    per_round = most if most is not None else limits.beam * limits.proposals
    chosen: list[tuple[int, Draft]] = []
    for i, drafts in enumerate(queue):
        seen[i].update(draft.text for draft in drafts)
        room = min(per_round, max(1, limits.calls) - len(traces[i].trials))
        chosen += [(i, draft) for draft in drafts[: max(0, room)]]
    if not chosen:
        return
    index = np.array([i for i, _ in chosen], dtype=np.intp)
    scores = score([draft.text for _, draft in chosen], index)
    admitted = _admitted(chosen, scores, traces, limits, allowed)
    for k, (i, draft) in enumerate(chosen):
        traces[i].trials.append(Trial(draft, float(scores[k]), bool(admitted[k])))


def _admitted(
    chosen: Sequence[tuple[int, Draft]],
    scores: npt.NDArray[np.float64],
    traces: Sequence[Trace],
    limits: SearchLimits,
    allowed: Allowed | None,
) -> npt.NDArray[np.bool_]:
    """Which of the captions of a round keep the constraint; checked for each image's best ones, and
    of the first caption of all, which is submitted without a call."""
    if allowed is None:
        return np.ones(len(chosen), dtype=bool)
    of_image: dict[int, list[int]] = {}
    for k, (i, _) in enumerate(chosen):
        of_image.setdefault(i, []).append(k)
    asked: list[int] = []
    for i, rows in of_image.items():
        best = sorted(rows, key=lambda k: -scores[k])[: limits.beam]
        asked += sorted({*best, *([] if traces[i].trials else rows[:1])})
    index = np.array([chosen[k][0] for k in asked], dtype=np.intp)
    admitted = np.zeros(len(chosen), dtype=bool)
    admitted[asked] = allowed([chosen[k][1].text for k in asked], index)
    return admitted
