"""The page of true against false captions: its numbers, its sentences, and in a real browser."""

from __future__ import annotations

import copy
import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from metaeval.runs import files as results
from reports.__main__ import main
from reports.pairs.page import render, write_report
from reports.shared.run import FinishedRun
from reports.sweep.page import write_sweep
from tests.data.pairs.pair_files import coco, sugarcrepe_pp
from tests.experiments.pairs.test_pairs import run_in
from tests.reports.browser import EXECUTABLE, chromium

TRUE, PARAPHRASE, BOTH = "true > false", "paraphrase > false", "both"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    sugarcrepe_pp(coco(folder))
    run_in(
        folder, "dataset=sugarcrepe_pp", "metrics=[bleu,rouge_l,clipscore,controls]",
        "task.refine=Brevity",
    )  # fmt: skip
    write_report(folder / "OUT")
    return folder / "OUT"


@pytest.fixture(scope="module")
def statistics(run: Path) -> dict[str, Any]:
    return results.read_json(run / results.STATISTICS)


def text_of(statistics: dict[str, Any], run: Path) -> str:
    info = results.read_json(run / results.RUN)
    page = unescape(re.sub(r"<[^>]+>", "", render(FinishedRun(run, statistics, info, ""))))
    return " ".join(page.split())


def summary_of(statistics: dict[str, Any], run: Path) -> str:
    text = text_of(statistics, run)
    return text[text.index("Summary") : text.index("How often the truth is preferred")]


def metrics(statistics: dict[str, Any]) -> list[dict[str, Any]]:
    return [r for r in statistics["metrics"] if r["status"] == "ok" and not r["control"]]


def test_the_page_holds_the_numbers(run: Path, statistics: dict[str, Any]) -> None:
    html = (run / results.REPORT).read_text(encoding="utf-8")
    for record in statistics["metrics"]:
        for accuracy in (record.get("accuracy") or {}).values():
            assert f'data-v="{accuracy["mean"]["value"]}"' in html
    assert html.count("<tbody data-items") == 3
    assert "skipped: " in html
    assert html.count('<table class="beats">') == 3
    assert "<code>accuracies.csv</code>" in html
    assert "Accuracy in percent, before and after" in html
    figure = ElementTree.parse(run / "figures" / "accuracy.svg").getroot()
    titles = [t.text for t in figure.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 5 * sum(r["status"] == "ok" for r in statistics["metrics"])


def test_the_same_files_give_the_same_page(run: Path, capsys) -> None:
    before = (run / results.REPORT).read_bytes()
    assert main([str(run)]) == 0
    assert (run / results.REPORT).read_bytes() == before
    (run / "figures" / "accuracy.svg").unlink()
    assert main([str(run), "--no-figures"]) == 0
    assert not (run / "figures" / "accuracy.svg").exists()


def test_what_controls_win_shows_nothing(run: Path, statistics: dict[str, Any]) -> None:
    """Each sentence on statistics for which it is true, and not on the others."""
    value = copy.deepcopy(statistics)

    def verdicts(*shows: str) -> str:
        controls = value["controls"][TRUE]
        for of_kind, each in zip(controls.values(), shows, strict=True):
            of_kind |= {
                "control": "Brevity", "value": 0.988, "best": "ROUGE-L", "best_value": 0.891,
                "shows": each,
            }  # fmt: skip
        return summary_of(value, run)

    nothing = "which is no metric, gets as much as every metric"
    unsure = "no metric is surely above the best control"
    every = "By “true > false”, on every kind some metric is above the best control."
    text = verdicts("nothing", *["something"] * 4)
    assert (
        "By “true > false”, nothing is shown by replace_obj (Brevity 98.8%, best metric ROUGE-L "
        f"89.1%): a control, {nothing}." in text
    )
    assert every not in text
    text = verdicts("nothing", "unsure", "nothing", "unsure", "something")
    assert "%) and replace_rel (Brevity 98.8%, best metric ROUGE-L 89.1%): a control" in text
    assert f"By “true > false”, on replace_att and swap_obj {unsure}." in text
    text = verdicts(*["something"] * 5)
    assert every in text
    value["controls"][TRUE] = None
    text = text_of(value, run)
    assert every not in text
    assert "No control was scored, or no metric" in text


def test_what_is_not_above_a_control_is_marked(run: Path, statistics: dict[str, Any]) -> None:
    info = results.read_json(run / results.RUN)
    value = copy.deepcopy(statistics)
    names = [r["metric"] for r in metrics(value)]

    def marks(above: list[str]) -> int:
        for controls in value["controls"].values():
            for of_kind in controls.values():
                of_kind["above"] = above
        return render(FinishedRun(run, value, info, "")).count(">not above<")

    assert marks(names) == 0
    assert marks([]) == 3 * 5 * len(names)
    assert marks(names[1:]) == 3 * 5


def test_a_hard_paraphrase_is_a_finding(run: Path, statistics: dict[str, Any]) -> None:
    value = copy.deepcopy(statistics)

    def with_means(easy: float, hard: float) -> str:
        for r in metrics(value):
            r["accuracy"][TRUE]["mean"]["value"] = 0.6
            r["accuracy"][PARAPHRASE]["mean"]["value"] = 0.6
        r["accuracy"][TRUE]["mean"]["value"] = easy
        r["accuracy"][PARAPHRASE]["mean"]["value"] = hard
        return text_of(value, run)

    text = with_means(0.88, 0.46)
    assert "ROUGE-L falls from 88.0% to 46.0%; one of five metrics prefers the paraphrase" in text
    assert "ROUGE-L falls from 88.0% to 70.0%." in with_means(0.88, 0.7)
    assert "A true paraphrase is much harder" not in with_means(0.6, 0.55)


def test_counts_that_matter_are_findings(run: Path, statistics: dict[str, Any]) -> None:
    value = copy.deepcopy(statistics)
    value["facts"] |= {"near_copies": 0, "false_among_references": 0}
    value["refinement"] = None
    text = summary_of(value, run)
    assert "a reference is nearly the true caption" not in text
    assert "are called false stand among" not in text
    assert "are left when" not in text
    assert 'id="refinement"' not in render(
        FinishedRun(run, value, results.read_json(run / results.RUN), "")
    )
    value["facts"] |= {"near_copies": 5, "false_among_references": 2, "pairs": 25}
    text = summary_of(value, run)
    assert "In 20.0% of the pairs a reference is nearly the true caption" in text
    assert "2 captions that are called false stand among the references." in text
    text = summary_of(statistics, run)
    assert re.search(r"Of 25 pairs \d+ are left when Brevity is right as often as wrong", text)
    assert "fewer than 100 are left" in text
    many = copy.deepcopy(statistics)
    many["refinement"]["kinds"] = dict.fromkeys(many["kinds"], 100)
    assert "fewer than 100 are left" not in summary_of(many, run)


def test_too_few_draws_are_told_of(run: Path, statistics: dict[str, Any]) -> None:
    """10 pairs at 0.05: 10 / (R + 1) ≤ 0.05 from R = 199 on."""
    value = copy.deepcopy(statistics)
    assert "100 draws are too few for the permutation test to call any of 10" in text_of(value, run)
    value["settings"]["permutations"] = 199
    assert "are too few for the permutation test" not in text_of(value, run)


def test_a_sweep_of_such_runs_is_gathered(run: Path, tmp_path: Path) -> None:
    """It has no ρ: accuracies are drawn."""
    for job in ("0", "1"):
        shutil.copytree(run, tmp_path / job)
    html = write_sweep(tmp_path).read_text(encoding="utf-8")
    assert "Sweep of pairs" in html
    assert b"accuracy, true" in (tmp_path / "sweep.svg").read_bytes()
    assert (tmp_path / "sweep.csv").read_text().count("ROUGE-L") == 2


def test_in_a_browser(run: Path) -> None:
    """No request, no error; it sorts and switches, and fits a telephone in both themes."""
    if EXECUTABLE is None:
        pytest.skip("no Chromium on PATH")
    write_report(run)
    url = (run / results.REPORT).as_uri()
    with chromium() as page:
        page.size(1280, 900)
        page.media("light")
        page.open(url)
        assert page.requests == [url]

        def column(key: str) -> list[float]:
            index = page.run(f"document.querySelector('[data-key={key}]').cellIndex")
            rows = "[...document.querySelectorAll('#metrics tbody:not([hidden]) tr.result')]"
            return [float(v) for v in page.run(f"{rows}.map(r => r.cells[{index}].dataset.v)")]

        assert column("rho") == sorted(column("rho"), reverse=True)
        page.run("document.querySelector('[data-key=kind-0] button').click()")
        assert column("kind-0") == sorted(column("kind-0"), reverse=True)
        first = column("rho")
        page.run("document.querySelectorAll('input[name=items]')[1].click()")
        assert sorted(column("rho")) != sorted(first)
        page.media("dark")
        page.size(420, 900)
        assert page.run("document.documentElement.scrollWidth") <= 420
        assert page.errors == []
