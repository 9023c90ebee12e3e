"""The sentences on attacks, with numbers for which they are false; marks; escaped captions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metaeval.config import compose_config
from metaeval.experiments.run import run_configured
from metaeval.reports.attack.findings import findings
from metaeval.reports.attack.page import heat_map, rules, with_marks, write_report
from metaeval.reports.attack.tables import rate, success_tables
from metaeval.results.attack import (
    AttackResult,
    AttackSettings,
    AttackStatistics,
    BestOfN,
    CurvePoint,
    Defence,
    GenericCaption,
    Inflation,
    SuccessfulAttack,
    Transfer,
)
from metaeval.results.base import Estimate
from metaeval.results.files import read_result, write_result
from metaeval.results.metric import MetricResult
from metaeval.runs.records import ScoreColumn

NOTHING = Estimate(value=None, n=0)


def about(value: float, half: float = 0.03, n: int = 200) -> Estimate:
    return Estimate(value=value, low=max(0.0, value - half), high=min(1.0, value + half), n=n)


def metric(name: str, final: float, half: float = 0.03, **fields: Any) -> MetricResult:
    """A metric that is fooled so often, without a call on 10 % of the images."""
    more = {k: fields.pop(k) for k in ("first", "unconstrained", "same_length") if k in fields}
    success = {
        "fluent": (
            CurvePoint(at=0, value=more.get("first", about(0.1, half))),
            CurvePoint(at=100, value=about(final, half)),
        ),
        "unconstrained": (CurvePoint(at=100, value=more.get("unconstrained", about(final, half))),),
        "same length": (CurvePoint(at=100, value=more.get("same_length", about(final, half))),),
    }
    return MetricResult[AttackStatistics](
        column=ScoreColumn(name, control=name.startswith("control")),
        family=name.lower(),
        statistics=AttackStatistics(
            n_images=200,
            spread=1.0,
            success=success,
            by_edits=(CurvePoint(at=0, value=about(0.1)), CurvePoint(at=3, value=about(final))),
            gain=about(0.5),
            **fields,
        ),
    )


def result(*metrics: MetricResult, **fields: Any) -> AttackResult:
    settings = AttackSettings(
        rule="scene graph", budgets=(0, 100), max_edits=3, seed=0, n_images=200, fluent=0.95
    )
    return AttackResult(
        experiment="attack", dataset="d", metrics=metrics, settings=settings, **fields
    )


def test_without_a_metric_and_without_fluency() -> None:
    assert [f.text for f in findings(result())] == ["No metric was attacked: none ran."]
    assert "No metric was attacked" not in " ".join(said(metric("A", 0.5)).values())
    told = result()
    assert "within the central 95% of human captions" in dict(rules(told))["Fluency"]
    free = told.settings.model_copy(update={"fluent": None, "no_fluency": "too few captions"})
    shown = dict(rules(told.model_copy(update={"settings": free})))["Fluency"]
    assert shown == "no constraint: too few captions"


def said(*metrics: MetricResult, **fields: Any) -> dict[str, str]:
    return {f.lead: f.text for f in findings(result(*metrics, **fields))}


def test_who_is_fooled_on_more_than_half_of_the_images() -> None:
    many = said(metric("A", 0.9), metric("B", 0.8))["Success."]
    assert "By each of the two metrics" in many
    assert "with 100 calls an image and at most three changed words" in many
    one = said(metric("A", 0.9), metric("B", 0.51), metric("control", 0.9))["Success."]
    assert one.startswith("By A, a provably false")  # of B the interval holds one half
    none = said(metric("A", 0.4), metric("B", 0.51))["Success."]
    assert none.startswith("By no metric")
    assert said()["Success."] == "No metric was attacked: none ran."


def test_the_hardest_to_fool_is_named_with_those_that_overlap() -> None:
    apart = said(metric("A", 0.9), metric("B", 0.3))["Success."]
    assert "Hardest to fool is B (30.0% [27.0, 33.0])." in apart
    tied = said(metric("A", 0.34), metric("B", 0.3))["Success."]
    assert "Hardest to fool are B (30.0% [27.0, 33.0]) and A" in tied
    assert "Hardest" not in said(metric("A", 0.9))["Success."]


@pytest.mark.parametrize(
    ("values", "expected"),
    [((0.5, 0.4), "Each metric is fooled less often than a random score (90.0%)."),
     ((0.5, 0.85), "Not fooled less often than a random score (90.0%): B."),
     ((0.88, 0.99), "No metric is fooled less often than a random score (90.0%).")],
)  # fmt: skip
def test_metrics_are_compared_with_a_random_score(values: Any, expected: str) -> None:
    metrics = [metric(name, v) for name, v in zip("AB", values, strict=True)]
    assert said(*metrics, controls={"random": about(0.9)})["Controls."] == expected
    assert "Controls." not in said(*metrics, controls={"random": NOTHING})


def test_the_highest_share_without_a_call_is_reported_with_overlapping_ones() -> None:
    text = said(metric("A", 0.9, first=about(0.3)), metric("B", 0.9))["Without a call."]
    assert text.endswith("above the human one most often by A (on 30.0% of the images).")
    text = said(metric("A", 0.9, first=about(0.12)), metric("B", 0.9))["Without a call."]
    assert text.endswith("by A (on 12.0% of the images) and B (on 10.0% of the images), which are "
                         "not separated.")  # fmt: skip
    assert said(metric("A", 0.9))["Without a call."].endswith("by A on 10.0% of the images.")


def test_a_constraint_matters_only_where_the_intervals_are_apart() -> None:
    text = said(metric("A", 0.5, unconstrained=about(0.9), same_length=about(0.49)))["Constraints."]
    assert "Without the constraint of fluency the search succeeds more often against A" in text
    assert "(50.0%, then 90.0%)" in text
    assert "give or take one, no metric is fooled less often: the intervals overlap." in text
    text = said(metric("A", 0.5, unconstrained=about(0.52), same_length=about(0.2)))["Constraints."]
    assert "Without the constraint of fluency no metric is fooled more often" in text
    assert "the search succeeds less often against A (50.0%, then 20.0%)" in text
    # a constraint that makes it easier is not a cost
    text = said(metric("A", 0.5, unconstrained=about(0.2), same_length=about(0.9)))["Constraints."]
    assert text.count("the intervals overlap") == 2


def test_transfer_needs_twenty_captions_and_leaves_controls_out() -> None:
    metrics = metric("A", 0.9), metric("B", 0.8), metric("control", 0.9)

    def cell(source: str, target: str, value: float, n: int = 100) -> Transfer:
        return Transfer(source=source, target=target, share=about(value, n=n))

    cells = (
        cell("A", "A", 1.0), cell("A", "B", 0.4), cell("B", "A", 0.7), cell("B", "B", 1.0),
        cell("A", "control", 0.99),
    )  # fmt: skip
    text = said(*metrics, transfer=cells)["Transfer."]
    assert text == (
        "Captions that fool one metric fool another most often from B to A (70.0%). "
        "Captions that fool one metric fool another least often from A to B (40.0%)."
    )
    tied = (*cells[:2], cell("B", "A", 0.42))
    assert said(*metrics, transfer=tied)["Transfer."] == (
        "No two metrics are separated in how often captions pass from one to the other."
    )
    more = said(*metrics, metric("C", 0.5), transfer=(*cells, cell("C", "A", 0.69)))["Transfer."]
    assert "most often from B to A (70.0%) and from C to A (69.0%), which are not separated" in more
    few = tuple(c.model_copy(update={"share": about(0.5, n=19)}) for c in cells)
    assert "Transfer." not in said(*metrics, transfer=few)


def test_inflation_is_reported_if_the_interval_is_above_zero() -> None:
    def of(known: float, unknown: float) -> Inflation:
        def point(v: float) -> tuple[CurvePoint, ...]:
            return (CurvePoint(at=100, value=Estimate(value=v, low=v - 0.2, high=v + 0.2)),)

        return Inflation(known=point(known), unknown=point(unknown), words=(20.0, 10.0))

    text = said(metric("A", 0.9, inflation=of(3, -1)), metric("B", 0.9, inflation=of(2, 0.1)))
    assert (
        "knows the references raises the score above the human caption's by every metric"
        in (text["Inflation."])
    )
    assert "does not know the references raises no score" in text["Inflation."]
    text = said(metric("A", 0.9, inflation=of(0.1, 1)), metric("B", 0.9, inflation=of(2, -1)))
    assert (
        "knows the references raises the score above the human caption's by B"
        in (text["Inflation."])
    )


def test_the_generic_caption_that_outranks_most_often_is_quoted() -> None:
    rows = [
        metric(name, 0.9, generic=GenericCaption(caption=f"a photo of {name}", outranks=about(v)))
        for name, v in (("A", 0.2), ("B", 0.4))
    ]
    text = said(*rows)["Generic captions."]
    assert text.endswith("on most images: “a photo of B” by B (40.0%).")
    near = metric("C", 0.9, generic=GenericCaption(caption="a cat", outranks=about(0.38)))
    text = said(*rows, near)["Generic captions."]
    assert text.endswith("“a photo of B” by B (40.0%) and “a cat” by C (38.0%), which are not "
                         "separated.")  # fmt: skip


def chosen(*true: float) -> tuple[BestOfN, ...]:
    return tuple(
        BestOfN(n=4**k, own=about(0.1), others=about(0.1), true=about(v))
        for k, v in enumerate(true)
    )


@pytest.mark.parametrize(
    ("true", "expected"),
    [((0.3, 0.2, 0.1), "The best of 16 by A is true less often than one caption drawn at random."),
     ((0.3, 0.4, 0.6), "The best of 16 by A is true more often than one caption drawn at random."),
     ((0.3, 0.31, 0.32), "By no metric the best of 16 is true more or less often"),
     ((0.3, 0.6, 0.4), "By A the share of true captions falls again after its peak")],
)  # fmt: skip
def test_whether_optimising_a_metric_costs_truth(true: Any, expected: str) -> None:
    text = said(metric("A", 0.9, best_of_n=chosen(*true)))["Best of n."]
    assert expected in text
    assert ("falls again" in text) == (true == (0.3, 0.6, 0.4))


def test_the_most_truthful_choice_is_named_with_those_that_are_not_separated() -> None:
    rows = [
        metric(name, 0.9, best_of_n=chosen(0.3, last))
        for name, last in (("A", 0.6), ("B", 0.8), ("C", 0.2))
    ]
    text = said(*rows)["Best of n."]
    assert "The best of 4 by C is true less often" in text
    assert (
        "A and B is true more often than one caption drawn at random; most often by B (80.0%)."
        in text
    )
    near = metric("D", 0.9, best_of_n=chosen(0.3, 0.78))
    assert (
        "most often by B (80.0%) and D (78.0%), which are not separated."
        in said(*rows, near)["Best of n."]
    )


def test_the_best_pair_is_one_that_was_searched() -> None:
    metrics = metric("A", 0.9), metric("B", 0.8), metric("C", 0.7)
    pairs = (
        Defence(metrics=("A", "B"), transferred=about(0.1), searched=about(0.6)),
        Defence(metrics=("A", "C"), transferred=about(0.2), searched=about(0.4)),
        Defence(metrics=("B", "C"), transferred=about(0.05)),
    )
    text = said(*metrics, defences=pairs)["Two metrics."]
    assert "the search fools least often A and C (40.0% [37.0, 43.0])." in text
    assert text.endswith("It fools A alone on 90.0% and C alone on 70.0% of the images.")
    near = pairs[0].model_copy(update={"searched": about(0.42)})
    text = said(*metrics, defences=(near, *pairs[1:]))["Two metrics."]
    assert "A and C (40.0% [37.0, 43.0]) and A and B (42.0% [39.0, 45.0]), which are" in text
    assert "Two metrics." not in said(*metrics, defences=pairs[2:])


def test_changed_words_are_marked_and_everything_else_is_escaped() -> None:
    html = with_marks("a <b>man</b> rides a horse", "a <b>man</b> rides a <script> cow & calf")
    assert "<script>" not in html
    assert "<b>" not in html
    assert html.startswith("a &lt;b&gt;man&lt;/b&gt; rides a ")
    assert "<del>horse</del>" in html
    assert '<ins class="s">' in html
    assert "&amp;" in html
    assert with_marks("a dog", "a dog") == "a dog"


def test_rates_are_in_percent_with_their_interval() -> None:
    assert rate(about(0.415)) == "41.5 [38.5, 44.5]"
    assert rate(NOTHING) == "–"
    table = success_tables(result(metric("A", 0.4), metric("B", 0.9), metric("control", 1.0)))[0]
    names = [[row[0].text for row in group] for group in table.groups]
    assert names == [["B", "A"], ["control"]]


def test_a_page_is_written_from_the_files_of_a_run(tmp_path: Path) -> None:
    config = compose_config(
        ["experiment=attack", "dataset.n=16", "task.images=16", "task.budgets=[0,10]",
         "task.inflation_images=4", "task.pool_images=4", "task.pairs=1",
         "metrics=[cider,rouge_l,length]", f"paths.cache={tmp_path / 'cache'}"]
    )  # fmt: skip
    out = tmp_path / "OUT"
    run_configured(config, out)
    found = read_result(out / "statistics.json")
    assert isinstance(found, AttackResult)
    hostile = SuccessfulAttack(
        metric="CIDEr", image_id="<i>", human="a dog", false="a <img src=x onerror=y> cat",
        scores=(0.1, 0.2), edits=1,
    )  # fmt: skip
    write_result(
        out / "statistics.json",
        found.model_copy(update={"gallery": (*found.gallery, hostile)}),
    )
    first = write_report(out).read_bytes()
    assert write_report(out).read_bytes() == first
    html = first.decode()
    assert "No metric was fooled." not in html
    assert "<img src=x" not in html
    assert "&lt;img" in html
    heat = heat_map(found)
    assert [name for name, _, _ in heat][-1] == "Length"
    assert all(len(cells) == len(heat) for _, _, cells in heat)
    for stem in ("calls", "words", "best-of-n"):
        assert (out / "figures" / f"{stem}.svg").is_file()
    for stem in ("success", "transfer", "goals", "best-of-n", "defences", "cost"):
        assert (out / "tables" / f"{stem}.tex").is_file()
    write_result(out / "statistics.json", found.model_copy(update={"gallery": ()}))
    assert "No metric was fooled." in write_report(out).read_text(encoding="utf-8")
