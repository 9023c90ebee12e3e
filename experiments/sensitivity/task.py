"""Sensitivity: human captions against every corruption there is; what does each metric see?"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import cast

from omegaconf import DictConfig, OmegaConf

from metaeval import choices
from metaeval.corruptions.base import KINDS, Corrupted, Corruption
from metaeval.corruptions.language.parsed import forget_parsed, parse_all
from metaeval.experiments import (
    HUMAN,
    CaptionDataset,
    ConfigError,
    ImageId,
    MeasuredResult,
    Metric,
    MetricExperiment,
    MetricScores,
    RunRecord,
    Version,
    require_captions,
    score_all,
    write_dataset,
    write_scores,
)
from metaeval.experiments.fitted import TEXT, fitted_row
from metaeval.experiments.graded.task import configured
from metaeval.experiments.sensitivity.statistics import predict_harmlessness, statistics
from metaeval.options import PositiveInt, checked, unknown
from metaeval.results.run import CorruptionInfo
from metaeval.runs import files
from metaeval.text.tokenizers.base import forget_texts

OWN = ("callable", "file", "mixture")
TRUTH = "truth"  # the kind of corruptions that know the scene


class Sensitivity(
    MetricExperiment[CaptionDataset, list[MetricScores]],
    name="sensitivity",
    stored=True,
    title="Sensitivity: what does each metric see?",
    question=(
        "Human captions are changed in many small ways, some of which make them false, poorer or "
        "worse English, and some of which do no harm. Which changes does a metric notice, and "
        "which harmless ones does it punish?"
    ),
    data=CaptionDataset,
    needs="this dataset contains judged captions; use experiment=judgments",
):
    """Every metric's profile over the corruptions, and its harmless changes.

    Parameters
    ----------
    corruptions
        "all", or names and kinds of corruptions: [wrong_colour, logic].
    images
        How many images at most, the first by id.
    fitted
        Whether a control is fitted to what harms: a ridge regression on the caption alone, out of
        fold by image.
    """

    @checked
    def __init__(
        self,
        corruptions: str | Sequence[str] = "all",
        images: PositiveInt = 1000,
        fitted: bool = True,
    ) -> None:
        self.corruptions = corruptions
        self.images = images
        self.fitted = fitted

    def load(self, config: DictConfig) -> CaptionDataset:
        dataset: CaptionDataset = super().load(config)
        require_captions(dataset)
        return dataset.limited(self.images)

    def write_versions(self, data: CaptionDataset, record: RunRecord) -> None:
        corruptions = suite(data, self.corruptions)
        if not corruptions:
            raise ConfigError(f"no corruption in {self.corruptions} can be made of {data.name}")
        entries: list[CorruptionInfo] = []
        parse_all(data.human)
        made = self._made(data, corruptions, record.config.seed, entries)
        write_dataset(record, data, made)
        record.update(corruptions=tuple(entries))
        forget_parsed()

    @staticmethod
    def _made(
        data: CaptionDataset,
        corruptions: Sequence[Corruption],
        seed: int,
        entries: list[CorruptionInfo],
    ) -> Iterator[tuple[ImageId, Version]]:
        """Human captions and all versions; the facts of each corruption go into `entries`."""
        for image_id, text in zip(data.image_ids, data.human, strict=True):
            yield image_id, Version(HUMAN, 0, text, text, realised_rate=0.0)
        for level, corruption in enumerate(corruptions, 1):
            results = corruption.apply(data, seed)
            entries.append(_entry(corruption, results))
            for image_id, text, result in zip(data.image_ids, data.human, results, strict=True):
                yield image_id, corruption.version(level, text, result)

    def score(
        self, data: CaptionDataset, metrics: Mapping[str, Metric], record: RunRecord
    ) -> list[MetricScores]:
        captions = files.read_run_table(record.out / files.CAPTIONS)
        results = score_all(metrics.values(), data, captions, record.config)
        if self.fitted:
            sets, seed = record.info.corruptions or (), record.config.stats.seed
            results.append(fitted_row(TEXT, predict_harmlessness(data, captions, sets, seed)))
        write_scores(record.out, captions, results)
        forget_texts()
        return results

    def statistics(
        self, data: CaptionDataset, scores: list[MetricScores], record: RunRecord
    ) -> MeasuredResult:
        sets = record.info.corruptions or ()
        return statistics(record.out, data, scores, record.config, sets)


def _entry(corruption: Corruption, results: Sequence[Corrupted]) -> CorruptionInfo:
    """The facts of one corruption at one level, for `run.json`."""
    changed = [result for result in results if result.applied]
    reasons = Counter(
        result.reason or "nothing to change" for result in results if not result.applied
    )
    shares = [result.realised for result in changed if result.realised is not None]
    edits = [len(result.edits) for result in changed if result.edits]
    return CorruptionInfo(
        set=corruption.label,
        name=corruption.name,
        kind=corruption_kind(corruption),
        expected=corruption.expected,
        severity=corruption.severity,
        experimental=corruption.experimental,
        n=len(results),
        n_applied=len(changed),
        mean_share_changed=sum(shares) / len(shares) if shares else None,
        median_edits=float(median(edits)) if edits else None,
        reasons=dict(sorted(reasons.items())),
    )


def corruption_kind(corruption: Corruption) -> str:
    """The group of a corruption; "truth" of those that know the scene."""
    return corruption.kind or TRUTH


def suite(dataset: CaptionDataset, chosen: Sequence[str] | str = "all") -> list[Corruption]:
    """The chosen corruptions that are possible on the dataset, by kind, mildest levels first.

    `chosen` is "all", names of files in conf/corruption, or kinds ("objects"). Raises ConfigError
    for a name that is neither.
    """
    wanted = [chosen] if isinstance(chosen, str) else list(chosen)
    folder, kinds = choices.conf() / "corruption", (*KINDS, TRUTH)
    known = sorted(file.stem for file in folder.glob("*.yaml") if file.stem not in OWN)
    for name in wanted:
        if name not in (*known, *kinds, "all"):
            raise unknown("task.corruptions", "corruption", name, ["all", *kinds, *known])
    made: list[Corruption] = []
    for name in known:
        node = cast(DictConfig, OmegaConf.load(folder / f"{name}.yaml"))
        for corruption in reversed(configured(node)):
            picked = {"all", name, corruption_kind(corruption)} & set(wanted)
            if picked and corruption.missing(dataset) is None:
                made.append(corruption)
    return sorted(made, key=lambda c: kinds.index(corruption_kind(c)))
