"""The score bank: described files as columns of a run, and the command that checks them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metaeval.cli.main import run_verb
from metaeval.data.dataset import CaptionDataset
from metaeval.data.own.bank import read_entry
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.adapters.bank import BankMetric
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from tests.data.pairs import pair_files
from tests.shared import run_here

DESCRIBED = {
    "metric": "CLAIR",
    "benchmark": "table",
    "citation": ["@misc{clair, title = {CLAIR}}"],
    "source": "https://example.org",
    "licence": "CC BY 4.0",
    "reads": ["references"],
}
IMAGES = ("1.jpg", "2.jpg")
HUMAN = ("a dog", "a cat")
MACHINES = (
    "dataset.systems=[Up-Down,Unified-VLP,VinVL-base,VinVL-large]",
    "dataset.dimensions=[total]",
)
DATASET = CaptionDataset("table", IMAGES, HUMAN, (HUMAN, HUMAN), IMAGES, HUMAN)


def bank_file(folder: Path, name: str, rows: list[tuple[Any, ...]], **described: Any) -> Path:
    """NAME.csv with rows of image, caption and score, and NAME.yaml."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(json.dumps({**DESCRIBED, **described}))
    file = folder / f"{name}.csv"
    pd.DataFrame(rows, columns=["image_id", "caption", "score"]).to_csv(file, index=False)
    return file


def scores(bank: BankMetric, captions: list[str], index: list[int]) -> Any:
    return score_captions(bank, DATASET, captions, np.array(index), MemoryStore())


def test_files_of_one_metric_are_one_column(tmp_path: Path) -> None:
    """Its scores on this dataset come before those on others, which fill what it does not have."""
    bank_file(tmp_path, "a_other", [("1", "a dog", 9), ("1", "a fox", 3)], benchmark="thumb")
    bank_file(tmp_path, "b_this", [("1.jpg", "a dog", 1), ("2.jpg", "a cat", 2)])
    bank_file(tmp_path, "c", [("2.jpg", "a cat", 7)], metric="TER", higher_is_better=False)
    bank_file(tmp_path, "d", [("77.jpg", "a cat", 7)], metric="Of other images")
    (tmp_path / "not_described.csv").write_text("image_id,caption,score\n1.jpg,a dog,5\n")
    bank = BankMetric(tmp_path)
    assert [c.name for c in bank.columns] == ["CLAIR", "TER", "Of other images"]
    assert bank.citation == tuple(DESCRIBED["citation"])
    assert bank.reads == {"references"}
    done = scores(bank, ["a dog", "a fox", "a cat", "a bird"], [0, 0, 1, 1])
    assert [(c.name, c.higher_is_better) for c in done.columns] == [("CLAIR", True), ("TER", False)]
    nan = np.nan
    np.testing.assert_array_equal(done.scores, [[1, nan], [3, nan], [2, 7], [nan, nan]])
    assert [c.name for c in BankMetric(tmp_path, only=["TER"]).columns] == ["TER"]
    with pytest.raises(ConfigError, match=r"metric\.bank\.only: 'BLEU' not among CLAIR, TER"):
        BankMetric(tmp_path, only=["BLEU"])


def test_a_bank_without_scores_of_the_images_is_skipped_with_the_reason(tmp_path: Path) -> None:
    bank_file(tmp_path, "d", [("77.jpg", "a cat", 7)])
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert "no scores of the 2 images" in BankMetric(folder).bind(DATASET).reason


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"licence": ""}, r"a\.yaml, field 'licence'"),
        ({"reads": ["audio"]}, r"field 'reads.0': 'audio'"),
        ({"citation": []}, r"field 'citation'"),
        ({"page": 3}, r"field 'page'"),
        ({"captions": "../x.csv"}, r"field 'captions': '../x.csv': is not below the data folder"),
        ({"file": "/etc/x.csv"}, r"field 'file': '/etc/x.csv': is not below the data folder"),
        (None, r"a\.yaml, which describes it, is not next to it"),
    ],
)
def test_what_a_description_must_say(tmp_path: Path, change: Any, problem: str) -> None:
    file = bank_file(tmp_path, "a", [("1.jpg", "a dog", 1)], **(change or {}))
    if change is None:
        file.with_suffix(".yaml").unlink()
    with pytest.raises(InputError, match=problem):
        read_entry(file)


def test_a_description_names_a_listed_benchmark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A path there would be a configuration, and what it names would be called."""
    (tmp_path / "evil.yaml").write_text("_target_: pathlib.Path.touch\n_args_: [PWNED]\n")
    for benchmark in (f"../../../../../../../../../../..{tmp_path}/evil", "thmub", "a b"):
        file = bank_file(tmp_path, "a", [("1.jpg", "a dog", 1)], benchmark=benchmark)
        assert run_verb(["check", str(file)]) == 2
        assert "a.yaml, field 'benchmark': " in capsys.readouterr().err


@pytest.mark.parametrize(
    "change", [{"column": "B"}, {"higher_is_better": False}, {"answers": True}]
)
def test_a_corrected_description_gives_new_scores(change: dict[str, Any], tmp_path: Path) -> None:
    file = bank_file(tmp_path, "a", [("1.jpg", "a dog", 1)])
    file.write_text("image_id,caption,score,B\n1.jpg,a dog,1,2\n")
    store = MemoryStore()
    made = []
    for changes in ({}, change):
        file.with_suffix(".yaml").write_text(json.dumps({**DESCRIBED, **changes}))
        done = score_captions(BankMetric(tmp_path), DATASET, ["a dog"], np.array([0]), store)
        made.append(done.signatures)
        assert done.n_cached == 0
        assert done.scores[0, 0] == (2 if "column" in changes else 1)
    assert made[0] != made[1]


def test_two_descriptions_agree_which_direction_is_better(tmp_path: Path) -> None:
    bank_file(tmp_path, "a", [("1.jpg", "a dog", 1)])
    bank_file(tmp_path, "b", [("2.jpg", "a cat", 2)], higher_is_better=False)
    with pytest.raises(InputError, match=r"b\.yaml: higher_is_better is false, and another file"):
        BankMetric(tmp_path)
    bank_file(tmp_path, "b", [("2.jpg", "a cat", 2)], higher_is_better=False, metric="Other")
    assert len(BankMetric(tmp_path).columns) == 2


def test_the_command_counts_what_a_file_covers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair_files.coco(tmp_path)
    annotations = [
        {"id": 7, "image_id": 139, "caption": caption, "foil": caption != "a dog"}
        for caption in ("a dog", "a cat", "a cow")
    ]
    (tmp_path / "foil").mkdir()
    content = json.dumps({"annotations": annotations})
    (tmp_path / "foil/foilv1.0_test_2017.json").write_text(content)
    monkeypatch.setenv("METAEVAL_DATA", str(tmp_path))
    rows = [("000139.jpg", "a dog", 0.5), ("000139.jpg", "a cat", ""), ("9.jpg", "a cow", 1)]
    file, printed = tmp_path / "scores" / "clair_foil.csv", []
    for of, change, code in (
        (rows, {}, 0),
        (rows[2:], {}, 1),
        (rows, {"benchmark": "valse"}, 0),
        *((rows, c, 2) for c in ({"benchmark": "nothing"}, {"benchmark": "scenes"})),
        (rows, {"column": "CLAIR"}, 2),
    ):
        bank_file(file.parent, file.stem, of, **{"benchmark": "foil", **change})
        assert run_verb(["check", str(file.with_suffix(".yaml"))]) == code
        printed.append("".join(capsys.readouterr()))
    assert "clair_foil.csv: CLAIR, 2 captions with a score; reads references" in printed[0]
    assert "licence: CC BY 4.0" in printed[0]
    assert "foil: 1 of 3 captions have a score" in printed[0]
    assert "valse: not compared" in printed[2]
    assert not any("Traceback" in text for text in printed)


def test_a_file_is_checked_as_its_description_says_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other names of columns, and answers that begin with a score."""
    monkeypatch.setenv("METAEVAL_DATA", str(tmp_path))
    described = {"fields": {"caption": "hyp"}, "column": "said", "answers": True}
    file = bank_file(tmp_path / "bank", "judge", [], benchmark="valse", **described)
    rows = [("1.jpg", "a dog", " 80 because"), ("2.jpg", "a cat", "none"), ("2.jpg", "a dog", "5")]
    pd.DataFrame(rows, columns=["image_id", "hyp", "said"]).to_csv(file, index=False)
    assert run_verb(["check", str(file)]) == 0
    assert "judge.csv: CLAIR, 2 captions with a score" in capsys.readouterr().out
    done = scores(BankMetric(tmp_path / "bank"), ["a dog", "a cat", "a dog"], [0, 1, 1])
    np.testing.assert_array_equal(done.scores[:, 0], [80, np.nan, 5])


@pytest.mark.slow
@pytest.mark.coco
@pytest.mark.parametrize(
    ("dataset", "options", "expected"),
    [
        (
            "flickr8k_expert",
            (),
            [
                ("FLEUR", "kendall_tau_c", 53.03),  # Lee et al. (2024) print 53.0
                ("LLaVA-1.5-13B (references)", "kendall_tau_c", 33.5),
                ("LLaVA-1.5-13B (visual context)", "kendall_tau_b", 42.6),
                ("LLaVA-1.5-7B", "kendall_tau_c", 30.8),
            ],
        ),
        (
            "thumb",
            MACHINES,
            [
                ("RefCLIPScore (published)", "pearson", 45.4),
                ("CLIPScore (published)", "pearson", 31.7),
            ],
        ),
    ],
)
def test_scores_of_others_in_the_data_folder(
    dataset: str,
    options: tuple[str, ...],
    expected: list[tuple[str, str, float]],
    coco_root: Path,
    tmp_path: Path,
) -> None:
    """Judges' raw answers by their leading number, and THumB's scores by captioner: the values
    that their files give without metaeval (τ-c, τ-b and r times 100, to the printed digit). Of the
    visual context's answers 78 have no number (their τ-b is 42.4 where these count as 0)."""
    if not all((coco_root / f).is_dir() for f in ("judges", "scores", "thumb/metric_scores")):
        pytest.skip("METAEVAL_DATA has no recorded judges, or no scores of FLEUR or THumB")
    result = run_here(
        tmp_path,
        "experiment=judgments",
        f"dataset={dataset}",
        *options,
        f"paths.data={coco_root}",
        "metrics=[bank]",
        f"metric.bank.only={json.dumps([metric for metric, _, _ in expected])}",
        "stats.replicates=10",
        "task.fitted=false",
        "report=none",
    )
    for metric, measure, value in expected:
        found = 100 * result.metric(metric).numbers.value(measure)
        assert found == pytest.approx(value, abs=0.05), metric
