"""The three sentences of a page: who leads, who is above the best control, and one caveat.

Next to them, how the metrics of the user stand, and what a reader must know of a metric's training.

Every sentence comes from recorded comparisons: a metric is called best only where a test separates
it from all others, and above a control only where a test shows it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from string import ascii_lowercase
from typing import NamedTuple

from metaeval.results.base import CHOSEN, NEW, Estimate, MetricResult
from metaeval.results.comparison import Comparisons
from metaeval.results.measured import SWEEP, MeasuredResult, SystemRanking, ranked
from metaeval.results.run import Measure

MOST_NAMES = 6  # of a group that a sentence lists
KNOWN = " with a value"  # behind what a sentence ranks, where some have none
AGAINST = "Against the baseline, {}, by {}: significantly better {}; significantly worse {}."
# how far the first of an order leads → the sentence, and what a list of settings says
LEADS = {
    "only": ("{best}: {value}, the only {kind} with a value.", "only {best} has a value"),
    "untested": (
        "{best} has the {extreme} value ({value}); no test compares the {kind}s{known}.",
        "{best} has the {extreme} value (no test)",
    ),
    "undecidable": (
        "Whether {best} ({value}) leads, cannot be decided with so few images or draws.",
        "whether {best} leads cannot be decided",
    ),
    "all": (
        "{best} leads ({value}): every other {noun} is significantly {after}.",
        "{best} leads",
    ),
    "none": (
        "No test separates {best} ({value}) from any other {noun}.",
        "no test separates {best} from any other",
    ),
    "some": (
        "{best} leads ({value}), not separated from {equal}.",
        "{best} leads, not separated from {equal},",
    ),
}
NO_SYSTEMS = "No metric gave the systems a score."
BY_MEASURE = "By measure: {}."
NOT_RANKED = "Not ranked: {}."
NOT_RANKED_ABOVE = "Above the leader, but not ranked: {}."
ABOVE_LEADER = "{} ({} {}), {}"
STANDING = "{name} is number {place} of {n} by {measure} ({value}): {relations}."
AGAINST_METRICS = {  # of the user's metric with others, whatever the test says
    "worse": "significantly worse than {}",
    "equal": "not separated from {}",
    "better": "significantly better than {}",
    "untested": "not compared with {} by a test",
}
BEST_KNOWN, NEXT_ABOVE, NEXT_BELOW = "the best known", "next above", "next below"
CONTROL = "the best control, {} ({})"
ABOVE = {
    "undecidable": "Whether a metric is above {control}, cannot be decided with so few images or "
    "draws.",
    "none": "No {noun} is significantly above {control}.",
    "all": "Every {noun} is significantly above {control}.",
    "some": "Significantly above {control}: {above}.",
}
PAIRED = "paired {}, Holm over {} pair{}"
# unit → the scale of its values, and how they are written
FORMS = {
    "share": (100, ".1f"),
    "percent": (1, ".1f"),
    "score": (1, ".3f"),
    "p": (1, ".3f"),
    "count": (1, ",.0f"),
}
BOLD = "bold: the best, and those not separated from it at {:g} ({})"


def sentences(result: MeasuredResult) -> list[str]:
    """At most three sentences on what answers the question, and one on each metric of the user."""
    answers: list[str] = []
    if result.systems:
        controls = {m.name for m in result.metrics if m.column.control}
        scores = [by for by in result.systems if by not in controls]
        own = [by for by in scores if by in result.own]
        leading_by = dict.fromkeys([*scores[:1], *own])
        answers = [leading_systems(result, by) for by in leading_by] or [NO_SYSTEMS]
        answers.append(against_baseline(result))
    elif result.experiment == SWEEP:
        titles = ((group, {m: m.title for m in of}) for group, of in result.groups().items())
        made = ((group, leading(result, of)) for group, of in titles)
        answers = [f"By {group}: {text}." for group, text in made if text][:2]
    elif result.declared:
        answers = [answer(result), *standings(result), above_control(result)]
    return [s for s in (*answers, result.caveat) if s]


def answer(result: MeasuredResult) -> str:
    """Who leads by what answers the question; where several measures do, and different metrics
    lead, by each of them. Then the metrics above the leader that are not ranked, and why."""
    first = result.declared[0]
    primary = [m for m in result.declared if m == first or (m.primary and m.group == first.group)]
    metrics = ranked_metrics(result)
    titles: dict[Measure, str] = {}
    leading_names: set[str] = set()
    above: dict[str, str] = {}
    for measure in primary:
        if measure.best == "neither":
            continue
        if order := ranked(metrics, measure):
            leading_names.add(order[0].name)
            value = with_interval(measure, order[0].numbers[measure.key])
            titles[measure] = f"{measure.title} ({value})"
        for m in above_the_leader(result, measure):
            why = m.why_not_ranked(result.experiment)
            value = text_of(measure, m.numbers[measure.key].value)
            above.setdefault(m.name, ABOVE_LEADER.format(m.name, measure.title, value, why))
    agree = len(leading_names) < 2
    text = leaders(result) if agree else BY_MEASURE.format(leading(result, titles))
    if not above:
        return text
    template = NOT_RANKED_ABOVE if leading_names else NOT_RANKED
    return f"{text} {template.format('; '.join(above.values()))}"


def above_the_leader(result: MeasuredResult, measure: Measure) -> list[MetricResult]:
    """The metrics with a better value than the best ranked one: they have learned from the test."""
    shown = ranked([m for m in result.metrics if m.ok and m.column.is_ranked], measure)
    return list(takewhile(lambda m: m.why_not_ranked(result.experiment), shown))


def standings(result: MeasuredResult) -> Iterator[str]:
    """A sentence on each ranked metric of the user: its rank, and how it compares with the best
    known metric and with its neighbours, by the measure that is declared first."""
    measure = result.declared[0]
    order = ranked(ranked_metrics(result), measure)
    names = [m.name for m in order]
    known = [name for name in names if name not in result.own]
    for k, name in enumerate(names):
        if name not in result.own or len(names) < 2 or measure.best == "neither":
            continue
        roles: dict[str, list[str]] = {}
        for other, role in (
            *((best, BEST_KNOWN) for best in known[:1]),
            *((above, NEXT_ABOVE) for above in names[max(k - 1, 0) : k]),
            *((below, NEXT_BELOW) for below in names[k + 1 : k + 2]),
        ):
            roles.setdefault(other, []).append(role)
        related: dict[str, list[str]] = {}
        for other, of in roles.items():
            word = _relation(result, measure, name, other)
            related.setdefault(word, []).append(f"{other} ({' and '.join(of)})")
        yield STANDING.format(
            name=name,
            place=k + 1,
            n=len(names),
            measure=measure.full_title,
            value=with_interval(measure, order[k].numbers[measure.key]),
            relations="; ".join(
                AGAINST_METRICS[word].format(join_names(others)) for word, others in related.items()
            ),
        )


def _relation(result: MeasuredResult, measure: Measure, name: str, other: str) -> str:
    """Whether a metric is better or worse than another by the run's own test: a key of
    AGAINST_METRICS."""
    pair = result.comparison(measure.key, name, other)
    if pair is None or pair.test is None:
        return "untested"
    if not pair.is_significant(result.comparisons[measure.key].alpha):
        return "equal"
    higher = (pair.difference.value or 0.0) > 0
    return "better" if higher == (measure.best == "highest") else "worse"


def leaders(result: MeasuredResult, measure: Measure | None = None) -> str:
    """The metric with the best value, and those that no test separates from it."""
    measure = measure or result.declared[0]
    order = ranked(ranked_metrics(result), measure)
    if not order:
        return f"No {_noun(result, measure).removesuffix(KNOWN)} has a value."
    if measure.best == "neither":
        return ""
    value = with_interval(measure, order[0].numbers[measure.key])
    if measure.group:
        value = f"{measure.full_title}: {value}"
    after = "higher" if measure.best == "lowest" else "lower"
    comparisons = result.comparisons.get(measure.key)
    noun = _noun(result, measure)
    return _leaders([m.name for m in order], value, comparisons, measure.best, noun, after)


def leading(result: MeasuredResult, measures: Mapping[Measure, str]) -> str:
    """Who leads by which of several measures, each called by its text: "A leads in x=1 and x=2; no
    test separates B from any other in x=3"; empty where no value is better."""
    titles: dict[str, list[str]] = {}
    for measure, title in measures.items():
        order = [m.name for m in ranked(ranked_metrics(result), measure)]
        if order and measure.best != "neither":
            comparisons = result.comparisons.get(measure.key)
            how_far, equal = _lead(order, comparisons, measure.best)
            text = LEADS[how_far][1].format(best=order[0], extreme=measure.best, equal=equal)
            titles.setdefault(text, []).append(title)
    return "; ".join(f"{text} in {join_names(of)}" for text, of in titles.items())


def _lead(order: Sequence[str], comparisons: Comparisons | None, extreme: str) -> tuple[str, str]:
    """How far the first of an order, best first, leads: a key of LEADS; and the names of those that
    no test separates from it."""
    best, *others = order
    if not others:
        return "only", ""
    if comparisons is None or not comparisons.is_tested:
        return "untested", ""
    if not any(test.decidable for pair in comparisons.pairs for test in pair.tests):
        return "undecidable", ""
    equal = comparisons.not_below(best, others, lowest=extreme == "lowest")
    separated = "none" if len(equal) == len(others) else "some" if equal else "all"
    return separated, join_names(equal)


def leading_systems(result: MeasuredResult, by: str) -> str:
    """The system with the best value by one of the scores, and those not separated."""
    systems = result.systems[by]
    order = systems.ranking
    if not order:
        return NO_SYSTEMS
    value = system_text(systems, order[0], interval=True)
    text = _leaders(order, value, systems.comparisons, systems.best, "system", "behind")
    return f"By {by}: {text}"


def against_baseline(result: MeasuredResult) -> str:
    """The systems that are significantly better or worse than the baseline; empty without one."""
    by, systems = next(iter(result.systems.items()))
    if systems.baseline is None:
        return ""
    found = [
        join_names([name for name in systems.ranking if systems.against(name) == word]) or "none"
        for word in ("better", "worse")
    ]
    return AGAINST.format(systems.baseline, by, *found)


def _leaders(
    order: Sequence[str],
    value: str,
    comparisons: Comparisons | None,
    extreme: str,
    noun: str,
    after: str,
) -> str:
    """Who leads: `order` is best first, `value` that of the first one."""
    kind, known, _ = noun.partition(KNOWN)
    how_far, equal = _lead(order, comparisons, extreme)
    return LEADS[how_far][0].format(
        best=order[0], value=value, extreme=extreme, kind=kind, known=known, noun=noun,
        after=after, equal=equal,
    )  # fmt: skip


def above_control(result: MeasuredResult, measure: Measure | None = None) -> str:
    """The metrics that are significantly above the best control, best first; empty without a
    control."""
    measure = measure or result.declared[0]
    against = result.controls.get(measure.key)
    if against is None:
        return ""
    value = text_of(measure, against.control_value)
    metrics = [m.name for m in ranked(ranked_metrics(result), measure)]
    compared = [c.a for c in against.comparisons if c.a in metrics]
    above = [name for name in metrics if name in against.above]
    number = "none" if not above else "all" if len(above) == len(compared) > 1 else "some"
    return ABOVE["undecidable" if against.shows == "undecidable" else number].format(
        control=CONTROL.format(against.control, value),
        noun=_noun(result, measure),
        above=join_names(above),
    )


def definition_of_bold(columns: Mapping[str, Comparisons]) -> str:
    """What bold means in columns with these comparisons, by their titles."""
    by_test: dict[str, list[str]] = {}
    for title, comparisons in columns.items():
        methods = dict.fromkeys(pair.test.method for pair in comparisons.pairs if pair.test)
        n = sum(bool(pair.tests) for pair in comparisons.pairs)
        if methods:
            test = PAIRED.format(" and ".join(methods), n, "s" * (n != 1))
            by_test.setdefault(test, []).append(title)
    if not by_test:
        return ""
    alpha = next(iter(columns.values())).alpha
    tests = [
        f"{', '.join(titles)}: {test}" if len(by_test) > 1 else test
        for test, titles in by_test.items()
    ]
    return BOLD.format(alpha, "; ".join(tests))


def bold_names(result: MeasuredResult, measure: Measure) -> frozenset[str]:
    """The names in bold in a measure's column; none where no test was made."""
    comparisons = result.comparisons.get(measure.key)
    order = [m.name for m in ranked(ranked_metrics(result), measure)]
    if comparisons is None or not comparisons.is_tested or measure.best == "neither" or not order:
        return frozenset()
    equal = comparisons.not_below(order[0], order, lowest=measure.best == "lowest")
    return frozenset([order[0], *equal])


def ranked_metrics(result: MeasuredResult) -> list[MetricResult]:
    """The metrics that sentences and bold rank: no part, no untrained weights, no control, and none
    that has learned from captions like those of the run."""
    return [
        m
        for m in result.metrics
        if m.ok and m.column.is_ranked and not m.why_not_ranked(result.experiment)
    ]


def _noun(result: MeasuredResult, measure: Measure) -> str:
    """What sentences call those that they rank, where a page shows others next to them."""
    shown = [m for m in result.metrics if m.ok and m.column.is_ranked]
    metrics = ranked_metrics(result)
    noun = "metric" if len(shown) == len(metrics) else "ranked metric"
    return noun if len(ranked(metrics, measure)) == len(metrics) else noun + KNOWN


class Footnote(NamedTuple):
    """A mark, what it says, and the metrics that bear it."""

    mark: str
    text: str
    metrics: tuple[str, ...]


LEARNED = "Has learned from captions: {}."
BUILT_ON = "it is built on, or started from, {}, by its own card trained on {}, in pairs"
CHOSEN_HERE = (
    "Chosen on this experiment's dev images: of the trainings that were tried, this one did best "
    "here, on images that are not scored. No such choice is known of the metrics without this mark."
)
OF_VERSIONS = "Of the versions here {}."


def training_footnotes(metrics: Sequence[MetricResult], experiment: str) -> list[Footnote]:
    """One footnote for each fact about training, in the order of the metrics; parts have none."""
    bearers: dict[str, list[str]] = {}
    for metric in metrics:
        for text in _training_texts(metric, experiment):
            bearers.setdefault(text, []).append(metric.name)
    return [
        Footnote(mark, text, tuple(names))
        for mark, (text, names) in zip(ascii_lowercase, bearers.items(), strict=False)
    ]


def _training_texts(metric: MetricResult, experiment: str) -> Iterator[str]:
    if (training := metric.training) is None or not (metric.ok and metric.column.is_ranked):
        return
    if metric.why_not_ranked(experiment) == CHOSEN:
        yield CHOSEN_HERE
    yield from (LEARNED.format(text) for text in learned_from(metric))
    by_status: dict[str, list[str]] = {}
    for name, status in (training.versions or {}).items():
        by_status.setdefault(status, []).append(name)
    # a metric that learned from no corrupted caption has seen none of these: not worth a footnote
    if metric.column.learned_from_corruptions or by_status.keys() - {NEW}:
        parts = [f"{status}: {join_names(names)}" for status, names in by_status.items()]
        yield OF_VERSIONS.format("; ".join(parts))


def learned_from(metric: MetricResult) -> Iterator[str]:
    """What captions a metric has learned from, by what it declares: those of a model that it is
    built on, and those of its own training."""
    if metric.training is not None:
        for model in metric.training.caption_models:
            pairs = join_names([f"{n:,} of {name}" for name, n in model.pairs.items()])
            yield BUILT_ON.format(model.model, pairs)
        if metric.training.own:
            yield metric.training.own


def text_of(measure: Measure, value: float | None) -> str:
    """A value in the unit of its measure: 61.2 of a share, 0.612 of a score.

    >>> text_of(Measure("a", "A", unit="share"), 0.612)
    '61.2'
    >>> text_of(Measure("p", "p", unit="p"), 0.0004)
    '<0.001'
    """
    if value is None:
        return "–"
    if measure.unit == "p" and value < 0.001:
        return "<0.001"
    scale, form = FORMS[measure.unit]
    text = format(scale * value, form)
    if not text.strip("-0."):
        text = text.lstrip("-")
    return text.replace("-", "−")


def with_interval(measure: Measure, estimate: Estimate) -> str:
    """61.2 [60.1, 62.3].

    >>> with_interval(Measure("a", "A"), Estimate(value=0.5, low=-0.1, high=0.6))
    '0.500 [−0.100, 0.600]'
    """
    if estimate.interval is None:
        return text_of(measure, estimate.value)
    low, high = (text_of(measure, end) for end in estimate.interval)
    return f"{text_of(measure, estimate.value)} [{low}, {high}]"


def score_title(name: str, *, lower: bool) -> str:
    """What a head over scores calls them."""
    return f"{name} (lower is better)" if lower else name


def system_text(systems: SystemRanking, name: str, *, interval: bool = False) -> str:
    """The score of a system, with its interval where that is asked for and known."""

    def text(value: float | None) -> str:
        return "–" if value is None else f"{value:.{systems.digits}f}".replace("-", "−")

    score = systems.scores[name]
    ends = score.interval if interval else None
    if ends is None:
        return text(score.value)
    return f"{text(score.value)} [{text(ends[0])}, {text(ends[1])}]"


def join_names(items: Sequence[str], most: int = MOST_NAMES) -> str:
    """A; A and B; A, B and C; of more than `most` and one the first, and how many more.

    >>> join_names(["A", "B", "C"]), join_names(["A", "B", "C"], most=1)
    ('A, B and C', 'A and 2 more')
    """
    if len(items) > most + 1:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
