"""`metaeval explain`: which protocol gives a printed value?

The switches of a dataset's protocols are declared in `conf/protocols`. Every combination of their
values is one protocol of the grid. What makes another set of scores (references, documents, a
metric's options) is scored once, through the cache; the rest (rows, ratings, statistics) is
computed from the scores. `metaeval.reproduce.chance` says when a protocol counts as found.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from metaeval.choices import conf
from metaeval.config import add_metric, build, compose_config, load_dataset, metric_names
from metaeval.data.dataset import CaptionDataset
from metaeval.data.judgments.judged import JudgedCaption, Judgments, Protocol, arrange
from metaeval.data.judgments.pascal50s import CATEGORIES, VOTES, ForcedChoice
from metaeval.errors import ConfigError, InputError
from metaeval.experiments.choices import choice_outcomes
from metaeval.experiments.scores import open_store
from metaeval.experiments.stored_results import code_digest
from metaeval.metrics.base import Metric
from metaeval.options import unknown
from metaeval.overrides import override_texts
from metaeval.readers.files import read_text, user_path
from metaeval.readers.tables import read_csv, read_number
from metaeval.readers.yaml_text import read_declared, read_yaml
from metaeval.reproduce.chance import DRAWS, FOUND, chance_of_match, matches
from metaeval.results.base import Model
from metaeval.runs.files import digest
from metaeval.runs.records import HUMAN
from metaeval.runs.store import Store
from metaeval.scoring import score_captions
from metaeval.stats.correlation.correlations import correlations
from metaeval.stats.correlation.kendall import concordance
from metaeval.stats.resampling.items import Floats

DEFAULT = "default"  # the variant of a metric with the options of its configuration
REQUIRED = ("metric", "dataset", "value")
TABLE = "table"  # a column that says which values were printed together
TOLERANCE = "tolerance"  # what a value may differ by apart from its rounding, as it is printed
SEVERAL = "|"  # between the possible values of a switch: kendall_tau_b|kendall_tau_c
AS_STATED = {"found": "as stated", "by chance": "as stated"}  # where there was no search
SHOWN = ("metric", "value", "ours", "verdict", "protocol", "papers")  # of the command
NEAREST, MOST_SHOWN = 3, 5
_SCORED = ("own_captions", "references", "documents")  # switches that make other scores
_REFERENCES = re.compile(r"(first|drawn) ([1-9]\d?)")  # of each caption
_DRAWS = 5  # of random references; a value is their mean


class Protocols(Model):
    """A file of `conf/protocols`.

    Attributes
    ----------
    switches
        Switch → its values; the first is the default.
    papers
        Paper → switch → its values in the paper, of the switches that it sets otherwise.
    """

    switches: Mapping[str, tuple[str, ...]]
    papers: Mapping[str, Mapping[str, tuple[str, ...]]] = {}


class PrintedValue(NamedTuple):
    """A printed value and what is known of its protocol.

    `table` is which values were printed together, `text` the value as printed. `value`, `step`, the
    unit of its last digit, and `tolerance`, what it may differ by apart from its rounding, are on
    the scale of the statistics (43.6 is .436); `known` is switch → the values that are possible.
    """

    table: str
    column: str
    family: str
    text: str
    scale: float
    value: float
    step: float
    tolerance: float
    known: Mapping[str, tuple[str, ...]]


def explain(
    metric: str | None = None,
    dataset: str | None = None,
    value: str | float | None = None,
    *,
    values: str | Path | pd.DataFrame | None = None,
    **known: str,
) -> pd.DataFrame:
    """The protocols that give a printed value, or the values of a table.

    Raises ConfigError for an unknown metric, dataset or switch, InputError for a value that is not
    a number.

    Parameters
    ----------
    metric
        A metric ("bleu", for its column BLEU-4) or a column ("BLEU-1").
    dataset
        A dataset with a file in `conf/protocols`.
    value
        As printed: the number of digits counts; above 1 it is in per cent.
    values
        A file (CSV, or .tsv) or table with these columns, instead. Its column `table` says which
        values were printed together (by default all of a dataset), `tolerance` what a value may
        differ by apart from its rounding.
    known
        Switch → its value, or several with "|" between them; in `values` a column of that name.

    Returns
    -------
    DataFrame
        One row per value and protocol shown: those that match, or the three nearest. `ours` is the
        value of the protocol, `protocol` how it differs from the default, `papers` which use it,
        `verdict` "found", "by chance" (it matches, but so do random values too often), "none", or
        "as stated" where all switches are known. `matched` of the `of` values of the table are
        matched by the protocol, one of `cells` distinct ones; `chance` is how often one matches as
        many random values.

    Examples
    --------
    >>> import metaeval
    >>> metaeval.explain("cider", "flickr8k_expert", 43.6)  # doctest: +SKIP
    """
    searches = _searches(metric, dataset, value, values, known)
    tables = [table for search in searches for table in search.tables()]
    return pd.concat(tables, ignore_index=True)


def _searches(
    metric: str | None,
    dataset: str | None,
    value: str | float | None,
    values: str | Path | pd.DataFrame | None,
    known: Mapping[str, str],
) -> list["Search"]:
    """The searches that the arguments of `explain` ask for, one per dataset."""
    given = {"metric": metric, "dataset": dataset, "value": value, **known}
    of_all = {name: str(text) for name, text in given.items() if text is not None}
    rows: Sequence[Mapping[str, str]] = [{}]
    if isinstance(values, pd.DataFrame):
        records = values.fillna("").astype(str).to_dict("records")
        rows = [{str(name): text for name, text in row.items()} for row in records]
    elif values is not None:
        path = user_path(values)
        delimiter = "\t" if path.suffix == ".tsv" else ","
        rows = [row for _, row in read_csv(read_text(path), delimiter, trim=True)]
    if not rows:
        raise InputError("the table of values is empty; write one value in each row")
    of_dataset: dict[str, list[Mapping[str, str]]] = {}
    for number, of_row in enumerate(rows, 1):
        row = {**of_all, **{name: text for name, text in of_row.items() if text}}
        for name in REQUIRED:
            if not row.get(name):
                raise InputError(f"value {number} has no {name}; write {name}=…", field=name)
        of_dataset.setdefault(row["dataset"], []).append(row)
    return [Search(name, rows) for name, rows in of_dataset.items()]


class Search:
    """The search for the protocols of values on a dataset."""

    def __init__(self, dataset: str, rows: Sequence[Mapping[str, str]]) -> None:
        folder = conf() / "protocols"
        self._variants: Mapping[str, Mapping[str, Any]] = read_yaml(folder / "metrics.yaml")
        names = sorted({p.stem for p in folder.glob("*.yaml")} - {"metrics"})
        if dataset not in names:
            raise unknown("dataset", "dataset with protocols", dataset, names)
        declared = read_declared(folder / f"{dataset}.yaml", Protocols)
        self.dataset, self._papers = dataset, declared.papers
        self.switches = dict(declared.switches)
        rated = "own_captions" in declared.switches
        of_data = "dataset.own_captions=keep" if rated else "dataset.labels=direct"
        self._options = [f"dataset={dataset}", of_data]
        self._config = compose_config(self._options)
        self.default = pd.Series(
            {**{k: v[0] for k, v in self.switches.items()}, "variant": DEFAULT}
        )
        self.notes: dict[str, None] = {}  # variants without scores, and stand-ins of metrics
        self.values = [self._printed(row) for row in rows]

    def _printed(self, row: Mapping[str, str]) -> PrintedValue:
        """A row of the values, its metric and switches resolved."""
        family, column = self._column(row["metric"])
        number = read_number(row["value"], Path("explain"), row["metric"], "value")
        scale = 100.0 if abs(number) > 1 else 1.0
        step = 10.0 ** int(Decimal(row["value"]).as_tuple().exponent) / scale
        known = {**self.switches, "variant": (DEFAULT, *self._variants.get(family, ()))}
        for name, text in row.items():
            if name in (*REQUIRED, TABLE, TOLERANCE):
                continue
            if name not in known:
                raise unknown("explain", f"switch of {self.dataset}", name, known)
            chosen = tuple(part.strip() for part in text.split(SEVERAL))
            for part in chosen:
                drawn = name == "references" and _REFERENCES.fullmatch(part)
                if part not in known[name] and not drawn:
                    raise unknown(name, f"value on {self.dataset}", part, known[name])
            known[name] = chosen
        if "idf" not in self._config.metric[family]:  # documents make no difference
            known["documents"] = known["documents"][:1]
        file, text = Path("explain"), row["value"]
        tolerance = read_number(row.get(TOLERANCE, "0"), file, row["metric"], TOLERANCE) / scale
        value, table = abs(number) / scale, row.get(TABLE, "")
        return PrintedValue(table, column, family, text, scale, value, step, tolerance, known)

    def _column(self, name: str) -> tuple[str, str]:
        """The metric and the column that a name stands for."""
        for family in [name] if name in metric_names() else list(self._config.metric):
            add_metric(self._config, family)
            for column in build(family, self._config).columns:
                if column.name == name or (family == name and column.headline):
                    return family, column.variant_of or column.name
        raise unknown("metric", "metric or column", name, metric_names())

    def tables(self) -> Iterator[pd.DataFrame]:
        """For each printed table, the rows of its values, as `explain` returns them."""
        for table in self.searched({}):
            yield self._explained(table)

    def searched(self, stated: Mapping[str, Mapping[str, str]]) -> Iterator["SearchedTable"]:
        """Each printed table with the grid of its values; `stated` is table → switch → its value
        where that is not the default from which changes are counted."""
        ours = self.grids = self._values_of_protocols()
        for name in dict.fromkeys(value.table for value in self.values):
            of_table = [j for j, value in enumerate(self.values) if value.table == name]
            switched: dict[Any, str] = {**self.default, **stated.get(name, {})}
            default = pd.Series(switched)
            values = [self.values[j] for j in of_table]
            yield self._compared(values, [ours[j] for j in of_table], default)

    def _compared(
        self,
        values: Sequence[PrintedValue],
        ours: Sequence[pd.DataFrame],
        default: "pd.Series[str]",
    ) -> "SearchedTable":
        """The grid of m values that were printed together, compared with them."""
        every = self._protocols(values)
        resolved = [_resolved(value, every) for value in values]
        table = np.column_stack(
            [frame.merge(of, "left")["value"] for frame, of in zip(resolved, ours, strict=True)]
        )
        # equal protocols are one cell, and the one with the fewest changes stands for it
        changes = every.ne(default).sum(axis=1).to_numpy()
        order = np.argsort(changes, kind="stable")
        order = order[~np.isnan(table[order]).all(axis=1)]
        _, first, group = np.unique(
            np.nan_to_num(table[order], nan=-1).round(12),
            axis=0, return_index=True, return_inverse=True,
        )  # fmt: skip
        members = [order[group.ravel() == g] for g in np.argsort(first)]
        simplest = np.array([equal[0] for equal in members], dtype=np.intp)
        compared = _compare(table[simplest], changes[simplest], values)
        return SearchedTable(values, every, resolved, table, members, compared)

    def _explained(self, table: "SearchedTable") -> pd.DataFrame:
        """The rows of m values that were printed together."""
        values, resolved, members, result = (
            table.values,
            table.resolved,
            table.members,
            table.result,
        )
        cells = result.cells
        rows: list[dict[str, Any]] = []
        for j, value in enumerate(values):
            facts = {"metric": value.column, "dataset": self.dataset, "value": value.text}
            shown: dict[str, dict[str, Any]] = {}  # protocols may differ in other metrics' variants
            for k, verdict in result.shown(j):
                equal = resolved[j].iloc[members[k]]
                protocol = self._described(equal.iloc[0])
                made = {
                    "ours": cells[k, j] * value.scale,
                    "verdict": verdict if len(cells) > 1 else AS_STATED.get(verdict, verdict),
                    "protocol": protocol,
                    "papers": "; ".join(self._users(equal)),
                    "matched": int(result.matches[k].sum()),
                }
                shown.setdefault(protocol, facts | made)
            nothing = {"protocol": "", "papers": "", "matched": 0}
            rows += shown.values() or [{**facts, "ours": np.nan, "verdict": "not run", **nothing}]
        frame = pd.DataFrame(rows)
        return frame.assign(of=len(values), cells=len(cells), chance=result.chance)

    def heat_map(self) -> pd.DataFrame:
        """The first value's cells along the two switches that change it most, the others at their
        first choice; cells that match are in brackets. Empty where fewer than two switches are
        open."""
        value, grid = self.values[0], self.grids[0]
        first = pd.Series({name: choices[0] for name, choices in value.known.items()})

        def along(*names: str) -> pd.DataFrame:
            others = first.drop(list(names))
            return grid[(grid[others.index] == others).all(axis=1)]

        effects = {
            name: np.ptp(along(name)["value"])
            for name, choices in value.known.items()
            if len(choices) > 1 and len(grid)
        }
        if len(effects) < 2:
            return pd.DataFrame()
        rows, columns = sorted(effects, key=lambda name: -effects[name])[:2]
        shown = along(rows, columns)
        reach = np.array(value.step / 2 + value.tolerance)
        framed = matches(shown["value"].to_numpy(), np.array(value.value), reach)
        texts = (shown["value"] * value.scale).map("{:.4g}".format)
        texts = texts.where(~framed, "[" + texts + "]")
        shown = shown.assign(text=texts)
        return shown.pivot(index=rows, columns=columns, values="text")

    def _protocols(self, values: Sequence[PrintedValue]) -> pd.DataFrame:
        """Every protocol that the values leave possible, one a row; a switch that every value fixes
        has the choice of the first."""
        choices = []
        for name in self.default.index:
            several = [v.known[name] for v in values if len(v.known[name]) > 1]
            several = several or [values[0].known[name]]
            choices.append(list(dict.fromkeys(choice for each in several for choice in each)))
        return pd.DataFrame(product(*choices), columns=self.default.index)

    def _described(self, protocol: "pd.Series[str]") -> str:
        """How a protocol differs from the default."""
        changed = protocol[protocol != self.default]
        return ", ".join(f"{name}={choice}" for name, choice in changed.items()) or DEFAULT

    def _users(self, protocols: pd.DataFrame) -> list[str]:
        """The papers that are known to use one of these protocols, which are equal."""
        default: dict[Any, Sequence[str]] = {n: (choice,) for n, choice in self.default.items()}
        return [
            paper
            for paper, changes in self._papers.items()
            if pd.DataFrame(
                {name: protocols[name].isin(of) for name, of in {**default, **changes}.items()}
            )
            .all(axis=1)
            .any()
        ]

    def _values_of_protocols(self) -> list[pd.DataFrame]:
        """The grid of each value: the switches of every protocol that is possible, and `value`."""
        raw: Judgments | ForcedChoice = load_dataset(self._config)
        cells: list[list[dict[str, Any]]] = [[] for _ in self.values]
        metrics = {
            (v.family, variant): self._metric(v.family, variant)
            for v in self.values
            for variant in v.known["variant"]
        }
        makes_scores = [name for name in _SCORED if name in self.switches]
        with open_store(self._config) as store:
            open_switches = (
                dict.fromkeys(choice for v in self.values for choice in v.known[name])
                for name in makes_scores
            )
            for choice in product(*open_switches):
                made = dict(zip(makes_scores, choice, strict=True))
                wanted = {
                    (family, variant): [
                        j
                        for j, v in enumerate(self.values)
                        if v.family == family
                        and variant in v.known["variant"]
                        and all(chosen in v.known[name] for name, chosen in made.items())
                    ]
                    for family, variant in metrics
                }
                draws = (
                    list(_draws(raw, self._config, store, **made)) if any(wanted.values()) else []
                )
                for (family, variant), of_metric in wanted.items():
                    metric = metrics[family, variant]
                    scores = self._scores(draws, metric, variant, store) if of_metric else []
                    numbers_of = cache(partial(_numbers, draws, scores))
                    for j in of_metric if scores else []:
                        of_variant = {**made, "variant": variant}
                        cells[j] += _cells(numbers_of, self.values[j], of_variant)
        columns = [*self.default.index, "value"]
        return [pd.DataFrame(rows, columns=columns).astype({"value": float}) for rows in cells]

    def _metric(self, family: str, variant: str) -> Metric:
        """A metric with the options of a variant."""
        if variant == DEFAULT:
            return build(family, self._config)
        options = dict(self._variants[family][variant])
        name = options.pop("metric", family)
        config = compose_config([*self._options, f"metrics=[{name}]", *override_texts(options)])
        add_metric(config, name)
        return build(name, config)

    def _scores(
        self, draws: Sequence["_Draw"], metric: Metric, variant: str, store: Store
    ) -> list[dict[str, Floats]]:
        """For each draw, column → the scores of the captions [n], higher for a better one; empty
        where the variant cannot run."""
        of_draws: list[dict[str, Floats]] = []
        for draw in draws:
            scored = score_captions(metric, draw.dataset, draw.captions, draw.images, store)
            if scored.scores is None:
                reason = "; ".join(filter(None, (scored.reason, scored.remedy)))
                self.notes[f"not searched: {metric.name} ({variant}): {reason}"] = None
                return []
            for column in scored.columns:
                if variant == DEFAULT and column.variant_of and not column.part_of:
                    self.notes[f"{column.variant_of} is {column.name} here"] = None
            columns = zip(scored.columns, scored.scores.T, strict=True)
            of_draws.append(
                {c.variant_of or c.name: s if c.higher_is_better else -s for c, s in columns}
            )
        return of_draws


class GridMatches(NamedTuple):
    """The cells [k, m] of m values against what was printed: `distance` and `matches` [k, m].

    `best` are the cells that match most values, `found` those of them that the rule accepts, with
    the fewest changes.
    """

    cells: Floats
    changes: npt.NDArray[np.int64]
    distance: Floats
    matches: npt.NDArray[np.bool_]
    best: npt.NDArray[np.intp]
    found: npt.NDArray[np.intp]
    chance: float

    def shown(self, j: int) -> Iterator[tuple[int, str]]:
        """The cells to show for value j, each with its verdict: the best where they match it, else
        what the protocols found give, or the nearest."""
        matching = self.best[self.matches[self.best, j]][:MOST_SHOWN].tolist()
        yield from ((k, "found" if k in self.found else "by chance") for k in matching)
        if not matching:
            there = np.count_nonzero(~np.isnan(self.distance[:, j]))
            nearest = np.argsort(self.distance[:, j], kind="stable")[: min(NEAREST, there)]
            others = self.found[:MOST_SHOWN] if len(self.found) and there else nearest
            yield from ((k, "none") for k in others.tolist())


class SearchedTable(NamedTuple):
    """Values that were printed together, and every protocol that is possible.

    `every` has a protocol in each row, and `resolved` as each value has it; `ours` [p, m] are their
    values. `members` are the rows of each cell of `result`, those with the fewest changes first.
    """

    values: Sequence[PrintedValue]
    every: pd.DataFrame
    resolved: Sequence[pd.DataFrame]
    ours: Floats
    members: Sequence[npt.NDArray[np.intp]]
    result: GridMatches


def _compare(
    cells: Floats, changes: npt.NDArray[np.int64], values: Sequence[PrintedValue]
) -> GridMatches:
    """Compare the cells [k, m] with the values; `changes` [k] orders them."""
    aims = np.array([v.value for v in values])
    matched = matches(cells, aims, np.array([v.step / 2 + v.tolerance for v in values]))
    n_matched = matched.sum(axis=1)
    most = int(n_matched.max(initial=0))
    best = np.flatnonzero(n_matched == most) if most else np.empty(0, np.intp)
    chance, found = 1.0, best[:0]
    if most:
        fewest = int(changes[best].min())
        chance = chance_of(cells, changes, values, (most, fewest))
        found = best[changes[best] == fewest] if chance < FOUND else found
    return GridMatches(cells, changes, np.abs(cells - aims), matched, best, found, chance)


def chance_of(
    cells: Floats,
    changes: npt.NDArray[np.int64],
    values: Sequence[PrintedValue],
    best: tuple[int, int],
) -> float:
    """The chance of as good a match as `best` (`chance_of_match`), of the values with a cell."""
    known = ~np.isnan(cells).all(axis=0)
    steps, tolerance = (
        np.array([getattr(v, name) for v in values])[known] for name in ("step", "tolerance")
    )
    return chance_of_match(cells[:, known], steps, changes, best, tolerance)


def _resolved(value: PrintedValue, every: pd.DataFrame) -> pd.DataFrame:
    """The protocols as a value has them: with the switches that are known of it, and its metric
    without the variants of others."""
    fixed = {name: each[0] for name, each in value.known.items() if len(each) == 1}
    frame = every.assign(**fixed)
    of_metric = frame["variant"].isin(value.known["variant"])
    return frame.assign(variant=frame["variant"].where(of_metric, value.known["variant"][0]))


class _Draw(NamedTuple):
    """What is scored under a protocol, with one draw of references.

    `numbers` takes the scores of the captions and the other switches: statistic → value.
    """

    dataset: CaptionDataset
    captions: Sequence[str]
    images: npt.NDArray[np.intp]
    numbers: Callable[..., Mapping[str, float]]


def _draws(
    raw: Judgments | ForcedChoice,
    config: DictConfig,
    store: Store,
    references: str,
    documents: str,
    own_captions: str = "",
) -> Iterator[_Draw]:
    """The draws of a protocol: one, or several of random references."""
    how, n = "all", None
    if parsed := _REFERENCES.fullmatch(references):
        how, n = parsed[1], int(parsed[2])
    for k in range(_DRAWS if how == "drawn" and n != VOTES else 1):
        if isinstance(raw, ForcedChoice):
            table = raw.tables(n or VOTES, k, config.seed)[0]
            seen = (
                table.documents if documents == "pair" else replace(table.documents, documents=None)
            )
            yield _Draw(seen, table.captions, table.items, partial(_accuracy, raw))
        else:
            first = n if how == "first" else None
            drawn = Protocol(
                "", own_captions, "each", documents, "", n if how == "drawn" else None, k
            )
            data = _arranged(raw, config, drawn, first)
            captions = [j.candidate for j in data.judged]
            rows_of = cache(partial(_rows, data))
            numbers = partial(_correlations, rows_of, store)
            yield _Draw(data.dataset, captions, data.image_index, numbers)


def _arranged(
    raw: Judgments, config: DictConfig, protocol: Protocol, first: int | None
) -> Judgments:
    """The judged captions under a protocol, with the first references alone."""
    places = {p: config.dataset[p] for p in ("instances", "images", "data") if p in config.dataset}

    def arranged(judged: Sequence[JudgedCaption], protocol: Protocol) -> Judgments:
        sources = raw.dataset.sources
        return arrange(raw.name, raw.title, judged, protocol, sources=sources, **places)

    made = arranged(raw.judged, protocol)
    if first is None:
        return made
    fewer = [replace(j, references=j.references[:first]) for j in made.judged]
    return arranged(fewer, replace(protocol, own_captions="keep"))


def _cells(
    numbers_of: Callable[..., Mapping[str, float]], value: PrintedValue, scored: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """The protocols of a value that differ in rows, ratings and statistic alone."""
    rest = {name: each for name, each in value.known.items() if name not in scored}
    statistics = rest.pop("statistic", ())
    for choice in product(*rest.values()):
        of_rows = dict(zip(rest, choice, strict=True))
        numbers = numbers_of(value.column, **of_rows)
        for name in statistics or [""]:
            of_statistic = {"statistic": name} if statistics else {}
            yield {**scored, **of_rows, **of_statistic, "value": abs(numbers[name])}


def _numbers(
    draws: Sequence[_Draw], scores: Sequence[Mapping[str, Floats]], column: str, **switches: str
) -> dict[str, float]:
    """Statistic → its value, the mean over the draws of references."""
    of_draws = [
        draw.numbers(of_draw[column], **switches)
        for draw, of_draw in zip(draws, scores, strict=True)
    ]
    return {name: float(np.mean([of[name] for of in of_draws])) for name in of_draws[0]}


def _accuracy(
    pairs: ForcedChoice, scores: Floats, labels: str, ties: str, category: str
) -> dict[str, float]:
    """The share of pairs in which the scores of both captions, first all first ones, prefer what
    people prefer; "mean" is over the categories."""
    votes = pairs.votes if labels == pairs.labels else pairs.other_votes
    assert votes is not None
    n, kinds = len(pairs), np.array(pairs.category)
    people = np.sign(votes[:, 0] - votes[:, 1])
    outcomes = choice_outcomes(scores[:n] - scores[n:], people, ties)
    named = CATEGORIES if category == "mean" else [category]
    return {"": float(np.mean([np.nanmean(outcomes[kinds == name]) for name in named]))}


def _rows(
    data: Judgments,
    dimension: str | None = None,
    ratings: str = "each",
    people: str = "with",
    subset: str = "all",
) -> tuple[npt.NDArray[np.intp], Floats]:
    """The rows of a protocol: the caption of each, and its rating."""
    dimension = dimension or data.dimensions[0]
    if ratings in ("each", "mean"):
        of_ratings = replace(data.protocol, ratings=ratings)
        caption, rating = replace(data, protocol=of_ratings).rows(dimension)
    else:
        given = [j.human.get(dimension, ()) for j in data.judged]
        if ratings == "median":
            every = np.array([median(r) if r else np.nan for r in given])
        else:
            k = int(ratings.removeprefix("rater ")) - 1
            every = np.array([r[k] if k < len(r) else np.nan for r in given])
        caption = np.flatnonzero(~np.isnan(every))
        rating = every[caption]
    taken = [
        (people == "with" or j.system != HUMAN) and subset in ("all", j.subset) for j in data.judged
    ]
    there = np.array(taken)[caption]
    return caption[there], rating[there]


def _correlations(
    rows_of: Callable[..., tuple[npt.NDArray[np.intp], Floats]],
    store: Store,
    scores: Floats,
    **switches: str,
) -> dict[str, float]:
    """Every correlation of scores with ratings, from the store where it is known."""
    caption, human = rows_of(**switches)
    scores = scores[caption]
    namespace, key = f"protocols {code_digest()}", digest(scores.tobytes() + human.tobytes())
    if stored := store.get_many(namespace, [key]):
        known: dict[str, float] = json.loads(stored[key])
        return known
    there = ~np.isnan(scores)
    numbers: dict[str, float] = correlations(scores, human)._asdict()
    surplus, n = concordance(scores[there], human[there])[0], int(there.sum())
    numbers["kendall_tau_a"] = surplus / (n * (n - 1) / 2) if n > 1 else np.nan
    store.put_many(namespace, {key: json.dumps(numbers).encode()})
    return numbers


def main(given: argparse.Namespace) -> None:
    """Print which protocols give the values."""
    options: dict[str, Any] = {}
    for text in given.options:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"'{text}' is not an option; write name=value")
        options[name] = value
    asked = [options.pop(name, None) for name in (*REQUIRED, "values")]
    metric, dataset, printed_value, values = asked
    for search in _searches(metric, dataset, printed_value, values, options):
        for table in search.tables():
            matched, of, n = table[["matched", "of", "cells"]].max()
            chance = max(table["chance"][0], 1 / DRAWS)
            print(
                f"{search.dataset}: one of {n:,} distinct protocols matches {matched} of {of} "
                f"values; random values are matched as well in {chance:.2g} of the draws"
            )
            print(table[list(SHOWN)].to_string(index=False, float_format="{:.4g}".format))
            cells = search.heat_map() if len(search.values) == 1 else pd.DataFrame()
            if not cells.empty:
                print(f"\n{cells.to_string()}")
        for note in search.notes:
            print(note)
