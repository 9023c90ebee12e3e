"""metaeval from Python: what `import metaeval` offers."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig, ListConfig, OmegaConf

from metaeval.compute.device import keep_networks
from metaeval.config import CONTROLS, build, component, compose_config, selected
from metaeval.corruptions.base import Corrupted, Corruption
from metaeval.data.dataset import CaptionDataset, ImageId, Objects
from metaeval.data.own.given import GivenCaptions, given_captions
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError, MetaevalError, StrictError
from metaeval.experiments.scores import open_store
from metaeval.metrics.adapters.function import metric_from
from metaeval.metrics.adapters.own import OwnMetric
from metaeval.metrics.base import Metric, StatisticsAdapter, SummableMetric
from metaeval.options import unknown
from metaeval.overrides import importable, override_texts, override_value
from metaeval.readers.files import one_line, user_path
from metaeval.readers.yaml_text import read_yaml
from metaeval.results.files import read_info, read_result
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import RunInfo
from metaeval.results.trust import matrix_rows
from metaeval.runs import files
from metaeval.runs.folder import lock, new_folder
from metaeval.runs.store import MemoryStore, Store
from metaeval.schema import Degrees
from metaeval.scoring import (
    MetricScores,
    SystemScores,
    refuse_equal_columns,
    score_captions,
    signatures_of,
    system_scores,
)

# a metric by its name in the configuration, by a group's, or itself: a `Metric`, a function of
# captions (and references, images …), a class with compute_score(gts, res)
MetricLike = str | Metric | Callable[..., Any]
Metrics = MetricLike | Sequence[MetricLike]
File = str | Path
# captions in order, by image ids, in a table with `image_id` and `caption`, or COCO's results file
Candidates = Iterable[str] | Mapping[ImageId, str | Sequence[str]] | pd.DataFrame | File
# one or several of each candidate, by image ids, or COCO's captions file
References = Iterable[str | Sequence[str]] | Mapping[ImageId, str | Sequence[str]] | File
Images = Iterable[File] | Mapping[ImageId, File] | File  # of each candidate, by ids, or a folder
Labels = Objects | Sequence[str | tuple[str, Sequence[float]]]  # of an image, perhaps with boxes


@dataclass(frozen=True)
class CaptionScores:
    """What `score` found.

    Attributes
    ----------
    table
        One row a candidate, in the order given: `image_id`, `caption`, and a float64 column a
        score; NaN where a caption cannot be scored.
    corpus
        Column → the score of all candidates together.
    aggregates
        Column → how: "corpus" (of sums of counts: BLEU, SacreBLEU, METEOR) or "mean" of the
        candidates' scores that are numbers.
    signatures
        Column → the exact identity of the score, for a paper.
    skipped
        Metric → why it has no scores, and how to get them.
    notes
        What was changed or left out of the input, and metrics that depend on their batch.
    """

    table: pd.DataFrame
    corpus: Mapping[str, float]
    aggregates: Mapping[str, str]
    signatures: Mapping[str, str]
    skipped: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        width = max((len(name) for name in self.corpus), default=0)
        lines = [f"{len(self.table):,} captions of {self.table['image_id'].nunique():,} images"]
        for name, value in self.corpus.items():
            lines.append(f"{name:<{width}}  {value:.4f}  {self.aggregates[name]}")
        lines += [f"{name}: {reason}" for name, reason in self.skipped.items()]
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The corpus scores and what was skipped, for a notebook."""
        rows = [(name, value, self.aggregates[name]) for name, value in self.corpus.items()]
        rows += [(name, math.nan, reason) for name, reason in self.skipped.items()]
        table = pd.DataFrame(rows, columns=["metric", "score", ""])
        return table.to_html(index=False, float_format="{:.4f}".format, na_rep="")


def score(
    candidates: Candidates,
    references: References | None = None,
    images: Images | None = None,
    objects: Iterable[Labels] | Mapping[ImageId, Labels] | None = None,
    metrics: Metrics = "all",
    *,
    image_source: str | None = None,
    cache: bool = False,
    **overrides: Any,
) -> CaptionScores:
    """Score captions with any metrics.

    Raises InputError for candidates and references that do not fit together, ConfigError for an
    unknown metric or option, and for two columns of one name, StrictError for a metric of yours
    that fails. Another metric that cannot run is in `skipped`.

    Parameters
    ----------
    candidates, references, images, objects, image_source
        What to score, as lists, mappings from image ids (pycocoevalcap's `res` and `gts`),
        a DataFrame or COCO's files: see `metaeval.data.own.given.given_captions`. All except
        the candidates may be missing; metrics that need them are then skipped.
    metrics
        "all" (without the controls), a group, a name, a `Metric`, a function, a class with
        `compute_score(gts, res)`, or a list of these.
    cache
        Whether scores are read from and stored in the cache folder, as in a run.
    overrides
        Options as of the command, with `__` for the dot: `metric__cider__idf="coco_val2017"` (with
        the idf of a named corpus a single image's CIDEr is not 0), `device="cpu"`.

    Examples
    --------
    >>> import metaeval
    >>> result = metaeval.score(
    ...     ["two dogs run", "a red bus"],
    ...     [["two dogs are running", "dogs run"], ["a bus on a road", "a red bus"]],
    ...     metrics=["bleu", "rouge_l"],
    ... )
    >>> result.table[["caption", "BLEU-1", "ROUGE-L"]].round(3)
            caption  BLEU-1  ROUGE-L
    0  two dogs run     1.0     0.83
    1     a red bus     1.0     1.00
    >>> round(result.corpus["BLEU-2"], 3), result.aggregates["BLEU-2"]
    (1.0, 'corpus')
    >>> result.signatures["ROUGE-L"]
    'rouge-l|tok:ptb-3.4.1|beta:1.2|v:1'
    """
    given = given_captions(candidates, references, images, objects, image_source)
    config = _composed({**overrides, "cache__enabled": cache})
    with open_store(config) as store:
        families = _families(given, _metrics(metrics, config), store)
    return _caption_scores(given, families)


def _families(
    given: GivenCaptions, metrics: Mapping[str, Metric], store: Store
) -> dict[str, SystemScores]:
    """What each metric makes of the captions."""
    families = {}
    refuse_equal_columns((name, metric.columns) for name, metric in metrics.items())
    with keep_networks():
        for name, metric in metrics.items():
            adapted = StatisticsAdapter(metric) if isinstance(metric, SummableMetric) else metric
            captions, index = given.captions, given.image_index
            scored = score_captions(adapted, given.dataset, captions, index, store)
            families[name] = system_scores(metric, scored)
    refuse_equal_columns((name, family.scored.columns) for name, family in families.items())
    for name, family in families.items():
        if family.scored.status == "failed" and _is_of_user(metrics[name]):
            raise StrictError(f"metric '{name}' failed: {_reason(family.scored)}")
    return families


def _reason(scored: MetricScores) -> str:
    """Why a metric has no scores, and what would help."""
    return f"{scored.reason}; {scored.remedy}" if scored.remedy else str(scored.reason)


def _caption_scores(given: GivenCaptions, families: Mapping[str, SystemScores]) -> CaptionScores:
    ids = [given.dataset.image_ids[i] for i in given.image_index]
    table = pd.DataFrame({"image_id": ids, "caption": given.captions})
    corpus, aggregates, signatures, skipped = {}, {}, {}, {}
    for name, family in families.items():
        scored = family.scored
        if scored.scores is None:
            skipped[name] = f"{scored.status}: {_reason(scored)}"
            continue
        for c, (column, together) in enumerate(
            zip(scored.columns, family.corpus_score(), strict=True)
        ):
            table[column.name] = scored.scores[:, c]
            corpus[column.name] = float(together)
            aggregates[column.name] = "mean" if family.corpus is None else "corpus"
            signatures[column.name] = str(scored.signatures[c])
    every = (family.scored for family in families.values())
    notes = [*given.notes, *(f"{s.columns[-1].name} {s.note}." for s in every if s.note)]
    return CaptionScores(table, corpus, aggregates, signatures, skipped, tuple(notes))


def signatures(metrics: Metrics = "all", **overrides: Any) -> dict[str, str | None]:
    """The exact identity of each score on a dataset, without scoring: column → signature.

    `overrides` are those of the command, with `__` for the dot. `None` where a metric cannot run.

    Examples
    --------
    >>> import metaeval
    >>> metaeval.signatures(["rouge_l"], dataset="scenes", dataset__limit=5)
    {'ROUGE-L': 'rouge-l|tok:ptb-3.4.1|beta:1.2|v:1'}
    """
    config = _composed(overrides)
    dataset = component(config.dataset, "dataset")
    if not isinstance(dataset, CaptionDataset):
        dataset = dataset.documents()
    return signatures_of(_metrics(metrics, config).values(), dataset, MemoryStore())


def corrupt(
    captions: Sequence[str] | Mapping[ImageId, str],
    corruption: str,
    rate: float | None = None,
    seed: int = 0,
    corpus: Sequence[str] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Corrupt captions as an experiment does.

    Raises ConfigError for an unknown corruption or a rate outside (0, 1], InputError for captions
    that are not texts.

    Parameters
    ----------
    captions
        A list, whose indices are the image ids, or a mapping from image ids.
    corruption
        A name of the configuration: "replace", "shuffle", "delete" … (`python -m metaeval list
        corruptions`).
    rate
        The share of words, for corruptions with a rate.
    seed
        The seed, the image id and the options determine the corrupted caption, independent of the
        other captions.
    corpus
        Captions besides those given that "replace" and "insert" draw words from and "random"
        captions: a handful of captions contains too few words.
    options
        Other options of the corruption: `derange=True`.

    Returns
    -------
    DataFrame
        One row per caption: `image_id`, `caption`, `source_caption`, `applied`, `requested_rate`,
        `realised_rate` and `edits` (a list of (position, before, after)).

    Examples
    --------
    >>> import metaeval
    >>> corrupted = metaeval.corrupt(["a man rides a brown horse"], "shuffle", rate=1.0, seed=1)
    >>> sorted(corrupted["caption"][0].split())
    ['a', 'a', 'brown', 'horse', 'man', 'rides']
    >>> bool(corrupted["applied"][0])
    True
    """
    for name, texts in (("captions", captions), ("corpus", corpus)):
        if isinstance(texts, str | bytes):
            raise InputError(f"{name} is one text, not a list; write [{texts!r:.40}]")
    changes = _corruption(corruption, rate, options)
    dataset, order = _to_corrupt(captions, corpus or ())
    if (absent := changes.missing(dataset)) is not None:
        raise ConfigError(f"corruption '{corruption}' cannot run: {absent}")
    table = _changes_table(dataset, changes.apply(dataset, seed))
    return table.loc[order].reset_index(drop=True)


def _changes_table(dataset: CaptionDataset, changed: Iterable[Corrupted]) -> pd.DataFrame:
    """A row a caption, by image ids."""
    rows = [
        {
            "image_id": image_id,
            "caption": each.text,
            "source_caption": source,
            "applied": each.applied,
            "requested_rate": each.requested,
            "realised_rate": each.realised,
            "edits": [tuple(edit) for edit in each.edits],
        }
        for image_id, source, each in zip(dataset.image_ids, dataset.human, changed, strict=True)
    ]
    return pd.DataFrame(rows, index=pd.Index(dataset.image_ids))


def _to_corrupt(
    captions: Sequence[str] | Mapping[ImageId, str], corpus: Sequence[str]
) -> tuple[CaptionDataset, list[ImageId]]:
    """The captions, by their ids, with those of the corpus in the pool; and the ids as given."""
    pairs = captions.items() if isinstance(captions, Mapping) else enumerate(captions)
    given: dict[ImageId, str] = dict(pairs)
    if not given:
        raise InputError("no caption to corrupt")
    tidy, ids = Tidy(), tuple(sorted(given))
    named = [(given[i], f"caption {i!r}") for i in ids]
    named += [(text, f"text {k} of the corpus") for k, text in enumerate(corpus)]
    pool = tuple(tidy.read(t, file=None, record=name, field="caption") for t, name in named)
    pool_ids = ids + tuple(f"corpus {k}" for k in range(len(corpus)))
    none = ((),) * len(ids)
    return CaptionDataset("given", ids, pool[: len(ids)], none, pool_ids, pool), list(given)


def _corruption(name: str, rate: float | None, options: Mapping[str, Any]) -> Corruption:
    """The corruption of this name in the configuration, at a rate where it has rates."""
    composed = _composed({"corruption": name}).corruption
    node: dict[str, Any] = OmegaConf.to_container(composed, resolve=True)  # type: ignore[assignment]
    if (node.get("rates") is not None) == (rate is None):
        need = "needs a rate in (0, 1]" if rate is None else "has no rate"
        raise ConfigError(f"corrupt: '{name}' {need}")
    of_run = Degrees.__annotations__  # levels and seeds
    node = {key: value for key, value in node.items() if key not in of_run}
    at_rate = {} if rate is None else {"rate": rate}
    made: Corruption = component({**node, **at_rate, **options}, "corruption")
    return made


class Run:
    """The directory of a finished run, and its contents.

    Attributes
    ----------
    directory
        Its path.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = user_path(directory)
        if not self.directory.is_dir():
            raise InputError("run directory not found", file=self.directory)
        if not (self.directory / files.RUN).is_file():
            raise InputError(
                f"contains no {files.RUN}; give the folder of a run", file=self.directory
            )

    @cached_property
    def config(self) -> dict[str, object]:
        """The configuration, with all values resolved."""
        return read_yaml(self.directory / files.CONFIG)

    @cached_property
    def info(self) -> RunInfo:
        """run.json: command, versions, data checksums, seconds."""
        return read_info(self.directory / files.RUN)

    @cached_property
    def result(self) -> MeasuredResult:
        """The typed result of the experiment; its `table()` has one row per score column."""
        return read_result(self.directory / files.STATISTICS)

    def table(self) -> pd.DataFrame:
        """One row per score column: its status and every number of its statistics."""
        return self.result.table()

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row per score; NaN = could not be scored."""
        return files.read_columns(self.directory / files.SCORES, ())

    @cached_property
    def captions(self) -> pd.DataFrame:
        """One row per version of a caption, in the experiments that make versions."""
        return files.read_columns(self.directory / files.CAPTIONS, ())

    def show(self, height: int = 720) -> ReportCell:
        """The report, for the last line of a notebook's cell; `height` in pixels."""
        return ReportCell(self.directory / files.REPORT, height)

    def __repr__(self) -> str:
        ran, on = self.info.experiment, self.info.dataset
        name = f"{ran.name if ran else '?'} on {on.name if on else '?'}"
        return f"{name}: {self.directory}"

    def _repr_html_(self) -> str:
        """The table of the result, for a notebook."""
        return f"<p>{escape(repr(self))}</p>{self.result._repr_html_()}"


@dataclass(frozen=True)
class ReportCell:
    """A run's report in a notebook: the page itself, in a frame, without a network."""

    path: Path
    height: int = 720

    def _repr_html_(self) -> str:
        if not self.path.is_file():
            raise InputError(
                "the run has no report; python -m metaeval report writes it", file=self.path
            )
        page = escape(self.path.read_text(encoding="utf-8"))
        style = f"width:100%;height:{self.height}px;border:1px solid #ccc"
        return f'<iframe srcdoc="{page}" style="{style}"></iframe>'


def load_run(directory: str | Path) -> Run:
    """A finished run by its directory, of `experiment=trust` a `TrustRun`. Raises InputError for
    other folders."""
    loaded = Run(directory)
    experiment = loaded.info.experiment
    is_trust = experiment is not None and experiment.name == "trust"
    return TrustRun(directory) if is_trust else loaded


def run(
    experiment: str,
    *,
    metrics: Metrics | None = None,
    out: str | Path | None = None,
    quiet: bool = False,
    **overrides: Any,
) -> Run:
    """Run an experiment, exactly as the command does, in a separate process.

    Raises ConfigError with the command's line for an invalid configuration or data,
    StrictError if a metric failed under `strict=True`.

        run = metaeval.run("replace", dataset="scenes", dataset__limit=100, metrics=["bleu"])
        run.result.metrics[0].numbers["rank_order_rho"].value
        run.show()

    Parameters
    ----------
    experiment
        "replace", "shuffle", "graded", "judgments", "captioners" …
    metrics
        Names or groups, and functions, classes or `Metric`s that can be imported; by default all.
        Where no control is among them, those of the option `controls` are added; `controls=[]`
        leaves them out.
    out
        The run's folder; by default `runs/EXPERIMENT/DATE` below the current one.
    quiet
        Do not print what the command prints.
    overrides
        `dataset` and `dataset__file` may be a DataFrame or a list of records: it is written to
        `dataset.jsonl` in the run's folder. A `dataset` of that kind is judged captions
        (`dataset=table`) in "judgments", true and false captions (`pairs`) in "pairs", captions
        (`own`) elsewhere.
        All options of the command, with `__` for the dot: `dataset__limit=200`, `seed=1`,
        `metric=["bleu", "callable"]`, `metric__callable__function=my_module.my_score`. A mapping
        may have any text as a key: `captions={"LLaVA 1.5": "llava.json"}`.
    """
    stamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    given = Path("runs") / experiment / stamp if out is None else user_path(out)
    directory = new_folder(given) if out is None else given
    if metrics is not None:
        nodes: dict[str, Any] = {}
        names = [_name(one, nodes) for one in _listed(metrics)]
        overrides |= {"metrics": names, **{f"+metric__{k}": node for k, node in nodes.items()}}
    _write_records(experiment, overrides, directory)
    # modules of functions must be found in the same places as in this process
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [
        *(sys.executable, "-m", "metaeval", f"experiment={experiment}"),
        *override_texts(overrides),
        f"hydra.run.dir={override_value(str(directory))}",
    ]
    _carry_out(command, environment, quiet)
    return load_run(directory)


def _carry_out(command: Sequence[str], environment: Mapping[str, str], quiet: bool) -> None:
    """Run a command to its end; what ends it with another exit code than 0 is raised."""
    shown = sys.stderr is not None and sys.stderr.isatty()  # then the progress line goes there
    lines = []
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=None if shown else errors,
            text=True,
            env=environment,
        ) as process,
    ):
        for line in process.stdout or ():
            lines.append(line)
            if not quiet:
                print(line, end="", flush=True)
        process.wait()
        errors.seek(0)
        problem = errors.read()
    if process.returncode:
        text = problem.strip() or "".join(lines).strip() or "no message"
        message = _in_python(text.splitlines()[-1].removeprefix("metaeval: "))
        kinds: dict[int, type[MetaevalError]] = {1: StrictError, 2: ConfigError}
        raise kinds.get(process.returncode, MetaevalError)(
            "see the message above" if shown else message
        )
    if problem and not quiet:
        print(problem, end="", file=sys.stderr)


class TrustRun(Run):
    """A finished run of `experiment=trust`: which metric can be used for what."""

    @property
    def matrix(self) -> pd.DataFrame:
        """Skills: one row per metric, one column per use; NaN where no test counts."""
        return self._pivot("skill").astype(float)

    @property
    def words(self) -> pd.DataFrame:
        """What skills show: "shown", "not shown", "below" or "cannot tell"; "control" of what is
        shown for comparison alone."""
        return self._pivot("word")

    def _pivot(self, values: str) -> pd.DataFrame:
        uses = self.result.extra("uses").frame()
        cells = self.result.extra("cells").frame()
        table = cells.pivot(index="metric", columns="use", values=values)
        table = table.reindex(index=cells["metric"].unique(), columns=uses["id"])
        return table.set_axis(pd.Index(uses["use"], name="use"), axis="columns")

    def table(self) -> pd.DataFrame:
        """All evidence: one row per use, metric and test."""
        return self.result.extra("evidence").frame()

    def standing(self, metric: str) -> pd.DataFrame:
        """A metric, a row per use that has evidence for it: word, skill, rank, in how many tests it
        is above every blind control; of your own also the comparison with the best known metric.

        Raises ConfigError for a metric that the run does not have.
        """
        cells = self.result.extra("cells").frame()
        if metric not in set(cells["metric"]):
            names = [each.name for each in self.result.metrics]
            raise unknown(str(self.directory), "metric", metric, names)
        own = self.result.extra("own").frame()
        if len(own) and metric in set(own["metric"]):
            return own[own["metric"] == metric]
        titles = self.result.extra("uses").frame().set_index("id")["use"]
        of_metric = cells[(cells["metric"] == metric) & (cells["tests"] > 0)]
        return of_metric.assign(use=of_metric["use"].map(titles))

    def _repr_html_(self) -> str:
        """The answer in one look, for a notebook."""
        rows = pd.DataFrame(matrix_rows(self.result))
        return rows.to_html(index=False, na_rep="–") if len(rows) else "no test counts"


def trust(
    metric: MetricLike | None = None,
    *,
    battery: str = "quick",
    metrics: Metrics = "all",
    out: str | Path | None = None,
    quiet: bool = False,
    **overrides: Any,
) -> TrustRun:
    """Which metric can be used for what, including your own: `experiment=trust`.

    Raises what `run` raises.

        found = metaeval.trust(metric=my_module.my_metric)
        found.matrix
        found.show()

    Parameters
    ----------
    metric
        A function of captions (and references, images …), a class or a `Metric` that can be
        imported; without it the known metrics alone.
    battery
        "quick" (the embedded scenes), "standard", "full", or a battery's file: see docs/trust.md.
    metrics
        The known metrics to compare yours with, as in `run`.
    out, quiet, overrides
        As in `run`.
    """
    chosen = [*_listed(metrics), *([] if metric is None else [metric])]
    done = run("trust", metrics=chosen, out=out, quiet=quiet, trust__battery=battery, **overrides)
    return TrustRun(done.directory)


def combine(
    *runs: str | Path | Run,
    parts: Sequence[str] | None = None,
    method: str = "ridge",
    out: str | Path | None = None,
    quiet: bool = False,
    **overrides: Any,
) -> Run:
    """Weights of metrics, fitted to the choices of finished runs: `experiment=combine`.

    Raises what `run` raises.

        rated = metaeval.run("judgments", dataset="table", dataset__file="ratings.csv")
        made = metaeval.combine(rated)
        metaeval.score(captions, references, metrics=["combined"],
                       metric__combined__file=str(made.directory / "combined.json"))

    Parameters
    ----------
    runs
        Finished runs of judgments, forced_choice, pairs or sensitivity, or their folders.
    parts
        The columns to combine; by default all ranked ones that every run has.
    method
        Whose weights are written: "equal", "ridge", "nnls", "pls", "logistic" or "forward".
    out, quiet, overrides
        As in `run`.
    """
    folders = [str(Path(r.directory if isinstance(r, Run) else r).resolve()) for r in runs]
    task = {"task__runs": folders, "task__parts": parts, "task__method": method}
    return run("combine", out=out, quiet=quiet, **task, **overrides)


def _listed(metrics: Metrics) -> list[MetricLike]:
    several = isinstance(metrics, Sequence) and not isinstance(metrics, str)
    return list(metrics) if several else [metrics]  # type: ignore[arg-type, list-item]


def _name(metric: MetricLike, nodes: dict[str, Any]) -> str:
    """The name of a metric; of one that is an object, its node for a run is added to `nodes`."""
    if isinstance(metric, str):
        return metric
    module, name = importable(metric)
    short = name.rpartition(".")[2]
    target = f"{metric_from.__module__}.{metric_from.__qualname__}"
    nodes[short] = {"_target_": target, "what": f"{module}:{name}"}
    return short


_TABLES_OF = {"judgments": "table", "pairs": "pairs"}  # experiment → dataset of records


def _write_records(experiment: str, overrides: dict[str, Any], directory: Path) -> None:
    """Write a dataset that is given as records to a file in the run's folder, and name the file."""
    key = next((k for k in ("dataset", "dataset__file") if _is_records(overrides.get(k))), None)
    if key is None:
        return
    given, option = overrides.pop(key), key.replace("__", ".")
    if isinstance(given, pd.DataFrame):
        if not given.columns.is_unique:
            raise InputError(f"{option}: a column of the DataFrame occurs twice; rename one")
        given = given.astype(object).where(given.notna(), None).to_dict("records")
    if not len(given):
        raise InputError(f"{option}: no record")
    lines = []
    for k, record in enumerate(given):
        try:
            lines.append(json.dumps(record, ensure_ascii=False, default=_plain_value) + "\n")
            lines[-1].encode()
        except (TypeError, ValueError) as error:  # also of an unpaired surrogate
            raise InputError(f"{option}[{k}]: {one_line(error)}") from None
    path = directory / "dataset.jsonl"
    with lock(directory) as folder:
        folder.require_own()
        files.atomic(path, partial(Path.write_text, data="".join(lines), encoding="utf-8"))
    overrides["dataset__file"] = str(path)
    if key == "dataset":
        overrides["dataset"] = _TABLES_OF.get(experiment, "own")


def _plain_value(value: Any) -> Any:
    """A value of NumPy or pandas as one that JSON has."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, datetime):
        return str(value)  # which no loader takes for a number
    if value is pd.NA:
        return None
    raise TypeError(f"{value!r:.40} is {type(value).__name__}, which a record cannot hold")


def _composed(overrides: Mapping[str, Any]) -> DictConfig:
    """The configuration of keyword arguments; a ConfigError names keys as keywords."""
    try:
        return compose_config(override_texts(overrides))
    except ConfigError as error:
        raise ConfigError(_in_python(str(error))) from None


def _in_python(message: str) -> str:
    """A message in which the keys that were meant are keyword arguments: `dataset__limit`."""
    problem, meant, keys = message.partition("did you mean ")
    return problem + meant + re.sub(r"(?<=\w)\.(?=\w)", "__", keys)


def _is_records(value: Any) -> bool:
    listed = isinstance(value, list | tuple) and all(isinstance(r, Mapping) for r in value)
    return listed or isinstance(value, pd.DataFrame)


def _metrics(asked: Metrics, config: DictConfig) -> dict[str, Metric]:
    """The metrics by name; those given as objects are called as they call themselves."""
    listed = _listed(asked)
    names = [one for one in listed if isinstance(one, str)]
    chosen: dict[str, Metric] = {}
    if names:
        config.metrics = ListConfig(names)
        controls = set(config.metric_groups[CONTROLS]) - set(names)
        keep = set() if CONTROLS in names else controls
        chosen = {n: build(n, config) for n in selected(config) if n not in keep}
    for one in listed:
        if not isinstance(one, str):
            metric = metric_from(one)
            if metric.name in chosen:
                raise ConfigError(f"two metrics are called '{metric.name}'")
            chosen[metric.name] = metric
    return chosen


def _is_of_user(metric: Metric) -> bool:
    """Whether code that is not metaeval's computes a metric."""
    return isinstance(metric, OwnMetric) or type(metric).__module__.partition(".")[0] != "metaeval"
