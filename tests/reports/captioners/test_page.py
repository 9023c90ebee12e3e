"""The captioners' report: what it says, and in a real Chromium from file:// what it does."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from metaeval.errors import InputError, StrictError
from metaeval.reports.__main__ import main
from metaeval.reports.captioners.page import write_report
from metaeval.reports.captioners.run import read_captioners_run
from metaeval.reports.shared.provenance import reproduction
from metaeval.results.captioners import CaptionersStatistics
from metaeval.results.files import write_result
from metaeval.results.metric import MetricResult
from metaeval.runs import files as results
from tests.reports.browser import EXECUTABLE, Page, chromium
from tests.reports.captioners.captioners_files import HOSTILE, SYSTEMS, write_captioners_run
from tests.reports.graded.test_page import Reader, unpacked
from tests.results.examples import choice_result


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_captioners_run(tmp_path_factory.mktemp("captioners"))
    write_report(path, examples=4)
    return path


@pytest.fixture(scope="module")
def reader(run: Path) -> Reader:
    return Reader((run / "report.html").read_text(encoding="utf-8"))


def scores_of(run: Path) -> list[MetricResult[CaptionersStatistics]]:
    """The scores of systems that ran."""
    return [m for m in read_captioners_run(run).result.metrics if m.ok]


def test_scores_rankings_and_tests_stand_in_the_html(run: Path, reader: Reader) -> None:
    scores = scores_of(run)
    assert len(scores) == 4 * 2 + 2
    for m in scores:
        assert m.name in reader.words
        for system in m.numbers.systems.values():
            assert f"{system.value:.4f}" in reader.words
        for pair in m.numbers.neighbours.pairs:
            assert f"{pair.tests[0].p_adjusted:.3f}" in reader.words
    assert "good is first by two of three scores" in reader.words
    assert "mute" in reader.words
    assert "four images; its scores are those of the others" in reader.words
    assert "Skipped: " in reader.words  # CLIPScore, without images


def test_the_page_says_what_orders_captions_without_a_match(run: Path, tmp_path: Path) -> None:
    """pycocoevalcap adds 1e-15 to the matches and 1e-9 to the n-grams (bleu_scorer.py)."""
    loaded = read_captioners_run(run)
    row = ("BLEU without a match", "captions ordered by pycocoevalcap's constants, 1e-15 and 1e-9")
    assert row in reproduction(loaded, {}).settings
    others = tuple(m for m in loaded.result.metrics if m.family != "bleu")
    without = replace(loaded, result=loaded.result.model_copy(update={"metrics": others}))
    assert row not in reproduction(without, {}).settings


def test_same_files_same_bytes(run: Path) -> None:
    first = (run / "report.html").read_bytes()
    write_report(run, examples=4)
    assert (run / "report.html").read_bytes() == first


def test_hostile_names_and_captions_stay_text(run: Path, reader: Reader) -> None:
    assert len(reader.executed) == 1
    assert "pwned" not in reader.executed[0]
    assert "img" not in reader.tags
    assert "<b>poor" in reader.words
    rows = json.loads(unpacked(reader.data["data-captions"]))
    assert any(HOSTILE in caption for row in rows for caption in row[2] if caption)


def test_the_data_is_that_of_the_run(run: Path, reader: Reader) -> None:
    loaded = read_captioners_run(run)
    rows = json.loads(unpacked(reader.data["data-captions"]))
    assert [row[0] for row in rows] == list(loaded.image_ids)
    for i, row in enumerate(rows):
        assert row[2] == [captions[i] for captions in loaded.captions]
        assert tuple(row[3]) == loaded.references[i]
        assert len(row[3]) == 5
    assert [row[2][loaded.systems.index("<b>poor")] for row in rows].count(None) == 4
    planes = np.frombuffer(unpacked(reader.data["data-scores"]), dtype=np.uint8)
    read = np.ascontiguousarray(planes.reshape(4, -1).T).view("<f4").reshape(loaded.scores.shape)
    np.testing.assert_allclose(read, loaded.scores, rtol=5e-5)  # five digits


def test_too_much_for_the_limit_keeps_what_metrics_disagree_on(tmp_path: Path) -> None:
    path = write_captioners_run(tmp_path, 60)
    whole = write_report(path).stat().st_size
    words = Reader((path / "report.html").read_text()).words
    assert "All 300 images are in this file." in words
    assert "This file holds" not in words
    limit = whole - 4_000
    write_report(path, max_bytes=limit)
    assert (path / "report.html").stat().st_size <= limit
    page = Reader((path / "report.html").read_text())
    loaded = read_captioners_run(path)
    kept = [row[0] for row in json.loads(unpacked(page.data["data-captions"]))]
    assert 20 < len(kept) < 300
    worst = loaded.most_disagreement_first()[: len(kept)]
    assert sorted(kept) == sorted(loaded.image_ids[i] for i in worst)
    assert f"This file holds {len(kept)} of 300 images" in page.words
    assert "images are in this file" not in page.words


def test_a_run_whose_metrics_are_all_skipped(reader: Reader, tmp_path: Path) -> None:
    with pytest.raises(StrictError, match="no metric has scores: clipscore skipped: "):
        write_captioners_run(tmp_path, 4, "metrics=[clipscore]")
    path = tmp_path / "run"
    write_report(path)
    words = Reader((path / "report.html").read_text()).words
    assert "No metric ran." in words
    assert "No metric ran against Human." in words
    assert "No metric ran" not in reader.words


def test_another_experiments_run_is_refused(run: Path, tmp_path: Path) -> None:
    for name in (results.STATISTICS, results.RUN):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    with pytest.raises(InputError, match="file not found"):
        read_captioners_run(tmp_path)
    write_result(tmp_path / results.STATISTICS, choice_result({"m": []}, [], {}))
    with pytest.raises(InputError, match="is a run of experiment=forced_choice"):
        read_captioners_run(tmp_path)


def test_the_command_rebuilds(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(run)]) == 0
    assert capsys.readouterr().out.strip() == str(run / "report.html")
    assert main([str(run / "gone")]) == 2
    assert capsys.readouterr().err.startswith("error: ")


# ---- in the browser ----

browser = pytest.mark.skipif(EXECUTABLE is None, reason="no Chromium on PATH")


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as tab:
        yield tab


@pytest.fixture
def opened(page: Page, run: Path) -> Page:
    write_report(run, examples=4)
    page.errors.clear()
    page.requests.clear()
    page.size(1280, 900)
    page.media("light")
    page.open((run / "report.html").as_uri())
    page.wait("document.querySelectorAll('.card').length")
    return page


def choose(page: Page, selector: str, value: str) -> None:
    page.run(
        f"(() => {{ const s = document.querySelector('{selector}'); s.value = {json.dumps(value)};"
        f" s.dispatchEvent(new Event('change')); }})()"
    )
    page.run("new Promise(r => setTimeout(r, 100))")


def texts(page: Page, selector: str) -> list[str]:
    contents: list[str] = page.run(
        f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)"
    )
    return contents


@browser
def test_silent_and_self_contained(opened: Page, run: Path) -> None:
    assert opened.requests == [(run / "report.html").as_uri()]
    assert opened.errors == []
    assert opened.run("window.pwned") is None


@browser
def test_cards_come_by_disagreement_and_show_all_systems(opened: Page, run: Path) -> None:
    loaded = read_captioners_run(run)
    order = [loaded.image_ids[i] for i in loaded.most_disagreement_first()]
    shown = [re.match(r"Image (\d+)", t) for t in texts(opened, ".card h3")]
    assert [int(m[1]) for m in shown if m] == order[:4]
    opened.run("document.querySelector('#more').click()")
    opened.wait("document.querySelectorAll('.card').length === 8")
    systems = texts(opened, ".card:first-child tbody th")
    assert sorted(systems) == sorted(SYSTEMS)
    # by the chosen metric's score, best first
    scores = opened.run(
        "[...document.querySelectorAll('.card:first-child tbody tr')]"
        ".map(r => Number(r.cells[2].title))"
    )
    assert scores == sorted(scores, reverse=True)


@browser
def test_conflicts_of_two_metrics_are_those_of_the_definition(opened: Page, run: Path) -> None:
    loaded = read_captioners_run(run)
    a, b = loaded.columns.index("BLEU-1"), loaded.columns.index("ROUGE-L")
    scaled = [loaded.scores[m] / np.nanstd(loaded.scores[m]) for m in (a, b)]
    sizes = np.full(len(loaded.image_ids), -1.0)
    for i in range(len(sizes)):
        for s in range(4):
            for t in range(4):
                lead, behind = (x[s, i] - x[t, i] for x in scaled)
                if min(lead, -behind) > 0:
                    sizes[i] = max(sizes[i], min(lead, -behind))
    choose(opened, "#by", "BLEU-1")
    choose(opened, "#other", "ROUGE-L")
    n = int((sizes > 0).sum())
    assert 0 < n < len(sizes)
    assert f"contradict each other on {n} of them" in texts(opened, "#status")[0]
    choose(opened, "#sort", "conflict")
    first = int(re.match(r"Image (\d+)", texts(opened, ".card h3")[0])[1])  # type: ignore[index]
    assert sizes[loaded.image_ids.index(first)] == pytest.approx(sizes.max(), rel=1e-3)
    assert len(texts(opened, ".card:first-child td.one")) == 2
    opened.run("document.querySelector('#more').hidden || document.querySelector('#more').click()")
    heads = texts(opened, ".card h3")
    for head in heads:
        image = re.match(r"Image (\d+)", head)
        assert image is not None
        i = loaded.image_ids.index(int(image[1]))
        pair = re.search(r"; BLEU-1 prefers (.+) to (.+) by .*, ROUGE-L the opposite by", head)
        assert (pair is not None) == (sizes[i] > 0)
        assert ("; BLEU-1 and ROUGE-L do not contradict each other" in head) == (sizes[i] <= 0)
        if pair:  # the scores say so
            s, t = (loaded.systems.index(name) for name in pair.groups())
            assert scaled[0][s, i] > scaled[0][t, i]
            assert scaled[1][s, i] < scaled[1][t, i]
    assert {"prefers" in head for head in heads} == {True, False}


@browser
def test_search_by_word_and_by_id(opened: Page) -> None:
    for word, images in (("pasta", 4), ("7", 1), ("nothing like it", 0)):
        opened.run(f"(() => {{ query.value = {json.dumps(word)}; return find(); }})()")
        assert texts(opened, "#status")[0].startswith(f"{images} of 20 images")
    opened.run("(() => { query.value = ''; return find(); })()")


@browser
def test_table_sorts_and_switches_between_corpus_and_mean(opened: Page) -> None:
    def visible() -> list[str]:
        heads: list[str] = opened.run(
            "[...document.querySelectorAll('#metrics thead th')].filter(t => t.offsetWidth)"
            ".map(t => t.querySelector('button').textContent)"
        )
        return heads

    assert "BLEU-4corpus" in visible()
    assert "BLEU-4mean" not in visible()
    opened.run("document.querySelector('input[name=aggregate][value=mean]').click()")
    assert "BLEU-4mean" in visible()
    assert "BLEU-4corpus" not in visible()
    assert "CIDEr" in visible()
    opened.run("document.querySelector('#metrics [data-key=metric] button').click()")
    names = texts(opened, "#metrics tbody th")
    assert names == sorted(names, key=str.lower)


@browser
def test_one_matrix_at_a_time(opened: Page) -> None:
    shown = (
        "[...document.querySelectorAll('.level')].filter(l => !l.hidden).map(l => l.dataset.level)"
    )
    assert opened.run(shown) == ["within_image"]
    opened.run("document.querySelector('input[name=level][value=systems]').click()")
    assert opened.run(shown) == ["systems"]


@browser
def test_downloads_hold_what_the_run_holds(opened: Page, run: Path) -> None:
    lines = list(csv.DictReader(io.StringIO(opened.run("tableCsv().then(l => l.join(''))"))))
    done = {(r["metric"], r["system"]): r for r in lines}
    human = {m.name: m.numbers.systems for m in read_captioners_run(run).result.against_human}
    for m in scores_of(run):
        ahead_of = dict(pairwise(m.numbers.ranking))
        for k, name in enumerate(m.numbers.ranking):
            line, score = done[m.name, name], m.numbers.systems[name]
            assert (float(line["score"]), int(line["n"])) == (score.value, score.n)
            assert (float(line["score_low"]), float(line["score_high"])) == score.interval
            assert int(line["rank"]) == k + 1
            assert line["ahead_of"] == ahead_of.get(name, "")
            if name in ahead_of:
                pair = m.numbers.neighbours.pairs[k]
                written = [
                    float(line[key])
                    for key in ("p_permutation", "p_permutation_holm", "p_bootstrap",
                                "p_bootstrap_holm")
                ]  # fmt: skip
                assert written == [p for t in pair.tests for p in (t.p, t.p_adjusted)]
            rho = line["rank_order_rho_against_human"]
            if m.numbers.aggregate == "corpus":
                assert rho == ""
            else:
                duel = human[m.numbers.sentence_column][name]
                assert float(rho) == duel.rank_order_rho.value
    assert [r["status"] for r in lines if r["metric"] == "CLIPScore"] == ["skipped"]
    assert next(r["reason"] for r in lines if r["metric"] == "CLIPScore")
    captions = list(csv.DictReader(io.StringIO(opened.run("scoresCsv().then(l => l.join(''))"))))
    table = results.read_table(run / results.SCORES)
    written = {(r["image_id"], r["system"]): r for r in captions}
    assert len(written) == 20 * 4 - 4
    for row in table.itertuples():
        text = written[str(row.image_id), row.set][row.metric]
        assert text == "" if np.isnan(row.score) else float(text) == pytest.approx(
            row.score, rel=5e-5
        )  # fmt: skip


@browser
def test_narrow_screens_do_not_scroll_sideways_and_both_themes_are_legible(opened: Page) -> None:
    for width in (360, 768, 1280):
        opened.size(width, 800)
        assert opened.run("document.documentElement.scrollWidth <= innerWidth")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = opened.run(paper)
    opened.media("dark")
    assert opened.run(paper) != light


@browser
def test_without_javascript_tables_are_there(page: Page, run: Path) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open((run / "report.html").as_uri())
        page.call("Emulation.setScriptExecutionDisabled", value=False)
        assert page.run("document.querySelectorAll('#metrics tbody tr').length") == 4
        assert page.run("[...document.querySelectorAll('.level')].every(l => l.offsetHeight)")
        assert page.run("document.querySelectorAll('.card').length") == 0
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)
