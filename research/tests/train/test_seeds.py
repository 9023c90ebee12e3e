"""The seed alone decides a training."""

from pathlib import Path

import pytest

from tests.test_metamorphic import COCO, SHARED, Input, coco, differing, run

TRAINED = {**SHARED, "task__threads": 1, "device": "cpu"}
INPUTS = {
    "train_clip": Input(
        {},
        {
            **TRAINED,
            "dataset": "scenes",
            "dataset__size": 32,
            "task__n_train": 24,
            "task__dev": 8,
            "task__n_held_out": 8,
            "task__image_size": 32,
            "task__embed_dim": 16,
            "task__vision": {"layers": [1] * 4, "width": 8, "head_width": 32, "patch_size": None},
            "task__text": {"context_length": 32, "width": 16, "heads": 2, "layers": 1},
            "task__batch": 12,
            "task__training__epochs": 1,
        },
    ),
    "train_faier": Input(
        {"coco": coco()},
        {
            **TRAINED,
            **COCO,
            "task__dev": 8,
            "task__min_count": 1,
            "task__network": {"width": 16, "d": 16, "dropout": 0.0},
            "task__model__batch": 12,
            "task__training__epochs": 1,
        },
    ),
    "train_scan": Input(
        {"coco": coco()},
        {
            **TRAINED,
            **COCO,
            "task__dev": 8,
            "task__network__embed": 12,
            "task__network__word": 8,
            "task__network__hidden": 8,
            "task__losses__batch": 12,
            "task__training__epochs": 1,
        },
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("experiment", INPUTS)
def test_the_seed_alone_decides_a_training(experiment: str, tmp_path: Path) -> None:
    given = INPUTS[experiment]
    base = run(experiment, given, tmp_path / "base")
    assert not differing(base, run(experiment, given, tmp_path / "again"))
    loss = "training", "history", "0", "loss"
    assert run(experiment, given.having(seed=1), tmp_path / "other")[loss] != base[loss]
