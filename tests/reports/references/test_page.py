"""The sentences on the number of references, with numbers for which they are false."""

from __future__ import annotations

from typing import Any

from reports.references.page import CHOICE, findings, groups_of
from tests.reports.run_files import declared


def text(**series: list[float | None]) -> str:
    """What is said of metrics with these agreements with 0, 1 and 5 references."""
    records: list[dict[str, Any]] = [
        {**declared(name, control=name.startswith("control")), "status": "ok",
         "by_references": [
             {"n_references": n, **({} if v is None else {"agreement": v, "agreement_ci": None})}
             for n, v in zip((0, 1, 5), values, strict=True)
         ]}
        for name, values in series.items()
    ]  # fmt: skip
    groups = groups_of({"n_references": [0, 1, 5], "metrics": records}, [CHOICE])
    return " ".join(f.text for f in findings(groups, CHOICE, frozenset({"control"})))


def test_who_leads_and_who_gains() -> None:
    told = text(a=[0.6, 0.6, 0.65], b=[0.5, 0.7, 0.8], control=[0.9, 0.9, 0.9])
    assert "With no references a is highest (0.600)." in told
    assert "With five references b is highest (0.800)." in told
    assert "From 0 to 5 b gains most (+0.300)." in told
    assert "cannot score" not in told


def test_who_needs_references() -> None:
    told = text(a=[0.6, 0.6, 0.6], b=[None, 0.7, 0.8])
    assert "With no references b cannot score." in told
    assert "From 0 to 5 no metric gains." in told
    assert text(control=[0.5, 0.5, 0.5]) == ""
