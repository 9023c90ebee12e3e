"""What a sweep says, in words: every sentence follows from the numbers of its groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scipy.stats import kendalltau

from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import (
    amount,
    capital,
    count,
    known,
    listed,
    number,
    percent,
    spelled,
)
from metaeval.reports.sweep.groups import SEED, JobGroup
from metaeval.reports.sweep.jobs import SweepJob
from metaeval.results.run import Measure

LEAST_SD = 0.0001  # that is printed


def findings(
    jobs: Sequence[SweepJob],
    gathered: Sequence[JobGroup],
    measures: Sequence[Measure],
    controls: frozenset[str],
    constants: Mapping[str, str],
) -> list[Finding]:
    """Jobs, what was varied, and of each measure who leads, how orders differ, what seeds do."""
    findings = [_jobs(jobs), _varied(jobs, gathered, constants)]
    for measure in measures:
        sentences = [
            _leaders(gathered, measure, controls),
            _orders(gathered, measure, controls),
            _seeds(gathered, measure, controls),
        ]
        text = " ".join(s for s in sentences if s)
        if text:
            findings.append(Finding(f"{capital(measure.title)}.", text))
    return findings


def _jobs(jobs: Sequence[SweepJob]) -> Finding:
    """How many jobs finished, and which did not."""
    lost = [job for job in jobs if not job.statistics]
    text = f"{len(jobs) - len(lost)} of {len(jobs)} job{'s' * (len(jobs) > 1)} finished."
    if lost:
        text += f" Without statistics: job {listed([job.name for job in lost])}."
    if saved := saved_scores(jobs):
        text += f" {saved}"
    return Finding("Jobs.", text)


def saved_scores(jobs: Sequence[SweepJob]) -> str:
    """How many scores were looked up rather than computed; empty without scores."""
    cached, scored = (sum(getattr(job, key) for job in jobs) for key in ("n_cached", "n_scored"))
    if not cached + scored:
        return ""
    return (
        f"Of {count(cached + scored)} scores {count(cached)} were looked up "
        f"({percent(cached / (cached + scored))}), {count(scored)} computed."
    )


def _varied(
    jobs: Sequence[SweepJob], gathered: Sequence[JobGroup], constants: Mapping[str, str]
) -> Finding:
    """What was varied, and what was given for all jobs alike."""
    parts = []
    for k, (key, _) in enumerate(gathered[0].settings):
        seen = list(dict.fromkeys(g.settings[k][1] for g in gathered))
        parts.append(f"{key} ({', '.join(seen)})")
    seeds = {job.overrides.get(SEED) for job in jobs if job.statistics}
    if len(seeds) > 1:
        parts.append(f"seed ({len(seeds)} values)")
    text = f"Varied: {'; '.join(parts)}." if parts else "Nothing was varied."
    if constants:
        text += f" The same in all jobs: {', '.join(f'{k}={v}' for k, v in constants.items())}."
    return Finding("Settings.", text)


def _leaders(gathered: Sequence[JobGroup], measure: Measure, controls: frozenset[str]) -> str:
    """Which metric has the highest value in each setting, and where its interval is apart."""
    first: dict[str, list[JobGroup]] = {}
    apart = 0
    for group in gathered:
        values = _results(group, measure, controls)
        if len(values) > 1:
            leader = max(values, key=lambda m: values[m])
            first.setdefault(leader, []).append(group)
            apart += _is_apart(group, measure, leader, values)
    if not first:
        return ""
    n = sum(len(members) for members in first.values())
    if len(first) == 1:
        where = "every setting" if n > 1 else "the one setting"
        text = f"{next(iter(first))} has the highest value in {where}"
    else:
        text = "The highest value changes with the setting: "
        text += "; ".join(f"{metric} in {_count(members)}" for metric, members in first.items())
    if n == 1:
        return f"{text}; its interval is {'' if apart else 'not '}apart from all others."
    return f"{text}. The highest interval is apart from all others in {spelled(apart)} of them."


def _is_apart(group: JobGroup, measure: Measure, leader: str, values: Mapping[str, float]) -> bool:
    """Whether the leader's interval lies above that of every other metric."""
    spreads = group.values[measure]
    ends = {name: spreads[name].ci for name in values}
    own = ends.pop(leader)
    return own is not None and all(ci is not None and ci[1] < own[0] for ci in ends.values())


def _count(members: Sequence[JobGroup]) -> str:
    """Up to three settings by name, more by their number."""
    if len(members) <= 3:
        return listed([g.label for g in members])
    return amount(len(members), "setting")


def _orders(gathered: Sequence[JobGroup], measure: Measure, controls: frozenset[str]) -> str:
    """Whether the settings put the metrics into one order, and which two differ most."""
    tables = [(g, _results(g, measure, controls)) for g in gathered]
    least: tuple[float, JobGroup, JobGroup] | None = None
    compared = 0
    for i, (a, first) in enumerate(tables):
        for b, second in tables[i + 1 :]:
            common = [m for m in first if m in second]
            if len(common) < 3:
                continue
            tau = float(kendalltau([first[m] for m in common], [second[m] for m in common])[0])
            if known(tau):
                compared += 1
                if least is None or tau < least[0]:
                    least = (tau, a, b)
    if least is None:
        return ""
    tau, a, b = least
    if tau > 1 - 1e-9:
        shared = len({frozenset(values) for _, values in tables}) > 1
        which = "metrics that they share" if shared else "metrics"
        return f"All settings put the {which} into the same order."
    between = "The two settings' orders" if compared == 1 else "The least alike orders"
    return f"{between}, of {a.label} and {b.label}, have Kendall's τ {number(tau, 2)}."


def _seeds(gathered: Sequence[JobGroup], measure: Measure, controls: frozenset[str]) -> str:
    """The greatest spread over seeds."""
    spreads = [
        (s.sd, metric, g)
        for g in gathered
        for metric, s in g.values.get(measure, {}).items()
        if metric not in controls and s.sd is not None
    ]
    if not spreads:
        return ""
    sd, metric, group = max(spreads, key=lambda spread: spread[0])
    if sd == 0:
        return "Seeds do not change it."
    most = number(sd, 4) if sd >= LEAST_SD else str(LEAST_SD)
    return f"Over seeds its standard deviation is at most {most} ({metric}, {group.label})."


def _results(group: JobGroup, measure: Measure, controls: frozenset[str]) -> dict[str, float]:
    """Metric → mean over seeds, without controls."""
    values = group.values.get(measure, {})
    return {m: s.mean for m, s in values.items() if m not in controls}
