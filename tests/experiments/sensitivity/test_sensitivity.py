"""`experiment=sensitivity`: its numbers by hand, its files and page from a run on scenes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.run import run as carry_out
from experiments.sensitivity.statistics import HUMAN, hard_positives, monotone
from experiments.sensitivity.suite import names, suite
from metaeval.config import component, compose_config
from metaeval.errors import ConfigError
from metaeval.runs import files as results
from reports.__main__ import main
from reports.sensitivity.page import write_report
from tests.corruptions.language.captions import dataset

CHOSEN = "[wrong_colour,typos,repeat_caption,empty,lower_case,there_is,truth_replace_object,random]"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sensitivity")
    config = compose_config(
        [
            "experiment=sensitivity", "dataset=scenes", "dataset.n=40",
            f"task.corruptions={CHOSEN}",
            "metrics=[bleu,rouge_l,length,bigram_model]", "stats.replicates=200",
            f"paths.cache={folder / 'cache'}",
        ]
    )  # fmt: skip
    carry_out(component(config.task, "task"), config, folder / "OUT")
    write_report(folder / "OUT")  # once more: run.json tells now how long the report took
    return folder / "OUT"


@pytest.fixture(scope="module")
def statistics(run: Path) -> dict[str, Any]:
    return results.read_json(run / results.STATISTICS)


def record(statistics: dict[str, Any], metric: str) -> dict[str, Any]:
    return next(r for r in statistics["metrics"] if r["metric"] == metric)


def test_the_profile_is_what_scores_say(run: Path, statistics: dict[str, Any]) -> None:
    """AUC and detection of a cell, counted again from the two Parquet files."""
    scores = results.read_table(run / results.SCORES)
    captions = results.read_table(run / results.CAPTIONS)
    for name in ("Typing errors 30%", "Colour", "Small letters"):
        made = captions[(captions["set"] == name) & captions["applied"]]["image_id"]
        one = scores[scores["metric"] == "ROUGE-L"].set_index(["image_id", "set"])["score"]
        gaps = np.array([one[i, HUMAN] - one[i, name] for i in made])
        cell = record(statistics, "ROUGE-L")["profile"][name]
        assert cell["n"] == len(gaps) > 5
        assert cell["detected"] == pytest.approx((gaps > 0).mean())
        assert cell["tied"] == pytest.approx((gaps == 0).mean())
        assert cell["auc"] == pytest.approx((gaps > 0).mean() + (gaps == 0).mean() / 2)
        assert cell["cost"] == pytest.approx(gaps.mean(), abs=1e-12)


def test_what_must_be_so_is_so(statistics: dict[str, Any]) -> None:
    rouge, length = record(statistics, "ROUGE-L"), record(statistics, "Length")
    assert rouge["profile"]["Small letters"]["tied"] == 1  # the tokeniser lowers everything
    assert rouge["profile"]["Empty caption"]["auc"] == 1
    assert rouge["profile"]["Random"]["auc"] > 0.9
    assert length["profile"]["Typing errors 10%"]["tied"] == 1  # as many words
    assert length["profile"]["Empty caption"]["auc"] in (0, 1)
    assert {"Length", "Bigram model"} <= set(statistics["order"])
    assert rouge["profile"]["Random"]["share_of_another"] == pytest.approx(1)


def test_p_values_are_corrected_over_the_whole_table(statistics: dict[str, Any]) -> None:
    cells = [c for r in statistics["metrics"] for c in r["profile"].values() if c["p"] is not None]
    assert all(cell["p_holm"] >= cell["p"] for cell in cells)
    smallest = min(cells, key=lambda cell: cell["p"])
    assert smallest["p_holm"] == pytest.approx(min(1, len(cells) * smallest["p"]))


def test_scenes_corruptions_are_in_it(statistics: dict[str, Any]) -> None:
    assert {entry["kind"] for entry in statistics["sets"]} >= {"truth", "harmless", "attributes"}
    for entry in statistics["sets"]:
        assert entry["n_applied"] + sum(entry["reasons"].values()) == entry["n"] == 40


def test_the_page_shows_it_and_can_be_written_again(run: Path, capsys) -> None:
    before = (run / results.REPORT).read_bytes()
    html = before.decode()
    assert 'id="set-0"' in html
    assert "Trust cards" in html
    assert "ROUGE-L, Typing errors 30%: AUC" in html
    assert main([str(run)]) == 0
    assert (run / results.REPORT).read_bytes() == before
    capsys.readouterr()


def test_hard_positives_by_hand() -> None:
    told = [
        {"set": "a", "name": "a", "kind": "objects", "expected": "lower"},
        {"set": "b", "name": "b", "kind": "spelling", "expected": "lower"},  # form: no near-copy
        {"set": "c", "name": "c", "kind": "harmless", "expected": "same"},
    ]
    table = np.array([[9.0, 1.0, 0.0, 2.0], [9.0, 3.0, 0.0, 3.0], [9.0, 5.0, 0.0, np.nan]])
    assert hard_positives(table, told) == {"all": 0.75, "sets": {"c": 0.75}}


def test_levels_of_one_corruption_are_ordered() -> None:
    told = [
        {"set": f"t{k}", "name": name, "kind": "", "expected": "lower"}
        for k, name in enumerate(["typos", "typos", "other"])
    ]
    table = np.array([[3.0, 2.0, 1.0, 0.0], [3.0, 2.0, 2.0, 0.0]])
    assert monotone(table, told) == {"typos": 0.5}


def test_every_file_is_in_the_suite_of_scenes_alone_where_it_needs_the_truth() -> None:
    made = {corruption.name for corruption in suite(dataset())}
    assert {"wrong_colour", "there_is", "replace", "random"} < made < set(names())
    assert "truth_replace_object" in names()
    assert all(not corruption.needs for corruption in suite(dataset()))
    assert {c.kind for c in suite(dataset(), ["logic"])} == {"logic"}
    labels = [corruption.label for corruption in suite(dataset())]
    assert len(set(labels)) == len(labels)


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="no corruption is called 'colour'"):
        suite(dataset(), ["colour"])
