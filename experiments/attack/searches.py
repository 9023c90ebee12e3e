"""The searches against one metric."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from metaeval.corruptions.language.parsed import parse_all
from metaeval.data.dataset import CaptionDataset
from metaeval.search.beam import (
    Draft,
    Score,
    SearchLimits,
    Trace,
    Trial,
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
    seconds, computed
        What the searches took, and how many captions were scored that the cache did not hold.
    """

    human: npt.NDArray[np.float64]
    other_human: npt.NDArray[np.float64]
    false: dict[str, list[Trace]] = field(default_factory=dict)
    seconds: float = 0.0
    computed: int = 0


def attack(
    target: Target, swapped: Target, material: Material, limits: SearchLimits
) -> AttackOutcome:
    """Search against one metric.

    `swapped` is the same metric on the dataset in which the human caption and the first reference
    have changed places: its score of that reference, against the others, gives the spread.
    """
    started = time.perf_counter()
    data, index = material.dataset, np.arange(len(material.dataset), dtype=np.intp)
    first = [r[0] if r else h for h, r in zip(data.human, data.references, strict=True)]
    outcome = AttackOutcome(target.score(data.human, index), swapped.score(first, index))
    score = _reading_ahead(target.score, outcome.human, material)

    def wins(trial: Trial, i: int) -> bool:
        return trial.score > outcome.human[i] and material.is_false(trial, i)

    def run(
        starts: Sequence[Sequence[Draft]], goal: str, *, fluent: bool, to_the_end: bool = False
    ) -> list[Trace]:
        allowed = material.fluency.allowed if fluent and material.fluency else None
        return search(
            score, starts, material.near, material.far, data.image_ids, limits,
            material.seed, goal, allowed, None if to_the_end else wins,
        )  # fmt: skip

    # of the first search the highest score counts, of the other two only whether they succeed
    has_fluency = material.fluency is not None
    if has_fluency:
        outcome.false["fluent"] = run(material.false, "false", fluent=True, to_the_end=True)
    outcome.false["unconstrained"] = run(
        material.false, "false", fluent=False, to_the_end=not has_fluency
    )
    outcome.false["references copied"] = run(material.copied, "copied", fluent=True)
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
    of_rows = _reading_ahead(lambda texts, places: score(texts, index[places]), human, material)

    def wins(trial: Trial, k: int) -> bool:
        return trial.score > human[k] and material.is_false(trial, rows[k])

    def allowed(texts: Sequence[str], places: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        assert fluency is not None
        return fluency.allowed(texts, index[places])

    traces = search(
        of_rows, [material.false[i] for i in rows],
        [material.near[i] for i in rows], material.far, [data.image_ids[i] for i in rows], limits,
        material.seed, "false", allowed if fluency else None, wins,
    )  # fmt: skip
    return [
        any(trial.admitted and wins(trial, k) for trial in trace.trials)
        for k, trace in enumerate(traces)
    ]


def _reading_ahead(score: Score, human: npt.NDArray[np.float64], material: Material) -> Score:
    """The score, after which the captions above the human one are parsed, all at once: these are
    what `Material.is_false` may be asked about."""

    def scored(texts: Sequence[str], places: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        scores = score(texts, places)
        if material.check is not None:
            parse_all([texts[k] for k in np.flatnonzero(scores > human[places]).tolist()])
        return scores

    return scored


def exact_match(dataset: CaptionDataset) -> Score:
    """The score that is 1 for a caption that is a reference word for word, else 0."""
    known = [{" ".join(r.lower().split()) for r in refs} for refs in dataset.references]

    def score(texts: Sequence[str], index: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        pairs = zip(texts, index.tolist(), strict=True)
        return np.array([" ".join(t.lower().split()) in known[i] for t, i in pairs], dtype=float)

    return score


def swapped_dataset(dataset: CaptionDataset) -> CaptionDataset:
    """The dataset with each human caption and its first reference exchanged."""
    pairs = list(zip(dataset.human, dataset.references, strict=True))
    return replace(
        dataset,
        human=tuple(r[0] if r else h for h, r in pairs),
        references=tuple((h, *r[1:]) if r else () for h, r in pairs),
    )
