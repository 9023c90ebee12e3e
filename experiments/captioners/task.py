"""Captioners: `python -m metaeval experiment=models captions=FOLDER`.

The captions that systems wrote for the images of a dataset, scored by every metric: which system
is best by which metric, how sure that is, how machines stand against people, and where metrics
contradict each other. See docs/models.md for what each number means.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from experiments.captioners.printout import printout
from experiments.captioners.scores import Family, score_families, with_all_references
from experiments.captioners.statistics import statistics
from experiments.run import Run, image_paths, write_scores
from metaeval.config import component
from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.data.system_captions import (
    SystemCaptions,
    find_system_files,
    read_system_captions,
)
from metaeval.errors import ConfigError, InputError, StrictError
from metaeval.runs import files as results
from metaeval.selection import build, selected

log = logging.getLogger(__name__)

HUMAN = "Human"
AGAINST_HUMAN = "against_human"  # the folder of what was scored against the other references
DISAGREEMENT = "disagreement.csv"


class Models:
    """Systems against each other with all references, and against Human with the others.

    Parameters
    ----------
    permutations
        Random arrangements of the paired permutation test between neighbours in a ranking.
    """

    name: ClassVar[str] = "models"
    title: ClassVar[str] = "Captioners"
    question: ClassVar[str] = "Which captioner is best, and do the metrics agree on it?"

    def __init__(self, permutations: int = 10_000) -> None:
        if isinstance(permutations, bool) or not isinstance(permutations, int) or permutations < 1:
            raise ConfigError(f"protocol.permutations must be at least 1, not {permutations!r}")
        self.permutations = permutations

    def run(self, config: DictConfig, out: Path) -> dict[str, Any]:
        """Run into the folder `out`; returns what `statistics.json` holds.

        Raises InputError and ConfigError before anything is scored, StrictError at the very end.
        """
        names = selected(config)  # a misspelt metric is refused before the data is read
        metrics = [build(name, config) for name in names]
        given = config.get("captions")
        if OmegaConf.is_config(given):
            given = OmegaConf.to_object(given)
        files = find_system_files(given)
        if HUMAN in files:
            raise ConfigError(f"'{HUMAN}' is what people's captions are called: rename the system")
        least = max(1, len(files) - 1) / (self.permutations + 1)
        if least > 1 - config.stats.confidence:
            log.warning(
                "with %d permutations no difference can be shown at %g: no p-value after Holm's "
                "correction is below %.2g; raise protocol.permutations",
                *(self.permutations, 1 - config.stats.confidence, least),
            )
        state = Run(config, out)
        results.atomic(
            out / results.CONFIG,
            lambda p: p.write_text(OmegaConf.to_yaml(config, resolve=True), encoding="utf-8"),
        )
        with state.stage("dataset"):
            dataset: CaptionDataset = component(config.dataset, "dataset")
            known = frozenset(dataset.pool_ids) | frozenset(dataset.image_ids)
            systems = [read_system_captions(path, name, known) for name, path in files.items()]
        everyone = with_all_references(dataset)
        print(f"models on {_describe(dataset, everyone, systems)}", flush=True)
        with state.stage("captions"):
            captions = self._write_captions(out, config, everyone, systems)
        state.record |= self._record(dataset, everyone, systems)
        machines = captions[captions["set"] != HUMAN].reset_index(drop=True)
        with state.stage("scores with all references"):
            families = score_families(metrics, everyone, machines, config)
            write_scores(out, machines, [family.scored for family in families])
        with state.stage("scores against Human"):
            # a metric that did not run with all references would not with fewer: ask it once
            again = [n for n, f in zip(names, families, strict=True) if f.scored.status == "ok"]
            against = score_families(
                [build(name, config) for name in again], dataset, captions, config
            )
            write_scores(out / AGAINST_HUMAN, captions, [family.scored for family in against])
        state.record["metrics"] = [
            *_timing(families, f"{len(everyone.references[0])} references"),
            *_timing(against, "against Human"),
        ]
        with state.stage("statistics"):
            summary, images = statistics(
                captions, families, against, [s.name for s in systems], config, self.permutations
            )
            summary = {
                "schema": 1,
                "experiment": self.name,
                "dataset": dataset.name,
                "references": {
                    "systems": _counts(everyone),
                    "against_human": _counts(dataset),
                },
                **summary,
            }
            for record, system in zip(summary["systems"], systems, strict=True):
                record |= _told(system, dataset)
            results.write_json(out / results.STATISTICS, summary)
            results.atomic(
                out / DISAGREEMENT,
                lambda p: images.to_csv(p, index=False, lineterminator="\n"),
            )
        state.write()
        if config.report:  # report=none is an empty node
            with state.stage("report"):
                instantiate(config.report)(out)
            state.write()
        where = out / (results.REPORT if config.report else results.STATISTICS)
        print(printout(summary, where), flush=True)
        lacking = [f.scored for f in [*families, *against] if f.scored.status != "ok"]
        if config.strict and lacking:
            told = "; ".join(f"{s.family} {s.status}: {s.reason}" for s in lacking)
            raise StrictError(f"{told} (strict=true)")
        return summary

    def _write_captions(
        self,
        out: Path,
        config: DictConfig,
        dataset: CaptionDataset,
        systems: Sequence[SystemCaptions],
    ) -> pd.DataFrame:
        """captions.parquet: the systems' captions at level 0, Human at level 1; references.parquet.

        Raises InputError for a system that has no caption of any image of the run.
        """
        rows: list[tuple[ImageId, str, int, str, str]] = []
        pairs = list(zip(dataset.image_ids, dataset.human, strict=True))
        for system in systems:
            own = [(i, human) for i, human in pairs if i in system.captions]
            if not own:
                raise InputError("has no caption of any image of this run", file=system.path)
            rows += [(i, system.name, 0, system.captions[i], human) for i, human in own]
        rows += [(i, HUMAN, 1, human, human) for i, human in pairs]
        table = pd.DataFrame(
            rows, columns=["image_id", "set", "level", "caption", "source_caption"]
        )
        table = table.assign(
            applied=True,
            requested_rate=float("nan"),
            realised_rate=float("nan"),
            effect=None,
            harm=float("nan"),
        )
        table["edits"] = [[] for _ in range(len(table))]
        results.write_table(out / results.CAPTIONS, table)
        photos = bool(config.report and config.report.get("photos"))
        references = pd.DataFrame(
            {
                "image_id": dataset.image_ids,
                "references": [list(texts) for texts in dataset.references],
                "image_path": image_paths(dataset, photos),
            }
        )
        results.write_table(out / results.REFERENCES, references)
        return results.read_table(out / results.CAPTIONS)

    def _record(
        self,
        dataset: CaptionDataset,
        everyone: CaptionDataset,
        systems: Sequence[SystemCaptions],
    ) -> dict[str, Any]:
        """What `run.json` says of data and experiment."""
        return {
            "experiment": {"name": self.name, "title": self.title, "question": self.question},
            "dataset": {
                "name": dataset.name,
                "n_images": len(dataset),
                "n_references": _counts(everyone),
                "sources": {
                    **dataset.sources,
                    **{f"{s.name} ({s.path.name})": s.sha256 for s in systems},
                },
                "notes": [
                    *dataset.notes,
                    *(f"{system.name}: {note}" for system in systems for note in system.notes),
                ],
                "fallback": dataset.fallback,
            },
        }


def _counts(dataset: CaptionDataset) -> list[int]:
    return sorted({len(references) for references in dataset.references})


def _timing(families: Sequence[Family], references: str) -> list[dict[str, Any]]:
    return [
        {
            "metric": f"{family.scored.family} ({references})",
            "seconds": round(family.scored.seconds, 3),
            "n_scored": family.scored.n_scored,
            "n_cached": family.scored.n_cached,
        }
        for family in families
    ]


def _told(system: SystemCaptions, dataset: CaptionDataset) -> Mapping[str, Any]:
    """A system's file, and how it fits the images of the run."""
    inside = sum(i in system.captions for i in dataset.image_ids)
    return {
        "file": system.path.name,
        "n_missing": len(dataset) - inside,
        "n_other_images": len(system.captions) - inside,
        "n_empty": sum(system.captions.get(i) == "" for i in dataset.image_ids),
    }


def _describe(
    dataset: CaptionDataset, everyone: CaptionDataset, systems: Sequence[SystemCaptions]
) -> str:
    """The run in a line, and a line for each system that lacks images."""
    own, others = (" to ".join(map(str, _counts(d))) for d in (everyone, dataset))
    text = (
        f"{dataset.name}: {len(dataset):,} images, {len(systems)} systems, "
        f"{own} references each ({others} against Human)"
    )
    if dataset.fallback:
        text += f" ({dataset.fallback})"
    for system in systems:
        if lacking := len(dataset) - sum(i in system.captions for i in dataset.image_ids):
            text += f"\n  {system.name} has no caption of {lacking:,} of them"
    return text
