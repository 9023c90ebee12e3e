"""Metrics against people: published numbers, statistics from the files alone, the same bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hydra import compose, initialize_config_dir
from scipy import stats

from experiments.judgments.choice import _agreement
from experiments.judgments.published import published
from experiments.judgments.statistics import (
    RankedScores,
    Ratings,
    _on_common_rows,
    people_agreement,
)
from experiments.run import run as carry_out
from metaeval import installation
from metaeval.config import component
from metaeval.data.judgments.flickr8k import load_crowd, load_expert
from metaeval.data.judgments.judged import Judgments
from metaeval.data.judgments.protocol import protocol_for
from metaeval.data.judgments.table import load_table
from metaeval.data.judgments.thumb import load_thumb
from metaeval.doctor import find_dataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric
from metaeval.metrics.meteor.metric import Meteor
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge_l import RougeL
from metaeval.runs import files as results
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from metaeval.stats.correlation.correlations import correlations
from tests.data.judgments.test_judgments import pascal50s, thumb

SMALL = ("stats.replicates=60", "task.permutations=60", "report=none")


def run_in(folder: Path, *overrides: str, out: str = "OUT") -> dict[str, Any]:
    """The experiment as the command composes it, in this process; its statistics as written."""
    with initialize_config_dir(str(installation.conf().resolve()), version_base="1.3"):
        config = compose(
            "config",
            ["experiment=judgments", *SMALL, f"paths.cache={folder / 'cache'}", *overrides],
        )
    carry_out(component(config.task, "task"), config, folder / out)
    return results.read_json(folder / out / results.STATISTICS)


def agreement(judged, metric: Metric) -> dict[str, float]:
    """The protocol's statistic of every column, times 100."""
    scored = score_captions(
        metric, judged.dataset, [j.candidate for j in judged.judged], judged.image_index,
        MemoryStore(),
    )  # fmt: skip
    assert scored.status == "ok", scored.reason
    row, value = judged.rows(judged.dimensions[0])
    return {
        column.name: 100 * correlations(scored.scores[row, c], value)[judged.protocol.statistic]
        for c, column in enumerate(scored.columns)
    }


def flickr8k(root: Path) -> Path:
    folder = root / "flickr8k"
    if not folder.is_dir():
        pytest.skip("METAEVAL_DATA has no folder flickr8k")
    return folder


@pytest.mark.coco
def test_expert_equals_published_numbers(coco_root: Path) -> None:
    """pycocoevalcap's own scores give these values; 0.005 is half of the last digit compared."""
    judged = load_expert(root=flickr8k(coco_root))
    assert len(judged) == 5664
    assert len(judged.rows("rating")[0]) == 16992
    bleu = agreement(judged, Bleu(smooth="coco"))
    assert bleu["BLEU-1"] == pytest.approx(32.324, abs=0.005)
    assert bleu["BLEU-4"] == pytest.approx(30.776, abs=0.005)
    assert agreement(judged, RougeL())["ROUGE-L"] == pytest.approx(32.314, abs=0.005)
    assert agreement(judged, Cider())["CIDEr"] == pytest.approx(43.891, abs=0.005)


@pytest.mark.coco
@pytest.mark.slow
def test_crowd_equals_published_numbers(coco_root: Path) -> None:
    """Published with one decimal."""
    judged = load_crowd(root=flickr8k(coco_root))
    assert len(judged) == 47830
    found = agreement(judged, Bleu(smooth="coco"))["BLEU-4"]
    assert found == pytest.approx(16.9, abs=0.1)
    assert agreement(judged, RougeL())["ROUGE-L"] == pytest.approx(19.9, abs=0.1)
    assert agreement(judged, Cider())["CIDEr"] == pytest.approx(24.6, abs=0.1)


@pytest.mark.coco
@pytest.mark.java
@pytest.mark.slow
def test_meteor_equals_published_numbers(coco_root: Path) -> None:
    expert = agreement(load_expert(root=flickr8k(coco_root)), Meteor())
    assert expert["METEOR"] == pytest.approx(41.822, abs=0.005)
    crowd = agreement(load_crowd(root=flickr8k(coco_root)), Meteor())
    assert crowd["METEOR"] == pytest.approx(22.2, abs=0.1)


def own_table(folder: Path, n_images: int = 25) -> Path:
    """Four systems whose captions share more or fewer words with the references, and raters who
    notice."""
    rng = np.random.default_rng(0)
    text = "a man dog runs over the green grass with his red ball near"
    words = np.array(text.split())
    lines = []
    for i in range(n_images):
        references = [" ".join(rng.permutation(words)[:8]) for _ in range(3)]
        for system, kept in (("one", 8), ("two", 6), ("three", 4), ("four", 1)):
            own = references[0].split()
            candidate = [
                *own[:kept],
                *rng.permutation(["x", "y", "z", "u", "v", "w", "q"])[: 8 - kept],
            ]
            human = np.clip(np.round(kept / 2 + rng.normal(0, 1, size=3)), 0, 5).tolist()
            lines.append(
                {"image_id": i, "candidate": " ".join(candidate), "references": references,
                 "human": human, "system": system}
            )  # fmt: skip
    path = folder / "judged.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on a table of judgements."""
    folder = tmp_path_factory.mktemp("judgments")
    table = own_table(folder)
    metrics = "metrics=[bleu,rouge_l,cider,clipscore]"
    summary = run_in(folder, "dataset=table", f"dataset.file={table}", metrics)
    assert summary["facts"]["judged"] == summary["facts"]["rows"]["human"] == 100
    return folder / "OUT"


def test_statistics_follow_from_the_files(run: Path) -> None:
    """Every correlation again by scipy, from judgments.parquet and scores.parquet."""
    judged, scores = (
        pd.read_parquet(run / "judgments.parquet"),
        pd.read_parquet(run / results.SCORES),
    )
    summary = results.read_json(run / results.STATISTICS)
    human = judged["human_human"].map(np.mean).to_numpy()
    assert len(judged) == 100
    assert [m["metric"] for m in summary["metrics"]] == [
        "BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr", "CLIPScore",
    ]  # fmt: skip
    for record in summary["metrics"][:-1]:
        x = scores.loc[scores["metric"] == record["metric"], "score"].to_numpy()
        found = record["human"]["human"]
        expected = {
            "pearson": stats.pearsonr(x, human).statistic,
            "spearman": stats.spearmanr(x, human).statistic,
            "kendall_tau_b": stats.kendalltau(x, human).statistic,
            "kendall_tau_c": stats.kendalltau(x, human, variant="c").statistic,
        }
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, abs=1e-12)
            low, high = found[f"{name}_ci"]
            assert low < value < high
        assert found["accuracy"]["uncalibrated"] <= found["accuracy"]["value"] <= 1
        assert found["accuracy"]["n_pairs"] == 25 * 6
        means = pd.DataFrame({"s": judged["system"], "x": x, "h": human}).groupby("s").mean()
        system = found["system"]
        assert system["pearson"] == pytest.approx(
            stats.pearsonr(means["x"], means["h"]).statistic, abs=1e-12
        )
        assert system["kendall_tau_b"] == system["accuracy"] == 1.0
    absent = summary["metrics"][-1]
    assert (absent["status"], absent["part_of"]) == ("skipped", None)
    assert "images" in absent["reason"]


def test_every_pair_of_metrics_is_tested(run: Path) -> None:
    summary = results.read_json(run / results.STATISTICS)
    value = {
        m["metric"]: m["human"]["human"]["kendall_tau_b"]
        for m in summary["metrics"]
        if m["status"] == "ok"
    }
    pairs = summary["differences"]["human"]["pairs"]
    assert len(pairs) == 15
    for pair in pairs:
        expected = value[pair["a"]] - value[pair["b"]]
        assert pair["difference"] == pytest.approx(expected, abs=1e-12)
        for test in ("permutation", "bootstrap", "williams"):
            assert 0 <= pair[test]["p"] <= pair[test]["p_holm"] <= 1
    lowest = min(pairs, key=lambda pair: pair["williams"]["p"])
    assert lowest["williams"]["p_holm"] == pytest.approx(min(1, 15 * lowest["williams"]["p"]))


def test_the_same_command_gives_the_same_bytes(tmp_path: Path, capsys) -> None:
    table = own_table(tmp_path, 8)
    for out in ("a", "b"):
        run_in(
            tmp_path, "dataset=table", f"dataset.file={table}", "metrics=[bleu,clipscore]", out=out
        )
    for name in ("judgments.parquet", results.SCORES, results.STATISTICS):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    printed = capsys.readouterr().out
    assert "32 captions of 8 images, 32 rows (plain: own captions keep" in printed
    assert "not run: clipscore (skipped)" in printed


def test_forced_choice(tmp_path: Path) -> None:
    """ROUGE-L of the first pair's captions is 0 and 0 with these references: one half; so is a
    pair on which people are divided."""
    pascal50s(tmp_path, "struct")
    summary = run_in(
        tmp_path, "dataset=pascal50s", f"dataset.root={tmp_path}", "dataset.n_references=[2,48]",
        "dataset.draws=2", "metrics=[rouge_l,bleu]",
    )  # fmt: skip
    assert summary["kind"] == "forced_choice"
    assert summary["groups"] == ["HC", "MM", "mean"]
    record = next(m for m in summary["metrics"] if m["metric"] == "ROUGE-L")
    assert [c["draws"] for c in record["choice"]] == [2, 1]
    assert {g: a["value"] for g, a in record["choice"][0]["accuracy"].items()} == {
        "HC": 0.5, "MM": 0.5, "mean": 0.5,
    }  # fmt: skip
    scores = pd.read_parquet(tmp_path / "OUT" / results.SCORES)
    assert set(scores["n_references"]) == {2, 48}
    assert (tmp_path / "OUT" / "judgments.parquet").is_file()


def test_choosing_as_people_do() -> None:
    """By hand: right, wrong, metric undecided, people undecided, not scored."""
    found = _agreement(np.array([0.2, 0.2, 0.0, 0.3, np.nan]), np.array([1, -1, 1, 0, 1]))
    assert found[:4].tolist() == [1, 0, 0.5, 0.5]
    assert np.isnan(found[4])


def test_wrong_ties_and_direct_labels(tmp_path: Path, capsys) -> None:
    """A tie of the metric is wrong, and the people's own agreement by hand."""
    assert _agreement(np.array([0.0, 0.3, 0.3]), np.array([1, 0, 1]), "wrong").tolist() == [0, 0, 1]
    pascal50s(tmp_path, "cells")
    summary = run_in(
        tmp_path, "dataset=pascal50s", f"dataset.root={tmp_path}", "dataset.n_references=1",
        "dataset.draws=2", "dataset.labels=direct", "dataset.ties=wrong", "metrics=[rouge_l]",
    )  # fmt: skip
    (record,) = summary["metrics"]
    assert record["choice"][0]["accuracy"]["mean"]["value"] == 0.0  # it ties both pairs
    assert summary["label_agreement"] == {"HC": 0.0, "MM": 0.0, "all": 0.0}
    # of 11 voters 7 are with the majority of the other ten (6 to 4), 4 are not (3 to 7)
    people = summary["people"]
    assert people == {"HC": pytest.approx(7 / 11), "MM": 1.0, "mean": pytest.approx(9 / 11)}
    told = results.read_json(tmp_path / "OUT" / results.RUN)["metrics"][0]
    assert told["n_scored"] + told["n_cached"] == 2 * 4  # two draws of two pairs
    printed = capsys.readouterr().out
    assert "direct labels, with 1 reference, 2 draws" in printed
    assert "with 1 reference " in printed
    assert "labels: direct; direct and consensus agree on HC 0.0, MM 0.0, all 0.0 %" in printed


def test_people_are_the_ceiling(tmp_path: Path) -> None:
    """Each rater against the others, by scipy."""
    table = own_table(tmp_path, 9)
    lines = [json.loads(line) for line in table.read_text().splitlines()]
    raters = np.array([line["human"] for line in lines])
    for ratings in ("mean", "each"):
        judged = load_table(file=table, ratings=ratings, statistic="kendall_tau_c")
        values = []
        for k in range(3):
            others = np.delete(raters, k, axis=1)
            x = raters[:, k] if ratings == "mean" else np.repeat(raters[:, k], 2)
            y = others.mean(axis=1) if ratings == "mean" else others.reshape(-1)
            values.append(stats.kendalltau(x, y, variant="c").statistic)
        found = people_agreement(judged, "human")
        assert found == {"value": pytest.approx(np.mean(values)), "raters": 3, "captions": 36}
    lines[0]["human"] = 3
    table.write_text("\n".join(map(json.dumps, lines)))
    assert people_agreement(load_table(file=table), "human") is None


def test_a_run_without_bleu(tmp_path: Path, capsys) -> None:
    """`metric=[…]` leaves BLEU out: nothing is to be set for it. Captions without references say
    why CIDEr has no score, and metrics are compared on the rows that all could score."""
    table = own_table(tmp_path, 12)
    lines = [json.loads(line) for line in table.read_text().splitlines()]
    for line in lines[:4]:
        line["references"] = []
    table.write_text("\n".join(map(json.dumps, lines)))
    summary = run_in(
        tmp_path, "dataset=table", f"dataset.file={table}", "metric=[cider,rouge_l]",
        "task.permutations=10",
    )  # fmt: skip
    assert [m["metric"] for m in summary["metrics"]] == ["CIDEr", "ROUGE-L"]
    assert [m["n_nan"] for m in summary["metrics"]] == [4, 4]
    assert [m["n_nan_without_references"] for m in summary["metrics"]] == [4, 4]
    printed = capsys.readouterr().out
    assert "CIDEr: no score for 4 of 48 captions (4 of them have no references)" in printed
    assert "no difference can be significant by permutation: 10 draws for 1 pair; " in printed


def test_published_values_are_for_the_whole_data_and_its_protocol(flickr: Judgments) -> None:
    """None beside a part of the data or another protocol; percent become fractions."""
    whole = replace(flickr, facts={**flickr.facts, "judged_in_files": 5822})
    values = published(whole, None)["values"]
    assert values["rating"]["CIDEr"] == pytest.approx(0.439)
    assert published(whole, 10)["values"] == {}
    assert published(flickr, None)["values"] == {}
    other = replace(whole, protocol=protocol_for("flickr8k_expert", "averaged"))
    assert published(other, None)["values"] == {}


def test_published_values_of_thumb_are_with_its_own_references(tmp_path: Path) -> None:
    thumb(tmp_path)
    rated = load_thumb(root=tmp_path)
    whole = replace(rated, facts={**rated.facts, "judged_in_files": 2500})
    assert published(whole, None)["values"]["total"]["CIDEr"] == pytest.approx(0.23)
    assert published(whole, None, human_reference=True)["values"] == {}


@pytest.fixture
def flickr(tmp_path: Path) -> Judgments:
    (tmp_path / "Flickr8k.token.txt").write_text("a.jpg#0\tA dog .\nb.jpg#0\tA cat .\n")
    (tmp_path / "ExpertAnnotations.txt").write_text("a.jpg\tb.jpg#0\t1\t1\t2\n")
    return load_expert(root=tmp_path)


def test_metrics_are_compared_on_the_rows_that_all_could_score() -> None:
    given = Ratings(
        np.arange(6), np.array([1.0, 2, 3, 1, 2, 3]), np.array([1.0, 2, 3, 1, 2, 3]),
        np.array([0, 0, 0, 1, 1, 1]), 2,
    )  # fmt: skip
    whole = RankedScores("whole", np.array([1.0, 2, 3, 3, 2, 1]))
    part = RankedScores("part", np.array([1.0, 2, 3, np.nan, np.nan, np.nan]))
    few = RankedScores("few", np.array([1.0, 2, *[np.nan] * 4]))
    common = _on_common_rows([whole, part, few], given, "kendall_tau_b")
    # on all rows `whole` is 0 on average; on those that `part` has it is as good
    assert common.keys() == {"whole", "part"}
    assert [c["n"] for c in common.values()] == [3, 3]
    assert [c["value"] for c in common.values()] == pytest.approx([1, 1], abs=1e-12)
    assert _on_common_rows([whole, whole], given, "kendall_tau_b") == {}


def test_thumb_has_a_system_level(tmp_path: Path) -> None:
    thumb(tmp_path)
    summary = run_in(tmp_path, "dataset=thumb", f"dataset.root={tmp_path}", "metrics=[bleu]")
    assert summary["systems"] == ["Human", "Up-Down", "VinVL-base"]
    assert summary["views"] == {"without Human": 4}
    assert summary["metrics"][0]["human"]["total"]["views"]["without Human"]["n"] == 4
    assert set(summary["differences"]) == {"total", "precision", "recall"}


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ("dataset=scenes dataset.n=9", "experiment=judgments needs judged captions"),
        ("task.swap=caption", "'caption' is not one of both, image, system"),
        ("task.alpha=2", "2 is not in"),
        ("task.permutations=0", "must be at least 1"),
    ],
)
def test_what_cannot_run_is_a_config_error(tmp_path: Path, overrides: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        run_in(tmp_path, *overrides.split(), "metrics=[bleu]")


def test_other_experiments_say_what_judged_captions_are_for(tmp_path: Path) -> None:
    table = own_table(tmp_path, 3)
    with initialize_config_dir(str(installation.conf().resolve()), version_base="1.3"):
        config = compose("config", ["experiment=replace", "dataset=table", f"dataset.file={table}"])
    with pytest.raises(ConfigError, match="experiment=judgments is for captions that people"):
        carry_out(component(config.task, "task"), config, tmp_path / "OUT")


def test_the_doctor_speaks_of_judged_captions(tmp_path: Path) -> None:
    table = own_table(tmp_path, 3)
    with initialize_config_dir(str(installation.conf().resolve()), version_base="1.3"):
        config = compose("config", ["dataset=table", f"dataset.file={table}"])
    said: list[str] = []
    find_dataset(config, said.append)
    assert said[0] == "dataset  table: 3 images"
    assert any("give their folder as dataset.images=FOLDER" in line for line in said[1:])
