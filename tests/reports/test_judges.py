"""The section "Judges": its sentences and numbers, with data for which each would differ."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metaeval.errors import InputError
from metaeval.reports.blocks.judges import judges, judges_table, price_per_point
from metaeval.reports.measured import write_report
from metaeval.results.judge import EqualRatingEffects, JudgeDiagnostics
from metaeval.runs import files
from tests.experiments.judgments.test_judgments import run_in
from tests.shared import write_lines

_UNKNOWN = dict.fromkeys((
    "order_consistency", "first_preferred", "ties", "repeatability_sd", "same_answers",
    "input_tokens", "output_tokens", "seconds", "usd",
))  # fmt: skip


def judge(name: str = "J", **changed: Any) -> JudgeDiagnostics:
    """A judge with 40 answers of which 10 are 70, and nothing that has to be recorded."""
    fields = {
        "judge": name, "captions": 40, "answers": 40, "distinct": 9, "most_frequent": 70.0,
        "most_frequent_share": 0.25, "dominated": False, "unparsed": 0, "truncated": 0,
        "refused": 0, "models": (), **_UNKNOWN,
    }  # fmt: skip
    return JudgeDiagnostics.model_validate({**fields, **changed})


def table_of(
    *judges: JudgeDiagnostics, agreement: dict[str, float | None] | None = None
) -> dict[str, list[str]]:
    """Line → its cells, with their marks."""
    table = judges_table(judges, lambda name: agreement or {})
    return {row[0].text: [c.text + c.mark for c in row[1:]] for row in table.groups[0]}


def test_the_table_of_a_judge_with_everything() -> None:
    paid = judge(
        "Paid", most_frequent_share=0.6, dominated=True, unparsed=4, truncated=2, refused=1,
        order_consistency=0.75, first_preferred=0.8, ties=0.1, repeatability_sd=2.5,
        same_answers=0.4, input_tokens=100_000, output_tokens=5_000.4, seconds=512.2, usd=2.0,
        family="qwen", models=("qwen2",),
        at_equal_rating={"rating": EqualRatingEffects(
            length_slope=0.31, self_preference=-4.25, same_family=7)},
    )  # fmt: skip
    free = judge("Free")
    table = table_of(paid, free, agreement={"τ-c, rating": 0.4})
    assert table == {
        "Captions": ["40", "40"],
        "Answers": ["40", "40"],
        "Distinct scores": ["9", "9"],
        "Most frequent score, share": ["60.0% (score 70)†", "25.0% (score 70)"],
        "Unparsed": ["4 (10.0%)", "0"],
        "Truncated": ["2 (5.0%)", "0"],
        "Refused": ["1 (2.5%)", "0"],
        "Ties between two captions": ["10.0%", "–"],
        "First caption preferred": ["80.0%", "–"],
        "Same preference in both orders": ["75.0%", "–"],
        "Standard deviation of samples": ["2.500", "–"],
        "Captions with equal samples": ["40.0%", "–"],
        "Score per word at equal rating": ["+0.310", "–"],
        "Self-preference at equal rating": ["−4.250 (qwen, 7 captions)", "–"],
        "Prompt tokens per 1,000 captions": ["100,000", "–"],
        "Answer tokens per 1,000 captions": ["5,000", "–"],
        "Seconds per 1,000 captions": ["512", "–"],
        "Price per 1,000 captions (US dollars)": ["2.00", "–"],
        "Price per point of τ-c, rating (US dollars)": ["0.05", "–"],  # 2 / (100 × 0.4)
    }


def test_two_rated_dimensions_are_lines_of_their_own() -> None:
    effects = {
        "precision": EqualRatingEffects(length_slope=-0.5),
        "recall": EqualRatingEffects(length_slope=2.0),
    }
    table = table_of(judge(at_equal_rating=effects))
    assert table["Score per word at equal rating, precision"] == ["−0.500"]
    assert table["Score per word at equal rating, recall"] == ["+2.000"]
    assert not [line for line in table if line.startswith("Self-preference")]


@pytest.mark.parametrize(
    ("usd", "agreement", "expected"),
    [(3.0, 0.5, 0.06), (3.0, 0.0, None), (3.0, -0.1, None), (None, 0.5, None), (3.0, None, None)],
)
def test_a_price_needs_a_positive_agreement(
    usd: float | None, agreement: float | None, expected: float | None
) -> None:
    assert price_per_point(usd, agreement) == pytest.approx(expected)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    run: Any = SimpleNamespace(directory=tmp_path, result=None)
    (tmp_path / files.JUDGES).write_text('{"schema_version": 1, "judges": [{"judge": "J"}]}')
    with pytest.raises(InputError, match=r"judges\.json.*judges\.0\.captions"):
        judges(run)


def test_a_run_with_ratings_and_systems_shows_length_and_self_preference(tmp_path: Path) -> None:
    """A judge of the family qwen answers 20 times the rating, 3 a word, and 4 more to Qwen.

    Each rating has the same lengths from both captioners, so that the effects are separate.
    """
    captions = []
    for image in range(4):
        for rating in (1, 3):
            for system, bonus in (("Qwen2-VL", 4), ("GPT-4o", 0)):
                for words in (3, 5):
                    text = f"{system[0]}{rating}{image} " + " ".join("xyzuv"[: words - 1])
                    answer = str(20 * rating + 3 * words + bonus)
                    captions.append((f"i{image}", text, system, rating, answer))
    rated = write_lines(tmp_path / "rated.jsonl", (
        {"image_id": image, "candidate": text, "references": [f"some {image} x y"],
         "human": [rating], "system": system}
        for image, text, system, rating, _ in captions
    ))  # fmt: skip
    answers = write_lines(tmp_path / "answers.jsonl", (
        {"image_id": image, "caption": text, "answer": answer}
        for image, text, _, _, answer in captions
    ))  # fmt: skip
    run_in(
        tmp_path, "dataset=table", f"dataset.file={rated}", "metric=[judge]",
        f"metric.judge.replay={answers}", "metric.judge.title=Qwen judge",
    )  # fmt: skip
    page = write_report(tmp_path / "OUT", figures=False).read_text(encoding="utf-8")
    assert "equal rating</th><td>+3.000</td>" in page
    assert "equal rating</th><td>+4.000 (qwen, 16 captions)</td>" in page
    assert "Qwen judge" in (tmp_path / "OUT" / "tables" / "judges.csv").read_text(encoding="utf-8")
