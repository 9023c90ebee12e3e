"""The BLEU of the files that earlier versions wrote."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metaeval.metrics.ngram import bleu


@pytest.fixture(scope="module")
def former_bleu() -> Iterator[None]:
    """BLEU without pycocoevalcap's constants, which the earlier files are of."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bleu, "TINY", 0.0)
        patch.setattr(bleu, "SMALL", 0.0)
        yield


def read_former(path: Path) -> Any:
    """An earlier file, with the signature that BLEU has now."""
    text = gzip.decompress(path.read_bytes()).decode()
    return json.loads(text.replace("smooth:none", "smooth:coco"))
