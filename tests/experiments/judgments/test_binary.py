"""Average precision and AUROC of binary labels, against published values of a benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaeval.experiments.printout import printout
from tests.experiments.judgments.test_judgments import run_in, run_table

FAST = ("stats.replicates=50", "task.permutations=50", "task.fitted=false")


def test_hat_gives_the_published_average_precision(coco_root: Path, tmp_path: Path) -> None:
    """HAT (ALOHa, Table 2): "contains a hallucination" has 33.8, BLEU-4 53.3, CIDEr 48.0.

    Printed with one decimal, so the tolerance is half of the last digit.
    """
    path = coco_root / "hat/hat-trainval.json"
    if not path.is_file():
        pytest.skip("METAEVAL_DATA has no HAT")
    result = run_in(
        tmp_path, "dataset=table", f"dataset.file={path}", "dataset.human=contains_hallucination",
        "dataset.higher_is_better=false", "metrics=[bleu,cider]", *FAST,
    )  # fmt: skip
    for metric, published in {"BLEU-4": 53.3, "CIDEr": 48.0}.items():
        numbers = result.metric(metric).numbers
        assert 100 * (numbers.value("positive") or 0) == pytest.approx(33.75)
        precision = 100 * (numbers.value("average_precision") or 0)
        assert precision == pytest.approx(published, abs=0.05)
    assert "by chance" in printout(result, tmp_path / "statistics.json")


@pytest.mark.parametrize("higher", [True, False])
def test_the_label_true_is_the_positive_one(higher: bool, tmp_path: Path) -> None:
    """With higher_is_better=false the captions labelled true are expected to score lowest."""
    labels = [True, True, False, False, False]
    texts = ["a dog", "a dog runs", "a dog runs fast", "a dog runs very fast", "a"]
    rows = [
        {"image_id": f"i{k}", "candidate": text, "references": ["a"], "human": label}
        for k, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    numbers = (
        run_table(tmp_path, rows, f"dataset.higher_is_better={higher}", "metrics=[length]", *FAST)
        .metric("Length")
        .numbers
    )
    # lengths 2 and 3 against 4, 5 and 1: of the six pairs the positive is longer in two
    assert numbers.value("auroc") == pytest.approx(2 / 6 if higher else 4 / 6)
    assert numbers.value("positive") == pytest.approx(0.4)


def test_ratings_of_more_than_two_values_have_none(tmp_path: Path) -> None:
    rows = [
        {"image_id": f"i{k}", "candidate": "a " * (k + 1), "references": ["a"], "human": k}
        for k in range(5)
    ]
    result = run_table(tmp_path, rows, "metrics=[length]", *FAST)
    assert "auroc" not in result.metric("Length").numbers.values


@pytest.mark.parametrize(("words", "said"), [(3, False), (12, True)])
def test_captions_much_longer_than_references_are_said(
    words: int, said: bool, tmp_path: Path
) -> None:
    rows = [
        {"image_id": f"i{k}", "candidate": "long " * (words - 1) + f"w{k}",
         "references": ["a b c"], "human": k % 3}
        for k in range(6)
    ]  # fmt: skip
    result = run_table(tmp_path, rows, "metrics=[rouge_l]", *FAST)
    line = f"Captions have {words:.1f} words on average, {words / 3:.1f} times as many"
    assert (line in printout(result, tmp_path / "statistics.json")) == said
