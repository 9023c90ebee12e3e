"""Photographs become regions, regions weights of SCAN, and weights scores of TIGEr."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torchvision.models import detection

from metaeval.config import compose_config
from metaeval.experiments.run import run_configured
from metaeval.overrides import override_texts
from metaeval.results.files import read_result
from metaeval.runs import files
from metaeval.vision.regions import detector
from metaeval.vision.regions.detector import FasterRcnn


class SmallRcnn(FasterRcnn):
    """The same network on smaller copies of the images, with fewer proposals: for speed alone."""

    def _loaded(self) -> Any:
        network = super()._loaded()
        network.transform.min_size, network.transform.max_size = (128,), 200
        network.rpn._post_nms_top_n = {"training": 60, "testing": 60}
        return network


class NeverLooks(FasterRcnn):
    """For sources that should know already what is in the images."""

    def _loaded(self) -> Any:
        raise AssertionError("looked at an image again")


THRESHOLD = 0.011  # an untrained network gives each of its 91 classes about 1/91


LEARNED = 100  # images to learn from; the others are scored


def official_names(state: dict[str, Any]) -> dict[str, Any]:
    """The weights under the names of the file that torchvision publishes."""
    old = {}
    for name, value in state.items():
        shorter = re.sub(r"(fpn\.(?:inner|layer)_blocks\.\d)\.0\.", r"\1.", name)
        old[shorter.replace("rpn.head.conv.0.0.", "rpn.head.conv.")] = value
    return old


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("detector") / "fasterrcnn_resnet50_fpn_coco.pth"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        network = detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None)
    state = official_names(network.state_dict())
    assert {"rpn.head.conv.weight", "backbone.fpn.inner_blocks.0.weight"} <= set(state)
    torch.save(state, path)
    return path


@pytest.fixture(scope="module")
def halves(coco_root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Captions of the photographs' images: to learn from, to score; and the photographs' folder."""
    photographs = coco_root / "coco/val2017"
    ids = sorted(int(path.stem) for path in photographs.glob("*.jpg"))
    if len(ids) < 2 * LEARNED:
        pytest.skip("METAEVAL_DATA does not hold 200 photographs")
    content = json.loads((coco_root / "coco/annotations/captions_val2017.json").read_text())
    folder, written = tmp_path_factory.mktemp("captions"), []
    for name, chosen in (("learn", set(ids[:LEARNED])), ("score", set(ids[LEARNED:]))):
        some = {
            **content,
            "images": [i for i in content["images"] if i["id"] in chosen],
            "annotations": [a for a in content["annotations"] if a["image_id"] in chosen],
        }
        written.append(folder / f"{name}.json")
        written[-1].write_text(json.dumps(some))
    return written[0], written[1], photographs


def run(out: Path, cache: Path, **options: Any) -> None:
    config = compose_config(override_texts({"paths__cache": cache, "device": "cpu", **options}))
    run_configured(config, out)


@pytest.mark.coco
@pytest.mark.slow
def test_photographs_become_scores_of_tiger(
    checkpoint: Path,
    halves: tuple[Path, Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(detector, "FasterRcnn", SmallRcnn)
    learn, score, photographs = halves
    looks = {
        "regions": "detector",
        "regions__weights": checkpoint,
        "regions__threshold": THRESHOLD,
        "dataset": "coco",
        "dataset__images": photographs,
        "dataset__image_source": "coco",
    }
    cache, weights = tmp_path / "cache", tmp_path / "weights"
    run(
        weights,
        cache,
        experiment="train_scan",
        dataset__captions=learn,
        task__dev=20,
        task__training__epochs=1,
        **looks,
    )
    scoring = {
        "experiment": "replace",
        "metrics": ["tiger"],
        "dataset__captions": score,
        "metric__tiger__weights": weights,
        "report": "none",
        "stats__replicates": 20,
        **looks,
    }
    run(tmp_path / "first", cache, **scoring)
    tiger = read_result(tmp_path / "first" / files.STATISTICS).metrics[0]
    assert tiger.ok, tiger.reason
    digest = FasterRcnn(checkpoint)  # its file is part of the signature
    assert digest.missing("regions", "regions.weights") is None
    assert "detector-fasterrcnn-" in str(tiger.signature)
    assert "random" not in str(tiger.signature)
    scores = files.read_run_table(tmp_path / "first" / files.SCORES)
    of_tiger = scores[scores["metric"] == tiger.name]["score"].to_numpy()
    images = len(set(scores["image_id"]))
    assert images >= LEARNED
    assert len(of_tiger) == 4 * images
    assert np.isfinite(of_tiger).all()
    assert of_tiger.std() > 0

    # no photograph is looked at again, and the scores are the same
    monkeypatch.setattr(detector, "FasterRcnn", NeverLooks)
    run(tmp_path / "second", cache, **scoring)
    again = files.read_run_table(tmp_path / "second" / files.SCORES)
    np.testing.assert_array_equal(again["score"].to_numpy(), scores["score"].to_numpy())
