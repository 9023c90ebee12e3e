"""The page of a run of battles: its numbers, and sentences on data for which they are false."""

from __future__ import annotations

import copy
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from metaeval.experiments.arena.printout import _metrics
from metaeval.reports.arena.page import render, write_report
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.arena import ArenaResult
from metaeval.results.files import read_info
from metaeval.runs import files
from tests.experiments.arena.test_arena import random_battles, run_arena


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arena")
    run_arena(
        folder, "dataset=battles", f"dataset.file={random_battles(folder)}",
        "dataset.image_source=other", "metrics=[rouge_l,cider,length,random_score]",
    )  # fmt: skip
    write_report(folder / "OUT")
    return folder / "OUT"


@pytest.fixture(scope="module")
def statistics(run: Path) -> dict[str, Any]:
    data: dict[str, Any] = files.read_json(run / files.STATISTICS)
    return data


def sentences(statistics: dict[str, Any], run: Path) -> str:
    """The text of the page of a run whose statistics.json holds this."""
    data = {key: value for key, value in statistics.items() if key != "schema"}
    result = ArenaResult.model_validate(data)
    page = render(LoadedRun(run, result, read_info(run / files.RUN), ""))
    return " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())


def numbers(statistics: dict[str, Any], name: str) -> dict[str, Any]:
    entry = next(m for m in statistics["metrics"] if m["column"]["name"] == name)
    of: dict[str, Any] = entry["statistics"]
    return of


def test_how_ties_count(run: Path, statistics: dict[str, Any]) -> None:
    def text(ties: str) -> str:
        changed = copy.deepcopy(statistics)
        changed["settings"]["ties"] = ties
        return sentences(changed, run)

    half, wrong = "counts one half.", "counts as wrong."
    assert half in text("half")
    assert wrong not in text("half")
    assert wrong in text("wrong")
    assert half not in text("wrong")


def test_what_is_printed_on_battles(statistics: dict[str, Any]) -> None:
    def first(**changes: Any) -> list[str]:
        data = copy.deepcopy({k: v for k, v in statistics.items() if k != "schema"}) | changes
        return list(_metrics(ArenaResult.model_validate(data)))[:2]

    facts = statistics["facts"] | {"battles": 12, "tied": 3}
    line, after = first(facts=facts, people=None)
    assert line == "12 battles judged by people, 3 of them ties"
    assert "two ratings" not in after
    settings = statistics["settings"] | {"winner": "CIDEr"}
    assert "battles judged by CIDEr, 3 of them ties" in first(facts=facts, settings=settings)[0]
    people = {"value": 0.5, "pairs_of_ratings": 4, "battles": 2}
    assert first(people=people)[1] == "two ratings of one battle agree: 50.0 (4 pairs of ratings)"


def test_the_page(run: Path, statistics: dict[str, Any]) -> None:
    text = sentences(statistics, run)
    assert "Battles on battles" in text
    assert "it prefers the winner in" in text
    assert "p is stronger than every other system." in text
    page = (run / files.REPORT).read_text(encoding="utf-8")
    systems = page[page.index('id="systems"') : page.index('id="figure"')]
    assert re.findall(r'<th scope="row">(\w)</th>', systems) == ["p", "q", "r", "s"]
    assert (run / "tables" / "systems.csv").is_file()
    assert "Where metrics and people disagree" in text


def test_the_longer_caption(run: Path, statistics: dict[str, Any]) -> None:
    def with_share(value: float, low: float, high: float) -> str:
        changed = copy.deepcopy(statistics)
        share = {"value": value, "low": low, "high": high, "n": 9}
        numbers(changed, "Length")["decided"] = share
        return sentences(changed, run)

    assert "the longer caption wins 70.0% (" in with_share(0.7, 0.6, 0.8)
    assert "the shorter caption wins 70.0% (" in with_share(0.3, 0.2, 0.4)
    assert "er caption wins" not in with_share(0.55, 0.45, 0.65)


def test_raters(run: Path, statistics: dict[str, Any]) -> None:
    assert "ratings of one battle agree" not in sentences({**statistics, "people": None}, run)
    people = {"value": 0.683, "pairs_of_ratings": 900, "battles": 300}
    text = sentences({**statistics, "people": people}, run)
    assert "Two ratings of one battle agree in 68.3% (300 battles with several ratings)." in text


def test_the_first_group_and_who_ranks_alike(run: Path, statistics: dict[str, Any]) -> None:
    changed = copy.deepcopy(statistics)
    for system, rank in zip(changed["ranking"]["systems"], (1, 1, 2, 3), strict=True):
        system["rank"] = rank
    for name, rho in (("ROUGE-L", -0.5), ("CIDEr", 0.25)):
        numbers(changed, name)["systems"]["spearman"]["value"] = rho
    text = sentences(changed, run)
    assert "p and q form the first group: no test separates them." in text
    assert "CIDEr ranks the 4 systems most like the winners do (Spearman 0.25); one of" in text
    assert "ranks them the other way round" in text
    for system in changed["ranking"]["systems"]:
        system["rank"] = 1
    numbers(changed, "ROUGE-L")["systems"]["spearman"]["value"] = 0.25
    text = sentences(changed, run)
    assert "No system is significantly stronger than another." in text
    assert "the other way round" not in text
    changed["ranking"] = None
    assert "is stronger than every other" not in sentences(changed, run)


def test_length_at_equal_systems(run: Path, statistics: dict[str, Any]) -> None:
    def with_length(value: float, low: float, high: float) -> str:
        changed = copy.deepcopy(statistics)
        changed["ranking"]["length"] = {"value": value, "low": low, "high": high, "n": None}
        return sentences(changed, run)

    lead = "a word more raises the log-odds of winning by 0.200"
    assert lead in with_length(0.2, 0.1, 0.3)
    assert "a word less raises the log-odds of winning by 0.200" in with_length(-0.2, -0.3, -0.1)
    assert "raises the log-odds" not in with_length(0.2, -0.1, 0.5)


def test_who_judged(run: Path, statistics: dict[str, Any]) -> None:
    assert "The winners are those that" not in sentences(statistics, run)
    changed = copy.deepcopy(statistics)
    changed["settings"]["winner"] = "CIDEr"
    assert "The winners are those that CIDEr prefers." in sentences(changed, run)
