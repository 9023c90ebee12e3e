"""A card's values on the dev images, compared with the metrics themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from metaeval.experiments.training.dev import LEVELS, captions_in_turns, measure
from metaeval.metrics.scan.metric import ScanSimilarity, Tiger
from metaeval.metrics.scan.network import Scan, ScanShape
from metaeval.stats.correlation.rank_order import rank_order
from metaeval.training.dataset import CaptionedImages
from metaeval.vision.regions.gold import GoldRegions, add_grid
from metaeval.weights import pretrained
from tests.metrics.metric_cases import ready
from tests.metrics.scan.scan_cases import dataset, weights

GRID = 2


def test_cards_report_what_the_metrics_give(tmp_path: Path) -> None:
    data, folder = dataset(), weights(tmp_path, grid=GRID)
    stored = pretrained.read(folder)
    model = Scan(ScanShape.of_json(stored.card["shape"]))
    model.load_state_dict(stored.state())
    images = CaptionedImages.of(data, GoldRegions())
    seen = replace(images, regions=add_grid(images.regions, GRID))
    measured = measure(model, stored.vocabulary(), seen, data, 9.0, "cpu")
    texts = captions_in_turns(images, data, turns=3)
    found: dict[str, list[np.ndarray]] = {name: [] for name in texts}
    for turn in range(3):
        human = tuple(own[turn] for own in images.captions)
        others = tuple(own[:turn] + own[turn + 1 :] for own in images.captions)
        mine = replace(data, human=human, references=others, _loaded={})
        assert texts["Human"][turn::3] == list(human)
        scorers = [
            ready(kind(GoldRegions(), weights=str(folder)), mine)
            for kind in (Tiger, ScanSimilarity)
        ]
        for name, own in texts.items():
            scores = [scorer.score(own[turn::3], np.arange(len(data))) for scorer in scorers]
            found[name].append(np.hstack(scores))
    columns = (*Tiger.plain_columns, *ScanSimilarity.plain_columns)
    assert list(measured) == [column.name for column in columns]
    for which, levels in LEVELS.items():
        for k, column in enumerate(measured):
            scores = np.stack([np.concatenate(found[name])[:, k] for name in levels], axis=1)
            expected = rank_order(scores, np.arange(4)).rho
            assert measured[column][which] == pytest.approx(expected, abs=1e-4)  # four digits
