"""Graded corruption: human captions against ever worse versions of themselves.

`experiment=graded corruption=NAME` runs any corruption of `corruptions/` at the levels of
`corruption.rates` (or at its one level, where it has no rates). The presets `replace` and `shuffle`
are the two experiments of the paper, with their words, a floor and the published values.

Published are the rank-order ρ of González-Chávez et al., "Are metrics measuring what they should?".
Their tables are on MS-COCO val2017: 5,000 images, the first caption as Human, four references. A
run is comparable only with the same images, sets and rules.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, Literal

import numpy as np
import pandas as pd
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from metaeval.choices import list_choices
from metaeval.config import component, compose_config, metric_names
from metaeval.corruptions.base import Corruption
from metaeval.corruptions.graded.random import Random
from metaeval.corruptions.own.function import Mixture
from metaeval.experiments import (
    CaptionDataset,
    ConfigError,
    ImageId,
    MeasuredResult,
    Metric,
    MetricExperiment,
    RunRecord,
    ToScore,
    fill_sentences,
    require_captions,
)
from metaeval.experiments.graded.statistics import statistics
from metaeval.experiments.record import dataset_info, write_references
from metaeval.experiments.scores import score_all, scored_columns, write_scores
from metaeval.experiments.stored_results import write_corrupted, write_seed_scores
from metaeval.options import Rate, did_you_mean, problems
from metaeval.papers.expected import values_of
from metaeval.results.graded import leading_column
from metaeval.results.run import PublishedInfo
from metaeval.runs import files
from metaeval.runs.records import CAPTION, HUMAN, IMAGE_ID, LEVEL, ScoreColumn, Version
from metaeval.schema import Degrees
from metaeval.scoring import CEILING, MetricScores

log = logging.getLogger(__name__)

SOURCE = (
    "O. González-Chávez, G. Ruiz, D. Moctezuma, T. Ramirez-delReal (2022): Are metrics measuring "
    "what they should? An evaluation of image captioning task metrics, arXiv:2207.01733"
)
WHY_NOT = (  # a run's numbers are not compared with the published ones
    "the paper's captions are MS-COCO val2017's, this run's are from {dataset}",
    "{note}",
    "the paper uses all 5,000 images of val2017, this run {images:,}",
    "the paper uses {references} references per image",
    "this run differs from the paper in {differs}",
)
CANNOT_RUN = "corruption '{}' cannot run: {}"
LEFT_OUT = "{:,} of {:,} images left out: a set of the corruption has no caption of them ({})."
PAPER = "gonzalez2022metrics"
# experiment → what its page says, and the node of the corruption that the paper used
PRESETS: dict[str, tuple[dict[str, str], dict[str, object]]] = {
    "replace": (
        {
            "name": "replace",
            "title": "Replace: do metrics notice wrong words?",
            "question": "Human captions have a quarter and half of their words replaced by random "
            "words, and are swapped for another image's caption altogether. Which metrics rank the "
            "four versions Random < Replace 50% < Replace 25% < Human?",
        },
        {"rates": [0.25, 0.5], "distinct": False, "min_count": 4},
    ),
    "shuffle": (
        {
            "name": "shuffle",
            "title": "Shuffle: do metrics notice wrong word order?",
            "question": "A quarter, half and all of a human caption's words change places; every "
            "word stays. Which metrics rank the four versions "
            "Shuffle 100% < Shuffle 50% < Shuffle 25% < Human?",
        },
        {"rates": [0.25, 0.5, 1.0], "derange": False, "punctuation": "moves"},
    ),
}
CEILING_COLUMN = ScoreColumn(CEILING, bounds=(0.0, float("inf")), control=True)
COMPARED_SEEDS = 5
# what four more seeds cost little of: METEOR would take minutes more, SPICE an hour
CHEAP = ("bleu", "sacrebleu", "rouge_l", "cider", "controls")


class Graded(
    MetricExperiment[CaptionDataset, list[MetricScores]],
    name="graded",
    stored=True,
    title="Graded corruption",
    question="Does a metric score a caption lower the more of it is corrupted?",
    data=CaptionDataset,
    needs=(
        "this dataset has no captions to corrupt; use experiment=judgments for captions that "
        "people judged, experiment=pairs for true and false ones"
    ),
):
    """Human captions, and the configured corruption at one level per rate.

    Parameters
    ----------
    floor
        Put another image's caption ("Random") below the strongest corruption.
    preset
        An experiment of the paper, whose published values are compared with the run's.
    """

    def __init__(
        self, floor: bool = False, preset: Literal["replace", "shuffle"] | None = None
    ) -> None:
        self.floor, self.preset = floor, preset
        if preset is not None:
            for fact, text in PRESETS[preset][0].items():
                setattr(self, fact, text)

    def corruptions(self, config: DictConfig) -> list[Corruption]:
        """The corruptions of the run, worst first."""
        return [*([Random()] if self.floor else []), *configured(config.get("corruption"))]

    def published(self, dataset: CaptionDataset, config: DictConfig) -> PublishedInfo | None:
        """The published values, or why they cannot be compared with this run's; `None` where there
        are none for this experiment."""
        if self.preset is None:
            return None
        _, paper = PRESETS[self.preset]
        ours = {key: value for key, value in config.corruption.items() if key != "_target_"}
        differs = [key for key, value in paper.items() if ours.get(str(key)) != value]
        other = (note.rstrip(".") for note in dataset.notes if "not the captions" in note)
        reasons = fill_sentences(
            WHY_NOT,
            dataset=dataset.name if dataset.name != "coco_val2017" else None,
            note=next(other, None),
            images=len(dataset) if len(dataset) != 5000 else None,
            references="four" if {len(refs) for refs in dataset.references} != {4} else None,
            differs=", ".join(f"corruption.{key}" for key in differs),
        )
        why_not = next(reasons, None)
        return PublishedInfo(
            source=SOURCE,
            comparable=why_not is None,
            why_not=why_not,
            rank_order_rho={} if why_not else values_of(PAPER, self.preset),
        )

    def check(self, config: DictConfig) -> None:
        self.corruptions(config)
        rescorable({}, config)

    def load(self, config: DictConfig) -> CaptionDataset:
        return self.corruptible(super().load(config), config)

    def corruptible(self, dataset: CaptionDataset, config: DictConfig) -> CaptionDataset:
        """The images of which every corruption of the run has a caption; others are reported.

        Raises ConfigError for captions that the corruptions cannot change.
        """
        require_captions(dataset)
        corruptions = self.corruptions(config)
        for corruption in corruptions:
            if (absent := corruption.missing(dataset)) is not None:
                raise ConfigError(CANNOT_RUN.format(corruption.name, absent))
        missing = {
            c.label: sum(not c.has_caption(i) for i in dataset.image_ids) for c in corruptions
        }
        if not any(missing.values()):
            return dataset
        for corruption in corruptions:
            if missing[corruption.label] == len(dataset):
                corruption.fit(dataset)  # raises the error that shows how the ids differ
        kept = [
            k for k, i in enumerate(dataset.image_ids) if all(c.has_caption(i) for c in corruptions)
        ]
        counts = ", ".join(f"{name}: {n:,}" for name, n in missing.items() if n)
        note = LEFT_OUT.format(len(dataset) - len(kept), len(dataset), counts)
        if not kept:
            raise ConfigError(CANNOT_RUN.format(corruptions[0].name, note))
        log.warning("%s", note)
        return replace(dataset.subset(kept), notes=(*dataset.notes, note))

    def write_versions(self, data: CaptionDataset, record: RunRecord) -> None:
        corruptions, seed = self.corruptions(record.config), record.config.seed
        facts = write_corrupted(
            data, corruptions, record, lambda: versions(data, corruptions, seed)
        )
        write_references(record.out, data, record.config)
        record.update(
            dataset=dataset_info(data),
            corruption=facts,
            published=self.published(data, record.config),
        )

    def to_score(self, data: CaptionDataset, record: RunRecord) -> Iterable[ToScore]:
        return [ToScore(data, files.read_run_table(record.out / files.CAPTIONS))]

    def score(
        self, data: CaptionDataset, metrics: Mapping[str, Metric], record: RunRecord
    ) -> list[MetricScores]:
        needed = ("image_id", "set", "level", "caption")
        captions = files.read_run_table(record.out / files.CAPTIONS, needed)
        results = score_all(metrics.values(), data, captions, record.config)
        if any(column.control for scored in results for column in scored.columns):
            results.append(ceiling(captions))
        write_scores(record.out, captions, results)
        published = record.info.published
        count = seed_count(record.config, published is not None and published.comparable)
        if count > 1:
            reseeded = rescorable(metrics, record.config)
            known = [each for name, each in zip(metrics, results, strict=False) if name in reseeded]
            given = (data, self.corruptions(record.config), reseeded, record.config, count)
            write_seed_scores(self, data, known, record, lambda: score_seeds(*given))
        return results

    def statistics(
        self, data: CaptionDataset, scores: list[MetricScores], record: RunRecord
    ) -> MeasuredResult:
        return statistics(
            record.out,
            scores,
            record.config,
            data,
            self.corruptions(record.config),
            self.name,
            self.floor,
            record.info.published,
        )

    def explained(self, data: CaptionDataset) -> CaptionDataset:
        return data

    def explained_images(
        self, summary: MeasuredResult, images: int
    ) -> Mapping[str, Sequence[ImageId]]:
        extra = summary.extra("worst_images")
        worst = {
            name: [image for image in column[:images] if image is not None]
            for name, column in zip(extra.columns, zip(*extra.rows, strict=True), strict=True)
        }
        leading = worst.get(leading_column(summary.metrics) or "", [])
        return {
            m.name: tuple(dict.fromkeys((*worst.get(m.name, ()), *leading)))
            for m in summary.metrics
        }


def ceiling(captions: pd.DataFrame) -> MetricScores:
    """Each version scored by its own level; versions of an image with equal words by the highest.

    No metric can separate equal captions of an image, so none can do better, within an image or
    in every image at once. `captions` has `image_id`, `caption` and `level`.
    """
    levels = captions.groupby([IMAGE_ID, CAPTION], sort=False)[LEVEL].transform("max")
    return MetricScores(
        "ceiling",
        (CEILING_COLUMN,),
        ("ceiling|v:1",),
        "ok",
        scores=levels.to_numpy(dtype=np.float64)[:, None],
        n_scored=len(captions),
    )


def _needs_rate(target: str) -> bool:
    """Whether a corruption cannot be made without a rate."""
    rate = signature(get_object(target)).parameters.get("rate")
    return rate is not None and rate.default is rate.empty


def configured(node: DictConfig | None) -> list[Corruption]:
    """The corruptions of a `corruption` config node, worst first: one per rate, if it has rates.

    Raises ConfigError where the node or its rates make no sense.
    """
    if node is None:
        raise ConfigError("no corruption chosen; add corruption=replace (or shuffle, …)")
    options: dict[str, Any] = OmegaConf.to_container(node, resolve=True)  # type: ignore[assignment]
    for seeding in ("seeds", "reseeded"):  # how often all is done again: no options of a corruption
        options.pop(seeding, None)
    rates = options.pop("rates", None)
    if rates is None and not _needs_rate(options["_target_"]):
        made = component(options, "corruption")
        return made if isinstance(made, list) else [made]
    if wrong := [*problems(rates, list[Rate], "corruption.rates")]:
        raise ConfigError("; ".join(wrong))
    if not rates:
        raise ConfigError("corruption.rates: the list is empty; give rates in (0, 1]")
    if len({f"{100 * rate:g}" for rate in rates}) != len(rates):  # what a set's name shows of it
        raise ConfigError(
            f"corruption.rates: two of {rates} have the same name in tables (6 significant "
            "digits); leave one out"
        )
    ordered = sorted(rates, reverse=True)
    if "parts" in options:  # of several corruptions: each rate is that of all of them
        made = component({**options, "rates": ordered}, "corruption")
        return list(made)
    return [component({**options, "rate": rate}, "corruption") for rate in ordered]


def mixtures(
    parts: Sequence[str] | None = None, rates: Sequence[float] | None = None
) -> list[Corruption]:
    """A mixture of the named corruptions at each rate, worst first; one in all if none has a rate.

    Raises ConfigError for names that are not corruptions, and for fewer than two.
    """
    if not parts or isinstance(parts, str):
        raise ConfigError("give the corruptions of the mixture: corruption.parts=[replace,shuffle]")
    known = list_choices("corruption")  # a path would be read as a configuration
    if unknown := [name for name in parts if name not in known]:
        meant = did_you_mean(str(unknown[0]), known)
        raise ConfigError(f"corruption.parts: unknown corruption '{unknown[0]}'{meant}")
    nodes = [dict(compose_config([f"corruption={name}"]).corruption) for name in parts]
    rated = [node.get("rates") is not None for node in nodes]
    for node in nodes:
        for key in Degrees.__annotations__:
            node.pop(key, None)

    def mixture(rate: float | None) -> Mixture:
        made = [
            component({**node, "rate": rate} if has_rate else node, "corruption")
            for node, has_rate in zip(nodes, rated, strict=True)
        ]
        return Mixture(made, rate)

    if not any(rated):
        return [mixture(None)]
    if not rates:
        raise ConfigError("a mixture of corruptions with rates needs corruption.rates=[0.25,0.5]")
    return [mixture(rate) for rate in sorted(rates, reverse=True)]


def seed_count(config: DictConfig, comparable: bool = False) -> int:
    """How many corruption seeds a run uses, its own included (`corruption.seeds`).

    `null` is COMPARED_SEEDS where published values are comparable with the run, otherwise 1.
    """
    count = (config.get("corruption") or {}).get("seeds")
    if count is None:
        return COMPARED_SEEDS if comparable else 1
    return int(count)


def rescorable(metrics: Mapping[str, Metric], config: DictConfig) -> dict[str, Metric]:
    """The metrics that are scored on every seed: those of `corruption.reseeded`, groups resolved.

    Without that key the metrics that take next to no time. Raises ConfigError for a name that is
    neither a metric nor a group.
    """
    groups: dict[str, list[str]] = OmegaConf.to_container(config.metric_groups)  # type: ignore[assignment]
    reseeded = (config.get("corruption") or {}).get("reseeded")
    names = CHEAP if reseeded is None else list(reseeded)
    for name in names:
        if name not in groups and name not in metric_names():
            raise ConfigError(
                f"corruption.reseeded: '{name}' is neither a metric nor a group of metrics"
            )
    chosen = {member for name in names for member in groups.get(name, [name])}
    return {name: metric for name, metric in metrics.items() if name in chosen}


def versions(
    dataset: CaptionDataset, corruptions: Sequence[Corruption], seed: int
) -> Iterator[tuple[ImageId, Version]]:
    """Every image's caption as each corruption leaves it, worst set first, and the human one."""
    for level, corruption in enumerate(corruptions):
        results = corruption.apply(dataset, seed)
        for image_id, source, result in zip(dataset.image_ids, dataset.human, results, strict=True):
            yield image_id, corruption.version(level, source, result)
    for image_id, text in zip(dataset.image_ids, dataset.human, strict=True):
        yield image_id, Version(HUMAN, len(corruptions), text, text, realised_rate=0.0)


def score_seeds(
    dataset: CaptionDataset,
    corruptions: Sequence[Corruption],
    metrics: Mapping[str, Metric],
    config: DictConfig,
    count: int,
) -> tuple[pd.DataFrame, list[MetricScores]]:
    """The scores of the versions that the seeds after the run's own make: files.SEED_SCORES, and
    the outcome of each metric.

    `count` is the number of seeds, the run's own included.
    """
    rows = [
        (image_id, seed, v.set, v.level, v.caption)
        for seed in range(config.seed + 1, config.seed + count)
        for image_id, v in versions(dataset, corruptions, seed)
    ]
    captions = pd.DataFrame(rows, columns=["image_id", "seed", "set", "level", "caption"])
    keys = captions.drop(columns="caption")
    results = score_all(metrics.values(), dataset, captions, config)
    parts = [keys.assign(metric=c.name, score=values) for c, values in scored_columns(results)]
    empty = keys.assign(metric="", score=0.0)[:0]
    return pd.concat(parts, ignore_index=True) if parts else empty, results
