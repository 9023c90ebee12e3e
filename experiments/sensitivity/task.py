"""Sensitivity: human captions against every corruption there is; what does each metric see?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from omegaconf import DictConfig, ListConfig

from corruptions.base import Corrupted, Corruption
from corruptions.language.parsed import parse
from experiments.base import MetricExperiment, Pass
from experiments.captions import (
    dataset_info,
    describe_dataset,
    require_captions,
    write_references,
    write_versions,
)
from experiments.record import RunRecord
from experiments.scores import score_all, write_scores
from experiments.sensitivity.printout import printout
from experiments.sensitivity.statistics import HUMAN, statistics
from experiments.sensitivity.suite import kind_of, suite
from metaeval.config import load_dataset
from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.errors import ConfigError, require_count
from metaeval.metrics.base import Metric
from metaeval.runs import files
from metaeval.runs.records import Version
from metaeval.scoring import Scored
from metaeval.text.tokenizers.base import forget_texts


class Sensitivity(MetricExperiment[CaptionDataset, list[Scored]]):
    """Every metric's profile over the corruptions, and its harmless changes.

    Parameters
    ----------
    corruptions
        "all", or names and kinds of corruptions: [wrong_colour, logic].
    images
        How many images at most, the first by id.
    refine
        Give each number also on a part of the images on which no control is any good.
    """

    name = "sensitivity"
    title = "Sensitivity: what does each metric see?"
    report = "sensitivity"
    question = (
        "Human captions are changed in many small ways, some of which make them false, poorer or "
        "worse English, and some of which do no harm. Which changes does a metric notice, and "
        "which harmless ones does it punish?"
    )

    def __init__(
        self, corruptions: str | Sequence[str] = "all", images: int = 1000, refine: bool = False
    ) -> None:
        require_count("task.images", images)
        plain = list(corruptions) if isinstance(corruptions, ListConfig) else corruptions
        self.corruptions: str | Sequence[str] = plain
        self.images = images
        self.refine = refine

    def load(self, config: DictConfig) -> CaptionDataset:
        dataset = load_dataset(config)
        if not isinstance(dataset, CaptionDataset):
            raise ConfigError(
                "these are captions that people judged: experiment=judgments is for them"
            )
        require_captions(dataset)
        return dataset.limited(self.images)

    def describe(self, data: CaptionDataset) -> str:
        return describe_dataset(data)

    def write_versions(self, data: CaptionDataset, record: RunRecord) -> None:
        corruptions = suite(data, self.corruptions)
        if not corruptions:
            raise ConfigError(f"no corruption in {self.corruptions} can be made of {data.name}")
        told: list[dict[str, Any]] = []
        made = self._made(data, corruptions, record.config.seed, told)
        write_versions(record.out, made)
        write_references(record.out, data, record.config)
        record.info["dataset"] = dataset_info(data)
        record.info["corruptions"] = told
        parse.cache_clear()  # captions that were read: a hundred megabytes nobody needs any more

    @staticmethod
    def _made(
        data: CaptionDataset,
        corruptions: Sequence[Corruption],
        seed: int,
        told: list[dict[str, Any]],
    ) -> Iterator[tuple[ImageId, Version]]:
        """Human captions and every corruption's versions; what they are goes into `told`."""
        for image_id, text in zip(data.image_ids, data.human, strict=True):
            yield image_id, Version(HUMAN, 0, text, text, realised_rate=0.0)
        for level, corruption in enumerate(corruptions, 1):
            results = corruption.apply(data, seed)
            told.append(_entry(corruption, results))
            for image_id, text, result in zip(data.image_ids, data.human, results, strict=True):
                yield (
                    image_id,
                    Version(
                        corruption.label,
                        level,
                        result.text,
                        text,
                        result.applied,
                        corruption.expected if result.applied else "same",
                        result.effect,
                        result.harm,
                        result.requested,
                        result.realised,
                        result.edits,
                    ),
                )

    def score(
        self, data: CaptionDataset, metrics: Mapping[str, Metric], record: RunRecord
    ) -> list[Scored]:
        captions = files.read_table(record.out / files.CAPTIONS)
        results = score_all(metrics.values(), data, captions, record.config)
        write_scores(record.out, captions, results)
        forget_texts()
        return results

    def passes(self, scores: list[Scored]) -> Sequence[Pass]:
        return [Pass(scored) for scored in scores]

    def statistics(
        self, data: CaptionDataset, scores: list[Scored], record: RunRecord
    ) -> dict[str, Any]:
        told = record.info["corruptions"]
        numbers = statistics(record.out, scores, record.config, told, self.refine)
        return {"dataset": data.name, **numbers}

    def printout(self, summary: Mapping[str, Any], record: RunRecord, file: Path) -> str:
        return printout(summary, file)


def _entry(corruption: Corruption, results: Sequence[Corrupted]) -> dict[str, Any]:
    """What `run.json` says of one corruption at one level."""
    changed = [result for result in results if result.applied]
    reasons = Counter(
        result.reason or "nothing to change" for result in results if not result.applied
    )
    shares = [result.realised for result in changed if result.realised is not None]
    edits = [len(result.edits) for result in changed if result.edits]
    return {
        "set": corruption.label,
        "name": corruption.name,
        "kind": kind_of(corruption),
        "expected": corruption.expected,
        "n": len(results),
        "n_applied": len(changed),
        "mean_share_changed": sum(shares) / len(shares) if shares else None,
        "median_edits": float(median(edits)) if edits else None,
        "reasons": dict(sorted(reasons.items())),
    }
