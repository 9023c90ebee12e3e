"""`experiment=sensitivity`: its numbers by hand, its files and page from a run on scenes."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from experiments.run import run as carry_out
from experiments.sensitivity.alike import seriation, together
from experiments.sensitivity.profile import monotone, verdict
from experiments.sensitivity.refinement import balanced
from experiments.sensitivity.rewrites import hard_positives, invariance
from experiments.sensitivity.statistics import HUMAN
from experiments.sensitivity.suite import names, suite
from metaeval.config import component, compose_config
from metaeval.errors import ConfigError, InputError
from metaeval.runs import files as results
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from reports.__main__ import main
from reports.sensitivity.dendrogram import dendrogram
from reports.sensitivity.page import write_report
from tests.corruptions.language.captions import dataset

CHOSEN = "[wrong_colour,typos,repeat_caption,empty,lower_case,there_is,truth_replace_object,random]"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sensitivity")
    config = compose_config(
        [
            "experiment=sensitivity", "dataset=scenes", "dataset.n=40",
            f"task.corruptions={CHOSEN}", "task.refine=true",
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


def test_no_control_is_any_good_where_they_are_balanced(statistics: dict[str, Any]) -> None:
    for name in ("Length", "Bigram model", "Bigram model per word"):
        cells = record(statistics, name)["profile"].values()
        assert all(c["refined"]["n"] == 0 or c["refined"]["auc"] == 0.5 for c in cells)
        assert any(c["refined"]["n"] > 0 for c in cells)


def test_beyond_fluency_is_of_the_images_where_the_language_model_is_wrong(
    run: Path, statistics: dict[str, Any]
) -> None:
    scores = results.read_table(run / results.SCORES)
    captions = results.read_table(run / results.CAPTIONS)
    made = captions[(captions["set"] == "Colour") & captions["applied"]]["image_id"]

    def gaps(metric: str) -> np.ndarray[Any, Any]:
        of = scores[scores["metric"] == metric].set_index(["image_id", "set"])["score"]
        return np.array([of[i, HUMAN] - of[i, "Colour"] for i in made])

    left = gaps("BLEU-1")[gaps("Bigram model") <= 0]
    beyond = record(statistics, "BLEU-1")["profile"]["Colour"]["beyond_fluency"]
    assert beyond["n"] == len(left) > 0
    assert beyond["auc"] == pytest.approx((left > 0).mean() + (left == 0).mean() / 2)


def test_cards_for_print(run: Path, statistics: dict[str, Any]) -> None:
    for metric in statistics["order"]:
        stem = metric.replace(" ", "_") + "-card"
        drawing = ElementTree.parse(run / "figures" / f"{stem}.svg").getroot()
        texts = [e.text for e in drawing.iter() if e.tag.endswith("text")]
        assert {metric, "Typing errors 30%", "Harmless"} <= set(texts)
        rows = (run / "tables" / f"{stem}.csv").read_text().splitlines()
        assert len(rows) == 1 + len(statistics["sets"])
        assert r"\toprule" in (run / "tables" / f"{stem}.tex").read_text()


def test_agreement_with_people_comes_from_judgement_runs_alone(run: Path) -> None:
    with pytest.raises(InputError, match="no run of experiment=judgments"):
        write_report(run, judgments=[str(run)])


def test_the_tree_joins_all_metrics(run: Path, statistics: dict[str, Any]) -> None:
    html = (run / results.REPORT).read_text()
    drawing = html[html.index('<svg class="tree"') : html.index("</svg>", html.index('"tree"'))]
    assert all(f">{metric}</text>" in drawing for metric in statistics["order"])
    assert len(statistics["tree"]) == len(statistics["order"]) - 1
    assert dendrogram(["a", "b"], ["a", "b"], []) == ""


def test_the_page_shows_it_and_can_be_written_again(run: Path, capsys) -> None:
    before = (run / results.REPORT).read_bytes()
    html = before.decode()
    assert 'id="set-0"' in html
    assert "Trust cards" in html
    assert "ROUGE-L, Typing errors 30%: AUC" in html
    assert main([str(run)]) == 0
    assert (run / results.REPORT).read_bytes() == before
    capsys.readouterr()


def entry(name: str, kind: str, expected: str = "lower", edits: float = 1.0) -> dict[str, Any]:
    return {"set": name, "name": name, "kind": kind, "expected": expected, "median_edits": edits}


NONE = np.empty((0, 3), dtype=np.int8)  # no replicates: values alone


def test_hard_positives_by_hand() -> None:
    """Image 1: c above a, 2: equal, 3: below; b is of form, and no near-copy."""
    told = [entry("a", "objects"), entry("b", "spelling"), entry("c", "harmless", "same")]
    table = np.array([[9.0, 1.0, 0.0, 2.0], [9.0, 3.0, 0.0, 3.0], [9.0, 5.0, 0.0, 4.0]])
    result = hard_positives(table, told, NONE, 0.95)
    assert (result["all"]["n"], result["all"]["mean"]) == (3, 0.5)
    table[2, 3] = np.nan
    assert hard_positives(table, told, NONE, 0.95)["sets"]["c"]["mean"] == 0.75


def test_hard_positives_interval_is_of_images() -> None:
    """Twice the same pairs in an image do not narrow the interval: images are what is resampled."""
    rng = np.random.default_rng(0)
    told = [entry("a", "objects"), entry("c", "harmless", "same")]
    table = rng.normal(size=(50, 3))
    counts = bootstrap_counts(50, 300, 0)
    once = hard_positives(table, told, counts, 0.95)["all"]
    twice = hard_positives(
        np.column_stack([table, table[:, 2]]), [*told, entry("d", "harmless", "same")], counts, 0.95
    )["all"]
    assert (once["mean"], once["ci"]) == (twice["mean"], twice["ci"])


def test_invariance_by_hand() -> None:
    """The rewrite costs 1 on average; of the harms of one edit, 2 is the mildest that is seen, as
    the milder one is not seen and the mildest of all changes more words."""
    told = [
        entry("mild", "objects"), entry("worse", "numbers"), entry("unseen", "people"),
        entry("larger", "logic", edits=3.0), entry("rewrite", "harmless", "same"),
    ]  # fmt: skip
    table = np.array([[9.0, 7.0, 5.0, 8.9, 8.8, 8.0], [9.0, 7.0, 5.0, 9.0, 8.8, 8.0]])
    cells = {
        e["set"]: {"n": 2, "cost": float((table[:, 0] - table[:, k]).mean()), "verdict": "sees"}
        for k, e in enumerate(told, 1)
    }
    cells["unseen"]["verdict"] = "blind"
    counts = np.array([[2, 0], [1, 1]], dtype=np.int8)
    result = invariance(table, told, cells, counts, 0.95)
    assert result["rewrite"]["against"] == "mild"
    assert result["rewrite"]["share"] == pytest.approx(0.5)
    assert result["rewrite"]["ci"] == pytest.approx((0.5, 0.5))
    cells["mild"]["verdict"] = cells["worse"]["verdict"] = "unsure"
    assert invariance(table, told, cells, counts, 0.95) == {"rewrite": None}


def test_verdicts_by_hand() -> None:
    def cell(auc: float, low: float, high: float, p: float, n: int = 100) -> dict[str, Any]:
        return {"auc": auc, "ci": (low, high), "p_holm": p, "n": n}

    assert verdict(cell(0.8, 0.7, 0.9, 0.01), "lower", 0.05) == "sees"
    assert verdict(cell(0.8, 0.45, 0.9, 0.2), "lower", 0.05) == "unsure"
    assert verdict(cell(0.5, 0.45, 0.59, 1.0), "lower", 0.05) == "blind"
    assert verdict(cell(0.56, 0.53, 0.59, 0.01), "lower", 0.05) == "blind"  # seen, but hardly
    assert verdict(cell(0.5, 0.5, 0.5, 1.0, 19), "lower", 0.05) == "unsure"  # too few to say so
    assert verdict(cell(0.2, 0.1, 0.3, 0.01), "lower", 0.05) == "prefers"
    assert verdict(cell(0.8, 0.7, 0.9, 0.01), "same", 0.05) == "punishes"
    assert verdict(cell(0.2, 0.1, 0.3, 0.01), "same", 0.05) == "rewards"
    assert verdict(cell(0.5, 0.42, 0.58, 1.0), "same", 0.05) == "spares"
    assert verdict(cell(0.4, 0.3, 0.58, 1.0), "same", 0.05) == "unsure"
    nan = float("nan")
    assert verdict(cell(nan, nan, nan, nan, 0), "lower", 0.05) == "unsure"


def test_refinement_leaves_no_control_better_than_chance() -> None:
    rng = np.random.default_rng(1)
    gaps = rng.normal([0.6, -0.3, 0.0], 1, (2000, 3))
    gaps[:, 1] = np.rint(gaps[:, 1])  # with ties
    gaps[5, 0] = np.nan
    stays = balanced(gaps, 2, seed=0)
    assert 300 < stays.sum() < 2000
    assert not stays[5]
    assert ((gaps[stays] > 0).sum(axis=0) == (gaps[stays] < 0).sum(axis=0)).all()
    assert (balanced(gaps, 2, seed=0) == stays).all()
    assert not balanced(np.abs(gaps[:, :1]) + 1, 2, seed=0).any()  # it is always right


def test_levels_of_one_corruption_are_ordered() -> None:
    told = [{**entry(f"t{k}", ""), "name": name} for k, name in enumerate(["typos", "typos", "x"])]
    table = np.array([[3.0, 2.0, 1.0, 0.0], [3.0, 2.0, 2.0, 0.0]])
    result = monotone(table, told, np.empty((0, 2), dtype=np.int8), 0.95)
    assert {name: (r["n"], r["mean"]) for name, r in result.items()} == {"typos": (2, 0.5)}


def test_seriation_and_pairs_by_hand() -> None:
    """A and C see alike; together B and A see both sets, which no other pair does better."""
    told = [entry("x", "objects"), entry("y", "objects")]
    records = [
        {
            "metric": name, "status": "ok", "part_of": None, "control": False,
            "profile": {"x": {"auc": x}, "y": {"auc": y}},
        }
        for name, x, y in (("A", 1.0, 0.5), ("B", 0.5, 1.0), ("C", 0.9, 0.5))
    ]  # fmt: skip
    result = seriation(records, told)
    assert abs(result["order"].index("A") - result["order"].index("C")) == 1
    assert [result["leaves"][int(i)] for i in result["tree"][0][:2]] in (["A", "C"], ["C", "A"])
    best = together(records, told)[0]
    assert (best["a"], best["b"], best["mean_auc"], best["gain"]) == ("A", "B", 1.0, 0.25)


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
