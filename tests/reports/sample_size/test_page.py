"""The sentences on the number of images, with numbers for which they are false."""

from __future__ import annotations

from typing import Any

from reports.sample_size.page import findings, neighbour_table


def told(**changes: Any) -> dict[str, Any]:
    """Two neighbours at two sizes."""
    pair = {"better": "A", "worse": "B", "difference": 0.1, "sd": 0.5, "images_for_power": 196.2,
            "images_observed": 200, "images_same_sign": 50, "significant": [0.2, 0.8],
            "predicted": [0.17, 0.81]}  # fmt: skip
    close = {**pair, "better": "B", "worse": "C", "difference": 0.01, "images_for_power": 19623.0,
             "images_observed": None, "images_same_sign": None}  # fmt: skip
    return {"n_images": 200, "sizes": [25, 200], "draws": 100, "stable": 0.95, "power": 0.8,
            "alpha": 0.05, "order": ["A", "B", "C"], "same_order": [0.4, 0.97],
            "images_stable": 200, "neighbours": [pair, close], **changes}  # fmt: skip


def text(**changes: Any) -> str:
    return " ".join(f.text for f in findings(told(**changes)))


def test_when_the_order_is_stable() -> None:
    assert "From 200 images on, 95% of the samples give the order A > B > C." in text()
    never = text(images_stable=None, same_order=[0.4, 0.9])
    assert "Not even 200 images give the order A > B > C in 95% of the samples" in never
    assert "(90.0% of 100 do)" in never
    assert "no order" in findings(None)[0].text


def test_the_hardest_pair_and_the_formula() -> None:
    assert "B and C are the hardest to tell apart" in text()
    assert "19,623 images are needed" in text()
    equal = told()["neighbours"]
    equal[0]["images_for_power"] = None
    assert "A and B are the hardest" in text(neighbours=equal)
    assert "no number of images suffices" in text(neighbours=equal)
    assert "off by at most 0.030 from what the samples show (A and B, 25 images)" in text()


def test_what_is_not_stable_is_named() -> None:
    assert "Which is better of B and C is not stable" in text()
    stable = told()["neighbours"][:1]
    assert "not stable" not in text(neighbours=stable)


def test_table_has_both_sizes() -> None:
    rows = neighbour_table(told()).groups[0]
    assert [cell.text for cell in rows[0]][-3:] == ["50", "200", "197"]
    assert [cell.text for cell in rows[1]][-3:] == [">200", ">200", "19,623"]
