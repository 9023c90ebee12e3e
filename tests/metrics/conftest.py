"""A few drawn scenes, as they are and as photographs."""

from dataclasses import replace

import pytest

from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> CaptionDataset:
    return load_scenes(limit=4, cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def photographs(scenes: CaptionDataset) -> CaptionDataset:
    """The same images, for metrics whose weights are for photographs alone."""
    image_source, pool_source = (
        tuple(f"own:{i}" for i in ids) for ids in (scenes.image_ids, scenes.pool_ids)
    )
    return replace(
        scenes, name="mine", image_source=image_source, pool_source=pool_source, _loaded={}
    )
