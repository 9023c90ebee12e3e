"""What papers on captioning report."""

from __future__ import annotations

from pathlib import Path

import pytest

from research.metric_usage import counts, main

PAPERS = (
    "Year,Metrics,Human evaluation framework,Significance test,Annotator agreement\n"
    '2024,"BLEU, mBLEU, CLIPScore ",comparative,yes,no\n'
    '2015,"Self-CIDEr, BLEU",scale rating,no,yes\n'
    "2010,RefCLIPScore,,,\n"
)


def test_a_metric_counts_where_a_paper_names_it(tmp_path: Path) -> None:
    file = tmp_path / "metric_usage.csv"
    file.write_text(PAPERS, encoding="utf-8")
    assert list(counts(file).values()) == [3, 2, 0, 0, 0, 0, 1, 2, 1, 1]


@pytest.mark.coco
def test_the_papers_of_the_survey(coco_root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counted beforehand."""
    file = coco_root / "reformulations/metric_usage.csv"
    if not file.is_file():
        pytest.skip("METAEVAL_DATA has no reformulations/metric_usage.csv")
    assert main([str(file)]) == 0
    said = capsys.readouterr().out.splitlines()[2:]
    numbers = [int(line.rstrip(" |").rpartition(" ")[2]) for line in said]
    assert numbers == [327, 269, 265, 254, 195, 174, 15, 94, 19, 6]
