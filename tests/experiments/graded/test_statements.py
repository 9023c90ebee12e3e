"""What a graded run says besides its numbers: caveat, notes, published values, who is ranked."""

from pathlib import Path
from typing import Any

import pytest

from metaeval.experiments.graded.statistics import CaptionSet, _caveat, _published, _unchanged
from metaeval.experiments.printout import printout
from metaeval.results.base import Estimate, Test
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons
from metaeval.results.graded import paper_distance
from metaeval.results.run import PublishedInfo
from metaeval.results.sentences import above_control, bold_names, leaders
from tests.forked import run_experiment
from tests.reports.graded_results import graded_metric, graded_result


def metric(name: str, within: float = 0.5, **fields: Any) -> Any:
    rho = {"rank_order_rho": 0.5, "rank_order_rho_within": within}
    return graded_metric({"metric": name, **rho, **fields})


def sets(n_applied: int = 10, expected: str = "lower") -> list[CaptionSet]:
    human = CaptionSet("Human", 1, 10, 10, 0, None, 0.0, 0.0, "none")
    return [CaptionSet("Swap", 0, 10, n_applied, 10 - n_applied, 0.5, 0.5, 0.0, expected), human]


@pytest.mark.parametrize(
    ("metrics", "versions", "expected"),
    [
        ([metric("A"), metric("B")], sets(), ""),
        ([metric("A")], sets(n_applied=0), "No corruption changed a caption"),
        ([metric("A")], sets(expected="same"), "Versions as good as the original"),
        ([metric("A", 0.995), metric("B", 1.0)], sets(), "2 of 2 metrics order nearly every"),
        ([metric("A", 0.995), metric("B", 0.99)], sets(), ""),
        ([metric("A", 1.0), metric("B", 1.0, control=True)], sets(), ""),
    ],
)
def test_the_caveat(metrics: list[Any], versions: list[CaptionSet], expected: str) -> None:
    made = _caveat(metrics, versions)
    assert made.startswith(expected)
    assert bool(made) == bool(expected)


def test_captions_that_were_not_changed_are_a_note() -> None:
    assert _unchanged(sets()) == []
    assert _unchanged(sets(n_applied=6)) == ["40.0% of Swap"]


def test_another_model_than_the_papers_is_not_compared() -> None:
    metrics = [
        metric("BERTScore (MiniLM)", variant_of="BERTScore"),
        metric("ROUGE-L"),
        metric("TIGEr (trained on corruptions)"),
    ]
    paper = PublishedInfo(
        source="a paper", comparable=True, rank_order_rho={"BERTScore": 0.5569, "ROUGE-L": 0.61}
    )
    others = ["BERTScore (MiniLM) (published 0.557)"]
    assert _published(metrics, paper) == ({"ROUGE-L": 0.61}, others)
    assert _published(metrics, None) == ({}, [])


def spread(seed: float, ties: float | None) -> dict[str, float | None]:
    return {"n": 4, "rank_order_rho_mean": 0.5, "sd_seed": seed, "sd_ties": ties}


@pytest.mark.parametrize(
    ("published", "seeds", "expected"),
    [
        (0.51, None, None),
        # sd² = 0.002² · 5/4: 0.014 is 6.26 of them
        (0.514, spread(0.002, 0.0), 6.261),
        (0.486, spread(0.002, None), -6.261),
        (0.527, spread(0.0, 0.001), 27.0),  # ties alone spread it
        (0.51, spread(0.0, 0.0), None),  # no spread at all: no distance
        (0.51, spread(float("nan"), 0.0), None),
    ],
)
def test_how_far_a_published_value_is(
    published: float, seeds: dict[str, Any] | None, expected: float | None
) -> None:
    distance = paper_distance(seeds, published)
    assert distance == (None if expected is None else pytest.approx(expected, abs=1e-3))


def compared(a: str, b: str, p: float) -> Comparison:
    difference = Estimate(value=0.1, low=0.05, high=0.15)
    test = Test(p=p, p_adjusted=p, method="bootstrap")
    return Comparison(a=a, b=b, measure="rank_order_rho", difference=difference, tests=(test,))


def test_what_learned_from_the_test_and_parts_are_not_ranked() -> None:
    """A metric that was chosen on the experiment, or trained on such captions, leads no other."""
    rho = {"rank_order_rho_ci": [0.4, 0.8]}
    metrics = [
        graded_metric(
            {"metric": "chosen", "rank_order_rho": 0.9, "training": {"chosen_on": ["replace"]}}
        ),
        graded_metric(
            {"metric": "drew", "rank_order_rho": 0.8, "training": {"versions": {"Swap": "seen"}}}
        ),
        graded_metric(
            {"metric": "best", "rank_order_rho": 0.7, **rho, "training": {"chosen_on": ["shuffle"]}}
        ),
        graded_metric({"metric": "part", "rank_order_rho": 0.75, "part_of": "best"}),
        graded_metric({"metric": "other", "rank_order_rho": 0.6}),
    ]
    pairs = [
        compared("chosen", "best", 0.5),
        compared("drew", "best", 0.5),
        compared("best", "other", 0.001),
    ]
    above = tuple(compared(m.name, "Length", 0.001) for m in metrics if m.name != "other")
    result = graded_result(
        metrics,
        comparisons={
            "rank_order_rho": Comparisons(measure="rank_order_rho", alpha=0.05, pairs=tuple(pairs))
        },
        controls={
            "rank_order_rho": AgainstControl(
                control="Length",
                control_value=0.1,
                best="chosen",
                best_value=0.9,
                comparisons=(*above, compared("other", "Length", 0.5)),
                shows="something",
            )
        },
    )
    assert leaders(result).startswith("best leads (0.700 [0.400, 0.800]): every other")
    assert above_control(result).endswith("Length (0.100): best.")
    assert bold_names(result, result.declared[0]) == {"best"}


@pytest.mark.slow
def test_metrics_at_the_ceiling_are_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty caption is below the original by every metric; shuffled words are not by BLEU-1."""
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    options = {"dataset": "scenes", "dataset__limit": 20, "metrics": ["bleu", "rouge_l"],
               "stats__replicates": 10, "report__figures": False}  # fmt: skip
    empty = run_experiment("graded", corruption="empty", out=tmp_path / "1", **options)
    assert "little room between them" in empty.result.caveat
    assert empty.result.caveat in capsys.readouterr().out
    assert empty.result.caveat in (empty.directory / "report.html").read_text(encoding="utf-8")
    assert run_experiment("shuffle", out=tmp_path / "2", **options).result.caveat == ""


def test_controls_are_printed_below_and_what_did_not_run_is_named() -> None:
    skipped = {"metric": "SPICE", "family": "spice", "status": "skipped", "reason": "no Java"}
    counts = [{"what": "images without objects", "unit": "images", "n": 48, "of": 5000}]
    metrics = [
        metric("Low", rank_order_rho=0.25, counts=counts),
        graded_metric(skipped),
        metric("Model", rank_order_rho=0.9, control=True),
        metric("High", rank_order_rho=0.75),
    ]
    lines = printout(graded_result(metrics), Path("OUT/report.html")).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["High", "Low", "(Model)"]
    assert lines[-3:] == [
        "Low: 48 of 5,000 images without objects (1.0%)",
        "not run: spice (skipped)",
        "report: OUT/report.html",
    ]
