"""Forced choice: `python -m metaeval experiment=forced_choice dataset=pascal50s`.

People chose one of two captions of an image: how often does a metric choose as they did? See
docs/judgments.md.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from metaeval.data.judgments.pascal50s import LABELS, ForcedChoice
from metaeval.experiments import (
    Estimate,
    Extra,
    Floats,
    Measure,
    MeasuredResult,
    RunRecord,
    fill_sentences,
)
from metaeval.experiments.choices import (
    MEAN,
    ChoiceExperiment,
    ChoiceScores,
    PairSample,
    choice_items,
    choice_outcomes,
    counted_facts,
    credit,
    disagreements,
    over_draws,
)
from metaeval.experiments.measure import Mask, Outcomes, measure, of_stats
from metaeval.experiments.record import counted_noun
from metaeval.experiments.scores import scored_columns
from metaeval.papers.expected import cells_of, item_of
from metaeval.results.measured import PublishedValues

DESCRIBED = (
    "{title}: {n:,} pairs of captions, {labels} labels, with {references}, {draws}; {records}"
)
# labels → the source, and paper and item with its percentages (of PASCAL-50S for five references)
PUBLISHED: Mapping[str, tuple[str, str, str]] = {
    "direct": ("Wang et al. (2021), FAIEr, CVPR", "wang2021faier", "pascal50s"),
    "consensus": ("Madhyastha et al. (2019), VIFIDEL, ACL", "madhyastha2019vifidel", "tables5-6"),
    "votes": ("Zhou et al. (2022), FENSE, ICASSP", "zhou2022fense", "audiocaps"),
}
PEOPLE = (
    "one person with the majority of the others; a metric, which is compared with the majority of "
    "all, may be above"
)
EQUAL = {
    "half": "Equal scores, and people who are divided, count one half",
    "wrong": "Equal scores, and people who are divided, are wrong",
    "drop": "Pairs on which people are divided are left out; equal scores count one half",
}
NOTES = (
    "Labels: {labels}.",
    "{equal}.",
    "The mean is over the {average}.",
)
_FIVE = 5  # references of all of them


class ForcedChoiceAgreement(
    ChoiceExperiment,
    name="forced_choice",
    stored=True,
    title="Metrics against people: one of two captions",
    question="Which metric chooses between two captions as people do?",
    data=ForcedChoice,
    needs=(
        "experiment=forced_choice needs pairs of captions of which people preferred one: "
        "dataset=pascal50s or audiocaps_eval; captions that people rated are for "
        "experiment=judgments"
    ),
):
    """How often every metric prefers the caption that people prefer."""

    def describe(self, data: ForcedChoice) -> str:
        *others, last = map(str, data.n_references)
        numbers = f"{', '.join(others)} and {last}" if others else last
        return DESCRIBED.format(
            title=data.title,
            n=len(data),
            labels=data.labels,
            references=f"{numbers} reference{'' if numbers == '1' else 's'}",
            draws=counted_noun(data.draws, "draw"),
            records=data.records,
        )

    def statistics(
        self, data: ForcedChoice, scores: ChoiceScores, record: RunRecord
    ) -> MeasuredResult:
        """Accuracies by category and number of references, and the tests between metrics."""
        stats = record.config.stats
        columns = [column for column, _ in scored_columns(scores.metrics)]
        people = (data.votes[:, 0] - data.votes[:, 1]).astype(np.float64)
        sample = PairSample.of(choice_items(data), data.category, stats)
        outcomes = {
            n: {c.name: choice_outcomes(scores.gaps[c.name][n], people, data.ties) for c in columns}
            for n in data.n_references
        }
        tested = list(category_outcomes(data, outcomes, sample))
        measured = measure(tested, columns, stats.confidence)
        known = published_accuracies(data, record.config.dataset.get("limit"))
        ceiling = one_against_the_others(data, sample.categories) if data.labels == "direct" else {}
        gaps = {c.name: over_draws(scores.gaps[c.name][max(data.n_references)]) for c in columns}
        return measured.result(
            scores.metrics,
            {c.name: draw_deviations(c.name, outcomes, sample.categories) for c in columns},
            experiment="forced_choice",
            dataset=data.name,
            title=data.title,
            facts={
                **counted_facts("Pairs", sample.items, np.ones(len(data), np.bool_)),
                data.unit.capitalize() + "s": len(set(data.image)),
                "Undecided by people": int((people == 0).sum()),
            },
            settings={
                **of_stats(stats),
                "labels": data.labels,
                "ties": data.ties,
                "average": data.average,
                "draws": data.draws,
                "n_references": data.n_references,
                "categories": tuple(sample.categories),
            },
            declared=tuple(each.measure for each in tested),
            people_note=PEOPLE,
            people={
                measure_of(n, group).key: Estimate(value=share)
                for n in data.n_references
                for group, share in ceiling.items()
            },
            published=(known,) if known.values else (),
            extras=(
                *label_agreement(data, sample.categories),
                disagreements(data, columns, gaps, people),
            ),
            notes=tuple(
                fill_sentences(
                    NOTES,
                    labels=LABELS[data.labels],
                    equal=EQUAL[data.ties],
                    average=data.average,
                )
            ),
        )


def category_outcomes(
    pairs: ForcedChoice, outcomes: Mapping[int, Mapping[str, Floats]], sample: PairSample
) -> Iterator[Outcomes]:
    """The outcomes of all pairs and of each category, with each number of references."""
    every = sample.categories if pairs.average == "categories" else ()
    means = {"": sample.mean(*every), **{name: sample.mean(name) for name in sample.categories}}
    for n, by_draw in outcomes.items():
        of_columns = {name: over_draws(values) for name, values in by_draw.items()}
        for group, mean in means.items():
            yield Outcomes(measure_of(n, group), of_columns, mean, family=f"references: {n}")


def measure_of(n_references: int, group: str) -> Measure:
    """The accuracy in a category, or without one the mean, with so many references."""
    key, references = f"agreement_{n_references}", counted_noun(n_references, "reference")
    if not group:
        return Measure(key, "Mean accuracy", unit="share", group=references)
    return Measure(f"{key}_{group}", group, unit="share", group=references)


def draw_deviations(
    column: str, outcomes: Mapping[int, Mapping[str, Floats]], categories: Mapping[str, Mask]
) -> dict[str, float]:
    """The standard deviation (n − 1) of each accuracy over the draws of references, by
    "draw_sd_" and the measure's key; of pairs with a score, where there are several draws."""
    deviations = {}
    for n, of_columns in outcomes.items():
        by_draw = of_columns[column]
        for name, rows in categories.items():
            scored = by_draw[:, rows & ~np.isnan(by_draw).any(axis=0)]
            if len(by_draw) > 1 and scored.size:
                key = f"draw_sd_{measure_of(n, name).key}"
                deviations[key] = float(scored.mean(axis=1).std(ddof=1))
    return deviations


def label_agreement(pairs: ForcedChoice, categories: Mapping[str, Mask]) -> Iterator[Extra]:
    """The share of pairs on which the majorities of both sets of labels prefer the same caption;
    none where the data has one set."""
    if pairs.other_votes is not None:
        one, other = (np.sign(v[:, 0] - v[:, 1]) for v in (pairs.votes, pairs.other_votes))
        groups = {**categories, "all": np.ones(len(pairs), np.bool_)}
        records = (
            {"pairs": name, "share": float((one == other)[rows].mean())}
            for name, rows in groups.items()
        )
        title = "Share of pairs on which direct and consensus labels agree"
        yield Extra.of("label_agreement", title, records, folded=True)


def one_against_the_others(pairs: ForcedChoice, categories: Mapping[str, Mask]) -> dict[str, float]:
    """How often one person votes as the majority of the other people: a metric's ceiling.

    The mean over the voters of a pair, then over pairs; where the others are divided, one half.
    """
    votes = pairs.votes.astype(np.float64)
    lead = votes - votes[:, ::-1] - 1  # of the others with whom a voter of either side votes
    right = (votes * credit(lead)).sum(axis=1) / votes.sum(axis=1)
    values = {name: float(right[rows].mean()) for name, rows in categories.items()}
    return {"": float(np.mean(list(values.values()) or right.tolist())), **values}


def published_accuracies(pairs: ForcedChoice, limit: int | None) -> PublishedValues:
    """The published accuracies on AudioCaps-Eval, or on PASCAL-50S with these labels and five
    references; none for a part of the data, or for other data. They cannot be compared where the
    paper counts ties in another way."""
    source, paper, item = PUBLISHED[pairs.labels]
    n, whole = _FIVE, len(pairs) == 4000 and _FIVE in pairs.n_references
    if pairs.labels == "votes":
        n = pairs.n_references[0]
        whole = pairs.name == "audiocaps_eval" and len(pairs) == 1483
    printed = cells_of(paper, item) if whole and limit is None else {}
    ties = str(item_of(paper, item).run.get("dataset.ties", "half"))
    return PublishedValues(
        source=source,
        why_not=None if ties == pairs.ties else f"add dataset.ties={ties}",
        values={
            metric: {
                measure_of(n, "" if group == MEAN else group).key: value / 100
                for group, value in of_metric.items()
            }
            for metric, of_metric in printed.items()
        },
    )
