"""The embedded dataset: generated scenes with images, captions, objects and known truth."""

from metaeval.data.scenes.graph import (
    AlignedCaption,
    Mark,
    Relation,
    SceneGraph,
    SceneObject,
)
from metaeval.data.scenes.load import SPLITS, SceneImages, load_scenes, read_scenes

__all__ = [
    "SPLITS",
    "AlignedCaption",
    "Mark",
    "Relation",
    "SceneGraph",
    "SceneImages",
    "SceneObject",
    "load_scenes",
    "read_scenes",
]
