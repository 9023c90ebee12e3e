"""The annotators' sheet: drawn, filled in, scored; agreement against reference packages."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from research.audit.__main__ import (
    KEY,
    SHEET,
    SheetItem,
    cohens_kappa,
    error_rate,
    main,
    write_sheet,
)

DRAW = ["draw", "--each", "3", "--seed", "5", "--corruptions", "attributes", "harmless", "random"]


def drawn(folder: Path) -> tuple[Path, Path]:
    sheet, key = folder / "sheet.csv", folder / "key.csv"
    arguments = ["--sheet", str(sheet), "--key", str(key), "--", "dataset=scenes", "dataset.n=60"]
    assert main([*DRAW, *arguments]) == 0
    return sheet, key


def test_overrides_may_follow_the_names_of_corruptions(tmp_path: Path) -> None:
    sheet, _ = drawn(tmp_path)
    files = ["--sheet", str(tmp_path / "other.csv"), "--key", str(tmp_path / "other_key.csv")]
    draw, *options = DRAW
    assert main([draw, *files, *options, "dataset=scenes", "dataset.n=60"]) == 0
    assert (tmp_path / "other.csv").read_bytes() == sheet.read_bytes()


def fill(sheet: Path, new: Path, verdict) -> None:
    with sheet.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with new.open("w", newline="") as file:
        writer = csv.DictWriter(file, SHEET)
        writer.writeheader()
        writer.writerows({**row, "verdict": verdict(n, row)} for n, row in enumerate(rows))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_sheet_is_reproducible_and_does_not_name_the_corruption(tmp_path: Path) -> None:
    sheet, key = drawn(tmp_path)
    (tmp_path / "b").mkdir()
    again, _ = drawn(tmp_path / "b")
    assert sheet.read_bytes() == again.read_bytes()
    rows, keys = rows_of(sheet), rows_of(key)
    assert list(rows[0]) == list(SHEET)
    assert list(keys[0]) == list(KEY)
    assert [r["item"] for r in rows] == [k["item"] for k in keys]
    assert all(r["a"] != r["b"] and not r["verdict"] for r in rows)
    counts = {
        name: sum(k["corruption"] == name for k in keys) for name in ("wrong_colour", "random")
    }
    assert counts == {"wrong_colour": 3, "random": 3}


def test_scores_of_two_annotators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet, key = drawn(tmp_path)
    expected = {k["item"]: k["expected"][0] for k in rows_of(key)}
    fill(sheet, tmp_path / "anna.csv", lambda n, row: expected[row["item"]])
    fill(sheet, tmp_path / "bert.csv", lambda n, row: "x" if n == 0 else expected[row["item"]])
    capsys.readouterr()
    assert (
        main(["score", "--key", str(key), *(str(tmp_path / f"{n}.csv") for n in ("anna", "bert"))])
        == 0
    )
    out = capsys.readouterr().out
    n = len(expected)
    assert f"| all | 0 | {n} |" in out
    assert f"| all | 1 | {n} |" in out
    assert f"| declared, anna | {n} | 1.000 |" in out
    labels = [expected[r["item"]] for r in rows_of(sheet)]
    kappa = cohen_kappa_score(labels, ["x", *labels[1:]])
    assert f"| anna, bert | {n} | {kappa:.3f} |" in out


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda n, row: "q" if n == 2 else "l",
            r"sheet.csv, line 4.*'verdict'.*'q' is not l, s or x",
        ),
        (lambda n, row: "", r"no cell has a verdict"),
    ],
)
def test_a_bad_sheet_is_refused(edit, message, tmp_path: Path, capsys) -> None:

    sheet, key = drawn(tmp_path)
    fill(sheet, sheet, edit)
    assert main(["score", "--key", str(key), str(sheet)]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_kappa_against_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(0, 3, (2, 40)).tolist()
        # the same sums in another order: rounding alone
        assert cohens_kappa(a, b) == pytest.approx(cohen_kappa_score(a, b), abs=1e-12)
    assert cohens_kappa([], []) is None
    assert cohens_kappa(["s"], ["s"]) is None


@pytest.mark.parametrize(
    ("errors", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_intervals_of_newcombe_1998(errors: int, n: int, low: float, high: float) -> None:
    # Table I, method 3; four published digits
    assert error_rate(errors, n)[2:] == pytest.approx((low, high), abs=6e-5)


def test_no_items_leave_the_error_rate_open() -> None:
    assert error_rate(0, 0)[2:] == (0.0, 1.0)


def test_a_filled_sheet_is_not_overwritten(tmp_path: Path, capsys) -> None:
    sheet, key = drawn(tmp_path)
    fill(sheet, sheet, lambda n, row: "l")
    before = sheet.read_bytes(), key.read_bytes()
    new = str(tmp_path / "new.csv")
    for files, option in (((str(sheet), new), "--sheet"), ((new, str(key)), "--key")):
        assert main([*DRAW, "--sheet", files[0], "--key", files[1], "dataset=scenes"]) == 2
        assert re.search(rf"{option}: '.*' exists; give another name", capsys.readouterr().err)
    assert (sheet.read_bytes(), key.read_bytes()) == before
    assert not Path(new).exists()
    same = ["--sheet", new, "--key", str(tmp_path / "x" / ".." / "new.csv")]
    assert main([*DRAW, *same, "dataset=scenes"]) == 2


def test_no_cell_of_a_sheet_is_a_formula(tmp_path: Path) -> None:
    """OWASP's list of first characters: = + - @, tab and carriage return."""
    formulas = ["=HYPERLINK(A1)", "+cmd|' /C calc'!A0", "-2+3 dogs", "@SUM(A1)"]
    items = [SheetItem((a,), a, f"{a} x", "c", "1", "k", "", "lower") for a in formulas]
    write_sheet(items, tmp_path / "sheet.csv", tmp_path / "key.csv")
    cells = [c for row in rows_of(tmp_path / "sheet.csv") for c in row.values()]
    assert sorted(c[1:] for c in cells if c.startswith("'")) == sorted(
        text for a in formulas for text in (a, a, f"{a} x")
    )
    assert not [c for c in cells if c.startswith(("=", "+", "-", "@", "\t", "\r"))]
