"""The blocks of the page of graded corruption."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd

from metaeval.reports.blocks import charts, tables, texts
from metaeval.reports.blocks.texts import Block
from metaeval.reports.graded.browser import examples_block
from metaeval.reports.measured import PageOptions, closing_blocks, extra_block
from metaeval.reports.paper.figures import level_colours
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.base import Estimate, Measured, MetricResult
from metaeval.results.graded import CEILING, rows_by_metric
from metaeval.results.measured import SETS, Extra, ranked
from metaeval.results.sentences import text_of
from metaeval.runs import files
from metaeval.runs.files import csv_text
from metaeval.runs.records import METRIC, SCORE, SET

RANKS = (
    "Across: the rank of a caption among all captions, from the worst score to the best; equal "
    "scores have their mean rank. ρ is the rank-order ρ."
)
FOLDED = ("sets", "steps", "applied", "degrees", "seeds")  # extras that are shown as they are


def blocks(run: LoadedRun, options: PageOptions) -> list[Block]:
    """Answer, ranking, scores by version, table; the rest folded; examples of captions."""
    result = run.result
    names = [row["set"] for row in result.extra(SETS).records]
    closing = closing_blocks(run)
    others = [
        texts.answer(run),
        charts.ranking(run),
        *_histograms_by_version(run, names),
        *tables.measures_tables(run),
        *_dose(run),
        *(extra_block(run, extra) for extra in result.extras if extra.name in FOLDED),
        extra_block(run, _ties_table(_shown(run))),
        closing[0],
        *(
            tables.difference_tables(run, measure)._replace(
                title=f"Who beats whom: {measure.title}"
            )
            for measure in result.declared[1:]
            if measure.shown
        ),
        *closing[1:-2],
    ]
    return [*others, examples_block(run, options, [*others, *closing[-2:]]), *closing[-2:]]


def _histograms_by_version(run: LoadedRun, names: Sequence[str]) -> list[Block]:
    """The scores of each metric by version, and the ranks of these scores among all captions."""
    metrics = {m.name: m for m in _shown(run) if m.family != CEILING}
    colours = dict(zip(names, level_colours(len(names)), strict=True))
    rho = run.result.declared[0]
    values = {name: f"ρ {text_of(rho, m.numbers[rho.key].value)}" for name, m in metrics.items()}
    lower = run.result.lower_is_better
    ends = (0.5, 0.5 + sum(row["n"] for row in run.result.extra(SETS).records))

    @cache
    def scores() -> pd.DataFrame:
        table = files.read_run_table(run.directory / files.SCORES, [METRIC, SET, SCORE])
        return table[table[METRIC].isin(metrics)].dropna()

    def ranks() -> pd.DataFrame:
        return scores().assign(score=caption_ranks(scores(), lower))

    given = ([*metrics], f"{run.digests(files.SCORES)} {sorted(lower)}", colours)
    return [
        charts.histograms("histograms", "Scores by version", scores, *given, lower=lower),
        charts.histograms("ranks", "Ranks by version", ranks, *given, values, ends, RANKS),
    ]


def caption_ranks(scores: pd.DataFrame, lower: Collection[str]) -> pd.Series[float]:
    """The rank of each score of a metric among those of all captions, 1 the worst; equal scores
    have their mean rank. `lower` are the metrics of which lower scores are better."""
    values = scores["score"].where(~scores["metric"].isin(lower), -scores["score"])
    return values.groupby(scores["metric"]).rank()


def _ties_table(metrics: Sequence[MetricResult]) -> Extra:
    """How much of each metric's rank-order ρ is due to how ties are broken, and to offset."""
    given: list[tuple[str, Measured, Mapping[str, Any]]] = [
        (metric.name, metric.numbers, metric.numbers.facts) for metric in metrics
    ]
    rows = (
        {
            "metric": name,
            "captions with ties": numbers.value("tie_fraction"),
            "tied pairs within an image": facts["pairwise_ties"],
            "ρ": Estimate(
                value=numbers.value("rank_order_rho"),
                low=facts["rank_order_rho_lowest"],
                high=facts["rank_order_rho_highest"],
            ),
            "standard deviation over ties": facts["rank_order_rho_tie_std"],
            "variance between images": facts["variance_image"],
            "not scored": facts["n_nan"],
        }
        for name, numbers, facts in given
    )
    title = "Ties and offset: in brackets, the least and the greatest ρ that breaking ties can give"
    return Extra.of("ties", title, rows, folded=True)


def _shown(run: LoadedRun) -> list[MetricResult]:
    """The metrics that ran, best first, then the others."""
    ran = [metric for metric in run.result.metrics if metric.statistics is not None]
    metrics = [metric for metric in ran if metric.column.is_ranked]
    controls = [metric for metric in ran if metric.column.is_control]
    first = run.result.declared[0]
    return [*ranked(metrics, first), *ranked(controls, first)]


CHANGE = "change in sd within an image"
RHO = "ρ against the human caption"
NOTE = (
    "Left, how far scores are from those of the human captions, in standard deviations within an "
    "image; right, the rank-order ρ of the captions at a rate and the human ones. Bands are "
    "intervals over images, bars standard deviations over seeds, dashed are controls. A "
    "score of which lower is better is negated."
)
POINTS = "dose-points.csv"
OF_DOSE = (
    "{}, at the greatest rate: change from the human caption, in standard deviations within an "
    "image; the rate of half of the effect; whether scores get worse at every step; Page's trend "
    "test; ρ against the human captions"
)


def _dose(run: LoadedRun) -> list[Block]:
    """The curves of a run with several rates, and the table below them with every point as a CSV
    file."""
    if not (summary := rows_by_metric(run.result, "dose")):
        return []
    names = [metric.name for metric in _shown(run)]
    records = run.result.extra("dose_points").records
    points = [point for point in records if point["metric"] in names]
    if not any(point["n_images"] for point in points):
        return []
    corruption = run.result.extra(SETS).records[-2]["set"]
    corruption = corruption.rpartition(" ")[0] or corruption
    curves = [
        {
            "panel": title,
            "line": point["metric"],
            "x": 100 * point["dose"],
            "y": point[key],
            "low": point[f"{key}_low"],
            "high": point[f"{key}_high"],
            "sd": point[f"{key}_seed_sd"],
            "control": point["control"],
            "x_title": f"{corruption}: requested share of words, %",
        }
        for key, title in (("change", CHANGE), ("rho", RHO))
        for point in points
        if point[key] is not None
    ]
    columns = ["corruption", *points[0]]
    rows = [[corruption, *point.values()] for point in points]
    of_dose = [{"corruption": corruption, **row} for name, row in summary.items() if name in names]
    table = Extra.of("dose", OF_DOSE.format(corruption), of_dose, folded=True)
    return [
        charts.curves(Extra.of("dose", "Dose and response", curves), NOTE)._replace(
            key="dose", data={POINTS: csv_text([columns, *rows])}
        ),
        tables.extra_table(run.result, table, f"Dose in numbers: {corruption}"),
    ]
