"""`experiment=attack`: search for captions that fool each metric."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from omegaconf import DictConfig

from metaeval.corruptions.language.parsed import forget_parsed
from metaeval.corruptions.own.function import difference
from metaeval.experiments import (
    HUMAN,
    CaptionDataset,
    ConfigError,
    Estimate,
    ImageId,
    Metric,
    MetricExperiment,
    Version,
    fill_sentences,
    open_store,
    score_all,
    write_scores,
)
from metaeval.experiments.attack.searches import (
    AttackOutcome,
    Material,
    attack,
    attack_control,
    exact_match,
    gather_material,
    swapped_dataset,
)
from metaeval.experiments.attack.statistics import (
    attack_extras,
    attack_outcomes,
    attack_statistics,
    best_false,
    declared,
    fools_metric,
    share,
)
from metaeval.experiments.measure import measure
from metaeval.experiments.record import (
    RunRecord,
    require_captions,
    write_dataset,
    write_versions,
)
from metaeval.metrics.controls import Length, RandomScore
from metaeval.options import NonNegativeInt, PositiveInt
from metaeval.results.measured import EXAMPLES, Extra, MeasuredResult
from metaeval.runs import files
from metaeval.runs.store import CacheError, Store
from metaeval.scoring import MetricScores, failed_with
from metaeval.search.beam import SearchLimits
from metaeval.search.pool import rule_of
from metaeval.search.target import CENTRAL, Fluency, Target, headline_column
from metaeval.text.tokenizers.base import forget_texts

log = logging.getLogger(__name__)

_EXAMPLES = 6  # of the gallery, per metric
NOTES = (
    "A metric is fooled where a provably false caption scores above the human one (false by: "
    "{rule}).",
    "The gain is in units of the spread of the score between human captions of an image.",
    "A metric that is rarely fooled is not necessarily good: exact match with a reference is never "
    "fooled.",
)
CAVEATS = ("Captions need not be fluent here: {no_fluency}.",)


@dataclass(slots=True)
class AttackScores:
    """What the searches found, and the scores of what they found under every metric."""

    material: Material
    metrics: list[MetricScores] = field(default_factory=list)
    attacked: dict[str, AttackOutcome] = field(default_factory=dict)  # by family
    no_fluency: str | None = None
    controls: dict[str, Estimate] = field(default_factory=dict)
    transfer: dict[tuple[str, str], Estimate] = field(default_factory=dict)  # by columns
    failed: dict[str, Exception] = field(default_factory=dict)  # by family


def usable_fluency(make: Callable[[], Fluency]) -> tuple[Fluency | None, str | None]:
    """The model of fluency that `make` gives; or `None`, and why it cannot be used."""
    try:
        fluency = make()
    except ValueError as error:
        return None, str(error)
    if fluency.seen.all():
        return None, "the language model has learned from all of these images"
    return fluency, None


class Attack(
    MetricExperiment[CaptionDataset, AttackScores],
    name="attack",
    title="Attack: can it be fooled?",
    question=(
        "Whoever optimises a metric searches for captions that it likes. Does a search find "
        "captions that are provably false and score above the human caption, how cheaply, and do "
        "they fool other metrics as well?"
    ),
    data=CaptionDataset,
    needs="dataset: experiment=attack needs captions, not judged captions",
):
    """Provably false captions that a metric prefers.

    Parameters
    ----------
    images
        How many images at most, the first by id.
    budgets
        Numbers of metric calls per image at which results are given, ascending; the last one is
        what a search may spend.
    edits
        How many words a search may change.
    """

    def __init__(
        self,
        images: PositiveInt = 1000,
        budgets: Sequence[int] = (0, 10, 100),
        edits: NonNegativeInt = 3,
    ) -> None:
        self.images = images
        self.budgets = tuple(int(b) for b in budgets)
        ascending = sorted(set(self.budgets)) == list(self.budgets)
        if not self.budgets or not ascending or self.budgets[0] < 0 or self.budgets[-1] < 1:
            raise ConfigError(
                f"task.budgets: {list(self.budgets)} is not an ascending list of numbers of calls; "
                "give, for example, [0,10,100]"
            )
        self.limits = SearchLimits(self.budgets[-1], edits)

    def load(self, config: DictConfig) -> CaptionDataset:
        dataset: CaptionDataset = super().load(config)
        require_captions(dataset)
        if rule_of(dataset) is None:
            raise ConfigError(
                f"dataset: false captions of {dataset.name} cannot be recognised; choose one "
                "with scene graphs (dataset=scenes) or annotated objects (dataset=coco_val2017)"
            )
        return dataset.limited(self.images)

    def write_versions(self, data: CaptionDataset, record: RunRecord) -> None:
        human = ((i, _human(text)) for i, text in zip(data.image_ids, data.human, strict=True))
        write_dataset(record, data, human)

    def score(
        self, data: CaptionDataset, metrics: Mapping[str, Metric], record: RunRecord
    ) -> AttackScores:
        for name, metric in metrics.items():
            refuse_replay(name, metric)
        with open_store(record.config) as store:
            result = self._search(data, metrics, store, record.config)
        versions = list(self._versions(data, result))
        write_versions(record.out, versions)
        captions = files.read_run_table(record.out / files.CAPTIONS)
        scored = score_all(metrics.values(), data, captions, record.config)
        write_scores(record.out, captions, scored)
        result.metrics = [
            failed_with(s, result.failed[s.family])
            if s.family in result.failed
            else _with_search(s, result.attacked.get(s.family))
            for s in scored
        ]
        result.transfer = self._transfer(data, result)
        forget_parsed()
        forget_texts()
        return result

    def _search(
        self, data: CaptionDataset, metrics: Mapping[str, Metric], store: Store, config: DictConfig
    ) -> AttackScores:
        fluency, reason = usable_fluency(lambda: Fluency(data, store))
        material = gather_material(data, fluency, config.seed)
        result = AttackScores(material, no_fluency=reason)
        for name, score in (
            ("length", Target(Length(), data, store).score),
            ("random", Target(RandomScore(), data, store).score),
            ("exact match", exact_match(data)),
        ):
            fooled = attack_control(score, material, self.limits)
            result.controls[name] = share(np.array(fooled, dtype=bool))
        swapped_data = swapped_dataset(data)
        for metric in metrics.values():
            target, swapped = Target(metric, data, store), Target(metric, swapped_data, store)
            try:
                bound = target.bound.scorer is not None and swapped.bound.scorer is not None
                if bound and not metric.pairwise:
                    result.attacked[metric.name] = attack(target, swapped, material, self.limits)
            except CacheError:
                raise
            except Exception as error:  # a metric that breaks is a row with the reason
                result.failed[metric.name] = error
            finally:
                target.close()
                swapped.close()
            forget_texts()
        return result

    def _transfer(
        self, data: CaptionDataset, scores: AttackScores
    ) -> dict[tuple[str, str], Estimate]:
        """(source, target), by their columns → of the captions that fool the source, the share that
        fools the target."""
        rows = self._versions(data, scores)
        columns = {}
        for scored in scores.metrics:
            if scored.scores is not None and scored.family in scores.attacked:
                column = scored.columns[k := headline_column(scored.columns)]
                values = scored.scores[:, k] * (1 if column.higher_is_better else -1)
                columns[scored.family] = column.name, values
        shares = {}
        for family, (source, _) in columns.items():
            human_scores, material = scores.attacked[family].human, scores.material
            trials = best_false(scores.attacked[family], material, self.limits)
            mine = [k for k, (_, v) in enumerate(rows) if v.set == f"against {family}"]
            fooled = [fools_metric(t, human_scores[i], material, i) for i, t in trials.items()]
            for target, values in columns.values():
                false, human = values[mine], values[len(rows) - len(data) :][list(trials)]
                known = np.array(fooled, dtype=bool) & ~np.isnan(false) & ~np.isnan(human)
                shares[source, target] = share((false > human)[known])
        return shares

    def _versions(
        self, data: CaptionDataset, result: AttackScores
    ) -> list[tuple[ImageId, Version]]:
        rows = []
        for family, outcome in result.attacked.items():
            for i, trial in best_false(outcome, result.material, self.limits).items():
                text, source = trial.draft.text, data.human[i]
                edits = difference(source, text, None).edits
                version = Version(
                    f"against {family}", 0, text, source, expected="lower",
                    severity="critical", harm=trial.draft.harm, edits=edits,
                )  # fmt: skip
                rows.append((data.image_ids[i], version))
        return rows + [
            (i, replace(_human(text), level=1))
            for i, text in zip(data.image_ids, data.human, strict=True)
        ]

    def statistics(
        self, data: CaptionDataset, scores: AttackScores, record: RunRecord
    ) -> MeasuredResult:
        stats, fluency = record.config.stats, scores.material.fluency
        columns = {s.family: s.columns[headline_column(s.columns)] for s in scores.metrics}
        attacked = {
            columns[scored.family].name: attack_statistics(
                scores.attacked[scored.family], scores.material, self.limits, self.budgets
            )
            for scored in scores.metrics
            if scored.family in scores.attacked and scored.status == "ok"
        }
        tested = measure(
            attack_outcomes(attacked, stats),
            [column for column in columns.values() if column.name in attacked],
            stats.confidence,
        )
        for name, numbers in attacked.items():
            tested.values[name] |= numbers.values
        heads = {column.name for column in columns.values()}
        result = tested.result(
            scores.metrics,
            {name: numbers.facts for name, numbers in attacked.items()},
            left_out={c.name for s in scores.metrics for c in s.columns} - heads,
            experiment=self.name,
            dataset=data.name,
            facts={
                "Images": len(data),
                "Calls per image": self.budgets[-1],
                "Changed words": f"at most {self.limits.edits}",
            },
            settings={
                "rule": rule_of(data) or "",
                "budgets": self.budgets,
                "max_edits": self.limits.edits,
                "seed": record.config.seed,
                "n_images": len(data),
                "fluent": CENTRAL if fluency is not None else None,
                "no_fluency": scores.no_fluency,
                "lengths": fluency.lengths if fluency is not None else None,
                "confidence": 0.95,
                "replicates": stats.replicates,
            },
            declared=declared(self.budgets[-1]),
            notes=tuple(fill_sentences(NOTES, rule=rule_of(data))),
            caveat="".join(fill_sentences(CAVEATS, no_fluency=scores.no_fluency)),
        )
        extras = attack_extras(result.metrics, attacked, scores.controls, scores.transfer)
        return result.model_copy(update={"extras": (*extras, self._examples(data, scores))})

    def _examples(self, data: CaptionDataset, scores: AttackScores) -> Extra:
        """The first successes against each metric."""
        records = []
        for scored in scores.metrics:
            outcome = scores.attacked.get(scored.family)
            if outcome is None or scored.status != "ok":
                continue
            column = scored.columns[headline_column(scored.columns)]
            sign = 1 if column.higher_is_better else -1
            won = [
                (i, trial)
                for i, trial in best_false(outcome, scores.material, self.limits).items()
                if fools_metric(trial, outcome.human[i], scores.material, i)
            ]
            records += [
                {
                    "image_id": data.image_ids[i],
                    "metric": column.name,
                    "human": data.human[i],
                    "score of the human caption": sign * float(outcome.human[i]),
                    "false": trial.draft.text,
                    "score of the false caption": sign * float(trial.score),
                    "changed words": trial.draft.edits,
                }
                for i, trial in won[:_EXAMPLES]
            ]
        return Extra.of(
            EXAMPLES, "False captions that fool a metric", records, kind="examples", folded=True
        )


def refuse_replay(name: str, metric: Any) -> None:
    """Raise ConfigError for a judge that replays recorded answers: it has none for new captions."""
    replays = getattr(metric, "replay", None) is not None
    records = getattr(metric, "mode", None) == "record"
    if replays and not records:
        raise ConfigError(
            f"metric.{name}: experiment=attack scores new captions, and "
            "recorded answers contain none of them; give base_url and model, without replay"
        )


def _with_search(scored: MetricScores, outcome: AttackOutcome | None) -> MetricScores:
    """The scores of the result with what the searches took added."""
    if outcome is None:
        return scored
    return replace(
        scored,
        n_scored=scored.n_scored + outcome.computed,
        seconds=scored.seconds + outcome.seconds,
    )


def _human(text: str) -> Version:
    return Version(HUMAN, 0, text, text, realised_rate=0.0)
