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
from metaeval.runs import files as results
from reports.__main__ import main
from reports.judgments.examples import examples, places
from reports.judgments.findings import too_few
from reports.judgments.page import render, write_report
from reports.judgments.table import equal_as_printed
from reports.shared.matrix import matrix
from reports.shared.run import FinishedRun
from tests.data.judgments.test_judgments import pascal50s
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


@pytest.fixture(scope="module")
def statistics(run: Path) -> dict[str, Any]:
    return results.read_json(run / results.STATISTICS)


def test_the_page_holds_the_numbers(run: Path, statistics: dict[str, Any]) -> None:
    html = (run / results.REPORT).read_text(encoding="utf-8")
    for record in statistics["metrics"][:-1]:
        for agreement in record["human"].values():
            assert f'data-v="{agreement["kendall_tau_b"]}"' in html
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
    assert "no such file" in capsys.readouterr().err


def differences() -> dict[str, Any]:
    def pair(a: str, b: str, gap: float | None, *adjusted: float) -> dict[str, Any]:
        tests = zip(("permutation", "bootstrap", "williams"), adjusted, strict=True)
        made: dict[str, Any] = {test: {"p": p / 3, "p_holm": p} for test, p in tests}
        made["bootstrap"]["ci"] = [0.01, 0.02]
        return {"a": a, "b": b, "difference": gap, **made}

    return {
        "statistic": "kendall_tau_c",
        "pairs": [
            pair("A", "B", 0.123, 0.01, 0.05, 0.001),
            pair("A", "C", -0.02, 0.2, 0.04, 0.3),
            pair("B", "C", None, 0.5, 0.5, 0.5),
        ],
    }


def test_the_matrix_by_hand() -> None:
    rows = matrix(differences(), ["C", "A", "B", "absent"], 0.05)
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
    assert "permutation p = 0.0667, after Holm 0.2000" in rows[0].cells[1].title
    assert rows[0].cells[2].kind == "even"


def test_the_summary_says_what_is_significant(run: Path, statistics: dict[str, Any]) -> None:
    info = results.read_json(run / results.RUN)

    def text(value: dict[str, Any]) -> str:
        return re.sub(r"<[^>]+>", "", render(FinishedRun(run, value, info, "")))

    best = max(
        (m for m in statistics["metrics"] if m["status"] == "ok"),
        key=lambda m: m["human"]["human"]["kendall_tau_b"],
    )["metric"]
    assert f"By human, {best} agrees best with people: τ-b 0." in text(statistics)
    sure = copy.deepcopy(statistics)
    for pair in sure["differences"]["human"]["pairs"]:
        for test in ("permutation", "bootstrap", "williams"):
            pair[test]["p_holm"] = 0.01
    assert "It beats each of the others by every test" in text(sure)
    for pair in sure["differences"]["human"]["pairs"]:
        pair["bootstrap"]["p_holm"] = 0.06
    assert "is not sure: not every test says so" in text(sure)


def test_too_few_draws_are_told_of() -> None:
    """36 pairs at 0.05: 2 · 36 / (R + 1) ≤ 0.05 from R = 1439 on, 36 / (R + 1) from R = 719 on."""
    value = {
        "settings": {"permutations": 719, "replicates": 1438, "alpha": 0.05},
        "differences": {"rating": {"pairs": [None] * 36}},
    }
    assert too_few(value) == [
        "1,438 draws are too few for the bootstrap to call any of 36 differences significant: set "
        "stats.replicates to 1,439 or more."
    ]
    value["settings"] |= {"permutations": 718, "replicates": 1439}
    assert len(too_few(value)) == 1
    assert "task.permutations to 719 or more" in too_few(value)[0]


def test_published_values_stand_beside_ours(run: Path, statistics: dict[str, Any]) -> None:
    value = copy.deepcopy(statistics)
    ours = value["metrics"][0]["human"]["human"]["kendall_tau_b"]
    value["published"] = {
        "source": "A paper",
        "digits": 1,
        "values": {"human": {"BLEU-1": round(ours, 3), "CIDEr": -0.5, "TIGEr": 0.4}},
        "views": {},
    }
    html = render(FinishedRun(run, value, results.read_json(run / results.RUN), ""))
    assert html.count("equal as printed") == 1
    assert html.count('<td class="c-delta" data-v') == 2  # not in the other dimension
    assert "Of two values that A paper printed, one comes out equal" in html
    value["published"]["values"]["human"]["BLEU-1"] = ours + 0.1
    html = render(FinishedRun(run, value, results.read_json(run / results.RUN), ""))
    assert "Of two values that A paper printed, none comes out equal" in html


def sentences(statistics: dict[str, Any], run: Path) -> str:
    info = results.read_json(run / results.RUN)
    return unescape(re.sub(r"<[^>]+>", "", render(FinishedRun(run, statistics, info, ""))))


def test_a_whole_percentage_is_equal_within_half_of_one() -> None:
    assert equal_as_printed(0.2349, 0.23, 0)
    assert not equal_as_printed(0.2351, 0.23, 0)
    assert not equal_as_printed(0.2306, 0.23, 1)


def test_the_system_level_is_a_finding(run: Path, statistics: dict[str, Any]) -> None:
    """Each sentence on statistics for which it is true, and not on the others."""
    value = copy.deepcopy(statistics)
    names = [m["metric"] for m in value["metrics"] if m["status"] == "ok"]

    def with_r(*r: float) -> str:
        for m, each in zip((m for m in value["metrics"] if m["status"] == "ok"), r, strict=True):
            m["human"]["human"]["system"]["pearson"] = each
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
    for k, m in enumerate(m for m in value["metrics"] if m["status"] == "ok"):
        agreement = m["human"]["human"]
        for dimension in m["human"].values():
            part = {**dimension, "kendall_tau_b": dimension["kendall_tau_b"] - 0.01}
            dimension["views"] = {"without Human": part}
        if k == 4:
            agreement["kendall_tau_b"] = 0.349
            agreement["views"]["without Human"]["kendall_tau_b"] = 0.154
    text = sentences(value, run)
    assert "Without people's captions ROUGE-L's τ-b falls from 0.349 to 0.154 (human)" in text
    assert "Parts of the captions" in text
    assert "without Human (20 captions)" in text


def test_an_accuracy_that_is_nearly_all_ties_says_so(run: Path, statistics: dict[str, Any]) -> None:
    value = copy.deepcopy(statistics)
    assert "how often people tie captions" not in sentences(value, run)
    accuracy = value["metrics"][0]["human"]["human"]["accuracy"]
    accuracy |= {"value": 1.0, "uncalibrated": 0.0, "tied": 0.97}
    assert "by tying 97.0% of the pairs: that says" in sentences(value, run)


def test_controls_are_no_metrics(tmp_path: Path, capsys) -> None:
    """Here length follows people better than ROUGE-L does: it is neither counted nor named among
    the metrics, and stands below them."""
    path = own_table(tmp_path, 8)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:  # the better people find a caption, the longer it is
        record["candidate"] += " and" * int(sum(record["human"]))
    path.write_text("\n".join(map(json.dumps, records)))
    value = run_in(tmp_path, "dataset=table", f"dataset.file={path}", "metrics=[rouge_l,length]")
    by_name = {r["metric"]: r["human"]["human"] for r in value["metrics"]}
    assert by_name["Length"]["system"]["pearson"] > 0.9
    assert by_name["Length"]["kendall_tau_b"] > by_name["ROUGE-L"]["kendall_tau_b"]
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["ROUGE-L", "(Length)"]
    assert any("systems: r above 0 for 1 of 1 metrics: ROUGE-L" in line for line in lines)
    text = sentences(value, tmp_path / "OUT")
    summary = text[text.index("Summary") : text.index("Agreement with people")]
    assert "ROUGE-L agrees best with people" in summary
    assert "No metric is surely above Length, a control that is no metric (" in summary
    assert summary.count("Length") == 1
    length = 100 * by_name["Length"]["kendall_tau_b"]
    assert f"not surely above the best control (Length, {length:.3f}): ROUGE-L" in lines
    row = text[text.index("Agreement with people") :]
    assert "not above" in row

    def said(above: list[str]) -> str:
        other = copy.deepcopy(value)
        other["controls"]["human"]["above"] = above
        return sentences(other, tmp_path / "OUT")

    assert "Every metric is surely above Length" in said(["ROUGE-L"])
    assert "Every metric is surely above" not in text
    without = copy.deepcopy(value)
    without["controls"]["human"] = None  # no control ran: nothing is said of one
    assert "a control that is no metric" not in sentences(without, tmp_path / "OUT")


def test_forced_choice_has_a_page(tmp_path: Path) -> None:
    pascal50s(tmp_path, "cells")
    run_in(
        tmp_path, "dataset=pascal50s", f"dataset.root={tmp_path}", "dataset.n_references=[1,2]",
        "dataset.draws=1", "metrics=[rouge_l,bleu]",
    )  # fmt: skip
    html = write_report(tmp_path / "OUT").read_text(encoding="utf-8")
    assert "Metrics against people on PASCAL-50S" in html
    assert '<tbody data-items="1 reference">' in html
    assert '<tbody data-items="2 references" hidden>' in html
    # of the pairs on which ROUGE-L and people differ: what people prefer, by how many votes
    row = "<td>2008_1.jpg</td><td>a dog runs</td><td>36 to 12</td><td>a cat</td>"
    assert row in html
    assert ">HC</button>" in html
    assert ">HI</button>" not in html  # no pair of that category
    # consensus prefers B of the first pair, the direct votes C; the second one is divided
    assert "prefer the same caption in 0.0% of the pairs" in html
    assert "With 1 reference, " in html
    value = results.read_json(tmp_path / "OUT" / results.STATISTICS)
    ours = value["metrics"][0]["choice"][1]["accuracy"]["HC"]["value"]
    value["published"] = {
        "source": "A paper", "n_references": 2,
        "values": {value["metrics"][0]["metric"]: {"HC": ours - 0.021, "MM": 0.5}},
    }  # fmt: skip
    text = sentences(value, tmp_path / "OUT")
    assert "Of two values that A paper printed, the one farthest from ours is " in text
    assert "on HC: ours is 2.1 points higher." in text


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


def judged_run(folder: Path, ratings: list[float], scores: list[float]) -> FinishedRun:
    """A finished run of one metric, with so many captions of as many images."""
    n = len(ratings)
    pd.DataFrame(
        {
            "caption": range(n), "image_id": [f"image {k}" for k in range(n)],
            "candidate": [f"caption {k}" for k in range(n)], "human_rating": [[r] for r in ratings],
        }
    ).to_parquet(folder / results.JUDGMENTS)  # fmt: skip
    pd.DataFrame({"caption": range(n), "metric": "M", "score": scores}).to_parquet(
        folder / results.SCORES
    )
    record = {
        "metric": "M", "status": "ok", "untrained": False, "control": False, "part_of": None,
        "headline": True, "higher_is_better": True,
    }  # fmt: skip
    statistics = {"kind": "ratings", "dimensions": ["rating"], "metrics": [record]}
    return FinishedRun(folder, statistics, {}, "")


def test_examples_are_where_people_and_the_metric_are_furthest_apart(tmp_path: Path) -> None:
    """Five captions: 0 is rated lowest and scored highest, 4 the other way round."""
    run = judged_run(tmp_path, [1, 2, 3, 4, 5], [0.9, 0.2, 0.3, 0.4, 0.1])
    ((_, rows),) = examples(run)[0].rows
    assert rows[0] == ["too high", "image 0", "caption 0", "1.00", "10%", "0.900", "90%"]
    assert rows[1] == ["too low", "image 4", "caption 4", "5.00", "90%", "0.100", "10%"]
    assert len(rows) == 2  # of the others people and the metric agree
    agreeing = judged_run(tmp_path, [1, 2, 3, 4, 5], [0.1, 0.2, 0.3, 0.4, 0.9])
    assert examples(agreeing)[0].rows == [("M", [])]
    unknown = judged_run(tmp_path, [1, 2], [float("nan"), 0.5])
    assert examples(unknown)[0].rows == [("M", [])]
    assert places(np.array([5.0, 1.0, 1.0])).tolist() == pytest.approx([5 / 6, 1 / 3, 1 / 3])


def test_a_run_without_its_captions_is_one_line(tmp_path: Path) -> None:
    run = judged_run(tmp_path, [1, 2], [0.1, 0.2])
    (tmp_path / results.JUDGMENTS).unlink()
    with pytest.raises(InputError, match="no such file"):
        examples(run)
