"""The page of a run against human judgements: its numbers, its words, and in a real browser."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metaeval.errors import InputError
from metaeval.experiments.judgments.printout import printout
from metaeval.reports.__main__ import main
from metaeval.reports.judgments.examples import examples, places
from metaeval.reports.judgments.findings import too_few
from metaeval.reports.judgments.page import render, write_report
from metaeval.reports.judgments.table import equal_as_printed
from metaeval.reports.shared.matrix import comparison_matrix
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.base import Estimate, Test
from metaeval.results.comparison import Comparison, Comparisons
from metaeval.results.files import dump, read_info
from metaeval.results.judgments import JudgmentsResult
from metaeval.results.run import RunInfo
from metaeval.runs import files as results
from tests.experiments.judgments.test_judgments import own_table, run_in
from tests.reports.browser import EXECUTABLE, Page, chromium

METRICS = "metrics=[bleu,rouge_l,cider,clipscore]"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two dimensions, four systems, an absent metric."""
    folder = tmp_path_factory.mktemp("report")
    path = own_table(folder, 12)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for k, record in enumerate(records):
        record["<b>odd</b>"] = (7 * k) % 5
    path.write_text("\n".join(map(json.dumps, records)))
    run_in(
        folder, "dataset=table", f"dataset.file={path}", METRICS,
        "dataset.human=[human,'<b>odd</b>']",
    )  # fmt: skip
    write_report(folder / "OUT")
    return folder / "OUT"


def ran(statistics: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics that ran."""
    return [m for m in statistics["metrics"] if m["status"] == "ok"]


def rendered(statistics: dict[str, Any], run: Path) -> str:
    """The page of a run whose statistics.json holds this."""
    data = {key: value for key, value in statistics.items() if key != "schema"}
    result = JudgmentsResult.model_validate(data)
    return render(LoadedRun(run, result, read_info(run / results.RUN), ""))


def sentences(statistics: dict[str, Any], run: Path) -> str:
    """The text of that page."""
    return unescape(re.sub(r"<[^>]+>", "", rendered(statistics, run)))


@pytest.fixture(scope="module")
def statistics(run: Path) -> dict[str, Any]:
    return results.read_json(run / results.STATISTICS)


def test_the_page_holds_the_numbers(run: Path, statistics: dict[str, Any]) -> None:
    html = (run / results.REPORT).read_text(encoding="utf-8")
    for agreement in (a for m in ran(statistics) for a in m["statistics"]["human"].values()):
        assert f'data-v="{agreement["kendall_tau_b"]["value"]}"' in html
    assert "skipped: none of the dataset&#39;s images was found in " in html
    assert "<b>odd" not in html  # a dimension's name is text
    assert "&lt;b&gt;odd&lt;/b&gt;" in html
    assert "bleu-1|tok:ptb-3.4.1|smooth:coco" in html
    assert html.count('<table class="beats">') == 2
    assert "four, one, three, two" in html


def test_the_same_files_give_the_same_page(run: Path, capsys) -> None:
    before = (run / results.REPORT).read_bytes()
    assert main([str(run)]) == 0
    assert capsys.readouterr().out.strip() == str(run / results.REPORT)
    assert (run / results.REPORT).read_bytes() == before
    assert main([str(run / "nowhere")]) == 2
    assert "file not found" in capsys.readouterr().err


def differences() -> Comparisons:
    def pair(a: str, b: str, gap: float | None, *adjusted: float) -> Comparison:
        methods = ("permutation", "bootstrap", "williams")
        return Comparison(
            a=a,
            b=b,
            measure="kendall_tau_c",
            difference=Estimate(value=gap, low=0.01, high=0.02),
            tests=tuple(
                Test(p=p / 3, p_adjusted=p, method=method)
                for method, p in zip(methods, adjusted, strict=True)
            ),
        )

    return Comparisons(
        measure="kendall_tau_c",
        alpha=0.05,
        pairs=(
            pair("A", "B", 0.123, 0.01, 0.049, 0.001),
            pair("A", "C", -0.02, 0.2, 0.04, 0.3),
            pair("B", "C", None, 0.5, 0.5, 0.5),
        ),
    )


def test_the_matrix_by_hand() -> None:
    rows = comparison_matrix(differences(), ["C", "A", "B", "absent"])
    assert [row.metric for row in rows] == ["C", "A", "B"]
    assert [row.beats for row in rows] == [0, 1, 0]
    assert [cell.kind for cell in rows[1].cells] == ["mixed", "self", "better"]
    assert rows[1].cells[2].text == "+12.3"
    assert rows[1].cells[2].tests == "PBW"
    assert rows[2].cells[1].text == "−12.3"
    assert rows[2].cells[1].kind == "worse"
    assert rows[0].cells[1].text == "+2.0"
    assert rows[0].cells[1].tests == "B"
    assert "C − A: +2.00; interval −2.00 to −1.00" in rows[0].cells[1].title
    assert "permutation p 0.0667, after Holm 0.2000" in rows[0].cells[1].title
    assert rows[0].cells[2].kind == "even"


def test_a_metric_leads_alone_only_where_every_test_separates_it(
    run: Path, statistics: dict[str, Any]
) -> None:
    best = max(
        ran(statistics), key=lambda m: m["statistics"]["human"]["human"]["kendall_tau_b"]["value"]
    )["column"]["name"]
    text = sentences(statistics, run)
    assert f"By human, {best} agrees best with people: τ-b 0." in text
    assert ", not separated from " in text
    sure = copy.deepcopy(statistics)
    for pair in sure["differences"]["human"]["pairs"]:
        pair["difference"]["value"] = -0.1 if pair["b"] == best else 0.1
        for test in pair["tests"]:
            test["p_adjusted"] = 0.01
    assert ", higher than every other metric." in sentences(sure, run)
    for pair in sure["differences"]["human"]["pairs"]:
        pair["tests"][1]["p_adjusted"] = 0.05  # the threshold itself is not significant
    assert ", higher than every other metric." not in sentences(sure, run)


def test_the_sentence_names_a_leaders_training_on_benchmark_captions(
    run: Path, statistics: dict[str, Any]
) -> None:
    value = copy.deepcopy(statistics)
    best = max(
        ran(value), key=lambda m: m["statistics"]["human"]["human"]["kendall_tau_b"]["value"]
    )
    best["training"] = {
        "caption_models": [{"model": "MiniLM", "pairs": {"Flickr30k": 317695}}],
        "chosen_on": [], "drawn": [],
    }  # fmt: skip
    assert (
        f"By human, {best['column']['name']} (built on a model that saw captions of benchmark "
        "images: MiniLM was trained on 317,695 of Flickr30k pairs) agrees best with people"
    ) in sentences(value, run)
    assert "saw captions of benchmark images" not in sentences(statistics, run)


def test_a_metric_of_few_values_does_not_lead_by_tau_c(
    run: Path, statistics: dict[str, Any]
) -> None:
    value = copy.deepcopy(statistics)
    best = max(
        ran(value), key=lambda m: m["statistics"]["human"]["human"]["kendall_tau_b"]["value"]
    )
    best["statistics"]["n_distinct"] = 2
    name = best["column"]["name"]
    assert f"{name} agrees best with people" in sentences(value, run)  # quoted by τ-b
    value["protocol"]["statistic"] = "kendall_tau_c"
    best["statistics"]["human"]["human"]["kendall_tau_c"]["value"] = 0.99
    text = sentences(value, run)
    assert f"By human, {name} agrees best with people" not in text
    assert f"τ-c overstates metrics with few values: compare {name} (2 values, τ-b 0." in text
    assert "2 values: see τ-b" in text


def test_a_value_outside_its_own_interval_is_named(run: Path, statistics: dict[str, Any]) -> None:
    value = copy.deepcopy(statistics)
    assert "Outside its own interval" not in sentences(value, run)
    one = ran(value)[0]
    estimate = one["statistics"]["human"]["human"][value["protocol"]["statistic"]]
    estimate["value"] = estimate["high"] + 1e-6
    text = sentences(value, run)
    assert f"Outside its own interval: {one['column']['name']} (human). A bootstrap" in text


def test_too_few_draws() -> None:
    """36 pairs at 0.05: 2 · 36 / (R + 1) < 0.05 from R = 1440 on, 36 / (R + 1) from R = 720 on."""
    (pair, *_) = differences().pairs
    family = Comparisons(measure="r", alpha=0.05, pairs=(pair,) * 36)
    assert too_few([family], 720, 1439, 0.05) == [
        "1,439 draws are too few for the bootstrap to call any of 36 differences significant: set "
        "stats.replicates to 1,440 or more."
    ]
    (sentence,) = too_few([family], 719, 1440, 0.05)
    assert "task.permutations to 720 or more" in sentence


def test_published_values_are_compared_with_ours(run: Path, statistics: dict[str, Any]) -> None:
    value = copy.deepcopy(statistics)
    ours = value["metrics"][0]["statistics"]["human"]["human"]["kendall_tau_b"]["value"]
    value["published"] = {
        "source": "A paper",
        "digits": 1,
        "values": {"human": {"BLEU-1": round(ours, 3), "CIDEr": -0.5, "TIGEr": 0.4}},
        "views": {},
    }
    html = rendered(value, run)
    assert html.count("equal as printed") == 1
    assert html.count('<td class="c-delta" data-v') == 2  # not in the other dimension
    assert "Of two values that A paper printed, one comes out equal" in html
    value["published"]["values"]["human"]["BLEU-1"] = ours + 0.1
    assert "Of two values that A paper printed, none comes out equal" in rendered(value, run)


def test_a_whole_percentage_is_equal_within_half_of_one() -> None:
    assert equal_as_printed(0.2349, 0.23, 0)
    assert not equal_as_printed(0.2351, 0.23, 0)
    assert not equal_as_printed(0.2306, 0.23, 1)


def test_the_system_level_is_a_finding(run: Path, statistics: dict[str, Any]) -> None:
    """Each sentence on statistics for which it is true, and not on the others."""
    value = copy.deepcopy(statistics)
    names = [m["column"]["name"] for m in ran(value)]

    def with_r(*r: float) -> str:
        for m, each in zip(ran(value), r, strict=True):
            m["statistics"]["human"]["human"]["system"]["pearson"]["value"] = each
        return sentences(value, run)

    only = "Over the 4 systems (human) only BLEU-2 (r 0.92) has a positive correlation"
    assert only in with_r(-0.1, 0.92, *[-0.3] * (len(names) - 2))
    text = with_r(0.5, 0.92, *[-0.3] * (len(names) - 2))
    assert only not in text
    assert "BLEU-2 (r 0.92) follows people's mean ratings best; of the other 5" in text
    assert "only BLEU-1 (0.50) has a positive r" in text
    assert "(r 0.90) follows people's mean ratings best." in with_r(*[0.9] * len(names))
    assert "every r is below 0" in with_r(*[-0.5] * len(names))


def test_what_is_left_without_people_is_a_finding(run: Path, statistics: dict[str, Any]) -> None:
    value = copy.deepcopy(statistics)
    assert "Without people's captions" not in sentences(value, run)
    value["views"] = {"without Human": 20}
    for k, m in enumerate(ran(value)):
        for dimension in m["statistics"]["human"].values():
            names = ("n", "pearson", "spearman", "kendall_tau_b", "kendall_tau_c")
            part = copy.deepcopy({name: dimension[name] for name in names})
            part["kendall_tau_b"]["value"] -= 0.01
            dimension["views"] = {"without Human": part}
        if k == 4:
            agreement = m["statistics"]["human"]["human"]
            agreement["kendall_tau_b"]["value"] = 0.349
            agreement["views"]["without Human"]["kendall_tau_b"]["value"] = 0.154
    text = sentences(value, run)
    assert "Without people's captions ROUGE-L's τ-b falls from 0.349 to 0.154 (human)" in text
    assert "Parts of the captions" in text
    assert "without Human (20 captions)" in text


def test_an_accuracy_of_nearly_all_ties_is_marked(run: Path, statistics: dict[str, Any]) -> None:
    value = copy.deepcopy(statistics)
    assert "how often people tie captions" not in sentences(value, run)
    accuracy = value["metrics"][0]["statistics"]["human"]["human"]["accuracy"]
    accuracy["accuracy"]["value"] = 1.0
    accuracy |= {"uncalibrated": 0.0, "tied": 0.97}
    assert "by tying 97.0% of the pairs: that says" in sentences(value, run)


def test_controls_are_not_ranked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Here length follows people better than ROUGE-L does: it is neither counted nor named among
    the metrics, and stands below them."""
    path = own_table(tmp_path, 12)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:  # the better people find a caption, the longer it is
        record["candidate"] += " and" * int(sum(record["human"]))
    path.write_text("\n".join(map(json.dumps, records)))
    result = run_in(tmp_path, "dataset=table", f"dataset.file={path}", "metrics=[rouge_l,length]")
    length = result.metric("Length").numbers.human["human"]
    rouge = result.metric("ROUGE-L").numbers.human["human"]
    assert length.system is not None
    assert length.system.pearson.value > 0.9
    assert length.kendall_tau_b.value > rouge.kendall_tau_b.value
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["ROUGE-L", "(Length)"]
    assert any("systems: r above 0 for 1 of 1 metrics: ROUGE-L" in line for line in lines)
    value = dump(result)
    text = sentences(value, tmp_path / "OUT")
    summary = text[text.index("Summary") : text.index("Agreement with people")]
    assert "ROUGE-L agrees best with people" in summary
    assert "No metric is significantly above the best control, Length (" in summary
    assert summary.count("Length") == 1
    shown = f"{100 * length.kendall_tau_b.value:.3f}"
    assert f"not significantly above the best control (Length, {shown}): ROUGE-L" in lines
    row = text[text.index("Agreement with people") :]
    assert "not above" in row

    other = copy.deepcopy(value)
    (comparison,) = other["controls"]["human"]["comparisons"]
    comparison["difference"]["value"] = 0.3
    comparison["tests"][0]["p_adjusted"] = 0.01
    other["controls"]["human"]["shows"] = "something"
    assert "Every metric is above the best control, Length" in sentences(other, tmp_path / "OUT")
    assert "Every metric is above" not in text
    # one that no data could show to be above is not called "not significantly above" anywhere
    comparison["tests"][0] |= {"p_adjusted": 1.0, "decidable": False}
    other["controls"]["human"]["shows"] = "undecidable"
    known = {key: value for key, value in other.items() if key != "schema"}
    printed = printout(JudgmentsResult.model_validate(known), Path("x"))
    assert "human: cannot be decided with so few replicates or images (Length" in printed
    assert "not significantly above" not in printed
    assert "not above" not in sentences(other, tmp_path / "OUT")
    assert "cannot be decided with so few replicates" in sentences(other, tmp_path / "OUT")
    assert "with people's captions and" not in text
    parted = copy.deepcopy(value)
    parted["views"] = {"without Human": 6}
    for m in ran(parted):
        human = m["statistics"]["human"]["human"]
        names = ("n", "pearson", "spearman", "kendall_tau_b", "kendall_tau_c")
        human["views"] = {"without Human": copy.deepcopy({key: human[key] for key in names})}
        human["views"]["without Human"]["kendall_tau_b"]["value"] = 0.074
    assert (
        f"The best control by human, Length, has τ-b {length.kendall_tau_b.value:.3f} with "
        "people's captions and 0.074 without them."
    ) in sentences(parted, tmp_path / "OUT")
    without = copy.deepcopy(value)
    without["controls"]["human"] = None  # no control ran: no sentence on controls
    assert "the best control, " not in sentences(without, tmp_path / "OUT")


@pytest.fixture(scope="module")
def page(run: Path) -> Iterator[Page]:
    if EXECUTABLE is None:
        pytest.skip("no Chromium on PATH")
    with chromium() as browser:
        yield browser


def test_in_a_browser(page: Page, run: Path) -> None:
    """No request, no error; the table sorts, the switch changes the dimension, both themes fit."""
    url = (run / results.REPORT).as_uri()
    page.size(1280, 900)
    page.media("light")
    page.open(url)
    assert page.requests == [url]

    def column(key: str) -> list[float]:
        index = page.run(f"document.querySelector('[data-key={key}]').cellIndex")
        rows = "[...document.querySelectorAll('#metrics tbody:not([hidden]) tr.result')]"
        return [float(v) for v in page.run(f"{rows}.map(r => r.cells[{index}].dataset.v)")]

    assert column("rho") == sorted(column("rho"), reverse=True)
    page.run("document.querySelector('[data-key=pearson] button').click()")
    assert column("pearson") == sorted(column("pearson"), reverse=True)
    page.run("document.querySelector('[data-key=pearson] button').click()")
    assert column("pearson") == sorted(column("pearson"))
    first = column("rho")
    page.run("document.querySelectorAll('input[name=items]')[1].click()")
    assert sorted(column("rho")) != sorted(first)
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.run(background)
    page.media("dark")
    assert page.run(background) != light
    page.size(420, 900)
    assert page.run("document.documentElement.scrollWidth") <= 420
    assert page.errors == []


def judged_run(
    folder: Path, ratings: list[float], scores: list[float], result: JudgmentsResult
) -> LoadedRun[JudgmentsResult]:
    """A finished run of one metric, with `n` captions of as many images."""
    n = len(ratings)
    pd.DataFrame(
        {
            "caption": range(n), "image_id": [f"image {k}" for k in range(n)],
            "candidate": [f"caption {k}" for k in range(n)], "human_rating": [[r] for r in ratings],
        }
    ).to_parquet(folder / results.JUDGMENTS)  # fmt: skip
    pd.DataFrame({"caption": range(n), "metric": "CIDEr", "score": scores}).to_parquet(
        folder / results.SCORES
    )
    one = result.model_copy(
        update={"dimensions": ("rating",), "metrics": (result.metric("CIDEr"),)}
    )
    return LoadedRun(folder, one, RunInfo(status="finished"), "")


@pytest.fixture(scope="module")
def result(statistics: dict[str, Any]) -> JudgmentsResult:
    data = {key: value for key, value in statistics.items() if key != "schema"}
    return JudgmentsResult.model_validate(data)


def test_examples_are_where_people_and_the_metric_are_furthest_apart(
    tmp_path: Path, result: JudgmentsResult
) -> None:
    """Five captions: 0 is rated lowest and scored highest, 4 the other way round."""
    run = judged_run(tmp_path, [1, 2, 3, 4, 5], [0.9, 0.2, 0.3, 0.4, 0.1], result)
    ((_, rows),) = examples(run)[0].rows
    assert rows[0] == ["too high", "image 0", "caption 0", "1.00", "10%", "0.900", "90%"]
    assert rows[1] == ["too low", "image 4", "caption 4", "5.00", "90%", "0.100", "10%"]
    assert len(rows) == 2  # of the others people and the metric agree
    agreeing = judged_run(tmp_path, [1, 2, 3, 4, 5], [0.1, 0.2, 0.3, 0.4, 0.9], result)
    assert examples(agreeing)[0].rows == [("CIDEr", [])]
    unknown = judged_run(tmp_path, [1, 2], [float("nan"), 0.5], result)
    assert examples(unknown)[0].rows == [("CIDEr", [])]
    assert places(np.array([5.0, 1.0, 1.0])).tolist() == pytest.approx([5 / 6, 1 / 3, 1 / 3])


def test_a_run_without_its_captions_is_one_line(tmp_path: Path, result: JudgmentsResult) -> None:
    run = judged_run(tmp_path, [1, 2], [0.1, 0.2], result)
    (tmp_path / results.JUDGMENTS).unlink()
    with pytest.raises(InputError, match="file not found"):
        examples(run)
