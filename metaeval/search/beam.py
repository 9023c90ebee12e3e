"""Beam search over word changes, for all images at once."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from string import punctuation
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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


def free(text: str) -> Draft:
    """A draft of which every word may change."""
    words = tuple(text.split())
    return Draft(words, (False,) * len(words))


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
    kind = int(rng.integers(4))
    if kind == 1:
        gaps = [i for i in range(len(words) + 1) if not _closed(fixed, i)]
        if not gaps or not pool:
            return None
        at = gaps[int(rng.integers(len(gaps)))]
        words.insert(at, pool[int(rng.integers(len(pool)))])
        fixed.insert(at, False)
    elif not places:
        return None
    else:
        at = places[int(rng.integers(len(places)))]
        if kind == 0:
            if not pool:
                return None
            word = pool[int(rng.integers(len(pool)))]
            if word == words[at].lower():
                return None
            words[at] = word
        elif kind == 2:
            if len(words) < 2:
                return None
            del words[at], fixed[at]
        else:
            if at + 1 >= len(words) or fixed[at + 1] or words[at] == words[at + 1]:
                return None
            words[at], words[at + 1] = words[at + 1], words[at]
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

    def best(
        self,
        calls: int,
        edits: int | None = None,
        words: tuple[int, int] | None = None,
    ) -> Trial | None:
        """The best trial among the first `calls`, with at most `edits` changes and a number of
        words within `words`; with 0 calls the first, unasked. `None` where there is none.

        Of equal scores the earliest; a trial without a score, or that does not keep the
        constraint, is never chosen.
        """
        chosen: Trial | None = None
        for trial in self.trials[: max(1, calls)]:
            if edits is not None and trial.draft.edits > edits:
                continue
            if words is not None and not words[0] <= len(trial.draft.words) <= words[1]:
                continue
            if np.isnan(trial.score) or not trial.admitted:
                continue
            if chosen is None or trial.score > chosen.score:
                chosen = trial
        return chosen

    def first(self, reached: Callable[[Trial], bool]) -> int | None:
        """How many calls it took to the first admitted trial that reached a goal; `None` where
        none did."""
        for calls, trial in enumerate(self.trials, 1):
            if trial.admitted and reached(trial):
                return calls
        return None


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
    generators = [_generator(seed, name, image_id) for image_id in image_ids]
    traces = [Trace() for _ in starts]
    seen: list[set[str]] = [set() for _ in starts]
    queue: list[list[Draft]] = []
    for drafts, rng in zip(starts, generators, strict=True):
        queue.append([drafts[i] for i in rng.permutation(len(drafts)).tolist()])
    _score_round(score, queue, traces, seen, limits, allowed, most=max(1, limits.calls // 2))
    per_round = limits.beam * limits.proposals
    ended = [False] * len(traces)
    checked = [0] * len(traces)
    for _ in range(2 + -(-limits.calls // per_round)):
        if reached is not None:
            for i, trace in enumerate(traces):
                new = trace.trials[checked[i] :]
                ended[i] = ended[i] or any(t.admitted and reached(t, i) for t in new)
                checked[i] = len(trace.trials)
        queue = [
            _proposals(trace, known, near[i], far, limits, rng)
            if len(trace.trials) < limits.calls and not ended[i]
            else []
            for i, (trace, known, rng) in enumerate(zip(traces, seen, generators, strict=True))
        ]
        if not any(queue):
            break
        _score_round(score, queue, traces, seen, limits, allowed)
    return traces


def _generator(seed: int, name: str, image_id: ImageId) -> np.random.Generator:
    digest = hashlib.sha256(json.dumps([seed, name, image_id]).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))


def _proposals(
    trace: Trace,
    known: set[str],
    near: Sequence[str],
    far: Sequence[str],
    limits: SearchLimits,
    rng: np.random.Generator,
) -> list[Draft]:
    """New drafts from the best ones so far."""
    scored = [
        t
        for t in trace.trials
        if t.draft.edits < limits.edits and t.admitted and not np.isnan(t.score)
    ]
    best = sorted(scored, key=lambda t: -t.score)[: limits.beam]
    new: dict[str, Draft] = {}
    for trial in best:
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
) -> int:
    """Score what is allowed, up to the budget; returns how many captions were scored."""
    flat = [(i, draft) for i, drafts in enumerate(queue) for draft in drafts]
    for i, draft in flat:
        seen[i].add(draft.text)
    per_round = most if most is not None else limits.beam * limits.proposals
    room = [min(per_round, max(1, limits.calls) - len(trace.trials)) for trace in traces]
    chosen = []
    for i, draft in flat:
        if room[i] > 0:
            room[i] -= 1
            chosen.append((i, draft))
    if not chosen:
        return 0
    index = np.array([i for i, _ in chosen], dtype=np.intp)
    scores = score([draft.text for _, draft in chosen], index)
    admitted = _admitted(chosen, scores, traces, limits, allowed)
    for k, (i, draft) in enumerate(chosen):
        traces[i].trials.append(Trial(draft, float(scores[k]), bool(admitted[k])))
    return len(chosen)


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
