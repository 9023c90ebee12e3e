"""`make numbers`: marks in documents, stale numbers as a diff, and a real run behind a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.numbers import captioners, judgments, metric_pages, pairs
from benchmarks.numbers.__main__ import ROOT, TABLES, main
from benchmarks.numbers.graded import both_experiments, of_replace, three
from benchmarks.numbers.metric_pages import FLUENCY, by_kind
from benchmarks.numbers.networks import TRAINED, from_page
from benchmarks.numbers.tables import Command, Result, Table, marked, rewritten
from metaeval.errors import InputError
from metaeval.runs import files

PAGE = "Before.\n\n<!-- numbers: T -->\nold\n<!-- end of T -->\n\nAfter.\n"


def hello(results: list[Result]) -> str:
    return f"| {results[0].printed.strip()} |"


HELLO = Table("T", (Command("-c \"print('hello')\""),), hello)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("No table.\n")
    (tmp_path / "docs" / "page.md").write_text(PAGE)
    return tmp_path


def make(root: Path, *arguments: str, tables: tuple[Table, ...] = (HELLO,)) -> int:
    return main([*arguments, "--out", str(root / "out")], tables, root, ROOT)


def test_a_table_is_written_between_its_marks_with_its_command(root: Path) -> None:
    page = root / "docs" / "page.md"
    assert make(root) == 0
    text = page.read_text()
    assert "\n| hello |\n" in text
    assert "python -c \"print('hello')\"" in text
    assert text.startswith("Before.\n\n<!-- numbers: T -->\n")
    assert text.endswith("<!-- end of T -->\n\nAfter.\n")
    assert make(root) == 0
    assert page.read_text() == text


def test_a_stale_number_is_a_diff_and_changes_nothing(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = root / "docs" / "page.md"
    assert make(root, "--check") == 1
    assert page.read_text() == PAGE
    printed = capsys.readouterr().out
    assert "-old" in printed
    assert "+| hello |" in printed
    assert make(root) == 0
    assert make(root, "--check") == 0
    page.write_text(page.read_text().replace("hello |", "hallo |"))
    assert make(root, "--check") == 1


def test_only_what_is_asked_for_is_run(root: Path) -> None:
    broken = Table("U", (Command('-c "raise SystemExit(3)"'),), hello, quick=True)
    (root / "README.md").write_text("<!-- numbers: U -->\n<!-- end of U -->\n")
    assert make(root, "T", tables=(HELLO, broken)) == 0
    assert "hello" in (root / "docs" / "page.md").read_text()
    assert make(root, "--quick", tables=(HELLO, broken)) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<!-- numbers: T -->\n", "the end of the table 'T' is missing"),
        ("<!-- numbers: T -->\n<!-- end of U -->\n", "the end of the table 'T' is missing"),
        (PAGE + PAGE, "the table 'T' stands there twice"),
    ],
)
def test_marks_that_do_not_fit_together(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        marked(text, Path("page.md"))


def test_a_table_without_place_and_a_place_without_table(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "README.md").write_text("<!-- numbers: U -->\n<!-- end of U -->\n")
    assert make(root) == 2
    assert "nothing makes the table 'U'" in capsys.readouterr().err
    (root / "README.md").write_text("")
    (root / "docs" / "page.md").write_text("")
    assert make(root) == 2
    assert "the table 'T' stands in no document" in capsys.readouterr().err


def test_other_tables_stay_as_they_are() -> None:
    text = PAGE + PAGE.replace(": T", ": U").replace("of T", "of U")
    assert rewritten(text, {"U": "new\n"}) == PAGE + PAGE.replace(": T", ": U").replace(
        "of T", "of U"
    ).replace("old", "new")


def test_every_table_has_its_place_in_the_documents(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(TABLES)


def test_numbers_of_trained_networks_come_from_their_pages(tmp_path: Path) -> None:
    for _, _, page, heading, first in TRAINED:
        assert all(
            "±" in cell for cell in from_page(ROOT / "docs" / "metrics" / page, heading, first)
        )
    with pytest.raises(InputError, match="has no row 'five references'"):
        from_page(ROOT / "docs" / "metrics" / "faier.md", "FAIEr-r | Replace", "five references")


@pytest.mark.slow
def test_a_table_of_real_runs(root: Path) -> None:
    """The renderers read what runs write: scenes, a handful of images, no cached scores."""
    common = (
        "dataset=scenes dataset.limit=12 metrics=[bleu,cider,length] stats.replicates=50 "
        f"paths.cache={root / 'cache'}"
    )
    replace, shuffle = (
        Command(f"-m metaeval experiment={e} {common}") for e in ("replace", "shuffle")
    )
    tables = (
        Table("T", (replace, shuffle), both_experiments, show=False),
        Table("U", (replace,), of_replace),
    )
    (root / "README.md").write_text("<!-- numbers: U -->\n<!-- end of U -->\n")
    assert make(root, tables=tables) == 0
    lines = marked((root / "docs" / "page.md").read_text(), root)["T"].strip().splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert {line.split(" | ")[0] for line in lines[2:]} == {
        "| BLEU-1", "| BLEU-2", "| BLEU-3", "| BLEU-4", "| CIDEr", "| *Length*", "| *Ceiling*",
    }  # fmt: skip
    assert f"experiment=replace {common}" in (root / "README.md").read_text()


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1284, ".128"), (-0.0351, "−.035"), (1.0, "1.000"), (-0.0001, ".000"), (None, "–")],
)
def test_three_places(value: float | None, text: str) -> None:
    assert three(value) == text


def test_what_a_metric_sees_is_the_mean_over_each_kind(tmp_path: Path) -> None:
    """Two kinds of change; of one set no caption offered a place, so it has no AUC."""
    sets = [
        {"set": "a", "kind": "objects"}, {"set": "b", "kind": "objects"},
        {"set": "c", "kind": "objects"}, {"set": "d", "kind": "harmless"},
    ]  # fmt: skip

    def record(metric: str, *aucs: float | None) -> dict[str, Any]:
        profile = {s["set"]: {"auc": auc} for s, auc in zip(sets, aucs, strict=True)}
        return {
            "metric": metric, "status": "ok", "profile": profile, "hard_positives": {"all": 0.7},
        }  # fmt: skip

    records = [record("M", 0.8, 0.9, None, 0.5), record(FLUENCY, 0.5, 0.5, 0.5, 0.6)]
    absent = {"metric": "N", "status": "skipped"}
    (tmp_path / files.STATISTICS).write_text(
        json.dumps({"sets": sets, "metrics": [*records, absent]})
    )
    lines = by_kind(["M"])([Result(tmp_path, "")]).splitlines()
    assert lines[2:] == [
        "| objects | 3 | .850 | .500 |",
        "| *nothing of its meaning (harmless)* | 1 | .500 | .600 |",
        "| a harmless rewrite, against a false near-copy |  | .700 | .700 |",
    ]


def test_tables_of_metrics_stand_on_their_pages() -> None:
    for table in metric_pages.TABLES:
        page = ROOT / "docs" / "metrics" / f"{table.name.removeprefix('sees-')}.md"
        body = marked(page.read_text(encoding="utf-8"), page)[table.name]
        assert body.count("\n| ") > 10


def test_captioners_are_compared_on_images_that_every_metric_scores(tmp_path: Path) -> None:
    """Image 3 lacks one score of one metric: of no metric it is in the table. ρ is −1 where the
    captioner is above Human on both other images, 1 where it is below."""
    rows = [
        (image, name, metric, score)
        for image in (1, 2, 3)
        for name, score in (("machine", 2.0 if image < 3 else 0.0), ("Human", 1.0))
        for metric in captioners.SHOWN
    ]
    scores = pd.DataFrame(rows, columns=["image_id", "set", "metric", "score"])
    scores.loc[
        (scores["image_id"] == 3) & (scores["metric"] == "VIFIDEL") & (scores["set"] == "machine"),
        "score",
    ] = np.nan
    (tmp_path / "against_human").mkdir()
    scores.to_parquet(tmp_path / "against_human" / files.SCORES)
    lines = captioners.against_human([Result(tmp_path, "")]).splitlines()
    assert lines[0] == "| ρ against Human, n = 2 | machine |"
    assert lines[2:] == [f"| {metric} | −1.000 |" for metric in captioners.SHOWN]


def record_of_pairs(metric: str, control: bool, *shares: float) -> dict[str, Any]:
    """A record of experiment=pairs with one comparison or three, of one kind and their mean."""
    names = ["true > false", "paraphrase > false", "both"][: len(shares)]
    told = {
        name: {kind: {"value": share, "ties": 0.25} for kind in ("mean", "swap_obj")}
        for name, share in zip(names, shares, strict=True)
    }
    return {
        "metric": metric, "status": "ok", "part_of": None, "control": control, "accuracy": told,
    }  # fmt: skip


def test_pairs_stand_best_first_with_controls_below(tmp_path: Path) -> None:
    records = [
        record_of_pairs("low", False, 0.5),
        record_of_pairs("blind", True, 0.99),
        record_of_pairs("high", False, 0.7),
        {"metric": "none", "status": "skipped"},
    ]
    summary = {"comparisons": ["true > false"], "kinds": {"swap_obj": 1245}, "metrics": records}
    (tmp_path / files.STATISTICS).write_text(json.dumps(summary))
    assert pairs.of_pairs([Result(tmp_path, "")]).splitlines() == [
        "|  | mean | swap_obj | ties |",
        "|---|---:|---:|---:|",
        "| high | 70.0 | 70.0 | 25.0 |",
        "| low | 50.0 | 50.0 | 25.0 |",
        "| *blind* | 99.0 | 99.0 | 25.0 |",
        "| n |  | 1,245 |  |",
    ]


def test_triplets_are_sorted_by_both(tmp_path: Path) -> None:
    records = [
        record_of_pairs("first alone", False, 0.9, 0.4, 0.3),
        record_of_pairs("both", False, 0.8, 0.5, 0.45),
    ]
    summary = {
        "comparisons": ["true > false", "paraphrase > false", "both"],
        "kinds": {"swap_obj": 1245},
        "metrics": records,
    }
    (tmp_path / files.STATISTICS).write_text(json.dumps(summary))
    assert pairs.of_triplets([Result(tmp_path, "")]).splitlines()[2:] == [
        "| both | 80.0 | 50.0 | 45.0 | 50.0 |",
        "| first alone | 90.0 | 40.0 | 30.0 | 40.0 |",
        "| n | 1,245 | 1,245 | 1,245 | 1,245 |",
    ]


def test_composite_names_what_scores_only_a_part(tmp_path: Path) -> None:
    """Metrics by their τ-c on the last part; no value of all captions where only a part has one."""

    def record(metric: str, n: int, total: float, first: float | None, last: float) -> Any:
        views = {
            "8k": {"n": 0 if first is None else 4, "kendall_tau_c": first},
            "coco": {"n": 6, "kendall_tau_c": last},
        }
        human = {"correctness": {"kendall_tau_c": total, "views": views}}
        return {
            "metric": metric, "status": "ok", "part_of": None, "control": False, "n": n,
            "human": human,
        }  # fmt: skip

    for folder, records in (
        ("all", [record("CIDEr", 10, 0.37690, 0.3, 0.4), record("FAIEr", 6, 0.5, None, 0.5)]),
        ("spice", [record("SPICE", 10, 0.40353, 0.2, 0.3)]),
    ):
        summary = {
            "dimensions": ["correctness"], "views": {"8k": 4, "coco": 6},
            "facts": {"judged": 10}, "metrics": records,
            "published": {"values": {"correctness": {"CIDEr": 0.377}}},
        }  # fmt: skip
        (tmp_path / folder).mkdir()
        (tmp_path / folder / files.STATISTICS).write_text(json.dumps(summary))
    results = [Result(tmp_path / "all", ""), Result(tmp_path / "spice", "")]
    assert judgments.composite(results).splitlines() == [
        "|  | all | published | 8k | coco | captions |",
        "|---|---:|---:|---:|---:|---:|",
        "| FAIEr | – |  | – | 50.0 | 6 |",
        "| CIDEr | 37.690 | 37.7 | 30.0 | 40.0 | 10 |",
        "| SPICE | 40.353 |  | 20.0 | 30.0 | 10 |",
    ]


def test_forced_choices_stand_beside_published_ones_and_people(tmp_path: Path) -> None:
    accuracy = {
        "HC": {"value": 0.5387}, "mean": {"value": 0.75, "ci": [0.7, 0.8]},
    }  # fmt: skip
    record = {
        "metric": "CIDEr", "status": "ok", "part_of": None, "control": False,
        "choice": [{"accuracy": {}}, {"accuracy": accuracy}],
    }  # fmt: skip
    summary = {
        "groups": ["HC", "mean"], "metrics": [record], "people": {"HC": 0.6616},
        "published": {"values": {"CIDEr": {"HC": 0.546}}},
    }  # fmt: skip
    (tmp_path / files.STATISTICS).write_text(json.dumps(summary))
    assert judgments.choices([Result(tmp_path, "")]).splitlines()[2:] == [
        "| CIDEr | 53.9 (54.6) | 75.0 | 70.0 to 80.0 |",
        "| one person with the others | 66.2 |  |  |",
    ]
