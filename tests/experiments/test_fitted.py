"""Fitted controls of pairs and of sensitivity: they find what texts give away, and no more."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaeval.data.dataset import CaptionDataset
from metaeval.data.pairs.pairs import load_pairs_table
from metaeval.experiments.fitted import TEXT, caption_features, predictions
from metaeval.experiments.pairs.task import (
    TRUE,
    measure_key,
    paired_captions,
    predict_truth as fitted_pairs,
)
from metaeval.experiments.sensitivity.statistics import predict_harmlessness as fitted_sets
from metaeval.results.run import CorruptionInfo
from metaeval.runs.records import HUMAN
from tests.shared import run_here, write_lines

NOUNS = ("dog", "cat", "bus", "horse", "plate", "tree", "boat", "clock", "bench", "kite")


def sentence(rng: np.random.Generator, mark: str = "") -> str:
    """A random sentence of some six words; a mark is what gives a false caption away."""
    nouns = rng.choice(NOUNS, int(rng.integers(3, 6)))
    return f"a {nouns[0]} near the {' '.join(nouns[1:])}{mark}"


def pairs_file(folder: Path, mark: str, n: int = 120) -> Path:
    """Pairs of random sentences, the false ones with a mark; references are other sentences."""
    rng = np.random.default_rng(4)
    records = [
        {"image_id": i, "true": sentence(rng), "false": sentence(rng, mark), "kind": "random",
         "references": [sentence(rng), sentence(rng)]}
        for i in range(n)
    ]  # fmt: skip
    return write_lines(folder / "pairs.jsonl", records)


def toy(human: Sequence[str], references: Sequence[tuple[str, ...]]) -> CaptionDataset:
    ids = tuple(range(len(human)))
    return CaptionDataset("toy", ids, tuple(human), tuple(references), ids, tuple(human))


def test_a_mark_of_falsehood_is_found_on_other_images(tmp_path: Path) -> None:
    """“while” stands in every false caption. Without it there is nothing to find: of 120 pairs a
    share in [.35, .65] is right (3.3 standard errors)."""
    for mark, low, high in ((" while", 0.97, 1.0), ("", 0.35, 0.65)):
        pairs = load_pairs_table(pairs_file(tmp_path, mark))
        true, false = np.split(fitted_pairs(pairs, paired_captions(pairs), seed=0), 2)
        assert low <= (true > false).mean() <= high


def test_conclusions_on_pairs_must_beat_it(tmp_path: Path) -> None:
    """Two words too many give every false caption away; no metric is above the control then."""
    path = pairs_file(tmp_path, " while while")
    result = run_here(
        tmp_path, "experiment=pairs", "dataset=pairs", f"dataset.file={path}", "report=none",
        "metrics=[rouge_l,random_score]", "stats.replicates=200",
    )  # fmt: skip
    written = pd.read_parquet(tmp_path / "OUT/scores.parquet").query("metric == @TEXT")
    share = (written["true"] > written["false"]).mean()
    assert result.metric(TEXT).numbers.value(measure_key(TRUE)) == share > 0.97
    against = result.controls[measure_key(TRUE, "random")]
    assert (against.control, against.above) == (TEXT, ())


@pytest.mark.parametrize("mark", [" while", ""])
def test_what_harms_is_found_on_other_images(mark: str) -> None:
    """Two sets: a harmless one and one that harms, with a mark or without. 100 images."""
    rng = np.random.default_rng(8)
    human, others = ([sentence(rng) for _ in range(100)] for _ in range(2))
    dataset = toy(human, [(text,) for text in others])
    texts = np.array([[h, sentence(rng), sentence(rng, mark)] for h in human], dtype=object)
    captions = pd.DataFrame(
        {
            "image_id": dataset.image_ids * 3,
            "set": np.repeat([HUMAN, "same", "lower"], 100),
            "caption": texts.T.ravel(),
            "applied": np.arange(300) < 290,
        }
    )
    sets = [
        CorruptionInfo(
            set=expected, name=expected, kind="words", expected=expected, n=100, n_applied=100,
            mean_share_changed=None, median_edits=None, reasons={},
        )
        for expected in ("same", "lower")
    ]  # fmt: skip
    values = fitted_sets(dataset, captions, sets, seed=0)
    assert np.isnan(values).tolist() == [False] * 290 + [True] * 10  # not changed: no score
    people, same, lower = np.split(values, 3)
    harm, harmless = (people[:90] > lower[:90]).mean(), (people > same).mean()
    # the harmless one looks like the human caption, whatever is found: .5 within 3.6 errors
    assert 0.32 < harmless < 0.68
    assert harm > 0.95 if mark else 0.3 < harm < 0.7


def test_features_are_of_one_caption_alone() -> None:
    rng = np.random.default_rng(2)
    dataset = toy([sentence(rng) for _ in range(20)], [()] * 20)
    texts, image = [*dataset.human, ""], np.array([*dataset.image_ids, 3])
    together = caption_features(dataset, texts, image)
    alone = [caption_features(dataset, [t], image[k : k + 1])[0] for k, t in enumerate(texts)]
    assert np.array_equal(together, alone)  # and none is NaN


def test_equal_features_have_equal_predictions() -> None:
    """The same row of a matrix times a vector may differ by the last bit from place to place: with
    32 images in another order there were 35 different predictions."""
    rng = np.random.default_rng(32)
    features, image = np.repeat(rng.normal(size=(32, 5)), 3, axis=0), np.repeat(np.arange(32), 3)
    target, order = rng.normal(size=96), rng.permutation(96)
    for rows in (np.arange(96), order):
        predicted = predictions(features[rows], target[rows], image[rows], 0)
        assert len(np.unique(predicted)) == 32
