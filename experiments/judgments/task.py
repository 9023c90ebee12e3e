"""Metrics against people: `python -m metaeval experiment=judgments dataset=flickr8k_expert`.

Captions that people have judged, scored by every metric: how far do the two agree, and which of two
metrics agrees more? See docs/judgments.md for the protocols and for what each number means.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from experiments.judgments.choice import forced_choice
from experiments.judgments.files import write_judgments, write_pairs, write_scores
from experiments.judgments.printout import printout
from experiments.judgments.published import published
from experiments.judgments.statistics import statistics
from experiments.run import Run, score
from metaeval.config import component
from metaeval.data.judgments.judged import Judgments
from metaeval.data.judgments.pascal50s import ForcedChoice
from metaeval.errors import ConfigError, StrictError
from metaeval.metrics.base import Metric
from metaeval.runs import files as results
from metaeval.scoring import Scored
from metaeval.selection import build, selected

SWAPS = ("both", "image", "system")


class AgainstPeople:
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

    name: ClassVar[str] = "judgments"
    title: ClassVar[str] = "Metrics against people"
    question: ClassVar[str] = "Which metric agrees best with what people say about captions?"

    def __init__(self, permutations: int = 2000, swap: str = "both", alpha: float = 0.05) -> None:
        if isinstance(permutations, bool) or not isinstance(permutations, int) or permutations < 1:
            raise ConfigError(f"protocol.permutations must be at least 1, not {permutations!r}")
        if swap not in SWAPS:
            raise ConfigError(f"protocol.swap: '{swap}' is not one of {', '.join(SWAPS)}")
        if not 0 < alpha < 1:
            raise ConfigError(f"protocol.alpha: {alpha!r} is not in (0, 1)")
        self.permutations, self.swap, self.alpha = permutations, swap, float(alpha)

    def run(self, config: DictConfig, out: Path) -> dict[str, Any]:
        """Run into the folder `out`; returns what `statistics.json` holds.

        Raises InputError and ConfigError before anything is scored, StrictError at the very end.
        """
        metrics = [build(name, config) for name in selected(config)]
        state = Run(config, out)
        results.atomic(
            out / results.CONFIG,
            lambda p: p.write_text(OmegaConf.to_yaml(config, resolve=True), encoding="utf-8"),
        )
        with state.stage("dataset"):
            judged = component(config.dataset, "dataset")
        if not isinstance(judged, Judgments | ForcedChoice):
            raise ConfigError(
                "experiment=judgments needs judged captions: dataset=flickr8k_expert, flickr8k_cf, "
                "composite, pascal50s, thumb or table"
            )
        state.record["experiment"] = {
            "name": self.name, "title": self.title, "question": self.question,
        }  # fmt: skip
        if isinstance(judged, Judgments):
            found, scored = self._ratings(judged, metrics, config, out, state)
        else:
            found, scored = self._choice(judged, metrics, config, out, state)
        summary = {
            "schema": 1,
            "experiment": self.name,
            "dataset": judged.name,
            "title": judged.title,
            "settings": {
                "replicates": config.stats.replicates,
                "confidence": config.stats.confidence,
                "seed": config.stats.seed,
                "permutations": self.permutations,
                "swap": self.swap,
                "alpha": self.alpha,
            },
            **found,
        }
        results.write_json(out / results.STATISTICS, summary)
        state.record["metrics"] = [
            {
                "metric": s.family,
                "seconds": round(s.seconds, 3),
                "n_scored": s.n_scored,
                "n_cached": s.n_cached,
            }
            for s in scored
        ]
        state.write()
        if config.report:  # report=none is an empty node
            with state.stage("report"):
                instantiate(config.report)(out)
            state.write()
        print(
            printout(summary, out / (results.REPORT if config.report else results.STATISTICS)),
            flush=True,
        )
        lacking = [s for s in scored if s.status != "ok"]
        if config.strict and lacking:
            told = "; ".join(f"{s.family} {s.status}: {s.reason}" for s in lacking)
            raise StrictError(f"{told} (strict=true)")
        return summary

    def _ratings(
        self, judged: Judgments, metrics: list[Metric], config: DictConfig, out: Path, state: Run
    ) -> tuple[dict[str, Any], list[Scored]]:
        """Rated captions: correlations, accuracies, differences."""
        facts = judged.facts
        rows = {name: len(judged.rows(name)[0]) for name in judged.dimensions}
        print(
            f"judgments on {judged.title}: {facts['judged']:,} captions of {facts['images']:,} "
            f"images, {' and '.join(f'{n:,}' for n in dict.fromkeys(rows.values()))} rows "
            f"({judged.protocol.name}: own captions "
            f"{judged.protocol.own_captions}, ratings {judged.protocol.ratings}, documents by "
            f"{judged.protocol.documents})",
            flush=True,
        )
        state.record["dataset"] = {
            "name": judged.name,
            "n_images": facts["images"],
            "n_references": sorted({len(j.references) for j in judged.judged}),
            "sources": dict(judged.dataset.sources),
            "notes": list(judged.dataset.notes),
            "fallback": None,
        }
        with state.stage("captions"):
            write_judgments(out, judged)
        keys = judged.dataset.image_ids
        captions = pd.DataFrame(
            {
                "image_id": [keys[i] for i in judged.image_index],
                "caption": [j.candidate for j in judged.judged],
            }
        )
        with state.stage("scores"):
            scored = score(metrics, judged.dataset, captions, config)
            write_scores(out, scored)
        with state.stage("statistics"):
            found = statistics(judged, scored, config, self.permutations, self.swap)
        return {
            "kind": "ratings",
            "protocol": judged.protocol.as_dict(),
            "facts": {**facts, "rows": rows},
            "dimensions": list(judged.dimensions),
            "published": published(judged, config.dataset.get("limit")),
            **found,
        }, scored

    def _choice(
        self, pairs: ForcedChoice, metrics: list[Metric], config: DictConfig, out: Path, state: Run
    ) -> tuple[dict[str, Any], list[Scored]]:
        """Pairs of captions: which of the two does a metric prefer?"""
        print(
            f"judgments on {pairs.title}: {len(pairs):,} pairs of captions, "
            f"{', '.join(map(str, pairs.n_references))} references, {pairs.draws} draws",
            flush=True,
        )
        state.record["dataset"] = {
            "name": pairs.name,
            "n_images": len(set(pairs.image)),
            "n_references": list(pairs.n_references),
            "sources": dict(pairs.sources),
            "notes": list(pairs.notes),
            "fallback": None,
        }
        with state.stage("captions"):
            write_pairs(out, pairs)
        with state.stage("scores"):
            found, scored = forced_choice(pairs, metrics, config, self.permutations, out)
        facts = {
            "pairs": len(pairs),
            "images": len(set(pairs.image)),
            "undecided": int((pairs.votes[:, 0] == pairs.votes[:, 1]).sum()),
        }
        return {"kind": "forced_choice", "facts": facts, "draws": pairs.draws, **found}, scored
