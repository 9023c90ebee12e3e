"""The report's HTML: what it says, what it refuses to say, and that it is safe and repeatable."""

import base64
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from lxml.html import document_fromstring

from metaeval.errors import InputError
from metaeval.reports.blocks import charts
from metaeval.reports.graded import browser
from metaeval.reports.graded.browser import CLOSE, MID, OPEN, mark_edits, remove_marks
from metaeval.reports.graded.page import caption_ranks
from metaeval.reports.measured import write_report
from metaeval.results.files import read_result
from metaeval.runs import files as results
from metaeval.runs.store import MemoryStore, remembering
from metaeval.stats.ordering.graded import worst_inversion
from tests.reports.graded.explained_files import REGIONS, grounding, write_explanations
from tests.reports.run_files import HOSTILE, IMAGES, SETS, absent, corrupt, write_run


class Reader:
    """The words of a page, the scripts that a browser would run, its data by id, its elements."""

    def __init__(self, html: str) -> None:
        page = document_fromstring(html)
        scripts = page.xpath("//script")
        self.executed = [script.text for script in scripts if "type" not in script.attrib]
        self.data = {script.get("id"): script.text for script in scripts if "type" in script.attrib}
        self.tags = {element.tag for element in page.iter()}
        texts = page.xpath("//text()[not(parent::script or parent::style)]")
        self.words = " ".join(" ".join(texts).split())


def report(run: Path, **options: Any) -> Reader:
    return Reader(write_report(run, figures=False, **options).read_text(encoding="utf-8"))


def unpacked(text: str) -> bytes:
    return gzip.decompress(base64.b64decode(text))


def edit(path: Path, change: Any) -> None:
    value = results.read_run_json(path)
    change(value)
    results.write_json(path, value)


@pytest.fixture(scope="module", autouse=True)
def drawings() -> Iterator[None]:
    """Equal data are drawn once."""
    with remembering(MemoryStore()):
        yield


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


def written(run: Path) -> dict[str, bytes]:
    folders = (run / "figures", run / "tables")
    paths = [write_report(run), *(path for folder in folders for path in folder.iterdir())]
    return {path.name: path.read_bytes() for path in paths}


def test_same_files_same_bytes_figures_too(run: Path) -> None:
    with remembering(MemoryStore()):
        first = written(run)
    names = ("ranking.svg", "ranking.pdf", "histograms.svg", "histograms.pdf", "measures.tex")
    assert {*names, "steps.csv", "ties.md", "differences-pairwise_accuracy.tex"} <= first.keys()
    assert b"<dc:date>" not in first["histograms.svg"]
    assert b"diamond" in first["report.html"]
    with remembering(MemoryStore()):
        assert written(run) == first


def test_figures_are_drawn_once_for_equal_data(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered are the bytes that are drawn; another score is drawn anew."""
    draw, read, drawn = charts._figure, browser._read_run_captions, []
    monkeypatch.setattr(charts, "_figure", lambda *size: drawn.append(size) or draw(*size))
    monkeypatch.setattr(browser, "_read_run_captions", lambda r: drawn.append(r) or read(r))
    with remembering(MemoryStore()):
        plain, once = written(run), len(drawn)
        assert (written(run), len(drawn)) == (plain, once)
        table = results.read_run_table(run / results.SCORES)
        table.loc[0, "score"] += 0.5
        results.write_table(run / results.SCORES, table)
        other = written(run)
        captions = results.read_run_table(run / results.CAPTIONS)
        captions.loc[0, "caption"] += " edited"
        results.write_table(run / results.CAPTIONS, captions)
        assert written(run)["report.html"] != other["report.html"]
    names = ("histograms.svg", "ranks.pdf", "ranking.svg")
    assert [other[name] == plain[name] for name in names] == [False, False, True]
    assert len(drawn) > once > 0


def test_captions_have_ranks_from_the_worst_to_the_best() -> None:
    """Equal scores share their mean rank; of CHAIR-i the highest score is the worst."""
    scores = [0.5, 0.1, 0.5, 0.9]
    table = pd.DataFrame({"metric": ["A"] * 4 + ["CHAIR-i"] * 4, "score": scores * 2})
    assert caption_ranks(table, ["CHAIR-i"]).tolist() == [2.5, 1, 2.5, 4, 2.5, 4, 2.5, 1]


def test_ranks_are_next_to_scores_with_rho_in_the_title(run: Path) -> None:
    html = write_report(run).read_text(encoding="utf-8")
    assert html.index('id="histograms"') < html.index('id="ranks"') < html.index('id="table"')
    svg = (run / "figures/ranks.svg").read_text(encoding="utf-8")
    texts = set(re.findall(">([^<>]+)<", svg))
    metrics = read_result(run / "statistics.json").metrics
    values = {f"ρ {metric.numbers['rank_order_rho'].value:.3f}" for metric in metrics}
    assert {metric.name for metric in metrics} | values <= texts


def test_hostile_captions_stay_text(tmp_path: Path) -> None:
    run = write_run(
        tmp_path,
        IMAGES[:2] + HOSTILE,
        absents=[absent("</script><b>X", "failed", "<i>why</i> & \u2028", "do 'this' \"now\"")],
        run={"experiment": {"name": "x", "title": "<script>alert(1)</script>",
                            "question": "</style><img src=x>"}},
    )  # fmt: skip
    (run / "config.yaml").write_text("a: </script><script>window.pwned=3</script>\n")
    page = report(run)
    assert ["pwned" in script for script in page.executed] == [False]
    assert "img" not in page.tags
    texts = ("<script>alert(1)</script>", "failed: <i>why</i>")
    assert [text in page.words for text in texts] == [True] * 2
    rows = json.loads(unpacked(page.data["data-captions"]))
    assert [(row[0], row[1], tuple(row[4])) for row in rows if row[0] >= 70] == list(HOSTILE)


def test_embedded_scores_keep_five_digits(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    captions = corrupt(IMAGES, 3)
    values = rng.lognormal(0, 6, len(captions)) * rng.choice([-1, 1], len(captions))
    values[:3] = [0.0, np.nan, 1.0]
    run = write_run(tmp_path, captions=captions, scores={"m": values})
    planes = np.frombuffer(unpacked(report(run).data["data-scores"]), dtype=np.uint8)
    read = np.ascontiguousarray(planes.reshape(4, -1).T).view("<f4").ravel().astype(float)
    assert [f"{v:.4e}" for v in read] == [f"{v:.4e}" for v in values]


def test_a_users_own_metric_opens_the_examples(run: Path) -> None:
    def own(statistics: dict[str, Any]) -> None:
        entry = next(m for m in statistics["metrics"] if m["column"]["name"] == worse)
        entry["citation"] = []

    best = json.loads(report(run).data["meta"])["opening"]
    worse = "chrF" if best == "SacreBLEU" else "SacreBLEU"
    edit(run / "statistics.json", own)
    assert json.loads(report(run).data["meta"])["opening"] == worse


def test_what_limits_the_numbers_is_said(run: Path) -> None:
    def spoil(info: dict[str, Any]) -> None:
        info["dataset"]["fallback"] = "COCO was not found: this is scenes"

    def change(statistics: dict[str, Any]) -> None:
        statistics["published"][0]["why_not"] = "other images"
        statistics["metrics"][0]["counts"] = [
            {"what": "images without objects", "unit": "images", "n": 2, "of": 8},
            {"what": "captions without words", "unit": "captions", "n": 0, "of": 32},
        ]

    edit(run / "run.json", spoil)
    edit(run / "statistics.json", change)
    words = report(run).words
    texts = (
        "Another dataset than the requested one. COCO was not found: this is scenes",
        "SacreBLEU: 2 of 8 images without objects (25.0%)",
        "captions without words",
    )
    assert [text in words for text in texts] == [True, True, False]
    assert "published" not in words.split("Notes")[0].lower()


def test_images_with_every_level_applied_are_a_table(tmp_path: Path) -> None:
    captions = corrupt(IMAGES, 3)
    odd = (captions["set"] == "Replace 25%") & (captions["image_id"] % 2 == 1)
    captions.loc[odd, "caption"] = captions["source_caption"]
    captions.loc[odd, "applied"] = False
    run = write_run(tmp_path, captions=captions)
    page = report(run)
    row = read_result(run / "statistics.json").extra("applied").records[0]
    assert f"{row['rank_order_rho_within']:.3f}" in page.words
    assert f"{odd.sum() / len(IMAGES):.1%} of Replace 25%" in page.words
    unchanged = "Captions that came out unchanged are in no inversion."
    assert unchanged in page.words
    assert unchanged not in report(write_run(tmp_path / "all")).words
    assert not (tmp_path / "all/tables/applied.csv").exists()


def test_several_rates_have_curves(tmp_path: Path) -> None:
    images = [(k, f"{human} {k}", refs) for k in range(16) for _, human, refs in [IMAGES[k % 8]]]
    captions = corrupt(images, 3)
    captions.loc[captions["set"] == "Random", ["requested_rate", "realised_rate"]] = 1.0
    captions["set"] = captions["set"].replace("Random", "Replace 100%")
    run = write_run(tmp_path, images, captions=captions)
    html = write_report(run).read_text(encoding="utf-8")
    assert "Dose and response" in html
    points = pd.read_csv(run / "tables/dose-points.csv")
    extra = read_result(run / "statistics.json").extra("dose_points").frame()
    expected = (["Replace"] * 8, [0, 0.25, 0.5, 1.0] * 2, extra["change"].tolist())
    assert tuple(points[c].tolist() for c in ("corruption", "dose", "change")) == expected
    assert points["rho"].isna().tolist() == [True, False, False, False] * 2
    assert {"dose.pdf", "dose.tex"} <= {path.name for path in run.rglob("dose.*")}


def test_too_much_for_the_limit_becomes_a_selection_by_inversions(tmp_path: Path) -> None:
    many = [(i, f"{human} {i}", refs) for i in range(400) for _, human, refs in [IMAGES[i % 8]]]
    captions = corrupt(many, 1)
    rng = np.random.default_rng(0)
    values = captions["level"].to_numpy() + rng.random(len(captions)) * 0.5
    worst = captions["image_id"].isin([7, 123]) & (captions["level"] == 0)
    values[worst] = 9.0
    run = write_run(tmp_path, many, captions=captions, scores={"m": values})
    whole = write_report(run, figures=False).stat().st_size
    assert "All 400 images are in this file" in report(run).words
    limit = whole - 15_000
    page = report(run, max_bytes=limit)
    assert (run / "report.html").stat().st_size <= limit
    kept = [row[0] for row in json.loads(unpacked(page.data["data-captions"]))]
    assert 20 < len(kept) < 400
    assert {7, 123} <= set(kept)
    said = (f"This file holds {len(kept)} of 400 images", "images are in this file")
    assert [text in page.words for text in said] == [True, False]
    scores = np.frombuffer(unpacked(page.data["data-scores"]), dtype=np.uint8)
    assert len(scores) == 4 * len(SETS) * len(kept)


def test_photos_only_on_request(tmp_path: Path) -> None:
    from PIL import Image

    run = write_run(tmp_path)
    references = results.read_run_table(run / "references.parquet")
    Image.new("RGB", (900, 600), "teal").save(tmp_path / "photo.png")
    references["image_path"] = str(tmp_path / "photo.png")
    references.loc[3, "image_path"] = str(tmp_path / "gone.png")
    results.write_table(run / "references.parquet", references)
    assert json.loads(report(run).data["meta"])["photos"] == {}
    photos = json.loads(report(run, photos=8).data["meta"])["photos"]
    assert len(photos) == 7
    assert all(p.startswith("data:image/jpeg;base64,") for p in photos.values())


def test_a_score_of_an_unknown_image_is_refused(run: Path) -> None:
    scores = results.read_run_table(run / "scores.parquet")
    scores.loc[5, "image_id"] = 999
    results.write_table(run / "scores.parquet", scores)
    with pytest.raises(InputError, match=r"field 'image_id': '999' is not in the run"):
        write_report(run)


def test_nothing_ran(tmp_path: Path) -> None:
    run = write_run(tmp_path, scores={}, absents=[absent("SPICE", "skipped", "no", "")])
    assert "No metric has a value." in report(run).words


def test_explanations_go_in_for_the_first_images_and_never_beyond_the_limit(tmp_path: Path) -> None:
    many = [(i, f"{human} {i}", refs) for i in range(24) for _, human, refs in [IMAGES[i % 8]]]
    captions = corrupt(many, 1)
    rng = np.random.default_rng(0)
    scores = {"TIGEr": rng.random(len(captions)), "BLEU-1": rng.random(len(captions))}
    run = write_run(tmp_path, many, captions=captions, scores=scores)
    payloads: dict[int | str, dict[str, Any]] = {}
    for (image, name), text in captions.set_index(["image_id", "set"])["caption"].items():
        payloads.setdefault(image, {})[name] = grounding(REGIONS, 100 * int(image) + len(text))
    write_explanations(run, {"tiger": payloads}, {"tiger": ["TIGEr"]})

    def explained(**options: Any) -> tuple[list[str], dict[str, Any]]:
        page = report(run, **options)
        (brief,) = json.loads(page.data["meta"])["explained"] or [{"images": []}]
        return brief["images"], json.loads(unpacked(page.data["data-explanations"]))

    images, data = explained(explanations=5)
    wide = {name: values.reshape(4, 24) for name, values in scores.items()}  # worst level first
    expected = set()
    metrics = read_result(run / "statistics.json").metrics
    best = max(metrics, key=lambda m: m.numbers.value("rank_order_rho"))
    for name in {"TIGEr", best.name}:
        severity = worst_inversion(wide[name], range(4))
        expected |= {str(i) for i in np.argsort(-severity, kind="stable")[:5]}
    assert set(images) == set(data["tiger"]) == expected
    names = [s for s, _ in SETS]
    for image, sets in data["tiger"].items():
        assert {names[int(k)]: p for k, p in sets.items()} == payloads[int(image)]
    assert explained(explanations=0) == ([], {})
    without = (run / "report.html").stat().st_size
    every, _ = explained(explanations=24)
    assert len(every) == 24
    limit = (without + (run / "report.html").stat().st_size) // 2
    few, _ = explained(explanations=24, max_bytes=limit)
    assert (run / "report.html").stat().st_size <= limit
    assert 0 < len(few) < 24
    assert "All 24 images are in this file" in report(run, max_bytes=limit).words
    (run / "explanations.json").unlink()  # an older run's files have none
    assert explained() == ([], {})


def test_text_ids_and_sets_of_unequal_size(tmp_path: Path) -> None:
    images = [(f"im-{i:02d}", human, refs) for i, human, refs in IMAGES]
    captions = corrupt(images, 3)
    captions = captions[(captions["set"] != "Random") | (captions["image_id"] != "im-09")]
    run = write_run(tmp_path, images, captions=captions)
    page = report(run)
    rows = {row[0]: row[3] for row in json.loads(unpacked(page.data["data-captions"]))}
    assert rows["im-09"][0] is None
    assert all(text is not None for text in rows["im-25"])


def word_edit(position: int, before: str, after: str) -> dict[str, object]:
    return {"position": position, "before": before, "after": after}


@pytest.mark.parametrize(
    ("source", "caption", "edits", "expected"),
    [
        ("a red dog", "a blue dog", [word_edit(1, "red", "blue")], "a [sred|blue] dog"),
        ("a red dog", "a dog", [word_edit(1, "red", "")], "a [dred|] dog"),
        ("a red dog", "a red", [word_edit(2, "dog", "")], "a red [ddog|]"),
        ("a dog", "a big dog", [word_edit(1, "", "big")], "a [i|big] dog"),
        ("a dog", "a dog runs", [word_edit(2, "", "runs")], "a dog [i|runs]"),
        ("a dog", "a dog runs", [word_edit(1, "", "runs")], "a dog [i|runs]"),
        ("a b c", "c b a", [word_edit(0, "a", "c"), word_edit(2, "c", "a")], "[m|c] b [m|a]"),
        ("a b c.", "a c b.", [word_edit(1, "b", "c"), word_edit(2, "c.", "b.")], "a [m|c] [m|b.]"),
        ("a b c", "b c a", [word_edit(0, "a", ""), word_edit(3, "", "a")], "[da|] b c [m|a]"),
        ("a b c", "a x y", [word_edit(1, "b", "x"), word_edit(2, "c", "y")], "a [sb|x] [sc|y]"),
        ("a b", "a b", [], "a b"),
        ("a b", "another image's", [], "another image's"),
        # edits that do not lead to the caption are not believed
        ("a red dog", "a green dog", [word_edit(1, "red", "blue")], "a green dog"),
        ("a red dog", "a dog here", [word_edit(7, "x", "y")], "a dog here"),
        ("a red dog", "a big cat", [word_edit(1, "red dog", "big cat")], "a [sred dog|big cat]"),
        ("a \x01 dog", "a \x01 cat", [word_edit(2, "dog", "cat")], "a \ufffd [sdog|cat]"),
    ],
)
def test_marks(source: str, caption: str, edits: list[dict[str, object]], expected: str) -> None:
    """Made readable as [kind:before|after]."""
    marked = mark_edits(source, caption, edits)
    assert marked.replace(OPEN, "[").replace(MID, "|").replace(CLOSE, "]") == expected


WORDS = st.lists(st.text("ab\u202e<é", min_size=1, max_size=3), min_size=1, max_size=8)


@given(WORDS, WORDS, st.data())
def test_the_caption_survives_any_edits(
    old: list[str], new: list[str], data: st.DataObject
) -> None:
    edits = data.draw(
        st.lists(
            st.builds(
                word_edit, st.integers(-1, 9), st.sampled_from([*old, ""]), st.sampled_from(new)
            ),
            max_size=4,
        )
    )
    caption = " ".join(new)
    assert remove_marks(mark_edits(" ".join(old), caption, edits)) == caption
