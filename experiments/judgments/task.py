"""Metrics against people: `python -m metaeval experiment=judgments dataset=flickr8k_expert`.

Captions that people have judged, scored by every metric: how far do the two agree, and which of two
metrics agrees more? See docs/judgments.md for the protocols and for what each number means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from omegaconf import DictConfig

from experiments.base import MetricExperiment, Pass, ToScore
from experiments.judgments.choice import (
    ChoiceScores,
    choice_statistics,
    pairs_to_score,
    score_choices,
)
from experiments.judgments.files import write_judgments, write_pairs, write_scores
from experiments.judgments.printout import printout
from experiments.judgments.published import published
from experiments.judgments.statistics import statistics
from experiments.record import RunRecord
from experiments.scores import score_all
from metaeval.config import load_dataset
from metaeval.data.judgments.judged import Judgments
from metaeval.data.judgments.pascal50s import ForcedChoice
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric
from metaeval.scoring import Scored

SWAPS = ("both", "image", "system")

Judged = Judgments | ForcedChoice
Scores = list[Scored] | ChoiceScores


class AgainstPeople(MetricExperiment[Judged, Scores]):
    """Every metric's agreement with human judgements, and the tests between metrics.

    Parameters
    ----------
    permutations
        Random arrangements of the paired permutation test between two metrics.
    swap
        What it swaps: "both" (each caption on its own), "image" or "system".
    alpha
        The level at which the printout and the report call a difference significant.
    """

    name = "judgments"
    title = "Metrics against people"
    question = "Which metric agrees best with what people say about captions?"
    report = "judgments"

    def __init__(self, permutations: int = 2000, swap: str = "both", alpha: float = 0.05) -> None:
        if isinstance(permutations, bool) or not isinstance(permutations, int) or permutations < 1:
            raise ConfigError(f"task.permutations must be at least 1, not {permutations!r}")
        if swap not in SWAPS:
            raise ConfigError(f"task.swap: '{swap}' is not one of {', '.join(SWAPS)}")
        if not 0 < alpha < 1:
            raise ConfigError(f"task.alpha: {alpha!r} is not in (0, 1)")
        self.permutations, self.swap, self.alpha = permutations, swap, float(alpha)

    def load(self, config: DictConfig) -> Judged:
        judged = load_dataset(config)
        if not isinstance(judged, Judgments | ForcedChoice):
            raise ConfigError(
                "experiment=judgments needs judged captions: dataset=flickr8k_expert, flickr8k_cf, "
                "composite, pascal50s, thumb or table"
            )
        return judged

    def describe(self, data: Judged) -> str:
        if isinstance(data, ForcedChoice):
            *others, last = map(str, data.n_references)
            numbers = f"{', '.join(others)} and {last}" if others else last
            return (
                f"{data.title}: {len(data):,} pairs of captions, {data.labels} labels, with "
                f"{numbers} reference{'' if numbers == '1' else 's'}, {data.draws} "
                f"draw{'' if data.draws == 1 else 's'}; {data.records}"
            )
        facts, rows = data.facts, dict.fromkeys(_row_counts(data).values())
        return (
            f"{data.title}: {facts['judged']:,} captions of {facts['images']:,} "
            f"images, {' and '.join(f'{n:,}' for n in rows)} rows "
            f"({data.protocol.name}: own captions {data.protocol.own_captions}, ratings "
            f"{data.protocol.ratings}, documents by {data.protocol.documents}); "
            f"{data.dataset.records}"
        )

    def write_versions(self, data: Judged, record: RunRecord) -> None:
        if isinstance(data, ForcedChoice):
            write_pairs(record.out, data)
            images, references = len(set(data.image)), list(data.n_references)
            sources, notes = data.sources, data.notes
        else:
            write_judgments(record.out, data)
            images = data.facts["images"]
            references = sorted({len(j.references) for j in data.judged})
            sources, notes = data.dataset.sources, data.dataset.notes
        records = data.records if isinstance(data, ForcedChoice) else data.dataset.records
        record.info["dataset"] = {
            "name": data.name,
            "n_images": images,
            "n_references": references,
            "sources": dict(sources),
            "notes": list(notes),
            "fallback": None,
            "records": records.counts() if records else None,
        }

    def to_score(self, data: Judged, record: RunRecord) -> Iterable[ToScore]:
        if isinstance(data, ForcedChoice):
            return pairs_to_score(data, record.config.seed)
        keys = [data.dataset.image_ids[i] for i in data.image_index]
        return [ToScore(data.dataset, keys, [j.candidate for j in data.judged])]

    def score(self, data: Judged, metrics: Mapping[str, Metric], record: RunRecord) -> Scores:
        if isinstance(data, ForcedChoice):
            return score_choices(data, list(metrics.values()), record.config, record.out)
        keys = data.dataset.image_ids
        captions = pd.DataFrame(
            {
                "image_id": [keys[i] for i in data.image_index],
                "caption": [j.candidate for j in data.judged],
            }
        )
        results = score_all(metrics.values(), data.dataset, captions, record.config)
        write_scores(record.out, results)
        return results

    def passes(self, scores: Scores) -> Sequence[Pass]:
        results = scores.results if isinstance(scores, ChoiceScores) else scores
        return [Pass(scored) for scored in results]

    def statistics(self, data: Judged, scores: Scores, record: RunRecord) -> dict[str, Any]:
        config = record.config
        if isinstance(data, ForcedChoice):
            assert isinstance(scores, ChoiceScores)  # `score` gives these for pairs
            specific = choice_statistics(data, scores, config, self.permutations, self.alpha)
        else:
            assert isinstance(scores, list)
            specific = {
                "kind": "ratings",
                "protocol": data.protocol.as_dict(),
                "facts": {**data.facts, "rows": _row_counts(data)},
                "dimensions": list(data.dimensions),
                "published": published(
                    data,
                    config.dataset.get("limit"),
                    bool(config.dataset.get("human_reference")),
                ),
                **statistics(data, scores, config, self.permutations, self.swap, self.alpha),
            }
        return {
            "dataset": data.name,
            "title": data.title,
            "settings": {
                "replicates": config.stats.replicates,
                "confidence": config.stats.confidence,
                "seed": config.stats.seed,
                "permutations": self.permutations,
                "swap": self.swap,
                "alpha": self.alpha,
            },
            **specific,
        }

    def printout(self, summary: Mapping[str, Any], record: RunRecord, file: Path) -> str:
        return printout(summary, file)


def _row_counts(judged: Judgments) -> dict[str, int]:
    """How many rows the correlations have in each dimension."""
    return {name: len(judged.rows(name)[0]) for name in judged.dimensions}
