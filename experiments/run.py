"""The life of a run, for every experiment: each stage writes files that the next one reads.

A run's folder is of one run. Whatever can be refused is refused before it is touched; then what an
earlier run left there goes, and until the last file is written `run.json` says "unfinished".
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from metaeval import progress
from metaeval.compute.device import keep_networks, return_free_memory
from metaeval.config import (
    build_all,
    complete_metrics,
    component,
    own_metrics,
    plain,
    selected,
    with_controls,
)
from metaeval.errors import ConfigError, StrictError
from metaeval.experiments.base import (
    Experiment,
    MetricExperiment,
    Pass,
    Streaming,
    Training,
)
from metaeval.experiments.record import (
    RunRecord,
    nothing_ran,
    overrides,
    reasons,
    record_refusal,
    write_to_score,
)
from metaeval.experiments.scores import explanations, open_store
from metaeval.experiments.stored_results import statistics_of
from metaeval.metrics.base import Metric
from metaeval.metrics.judge.diagnostics import RatedCaption, write_diagnostics
from metaeval.options import unknown
from metaeval.results.base import MetricResult
from metaeval.results.files import write_result
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import FamilyInfo
from metaeval.runs import files
from metaeval.runs.answers import AnswerJournal, current_journal, record_answers
from metaeval.runs.environment import hidden_in
from metaeval.runs.folder import RunFolder, lock
from metaeval.runs.print_style import PrintStyle, print_style
from metaeval.schema import check_config
from metaeval.scoring import RUN_COLUMNS, MetricScores, refuse_equal_columns
from metaeval.text.tokenizers.base import forget_texts

# the result, the card of a training, or nothing of a run with `metrics=[]`
Outcome = MeasuredResult | dict[str, object]

ADDED = "controls, which metrics must beat, were added: {}; controls=[] leaves them out"
_JUDGE = "metaeval.metrics.judge.metric"  # the module that a run with a judge has loaded
_TEXTS = 100_000  # whose tokens a next run on the same data may use
# what the stages around the metrics usually take on two cores, for the line of progress; the last
# two are those of a run with a report
_USUAL_SECONDS = (("captions", 2.0), ("statistics", 8.0), ("explanations", 2.5), ("report", 5.0))


def run_configured(config: DictConfig, out: Path) -> Outcome:
    """Run the experiment of a configuration (its node `task`) into the folder `out`, as `run` does.

    Everything that is wrong with the configuration is named at once, in a ConfigError. In a folder
    without a run, `run.json` then has the reason.
    """
    try:
        complete_metrics(config)
        check_config(config, overrides())
        files.require_unicode(out)
        experiment = component(config.task, "task")
        return run(experiment, config, out)
    except Exception as error:
        record_refusal(out, config, error)
        raise


def run(experiment: Experiment, config: DictConfig, out: Path) -> Outcome:
    """Run an experiment into the folder `out`, which is locked meanwhile.

    Returns the result (`statistics.json`), or the card of a training. Raises InputError and
    ConfigError before anything is scored, StrictError at the very end
    (no metric has scores, or one has none under `strict`).
    """
    with lock(out) as folder:
        folder.require_own(_texts(OmegaConf.to_container(config, resolve=True)), experiment.name)
        if isinstance(experiment, MetricExperiment):
            return _measure(experiment, config, folder)
        if isinstance(experiment, Streaming):
            return _stream(experiment, config, folder)
        if isinstance(experiment, Training):
            return _train(experiment, config, folder)
    raise ConfigError(f"{type(experiment).__name__} is not an experiment; see experiments/base.py")


def _texts(value: Any) -> Iterator[str]:
    """The texts of a configuration that may name a file: not those that name metrics."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each) if key not in ("metrics", "metric_groups") else ()
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield value


def _train(experiment: Training, config: DictConfig, folder: RunFolder) -> dict[str, object]:
    """A training goes on from its checkpoint, so nothing is cleared; and an earlier one's files
    stay together until the new weights are there."""
    record = RunRecord(experiment, config, folder)
    experiment.check(config)
    record.mark_unfinished()
    with record.stage("training"):
        card = experiment.train(config, record.out)
    record.begin()
    record.finish()
    return card


def _stream(experiment: Streaming, config: DictConfig, folder: RunFolder) -> MeasuredResult:
    """A run that continues from existing files, which record the request they belong to."""
    metrics = build_all(selected(config), config)
    if not metrics:
        raise ConfigError(f"experiment={experiment.name} does not run without metrics")
    refuse_equal_columns((name, metric.columns) for name, metric in metrics.items())
    experiment.check(config)
    _require_named(experiment, metrics, config)
    record, out = RunRecord(experiment, config, folder), folder.given
    with progress.run_line(), keep_networks(), _answers(out) as journal, record.record_failure():
        summary = hidden_in(experiment.stream(metrics, record), config)
        write_result(out / files.STATISTICS, summary)
        _write_answers(out)
        _finish(record, summary.metrics)
    next_file = _next_file(config, out)
    notes = [] if journal is None else journal.summary()
    print(*notes, experiment.printout(summary, out, next_file), sep="\n", flush=True)
    _require_scores(summary.metrics, config)
    record.require_stages()
    return summary


def _require_named(
    experiment: Experiment, metrics: Mapping[str, Metric], config: DictConfig
) -> None:
    """Raise ConfigError where `highlight` names what no metric of the run is called.

    A variant, which only the data decides on, is known by its name before the bracket.
    """
    others = experiment.also_named(config)
    if others is None or not metrics:
        return
    columns = (column.name for metric in metrics.values() for column in metric.columns)
    known = list(dict.fromkeys([*columns, *RUN_COLUMNS, *others]))
    stems = {name.partition(" (")[0] for name in known}
    for name in OmegaConf.select(config, "report.highlight") or ():
        if name not in known and name.partition(" (")[0] not in stems:
            raise unknown("report.highlight", "column", name, known)


def _require_scores(metrics: Sequence[MetricResult], config: DictConfig) -> None:
    """Raise StrictError where no metric has scores, or under `strict` where one has none."""
    if (problem := nothing_ran(metrics)) is not None:
        raise StrictError(problem)
    if config.strict and (lines := reasons(metrics)):
        raise StrictError(f"{'; '.join(lines)} (strict=true)")


def _entries(passes: Sequence[Pass]) -> list[MetricResult]:
    """One for each column, without statistics."""
    return [p.scored.result(c, None) for p in passes for c in range(len(p.scored.columns))]


def _measure(
    experiment: MetricExperiment[Any, Any], config: DictConfig, folder: RunFolder
) -> Outcome:
    metrics, added = with_controls(config)
    refuse_equal_columns((name, metric.columns) for name, metric in metrics.items())
    experiment.check(config)
    _require_named(experiment, metrics, config)
    record, out = RunRecord(experiment, config, folder), folder.given
    with progress.run_line() as line, _answers(out) as journal:
        line.plan(_USUAL_SECONDS[: 4 if config.report else 2])
        with record.stage("dataset"), open_store(config):
            data = experiment.load(config)
        print(f"{experiment.name} on {experiment.describe(data)}", flush=True)
        if added:
            print(ADDED.format(", ".join(added)), flush=True)
        record.begin()
        with record.record_failure():
            summary, passes = _stages(experiment, data, metrics, record)
            del data  # the report, which reads files, needs as much memory
            if metrics:
                return_free_memory()
                _finish(record, _entries(passes))
    next_file = _next_file(config, out)
    if not metrics:
        return summary
    notes = [f"{p.scored.columns[-1].name} {p.scored.note}" for p in passes if p.scored.note]
    notes += [] if journal is None else journal.summary()
    if record.info.dataset and (too_few := record.info.dataset.too_few):
        notes.append(f"no intervals and no tests by resampling: {too_few}")
    print("\n".join([*notes, experiment.printout(summary, out, next_file)]), flush=True)
    _require_scores([m for m in _entries(passes) if m.family not in added], config)
    record.require_stages()
    return summary


def _next_file(config: DictConfig, out: Path) -> Path:
    """The file to look at after a run: the report, where there is one."""
    report = out / files.REPORT
    return report if config.report and report.is_file() else out / files.STATISTICS


def _finish(record: RunRecord, metrics: Sequence[MetricResult]) -> None:
    """Write the report, if the run has one, its tables in the style that its node describes; then
    that the run is finished."""
    if node := record.config.report:  # report=none is an empty node
        record.write_partial()
        with record.stage("report", optional=True):
            style = PrintStyle.of(plain(node))
            options = {name: value for name, value in node.items() if not hasattr(style, str(name))}
            with print_style(style), open_store(record.config):
                instantiate(options)(record.out)
    record.finish(metrics)


def _answers(out: Path) -> AbstractContextManager[AnswerJournal | None]:
    """The journal of the run, where its metrics have loaded a judge."""
    return record_answers(out) if _JUDGE in sys.modules else nullcontext()


def _write_answers(out: Path, rated: Sequence[RatedCaption] = ()) -> None:
    """Gather the answers of judges that the run used, and write what they show."""
    if _JUDGE in sys.modules and (journal := current_journal()) is not None:
        journal.finish()
        write_diagnostics(journal.used, out, rated)


def _stages(
    experiment: MetricExperiment[Any, Any],
    data: Any,
    metrics: Mapping[str, Metric],
    record: RunRecord,
) -> tuple[Outcome, Sequence[Pass]]:
    """Run all stages before the report; returns the result and the outcome of each metric."""
    config, out = record.config, record.out
    with record.stage("captions"):
        experiment.write_versions(data, record)
    if not metrics:
        return _without_metrics(experiment, data, record)
    with record.stage("scores"), keep_networks():
        scores = experiment.score(data, metrics, record)
    forget_texts(_TEXTS)
    return_free_memory()  # of networks and texts: statistics need as much
    passes = experiment.passes(scores)
    record.update(
        metrics=[
            FamilyInfo(
                metric=f"{scored.family} ({label})" if label else scored.family,
                seconds=round(scored.seconds, 3),
                n_scored=scored.n_scored,
                n_cached=scored.n_cached,
                n_damaged=scored.n_damaged,
                note=scored.note,
            )
            for scored, label in passes
        ]
    )
    with record.stage("statistics"):
        summary = statistics_of(experiment, data, scores, record)
        families = own_metrics(metrics, config)
        own = tuple(m.name for m in summary.metrics if m.family in families)
        summary = summary.model_copy(update={"own": own})
        write_result(out / files.STATISTICS, summary)
    by_name = {n: (m, p.scored) for (n, m), p in zip(metrics.items(), passes, strict=False)}
    _explain(experiment, data, by_name, summary, record)
    _write_answers(out, experiment.rated_captions(data))  # the report reads them
    return summary, passes


def _without_metrics(
    experiment: MetricExperiment[Any, Any], data: Any, record: RunRecord
) -> tuple[Outcome, Sequence[Pass]]:
    """The end of a run with `metrics=[]`: its captions, for scores to be computed elsewhere."""
    path, n = write_to_score(record.out, experiment.to_score(data, record))
    record.finish()
    print(f"{n:,} captions to score: {path}", flush=True)
    print("to use their scores: metric=[scores] metric.scores.file=FILE", flush=True)
    return {}, []


def _explain(
    experiment: MetricExperiment[Any, Any],
    data: Any,
    metrics: Mapping[str, tuple[Metric, MetricScores]],
    summary: MeasuredResult,
    record: RunRecord,
) -> None:
    """Write explanations.json if the report needs explanations."""
    config = record.config
    images = int(config.report.get("explanations", 0)) if config.report else 0
    dataset = experiment.explained(data)
    if not images or dataset is None:
        return
    with record.stage("explanations"), keep_networks(), open_store(config) as store:
        chosen = experiment.explained_images(summary, images)
        payload = explanations(record.out, metrics, dataset, chosen, images, store)
        files.write_json(record.out / files.EXPLANATIONS, payload, indent=None)
