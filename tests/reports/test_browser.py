"""The report in a real headless Chromium, opened from file://."""

import csv
import io
import time
from pathlib import Path

import numpy as np
import pytest

from metaeval.reports.measured import write_report
from metaeval.reports.sweep.page import write_sweep
from metaeval.runs import files as results
from tests.reports.browser import Page
from tests.reports.run_files import HOSTILE, IMAGES, absent, corrupt, scores_of, write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Honest and hostile captions, a metric with ties, an absent one, some unapplied items."""
    images = [*IMAGES, *HOSTILE]
    captions = corrupt(images, 3)
    odd = (captions["set"] == "Replace 25%") & (captions["image_id"] % 2 == 1)
    captions.loc[odd, "caption"] = captions["source_caption"]
    captions.loc[odd, "applied"] = False
    captions["edits"] = [[] if o else e for o, e in zip(odd, captions["edits"], strict=True)]
    scores = scores_of(captions, images)
    scores["rounded"] = np.round(scores["chrF"], 1)
    scores["rounded"][2] = np.nan
    path = write_run(
        tmp_path_factory.mktemp("run"), images, captions=captions, scores=scores,
        absents=[absent("SPICE", "skipped", "no parser", "install it")],
    )  # fmt: skip
    write_report(path, examples=20)
    return path


@pytest.fixture
def opened(page: Page, run: Path) -> Page:
    page.open_report(run)
    return page


def column(page: Page, index: int) -> list[str]:
    return page.run(
        f"[...document.querySelectorAll('#metrics tbody:not([hidden]) tr')]"
        f".map(r => r.cells[{index}]?.dataset.v ?? r.className)"
    )


def test_silent_and_self_contained(opened: Page, run: Path) -> None:
    assert opened.requests == [(run / "report.html").as_uri()]
    assert opened.errors == []
    assert (run / "report.html").stat().st_size < 5_000_000
    # the policy is in force: a request is refused before it leaves
    refused = opened.run("fetch('https://example.org').then(() => 'sent', () => 'refused')")
    assert refused == "refused"
    assert (
        opened.run("document.querySelectorAll('[src], link[href]:not([href^=data])').length") == 0
    )


def test_headers_sort_by_click_and_by_keyboard(opened: Page) -> None:
    head = "document.querySelector('[data-key=\"4\"]')"
    opening = column(opened, 1)
    opened.run(f"{head}.querySelector('button').click()")
    index = opened.run(f"{head}.cellIndex")
    down = column(opened, index)
    for *numbers, last in (opening, down):
        assert [*map(float, numbers)] == sorted(map(float, numbers), reverse=True)
        assert last == "absent"
    assert opened.run(f"{head}.ariaSort") == "descending"
    opened.run(f"{head}.querySelector('button').focus()")
    opened.press("Enter", 13)
    assert column(opened, index) == [*reversed(down[:-1]), "absent"]
    opened.run("document.querySelector('[data-key=metric] button').click()")
    assert column(opened, 0) == ["chrf", "rounded", "sacrebleu", "spice"]


def test_theme_button_and_preference(opened: Page) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light = opened.run(background)
    opened.media("dark")
    dark = opened.run(background)
    assert light != dark
    opened.media("light")
    button = "document.querySelector('#theme')"
    seen = []
    for _ in range(3):
        opened.run(f"{button}.click()")
        seen.append((opened.run(f"{button}.textContent"), opened.run(background)))
    assert seen == [("Light", light), ("Dark", dark), ("Auto", light)]


def test_hostile_captions_are_text_and_nothing_else(opened: Page) -> None:
    assert opened.run("window.pwned === undefined")
    assert opened.run("document.querySelectorAll('.card script, .card img').length") == 0
    cards = opened.run("""[...document.querySelectorAll('.card')].map(
        c => [c.ariaLabel, c.querySelector('td.text').textContent,
              [...c.querySelectorAll('li')].map(item => item.textContent)])""")
    hostile = [[f"Image {image}", text, list(references)] for image, text, references in HOSTILE]
    assert (len(cards), sorted(card for card in cards if card in hostile)) == (11, hostile)


def test_worst_inversions_come_first_for_any_metric(opened: Page, run: Path) -> None:
    scores = results.read_run_table(run / "scores.parquet")
    unchanged = ~results.read_run_table(run / "captions.parquet")["applied"].to_numpy()
    assert unchanged.any()
    said = "Captions that came out unchanged are in no inversion."
    assert said in (run / "report.html").read_text(encoding="utf-8")
    for metric in ("SacreBLEU", "rounded"):
        rows = scores[scores["metric"] == metric].reset_index(drop=True)
        rows.loc[unchanged, "score"] = np.nan  # an unchanged caption is in no inversion
        wide = rows.pivot(index="image_id", columns="level", values="score")
        severity = {
            i: np.nanmax([row[a] - row[b] for b in range(4) for a in range(b)])
            for i, row in wide.iterrows()
        }
        opened.run(f"{{ const s = document.querySelector('#by'); s.value = '{metric}';"
                   f" s.dispatchEvent(new Event('change')); }}")  # fmt: skip
        opened.wait(f"document.querySelector('.card th.by').textContent === '{metric}'")
        shown = opened.run("[...document.querySelectorAll('.card')].map(c => c.ariaLabel)")
        severities = [severity[int(label.split()[1])] for label in shown]
        assert np.allclose(severities, sorted(severity.values(), reverse=True), atol=1e-9)
        count = sum(v > 0 for v in severity.values())
        assert f"an inversion in {count} of them" in opened.run(
            "document.querySelector('#status').textContent"
        )


def test_search_by_word_and_by_id(opened: Page) -> None:
    def search(text: str) -> list[str]:
        opened.run(f"{{ const q = document.querySelector('#query'); q.value = {text!r};"
                   f" q.dispatchEvent(new Event('input')); }}")  # fmt: skip
        time.sleep(0.5)  # the field waits for a pause in typing
        return opened.run("[...document.querySelectorAll('.card')].map(c => c.ariaLabel)")

    assert search("36") == ["Image 36"]
    assert "Image 30" in search("PASTA")
    assert opened.run("document.querySelector('.card mark').textContent.toLowerCase()") == "pasta"
    assert search("</script>") == ["Image 70"] or "Image 70" in search("</script>")
    assert search("no such word") == []


def test_marks_and_unchanged_captions(opened: Page, run: Path) -> None:
    captions = results.read_run_table(run / "captions.parquet")
    row = captions[(captions["image_id"] == 36) & (captions["set"] == "Replace 50%")].iloc[0]
    cell = "[aria-label='Image 36'] tbody tr:nth-child(3)"
    inserted = opened.run(
        f'[...document.querySelectorAll("{cell} ins.s")].map(n => n.lastChild.textContent)'
    )
    struck = opened.run(f'[...document.querySelectorAll("{cell} del")].map(n => n.textContent)')
    edits = [e for e in row["edits"] if e["before"] != e["after"]]
    assert len(edits) >= 3
    assert inserted == [e["after"] for e in row["edits"]]
    assert struck == [e["before"] for e in row["edits"]]
    unchanged = opened.run("""[...document.querySelectorAll('.card')].filter(
        c => c.querySelector('em')).map(c => Number(c.ariaLabel.slice(6)))""")
    assert sorted(unchanged) == sorted(captions[~captions["applied"]]["image_id"])


def test_csv_files_made_in_the_browser(opened: Page, run: Path) -> None:
    scores = list(csv.DictReader(io.StringIO(opened.run("scoresCsv().then(l => l.join(''))"))))
    table = results.read_run_table(run / "scores.parquet")
    captions = results.read_run_table(run / "captions.parquet")
    assert len(scores) == len(captions)
    downloaded = {(r["image_id"], r["set"]): r for r in scores}
    rows = zip(table["image_id"].astype(str), table["set"], table["metric"], strict=True)
    read = [float(downloaded[i, name][metric] or "nan") for i, name, metric in rows]
    assert read == pytest.approx(table["score"].tolist(), rel=5e-5, nan_ok=True)
    keys = zip(captions["image_id"].astype(str), captions["set"], strict=True)
    assert [downloaded[key]["caption"] for key in keys] == captions["caption"].tolist()


def test_print_hides_controls_and_stays_light(opened: Page) -> None:
    opened.media("dark", "print")
    assert opened.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert opened.run("getComputedStyle(document.querySelector('nav')).display") == "none"


def test_without_javascript_the_words_and_the_table_are_there(page: Page, run: Path) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open((run / "report.html").as_uri())
        page.call("Emulation.setScriptExecutionDisabled", value=False)
        assert page.run("document.querySelector('#answer').innerText").count("rounded") >= 1
        assert page.run("document.querySelectorAll('#metrics tbody:not([hidden]) tr').length") == 4
        assert page.run("getComputedStyle(document.querySelector('#theme')).display") == "none"
        assert page.run("document.querySelectorAll('.card').length") == 0
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)


def test_sweep_page(page: Page, tmp_path: Path) -> None:
    for k in range(2):
        write_run(tmp_path / str(k), seed=k, run={"overrides": [f"a={k}"]})
    path = write_sweep(tmp_path)
    page.open(path.as_uri())

    def values(table: int, clicks: int = 0) -> list[float]:
        """The values of a setting (a=0), after clicks on its head."""
        head = (
            f"document.querySelectorAll('table.metrics')[{table}].querySelector('[data-key=\"2\"]')"
        )
        for _ in range(clicks):
            page.run(f"{head}.querySelector('button').click()")
        rows = f"[...{head}.closest('table').tBodies[0].rows]"
        return [float(v) for v in page.run(f"{rows}.map(r => r.cells[{head}.cellIndex].dataset.v)")]

    first = values(0, clicks=1)
    assert first == [0.85, 0.8125]
    # the second table sorts by itself, and leaves the first as it is
    assert values(1, clicks=2) == [0.9375, 1.0]
    assert values(0) == first
    assert page.errors == []
    assert [r for r in page.requests if not r.startswith("data:")] == [path.as_uri()]
