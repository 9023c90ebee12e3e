"""What the files that earlier versions wrote are of: another BLEU, and intervals of few images."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metaeval.experiments.sample_size import task
from metaeval.metrics.ngram import bleu
from metaeval.stats.ordering import detection, selected
from metaeval.stats.resampling import bootstrap


@pytest.fixture(autouse=True, scope="module")
def no_floor() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (bootstrap, detection, selected, task):
            patch.setattr(module, "MIN_UNITS", 1)
        yield


@pytest.fixture(scope="module")
def former_bleu() -> Iterator[None]:
    """BLEU without pycocoevalcap's constants, which the earlier files are of."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bleu, "TINY", 0.0)
        patch.setattr(bleu, "SMALL", 0.0)
        yield


# A control whose scores are drawn from the image's id, which was another one in earlier files.
DRAWN_BY_ID = "Random score"


def read_former(path: Path) -> Any:
    """An earlier file, with the signature that BLEU has now."""
    text = gzip.decompress(path.read_bytes()).decode()
    return json.loads(text.replace("smooth:none", "smooth:coco"))
