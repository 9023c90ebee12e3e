"""The page of a run of forced choice: its numbers and its sentences."""

from __future__ import annotations

import copy
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from metaeval.reports.forced_choice.page import render, write_report
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.files import read_info
from metaeval.results.forced_choice import ForcedChoiceResult
from metaeval.runs import files
from tests.data.judgments.test_judgments import pascal50s
from tests.experiments.forced_choice.test_forced_choice import run_choice


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pairs, with one and with two references."""
    folder = tmp_path_factory.mktemp("choice")
    pascal50s(folder, "cells")
    run_choice(
        folder, "dataset.n_references=[1,2]", "dataset.draws=1", "metrics=[rouge_l,bleu,length]"
    )
    write_report(folder / "OUT")
    return folder / "OUT"


@pytest.fixture(scope="module")
def statistics(run: Path) -> dict[str, Any]:
    data: dict[str, Any] = files.read_json(run / files.STATISTICS)
    return data


def sentences(statistics: dict[str, Any], run: Path) -> str:
    """The text of the page of a run whose statistics.json holds this."""
    data = {key: value for key, value in statistics.items() if key != "schema"}
    result = ForcedChoiceResult.model_validate(data)
    page = render(LoadedRun(run, result, read_info(run / files.RUN), ""))
    return unescape(re.sub(r"<[^>]+>", "", page))


def test_the_page(run: Path) -> None:
    html = (run / files.REPORT).read_text(encoding="utf-8")
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


def test_the_published_value_that_is_farthest(run: Path, statistics: dict[str, Any]) -> None:
    value = copy.deepcopy(statistics)
    first = value["metrics"][0]
    ours = first["statistics"]["choice"][1]["categories"]["HC"]["value"]
    name = first["column"]["name"]
    value["published"] = {
        "source": "A paper", "n_references": 2, "values": {name: {"HC": ours - 0.021, "MM": 0.5}}
    }  # fmt: skip
    text = sentences(value, run)
    assert "Of two values that A paper printed, the one farthest from ours is " in text
    assert "on HC: ours is 2.1 points higher." in text


def test_what_a_control_gets(run: Path, statistics: dict[str, Any]) -> None:
    """Each sentence on statistics for which it is true, and not on others."""

    def with_shows(shows: str) -> str:
        value = copy.deepcopy(statistics)
        for controls in value["controls"].values():
            for group in controls.values():
                group["shows"] = shows
        return sentences(value, run)

    assert "a control gets as much as every metric." in with_shows("nothing")
    assert "no metric is significantly above the best control." in with_shows("unsure")
    assert "decided with so few permutations or images" in with_shows("undecidable")
    text = with_shows("something")
    assert "no metric is significantly" not in text
    assert "a control gets as much" not in text
