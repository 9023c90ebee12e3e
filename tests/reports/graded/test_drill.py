"""The drawings of the drill-down in a real headless Chromium: what they show, how they behave."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metaeval.reports.measured import write_report
from metaeval.runs import files as results
from tests.experiments.vifidel_run import run_vifidel
from tests.reports.browser import EXECUTABLE, Page, chromium
from tests.reports.graded.explained_files import (
    REGIONS,
    alignment,
    grounding,
    matches,
    objects,
    tuples,
    write_explanations,
)
from tests.reports.run_files import HOSTILE, IMAGES, SCORERS, SETS, corrupt, write_run

pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="no Chromium on PATH")
HOSTILE_LABEL = "<img src=x onerror='window.pwned=1'>"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as browser:
        yield browser


@pytest.fixture(autouse=True)
def _neither_errors_nor_code(page: Page) -> Iterator[None]:
    yield
    assert page.errors == []
    assert page.run("window.pwned === undefined")


@pytest.fixture(scope="module")
def transport(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """VIFIDEL's own explanations of a real run."""
    pytest.importorskip("sklearn")
    return run_vifidel(tmp_path_factory.mktemp("vifidel"), "OUT")


@pytest.fixture(scope="module")
def grounded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Explanations of five kinds, for honest and hostile captions; two photos."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("grounded")
    images = [*IMAGES, *HOSTILE]
    captions = corrupt(images, 3)
    references = {image: refs for image, _, refs in images}
    pairs = list(zip(captions["image_id"], captions["caption"], strict=True))
    values = np.array([SCORERS["SacreBLEU"](c, references[i]) for i, c in pairs])
    columns = ("TIGEr", "FAIEr", "BERTScore", "SPICE", "CHAIR-i")
    noise = np.random.default_rng(0).normal(0, 0.1, (len(columns), len(values)))
    scores = {column: values + extra for column, extra in zip(columns, noise, strict=True)}
    run = write_run(folder, images, captions=captions, scores=scores)
    regions = [*REGIONS, {"label": HOSTILE_LABEL, "box": [0.1, 0.1, 0.2, 0.2]}]
    payloads: dict[str, dict[Any, dict[str, Any]]] = {column.lower(): {} for column in columns}
    for (image, name), text in captions.set_index(["image_id", "set"])["caption"].items():
        split = [refs.split() for refs in references[image]]
        payloads["tiger"].setdefault(image, {})[name] = grounding(regions, len(text))
        payloads["faier"].setdefault(image, {})[name] = matches(regions, text.split(), split)
        payloads["bertscore"].setdefault(image, {})[name] = alignment(text.split(), split)
        said = [] if name == "Human" else text.split()  # of which nothing was parsed
        payloads["spice"].setdefault(image, {})[name] = tuples(said, split)
        payloads["chair-i"].setdefault(image, {})[name] = objects(said, split)
    write_explanations(run, payloads, {column.lower(): [column] for column in columns})
    Image.new("RGB", (90, 60), "teal").save(folder / "photo.png")
    table = results.read_run_table(run / results.REFERENCES)
    shot = str(folder / "photo.png")
    table["image_path"] = [shot if i in (9, 25) else None for i in table["image_id"]]
    results.write_table(run / results.REFERENCES, table)
    write_report(run, figures=False, examples=20, photos=20)
    return run


def visit(page: Page, run: Path, metric: str) -> dict[str, Any]:
    """Open a report with the examples in a metric's order; the explanations of its first card."""
    page.errors.clear()
    page.requests.clear()
    page.size(1280, 900)
    page.media("light")
    page.open((run / "report.html").as_uri())
    page.wait("document.querySelectorAll('.card').length")
    page.run(f"{{ by.value = {json.dumps(metric)}; by.dispatchEvent(new Event('change')); }}")
    page.wait(
        f"document.querySelector('.card th.by')?.textContent === {json.dumps(metric)}"
        " && document.querySelectorAll('.card:first-child .drawing > *').length"
    )
    image = int(page.run("document.querySelector('.card').ariaLabel.split(' ')[1]"))
    explained = results.read_run_json(run / results.EXPLANATIONS)["metrics"]
    family = next(each for each in explained.values() if metric in each["columns"])
    return dict(next(e["sets"] for e in family["images"] if e["image_id"] == image))


def texts(page: Page, selector: str) -> list[str]:
    contents: list[str] = page.run(
        f"[...document.querySelectorAll({json.dumps('.card:first-child .why[open] ' + selector)})]"
        ".map(n => n.textContent)"
    )
    return contents


def choose(page: Page, name: str) -> None:
    page.run(f"""[...document.querySelectorAll('.card:first-child .why[open] .switch label')]
        .find(n => n.textContent === {json.dumps(name)}).firstChild.click()""")


def shown(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


@pytest.mark.slow
def test_every_flow_of_a_real_plan_is_drawn_and_labelled(page: Page, transport: Path) -> None:
    payloads = visit(page, transport, "VIFIDEL (gold objects)")
    assert texts(page, ".switch span") == ["Human", "Replace 25%", "Replace 50%", "Random"]
    known = {
        line.split()[0] for line in (transport.parent / "vectors.txt").read_text().splitlines()
    }
    assert any(payload["unknown_words"] for payload in payloads.values())
    for name, payload in payloads.items():
        choose(page, name)
        flows = [f for plan in payload["plans"].values() for f in plan["flows"]]
        assert len(flows) >= 4
        ribbons = texts(page, ".ribbon title")
        assert sorted(t.split(":")[0] for t in ribbons) == sorted(
            f"{f['object']} → {f['word']}" for f in flows
        )
        rows = texts(page, ".plan tbody tr")
        for flow, row in zip(flows, rows, strict=True):  # dearest first, as in the file
            assert row.startswith(flow["object"] + flow["word"])
            assert row.endswith(shown(flow["price"]) + shown(flow["cost"]))
        heads = texts(page, ".plan h4")
        for (column, plan), head in zip(payload["plans"].items(), heads, strict=True):
            assert f"{column} {shown(plan['score'])}= exp(−{shown(plan['distance'])})" in head
        left_out = texts(page, ".unknown b")
        unknown = [payload["unknown_objects"], payload["unknown_words"]]
        assert left_out == [", ".join(words) for words in unknown if words]
        assert not {w for words in unknown for w in words} & known
    assert page.requests == [(transport / "report.html").as_uri()]


@pytest.mark.slow
def test_ribbons_are_as_wide_as_the_mass_they_carry(page: Page, transport: Path) -> None:
    payloads = visit(page, transport, "VIFIDEL (gold objects)")
    choose(page, "Human")
    plan = payloads["Human"]["plans"]["VIFIDEL (gold objects)"]
    boxes = page.run("""[...document.querySelectorAll('.card .plan:first-child .ribbon')].map(r => {
        const n = r.getAttribute('d').match(/[-\\d.]+/g).map(Number);
        return [r.firstChild.textContent.split(':')[0], n[15] - n[1], n[9] - n[7],
                r.style.getPropertyValue('--w')];
    })""")
    masses = {f"{f['object']} → {f['word']}": f for f in plan["flows"]}
    widest = max(f["mass"] for f in plan["flows"])
    tallest = max(left for _, left, _, _ in boxes)
    dearest = max(
        f["price"]
        for each in payloads.values()
        for f in each["plans"]["VIFIDEL (gold objects)"]["flows"]
    )
    for name, left, right, colour in boxes:
        flow = masses[name]
        assert left == pytest.approx(right, abs=0.02)
        assert left / tallest == pytest.approx(flow["mass"] / widest, abs=0.01)
        assert float(colour[:-1]) == pytest.approx(100 * flow["price"] / dearest, abs=0.1)


def test_words_can_be_reached_and_read_by_keyboard(page: Page, transport: Path) -> None:
    visit(page, transport, "VIFIDEL (gold objects)")
    nodes = "document.querySelectorAll('.card:first-child .plan:first-child .node')"
    assert page.run(f"[...{nodes}].filter(n => n.getAttribute('tabindex') === '0').length") == 1
    page.run(f"{nodes}[0].focus()")
    seen = []
    for _ in range(3):
        label = page.run("document.activeElement.getAttribute('aria-label')")
        assert texts(page, ".told")[0] == label  # the label changes with the focus
        assert page.run("document.querySelectorAll('.chosen .ribbon.here').length") >= 1
        seen.append(label)
        page.press("ArrowDown", 40)
    assert len(set(seen)) == 3
    page.press("Home", 36)
    assert page.run("document.activeElement.getAttribute('aria-label')") == seen[0]
    page.run("document.activeElement.blur()")
    assert texts(page, ".told")[0] not in seen


def test_grounding_shades_the_same_regions_for_candidate_and_references(
    page: Page, grounded: Path
) -> None:
    payloads = visit(page, grounded, "TIGEr")
    every = [v for p in payloads.values() for key in ("candidate", "references") for v in p[key]]
    low, high = min(every), max(every)
    names = ["whole image", "top left", "horse", "person", "person 2", "region 6", HOSTILE_LABEL]
    for name, payload in payloads.items():
        choose(page, name)
        boxes = page.run("""[...document.querySelectorAll('.card:first-child .why[open] .view')]
            .map(view => [...view.querySelectorAll('.box')].map(
                b => [b.textContent, parseFloat(b.style.getPropertyValue('--w')),
                      parseFloat(b.style.left), parseFloat(b.style.width)]))""")
        for drawn, key in zip(boxes, ("candidate", "references"), strict=True):
            placed = {label: rest for label, *rest in drawn}
            assert sorted(placed) == sorted(names)
            # cells of the grid lie beneath all objects, even larger ones, and above nothing else
            assert [label for label, *_ in drawn][:2] == ["whole image", "top left"]
            for k, label in enumerate(names):
                shade, left, width = placed[label]
                assert shade == pytest.approx(100 * (payload[key][k] - low) / (high - low), abs=0.1)
                x1, _, x2, _ = (payload["regions"][k]["box"][j] for j in range(4))
                assert (left, width) == pytest.approx((100 * x1, 100 * (x2 - x1)), abs=0.01)
        rows = texts(page, ".weights tbody tr")
        order = np.argsort(-np.array(payload["references"]), kind="stable")
        expected = [
            f"{names[k]}{shown(payload['candidate'][k])}{shown(payload['references'][k])}"
            for k in order
        ]
        assert rows == expected
        assert texts(page, ".values span") == [
            f"{column} {shown(v)}" for column, v in payload["values"].items()
        ]
    page.run("document.querySelector('.card:first-child .weights tbody th').focus()")
    marked = page.run("[...document.querySelectorAll('.box.here')].map(b => b.textContent)")
    assert marked == [names[order[0]]] * 2


def test_matches_have_a_cell_a_word_and_region_and_shade_the_image(
    page: Page, grounded: Path
) -> None:
    payloads = visit(page, grounded, "FAIEr")
    for name, payload in payloads.items():
        choose(page, name)
        tables = page.run("""[...document.querySelectorAll(
            '.card:first-child .why[open] .heat')].map(
            table => [...table.tBodies].map(body => [...body.rows].map(row => [
                row.cells[0].textContent,
                [...row.querySelectorAll('.cell')].map(c => c.title.split(': ').at(-1)),
                [...row.querySelectorAll('.cell')].findIndex(c => c.classList.contains('best')),
                row.cells[row.cells.length - 1].textContent])))""")
        groups = [
            [
                (payload["words"], payload["matches"]),
                (payload["relations"], payload["relation_matches"]),
            ],
            *([(r["words"], r["matches"])] for r in payload["references"]),
        ]
        assert len(tables) == len(groups) == 5
        for bodies, expected in zip(tables, groups, strict=True):
            for body, (words, values) in zip(bodies, expected, strict=True):
                assert [row[0] for row in body] == words
                for (_, cells, best, most), numbers in zip(body, values, strict=True):
                    assert cells == [shown(v) for v in numbers]
                    assert (best, most) == (int(np.argmax(numbers)), shown(max(numbers)))
    page.run("document.querySelector('.card:first-child .heat tbody th').focus()")
    word = payload["words"][0]
    assert texts(page, ".seen figcaption") == [f"“{word}”"]
    tables = [each for p in payloads.values() for each in (p, *p["references"])]
    every = [v for each in tables for row in each["matches"] for v in row]
    low, high = min(every), max(every)
    shades = page.run("""[...document.querySelectorAll('.card:first-child .why[open] .box')].map(
        b => [b.textContent, parseFloat(b.style.getPropertyValue('--w'))])""")
    assert dict(shades)["horse"] == pytest.approx(
        100 * (payload["matches"][0][2] - low) / (high - low), abs=0.1
    )
    page.press("ArrowDown", 40)
    assert texts(page, ".seen figcaption") == [f"“{payload['words'][1]}”"]
    page.run("document.activeElement.blur()")
    assert texts(page, ".seen figcaption") == ["All words of the caption"]
    assert page.run("document.querySelectorAll('.card script').length") == 0


def test_alignment_marks_the_best_of_each_row_and_column(page: Page, grounded: Path) -> None:
    payloads = visit(page, grounded, "BERTScore")
    every = [
        v
        for p in payloads.values()
        for r in p["references"]
        for row in r["similarity"]
        for v in row
    ]
    low, high = min(every), max(every)
    for name, payload in payloads.items():
        choose(page, name)
        tables = page.run("""[...document.querySelectorAll(
            '.card:first-child .why[open] .heat')].map(table => [table.caption.textContent,
                [...table.tHead.rows[0].cells].map(c => [c.textContent, c.className]),
                [...table.tBodies[0].rows].map(row => [
                    [row.cells[0].textContent, row.cells[0].className],
                    [...row.querySelectorAll('.cell')].map(c => [c.title.split(': ').at(-1),
                        c.className, parseFloat(c.style.getPropertyValue('--w'))]),
                    row.cells[row.cells.length - 1].textContent])])""")
        count = len(payload["references"])
        order = [payload["best"], *(k for k in range(count) if k != payload["best"])]
        assert len(tables) == count == 4
        for k, (title, heads, rows) in zip(order, tables, strict=True):
            reference = payload["references"][k]
            similar = np.array(reference["similarity"])
            values = (shown(reference[key]) for key in ("precision", "recall", "f1"))
            assert title == "Reference {}: precision {}, recall {}, F1 {}".format(k + 1, *values)
            assert heads[1:-1] == [
                [w, "" if i else "pale"] for i, w in enumerate(reference["words"])
            ]
            assert len(rows) == len(payload["words"])
            for i, (head, cells, most) in enumerate(rows):
                assert head == [payload["words"][i], "" if i else "pale"]
                assert most == (shown(similar[i].max()) if i else "–")
                for j, (value, classes, shade) in enumerate(cells):
                    assert value == shown(similar[i, j])
                    assert ("best" in classes) == (j == similar[i].argmax())
                    assert ("met" in classes) == (i == similar[:, j].argmax())
                    assert shade == pytest.approx(
                        100 * (similar[i, j] - low) / (high - low), abs=0.1
                    )


def test_tuples_are_listed_by_side_and_kind_and_shared_ones_are_marked(
    page: Page, grounded: Path
) -> None:
    payloads = visit(page, grounded, "SPICE")
    for name, payload in payloads.items():
        choose(page, name)
        sides = page.run("""[...document.querySelectorAll(
            '.card:first-child .why[open] .tuples')].map(side => [
                side.querySelector('h4 span').textContent,
                [...side.querySelectorAll('li')].map(
                    li => [li.textContent, li.className === 'matched'])])""")
        right = sum(t["matched"] for t in payload["candidate"])
        assert right > 0 or name in ("Human", "Random")  # nothing was parsed, nothing is shared
        for (score, items), side, title in zip(
            sides, ("candidate", "references"), ("precision", "recall"), strict=True
        ):
            said = payload[side]
            share = f": {shown(right / len(said))}" if said else ""
            assert score == f"{title} {right} of {len(said)}{share}"
            assert items == [[" – ".join(t["tuple"]), t["matched"]] for t in said]
        empty = [not payload[side] for side in ("candidate", "references")]
        assert texts(page, ".tuples .none") == ["The parser found nothing here."] * sum(empty)
        assert texts(page, ".values span") == ["SPICE 0.250"]


def test_objects_of_caption_and_image_are_listed_and_shared_ones_marked(
    page: Page, grounded: Path
) -> None:
    payloads = visit(page, grounded, "CHAIR-i")
    for name, payload in payloads.items():
        choose(page, name)
        caption, image = page.run("""[...document.querySelectorAll(
            '.card:first-child .why[open] .tuples')].map(side =>
                [...side.querySelectorAll('li')].map(
                    li => [li.textContent, li.className === 'matched']))""")
        mentions = payload["candidate"]
        named = {m["object"] for m in mentions}
        assert caption == [
            [m["words"] + (f": {m['object']}" if m["words"] != m["object"] else ""), m["matched"]]
            for m in mentions
        ]
        assert image == [[thing, thing in named] for thing in payload["image"]]
        empty = [not mentions, not payload["image"]]
        assert texts(page, ".tuples .none") == ["No object is named."] * sum(empty)
        wrong = sum(not m["matched"] for m in mentions)
        share = f": {shown(wrong / len(mentions))}" if mentions else ""
        assert texts(page, ".tuples h4 span")[0] == f"wrong {wrong} of {len(mentions)}{share}"


def test_photos_stand_behind_the_regions_and_nothing_is_fetched(page: Page, grounded: Path) -> None:
    visit(page, grounded, "TIGEr")
    page.run("for (const d of document.querySelectorAll('.why')) d.open = true")
    page.wait("document.querySelectorAll('.view').length >= 30")
    photos = page.run("""[...document.querySelectorAll('.card')].map(
        c => [c.ariaLabel, c.querySelectorAll('.view img').length])""")
    assert {label for label, n in photos if n} == {"Image 9", "Image 25"}
    file = (grounded / "report.html").as_uri()
    assert all(url == file or url.startswith("data:image/jpeg") for url in page.requests)


@pytest.mark.slow
def test_drawings_fit_narrow_screens_and_the_dark(
    page: Page, grounded: Path, transport: Path
) -> None:
    for run, metric in (
        *((grounded, metric) for metric in ("TIGEr", "FAIEr", "BERTScore", "SPICE", "CHAIR-i")),
        (transport, "VIFIDEL (gold objects)"),
    ):
        visit(page, run, metric)
        for width in (360, 768, 1280):
            page.size(width, 800)
            assert page.run("document.documentElement.scrollWidth <= innerWidth")
        page.size(1280, 900)
        marks = ".box.top, .cell.best, .ribbon, li.matched"
        mark = f"document.querySelector('.card:first-child :is({marks})')"
        colour = f"(c => c.backgroundColor + c.borderColor + c.fill)(getComputedStyle({mark}))"
        light = page.run(colour)
        page.media("dark")
        assert page.run(colour) != light


def test_the_version_that_outscores_a_better_one_is_shown_first(page: Page, grounded: Path) -> None:
    visit(page, grounded, "TIGEr")
    said = page.run("document.querySelector('.card:first-child h3 span').textContent")
    worse = said.removeprefix("TIGEr: ").split(" outscores ")[0]
    assert worse in dict(SETS)
    checked = page.run("""document.querySelector('.card:first-child .why[open] :checked')
        .parentElement.textContent""")
    assert checked == worse
    open_ones = page.run("document.querySelectorAll('.why[open]').length")
    assert open_ones == 1  # and only on the first card
