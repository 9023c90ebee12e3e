"""The page's sections on pairs, groups and controls: with the run's numbers, or not there."""

from __future__ import annotations

import re
from pathlib import Path

from metaeval.reports.graded.page import write_report
from metaeval.results.base import Estimate, Test
from metaeval.results.comparison import Comparison, Comparisons, Power
from metaeval.results.graded import ImageGroup, Measure
from tests.reports.graded_results import compared, selected
from tests.reports.run_files import IMAGES, corrupt, write_run


def words(run: Path) -> str:
    html = write_report(run, figures=False).read_text(encoding="utf-8")
    body = html[html.index("<main") : html.index('id="figures"')]
    return " ".join(re.sub("<[^>]+>", " ", body).split())


def test_without_the_statistics_there_are_no_sections(tmp_path: Path) -> None:
    page = words(write_run(tmp_path))
    assert "Who beats whom" not in page
    assert "Groups of images" not in page
    assert "None were tested, so claim no order among close metrics." in page


def test_pairs_and_groups_with_their_numbers(tmp_path: Path) -> None:
    pair = Comparison(
        a="SacreBLEU", b="chrF", measure="rank_order_rho_within",
        difference=Estimate(value=-0.123, low=-0.2, high=-0.05),
        tests=(Test(p=0.001, p_adjusted=0.001, method="bootstrap, normal"),),
        power=Power(effect=-0.4, detectable=0.0511, images_needed=1234.0),
    )  # fmt: skip
    part = selected({"rank_order_rho": 0.111, "rank_order_rho_within": 0.222,
                     "rank_order_rho_within_ci": [0.2, 0.25]})  # fmt: skip
    assert part is not None
    groups = tuple(
        ImageGroup(by="words of the human caption", label=label, n_images=4, metrics={"chrF": part})
        for label in ("2 to 9", "10 to 12")
    )
    tested = Comparisons(measure="rank_order_rho_within", alpha=0.05, pairs=(pair,))
    run = write_run(
        tmp_path, result={"differences": {"rank_order_rho_within": tested}, "groups": groups}
    )
    page = words(run)
    assert re.search("Within an image (SacreBLEU chrF|chrF SacreBLEU) beats", page)
    assert "−12.3 B" in page
    assert "+12.3 B" in page
    html = (run / "report.html").read_text(encoding="utf-8")
    assert "effect −0.40 sd of an image; detectable 5.11; images needed 1,234" in html
    assert "Words of the human caption Metric 2 to 9 (4 images) 10 to 12 (4 images)" in page
    assert "chrF 0.222 0.111" in page


def test_a_control_is_a_row_below_and_a_mark_on_what_does_not_beat_it(tmp_path: Path) -> None:
    captions = corrupt(IMAGES, 3)
    good = captions["level"].to_numpy() + 0.0
    scores = {"Model": good, "chrF": good / 2 + [k % 5 for k in range(len(good))]}
    measures: tuple[Measure, ...] = ("rank_order_rho", "rank_order_rho_within")
    against = {m: compared(m, {("chrF", "Model"): 0.6}) for m in measures}
    run = write_run(
        tmp_path, captions=captions, scores=scores, columns={"Model": {"control": True}},
        result={"against_control": against},
    )  # fmt: skip
    html = write_report(run, figures=False).read_text(encoding="utf-8")
    rows = re.findall(r'<tr class="(\w+)" data-metric="([^"]+)"', html)
    assert rows == [("result", "chrF"), ("control", "Model")]
    assert html.count('<small class="outside">not above control</small>') == 2
    assert "the best control is Model with ρ 1.000: no metric is significantly above it" in words(
        run
    )
    assert "Model orders" not in html
