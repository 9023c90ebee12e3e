"""The sentences of the folded part, with numbers for which they are false; the curves."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.reports.judgments.further import curves, sentences
from metaeval.results.base import Estimate
from metaeval.results.judgments import (
    CalibratedAccuracy,
    FurtherAgreement,
    HumanAgreement,
    JudgmentsResult,
    PreferredShare,
    RaterReplacement,
)
from tests.results.examples import correlation_estimates, ratings_metric, ratings_result

FLAT = Estimate(value=None, low=None, high=None, n=9)


def estimate(value: float, half: float = 5.0) -> Estimate:
    return Estimate(value=value, low=value - half, high=value + half, n=9)


def replacement(rate: float) -> RaterReplacement:
    return RaterReplacement(winning_rate=rate, advantage=0.5, raters=3, items=50, epsilon=0.2)


def result(metrics: Mapping[str, Mapping[str, object]]) -> JudgmentsResult:
    rows = []
    for name, given in metrics.items():
        fields = {
            "difference_pearson": estimate(0.5, 0.1), "labels_worth": estimate(110),
            "cross_fitted_accuracy": estimate(0.6, 0.1), "noticed": estimate(0.2, 0.1), **given,
        }  # fmt: skip
        agreement = HumanAgreement(
            **correlation_estimates(9, 0.5),
            accuracy=CalibratedAccuracy(
                accuracy=estimate(0.62, 0.1), epsilon=0.1, uncalibrated=0.5, tied=0.1, n_pairs=9,
                total_pairs=9, n_images=3,
            ),
            further=FurtherAgreement.model_validate(fields),
        )  # fmt: skip
        rows.append(ratings_metric(name, 9, human=agreement))
    return ratings_result(rows, ["human"])


def said(**metrics: Mapping[str, object]) -> str:
    return " ".join(sentences(result(metrics), "human"))


def test_labels_are_worth_most_with_one_metric_or_several() -> None:
    text = said(A={"labels_worth": estimate(150)}, B={})
    assert "100 labels are worth most with A (150, 145 to 155)." in text
    text = said(A={"labels_worth": estimate(115)}, B={})
    assert "most with A (115, 110 to 120) and B (110, 105 to 115); their intervals overlap." in text


def test_metrics_whose_differences_nobody_notices_are_named() -> None:
    text = said(A={"noticed": FLAT}, B={})
    assert "No score difference of A is preferred in 75 % of the pairs" in text
    assert "the larger the difference" not in text
    text = said(A={"noticed": Estimate(value=0.2, low=0.1, high=None)}, B={})
    assert "Of A it is not certain that the curve rises." in text
    assert "The higher score of every metric is preferred more often" in said(A={}, B={})


def test_what_calibration_owes_to_its_own_captions() -> None:
    assert "lower by at most 2.0 points." in said(A={}, B={})
    more = said(A={"cross_fitted_accuracy": estimate(0.52, 0.1)})
    assert "lower by at most 10.0 points." in more
    assert "lower by at most 0.0 points." in said(A={"cross_fitted_accuracy": estimate(0.7, 0.1)})


def test_the_alt_test_is_one_line() -> None:
    assert "alt-test" not in said(A={}, B={})
    text = said(A={"replaces_rater": replacement(2 / 3)}, B={"replaces_rater": replacement(1 / 3)})
    assert "By the alt-test (three raters, ε 0.2) A may replace a rater." in text
    text = said(A={"replaces_rater": replacement(1 / 3)})
    assert "By the alt-test (three raters, ε 0.2) no metric may replace a rater." in text


def test_every_metric_with_a_curve_has_axes() -> None:
    points = [
        PreferredShare(difference=d, logistic=estimate(0.5 + d, 0.05), isotonic=0.5 + d)
        for d in (0.0, 0.2, 0.4)
    ]
    drawing = curves(
        result({"A": {"preferred": points}, "B": {}, "C": {"preferred": points}}), "human"
    )
    assert drawing is not None
    assert [axes.get_title() for axes in drawing.axes] == ["A", "C"]
    assert drawing.axes[0].lines[0].get_ydata().tolist() == [0.5, 0.7, 0.9]
    assert curves(result({"B": {}}), "human") is None
