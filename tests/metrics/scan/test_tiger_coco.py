"""TIGEr and SCAN on real images, with the weights that are shipped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from metaeval.corruptions.graded.random import Random
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.metrics.scan.metric import ScanSimilarity, Tiger
from metaeval.vision.regions.gold import GoldRegions
from tests.metrics.scan.scan_cases import bound, ready


def own_captions_win(data: CaptionDataset) -> dict[str, float]:
    """The share of images for which the human caption scores above another image's."""
    others = [each.text for each in Random().apply(data, seed=0)]
    index = np.arange(len(data))
    shares = {}
    for kind in (Tiger, ScanSimilarity):
        scorer = ready(kind(GoldRegions(), device="cpu"), data)
        better = scorer.score(data.human, index) > scorer.score(others, index)
        names = [column.name for column in scorer.columns]
        shares |= dict(zip(names, better.mean(axis=0), strict=True))
    return shares


@pytest.mark.coco
def test_human_captions_of_val2017_score_above_other_images(coco_root: Path) -> None:
    found = own_captions_win(load_coco("coco_val2017", data=coco_root, limit=150))
    assert found["TIGEr (gold objects)"] > 0.9
    assert found["TIGEr-WDS (gold objects)"] > 0.95
    assert found["SCAN-i2t (gold objects)"] > 0.95
    assert found["TIGEr-RRS (gold objects)"] > 0.6  # many images have few regions to rank


def test_human_captions_of_scenes_score_above_other_scenes(tmp_path: Path) -> None:
    found = own_captions_win(load_scenes(n=150, images=False, cache=tmp_path))
    assert found["TIGEr (gold objects)"] > 0.9
    assert found["SCAN-i2t (gold objects)"] > 0.95


@pytest.mark.coco
def test_weights_never_score_what_they_have_seen(coco_root: Path) -> None:
    """Either direction of COCO gets the other's weights; their 593 common images get no score."""
    val = load_coco("coco_val2017", data=coco_root, limit=20)
    everything = load_coco("coco_karpathy_test", split="karpathy_test", data=coco_root)
    chosen = {}
    for data in (val, everything):
        label = bound(Tiger(GoldRegions(), device="cpu"), data).weights.label
        chosen[data.name] = label.rpartition("-")[0]
    assert chosen == {"coco_val2017": "scan_karpathy_test", "coco_karpathy_test": "scan_val2017"}
    common = np.isin(everything.image_ids, load_coco("v", data=coco_root).image_ids)
    some = everything.subset([*np.flatnonzero(common)[:3], *np.flatnonzero(~common)[:3]])
    scorer = ready(Tiger(GoldRegions(), device="cpu"), some)
    scores = scorer.score(some.human, np.arange(6))
    seen = np.isin(some.image_ids, np.array(everything.image_ids)[common])
    assert seen.sum() == 3
    assert (np.isnan(scores).all(axis=1) == seen).all()
    refused = Tiger(GoldRegions(), weights="scan_val2017").bind(val)
    assert isinstance(refused, Absent)
