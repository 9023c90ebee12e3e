"""How many references a metric needs: `python -m metaeval experiment=references`.

On a captioning dataset the order of graded corruptions, on PASCAL-50S the agreement with people, by
the number of references, none among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from experiments.base import MetricExperiment, Pass
from experiments.captions import describe_dataset
from experiments.graded.statistics import matrix, set_table
from experiments.graded.task import Graded
from experiments.judgments.choice import ChoiceScores, choice_records, score_choices
from experiments.judgments.files import write_pairs, write_score_columns
from experiments.record import RunRecord
from experiments.scores import score_all
from experiments.text_table import text_table
from metaeval.config import load_dataset
from metaeval.data.dataset import CaptionDataset
from metaeval.data.judgments.pascal50s import VOTES, ForcedChoice
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric
from metaeval.options import Whole
from metaeval.runs import files
from metaeval.scoring import Scored
from metaeval.stats.ordering.graded import graded_result
from metaeval.stats.resampling.bootstrap import bootstrap_counts

CHOICE_COUNTS = (0, 1, 2, 5, 10, 20, VOTES)
GRADED_KEYS = ("rank_order_rho", "rank_order_rho_within", "pairwise_accuracy")

Data = CaptionDataset | ForcedChoice


class OfCount(NamedTuple):
    """What became of the metrics with so many references; `outcomes` of a forced choice."""

    n_references: int
    scored: list[Scored]
    choice: ChoiceScores | None = None


class ByReferences(MetricExperiment[Data, list[OfCount]]):
    """Every metric with ever more references.

    Parameters
    ----------
    n_references
        How many; of an image's references the first so many. By default from none to all that an
        image has, on PASCAL-50S CHOICE_COUNTS.
    floor
        Put another image's caption below the strongest corruption.
    """

    name = "references"
    title = "How many references does a metric need?"
    question = "How does a metric's agreement grow with the number of references?"
    report = "references"

    def __init__(self, n_references: list[Whole] | None = None, floor: bool = True) -> None:
        self.n_references = None if n_references is None else sorted(set(n_references))
        self.graded = Graded(floor)

    def load(self, config: DictConfig) -> Data:
        data: Data = load_dataset(config)
        if isinstance(data, ForcedChoice):
            most = VOTES
        elif isinstance(data, CaptionDataset):
            self.graded.check(config)
            self.graded.load(config)
            most = max(map(len, data.references))
        else:
            raise ConfigError(
                "experiment=references needs captions with references (coco_val2017, scenes, own) "
                "or dataset=pascal50s"
            )
        if self.n_references is not None and max(self.n_references, default=0) > most:
            raise ConfigError(
                f"task.n_references: {max(self.n_references)} is more than the {most} there are"
            )
        return data

    def describe(self, data: Data) -> str:
        numbers = ", ".join(map(str, self.counts(data)))
        if isinstance(data, ForcedChoice):
            return f"{data.title}: {len(data):,} pairs of captions, with {numbers} references"
        return f"{describe_dataset(data)}; with {numbers}"

    def counts(self, data: Data) -> list[int]:
        """The numbers of references, ascending."""
        if self.n_references is not None:
            return self.n_references
        if isinstance(data, ForcedChoice):
            return list(CHOICE_COUNTS)
        return list(range(min(map(len, data.references)) + 1))

    def write_versions(self, data: Data, record: RunRecord) -> None:
        if isinstance(data, CaptionDataset):
            self.graded.write_versions(data, record)
            return
        write_pairs(record.out, data)
        record.info["dataset"] = {
            "name": data.name,
            "n_images": len(set(data.image)),
            "n_references": self.counts(data),
            "sources": dict(data.sources),
            "notes": list(data.notes),
            "fallback": None,
            "records": None,
        }

    def score(self, data: Data, metrics: Mapping[str, Metric], record: RunRecord) -> list[OfCount]:
        if isinstance(data, ForcedChoice):
            return self._score_pairs(data, metrics, record)
        captions = files.read_table(record.out / files.CAPTIONS, ("image_id", "caption"))
        made, parts = [], []
        counts: list[int] = []
        for n in self.counts(data):
            fewer = replace(data, references=tuple(r[:n] for r in data.references))
            scored = score_all(metrics.values(), fewer, captions, record.config)
            made.append(OfCount(n, scored))
            for each in scored:
                for c, column in enumerate(each.columns if each.scores is not None else ()):
                    assert each.scores is not None
                    parts.append((column.name, each.scores[:, c]))
                    counts.append(n)
        write_score_columns(record.out, "caption", parts, n_references=counts)
        return made

    def _score_pairs(
        self, data: ForcedChoice, metrics: Mapping[str, Metric], record: RunRecord
    ) -> list[OfCount]:
        made = []
        for n in self.counts(data):
            # the scores of each number have a folder: what cannot run without references can with
            folder = record.out / f"{files.BY_REFERENCES}{n}"
            pairs = replace(data, n_references=(n,), draws=data.draws if n else 1)
            choice = score_choices(pairs, list(metrics.values()), record.config, folder)
            made.append(OfCount(n, choice.results, choice))
        return made

    def passes(self, scores: list[OfCount]) -> Sequence[Pass]:
        """A metric that runs with some number of references has run; its record has the others."""
        best: dict[str, Pass] = {}
        for n, scored, _ in scores:
            for each in scored:
                if each.family not in best or each.status == "ok":
                    best[each.family] = Pass(each, f"{n} references")
        return list(best.values())

    def statistics(self, data: Data, scores: list[OfCount], record: RunRecord) -> dict[str, Any]:
        config = record.config
        records: dict[str, dict[str, Any]] = {}
        by_count: dict[str, list[dict[str, Any]]] = {}
        for of_count in scores:
            told = (
                self._of_pairs(data, of_count, config)
                if isinstance(data, ForcedChoice)
                else self._of_captions(record.out, of_count, config)
            )
            for one in told:
                name = one["metric"]
                if name not in records or one["status"] == "ok":
                    records[name] = {k: v for k, v in one.items() if k != "values"}
                by_count.setdefault(name, []).append({
                    "n_references": of_count.n_references, "status": one["status"],
                    "reason": one["reason"], **one["values"],
                })  # fmt: skip
        return {
            "dataset": data.name,
            "kind": "choice" if isinstance(data, ForcedChoice) else "graded",
            "n_references": self.counts(data),
            "settings": {
                "replicates": config.stats.replicates,
                "confidence": config.stats.confidence,
                "seed": config.stats.seed,
            },
            "metrics": [{**records[name], "by_references": by_count[name]} for name in records],
        }

    def _of_captions(
        self, out: Path, of_count: OfCount, config: DictConfig
    ) -> list[dict[str, Any]]:
        """A record a column with its ρ, pooled and within, and its pairwise accuracy."""
        captions = files.read_table(out / files.CAPTIONS)
        images, sets = pd.Index(captions["image_id"].unique()), set_table(captions)
        names, levels = [s["name"] for s in sets], np.array([s["level"] for s in sets])
        counts = bootstrap_counts(len(images), config.stats.replicates, config.stats.seed)
        keys = captions[["image_id", "set"]]
        records = []
        for scored in of_count.scored:
            for c, column in enumerate(scored.columns):
                values: dict[str, Any] = {}
                if scored.status == "ok" and scored.scores is not None:
                    table = matrix(keys.assign(score=scored.scores[:, c]), "score", images, names)
                    told = graded_result(
                        table, levels, names, higher_is_better=column.higher_is_better,
                        counts=counts, confidence=config.stats.confidence,
                    ).record  # fmt: skip
                    values = {k: told[k] for key in GRADED_KEYS for k in (key, f"{key}_ci")}
                records.append({**scored.record(c).as_dict(), "values": values})
        return records

    def _of_pairs(
        self, data: ForcedChoice, of_count: OfCount, config: DictConfig
    ) -> list[dict[str, Any]]:
        """A record a column with its accuracy: the mean of the categories, and each of them."""
        pairs = replace(data, n_references=(of_count.n_references,))
        assert of_count.choice is not None
        records = []
        for told in choice_records(pairs, of_count.choice, config):
            values: dict[str, Any] = {}
            for choice in told.pop("choice"):
                accuracy = choice["accuracy"]
                values = {
                    "agreement": accuracy["mean"]["value"],
                    "agreement_ci": accuracy["mean"]["ci"],
                    "categories": {k: v["value"] for k, v in accuracy.items() if k != "mean"},
                }
            records.append({**told, "values": values})
        return records

    def printout(self, summary: Mapping[str, Any], record: RunRecord, file: Path) -> str:
        key = "agreement" if summary["kind"] == "choice" else "rank_order_rho"
        what = "agreement with people" if summary["kind"] == "choice" else "rank-order ρ"
        lines = []
        for told in summary["metrics"]:
            if told["part_of"] is None:
                cells = {
                    f"{v['n_references']} refs": "–" if v.get(key) is None else f"{v[key]:.4f}"
                    for v in told["by_references"]
                }
                lines.append({"metric": told["metric"], **cells})
        return "\n".join([*text_table(lines, what), f"{file.stem}: {file}"])
