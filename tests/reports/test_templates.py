"""Sentences of templates that several pages share, with data for which they are true and false."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from metaeval.reports.shared.page import render


@pytest.mark.falsifies("reports.judgments.templates.who_beats_whom: Fewer than two metrics to")
def test_a_matrix_or_why_there_is_none() -> None:
    def page(*metrics: str) -> str:
        lines = [SimpleNamespace(metric=m, cells=(), beats=0) for m in metrics]
        entry = SimpleNamespace(name="all", lines=lines, table=SimpleNamespace(
            caption="", heads=(), groups=()), links=())  # fmt: skip
        return render(
            "who_beats_whom.html.j2", 2, room="judgments", matrices=[entry], compared="accuracy",
            alpha="0.05", tests="P",
        )  # fmt: skip

    assert "Fewer than two metrics to compare." in page()
    assert "Fewer than two metrics to compare." not in page("CIDEr", "METEOR")


@pytest.mark.falsifies("reports.shared.templates.cite: The papers of {} are")
def test_metrics_without_a_paper_are_named() -> None:
    def page(*missing: str) -> str:
        citation = SimpleNamespace(sentence="", bibtex="", missing=missing)
        return render("cite.html.j2", 2, room="shared", citation=citation)

    assert "The papers of mine, yours are not known here." in page("mine", "yours")
    assert "not known here" not in page()
