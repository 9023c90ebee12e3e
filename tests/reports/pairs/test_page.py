"""The page of true against false captions: its numbers, its sentences, and in a real browser."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from metaeval.reports.__main__ import main
from metaeval.reports.pairs.page import render, write_report
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.run import load_run_files
from metaeval.reports.sweep.page import write_sweep
from metaeval.results.comparison import Comparison
from metaeval.results.metric import MetricResult
from metaeval.results.pairs import Accuracy, AccuracyByKind, PairsResult, PairsStatistics
from metaeval.runs import files as results
from metaeval.stats.significance.comparison import Shows
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
def result(run: Path) -> PairsResult:
    return load_run_files(run, PairsResult).result


def html_of(result: PairsResult, run: Path) -> str:
    return render(replace(load_run_files(run, PairsResult), result=result))


def text_of(result: PairsResult, run: Path) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html_of(result, run))).split())


def summary_of(result: PairsResult, run: Path) -> str:
    text = text_of(result, run)
    return text[text.index("Summary") : text.index("How often the truth is preferred")]


def metrics(result: PairsResult) -> list[MetricResult[PairsStatistics]]:
    return [m for m in result.metrics if kind_of(m) == "result"]


def with_controls(result: PairsResult, **changes: object) -> PairsResult:
    """The result with these fields changed in every comparison of metrics with a control."""
    controls = {
        comparison: {kind: c.model_copy(update=changes) for kind, c in kinds.items()}
        for comparison, kinds in result.controls.items()
    }
    return result.model_copy(update={"controls": controls})


def with_verdicts(result: PairsResult, *shows: Shows) -> PairsResult:
    values = {"control": "Brevity", "control_value": 0.988, "best": "ROUGE-L", "best_value": 0.891}
    kinds = {
        kind: c.model_copy(update={**values, "shows": verdict})
        for (kind, c), verdict in zip(result.controls[TRUE].items(), shows, strict=True)
    }
    return result.model_copy(update={"controls": {**result.controls, TRUE: kinds}})


def with_means(result: PairsResult, means: dict[str, dict[str, float]]) -> PairsResult:
    """The result with these means: comparison → metric → mean accuracy."""
    changed = []
    for metric in result.metrics:
        if metric.statistics is not None:
            accuracy = dict(metric.statistics.accuracy)
            for comparison, values in means.items():
                if metric.name in values:
                    mean = accuracy[comparison].mean.model_copy(
                        update={"value": values[metric.name]}
                    )
                    accuracy[comparison] = accuracy[comparison].model_copy(update={"mean": mean})
            statistics = metric.statistics.model_copy(update={"accuracy": accuracy})
            metric = metric.model_copy(update={"statistics": statistics})
        changed.append(metric)
    return result.model_copy(update={"metrics": tuple(changed)})


def test_the_page_holds_the_numbers(run: Path, result: PairsResult) -> None:
    html = (run / results.REPORT).read_text(encoding="utf-8")
    for metric in result.metrics:
        if metric.statistics is not None:
            for accuracy in metric.statistics.accuracy.values():
                assert f'data-v="{accuracy.mean.value}"' in html
    assert html.count("<tbody data-items") == 3
    assert "skipped: " in html
    assert html.count('<table class="beats">') == 3
    assert "<code>accuracies.csv</code>" in html
    assert "Accuracy in percent, before and after" in html
    figure = ElementTree.parse(run / "figures" / "accuracy.svg").getroot()
    titles = [t.text for t in figure.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 5 * sum(m.ok for m in result.metrics)


def test_the_same_files_give_the_same_page(run: Path, capsys) -> None:
    before = (run / results.REPORT).read_bytes()
    assert main([str(run)]) == 0
    assert (run / results.REPORT).read_bytes() == before
    (run / "figures" / "accuracy.svg").unlink()
    assert main([str(run), "--no-figures"]) == 0
    assert not (run / "figures" / "accuracy.svg").exists()


def test_kinds_are_described_by_their_own_numbers(run: Path, result: PairsResult) -> None:
    """Each sentence on data for which it is true, and not on the others."""
    nothing = "a control gets as much as every metric"
    unsure = "no metric is significantly above the best control"
    undecidable = "cannot be decided with so few permutations or images"
    every = "By “true > false”, on every kind some metric is above the best control."
    text = summary_of(with_verdicts(result, "nothing", *["something"] * 4), run)
    assert (
        "By “true > false”, nothing is shown by replace_obj (Brevity 98.8%, best metric ROUGE-L "
        f"89.1%): {nothing}." in text
    )
    assert every not in text
    mixed = with_verdicts(result, "nothing", "unsure", "nothing", "unsure", "something")
    text = summary_of(mixed, run)
    assert "%) and replace_rel (Brevity 98.8%, best metric ROUGE-L 89.1%): a control" in text
    assert f"By “true > false”, on replace_att and swap_obj {unsure}." in text
    text = summary_of(with_verdicts(result, "undecidable", *["something"] * 4), run)
    assert "above the best control on replace_obj" in text
    assert undecidable in text
    assert f"on replace_obj {unsure}" not in text
    assert every not in text
    assert every in summary_of(with_verdicts(result, *["something"] * 5), run)
    text = text_of(
        result.model_copy(update={"controls": {TRUE: {}, PARAPHRASE: {}, BOTH: {}}}), run
    )
    assert every not in text
    assert "No control was scored, or no metric" in text
    assert "No control was scored" not in text_of(result, run)


def test_one_metric_is_compared_with_no_other(run: Path, result: PairsResult) -> None:
    fewer = "Fewer than two metrics to compare."
    assert fewer not in text_of(result, run)
    kept = [m for m in result.metrics if m.column.control or m.name == "ROUGE-L"]
    differences = {
        name: compared.model_copy(update={"pairs": ()})
        for name, compared in result.differences.items()
    }
    alone = result.model_copy(update={"metrics": tuple(kept), "differences": differences})
    assert fewer in text_of(alone, run)


def test_what_is_not_above_a_control_is_marked(run: Path, result: PairsResult) -> None:
    n = len(metrics(result))

    def marks(result: PairsResult) -> int:
        return html_of(result, run).count(">not above<")

    def comparison(name: str, p: float = 0.01, decidable: bool = True) -> Comparison:
        one = next(iter(result.controls[TRUE].values())).comparisons[0]
        test = one.tests[0].model_copy(update={"p_adjusted": p, "decidable": decidable})
        difference = one.difference.model_copy(update={"value": 0.2})
        return one.model_copy(update={"a": name, "difference": difference, "tests": (test,)})

    above = tuple(comparison(m.name) for m in metrics(result))
    assert marks(with_controls(result, comparisons=above)) == 0
    below = tuple(comparison(m.name, 0.9) for m in metrics(result))
    assert marks(with_controls(result, comparisons=below)) == 3 * 5 * n
    assert marks(with_controls(result, comparisons=(below[0], *above[1:]))) == 3 * 5
    undecidable = comparison(metrics(result)[0].name, 0.9, decidable=False)
    assert marks(with_controls(result, comparisons=(undecidable, *above[1:]))) == 0


def test_the_first_sentence_names_the_group_that_no_test_separates(
    run: Path, result: PairsResult
) -> None:
    """BLEU-1 has the highest value in both; one time a test separates it from ROUGE-L, one not."""
    names = [m.name for m in metrics(result)]
    means = dict.fromkeys(names, 0.5) | {"BLEU-1": 0.8, "ROUGE-L": 0.79}

    def changed(pair: Comparison, p: float) -> Comparison:
        p = p if {pair.a, pair.b} == {"BLEU-1", "ROUGE-L"} else 0.001
        tests = tuple(t.model_copy(update={"p_adjusted": p}) for t in pair.tests)
        gap = pair.difference.model_copy(update={"value": means[pair.a] - means[pair.b]})
        return pair.model_copy(update={"tests": tests, "difference": gap})

    def text(p: float) -> str:
        family = result.differences[TRUE]
        pairs = tuple(changed(pair, p) for pair in family.pairs)
        differences = {**result.differences, TRUE: family.model_copy(update={"pairs": pairs})}
        return summary_of(
            with_means(result, {TRUE: means}).model_copy(update={"differences": differences}), run
        )

    assert "BLEU-1 prefers the true caption most often: in 80.0%" in text(0.01)
    tied = "BLEU-1 prefers the true caption most often (ROUGE-L not separated from it): in 80.0%"
    assert tied in text(0.5)
    assert tied not in text(0.01)
    assert tied in text(0.05)  # strictly below alpha


def test_the_mean_over_informative_kinds_is_reported_too(run: Path, result: PairsResult) -> None:
    shown = with_verdicts(result, "nothing", "something", *["nothing"] * 3)
    accuracy = Accuracy(value=0.803, low=0.7, high=0.9, n=5, ties=0.0, untied=0.803)
    changed = []
    for metric in shown.metrics:
        if metric.statistics is not None:
            by_kind = dict(metric.statistics.accuracy)
            by_kind[TRUE] = AccuracyByKind(
                kinds=by_kind[TRUE].kinds, mean=by_kind[TRUE].mean, mean_of_shown=accuracy
            )
            statistics = metric.statistics.model_copy(update={"accuracy": by_kind})
            metric = metric.model_copy(update={"statistics": statistics})
        changed.append(metric)
    text = summary_of(shown.model_copy(update={"metrics": tuple(changed)}), run)
    assert "above the controls (replace_att), the accuracy of BLEU-1 is 80.3%" in text
    every = with_verdicts(result, *["something"] * 5)
    assert "above the controls (replace_att)" not in summary_of(every, run)


def test_a_hard_paraphrase_is_a_finding(run: Path, result: PairsResult) -> None:
    names = [m.name for m in metrics(result)]

    def text(easy: float, hard: float) -> str:
        same = dict.fromkeys(names, 0.6)
        means = {TRUE: same | {names[-1]: easy}, PARAPHRASE: same | {names[-1]: hard}}
        return text_of(with_means(result, means), run)

    assert "ROUGE-L falls from 88.0% to 46.0%; one of five metrics prefers the paraphrase" in text(
        0.88, 0.46
    )
    assert "ROUGE-L falls from 88.0% to 70.0%." in text(0.88, 0.7)
    assert "is preferred to the false near-copy much less often" not in text(0.6, 0.55)


def with_facts(result: PairsResult, **changes: int) -> PairsResult:
    return result.model_copy(update={"facts": result.facts.model_copy(update=changes)})


def test_counts_that_matter_are_findings(run: Path, result: PairsResult) -> None:
    none = with_facts(result, near_copies=0, false_among_references=0)
    text = summary_of(none.model_copy(update={"refinement": None}), run)
    assert "a reference is nearly the true caption" not in text
    assert "are called false" not in text
    assert "are left when" not in text
    assert 'id="refinement"' not in html_of(none.model_copy(update={"refinement": None}), run)
    kept = with_facts(
        result, near_copies=5, near_copies_dropped=0, false_among_references=2, pairs=25
    )
    text = summary_of(kept, run)
    assert "In 20.0% of the pairs a reference is nearly the true caption" in text
    assert "2 captions that are called false are among the references." in text
    dropped = with_facts(result, near_copies=5, near_copies_dropped=5, pairs=25)
    assert "a reference is nearly the true caption" not in summary_of(dropped, run)
    text = summary_of(result, run)
    assert re.search(r"Of 25 pairs \d+ are left when Brevity is right as often as wrong", text)
    assert "fewer than 100 are left" in text
    assert result.refinement is not None
    many = result.refinement.model_copy(update={"kinds": dict.fromkeys(result.kinds, 100)})
    changed = result.model_copy(update={"refinement": many})
    assert "fewer than 100 are left" not in summary_of(changed, run)


def test_too_few_permutations_are_a_finding(run: Path, result: PairsResult) -> None:
    """10 pairs at 0.05: 10 / (R + 1) < 0.05 from R = 200 on; 5 kinds × 5 metrics: from 500 on."""

    def text(permutations: int) -> str:
        settings = result.settings.model_copy(update={"permutations": permutations})
        return text_of(result.model_copy(update={"settings": settings}), run)

    pairs = "Differences between metrics cannot be decided with"
    against = "Metrics × kinds cannot be decided with"
    assert f"{pairs} 100 permutations: 10 hypotheses" in text(100)
    assert f"{against} 100 permutations: 25 hypotheses" in text(100)
    assert pairs not in text(200)
    assert against in text(200)
    assert against not in text(500)


def test_a_sweep_of_such_runs_is_gathered(run: Path, tmp_path: Path) -> None:
    """The accuracies are drawn."""
    for job in ("0", "1"):
        shutil.copytree(run, tmp_path / job)
    html = write_sweep(tmp_path).read_text(encoding="utf-8")
    assert "Sweep of pairs" in html
    assert b"accuracy, true" in (tmp_path / "sweep.svg").read_bytes()
    assert (tmp_path / "sweep.csv").read_text().count("ROUGE-L") == 2


def test_in_a_browser(run: Path) -> None:
    """No request, no error; it sorts and switches, and fits a small screen in both themes."""
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
