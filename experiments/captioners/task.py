"""Captioners: `python -m metaeval experiment=captioners captions=FOLDER`.

The captions that systems wrote for the images of a dataset, scored by every metric: which system
is best by which metric, how certain that is, how machines compare with people, and where metrics
contradict each other. See docs/captioners.md for what each number means.
"""

import logging
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from metaeval.config import load_dataset
from metaeval.data.dataset import CaptionDataset, ImageId, RecordCount
from metaeval.data.system_captions import SystemCaptions, find_system_files, read_system_captions
from metaeval.data.tidy import count_captions, letters_and_digits
from metaeval.experiments import (
    ConfigError,
    InputError,
    Measure,
    Metric,
    MetricExperiment,
    Pass,
    ToScore,
    write_scores,
)
from metaeval.experiments.captioners.systems import (
    MEAN,
    Row,
    ScoredSystems,
    SentenceScores,
    Settings,
    against_human,
    agreement_matrices,
    at_equal_length,
    caption_lengths,
    human_matrix,
    mean_rank,
    metric_disagreements,
    score_families,
    scored_systems,
    upward,
    with_all_references,
)
from metaeval.experiments.graded.statistics import image_by_set
from metaeval.experiments.measure import of_stats
from metaeval.experiments.record import (
    RunRecord,
    dataset_info,
    record_counts,
    reference_counts,
    write_references,
    write_versions,
)
from metaeval.options import Draws, checked, unknown
from metaeval.progress import progress_bar
from metaeval.results.base import Estimate, Measured, MetricResult
from metaeval.results.measured import Extra, MeasuredResult, SystemRanking
from metaeval.runs import files
from metaeval.runs.records import HUMAN, IMAGE_ID, SET, Version
from metaeval.scoring import SystemScores
from metaeval.stats.correlation.rank_order import tie_breaking_seeds
from metaeval.stats.resampling.bootstrap import bootstrap_counts

MEAN_RANK = "mean rank"
MEAN_TAU_B = Measure("mean_tau_b", "mean τ-b with the other metrics, over systems")
MISSING = (
    "{system} has no caption of {n_missing:,} images; comparisons use the images that both systems "
    "have."
)
REFERENCES = (
    "Captions that are a reference of their image, word for word: {systems}; people's captions, "
    "{people}."
)
DESCRIBED = (
    "{dataset.name}: {n:,} images, {systems} systems, {references}{fallback}; systems: {records}"
)
INCOMPLETE = "\n  {} has no caption of {:,} of them"
COPIED = 0.1  # the share of a system's captions that are references, from which the page says so
NO_SCORE = "{}: {:,} of {:,} captions have no score."
TESTS = "Tests between systems: permutation by image, of mean ranks by bootstrap"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CaptionerData:
    """A dataset, the same with the Human caption among the references, and systems' captions."""

    dataset: CaptionDataset
    everyone: CaptionDataset
    systems: tuple[SystemCaptions, ...]

    def references(self, what: str = "") -> str:
        """How many references captions of systems have, and those against Human."""
        every, others = (
            " to ".join(map(str, reference_counts(d))) for d in (self.everyone, self.dataset)
        )
        return f"{every}{what} ({others} against Human)"


@dataclass(frozen=True, slots=True)
class CaptionerScores:
    """The metrics over the systems' captions with all references, and over all against Human."""

    systems: list[SystemScores]
    against_human: list[SystemScores]


class Captioners(
    MetricExperiment[CaptionerData, CaptionerScores],
    name="captioners",
    title="Captioners",
    question="Which captioner is best, and do the metrics agree on it?",
):
    """Systems against each other with all references, and against Human with the others.

    Parameters
    ----------
    permutations
        Random arrangements of the paired permutation tests between systems.
    baseline
        The system that every other one is also tested against.
    fields
        What the systems' files call `image_id` and `caption`, as in
        `metaeval.data.judgments.table.load_table`.
    """

    @checked
    def __init__(
        self,
        permutations: Draws = 10_000,
        baseline: str | None = None,
        fields: Mapping[str, str | None] | None = None,
    ) -> None:
        self.permutations, self.baseline, self.fields = permutations, baseline, fields

    def also_named(self, config: DictConfig) -> Collection[str]:
        return {HUMAN, *find_system_files(config.get("captions"))}

    def check(self, config: DictConfig) -> None:
        systems = find_system_files(config.get("captions"))
        if HUMAN in systems:
            raise ConfigError(f"'{HUMAN}' is the name of people's captions; rename the system")
        if self.baseline is not None and self.baseline not in systems:
            raise unknown("task.baseline", "system", self.baseline, systems)
        least = max(1, math.comb(len(systems), 2)) / (self.permutations + 1)
        if least > 1 - config.stats.confidence:
            log.warning(
                "with %d permutations no difference can be shown at %g: no p-value after Holm's "
                "correction is below %.2g; raise task.permutations",
                *(self.permutations, 1 - config.stats.confidence, least),
            )

    def load(self, config: DictConfig) -> CaptionerData:
        dataset: CaptionDataset = load_dataset(config)
        known = frozenset(dataset.pool_ids) | frozenset(dataset.image_ids) | dataset.excluded_ids
        paths = find_system_files(config.get("captions"))
        systems = tuple(
            read_system_captions(path, name, known, self.fields) for name, path in paths.items()
        )
        for system in systems:
            if not system.records(dataset.image_ids).used:
                raise InputError("has no caption of any image of this run", file=system.path)
        return CaptionerData(dataset, with_all_references(dataset), systems)

    def describe(self, data: CaptionerData) -> str:
        """The run in a line, and a line for each system with missing images."""
        dataset = data.dataset
        counts = [system.records(dataset.image_ids) for system in data.systems]
        text = DESCRIBED.format(
            dataset=dataset,
            n=len(dataset),
            systems=len(data.systems),
            references=data.references(" references each"),
            fallback=f" ({dataset.fallback})" if dataset.fallback else "",
            records=RecordCount(sum(c.read for c in counts), sum(c.used for c in counts)),
        )
        for system in data.systems:
            if missing := len(dataset) - sum(i in system.captions for i in dataset.image_ids):
                text += INCOMPLETE.format(system.name, missing)
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
        captions = files.read_run_table(record.out / files.CAPTIONS)
        machines = captions[captions[SET] != HUMAN]
        return [ToScore(data.everyone, machines), ToScore(data.dataset, captions)]

    def score(
        self, data: CaptionerData, metrics: Mapping[str, Metric], record: RunRecord
    ) -> CaptionerScores:
        config, out = record.config, record.out
        needed = ("image_id", "set", "level", "caption")
        captions = files.read_run_table(out / files.CAPTIONS, needed)
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
    ) -> MeasuredResult:
        stats = record.config.stats
        captions = files.read_run_table(record.out / files.CAPTIONS)
        machines = captions[captions[SET] != HUMAN].reset_index(drop=True)
        images = pd.Index(captions[IMAGE_ID].unique()).sort_values()
        names = [system.name for system in data.systems]
        # the same resampled images serve every metric and every pair of systems
        counts = bootstrap_counts(len(images), stats.replicates, stats.seed)
        settings = Settings(
            names, counts, stats.confidence, self.permutations, stats.seed, self.baseline
        )
        ranked, sentences, duels = _computed(scores, captions, machines, images, settings, stats)
        heads = [score for score in ranked if score.column.headline]
        matrices, taus = agreement_matrices(ranked, sentences, counts, stats.confidence)
        votes, by_image = metric_disagreements(sentences, images)
        references = dict(zip(data.everyone.image_ids, data.everyone.references, strict=True))
        lengths = caption_lengths(machines, references)
        systems = _rankings(ranked, heads, settings)
        of_systems = [
            _system(system, data.everyone, int((machines[SET] == system.name).sum()))
            | lengths[system.name]
            for system in data.systems
        ]
        return MeasuredResult(
            experiment=self.name,
            dataset=data.dataset.name,
            facts={
                "Images": len(images),
                "Systems": len(names),
                "Captions": len(machines),
                "References": data.references(),
            },
            settings={
                **of_stats(stats),
                "permutations": self.permutations,
                "tie_seeds": tuple(tie_breaking_seeds(stats.tie_seeds, stats.seed)),
                "baseline": self.baseline,
                "votes in disagreement": tuple(votes),
            },
            metrics=_in_given_order(scores.systems, ranked, taus),
            declared=(MEAN_TAU_B,),
            systems=systems,
            extras=(
                *(*matrices, *([human_matrix(duels)] if duels else ())),
                Extra.of("captions", "Captions by system", of_systems, folded=True),
                at_equal_length(heads, lengths, settings),
                Extra.of("tests", TESTS, _tests(ranked, systems), folded=True),
                Extra.of(files.AGAINST_HUMAN, "Systems against Human", duels, kind="data"),
                Extra.of("disagreement", "Disagreement of metrics", by_image, kind="data"),
            ),
            notes=tuple(_notes(of_systems, data.dataset, ranked)),
            caveat=_copied(of_systems, data.dataset, COPIED),
        )


def _computed(
    scores: CaptionerScores,
    captions: pd.DataFrame,
    machines: pd.DataFrame,
    images: "pd.Index[int | str]",
    settings: Settings,
    stats: DictConfig,
) -> tuple[list[ScoredSystems], list[SentenceScores], list[Row]]:
    """The scores of systems, the scores of sentences, and the systems against Human."""
    ranked: list[ScoredSystems] = []
    sentences: list[SentenceScores] = []
    duels: list[Row] = []
    for family in progress_bar(scores.systems, desc="systems"):
        scored = family.scored
        if scored.scores is not None:
            values = image_by_set(machines, scored.scores, images, settings.systems)
            ranked += scored_systems(family, machines, images, settings)
            sentences += [
                SentenceScores(column, upward(column, values[:, :, c].T), scored.family)
                for c, column in enumerate(scored.columns)
            ]
    for family in progress_bar(scores.against_human, desc="systems against Human"):
        sets = [*settings.systems, HUMAN]
        duels += against_human(family, captions, images, sets, settings.counts, stats)
    return ranked, sentences, duels


def _rankings(
    ranked: Sequence[ScoredSystems], heads: Sequence[ScoredSystems], settings: Settings
) -> dict[str, SystemRanking]:
    """The systems' mean rank over the headline scores, where there are several; headlines; others.

    Parts of metrics are left out.
    """
    whole = [score for score in ranked if score.column.part_of is None]
    systems = {MEAN_RANK: mean_rank(heads, settings)} if len(heads) > 1 else {}
    others = [score for score in whole if not score.column.headline]
    for score in (*heads, *others):
        systems[score.column.name] = score.ranking
    return systems


def _in_given_order(
    families: Sequence[SystemScores],
    ranked: Sequence[ScoredSystems],
    taus: Mapping[str, float],
) -> tuple[MetricResult, ...]:
    """The results of all scores, in the order of the configuration."""
    results = [
        family.scored.result(c, None)
        for family in families
        if family.scored.scores is None
        for c in range(len(family.scored.columns))
    ]
    for score in ranked:
        assert score.scored.scores is not None
        values, name = score.scored.scores[:, score.place], score.column.name
        numbers = Measured(
            values={} if score.column.part_of else {MEAN_TAU_B.key: Estimate(value=taus[name])},
            facts={
                "sentence_column": score.scored.columns[score.place].name,
                "aggregate": score.aggregate,
                "n": len(values),
                "n_nan": int(np.isnan(values).sum()),
            },
        )
        result = score.scored.result(score.place, numbers)
        results.append(result.model_copy(update={"column": score.column}))
    order = [family.scored.family for family in families]
    return tuple(sorted(results, key=lambda result: order.index(result.family)))


def _tests(ranked: Sequence[ScoredSystems], systems: Mapping[str, SystemRanking]) -> Iterator[Row]:
    """A row for each score and pair of systems, the better one as A."""
    bootstrap = {score.column.name: score.differences for score in ranked}
    for name, ranking in systems.items():
        for pair in ranking.comparisons.pairs:
            test = pair.tests[0]
            of_pair = bootstrap.get(name, {}).get((pair.a, pair.b))
            yield {
                "score": name,
                "A": pair.a,
                "B": pair.b,
                "n": pair.n,
                "difference": pair.difference,
                "p": test.p,
                "p_after_Holm": test.p_adjusted,
                "p_bootstrap": test.p if of_pair is None else of_pair.p_bootstrap,
            }


def _notes(
    systems: Sequence[Row], dataset: CaptionDataset, ranked: Sequence[ScoredSystems]
) -> Iterator[str]:
    """Captions that are references, missing captions and missing scores."""
    if copied := _copied(systems, dataset):
        yield copied
    for row in systems:
        if row["n_missing"]:
            yield MISSING.format(**row)
    for score in ranked:
        assert score.scored.scores is not None
        missing = int(np.isnan(score.scored.scores[:, score.place]).sum())
        if missing and score.aggregate == MEAN and score.column.part_of is None:
            yield NO_SCORE.format(score.column.name, missing, len(score.scored.scores))


def _copied(systems: Sequence[Row], dataset: CaptionDataset, least: float = 0.0) -> str:
    """The systems of whose captions some are references, next to people's own rate; with `least`,
    those of which a greater share is, and a greater one than of people's captions."""
    people = dict(zip(dataset.image_ids, dataset.human, strict=True))
    given = sum(map(bool, dataset.human))
    n = n_references(people, dataset)
    bound = max(least, n / max(given, 1)) if least else 0.0
    copied = [
        f"{row['system']}, {row['n_references']:,} of {row['n']:,}"
        for row in systems
        if row["n_references"] > row["n"] * bound
    ]
    if not copied:
        return ""
    return REFERENCES.format(systems="; ".join(copied), people=f"{n:,} of {given:,}")


def n_references(captions: Mapping[ImageId, str], dataset: CaptionDataset) -> int:
    """How many captions are, by their letters and digits, one of the references of their image."""
    references = dict(zip(dataset.image_ids, dataset.references, strict=True))
    return sum(
        letters_and_digits(caption) in map(letters_and_digits, references.get(image, ()))
        for image, caption in captions.items()
        if caption
    )


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


def _system(system: SystemCaptions, dataset: CaptionDataset, n: int) -> Row:
    """A system with `n` captions in the run, its file, and how it fits the images of the run."""
    inside = sum(i in system.captions for i in dataset.image_ids)
    return {
        "system": system.name,
        "file": system.path.name,
        "n": n,
        "n_missing": len(dataset) - inside,
        "n_other_images": len(system.captions) - inside,
        "n_empty": sum(system.captions.get(i) == "" for i in dataset.image_ids),
        "n_references": n_references(system.captions, dataset),
    }
