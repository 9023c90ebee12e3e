"""The drawings of the drill-down in a real headless Chromium: what they show, how they behave."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metaeval.reports.measured import write_report
from metaeval.runs import files as results
from tests.reports.browser import Page
from tests.reports.graded.explained_files import (
    REGIONS,
    alignment,
    grounding,
    matches,
    objects,
    transport,
    tuples,
    write_explanations,
)
from tests.reports.run_files import HOSTILE, IMAGES, SETS, corrupt, scores_of, write_run

BLUR = "document.activeElement.blur()"
HOSTILE_LABEL = "<img src=x onerror='window.pwned=1'>"


@pytest.fixture(autouse=True)
def _neither_errors_nor_code(page: Page) -> Iterator[None]:
    yield
    assert page.errors == []
    assert page.run("window.pwned === undefined")


@pytest.fixture(scope="module")
def grounded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Explanations of six kinds, for honest and hostile captions; two photos."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("grounded")
    images = [*IMAGES, *HOSTILE]
    captions = corrupt(images, 3)
    references = {image: refs for image, _, refs in images}
    values = scores_of(captions, images)["SacreBLEU"]
    columns = ("TIGEr", "FAIEr", "BERTScore", "SPICE", "CHAIR-i", "VIFIDEL")
    noise = np.random.default_rng(0).normal(0, 0.1, (len(columns), len(values)))
    scores = {column: values + extra for column, extra in zip(columns, noise, strict=True)}
    run = write_run(folder, images, captions=captions, scores=scores)
    regions = [*REGIONS, {"label": HOSTILE_LABEL, "box": [0.1, 0.1, 0.2, 0.2]}]
    payloads: dict[str, dict[Any, dict[str, Any]]] = {column: {} for column in columns}
    for (image, name), text in captions.set_index(["image_id", "set"])["caption"].items():
        split = [refs.split() for refs in references[image]]
        said = [] if name == "Human" else text.split()  # of which nothing was parsed
        explained = (
            grounding(regions, len(text)), matches(regions, text.split(), split),
            alignment(text.split(), split), tuples(said, split), objects(said, split),
            transport(text.split()),
        )  # fmt: skip
        for column, payload in zip(columns, explained, strict=True):
            payloads[column].setdefault(image, {})[name] = payload
    write_explanations(run, payloads, {column: [column] for column in columns})
    Image.new("RGB", (90, 60), "teal").save(folder / "photo.png")
    table = results.read_run_table(run / results.REFERENCES)
    shot = str(folder / "photo.png")
    table["image_path"] = [shot if i in (9, 25) else None for i in table["image_id"]]
    results.write_table(run / results.REFERENCES, table)
    write_report(run, figures=False, examples=20, photos=20)
    return run


def visit(page: Page, run: Path, metric: str) -> dict[str, Any]:
    """Open a report with the examples in a metric's order; the explanations of its first card."""
    page.open_report(run)
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
    return page.run(
        f"[...document.querySelectorAll({json.dumps('.card:first-child .why[open] ' + selector)})]"
        ".map(n => n.textContent)"
    )


def choose(page: Page, name: str) -> None:
    page.run(f"""[...document.querySelectorAll('.card:first-child .why[open] .switch label')]
        .find(n => n.textContent === {json.dumps(name)}).firstChild.click()""")


def shown(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def test_every_flow_is_drawn_and_labelled(page: Page, grounded: Path) -> None:
    payloads = visit(page, grounded, "VIFIDEL")
    assert texts(page, ".switch span") == ["Human", "Replace 25%", "Replace 50%", "Random"]
    for name, payload in payloads.items():
        choose(page, name)
        flows = [f for plan in payload["plans"].values() for f in plan["flows"]]
        ribbons = [text.split(":")[0] for text in texts(page, ".ribbon title")]
        assert sorted(ribbons) == sorted(f"{f['object']} → {f['word']}" for f in flows)
        rows = zip(
            flows, texts(page, ".plan tbody tr"), strict=True
        )  # dearest first, as in the file
        assert len(flows) >= 4
        assert all(
            row.startswith(f["object"] + f["word"])
            and row.endswith(shown(f["price"]) + shown(f["cost"]))
            for f, row in rows
        )
        heads = [
            f"{column} {shown(plan['score'])}= exp(−{shown(plan['distance'])})"
            for column, plan in payload["plans"].items()
        ]
        drawn = zip(heads, texts(page, ".plan h4"), strict=True)
        assert all(expected in head for expected, head in drawn)
        assert texts(page, ".unknown b") == payload["unknown_words"]


def test_ribbons_are_as_wide_as_the_mass_they_carry(page: Page, grounded: Path) -> None:
    plans = {name: p["plans"]["VIFIDEL"] for name, p in visit(page, grounded, "VIFIDEL").items()}
    choose(page, "Human")
    boxes = page.run("""[...document.querySelectorAll('.card .plan:first-child .ribbon')].map(r => {
        const n = r.getAttribute('d').match(/[-\\d.]+/g).map(Number);
        return [r.firstChild.textContent.split(':')[0], n[15] - n[1], n[9] - n[7],
                parseFloat(r.style.getPropertyValue('--w'))];
    })""")
    flows = {f"{f['object']} → {f['word']}": f for f in plans["Human"]["flows"]}
    of_boxes = [flows[name] for name, *_ in boxes]
    left, right, colour = (np.array([box[k] for box in boxes]) for k in (1, 2, 3))
    masses = np.array([f["mass"] for f in of_boxes])
    dearest = max(f["price"] for plan in plans.values() for f in plan["flows"])
    assert left == pytest.approx(right, abs=0.02)
    assert left / left.max() == pytest.approx(masses / masses.max(), abs=0.01)
    assert colour == pytest.approx([100 * f["price"] / dearest for f in of_boxes], abs=0.1)


def test_words_can_be_reached_and_read_by_keyboard(page: Page, grounded: Path) -> None:
    visit(page, grounded, "VIFIDEL")
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
    page.run(BLUR)
    assert texts(page, ".told")[0] not in seen


def shade(values: Any, every: list[float]) -> Any:
    """How strongly values are coloured, from the lowest to the highest of all, in per cent."""
    low, high = min(every), max(every)
    return pytest.approx(100 * (np.array(values) - low) / (high - low), abs=0.1)


def test_grounding_shades_the_same_regions_for_candidate_and_references(
    page: Page, grounded: Path
) -> None:
    payloads = visit(page, grounded, "TIGEr")
    sides = ("candidate", "references")
    every = [v for p in payloads.values() for key in sides for v in p[key]]
    names = ["whole image", "top left", "horse", "person", "person 2", "region 6", HOSTILE_LABEL]
    for name, payload in payloads.items():
        choose(page, name)
        boxes = page.run("""[...document.querySelectorAll('.card:first-child .why[open] .view')]
            .map(view => [...view.querySelectorAll('.box')].map(
                b => [b.textContent, parseFloat(b.style.getPropertyValue('--w')),
                      parseFloat(b.style.left), parseFloat(b.style.width)]))""")
        # cells of the grid lie beneath all objects, even larger ones, and above nothing else
        assert [[label for label, *_ in drawn][:2] for drawn in boxes] == [names[:2]] * 2
        for drawn, key in zip(boxes, sides, strict=True):
            placed = {label: rest for label, *rest in drawn}
            assert sorted(placed) == sorted(names)
            shades, left, width = np.array([placed[label] for label in names]).T
            ends = np.array([region["box"] for region in payload["regions"]]).T
            assert shades == shade(payload[key], every)
            assert left == pytest.approx(100 * ends[0], abs=0.01)
            assert width == pytest.approx(100 * (ends[2] - ends[0]), abs=0.01)
        order = np.argsort(-np.array(payload["references"]), kind="stable")
        assert texts(page, ".weights tbody tr") == [
            f"{names[k]}{shown(payload['candidate'][k])}{shown(payload['references'][k])}"
            for k in order
        ]
        values = [f"{column} {shown(v)}" for column, v in payload["values"].items()]
        assert texts(page, ".values span") == values
    page.run("document.querySelector('.card:first-child .weights tbody th').focus()")
    marked = page.run("[...document.querySelectorAll('.box.here')].map(b => b.textContent)")
    assert marked == [names[order[0]]] * 2


def test_matches_have_a_cell_a_word_and_region_and_shade_the_image(
    page: Page, grounded: Path
) -> None:
    payloads = visit(page, grounded, "FAIEr")

    def body(words: list[str], values: list[list[float]]) -> list[Any]:
        return [
            [word, list(map(shown, row)), int(np.argmax(row)), shown(max(row))]
            for word, row in zip(words, values, strict=True)
        ]

    for name, payload in payloads.items():
        choose(page, name)
        tables = page.run("""[...document.querySelectorAll(
            '.card:first-child .why[open] .heat')].map(
            table => [...table.tBodies].map(body => [...body.rows].map(row => [
                row.cells[0].textContent,
                [...row.querySelectorAll('.cell')].map(c => c.title.split(': ').at(-1)),
                [...row.querySelectorAll('.cell')].findIndex(c => c.classList.contains('best')),
                row.cells[row.cells.length - 1].textContent])))""")
        relations = body(payload["relations"], payload["relation_matches"])
        assert tables == [
            [body(payload["words"], payload["matches"]), relations],
            *([body(r["words"], r["matches"])] for r in payload["references"]),
        ]
        assert len(tables) == 5
    page.run("document.querySelector('.card:first-child .heat tbody th').focus()")
    captions = [texts(page, ".seen figcaption")]
    tables = [each for p in payloads.values() for each in (p, *p["references"])]
    every = [v for each in tables for row in each["matches"] for v in row]
    shades = page.run("""[...document.querySelectorAll('.card:first-child .why[open] .box')].map(
        b => [b.textContent, parseFloat(b.style.getPropertyValue('--w'))])""")
    assert dict(shades)["horse"] == shade(payload["matches"][0][2], every)
    for act in (lambda: page.press("ArrowDown", 40), lambda: page.run(BLUR)):
        act()
        captions.append(texts(page, ".seen figcaption"))
    first, second, *_ = payload["words"]
    assert captions == [[f"“{first}”"], [f"“{second}”"], ["All words of the caption"]]
    assert page.run("document.querySelectorAll('.card script').length") == 0


def test_alignment_marks_the_best_of_each_row_and_column(page: Page, grounded: Path) -> None:
    payloads = visit(page, grounded, "BERTScore")
    references = [r for p in payloads.values() for r in p["references"]]
    every = [v for r in references for row in r["similarity"] for v in row]
    for name, payload in payloads.items():
        choose(page, name)
        tables = page.run("""[...document.querySelectorAll(
            '.card:first-child .why[open] .heat')].map(table => [table.caption.textContent,
                [...table.tHead.rows[0].cells].map(c => [c.textContent, c.className]).slice(1, -1),
                [...table.tBodies[0].rows].map(row => [
                    [row.cells[0].textContent, row.cells[0].className],
                    row.cells[row.cells.length - 1].textContent]),
                [...table.tBodies[0].rows].map(row => [...row.querySelectorAll('.cell')].map(
                    c => [c.title.split(': ').at(-1), c.classList.contains('best'),
                          c.classList.contains('met')])),
                [...table.tBodies[0].rows].map(row => [...row.querySelectorAll('.cell')].map(
                    c => parseFloat(c.style.getPropertyValue('--w'))))])""")
        count = len(payload["references"])
        order = [payload["best"], *(k for k in range(count) if k != payload["best"])]
        assert len(tables) == count == 4
        for k, (*drawn, shades) in zip(order, tables, strict=True):
            reference = payload["references"][k]
            similar = np.array(reference["similarity"])
            best, met = similar.argmax(axis=1), similar.argmax(axis=0)
            values = (shown(reference[key]) for key in ("precision", "recall", "f1"))
            assert drawn == [
                "Reference {}: precision {}, recall {}, F1 {}".format(k + 1, *values),
                [[w, "" if i else "pale"] for i, w in enumerate(reference["words"])],
                [
                    [[w, "" if i else "pale"], shown(similar[i].max()) if i else "–"]
                    for i, w in enumerate(payload["words"])
                ],
                [
                    [[shown(v), j == best[i], i == met[j]] for j, v in enumerate(row)]
                    for i, row in enumerate(similar)
                ],
            ]
            assert np.array(shades) == shade(similar, every)


def sides_of(page: Page) -> list[tuple[str, list[list[Any]]]]:
    """What is counted of each side of the drawing, and its items: which of them are shared."""
    return page.run("""[...document.querySelectorAll(
        '.card:first-child .why[open] .tuples')].map(side => [
            side.querySelector('h4 span')?.textContent,
            [...side.querySelectorAll('li')].map(
                li => [li.textContent, li.className === 'matched'])])""")


def share_of(part: int, of: int) -> str:
    return f"{part} of {of}" + (f": {shown(part / of)}" if of else "")


def test_tuples_are_listed_by_side_and_kind_and_shared_ones_are_marked(
    page: Page, grounded: Path
) -> None:
    payloads = visit(page, grounded, "SPICE")
    for name, payload in payloads.items():
        choose(page, name)
        right = sum(t["matched"] for t in payload["candidate"])
        assert right > 0 or name in ("Human", "Random")  # nothing was parsed, nothing is shared
        sides = {"precision": payload["candidate"], "recall": payload["references"]}
        assert sides_of(page) == [
            [
                f"{title} {share_of(right, len(side))}",
                [[" – ".join(t["tuple"]), t["matched"]] for t in side],
            ]
            for title, side in sides.items()
        ]
        empty = sum(not side for side in sides.values())
        assert texts(page, ".tuples .none") == ["The parser found nothing here."] * empty
        assert texts(page, ".values span") == ["SPICE 0.250"]


def test_objects_of_caption_and_image_are_listed_and_shared_ones_marked(
    page: Page, grounded: Path
) -> None:
    payloads = visit(page, grounded, "CHAIR-i")
    for name, payload in payloads.items():
        choose(page, name)
        (wrong, caption), (_, image) = sides_of(page)
        mentions = payload["candidate"]
        named = {m["object"] for m in mentions}
        assert caption == [
            [m["words"] + (f": {m['object']}" if m["words"] != m["object"] else ""), m["matched"]]
            for m in mentions
        ]
        assert image == [[thing, thing in named] for thing in payload["image"]]
        empty = (not mentions) + (not payload["image"])
        assert texts(page, ".tuples .none") == ["No object is named."] * empty
        assert wrong == f"wrong {share_of(sum(not m['matched'] for m in mentions), len(mentions))}"


def test_photos_stand_behind_the_regions_and_nothing_is_fetched(page: Page, grounded: Path) -> None:
    visit(page, grounded, "TIGEr")
    page.run("for (const d of document.querySelectorAll('.why')) d.open = true")
    page.wait("document.querySelectorAll('.view').length >= 30")
    photos = page.run("""[...document.querySelectorAll('.card')].map(
        c => [c.ariaLabel, c.querySelectorAll('.view img').length])""")
    assert {label for label, n in photos if n} == {"Image 9", "Image 25"}
    file = (grounded / "report.html").as_uri()
    assert all(url == file or url.startswith("data:image/jpeg") for url in page.requests)


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
