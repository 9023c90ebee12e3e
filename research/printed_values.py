"""Audit of printed values: are they those of the protocol that the paper states?

    python -m research.printed_values [PAPER …] [--datasets NAME …]

The rule is in `docs/audit.md`; it was written before the audit was run.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log10
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from metaeval.config import add_metric, build, compose_config
from metaeval.errors import ConfigError, ends_with_status
from metaeval.papers.expected import Paper, PaperItem, papers
from metaeval.reproduce.chance import FOUND
from metaeval.reproduce.explain import (
    DEFAULT,
    TABLE,
    TOLERANCE,
    Search,
    SearchedTable,
    chance_of,
)

# without weights, and quick: SPICE's own parser takes an hour for these captions
METRICS = ("bleu", "sacrebleu", "meteor", "rouge_l", "cider")
TAUS = ("kendall_tau_c", "kendall_tau_b", "kendall_tau_a")
WHAT_IT_IS = ("statistic", "category", "dimension")  # switches that stay as stated
VERDICTS = ("stated", "another", "none", "not run")
OF_VALUE = ("metric", "cell", "printed", "as stated", "found", "verdict")
MOST_COMMON = 5  # switches


class _Printed(NamedTuple):
    """A value to audit: where it was printed, a row of `explain`, and what its paper states."""

    paper: str
    cell: str
    row: Mapping[str, str]
    stated: Mapping[str, str]


class Audit(NamedTuple):
    """The result of an audit.

    `values` has a row per value, `tables` one per printed table, `switches` one per switch in which
    a protocol that is found differs from the stated one; `not_searched` is a reason → the number of
    values.
    """

    values: pd.DataFrame
    tables: pd.DataFrame
    switches: pd.DataFrame
    not_searched: Mapping[str, int]


def audit(
    names: Sequence[str] = (),
    known: Mapping[str, Paper] | None = None,
    datasets: Sequence[str] = (),
) -> Audit:
    """Search the values of papers on datasets, all by default. Raises ConfigError for an unknown
    paper."""
    known = papers() if known is None else known
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(f"audit: unknown paper '{unknown[0]}'; choose from {', '.join(known)}")
    chosen = [paper for name, paper in known.items() if name in names or not names]
    not_searched: dict[str, int] = {}
    of_dataset: dict[str, list[_Printed]] = {}
    for value in _printed_values(chosen, not_searched):
        dataset = value.row["dataset"]
        if dataset in datasets or not datasets:
            of_dataset.setdefault(dataset, []).append(value)
    values: list[dict[str, Any]] = []
    tables: list[dict[str, Any]] = []
    switches: list[dict[str, Any]] = []
    for dataset, printed in of_dataset.items():
        searched, stated = _search(dataset, printed)
        for table in searched.searched(stated):
            of_table = [p for p in printed if p.row[TABLE] == table.values[0].table]
            switched: dict[Any, str] = {**searched.default, **stated[table.values[0].table]}
            default = pd.Series(switched)
            audited = audited_table(table, default)
            paper = of_table[0].paper
            name = table.values[0].table.removeprefix(f"{paper}: ")
            facts = {"paper": paper, "table": name, "dataset": dataset}
            verdicts = audited.pop("verdicts")
            for p, of_value in zip(of_table, verdicts, strict=True):
                values.append({**facts, "metric": p.row["metric"], "cell": p.cell, **of_value})
            counts = pd.Series([v["verdict"] for v in verdicts]).value_counts()
            switches += [{**facts, **row} for row in audited.pop("switches")]
            tables.append({**facts, **{v: int(counts.get(v, 0)) for v in VERDICTS}, **audited})
    where = ["paper", "table", "dataset"]
    return Audit(
        pd.DataFrame(values, columns=[*where, *OF_VALUE]),
        pd.DataFrame(tables, columns=[*where, *VERDICTS, "found", "by chance"]),
        pd.DataFrame(switches, columns=[*where, "switch", "points"]),
        not_searched,
    )


def _printed_values(chosen: Iterable[Paper], not_searched: dict[str, int]) -> Iterator[_Printed]:
    """The values to search; of the others the reasons are counted."""
    config = compose_config([])
    columns: dict[str, str] = {}
    for family in METRICS:
        add_metric(config, family)
        columns |= {column.name: family for column in build(family, config).columns}
    for paper in chosen:
        for item in paper.items:
            for column, cell, value in item.printed():
                if value is None:
                    continue
                reason = "needs a model" if column not in columns or column in item.models else ""
                reason = reason or ("" if item.stated else "no grid of protocols")
                if reason:
                    not_searched[reason] = not_searched.get(reason, 0) + 1
                    continue
                stated = {s: text.replace("{cell}", cell) for s, text in item.stated.items()}
                yield _Printed(paper.paper, cell, _row(paper, item, column, value), stated)


def _row(paper: Paper, item: PaperItem, column: str, value: float) -> dict[str, str]:
    """The value as `explain` takes it, with the digits that were printed."""
    digits = round(-log10(2 * item.rounding))
    uncertainty = item.uncertainties.get(column, item.uncertainty)
    return {
        "metric": column,
        "dataset": str(item.run["dataset"]),
        "value": f"{value:.{digits}f}",
        TABLE: f"{paper.paper}: {item.table or item.title}",
        "variant": DEFAULT,
        TOLERANCE: str(uncertainty.value if uncertainty is not None else 0),
    }


def _search(dataset: str, printed: Sequence[_Printed]) -> tuple[Search, dict[str, dict[str, str]]]:
    """The search of a dataset's values, and for each table what its protocols are counted from."""
    switches = Search(dataset, [printed[0].row]).switches
    rows, stated_of = [], {}
    for name in dict.fromkeys(p.row[TABLE] for p in printed):
        of_table = [p for p in printed if p.row[TABLE] == name]
        stated_of[name] = {s: text for p in of_table[::-1] for s, text in p.stated.items()}
        taus = [p.stated["statistic"] for p in of_table if p.stated.get("statistic") in TAUS]
        stated_of[name] |= {"statistic": taus[0]} if taus else {}
        for p in of_table:
            fixed = {}
            for switch, text in p.stated.items():
                differ = len({other.stated.get(switch) for other in of_table}) > 1
                listed = text in switches[switch] and not text.startswith("drawn")
                if switch == "statistic" and text in TAUS:
                    fixed[switch] = "|".join([text, *(tau for tau in TAUS if tau != text)])
                elif switch in WHAT_IT_IS or differ or not listed:
                    fixed[switch] = text
            rows.append({**p.row, **fixed})
    return Search(dataset, rows), stated_of


def audited_table(table: SearchedTable, default: "pd.Series[str]") -> dict[str, Any]:
    """The verdicts of a table, the protocol that is found, its chance, and the worth of switches.

    `default` is the protocol that the paper states, from which changes are counted.
    """
    result, values = table.result, table.values
    as_stated = np.flatnonzero(table.every.eq(default).all(axis=1))[0]
    ours = table.ours[as_stated]
    cell = next((k for k, rows in enumerate(table.members) if as_stated in rows), None)
    by_stated = np.zeros(len(values), np.bool_) if cell is None else result.matches[cell]
    chance_stated = 1.0
    if by_stated.any():
        best = int(by_stated.sum()), 0
        chance_stated = chance_of(result.cells, result.changes, values, best)
    found = next((k for k in result.found.tolist() if k != cell), None)
    by_found = np.zeros(len(values), np.bool_) if found is None else result.matches[found]
    verdicts = []
    for j, value in enumerate(values):
        shown = {"printed": value.text, "as stated": ours[j] * value.scale, "found": np.nan}
        verdict = "not run" if np.isnan(ours[j]) else "none"
        if by_stated[j] and chance_stated < FOUND:
            verdict = "stated"
        elif by_found[j]:
            verdict = "another"
        if found is not None:
            shown["found"] = result.cells[found, j] * value.scale
        verdicts.append({**shown, "verdict": verdict})
    kinds = [v["verdict"] for v in verdicts]
    by_chance = kinds.count("stated") * chance_stated + kinds.count("another") * result.chance
    made: dict[str, Any] = {"verdicts": verdicts, "switches": [], "found": ""}
    if found is not None and "another" in kinds:
        protocol = table.every.iloc[table.members[found][0]]
        changed = {name: choice for name, choice in protocol.items() if choice != default[name]}
        made["found"] = ", ".join(f"{name}={choice}" for name, choice in changed.items())
        made["switches"] = [
            {
                "switch": f"{name}={choice}",
                "points": _worth(table, protocol, name, default, by_found),
            }
            for name, choice in changed.items()
        ]
    return {**made, "by chance": by_chance}


def _worth(
    table: SearchedTable,
    protocol: "pd.Series[str]",
    switch: str,
    default: "pd.Series[str]",
    matched: Any,
) -> float:
    """What a switch adds to the values that a protocol matches, in points."""
    without = protocol.copy()
    without[switch] = default[switch]
    rows = [np.flatnonzero(table.every.eq(p).all(axis=1))[0] for p in (protocol, without)]
    with_it, without_it = table.ours[rows][:, matched]
    return float(100 * np.mean(with_it - without_it))


@ends_with_status()
def main(arguments: Sequence[str] | None = None) -> None:
    """Print the audit of these papers and datasets, all by default; of some papers every value."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="PAPER", help="all by default")
    parser.add_argument("--datasets", nargs="+", default=(), metavar="NAME", help="all by default")
    given = parser.parse_args(arguments)
    names, datasets = given.names, given.datasets
    result = audit(names, datasets=datasets)
    for paper, of_paper in result.tables.groupby("paper", sort=False):
        print(f"\n{paper}")
        shown = of_paper.drop(columns=["paper", "by chance"])
        print(shown.to_string(index=False))
        if names:
            of_values = result.values[result.values["paper"] == paper]
            shown = of_values.drop(columns=["paper", "table"])
            print(shown.to_string(index=False, float_format="{:.4g}".format))
    searched = result.tables[["stated", "another", "none"]].sum()
    n, not_run = int(searched.sum()), int(result.tables["not run"].sum())
    shares = ", ".join(f"{name} {k} ({k / max(n, 1):.0%})" for name, k in searched.items())
    print(f"\n{n} values: {shares}; by chance {result.tables['by chance'].sum():.1f} of them")
    others = {**result.not_searched, "not run": not_run}
    print("Not searched: " + ", ".join(f"{reason} {k}" for reason, k in others.items()))
    by_switch = result.switches.groupby("switch")["points"].agg(["count", "mean", "min", "max"])
    common = by_switch.sort_values("count", ascending=False, kind="stable")[:MOST_COMMON]
    print("\nSwitches of protocols that are found, by tables; points that each is worth")
    print(common.to_string(float_format="{:+.1f}".format))


if __name__ == "__main__":
    sys.exit(main())
