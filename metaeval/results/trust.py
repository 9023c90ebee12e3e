"""The result of `experiment=trust`: which metric can be used for what, by which evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import pandas as pd

from metaeval.results.base import Estimate, Model, Number
from metaeval.results.comparison import Comparison
from metaeval.results.metric import MetricResult
from metaeval.results.run import Measure, RunResult

Verdict = Literal["yes", "partly", "no", "undecided", "no evidence"]
Outcome = Literal["passes", "fails", "undecided", "not counted"]
SHOWN: Mapping[Verdict, str] = {
    "yes": "yes", "partly": "partly", "no": "no", "undecided": "?", "no evidence": "–",
}  # fmt: skip


_MOST_NAMES = 7  # that a sentence lists


class Rules(Model):
    """What a verdict rests on; declared in conf/trust/uses.yaml before any run.

    Attributes
    ----------
    minimal_effect
        The least effect that counts, on the scale from the best control (0) to the ceiling (1).
    alpha
        The level of significance, after Holm's correction over metrics × items of a use.
    least_room
        Where the ceiling is less than this above the best control, the item decides nothing.
    """

    minimal_effect: float
    alpha: float
    least_room: float


class Use(Model):
    """What a metric may be used for, and the rule in words.

    `shows` says what a metric must do better than the best control on each item.
    """

    id: str
    title: str
    shows: str


class BatteryItem(Model):
    """An experiment of the battery.

    Attributes
    ----------
    overrides
        The options of the command that runs it.
    status, reason
        "found" or "missing" (its data are not on this machine, or it failed), and why.
    command
        What adds the item.
    directory
        The folder of its run, relative to this run's folder if inside it.
    dataset, n_images
        What it ran on.
    """

    id: str
    experiment: str
    title: str
    overrides: tuple[str, ...]
    status: Literal["found", "missing"]
    reason: str | None = None
    command: str
    directory: str | None = None
    dataset: str | None = None
    n_images: int | None = None


class CaptionExample(Model):
    """A caption that people wrote or prefer, another one, and the metric's scores of both."""

    image_id: int | str
    better: str
    worse: str
    scores: tuple[Number, Number]


class Evidence(Model):
    """One metric on one part of an item, for one use.

    Attributes
    ----------
    item, part
        The item of the battery, and which of its numbers: a kind, a dimension, a category.
    measure
        What `value` is, in words.
    value
        The metric's value, with its interval and n.
    control, control_value
        The best control on the same items, and its value.
    ceiling, ceiling_is
        The value that would be best, and what it is.
    effect
        (value - control) / (ceiling - control), with the interval of the difference.
    p, p_adjusted
        Of the difference from the control; Holm's correction over metrics × parts of the use.
    test
        How p was computed.
    outcome, why_not
        The rule's result, and the reason if it does not count.
    examples
        Up to three captions.
    """

    item: str
    part: str
    measure: str
    value: Estimate
    control: str
    control_value: float
    ceiling: float
    ceiling_is: str
    effect: Estimate
    p: Number = None
    p_adjusted: Number = None
    test: str
    outcome: Outcome
    why_not: str | None = None
    examples: tuple[CaptionExample, ...] = ()

    @property
    def name(self) -> str:
        """ "sugarcrepe: replace_obj"."""
        return f"{self.item}: {self.part}" if self.part else self.item


class TrustCell(Model):
    """One metric for one use.

    Attributes
    ----------
    reason
        Why, in a sentence.
    more_data
        How many times as much data would decide, at the observed effects; only of "undecided".
    """

    verdict: Verdict
    reason: str
    more_data: Number = None
    evidence: tuple[Evidence, ...] = ()

    @property
    def counted(self) -> tuple[Evidence, ...]:
        """The evidence that counts."""
        return tuple(e for e in self.evidence if e.outcome != "not counted")


class MetricCost(Model):
    """What a metric costs here.

    `seconds_per_1000` is the median over the runs that computed its scores; `None` where all came
    from the cache.
    """

    seconds_per_1000: Number = None
    n_scored: int = 0


class TrustStatistics(Model):
    """A metric: use → cell, its cost, and what it takes.

    `reads` and `runs_network` are those of `metaeval.metrics.base.Metric`; `None` of a metric that
    only a given run had.
    """

    cells: Mapping[str, TrustCell]
    cost: MetricCost
    reads: tuple[str, ...] | None = None
    runs_network: bool | None = None


class VerdictRobustness(Model):
    """How many verdicts other than "no evidence" change.

    Attributes
    ----------
    cells
        The verdicts that can change.
    lower, higher
        With a minimal effect and a level of significance that are a fifth lower, higher.
    without
        Item → with that item left out.
    seeds
        Seed → with all items run again with it: other corruptions, draws and resampled images.
    """

    cells: int
    lower: int
    higher: int
    without: Mapping[str, int]
    seeds: Mapping[int, int] = {}


class KnownComparison(Model):
    """A metric of the user's and the best known metric of an item, on the same captions.

    Attributes
    ----------
    item, measure
        The item of the battery, and what is compared on it, in words.
    comparison
        a is the user's metric, b the known one; Holm's correction runs over all pairs of metrics
        of the item.
    outcome
        By the item's own level of significance.
    """

    item: str
    measure: str
    comparison: Comparison
    outcome: Literal["beats", "falls behind", "not separated"]


class AcrossBenchmarks(Model):
    """Agreement with ratings over several benchmarks, by average rank (as WMT's metrics task).

    Attributes
    ----------
    average
        Metric → its mean rank, best first.
    ranks
        Benchmark → metric → the rank of its cluster, within which no test separates neighbours.
    concordance, p
        Kendall's W in [0, 1] (1: all rank alike), and the p-value of "nothing in common".
    stability
        Benchmark → τ-b of the average without it with the complete one.
    left_out
        Metrics that some benchmark does not rank.
    separate_nothing
        Benchmarks on which no test separates two of the metrics; they are left out.
    """

    average: Mapping[str, float]
    ranks: Mapping[str, Mapping[str, int]]
    concordance: Number
    p: Number
    stability: Mapping[str, Number]
    left_out: tuple[str, ...] = ()
    separate_nothing: tuple[str, ...] = ()


class TrustResult(RunResult[TrustStatistics]):
    """The matrix of uses and metrics, and all that it rests on.

    Attributes
    ----------
    battery
        The name of the battery.
    uses
        The rows of the matrix.
    items
        The evidence that was looked for.
    own
        The user's metrics.
    against_known
        Each of them against the best known metric of every item that compares metrics.
    across
        One ranking over the benchmarks of ratings; `None` where there are fewer than two.
    """

    experiment: Literal["trust"] = "trust"
    battery: str
    rules: Rules
    uses: tuple[Use, ...]
    items: tuple[BatteryItem, ...]
    robustness: VerdictRobustness
    own: tuple[str, ...] = ()
    against_known: tuple[KnownComparison, ...] = ()
    across: AcrossBenchmarks | None = None

    @property
    def judged(self) -> tuple[MetricResult[TrustStatistics], ...]:
        """The metrics that ran somewhere: the columns of the matrix."""
        return tuple(m for m in self.metrics if m.statistics is not None)

    def cell(self, use: str, metric: str) -> TrustCell:
        """The cell of a use and a metric. Raises KeyError for unknown ones."""
        return self.metric(metric).numbers.cells[use]

    def with_verdict(self, use: str, verdict: Verdict) -> tuple[str, ...]:
        """The metrics with this verdict, by their least effect, largest first."""
        cells = {m.name: m.numbers.cells[use] for m in self.judged}
        chosen = [name for name, cell in cells.items() if cell.verdict == verdict]

        def least(name: str) -> float:
            return min((e.effect.value or 0.0 for e in cells[name].counted), default=0.0)

        return tuple(sorted(chosen, key=lambda name: (-least(name), name)))

    @property
    def matrix(self) -> pd.DataFrame:
        """Verdicts: one row per use, one column per metric."""
        return pd.DataFrame(
            {m.name: [m.numbers.cells[u.id].verdict for u in self.uses] for m in self.judged},
            index=pd.Index([u.title for u in self.uses], name="use"),
        )

    def sentence(self, use: Use) -> str:
        """One sentence for a use: which metrics are fit for it, partly, or not.

        Metrics that are named together are not ranked: no test compares them here.
        """
        return f"To {use.title}: {self.about(use)}."

    def about(self, use: Use) -> str:
        """The sentence of a use without the use; of many metrics the number, not the names."""
        names: dict[str, list[str]] = {}
        for metric in self.judged:
            names.setdefault(metric.numbers.cells[use.id].verdict, []).append(metric.name)
        tested = sum(len(n) for v, n in names.items() if v != "no evidence")
        if not tested:
            cells = (m.numbers.cells[use.id] for m in self.judged)
            return next((c.reason for c in cells if c.evidence), "nothing here tests it")
        parts = []
        if yes := names.get("yes"):
            parts.append(f"use {_listed(yes, 'or')}" + (" (not ranked)" if len(yes) > 1 else ""))
        if partly := names.get("partly"):
            verb = "passes" if len(partly) == 1 else "pass"
            parts.append(f"{_named(partly, tested)} {verb} a part of the tests")
        if not parts:
            parts.append(
                f"none of the {tested} metrics that were tested is shown to be fit"
                if tested > 1 else "the one metric that was tested is not shown to be fit"
            )  # fmt: skip
        if unclear := names.get("undecided"):
            parts.append(f"undecided: {_named(unclear, tested)}")
        return "; ".join(parts)

    def standing(self, metric: str) -> pd.DataFrame:
        """One metric, a row per use that has evidence for it.

        `verdict`; `passes`, `fails`, `undecided`, `not counted`: its tests by outcome; `known`: the
        other metrics whose verdict is "yes"; `more_data`: how many times as much data would decide.
        Verdicts of two metrics are not compared by a test.
        """
        rows = []
        outcomes = ("passes", "fails", "undecided", "not counted")
        for use in self.uses:
            cell = self.cell(use.id, metric)
            if not cell.counted:
                continue
            names: dict[str, str | float | None] = {
                outcome: ", ".join(e.name for e in cell.evidence if e.outcome == outcome)
                for outcome in outcomes
            }
            known = [n for n in self.with_verdict(use.id, "yes") if n not in self.own]
            row: dict[str, str | float | None] = {"use": use.title, "verdict": cell.verdict}
            row |= names | {"known": ", ".join(known), "more_data": cell.more_data}
            rows.append(row)
        return pd.DataFrame(rows, columns=["use", "verdict", *outcomes, "known", "more_data"])

    def known(self, metric: str) -> pd.DataFrame:
        """A metric of the user's against the best known metric, a row per item.

        `difference` (the user's minus the known one's, with `low` and `high`), `p_adjusted`, `n`,
        and `outcome`: "beats", "falls behind", "not separated".
        """
        rows = []
        for one in self.against_known:
            compared, test = one.comparison, one.comparison.test
            if compared.a == metric:
                d = compared.difference
                rows.append(
                    {"item": one.item, "measure": one.measure, "known": compared.b,
                     "difference": d.value, "low": d.low, "high": d.high,
                     "p_adjusted": None if test is None else test.p_adjusted,
                     "n": compared.n, "outcome": one.outcome}
                )  # fmt: skip
        names = ("item", "measure", "known", "difference", "low", "high", "p_adjusted", "n")
        return pd.DataFrame(rows, columns=[*names, "outcome"])

    def known_sentence(self, metric: str) -> str:
        """Where the user's metric beats the best known one, and where not; "" without a test."""
        by: dict[str, list[str]] = {}
        for one in self.against_known:
            if one.comparison.a == metric:
                by.setdefault(one.outcome, []).append(f"{one.comparison.b} on {one.item}")
        parts = [
            f"{verb} {_listed(by[outcome], 'and')}"
            for outcome, verb in (
                ("beats", "beats"), ("falls behind", "falls behind"),
                ("not separated", "is not separated from"),
            )
            if outcome in by
        ]  # fmt: skip
        return f"{metric} {'; '.join(parts)}." if parts else ""

    @property
    def across_sentence(self) -> str:
        """How alike the benchmarks of ratings rank metrics; empty without two of them."""
        across = self.across
        if across is None or across.concordance is None:
            return ""
        alike = across.p is not None and across.p < self.rules.alpha
        known = [t for t in across.stability.values() if t is not None]
        text = (
            f"{len(across.ranks)} benchmarks of ratings rank {len(across.average)} metrics "
            f"{'more alike than by chance' if alike else 'no more alike than by chance'} "
            f"(Kendall’s W {across.concordance:.2f})"
        )
        if known:
            text += f"; the order without any one of them agrees by τ-b {min(known):.2f} or more"
        if across.separate_nothing:
            text += f"; no two are separated on {_listed(across.separate_nothing, 'and')}"
        return f"{text}."

    @property
    def robustness_sentence(self) -> str:
        """How many verdicts change; empty where there is none that could."""
        r = self.robustness
        if not r.cells:
            return ""
        changes = [
            f"{r.lower} change with thresholds a fifth lower",
            f"{r.higher} with thresholds a fifth higher",
        ]
        if r.without:
            changes.append(f"at most {max(r.without.values())} without any one experiment")
        if r.seeds:
            n = len(r.seeds)
            most = max(r.seeds.values())
            changes.append(
                f"at most {most} with any of {n} other seeds" if n > 1
                else f"{most} with another seed"
            )  # fmt: skip
        verdicts = f"{r.cells} verdict{'s' * (r.cells > 1)}"
        return f"Of {verdicts} {', '.join(changes[:-1])}, and {changes[-1]}."

    def table(self) -> pd.DataFrame:
        """One row for each piece of evidence: all that the verdicts rest on."""
        return pd.DataFrame(
            {"use": use, "metric": m.name, "verdict": cell.verdict, **_flat(evidence)}
            for m in self.judged
            for use, cell in m.numbers.cells.items()
            for evidence in cell.evidence
        )

    def _repr_html_(self) -> str:
        """The matrix, for a notebook."""
        table: str = self.matrix.T.to_html()
        return table

    def measures(self, metric: MetricResult[TrustStatistics]) -> Iterator[tuple[Measure, Estimate]]:
        """Empty: the number of verdicts "yes" does not measure a metric's quality."""
        yield from ()


def _flat(evidence: Evidence) -> dict[str, str | float | None]:
    e = evidence
    return {
        "item": e.item, "part": e.part, "measure": e.measure, "value": e.value.value,
        "value_low": e.value.low, "value_high": e.value.high, "n": e.value.n,
        "control": e.control, "control_value": e.control_value, "ceiling": e.ceiling,
        "effect": e.effect.value, "effect_low": e.effect.low, "effect_high": e.effect.high,
        "p": e.p, "p_adjusted": e.p_adjusted, "outcome": e.outcome, "why_not": e.why_not,
    }  # fmt: skip


def _listed(names: Sequence[str], last: str) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def _named(names: Sequence[str], of: int) -> str:
    return _listed(names, "and") if len(names) <= _MOST_NAMES else f"{len(names)} of {of} metrics"
