"""`experiment=attack`: search for captions that fool each metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig

from metaeval.config import load_dataset
from metaeval.corruptions.language.parsed import parse
from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.errors import ConfigError
from metaeval.experiments.attack.printout import printout
from metaeval.experiments.attack.searches import (
    Attacked,
    Material,
    attack,
    gather_material,
    swapped_dataset,
)
from metaeval.experiments.attack.statistics import (
    attack_statistics,
    best_false,
    share,
    usable,
    wins,
)
from metaeval.experiments.base import MetricExperiment, Pass
from metaeval.experiments.captions import (
    dataset_info,
    describe_dataset,
    require_captions,
    write_references,
    write_versions,
)
from metaeval.experiments.record import RunRecord
from metaeval.experiments.scores import open_store, score_all, write_scores
from metaeval.metrics.base import Metric
from metaeval.options import NonNegativeInt, PositiveInt
from metaeval.results.attack import AttackResult, AttackSettings, AttackStatistics, Found, Transfer
from metaeval.results.metric import MetricResult
from metaeval.runs import files
from metaeval.runs.records import Edit, Version
from metaeval.runs.store import Store
from metaeval.scoring import MetricScores
from metaeval.search.beam import SearchLimits, Trial
from metaeval.search.falsehoods import rule_of
from metaeval.search.fluency import CENTRAL, Fluency
from metaeval.search.target import Target
from metaeval.text.tokenizers.base import forget_texts

HUMAN = "Human"
_EXAMPLES = 6  # of the gallery, per metric


@dataclass(slots=True)
class AttackScores:
    """What the searches found, and the scores of what they found under every metric."""

    material: Material
    scored: list[MetricScores] = field(default_factory=list)
    attacked: dict[str, Attacked] = field(default_factory=dict)  # by family
    no_fluency: str | None = None


class Attack(MetricExperiment[CaptionDataset, AttackScores]):
    """Provably false captions that a metric prefers, inflated scores, and generic captions.

    Parameters
    ----------
    images
        How many images at most, the first by id.
    budgets
        Numbers of metric calls per image at which results are given, ascending; the last one is
        what a search may spend.
    edits
        How many words a search may change.
    inflation_images
        Images on which scores are inflated regardless of the truth; 0 for none.
    """

    name = "attack"
    title = "Attack: can it be fooled?"
    report = None
    question = (
        "Whoever optimises a metric searches for captions that it likes. Does a search find "
        "captions that are provably false and score above the human caption, how cheaply, and do "
        "they fool other metrics as well?"
    )

    def __init__(
        self,
        images: PositiveInt = 1000,
        budgets: Sequence[int] = (0, 10, 100),
        edits: NonNegativeInt = 3,
        inflation_images: NonNegativeInt = 100,
    ) -> None:
        self.images, self.edits, self.inflation_images = images, edits, inflation_images
        self.budgets = tuple(int(b) for b in budgets)
        ascending = sorted(set(self.budgets)) == list(self.budgets)
        if not self.budgets or not ascending or self.budgets[0] < 0 or self.budgets[-1] < 1:
            raise ConfigError(
                f"task.budgets: {list(self.budgets)} is not an ascending list of numbers of calls; "
                "give, for example, [0,10,100]"
            )

    @property
    def limits(self) -> SearchLimits:
        """What a search may spend."""
        return SearchLimits(self.budgets[-1], self.edits)

    def load(self, config: DictConfig) -> CaptionDataset:
        dataset = load_dataset(config)
        if not isinstance(dataset, CaptionDataset):
            raise ConfigError("dataset: experiment=attack needs captions, not judged captions")
        require_captions(dataset)
        if rule_of(dataset) is None:
            raise ConfigError(
                f"dataset: nothing tells which captions are false of {dataset.name}; choose one "
                "with scene graphs (dataset=scenes) or annotated objects (dataset=coco_val2017)"
            )
        return dataset.limited(self.images)

    def describe(self, data: CaptionDataset) -> str:
        return describe_dataset(data)

    def write_versions(self, data: CaptionDataset, record: RunRecord) -> None:
        human = ((i, _human(text)) for i, text in zip(data.image_ids, data.human, strict=True))
        write_versions(record.out, human)
        write_references(record.out, data, record.config)
        record.update(dataset=dataset_info(data))

    def score(
        self, data: CaptionDataset, metrics: Mapping[str, Metric], record: RunRecord
    ) -> AttackScores:
        for name, metric in metrics.items():
            refuse_replay(name, metric)
        with open_store(record.config) as store:
            result = self._search(data, metrics, store, record.config.seed)
        parse.cache_clear()
        versions = list(self._versions(data, result))
        write_versions(record.out, versions)
        captions = files.read_table(record.out / files.CAPTIONS)
        result.scored = score_all(metrics.values(), data, captions, record.config)
        write_scores(record.out, captions, result.scored)
        forget_texts()
        return result

    def _search(
        self, data: CaptionDataset, metrics: Mapping[str, Metric], store: Store, seed: int
    ) -> AttackScores:
        fluency, reason = None, None
        try:
            fluency = Fluency(data, store)
        except ValueError as error:
            reason = str(error)
        if fluency is not None and fluency.seen.all():
            fluency, reason = None, "the language model has learned from all of these images"
        result = AttackScores(gather_material(data, fluency, seed), no_fluency=reason)
        swapped_data = swapped_dataset(data)
        for metric in metrics.values():
            target, swapped = Target(metric, data, store), Target(metric, swapped_data, store)
            try:
                if target.bound.scorer is not None and swapped.bound.scorer is not None:
                    result.attacked[metric.name] = attack(
                        target, swapped, result.material, self.limits, self.inflation_images
                    )
            finally:
                target.close()
                swapped.close()
            forget_texts()
        return result

    def _versions(
        self, data: CaptionDataset, result: AttackScores
    ) -> list[tuple[ImageId, Version]]:
        rows = []
        for family, found in result.attacked.items():
            trials = best_false(found, result.material, self.limits)
            for i in usable(found, result.material):
                trial = trials[i]
                if trial is not None:
                    text, source = trial.draft.text, data.human[i]
                    version = Version(
                        f"against {family}", 0, text, source, expected="lower",
                        severity="critical", harm=trial.draft.harm, edits=_edits(source, text),
                    )  # fmt: skip
                    rows.append((data.image_ids[i], version))
        rows += [
            (i, replace(_human(text), level=1))
            for i, text in zip(data.image_ids, data.human, strict=True)
        ]
        return rows

    def passes(self, scores: AttackScores) -> Sequence[Pass]:
        return [Pass(scored) for scored in scores.scored]

    def statistics(
        self, data: CaptionDataset, scores: AttackScores, record: RunRecord
    ) -> AttackResult:
        metrics: list[MetricResult[AttackStatistics]] = []
        for scored in scores.scored:
            found = scores.attacked.get(scored.family)
            numbers = (
                attack_statistics(found, scores.material, self.limits, self.budgets)
                if found is not None and scored.status == "ok"
                else None
            )
            metrics.append(scored.result(_headline(scored), numbers))
        fluency = scores.material.fluency
        return AttackResult(
            experiment=self.name,
            dataset=data.name,
            metrics=tuple(metrics),
            settings=AttackSettings(
                rule=rule_of(data) or "",
                budgets=self.budgets,
                max_edits=self.edits,
                seed=record.config.seed,
                n_images=len(data),
                fluent=CENTRAL if fluency is not None else None,
                no_fluency=scores.no_fluency,
                lengths=fluency.lengths if fluency is not None else None,
            ),
            transfer=tuple(self._transfer(data, scores)),
            gallery=tuple(self._gallery(data, scores)),
        )

    def _transfer(self, data: CaptionDataset, scores: AttackScores) -> list[Transfer]:
        """Of the captions that fool one metric, the share that every other one prefers, too."""
        rows = self._versions(data, scores)
        place = {image_id: i for i, image_id in enumerate(data.image_ids)}
        humans = len(rows) - len(data)  # the human captions come last, in the dataset's order
        cells = []
        for family, found in scores.attacked.items():
            trials = best_false(found, scores.material, self.limits)
            mine = [k for k, (_, v) in enumerate(rows) if v.set == f"against {family}"]
            fooled = [
                k
                for k in mine
                if wins(trials[i := place[rows[k][0]]], found.human[i], scores.material, i)
            ]
            source = next(s for s in scores.scored if s.family == family)
            for other in scores.scored:
                if other.scores is None:
                    continue
                column = _headline(other)
                sign = 1 if other.columns[column].higher_is_better else -1
                values = sign * other.scores[:, column]
                false = values[fooled]
                human = values[[humans + place[rows[k][0]] for k in fooled]]
                known = ~np.isnan(false) & ~np.isnan(human)
                cells.append(
                    Transfer(
                        source=source.columns[_headline(source)].name,
                        target=other.columns[column].name,
                        share=share(false[known] > human[known]),
                    )
                )
        return cells

    def _gallery(self, data: CaptionDataset, scores: AttackScores) -> list[Found]:
        """The first successes of each metric."""
        examples = []
        for scored in scores.scored:
            found = scores.attacked.get(scored.family)
            if found is None or scored.status != "ok":
                continue
            column = scored.columns[_headline(scored)]
            sign = 1 if column.higher_is_better else -1
            trials: list[Trial | None] = best_false(found, scores.material, self.limits)
            won = [
                (i, trial)
                for i in usable(found, scores.material)
                if (trial := trials[i]) is not None
                and wins(trial, found.human[i], scores.material, i)
            ]
            for i, trial in won[:_EXAMPLES]:
                examples.append(
                    Found(
                        metric=column.name,
                        image_id=data.image_ids[i],
                        human=data.human[i],
                        false=trial.draft.text,
                        scores=(sign * found.human[i], sign * trial.score),
                        edits=trial.draft.edits,
                    )
                )
        return examples

    def printout(self, summary: AttackResult, record: RunRecord, file: Path) -> str:
        return printout(summary, file)


def refuse_replay(name: str, metric: Any) -> None:
    """Raise ConfigError for a judge that replays recorded answers: it knows no new caption."""
    replays = getattr(metric, "replay", None) is not None
    records = getattr(metric, "mode", None) == "record"
    if replays and not records:
        raise ConfigError(
            f"metric.{name}: experiment=attack scores captions that nobody has scored before, and "
            "recorded answers contain none of them; give base_url and model, without replay"
        )


def _headline(scored: MetricScores) -> int:
    headlines = [i for i, c in enumerate(scored.columns) if c.headline]
    return headlines[-1] if headlines else 0


def _human(text: str) -> Version:
    return Version(HUMAN, 0, text, text, realised_rate=0.0)


def _edits(source: str, text: str) -> tuple[Edit, ...]:
    """The words that differ, one edit each."""
    from difflib import SequenceMatcher

    old, new = source.split(), text.split()
    edits = []
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        for step in range(max(j - i, m - k)):
            before = old[i + step] if i + step < j else ""
            after = new[k + step] if k + step < m else ""
            edits.append(Edit(min(i + step, j), before, after))
    return tuple(edits)
