"""Metrics against people: published numbers, statistics from the files alone, the same bytes."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import rankdata

from metaeval.config import compose_config
from metaeval.data.judgments.benchmarks import load_crowd, load_expert, load_thumb
from metaeval.data.judgments.judged import Judgments, protocol_for
from metaeval.data.judgments.table import load_table
from metaeval.doctor import find_dataset
from metaeval.errors import ConfigError
from metaeval.experiments.fitted import predictions
from metaeval.experiments.judgments.agreement import on_common_rows
from metaeval.experiments.judgments.sample import Ratings
from metaeval.experiments.judgments.task import (
    HumanCorrelation,
    people_agreement,
    published_correlations,
)
from metaeval.metrics.base import Metric
from metaeval.metrics.meteor.metric import Meteor
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from metaeval.reports.measured import write_report
from metaeval.results.files import read_result
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files as results
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from metaeval.stats.agreement.controls import partial_correlation
from metaeval.stats.correlation.correlations import correlation
from tests.data.judgments.test_judgments import thumb
from tests.reports.browser import Page
from tests.shared import in_data, run_here, write_lines

SMALL = ("stats.replicates=60", "report=none")


def run_any(
    folder: Path, *overrides: str, out: str = "OUT", experiment: str = "judgments"
) -> MeasuredResult:
    """The experiment as the command composes it, in this process; its result as written."""
    if experiment == "judgments":
        overrides = ("task.fitted=false", *overrides)
    return run_here(folder, f"experiment={experiment}", *SMALL, *overrides, out=out)


def run_in(folder: Path, *overrides: str, out: str = "OUT") -> MeasuredResult:
    """A run of experiment=judgments on ratings."""
    return run_any(folder, *overrides, out=out)


def run_table(folder: Path, records: list[dict[str, Any]], *overrides: str) -> MeasuredResult:
    """A run of experiment=judgments on these records of a table, of images other than COCO's."""
    path = write_lines(folder / "lines.jsonl", records)
    given = ("dataset=table", f"dataset.file={path}", "dataset.image_source=other")
    return run_in(folder, *given, *overrides)


def agreement(judged, metric: Metric) -> dict[str, float]:
    """The protocol's statistic of every column, times 100."""
    scored = score_captions(
        metric, judged.dataset, [j.candidate for j in judged.judged], judged.image_index,
        MemoryStore(),
    )  # fmt: skip
    assert scored.status == "ok", scored.reason
    row, value = judged.rows(judged.dimensions[0])
    return {
        column.name: 100 * correlation(judged.protocol.statistic, scored.scores[row, c], value)
        for c, column in enumerate(scored.columns)
    }


SLOW, JAVA = pytest.mark.slow, pytest.mark.java
CROWD = {"BLEU-4": 16.9, "ROUGE-L": 19.9, "CIDEr": 24.6}  # published with one decimal
# pycocoevalcap's own scores give these values; 0.005 is half of the last digit compared
EXPERT = {"BLEU-1": 32.324, "BLEU-4": 30.776, "ROUGE-L": 32.314, "CIDEr": 43.891}


@pytest.mark.coco
@pytest.mark.parametrize(
    ("load", "n", "metrics", "expected", "tolerance"),
    [
        (load_expert, 5664, (Bleu, RougeL, Cider), EXPERT, 0.005),
        pytest.param(load_crowd, 47830, (Bleu, RougeL, Cider), CROWD, 0.1, marks=SLOW),
        pytest.param(load_expert, 5664, (Meteor,), {"METEOR": 41.822}, 0.005, marks=[JAVA, SLOW]),
        pytest.param(load_crowd, 47830, (Meteor,), {"METEOR": 22.2}, 0.1, marks=[JAVA, SLOW]),
    ],
)
def test_flickr8k_equals_published_numbers(
    coco_root: Path, load: Any, n: int, metrics: Any, expected: dict[str, float], tolerance: float
) -> None:
    judged = load(root=in_data(coco_root, "flickr8k"))
    assert len(judged) == n
    assert load is load_crowd or len(judged.rows("rating")[0]) == 3 * n
    found = {k: v for metric in metrics for k, v in agreement(judged, metric()).items()}
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=tolerance)


def own_lines(n_images: int = 25) -> Iterator[dict[str, Any]]:
    """Four systems whose captions share more or fewer words with the references, and raters who
    notice."""
    rng = np.random.default_rng(0)
    text = "a man dog runs over the green grass with his red ball near"
    for i in range(n_images):
        references = [" ".join(rng.permutation(text.split())[:8]) for _ in range(3)]
        for system, n in (("one", 8), ("two", 6), ("three", 4), ("four", 1)):
            others = rng.permutation(["x", "y", "z", "u", "v", "w", "q"])[: 8 - n]
            candidate = " ".join([*references[0].split()[:n], *others])
            human = np.clip(np.round(n / 2 + rng.normal(0, 1, size=3)), 0, 5).tolist()
            yield {"image_id": i, "candidate": candidate, "references": references,
                   "human": human, "system": system}  # fmt: skip


def own_table(folder: Path, n_images: int = 25) -> Path:
    return write_lines(folder / "judged.jsonl", own_lines(n_images))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on a table of judgements."""
    folder = tmp_path_factory.mktemp("judgments")
    given = ("dataset=table", f"dataset.file={own_table(folder)}")
    summary = run_in(folder, *given, "metrics=[bleu,rouge_l,cider,clipscore]")
    assert summary.facts["Captions"] == dict(summary.extra("counts").rows)["Rows, human"] == 100
    return folder / "OUT"


def test_statistics_follow_from_the_files(run: Path) -> None:
    """Every correlation again by scipy, from judgments.parquet and scores.parquet."""
    judged, scores = (pd.read_parquet(run / name) for name in ("judgments.parquet", results.SCORES))
    summary = read_result(run / results.STATISTICS)
    human = judged["human_human"].map(np.mean).to_numpy()
    assert [m.name for m in summary.metrics] == [
        "BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr", "CLIPScore",
    ]  # fmt: skip
    *metrics, absent = summary.metrics
    for metric in metrics:
        x = scores.loc[scores["metric"] == metric.name, "score"].to_numpy()
        numbers = metric.numbers
        correlations = {
            "pearson": stats.pearsonr(x, human).statistic,
            "spearman": stats.spearmanr(x, human).statistic,
            "kendall_tau_b": stats.kendalltau(x, human).statistic,
            "kendall_tau_c": stats.kendalltau(x, human, variant="c").statistic,
        }
        means = pd.DataFrame({"s": judged["system"], "x": x, "h": human}).groupby("s").mean()
        expected = {
            **correlations,
            "system_pearson": stats.pearsonr(means["x"], means["h"]).statistic,
            "system_kendall_tau_b": 1.0,
            "system_accuracy": 1.0,
        }
        assert {k: numbers.value(k) for k in expected} == pytest.approx(expected, abs=1e-12)
        assert all(numbers[k].low < value < numbers[k].high for k, value in correlations.items())
        assert numbers.value("uncalibrated") <= numbers.value("accuracy") <= 1
        assert (numbers["accuracy"].n, len(x)) == (25 * 6, 100)
    assert (absent.status, absent.column.part_of, "image" in absent.reason) == (
        "skipped", None, True,
    )  # fmt: skip


def test_every_pair_of_metrics_is_tested(run: Path) -> None:
    """One test a statistic; it says what the interval says."""
    summary = read_result(run / results.STATISTICS)
    n = dict.fromkeys(("kendall_tau_b", "pearson", "spearman", "kendall_tau_c"), 100)
    n["accuracy"] = 150
    assert (summary.declared[0].key, summary.comparisons.keys()) == ("kendall_tau_b", n.keys())
    for key, compared in summary.comparisons.items():
        value = {m.name: m.numbers.value(key) for m in summary.metrics if m.ok}
        assert len(compared.pairs) == 15
        for pair in compared.pairs:
            assert pair.difference.value == pytest.approx(value[pair.a] - value[pair.b], abs=1e-12)
            (test,), (low, high) = pair.tests, pair.difference.interval
            assert (pair.n, test.method) == (n[key], "bootstrap")
            assert (0 <= test.p <= test.p_adjusted <= 1, low <= 0 <= high) == (True, test.p >= 0.05)


def test_the_stored_result_of_other_ratings_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, n_computed = own_table(tmp_path, 8), []
    compute = HumanCorrelation.statistics
    monkeypatch.setattr(
        HumanCorrelation, "statistics", lambda *a: n_computed.append(1) or compute(*a)
    )
    given = ("dataset=table", f"dataset.file={table}", "metrics=[bleu]")
    first, second = (run_in(tmp_path, *given, out=out) for out in "ab")
    assert (second, len(n_computed)) == (first, 1)
    changed, *lines = own_lines(8)
    changed["human"][0] = 5 - changed["human"][0]
    write_lines(table, [changed, *lines])
    assert run_in(tmp_path, *given, out="c").metrics != first.metrics


def with_lines(folder: Path, lines: list[dict[str, Any]], **options: str) -> Judgments:
    return load_table(file=write_lines(folder / "lines.jsonl", lines), **options)


@pytest.mark.slow
@pytest.mark.parametrize("ratings", ["mean", "each"])
def test_people_are_the_ceiling(tmp_path: Path, ratings: str) -> None:
    """The expectation over which rating of each caption is left out: Pearson of all choices."""
    lines = list(own_lines(9))
    raters = np.array([line["human"] for line in lines])
    others = np.concatenate([np.delete(raters, k, axis=1) for k in range(3)])
    one = np.repeat(raters.T.ravel(), 1 if ratings == "mean" else 2)
    rest = others.mean(axis=1) if ratings == "mean" else others.ravel()
    judged = with_lines(tmp_path, lines, ratings=ratings, statistic="pearson")
    people = people_agreement(judged, "human")
    expected = pytest.approx(stats.pearsonr(one, rest).statistic, abs=1e-12)
    assert (people.estimate.value, people.raters, people.estimate.n, people.sorted_rows) == (
        expected, 3, 36, False,
    )  # fmt: skip
    # captions with another number of ratings leave, and are counted
    lines += [{**lines[0], "candidate": f"one more {k}", "human": [1, 2][:k]} for k in (1, 2)]
    judged = with_lines(tmp_path, lines, ratings=ratings, statistic="pearson")
    assert people_agreement(judged, "human") == people._replace(left_out=2)
    equal = [{**line, "human": 3} for line in lines]
    assert people_agreement(with_lines(tmp_path, equal), "human") is None


def test_sorted_ratings_are_not_of_raters(tmp_path: Path) -> None:
    """Minimum, middle and maximum of a row: the columns are nobody's; the value stays."""
    lines = list(own_lines(12))
    in_order = [{**line, "human": sorted(line["human"])} for line in lines]
    plain, ordered = (
        people_agreement(with_lines(tmp_path, rows, ratings="each"), "human")
        for rows in (lines, in_order)
    )
    assert (plain.sorted_rows, ordered.sorted_rows) == (False, True)
    assert ordered.estimate.value == pytest.approx(plain.estimate.value, abs=1e-12)


def test_a_fitted_control_finds_what_no_fixed_sign_does(tmp_path: Path, capsys: Any) -> None:
    """People here like captions of middle length: length has no correlation, the fit nearly all."""
    lengths = np.random.default_rng(0).integers(3, 18, 120).tolist()
    lines = [
        {"image_id": k // 2, "candidate": " ".join(["dog"] * n), "references": ["a dog"],
         "human": [-abs(n - 10) + 8.0], "system": ("one", "two")[k % 2]}
        for k, n in enumerate(lengths)
    ]  # fmt: skip
    result = run_table(
        tmp_path, lines, "metrics=[rouge_l,length]", "task.fitted=true", "stats.replicates=200"
    )
    fitted = result.metric("Fitted text")
    assert abs(result.metric("Length").numbers.value("pearson")) < 0.2
    scores = pd.read_parquet(tmp_path / "OUT" / results.SCORES)
    written = scores.loc[scores["metric"] == "Fitted text", "score"]
    r = stats.pearsonr(written, [line["human"][0] for line in lines]).statistic
    assert fitted.numbers.value("pearson") == pytest.approx(r, abs=1e-12)
    against = result.controls[result.declared[0].key]
    assert (r > 0.9, against.control, against.above) == (True, "Fitted text", ())
    line = "No metric is significantly above the best control, Fitted text"
    assert line in capsys.readouterr().out


def test_a_fitted_control_is_not_fitted_on_its_own_image(tmp_path: Path) -> None:
    """Ratings are random: a fit that saw them would correlate with them."""
    rng = np.random.default_rng(1)
    features, image = rng.normal(size=(60, 40)), np.arange(60) // 2
    ratings = rng.normal(size=60)
    predicted = predictions(features, ratings, image, 0)
    assert stats.pearsonr(predicted, ratings).statistic < 0.35
    changed = ratings.copy()
    changed[:2] = 99.0  # the first image's own ratings
    assert predictions(features, changed, image, 0)[:2] == pytest.approx(predicted[:2])


def test_what_remains_given_length(run: Path, tmp_path: Path) -> None:
    """Partial r given the words of a caption; by least squares: tests/stats/agreement."""
    constant = read_result(run / results.STATISTICS).metric("CIDEr")  # all captions: eight words
    assert constant.numbers.value("length_controlled") is None
    lines = [{**line, "candidate": line["candidate"] + " and" * (k % 5)}
             for k, line in enumerate(own_lines(12))]  # fmt: skip
    result = run_table(tmp_path, lines, "metrics=[cider]")
    human = np.array([np.mean(line["human"]) for line in lines])
    words = np.array([len(line["candidate"].split()) for line in lines], dtype=float)
    x = pd.read_parquet(tmp_path / "OUT" / results.SCORES)["score"].to_numpy()
    partial = result.metric("CIDEr").numbers["length_controlled"]
    expected = partial_correlation(x, human, words, statistic="pearson").value
    assert partial.value == pytest.approx(expected, abs=1e-10)
    assert partial.low < partial.value < partial.high


def test_few_values_and_few_pairs_are_noted(tmp_path: Path) -> None:
    """τ-c is scaled by the smaller number of values; an accuracy of two pairs says so."""
    lines = [
        {"image_id": k // 2, "candidate": "dog " * (1 + k % 2), "references": ["a dog"],
         "human": [float(k % 2)]}
        for k in range(4)
    ]  # fmt: skip
    result = run_table(tmp_path, lines, "metrics=[rouge_l]", "dataset.statistic=kendall_tau_c")
    assert result.metric("ROUGE-L").numbers.facts["n_distinct"] == 2
    notes = ("compare by τ-b: ROUGE-L (2 values", "of 2 pairs alone")
    assert [note in " ".join(result.notes) for note in notes] == [True, True]


def test_a_run_without_bleu(tmp_path: Path, capsys) -> None:
    """`metric=[…]` leaves BLEU out: nothing is to be set for it. Captions without references say
    why CIDEr has no score, and metrics are compared on the rows that all could score."""
    lines = list(own_lines(12))
    lines[:4] = [{**line, "references": []} for line in lines[:4]]
    summary = run_table(tmp_path, lines, "metric=[cider,rouge_l]")
    facts = {m.name: m.numbers.facts for m in summary.metrics}
    assert {name: (f["n_nan"], f["n_nan_without_references"]) for name, f in facts.items()} == {
        "CIDEr": (4, 4), "ROUGE-L": (4, 4),
    }  # fmt: skip
    note = "No score for 4 of 48 captions (4 of them without references): CIDEr, ROUGE-L."
    assert note in summary.notes
    assert "references per caption: least 0, median 3, most 3; " in capsys.readouterr().out


def test_published_values_are_for_the_whole_data_and_its_protocol(tmp_path: Path) -> None:
    """None for a part of the data or another protocol; percent become fractions."""
    (tmp_path / "Flickr8k.token.txt").write_text("a.jpg#0\tA dog .\nb.jpg#0\tA cat .\n")
    (tmp_path / "ExpertAnnotations.txt").write_text("a.jpg\tb.jpg#0\t1\t1\t2\n")
    flickr = load_expert(root=tmp_path)
    whole = replace(flickr, facts={**flickr.facts, "judged_in_files": 5822})
    (source,) = published_correlations(whole, None)
    assert source.values["CIDEr"]["kendall_tau_c"] == pytest.approx(0.439)
    other = replace(whole, protocol=protocol_for("flickr8k_expert", "averaged"))
    assert [
        published_correlations(*given) for given in ((whole, 10), (flickr, None), (other, None))
    ] == [()] * 3


def test_published_values_of_thumb_are_with_its_own_references(tmp_path: Path) -> None:
    thumb(tmp_path)
    rated = load_thumb(root=tmp_path)
    whole = replace(rated, facts={**rated.facts, "judged_in_files": 2500})
    (source,) = published_correlations(whole, None)
    assert source.values["CIDEr"]["pearson_total"] == pytest.approx(0.23)
    assert published_correlations(whole, None, human_reference=True) == ()


def test_metrics_are_compared_on_the_rows_that_all_could_score() -> None:
    given = Ratings(
        np.arange(6), np.array([1.0, 2, 3, 1, 2, 3]), np.array([1.0, 2, 3, 1, 2, 3]),
        np.array([0, 0, 0, 1, 1, 1]), 2,
    )  # fmt: skip
    whole = np.array([1.0, 2, 3, 3, 2, 1])
    part = np.array([1.0, 2, 3, np.nan, np.nan, np.nan])
    few = np.array([1.0, 2, *[np.nan] * 4])
    columns = {"whole": whole, "part": part, "few": few}
    common = on_common_rows(columns, given, "kendall_tau_b")
    # on all rows `whole` is 0 on average; on those that `part` has it is as good
    assert {name: (c.n, c.value) for name, c in common.items()} == {
        "whole": (3, pytest.approx(1, abs=1e-12)), "part": (3, pytest.approx(1, abs=1e-12)),
    }  # fmt: skip
    assert on_common_rows({"whole": whole, "same": whole}, given, "kendall_tau_b") == {}


@pytest.mark.parametrize(
    ("experiment", "data", "problem"),
    [
        ("judgments", "scenes dataset.n=9", "experiment=judgments needs rated captions"),
        ("pairs", "scenes dataset.n=9", "experiment=pairs needs true and false captions"),
        ("replace", "table dataset.file={}", "experiment=judgments for captions that people"),
        ("forced_choice", "table dataset.file={}", "captions that people rated are for experim"),
        ("retrieval", "scenes dataset.split=train dataset.n=6000 dataset.limit=5001",
         r"give dataset\.limit=5000 or less"),
    ],
)  # fmt: skip
def test_data_of_another_experiment_are_refused(
    tmp_path: Path, experiment: str, data: str, problem: str
) -> None:
    table = own_table(tmp_path, 3)
    options = [part.format(table) for part in f"dataset={data}".split()]
    with pytest.raises(ConfigError, match=problem):
        run_any(tmp_path, *options, "metrics=[bleu]", experiment=experiment)


def test_the_doctor_reports_judged_captions(tmp_path: Path) -> None:
    said: list[str] = []
    given = ["dataset=table", f"dataset.file={own_table(tmp_path, 3)}"]
    find_dataset(compose_config(given), said.append)
    line, remedy = "dataset  table: 3 images", "set dataset.images=FOLDER"
    assert (said[0], any(remedy in line for line in said[1:])) == (line, True)


def test_the_page_of_several_dimensions(tmp_path: Path) -> None:
    """A table for each dimension; what is folded stands together; bold and its test by column."""
    thumb(tmp_path)
    summary = run_in(tmp_path, "dataset=thumb", f"dataset.root={tmp_path}", "metric=[bleu,rouge_l]")
    groups = list(summary.groups())
    assert summary.metrics[0].numbers["pearson_without Human_total"].n == 4
    assert groups == ["total", "precision", "recall"]
    assert {f"pearson_{name}" for name in groups} <= summary.comparisons.keys()
    page = write_report(tmp_path / "OUT", figures=False).read_text(encoding="utf-8")
    titles = ("Table, total", "Table, precision", "Table, recall", "Further statistics")
    assert [page.count(f">{title}</h2>") for title in titles] == [1] * 4
    tables = tmp_path / "OUT" / results.TABLES
    assert (tables / "measures-recall.csv").read_text().startswith("Metric,r,ρ,τ-b,τ-c,Accuracy")
    assert (tables / "measures-further-statistics-recall.csv").is_file()


def test_the_page_has_the_captions_furthest_from_people(run: Path, tmp_path: Path) -> None:
    """By scipy's ranks; the first caption is the furthest of some metric."""
    shutil.copytree(run, tmp_path / "run")
    html = write_report(tmp_path / "run", photos=3, figures=False).read_text(encoding="utf-8")
    table = html[html.index('<tbody id="cards-judged">') :]
    rows = [re.findall(r'data-v="([^"]*)"', row) for row in table.split("</tr>")[:100]]
    heads = re.findall(
        r"<button type=\"button\">([^<]*)</button>", html[: html.index("cards-judged")]
    )
    metrics = heads[-(len(rows[0]) - 3) :]
    assert {"BLEU-1", "CIDEr", "ROUGE-L"} <= set(metrics)
    judged = pd.read_parquet(run / results.JUDGMENTS)
    people = judged["human_human"].map(np.mean).to_numpy()
    scores = pd.read_parquet(run / "scores.parquet").pivot(
        index="caption", columns="metric", values="score"
    )
    wanted = {m: rankdata(scores[m]) - rankdata(people) for m in metrics}
    texts = zip(judged["image_id"], judged["candidate"].str.lower(), strict=True)
    row_of = {text: n for n, text in enumerate(texts)}
    for image, caption, *numbers in rows:
        n = row_of[image, caption]
        expected = [people[n], *(wanted[m][n] for m in metrics)]
        assert [float(x) for x in numbers] == pytest.approx(expected)
    first = row_of[rows[0][0], rows[0][1]]
    assert any(abs(w[first]) == np.abs(w).max() for w in wanted.values())
    lines = ("All captions, those first", "0 of 3 photos embedded.")
    assert [line in html for line in lines] == [True, True]


def test_the_page_of_a_metric_that_does_not_score_every_caption(run: Path, tmp_path: Path) -> None:
    """Its other captions count in the chart of residuals, and the table has a dash."""
    shutil.copytree(run, tmp_path / "run")
    scores = pd.read_parquet(run / "scores.parquet")
    lacks = (scores["metric"] == "CIDEr") & (scores["caption"] < 5)
    scores.assign(score=scores["score"].mask(lacks)).to_parquet(tmp_path / "run/scores.parquet")
    html = write_report(tmp_path / "run", figures=False).read_text(encoding="utf-8")
    assert "Residuals by length" in html
    rows = html[html.index('<tbody id="cards-judged">') :].split("</tbody>")[0].split("</tr>")
    assert sum(">–" in row for row in rows) == 5


def test_captions_are_sorted_and_searched_in_a_browser(
    page: Page, run: Path, tmp_path: Path
) -> None:
    shutil.copytree(run, tmp_path / "run")
    path = write_report(tmp_path / "run", examples=5, figures=False)
    visible = "[...document.querySelectorAll('#cards-judged tr')].filter(r => !r.hidden)"
    page.open(path.as_uri())
    assert page.run(f"{visible}.length") == 5
    page.run("document.querySelector('.captions [data-key=\"4\"] button').click()")
    first = page.run(f"{visible}.map(r => Number(r.cells[3].dataset.v))")
    rows = visible.partition(".filter")[0]
    everything = page.run(f"{rows}.map(r => Number(r.cells[3].dataset.v))")
    assert first == sorted(everything, reverse=True)[:5]
    page.run(
        "(f => {f.value = 'x zzz'; f.dispatchEvent(new Event('input'))})"
        "(document.querySelector('[data-search=judged]'))"
    )
    assert page.run(f"{visible}.length") == 0
    assert page.errors == []
