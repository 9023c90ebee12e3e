"""The three goals as searches against one metric."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt

from metaeval.corruptions.language.whole import corpus_of
from metaeval.data.dataset import CaptionDataset
from metaeval.search.beam import (
    Draft,
    Score,
    SearchLimits,
    Trace,
    Trial,
    free,
    search,
    vocabulary,
)
from metaeval.search.pool import (
    FOIL,
    REFERENCES,
    FoilCheck,
    false_drafts,
    rule_of,
)
from metaeval.search.target import Fluency, Target

# generic captions; the dataset's most frequent ones are added
GENERIC = (
    "a photo of something", "a picture of some things", "there is something in the picture",
    "a man is standing in a room", "a group of people standing together",
    "a person standing next to something", "a man is sitting at a table",
    "a close up of an object on a table", "a street with people and cars",
    "a man and a woman standing next to each other",
)  # fmt: skip
_FREQUENT, _OTHERS = 20, 20
_CONTROL_IMAGES = 200


@dataclass(frozen=True, slots=True)
class Material:
    """What all searches of a run share.

    Attributes
    ----------
    false
        Per image, provably false captions made from its human caption.
    copied
        The same made from its references.
    near
        Per image, the words of its references.
    far
        The words of the dataset.
    """

    dataset: CaptionDataset
    false: list[list[Draft]]
    copied: list[list[Draft]]
    near: list[tuple[str, ...]]
    far: tuple[str, ...]
    fluency: Fluency | None
    check: FoilCheck | None
    seed: int

    @property
    def index(self) -> npt.NDArray[np.intp]:
        """The positions of all images."""
        return np.arange(len(self.dataset), dtype=np.intp)

    def is_false(self, trial: Trial, i: int) -> bool:
        """Whether a trial that began with a false caption is false of the image beyond doubt."""
        return self.check is None or bool(self.check.absent(trial.draft.text, i))


def gather_material(dataset: CaptionDataset, fluency: Fluency | None, seed: int) -> Material:
    """False captions and vocabularies of a dataset."""
    false = false_drafts(dataset, seed)
    near = [vocabulary(references) for references in dataset.references]
    far = vocabulary(dataset.pool[:2000])
    check = FoilCheck(dataset) if rule_of(dataset) == FOIL else None
    return Material(
        dataset, false, false_drafts(dataset, seed, REFERENCES), near, far, fluency, check, seed
    )  # fmt: skip


@dataclass(slots=True)
class AttackOutcome:
    """What the searches against one metric found.

    Attributes
    ----------
    human
        [n] The scores of the human captions.
    other_human
        [n] The scores of one reference each against the other captions, for the spread.
    false
        "fluent", "unconstrained" and "references copied" → a trace per image.
    known, unknown
        Traces of the inflation, of the first images.
    generic
        [captions, n] Scores of the generic captions.
    seconds, computed
        What the searches took, and how many captions were scored that the cache did not hold.
    """

    human: npt.NDArray[np.float64]
    other_human: npt.NDArray[np.float64]
    false: dict[str, list[Trace]] = field(default_factory=dict)
    known: list[Trace] = field(default_factory=list)
    unknown: list[Trace] = field(default_factory=list)
    generic: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    seconds: float = 0.0
    computed: int = 0


def attack(
    target: Target,
    swapped: Target,
    material: Material,
    limits: SearchLimits,
    inflation_images: int,
) -> AttackOutcome:
    """Search against one metric.

    `swapped` is the same metric on the dataset in which the human caption and the first reference
    have changed places: its score of that reference, against the others, gives the spread.
    """
    started = time.perf_counter()
    data = material.dataset
    index = material.index
    first = [r[0] if r else h for h, r in zip(data.human, data.references, strict=True)]
    outcome = AttackOutcome(target.score(data.human, index), swapped.score(first, index))

    def wins(trial: Trial, i: int) -> bool:
        return trial.score > outcome.human[i] and material.is_false(trial, i)

    def run(
        starts: Sequence[Sequence[Draft]], goal: str, *, fluent: bool, to_the_end: bool = True
    ) -> list[Trace]:
        allowed = material.fluency.allowed if fluent and material.fluency else None
        n = len(starts)
        return search(
            target.score, starts, material.near[:n] if goal != "unknown" else [()] * n,
            material.far, data.image_ids[:n], limits, material.seed, goal, allowed,
            None if to_the_end else wins,
        )  # fmt: skip

    # of the first search the highest score counts, of the other two only whether they succeed
    has_fluency = material.fluency is not None
    if has_fluency:
        outcome.false["fluent"] = run(material.false, "false", fluent=True)
    outcome.false["unconstrained"] = run(
        material.false, "false", fluent=False, to_the_end=not has_fluency
    )
    outcome.false["references copied"] = run(
        material.copied, "copied", fluent=True, to_the_end=False
    )
    n = min(inflation_images, len(data))
    if n:
        outcome.known = run(_known_starts(data, n), "known", fluent=False)
        outcome.unknown = run(_unknown_starts(data, n, material.seed), "unknown", fluent=False)
    outcome.generic = np.stack(
        [target.score([text] * len(data), index) for text in generic_captions(data)]
    )
    outcome.seconds, outcome.computed = time.perf_counter() - started, target.calls + swapped.calls
    return outcome


def attack_control(score: Score, material: Material, limits: SearchLimits) -> list[bool]:
    """Whether an uninformative score is fooled, for each of the first 200 images that have a
    false caption; the search is that of the main results, and ends there on an image."""
    data, fluency = material.dataset, material.fluency
    seen = fluency.seen if fluency else np.zeros(len(data), dtype=bool)
    rows = [i for i, drafts in enumerate(material.false) if drafts and not seen[i]]
    rows = rows[:_CONTROL_IMAGES]
    index = np.array(rows, dtype=np.intp)
    human = score([data.human[i] for i in rows], index)

    def wins(trial: Trial, k: int) -> bool:
        return trial.score > human[k] and material.is_false(trial, rows[k])

    def allowed(texts: Sequence[str], places: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        assert fluency is not None
        return fluency.allowed(texts, index[places])

    traces = search(
        lambda texts, places: score(texts, index[places]), [material.false[i] for i in rows],
        [material.near[i] for i in rows], material.far, [data.image_ids[i] for i in rows], limits,
        material.seed, "false", allowed if fluency else None, wins,
    )  # fmt: skip
    return [
        any(trial.admitted and wins(trial, k) for trial in trace.trials)
        for k, trace in enumerate(traces)
    ]


def exact_match(dataset: CaptionDataset) -> Score:
    """The score that is 1 for a caption that is a reference word for word, else 0."""
    known = [{" ".join(r.lower().split()) for r in refs} for refs in dataset.references]

    def score(texts: Sequence[str], index: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        pairs = zip(texts, index.tolist(), strict=True)
        return np.array([" ".join(t.lower().split()) in known[i] for t, i in pairs], dtype=float)

    return score


def generic_captions(dataset: CaptionDataset) -> list[str]:
    """Generic captions, and the dataset's most frequent human captions."""
    counts: dict[str, int] = {}
    for text in dataset.pool:
        counts[text] = counts.get(text, 0) + 1
    frequent = sorted(counts, key=lambda text: (-counts[text], text))[:_FREQUENT]
    return list(dict.fromkeys([*GENERIC, *frequent]))


def swapped_dataset(dataset: CaptionDataset) -> CaptionDataset:
    """The dataset with each human caption and its first reference exchanged."""
    pairs = list(zip(dataset.human, dataset.references, strict=True))
    return replace(
        dataset,
        human=tuple(r[0] if r else h for h, r in pairs),
        references=tuple((h, *r[1:]) if r else () for h, r in pairs),
    )


def _known_starts(dataset: CaptionDataset, n: int) -> list[list[Draft]]:
    """References, each twice and five times over, and each two of them joined."""
    starts = []
    for human, references in zip(dataset.human[:n], dataset.references[:n], strict=True):
        texts = [human, *references]
        texts += [" ".join([r] * k) for r in references for k in (2, 5)]
        texts += [f"{a} {b}" for a, b in permutations(references, 2)]
        texts += [" ".join(references)]
        starts.append([free(text) for text in dict.fromkeys(texts)])
    return starts


def _unknown_starts(dataset: CaptionDataset, n: int, seed: int) -> list[list[Draft]]:
    """Captions of other images, drawn from the file, and each joined with the next."""
    corpus = corpus_of(dataset)
    starts = []
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        drawn = rng.permutation(len(corpus.ids))[: _OTHERS + 1].tolist()
        others = [corpus.captions[k] for k in drawn if corpus.ids[k] != dataset.image_ids[i]]
        joined = [f"{a} {b}" for a, b in pairwise(others)]
        texts = [*others[:_OTHERS], *joined[: _OTHERS // 2]]
        starts.append([free(text) for text in dict.fromkeys(texts)])
    return starts
