"""`metaeval explain`: which protocol gives a printed value?

The switches of a dataset's protocols are declared in `conf/protocols`. Every combination of their
values is one protocol of the grid. What makes another set of scores (references, documents, a
metric's options) is scored once, through the cache; the rest (rows, ratings, statistics) is
computed from the scores. `metaeval.reproduce.chance` says when a protocol counts as found.
"""

import argparse
import json
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

from metaeval import installation
from metaeval.config import add_metric, build, compose_config, load_dataset, metric_names
from metaeval.data.judgments.judged import JudgedCaption, Judgments, Protocol, arrange
from metaeval.errors import ConfigError, InputError
from metaeval.experiments.scores import open_store
from metaeval.experiments.stored_results import code_digest
from metaeval.metrics.base import Metric
from metaeval.options import unknown
from metaeval.overrides import override_texts
from metaeval.readers.files import read_text, user_path
from metaeval.readers.tables import read_csv, read_number
from metaeval.readers.yaml_text import read_declared, read_yaml
from metaeval.reproduce.chance import DRAWS, FOUND, chance_of_match, printed
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
SEVERAL = "|"  # between the possible values of a switch: kendall_tau_b|kendall_tau_c
AS_STATED = {"found": "as stated", "by chance": "as stated"}  # where there was no search
SHOWN = ("metric", "value", "ours", "verdict", "protocol", "papers")  # of the command
NEAREST, MOST_SHOWN = 3, 5
_SCORED = ("own_captions", "references", "documents")  # switches that make other scores


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

    `table` is which values were printed together, `text` the value as printed. `value` and `step`,
    the unit of its last digit, are on the scale of the statistics (43.6 is .436); `known` is switch
    → the values that are possible.
    """

    table: str
    column: str
    family: str
    text: str
    scale: float
    value: float
    step: float
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
        values were printed together; by default all of a dataset.
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
) -> list["_Search"]:
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
    return [_Search(name, rows) for name, rows in of_dataset.items()]


class _Search:
    """The search for the protocols of values on a dataset."""

    def __init__(self, dataset: str, rows: Sequence[Mapping[str, str]]) -> None:
        folder = installation.conf() / "protocols"
        self._variants: Mapping[str, Mapping[str, Any]] = read_yaml(folder / "metrics.yaml")
        names = sorted({p.stem for p in folder.glob("*.yaml")} - {"metrics"})
        if dataset not in names:
            raise unknown("dataset", "dataset with protocols", dataset, names)
        declared = read_declared(folder / f"{dataset}.yaml", Protocols)
        self.dataset, self._papers = dataset, declared.papers
        self._switches = dict(declared.switches)
        self._options = [f"dataset={dataset}", "dataset.own_captions=keep"]
        self._config = compose_config(self._options)
        self._default = pd.Series(
            {**{k: v[0] for k, v in self._switches.items()}, "variant": DEFAULT}
        )
        self.notes: dict[str, None] = {}  # variants without scores, and stand-ins of metrics
        self.values = [self._printed(row) for row in rows]

    def _printed(self, row: Mapping[str, str]) -> PrintedValue:
        """A row of the values, its metric and switches resolved."""
        family, column = self._column(row["metric"])
        number = read_number(row["value"], Path("explain"), row["metric"], "value")
        scale = 100.0 if abs(number) > 1 else 1.0
        step = 10.0 ** int(Decimal(row["value"]).as_tuple().exponent) / scale
        known = {**self._switches, "variant": (DEFAULT, *self._variants.get(family, ()))}
        for name, text in row.items():
            if name in (*REQUIRED, TABLE):
                continue
            if name not in known:
                raise unknown("explain", f"switch of {self.dataset}", name, known)
            chosen = tuple(part.strip() for part in text.split(SEVERAL))
            for part in chosen:
                if part not in known[name]:
                    raise unknown(name, f"value on {self.dataset}", part, known[name])
            known[name] = chosen
        if "idf" not in self._config.metric[family]:  # documents make no difference
            known["documents"] = known["documents"][:1]
        table, text = row.get(TABLE, ""), row["value"]
        return PrintedValue(table, column, family, text, scale, abs(number) / scale, step, known)

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
        ours = self._grids = self._values_of_protocols()
        for name in dict.fromkeys(value.table for value in self.values):
            of_table = [j for j, value in enumerate(self.values) if value.table == name]
            yield self._explained([self.values[j] for j in of_table], [ours[j] for j in of_table])

    def _explained(
        self, values: Sequence[PrintedValue], ours: Sequence[pd.DataFrame]
    ) -> pd.DataFrame:
        """The rows of m values that were printed together, from the grid of each."""
        every = self._protocols(values)
        resolved = [_resolved(value, every) for value in values]
        table = np.column_stack(
            [frame.merge(of, "left")["value"] for frame, of in zip(resolved, ours, strict=True)]
        )
        # equal protocols are one cell, and the one with the fewest changes stands for it
        changes = every.ne(self._default).sum(axis=1).to_numpy()
        order = np.argsort(changes, kind="stable")
        order = order[~np.isnan(table[order]).all(axis=1)]
        _, first, group = np.unique(
            np.nan_to_num(table[order], nan=-1).round(12),
            axis=0, return_index=True, return_inverse=True,
        )  # fmt: skip
        members = [order[group.ravel() == g] for g in np.argsort(first)]
        simplest = np.array([equal[0] for equal in members], dtype=np.intp)
        cells = table[simplest]
        result = _compare(cells, changes[simplest], values)
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

    def heat_map(self) -> str:
        """The first value's cells along the two switches that change it most, the others at their
        first choice; cells that match are framed. Empty where fewer than two switches are open."""
        value, grid = self.values[0], self._grids[0]
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
            return ""
        rows, columns = sorted(effects, key=lambda name: -effects[name])[:2]
        shown = along(rows, columns)
        step, ours = np.array(value.step), shown["value"].to_numpy()
        matches = printed(ours, step) == printed(np.array(value.value), step)
        texts = (shown["value"] * value.scale).map("{:.4g}".format)
        texts = texts.where(~matches, "[" + texts + "]")
        shown = shown.assign(text=texts)
        return shown.pivot(index=rows, columns=columns, values="text").to_string()

    def _protocols(self, values: Sequence[PrintedValue]) -> pd.DataFrame:
        """Every protocol that the values leave possible, one a row; a switch that every value fixes
        has the choice of the first."""
        choices = []
        for name in self._default.index:
            several = [v.known[name] for v in values if len(v.known[name]) > 1]
            several = several or [values[0].known[name]]
            choices.append(list(dict.fromkeys(choice for each in several for choice in each)))
        return pd.DataFrame(product(*choices), columns=self._default.index)

    def _described(self, protocol: "pd.Series[str]") -> str:
        """How a protocol differs from the default."""
        changed = protocol[protocol != self._default]
        return ", ".join(f"{name}={choice}" for name, choice in changed.items()) or DEFAULT

    def _users(self, protocols: pd.DataFrame) -> list[str]:
        """The papers that are known to use one of these protocols, which are equal."""
        default: dict[Any, Sequence[str]] = {n: (choice,) for n, choice in self._default.items()}
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
        raw: Judgments = load_dataset(self._config)
        cells: list[list[dict[str, Any]]] = [[] for _ in self.values]
        metrics = {
            (v.family, variant): self._metric(v.family, variant)
            for v in self.values
            for variant in v.known["variant"]
        }
        with open_store(self._config) as store:
            for choice in product(*(self._open(name) for name in _SCORED)):
                made = dict(zip(_SCORED, choice, strict=True))
                data = _arranged(raw, self._config, **made)
                rows_of = cache(partial(_rows, data))
                for (family, variant), metric in metrics.items():
                    of_variant = {**made, "variant": variant}
                    wanted = [
                        j
                        for j, v in enumerate(self.values)
                        if v.family == family
                        and all(c in v.known[name] for name, c in of_variant.items())
                    ]
                    scores = self._scores(data, metric, variant, store) if wanted else {}
                    for j in wanted if scores else []:
                        cells[j] += _cells(rows_of, scores, self.values[j], of_variant, store)
        columns = [*self._default.index, "value"]
        return [pd.DataFrame(rows, columns=columns).astype({"value": float}) for rows in cells]

    def _open(self, name: str) -> list[str]:
        return list(dict.fromkeys(choice for v in self.values for choice in v.known[name]))

    def _metric(self, family: str, variant: str) -> Metric:
        """A metric with the options of a variant."""
        options = dict(self._variants.get(family, {}).get(variant, {}))
        name = options.pop("metric", family)
        config = compose_config([*self._options, f"metrics=[{name}]", *override_texts(options)])
        add_metric(config, name)
        return build(name, config)

    def _scores(
        self, data: Judgments, metric: Metric, variant: str, store: Store
    ) -> dict[str, Floats]:
        """Column → the scores of the judged captions [n]; empty where the variant cannot run."""
        captions = [j.candidate for j in data.judged]
        scored = score_captions(metric, data.dataset, captions, data.image_index, store)
        if scored.scores is None:
            reason = "; ".join(filter(None, (scored.reason, scored.remedy)))
            self.notes[f"not searched: {metric.name} ({variant}): {reason}"] = None
            return {}
        for column in scored.columns:
            if variant == DEFAULT and column.variant_of and not column.part_of:
                self.notes[f"{column.variant_of} is {column.name} here"] = None
        columns = zip(scored.columns, scored.scores.T, strict=True)
        return {c.variant_of or c.name: scores for c, scores in columns}


class _Comparison(NamedTuple):
    """The cells of m values against what was printed: `distance` and `matches` [k, m].

    `best` are the cells that match most values, `found` those of them that the rule accepts, with
    the fewest changes.
    """

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


def _compare(
    cells: Floats, changes: npt.NDArray[np.int64], values: Sequence[PrintedValue]
) -> _Comparison:
    """Compare the cells [k, m] with the values; `changes` [k] orders them."""
    steps, aims = (np.array([getattr(v, name) for v in values]) for name in ("step", "value"))
    matches = printed(cells, steps) == printed(aims, steps)
    n_matched, known = matches.sum(axis=1), ~np.isnan(cells).all(axis=0)
    most = int(n_matched.max(initial=0))
    best = np.flatnonzero(n_matched == most) if most else np.empty(0, np.intp)
    chance, found = 1.0, best[:0]
    if most:
        fewest = int(changes[best].min())
        chance = chance_of_match(cells[:, known], steps[known], changes, (most, fewest))
        found = best[changes[best] == fewest] if chance < FOUND else found
    return _Comparison(np.abs(cells - aims), matches, best, found, chance)


def _resolved(value: PrintedValue, every: pd.DataFrame) -> pd.DataFrame:
    """The protocols as a value has them: with the switches that are known of it, and its metric
    without the variants of others."""
    fixed = {name: each[0] for name, each in value.known.items() if len(each) == 1}
    frame = every.assign(**fixed)
    of_metric = frame["variant"].isin(value.known["variant"])
    return frame.assign(variant=frame["variant"].where(of_metric, value.known["variant"][0]))


def _arranged(
    raw: Judgments, config: DictConfig, own_captions: str, references: str, documents: str
) -> Judgments:
    """The judged captions with the references and documents of a protocol."""
    places = {p: config.dataset[p] for p in ("instances", "images", "data") if p in config.dataset}

    def arranged(judged: Sequence[JudgedCaption], own: str) -> Judgments:
        protocol = Protocol("grid", own, "each", documents, "kendall_tau_b")
        sources = raw.dataset.sources
        return arrange(raw.name, raw.title, judged, protocol, sources=sources, **places)

    made = arranged(raw.judged, own_captions)
    if references == "all":
        return made
    n = int(references.removeprefix("first "))
    return arranged([replace(j, references=j.references[:n]) for j in made.judged], "keep")


def _cells(
    rows_of: Callable[..., tuple[npt.NDArray[np.intp], Floats]],
    scores: Mapping[str, Floats],
    value: PrintedValue,
    scored: Mapping[str, str],
    store: Store,
) -> Iterator[dict[str, Any]]:
    """The protocols of a value that differ in rows, ratings and statistic alone."""
    rest = {name: each for name, each in value.known.items() if name not in scored}
    statistics = rest.pop("statistic")
    for choice in product(*rest.values()):
        of_rows = dict(zip(rest, choice, strict=True))
        caption, rating = rows_of(**of_rows)
        numbers = _statistics(scores[value.column][caption], rating, store)
        for name in statistics:
            yield {**scored, **of_rows, "statistic": name, "value": abs(numbers[name])}


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


def _statistics(scores: Floats, human: Floats, store: Store) -> dict[str, float]:
    """Every correlation of scores with ratings, from the store where it is known."""
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
    values = options.pop("values", None)
    metric, dataset, printed_value = (options.pop(name, None) for name in REQUIRED)
    for search in _searches(metric, dataset, printed_value, values, options):
        for table in search.tables():
            matched, of, cells = table[["matched", "of", "cells"]].max()
            chance = max(table["chance"][0], 1 / DRAWS)
            print(
                f"{search.dataset}: one of {cells:,} distinct protocols matches {matched} of {of} "
                f"values; random values are matched as well in {chance:.2g} of the draws"
            )
            print(table[list(SHOWN)].to_string(index=False, float_format="{:.4g}".format))
            if len(search.values) == 1:
                print(f"\n{search.heat_map()}")
        for note in search.notes:
            print(note)
