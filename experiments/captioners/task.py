"""Captioners: `python -m metaeval experiment=captioners captions=FOLDER`.

The captions that systems wrote for the images of a dataset, scored by every metric: which system
is best by which metric, how certain that is, how machines compare with people, and where metrics
contradict each other. See docs/captioners.md for what each number means.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from metaeval.config import load_dataset
from metaeval.data.dataset import CaptionDataset, ImageId, RecordCount
from metaeval.data.system_captions import SystemCaptions, find_system_files, read_system_captions
from metaeval.data.tidy import count_captions
from metaeval.errors import ConfigError, InputError
from metaeval.experiments.base import MetricExperiment, Pass, ToScore
from metaeval.experiments.captioners.length import length_analysis
from metaeval.experiments.captioners.printout import printout
from metaeval.experiments.captioners.scores import score_families, with_all_references
from metaeval.experiments.captioners.statistics import statistics
from metaeval.experiments.captions import (
    dataset_info,
    record_counts,
    reference_counts,
    write_references,
    write_versions,
)
from metaeval.experiments.record import RunRecord
from metaeval.experiments.scores import write_scores
from metaeval.metrics.base import Metric
from metaeval.options import Draws, checked
from metaeval.results.captioners import (
    CaptionersResult,
    CaptioningSystem,
    ReferenceCounts,
)
from metaeval.runs import files
from metaeval.runs.columns import HUMAN, SET
from metaeval.runs.csv_text import spreadsheet_cell
from metaeval.runs.records import Version
from metaeval.scoring import SystemScores

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CaptionerData:
    """A dataset, the same with the Human caption among the references, and systems' captions."""

    dataset: CaptionDataset
    everyone: CaptionDataset
    systems: tuple[SystemCaptions, ...]


@dataclass(frozen=True, slots=True)
class CaptionerScores:
    """The metrics over the systems' captions with all references, and over all against Human."""

    systems: list[SystemScores]
    against_human: list[SystemScores]


class Captioners(MetricExperiment[CaptionerData, CaptionerScores]):
    """Systems against each other with all references, and against Human with the others.

    Parameters
    ----------
    permutations
        Random arrangements of the paired permutation test between neighbours in a ranking.
    """

    name = "captioners"
    title = "Captioners"
    question = "Which captioner is best, and do the metrics agree on it?"
    report = "captioners"

    @checked
    def __init__(self, permutations: Draws = 10_000) -> None:
        self.permutations = permutations

    def check(self, config: DictConfig) -> None:
        systems = _results_files(config)
        if HUMAN in systems:
            raise ConfigError(f"'{HUMAN}' is the name of people's captions; rename the system")
        least = max(1, len(systems) - 1) / (self.permutations + 1)
        if least > 1 - config.stats.confidence:
            log.warning(
                "with %d permutations no difference can be shown at %g: no p-value after Holm's "
                "correction is below %.2g; raise task.permutations",
                *(self.permutations, 1 - config.stats.confidence, least),
            )

    def load(self, config: DictConfig) -> CaptionerData:
        dataset: CaptionDataset = load_dataset(config)
        known = frozenset(dataset.pool_ids) | frozenset(dataset.image_ids) | dataset.excluded_ids
        paths = _results_files(config)
        systems = tuple(read_system_captions(path, name, known) for name, path in paths.items())
        for system in systems:
            if not system.records(dataset.image_ids).used:
                raise InputError("has no caption of any image of this run", file=system.path)
        return CaptionerData(dataset, with_all_references(dataset), systems)

    def describe(self, data: CaptionerData) -> str:
        """The run in a line, and a line for each system with missing images."""
        dataset = data.dataset
        every, others = (
            " to ".join(map(str, reference_counts(d))) for d in (data.everyone, dataset)
        )
        text = (
            f"{dataset.name}: {len(dataset):,} images, {len(data.systems)} systems, "
            f"{every} references each ({others} against Human)"
        )
        if dataset.fallback:
            text += f" ({dataset.fallback})"
        counts = [system.records(dataset.image_ids) for system in data.systems]
        text += (
            f"; systems: {RecordCount(sum(c.read for c in counts), sum(c.used for c in counts))}"
        )
        for system in data.systems:
            if missing := len(dataset) - sum(i in system.captions for i in dataset.image_ids):
                text += f"\n  {system.name} has no caption of {missing:,} of them"
        return text

    def write_versions(self, data: CaptionerData, record: RunRecord) -> None:
        write_versions(record.out, _versions(data))
        write_references(record.out, data.everyone, record.config)
        info = dataset_info(data.everyone)
        sources, notes = dict(info.sources), list(info.notes)
        for system in data.systems:
            sources[f"{system.name} ({system.path.name})"] = system.sha256
            notes += [f"{system.name}: {note}" for note in system.notes]
            if others := system.captions.keys() & data.dataset.excluded_ids:
                captions = count_captions(len(others))
                notes.append(f"{system.name}: {captions} of images left out, not read.")
        systems = {
            system.name: record_counts(system.records(data.dataset.image_ids))
            for system in data.systems
        }
        changed = {"sources": sources, "notes": tuple(notes), "systems": systems}
        record.update(dataset=info.model_copy(update=changed))

    def to_score(self, data: CaptionerData, record: RunRecord) -> Iterable[ToScore]:
        captions = files.read_table(record.out / files.CAPTIONS)
        machines = captions[captions[SET] != HUMAN]
        return [ToScore(data.everyone, machines), ToScore(data.dataset, captions)]

    def score(
        self, data: CaptionerData, metrics: Mapping[str, Metric], record: RunRecord
    ) -> CaptionerScores:
        config, out = record.config, record.out
        needed = ("image_id", "set", "level", "caption")
        captions = files.read_table(out / files.CAPTIONS, needed)
        machines = captions[captions[SET] != HUMAN].reset_index(drop=True)
        systems = score_families(list(metrics.values()), data.everyone, machines, config)
        write_scores(out, machines, [family.scored for family in systems])
        # a metric that did not run with all references cannot with fewer: try it once
        runnable = [
            metric
            for metric, family in zip(metrics.values(), systems, strict=True)
            if family.scored.status == "ok" and any(data.dataset.human)
        ]
        against = score_families(runnable, data.dataset, captions, config) if runnable else []
        write_scores(out / files.AGAINST_HUMAN, captions, [family.scored for family in against])
        return CaptionerScores(systems, against)

    def passes(self, scores: CaptionerScores) -> Sequence[Pass]:
        return [
            *(Pass(family.scored, "all references") for family in scores.systems),
            *(Pass(family.scored, "against Human") for family in scores.against_human),
        ]

    def statistics(
        self, data: CaptionerData, scores: CaptionerScores, record: RunRecord
    ) -> CaptionersResult:
        captions = files.read_table(record.out / files.CAPTIONS)
        names = [system.name for system in data.systems]
        numbers = statistics(
            captions, scores.systems, scores.against_human, names, record.config, self.permutations
        )
        machines = captions[captions[SET] != HUMAN].reset_index(drop=True)
        everyone = data.everyone
        length = length_analysis(
            machines,
            dict(zip(everyone.image_ids, everyone.references, strict=True)),
            [family.scored for family in scores.systems],
            names,
        )
        files.atomic(
            record.out / files.DISAGREEMENT,
            lambda p: numbers.by_image.map(spreadsheet_cell).to_csv(
                p, index=False, lineterminator="\n"
            ),
        )
        return CaptionersResult(
            experiment=self.name,
            dataset=data.dataset.name,
            metrics=tuple(numbers.metrics),
            n_images=numbers.n_images,
            references=ReferenceCounts(
                systems=tuple(reference_counts(data.everyone)),
                against_human=tuple(reference_counts(data.dataset)),
            ),
            settings=numbers.settings,
            systems=tuple(
                _system(
                    system,
                    data.dataset,
                    int((machines[SET] == system.name).sum()),
                    numbers.mean_rank(system.name),
                )
                for system in data.systems
            ),
            against_human=tuple(numbers.against_human),
            agreement=numbers.agreement,
            disagreement=numbers.disagreement,
            length=length,
        )

    def printout(self, result: CaptionersResult, record: RunRecord, file: Path) -> str:
        return printout(result, file)


def _results_files(config: DictConfig) -> dict[str, Path]:
    """System → its file, as `captions` names them."""
    given = config.get("captions")
    return find_system_files(OmegaConf.to_object(given) if OmegaConf.is_config(given) else given)


def _versions(data: CaptionerData) -> Iterator[tuple[ImageId, Version]]:
    """The systems' captions at level 0, Human at level 1."""
    pairs = list(zip(data.everyone.image_ids, data.everyone.human, strict=True))
    for system in data.systems:
        captioned = [(i, human) for i, human in pairs if i in system.captions]
        for image_id, human in captioned:
            yield image_id, Version(system.name, 0, system.captions[image_id], human)
    for image_id, human in pairs:
        if human:  # a folder of images has no captions
            yield image_id, Version(HUMAN, 1, human, human)


def _system(
    system: SystemCaptions, dataset: CaptionDataset, n: int, mean_rank: float | None
) -> CaptioningSystem:
    """A system with `n` captions in the run, its file, and how it fits the images of the run."""
    inside = sum(i in system.captions for i in dataset.image_ids)
    return CaptioningSystem(
        name=system.name,
        n=n,
        mean_rank=mean_rank,
        file=system.path.name,
        n_missing=len(dataset) - inside,
        n_other_images=len(system.captions) - inside,
        n_empty=sum(system.captions.get(i) == "" for i in dataset.image_ids),
    )
