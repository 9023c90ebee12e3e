"""The network: against torch's own parts, against the authors' code, and in odd company."""

import argparse
import json
import math
import pickle
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from metaeval.errors import InputError
from metaeval.metrics.scan.grounding import Grounder
from metaeval.metrics.scan.network import Scan, ScanShape, load_checkpoint
from metaeval.text.vocabulary import SPECIAL, Vocabulary
from metaeval.vision.regions.base import Regions
from tests.precision import assert_same_scores

WORDS = ("dog", "ball", "a", "red", "runs")
SMALL = ScanShape(dim=6, words=9, embed=5, word=4)


def by_formula(model: Scan) -> None:
    """The same weights on every machine: weight k of tensor j is sin(1.7 k + j) / 2."""
    for part in (model.image, model.text):
        for j, value in enumerate(part.state_dict().values()):
            numbers = torch.arange(value.numel(), dtype=torch.float64)
            value.copy_((torch.sin(1.7 * numbers + j) / 2).view(value.shape))


def official(folder: Path, model: Scan, **options: Any) -> tuple[Path, Path]:
    opt = argparse.Namespace(raw_feature_norm="clipped_l2norm", no_imgnorm=False, **options)
    content = {
        "epoch": 3,
        "model": [model.image.state_dict(), model.text.state_dict()],
        "best_rsum": 400.0,
        "opt": opt,
        "Eiters": 100,
    }
    path, words = folder / "model_best.pth.tar", folder / "vocab.json"
    torch.save(content, path)
    names = [*SPECIAL, *WORDS]
    numbers = {word: i for i, word in enumerate(names)}
    backwards = {str(i): word for word, i in numbers.items()}
    words.write_text(json.dumps({"word2idx": numbers, "idx2word": backwards, "idx": len(names)}))
    return path, words


def regions_of(features: torch.Tensor) -> Regions:
    n, r, _ = features.shape
    names = tuple(("",) * r for _ in range(n))
    boxes = np.zeros((n, r, 4), np.float32)
    return Regions(features.numpy(), boxes, np.ones((n, r), np.bool_), names)


# What the authors' code (SeleenaJM/CapEval with kuanghuei/SCAN, edited to run on today's torch)
# printed for these weights and features: cap2img_grounding, then xattn_score_i2t and _t2i.
AUTHORS = [
    ("dog ball a", [0.108861677, 0.848192171, 0.983791693, 0.976437882], [0.7293209, 0.7835244]),
    ("red", [0.335346623, 0.925416815, 0.939321023, 0.921607057], [0.7804228, 0.7306183]),
    ("", [0.430516803, 0.903387627, 0.904950934, 0.897244402], [0.7840250, 0.7526249]),
]


@pytest.mark.parametrize("through_a_file", [False, True])
def test_the_authors_code_gives_the_same_grounding(tmp_path: Path, through_a_file: bool) -> None:
    model = Scan(SMALL)
    by_formula(model)
    words = Vocabulary((*SPECIAL, *WORDS), "ptb")
    if through_a_file:
        model, words = load_checkpoint(*official(tmp_path, model))
    features = torch.cos(torch.arange(24, dtype=torch.float64) * 0.9).float().view(1, 4, 6)
    grounder = Grounder(model, words, regions_of(features), 9.0, "cpu")
    captions = [caption for caption, _, _ in AUTHORS]
    index = np.zeros(len(captions), np.intp)
    # float32 encoders on another version of the library: a few units in the seventh place
    np.testing.assert_allclose(
        grounder.grounding(captions, index), [g for _, g, _ in AUTHORS], rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(
        grounder.similarity(captions, index), [s for _, _, s in AUTHORS], rtol=0, atol=1e-6
    )


def test_the_network_for_the_whole_image_leaves_the_others_alone() -> None:
    features = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[True, True, False], [True, True, True]])
    found = {}
    for kind in ("none", "whole", "all"):
        torch.manual_seed(0)
        hidden, whole = 0 if kind == "none" else 8, kind == "whole"
        model = Scan(ScanShape(dim=6, words=9, embed=5, word=4, hidden=hidden, whole_only=whole))
        found[kind] = model.image(features, mask).detach()
    assert_same_scores(found["whole"][:, 1:], found["none"][:, 1:])
    assert_same_scores(found["whole"][:, 0], found["all"][:, 0])
    assert not torch.isclose(found["whole"], found["none"])[:, 0].any()
    assert not torch.isclose(found["all"], found["none"])[:, 1].any()


def test_padded_captions_are_read_as_each_alone() -> None:
    torch.manual_seed(0)
    text = Scan(ScanShape(dim=6, words=30, embed=7, word=5)).text
    lengths = torch.tensor([4, 9, 2, 7])
    ids = torch.randint(1, 30, (4, 9)) * (torch.arange(9) < lengths[:, None])
    read = text(ids, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone = text(ids[row : row + 1, :length])[0].detach()
        np.testing.assert_allclose(alone, read[row, :length].detach(), rtol=0, atol=1e-6)
        assert (read[row, length:] == 0).all()


def test_a_caption_gets_the_same_numbers_in_any_company() -> None:
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    mask = np.arange(11)[None, :] < rng.integers(1, 12, 30)[:, None]
    features = rng.random((30, 11, 88), np.float32) * mask[..., None]
    names = tuple(("",) * n for n in mask.sum(axis=1).tolist())
    regions = Regions(features, np.zeros((30, 11, 4), np.float32), mask, names)
    model = Scan(ScanShape(dim=88, words=9, embed=16, word=8, hidden=12))
    words = Vocabulary((*SPECIAL, *WORDS))
    captions = [" ".join(rng.choice(WORDS, rng.integers(0, 12))) for _ in range(200)]
    images = rng.integers(0, 30, 200)
    together = Grounder(model, words, regions, 9.0, "cpu").grounding(captions, images)
    assert ((together != 0) == mask[images]).all()
    few = np.array([3, 3, 17, 5])
    some = Grounder(model, words, regions.subset(images[few]), 9.0, "cpu")
    alone = some.grounding([captions[k] for k in few], np.arange(4))
    width = alone.shape[1]
    assert (alone == together[few, :width]).all()  # to the last bit
    assert (together[few, width:] == 0).all()


def test_shapes_come_back_from_a_card() -> None:
    assert ScanShape.of_json(json.loads(json.dumps(asdict(SMALL)))) == SMALL


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ({"width": 3}, "not the shape"),
        *(({**asdict(SMALL), "grid": grid}, "grid is") for grid in (-1, "3", True)),
        *(
            ({**asdict(SMALL), field: value}, f"{field} is {value}")
            for field, value in (("embed", 16.0), ("context", 1), ("layers", -1))
        ),
    ],
)
def test_a_card_with_a_wrong_shape_is_refused(card: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ScanShape.of_json(card)


class Evil:
    """Makes a file "was here" when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.target = path.with_name("was here")

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.target,))


def _edited(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], Any]:
    """Change what a checkpoint contains: the states of two networks, and options."""

    def edit(path: Path) -> None:
        content = torch.load(path, weights_only=False)
        change(content)
        torch.save(content, path)

    return edit


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda path: torch.save({"model": Evil(path.with_name("was here"))}, path),
            "contains code",
        ),
        (
            lambda path: path.write_bytes(
                pickle.dumps({"model": Evil(path.with_name("was here"))})
            ),
            "checkpoint",
        ),
        (lambda path: path.write_bytes(path.read_bytes()[:200]), "cut short"),
        (lambda path: path.write_text("no checkpoint"), "checkpoint"),
        (lambda path: torch.save({"state_dict": {}}, path), "not a checkpoint of SCAN"),
        (lambda path: torch.save({"model": [{}]}, path), "two state dictionaries"),
        (_edited(lambda c: c["model"][1].pop("rnn.bias_hh_l0")), "rnn.bias_hh_l0"),
        (
            _edited(lambda c: c["model"][1].update({"rnn.weight_hh_l0": torch.zeros(3, 3)})),
            "rnn.weight_hh_l0",
        ),
        (_edited(lambda c: c["model"][0]["fc.bias"].fill_(math.nan)), "not finite"),
        (_edited(lambda c: vars(c["opt"]).update(raw_feature_norm="softmax")), "raw_feature_norm"),
    ],
)
def test_a_bad_checkpoint_is_one_line(tmp_path: Path, spoil: Any, said: str) -> None:
    path, words = official(tmp_path, Scan(SMALL))
    spoil(path)
    with pytest.raises(InputError, match=said) as caught:
        load_checkpoint(path, words)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "was here").exists()


def test_a_vocabulary_of_another_size_is_refused(tmp_path: Path) -> None:
    path, words = official(tmp_path, Scan(ScanShape(dim=6, words=11, embed=5, word=4)))
    with pytest.raises(InputError, match="9 words"):
        load_checkpoint(path, words)


def test_weight_normalised_checkpoints_load(tmp_path: Path) -> None:
    model = Scan(SMALL)
    by_formula(model)
    path, words = official(tmp_path, model)
    content, weight = torch.load(path, weights_only=False), model.image.fc.weight.detach()
    normalised = {"fc.weight_g": weight.norm() * 2, "fc.weight_v": weight}
    del content["model"][0]["fc.weight"]
    content["model"][0].update(normalised)
    torch.save(content, path)
    loaded, _ = load_checkpoint(path, words)
    np.testing.assert_allclose(loaded.image.fc.weight.detach(), 2 * weight, rtol=1e-6)
