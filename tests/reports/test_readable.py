"""Pages on a desktop and on a telephone: nothing cut off, no text below 11 pixels, in Chromium."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from metaeval.cli.main import run_verb
from metaeval.runs import files
from tests.data.pairs.pair_files import coco, sugarcrepe_pp
from tests.experiments.captioners.captioners_files import write_captioners_run
from tests.experiments.judgments.test_judgments import own_table, run_in as run_judgments
from tests.experiments.pairs.test_pairs import run_in as run_pairs
from tests.reports.browser import Page
from tests.reports.run_files import write_run
from tests.shared import run_here

SMALLEST = 11.0  # pixels of the screen
WIDTHS = (1400, 390)

# what sticks out of the window and is not in something that scrolls
STICKS_OUT = """(() => {
  const scrolls = (e) => e && (['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX)
    || scrolls(e.parentElement));
  return [...document.querySelectorAll('main *, nav *')].filter((e) => {
    const box = e.getBoundingClientRect();
    return box.width && !e.closest('.vh, .tip') && !scrolls(e.parentElement)
      && (box.right > innerWidth + 1 || box.left < -1);
  }).map((e) => `${e.tagName} ${e.getAttribute('class')} ${e.textContent.slice(0, 30)}`);
})()"""
# on a desktop no table needs to be scrolled
SCROLLED = """[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth)
  .map((e) => `${e.getAttribute('aria-label')} ${e.scrollWidth} in ${e.clientWidth}`)"""
TOO_SMALL = """(() => {
  const small = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !e.getClientRects().length || e.closest('.vh')) continue;
    if (['SCRIPT', 'STYLE', 'TITLE', 'title'].includes(e.tagName)) continue;
    const scale = e.getScreenCTM ? Math.abs(e.getScreenCTM().a) : 1;
    const size = parseFloat(getComputedStyle(e).fontSize) * scale;
    const name = `${e.tagName} ${e.getAttribute("class")}`;
    if (size < LEAST - 0.01) small.add(`${name} ${size.toFixed(1)}`);
  }
  return [...small];
})()""".replace("LEAST", str(SMALLEST))


def judgments(folder: Path) -> Path:
    table = own_table(folder, 12)
    run_judgments(
        folder, "dataset=table", f"dataset.file={table}",
        "metrics=[bleu,rouge_l,cider,clipscore,controls]",
    )  # fmt: skip
    return folder / "OUT"


def pairs(folder: Path) -> Path:
    sugarcrepe_pp(coco(folder))
    run_pairs(folder, "dataset=sugarcrepe_pp", "metrics=[bleu,rouge_l,controls]")
    return folder / "OUT"


def on_scenes(folder: Path, experiment: str, *overrides: str) -> Path:
    run_here(
        folder, f"experiment={experiment}", "dataset=scenes", "dataset.n=40",
        "stats.replicates=100", "report=none", "metrics=[bleu,rouge_l,length]", *overrides,
    )  # fmt: skip
    return folder / "OUT"


LARGE: Mapping[str, Callable[[Path], Path]] = {
    "graded": lambda folder: write_run(folder / "OUT"),
    "judgments": judgments,
    "captioners": write_captioners_run,
}
FAST_ATTACK = ("task.images=12", "task.budgets=[0,10]")
CHANGES = "task.corruptions=[wrong_colour,typos,lower_case]"
RUNS: Mapping[str, Callable[[Path], Path]] = {
    **LARGE,
    "pairs": pairs,
    "sensitivity": lambda folder: on_scenes(folder, "sensitivity", CHANGES),
    "references": lambda folder: on_scenes(folder, "references"),
    "sample_size": lambda folder: on_scenes(folder, "sample_size"),
    "attack": lambda folder: on_scenes(folder, "attack", *FAST_ATTACK),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a run of each kind, with its page, made once."""

    @cache
    def write(name: str) -> Path:
        run = RUNS[name](tmp_path_factory.mktemp(name))
        assert run_verb(["report", str(run)]) == 0
        return run

    return write


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_nothing_is_cut_off_or_too_small(
    name: str, page: Page, written: Callable[[str], Path]
) -> None:
    run = written(name)
    for width in WIDTHS:
        page.open((run / files.REPORT).as_uri(), width)
        page.run("document.querySelectorAll('details').forEach((d) => { d.open = true })")
        assert page.run(STICKS_OUT) == [], width
        assert page.run(TOO_SMALL) == [], width
        assert width != WIDTHS[0] or page.run(SCROLLED) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_what_a_paper_needs_is_there(name: str, page: Page, written: Callable[[str], Path]) -> None:
    """Each link saves the file of the run's folder, figures are there twice, and one can cite."""
    run = written(name)
    page.open((run / files.REPORT).as_uri())
    links = page.run(
        "Promise.all([...document.querySelectorAll('a[download]')].map(async (a) =>"
        " [a.download, decodeURIComponent(a.href.slice(a.href.indexOf(',') + 1))]))"
    )
    saved = dict(links)
    of_measures = {"measures.csv", "measures.tex", "measures.md"}
    assert of_measures <= set(saved) or name not in ("graded", "judgments")
    assert {Path(file).suffix for file in saved} == {".csv", ".tex", ".md"}
    assert saved == {f: (run / files.TABLES / f).read_text(encoding="utf-8") for f in saved}
    drawn = page.run(
        "[...document.querySelectorAll('a[href^=\"figures/\"]')].map((a) => a.getAttribute('href'))"
    )
    ranking = {"figures/ranking.svg", "figures/ranking.pdf"}
    assert ranking <= set(drawn) or name not in ("graded", "judgments")
    assert all((run / link).is_file() for link in drawn)
    vector, printed = (
        {Path(link).stem for link in drawn if link.endswith(form)} for form in ("svg", "pdf")
    )
    # only what a paper prints is a PDF by default; the cards of sensitivity are SVG and LaTeX
    assert printed == vector or (name == "sensitivity" and printed < vector)
    cited = page.run("document.querySelector('#cite').textContent")
    assert [text in cited for text in ("Scores by metaeval", "@software{metaeval,")] == [True] * 2
    assert page.errors == []


def test_the_measure_sees_what_is_wrong(page: Page, written: Callable[[str], Path]) -> None:
    run = written("graded")
    page.open((run / files.REPORT).as_uri(), 390)
    for wrong, measure in (
        ('<p style="width:900px">wide</p>', STICKS_OUT),
        ('<p style="font-size:8px">small</p>', TOO_SMALL),
        ('<svg viewBox="0 0 900 9" width="300"><text y="9">small</text></svg>', TOO_SMALL),
    ):
        assert page.run(measure) == []
        page.run(f"document.querySelector('main').insertAdjacentHTML('beforeend', `{wrong}`)")
        assert len(page.run(measure)) == 1
        page.run("document.querySelector('main').lastElementChild.remove()")


@pytest.mark.slow
def test_p_values_are_printed(page: Page, written: Callable[[str], Path]) -> None:
    run = written("judgments")
    page.open((run / files.REPORT).as_uri())
    assert page.run("document.querySelector('.pvalues').open") is False
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    assert page.run("document.querySelector('.pvalues').open") is True
    heads = page.run("[...document.querySelectorAll('.pvalues th')].map((e) => e.textContent)")
    assert {"A", "B", "A − B", "p after Holm", "n"} <= set(heads)
