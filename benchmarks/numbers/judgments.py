"""The tables of experiment=judgments and experiment=forced_choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.numbers.graded import head, row
from benchmarks.numbers.tables import Command, Result, Table
from metaeval.experiments.judgments.sample import Correlation
from metaeval.results.base import Estimate
from metaeval.results.measured import MeasuredResult
from metaeval.results.metric import MetricResult

METRICS = "[bleu,meteor,rouge_l,cider,spice]"
STATISTICS: tuple[Correlation, ...] = ("kendall_tau_c", "kendall_tau_b")
SHOWN = ("SPICE", "CIDEr", "METEOR", "BLEU-1", "ROUGE-L", "BLEU-4")


def flickr8k(results: Sequence[Result]) -> str:
    """τ × 100 on Flickr8k-Expert and -CF, each next to the published value."""
    lines = head("", "Expert τ-c", "published", "CF τ-b", "published")
    runs = [read_ratings(result) for result in results]
    for metric in SHOWN:
        cells = [metric]
        for run, statistic in zip(runs, STATISTICS, strict=True):
            columns = {m.name: m for m in run.metrics if m.ok}
            if metric not in columns:
                break
            value = columns[metric].numbers.value(statistic)
            known = printed(run).get(metric, {}).get(statistic)
            cells += [times_100(value, 3), as_published(known)]
        else:
            lines.append(row(*cells))
    return "\n".join(lines)


def read_ratings(result: Result) -> MeasuredResult:
    """The result of a run of experiment=judgments."""
    return result.read()


def printed(run: MeasuredResult) -> Mapping[str, Mapping[str, float]]:
    """Metric → key → the value that a paper prints."""
    return {m: values for source in run.published for m, values in source.values.items()}


def quoted_of(run: MeasuredResult) -> dict[str, str]:
    """Dimension → the key of the protocol's correlation."""
    return {dimension: measures[0].key for dimension, measures in run.groups().items()}


def read_choices(result: Result) -> MeasuredResult:
    """The result of a run of experiment=forced_choice."""
    return result.read()


def as_published(known: float | None) -> str:
    """A published value, which is a fraction here, as its paper prints it; "" without one."""
    return "" if known is None else times_100(known)


def times_100(value: float | None, digits: int = 1) -> str:
    """A share or correlation, times 100; a dash where it is undefined."""
    return "–" if value is None else f"{100 * value:.{digits}f}"


def ratings(results: Sequence[Result]) -> str:
    """Every metric of a run with ratings, best first in the first dimension; controls in italics.

    The protocol's statistic × 100 with its interval, in each dimension; published values; and on
    how many captions a row rests.
    """
    run = read_ratings(results[0])
    published, quoted = printed(run), quoted_of(run)
    has_printed = {key for values in published.values() for key in values}
    heads = []
    for name, key in quoted.items():
        heads += [name, "published"] if key in has_printed else [name]
    lines = head("", *heads, "captions")

    def order(metric: MetricResult) -> float:
        return -(metric.numbers.value(next(iter(quoted.values()))) or 0.0)

    for metric in sorted((m for m in run.metrics if m.ok), key=order):
        cells = [italic(metric)]
        for key in quoted.values():
            cells.append(with_ends(metric.numbers[key]))
            if key in has_printed:
                cells.append(as_published(published.get(metric.name, {}).get(key)))
        lines.append(row(*cells, f"{metric.numbers.facts['n']:,}"))
    return "\n".join(lines)


def with_ends(estimate: Estimate) -> str:
    """A correlation with its interval, times 100."""
    low, high = times_100(estimate.low), times_100(estimate.high)
    return f"{times_100(estimate.value)} [{low}, {high}]"


def machines(results: Sequence[Result]) -> str:
    """As `ratings`, without people's captions, without parts of columns and published values."""
    run = read_ratings(results[0])
    statistic = str(run.settings["statistic"])
    keys = {
        dimension: key.replace(statistic, f"{statistic}_without Human", 1)
        for dimension, key in quoted_of(run).items()
    }
    first = next(iter(keys.values()))
    lines = head("", *keys, "captions")

    def order(metric: MetricResult) -> float:
        return -(metric.numbers.value(first) or 0.0)

    ran = [m for m in run.metrics if m.ok and m.column.part_of is None]
    for metric in sorted(ran, key=order):
        cells = [with_ends(metric.numbers[key]) for key in keys.values()]
        lines.append(row(italic(metric), *cells, f"{metric.numbers[first].n:,}"))
    return "\n".join(lines)


def italic(metric: MetricResult) -> str:
    """A metric's name; a control's in italics."""
    return f"*{metric.name}*" if metric.column.control else metric.name


def composite(results: Sequence[Result]) -> str:
    """Composite's τ-c × 100 of all captions and of its parts, the best on COCO first.

    The first run has every metric, the second SPICE by its authors' parser. Every value of a column
    is on the same captions: a metric that scores only some captions of a part has no value there,
    and no row where it has no value at all.
    """
    runs = [read_ratings(result) for result in results]
    last, tau = runs[-1], "kendall_tau_c"  # Composite has one dimension: correctness
    counts = dict(last.extra("counts").rows)
    views = [m.key.removeprefix(f"{tau}_") for m in last.groups(False)["Parts of the captions"]]
    ran = [m for run in runs for m in run.metrics if m.ok and m.column.part_of is None]
    metrics = list({m.name: m for m in reversed(ran)}.values())  # both runs have fitted controls
    lines = head("", "all", "published", *views, "captions")

    def order(metric: MetricResult) -> tuple[bool, float]:
        return metric.column.control, -(metric.numbers.value(f"{tau}_{views[-1]}") or 0.0)

    for metric in sorted(metrics, key=order):
        n, numbers = metric.numbers.facts["n"], metric.numbers
        parts = {view: numbers[f"{tau}_{view}"] for view in views}
        complete = {view: part.n == counts[f"Captions, {view}"] for view, part in parts.items()}
        if not any(complete.values()):
            continue
        known = printed(last).get(metric.name, {}).get(tau)
        lines.append(
            row(
                italic(metric),
                times_100(numbers.value(tau), 3) if n == last.facts["Captions"] else "–",
                as_published(known),
                *(times_100(parts[view].value) if complete[view] else "–" for view in views),
                f"{n:,}",
            )
        )
    return "\n".join(lines)


def common_captions(results: Sequence[Result]) -> str:
    """The protocol's statistic × 100 on the captions that all metrics score, best first.

    And on how many captions each metric has a score. Metrics that do not take part (a score for
    fewer than half of the captions) have no row.
    """
    run = read_ratings(results[0])
    quoted = run.declared[0]
    common = f"{quoted.key}_common"
    ran = [m for m in run.metrics if m.ok and common in m.numbers.values]
    (n,) = {metric.numbers[common].n for metric in ran}
    lines = head("", f"{quoted.title} on the same {n:,} captions", "scored")

    def order(metric: MetricResult) -> tuple[bool, float]:
        return metric.column.control, -(metric.numbers.value(common) or 0.0)

    for metric in sorted(ran, key=order):
        value = times_100(metric.numbers.value(common))
        lines.append(row(italic(metric), value, f"{metric.numbers.facts['n']:,}"))
    return "\n".join(lines)


def choices(results: Sequence[Result]) -> str:
    """PASCAL-50S: how often each metric chooses as people do, in per cent by kind of pair.

    Published values are in brackets; with the most references of the run; people at the end.
    """
    run = read_choices(results[0])
    mean, *categories = list(run.groups().values())[-1]
    published = {m: v for source in run.published for m, v in source.values.items()}
    lines = head("", *(c.title for c in categories), "mean", "interval of the mean")

    def order(metric: MetricResult) -> tuple[bool, float]:
        return metric.column.control, -(metric.numbers.value(mean.key) or 0.0)

    metrics = [m for m in run.metrics if m.ok and m.column.part_of is None]
    for metric in sorted(metrics, key=order):
        cells = []
        for measure in (*categories, mean):
            known = published.get(metric.name, {}).get(measure.key)
            printed = "" if known is None else f" ({100 * known:g})"
            cells.append(f"{times_100(metric.numbers.value(measure.key))}{printed}")
        ends = metric.numbers[mean.key]
        low, high = times_100(ends.low), times_100(ends.high)
        lines.append(row(italic(metric), *cells, f"{low} to {high}"))
    if people := run.people:
        shares = [people.get(measure.key) for measure in (*categories, mean)]
        cells = ["" if share is None else times_100(share.value) for share in shares]
        lines.append(row("one person with the others", *cells, ""))
    return "\n".join(lines)


def judged(options: str) -> tuple[Command, ...]:
    return (Command(f"-m metaeval experiment=judgments {options} metric.spice.parser=perceptron"),)


PASCAL = "dataset=pascal50s dataset.labels="


def noticed(results: Sequence[Result]) -> str:
    """The score difference that people prefer in 75 % of the pairs, and what labels are worth."""
    run = read_ratings(results[0])
    lines = head("", "Δ at 75 %", "95 % interval", "100 labels are worth", "95 % interval")
    for metric in run.metrics:
        values = metric.statistics.values if metric.statistics is not None else {}
        if "noticed" not in values or metric.column.control:
            continue
        gap, worth = values["noticed"], values["labels_worth"]
        lines.append(
            row(
                metric.name,
                _or_never(gap.value),
                f"{_or_never(gap.low)} to {_or_never(gap.high)}",
                f"{worth.value:.0f}",
                f"{worth.low:.0f} to {worth.high:.0f}",
            )
        )
    return "\n".join(lines)


def _or_never(value: float | None) -> str:
    return "never" if value is None else f"{value:.3f}"


TABLES = (
    Table(
        "few-images",
        (Command("-m benchmarks.judgments.few_images --simulations 3000"),),
        lambda results: results[0].printed,
    ),
    Table(
        "noticed",
        (
            Command(
                "-m metaeval experiment=judgments dataset=flickr8k_expert "
                "metrics=[bleu,sacrebleu,meteor,rouge_l,cider,chrf,bertscore]"
            ),
        ),
        noticed,
    ),
    Table(
        "flickr8k",
        tuple(
            Command(f"-m metaeval experiment=judgments dataset={name} metrics={METRICS}")
            for name in ("flickr8k_expert", "flickr8k_cf")
        ),
        flickr8k,
    ),
    Table(
        "composite",
        (
            *judged("dataset=composite"),
            Command("-m metaeval experiment=judgments dataset=composite metrics=[spice]"),
        ),
        composite,
    ),
    Table("composite-coco", judged("dataset=composite dataset.subsets=[coco]"), common_captions),
    Table("pascal50s-direct", judged(f"{PASCAL}direct"), choices),
    Table("pascal50s-consensus", judged(f"{PASCAL}consensus"), choices),
    Table("thumb", judged("dataset=thumb"), ratings),
    Table("thumb-machines", judged("dataset=thumb"), machines, show=False),
    Table(
        "capeval1k",
        judged(
            "dataset=table dataset.name=CapEval1k dataset.image_source=coco "
            "dataset.file=${METAEVAL_DATA}/capeval1k/capeval1k_decoded_939.jsonl"
        ),
        ratings,
    ),
)
