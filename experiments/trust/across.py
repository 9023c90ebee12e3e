"""One ranking over the rated benchmarks of a battery: average ranks of clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from metaeval.experiments.trust.findings import key_of, main_dimension
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import RunResult
from metaeval.results.trust import AcrossBenchmarks
from metaeval.stats.agreement.across_benchmarks import average_rank, rank_clusters


class _Pair(NamedTuple):
    a: str
    b: str
    significant: bool


def across_benchmarks(results: Iterable[tuple[str, RunResult[Any]]]) -> AcrossBenchmarks | None:
    """Metrics that every benchmark of ratings ranks; `None` for fewer than two of either.

    A benchmark on which no test separates two of these metrics ranks nothing and is left out.

    On a benchmark with several dimensions the last one stands for it where it is their "total",
    else the first.
    """
    ranks: dict[str, Mapping[str, int]] = {}
    for item, result in results:
        if isinstance(result, MeasuredResult) and result.experiment == "judgments":
            statistic, dimension = str(result.settings["statistic"]), main_dimension(result)
            key = key_of(result, statistic, dimension)
            on_common = key_of(result, f"{statistic}_common", dimension)
            family = result.comparisons[key]
            values = {}
            for m in result.metrics:
                if m.ok and m.column.headline and not m.column.control:
                    name = on_common if on_common in m.numbers.values else key
                    if (value := m.numbers.value(name)) is not None:
                        values[m.name] = value
            order = sorted(values, key=lambda name: (-values[name], name))
            pairs = [_Pair(c.a, c.b, c.is_significant(family.alpha)) for c in family.pairs]
            ranks[item] = rank_clusters(order, pairs)
    common = set.intersection(*map(set, ranks.values())) if ranks else set()
    silent = [item for item, of in ranks.items() if len({of[name] for name in common}) < 2]
    ranks = {item: of for item, of in ranks.items() if item not in silent}
    if len(ranks) < 2 or len(common) < 2:
        return None
    made = average_rank(ranks)
    return AcrossBenchmarks(
        average=dict(zip(made.names, made.average.tolist(), strict=True)),
        ranks={item: {name: of[name] for name in made.names} for item, of in ranks.items()},
        concordance=made.concordance,
        p=made.p,
        stability=made.stability,
        left_out=tuple(made.left_out),
        separate_nothing=tuple(silent),
    )
