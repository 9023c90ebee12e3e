"""Shipped weights: a round trip, which are chosen, and that none scores what it has seen."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.errors import InputError
from metaeval.text.vocabulary import SPECIAL, Vocabulary
from metaeval.vision.regions.bottomup import BottomUpRegions
from metaeval.vision.regions.gold import GoldRegions
from metaeval.weights import cards, pretrained
from metaeval.weights.pretrained import PretrainedWeights, choose, half, read, save
from tests.vision.regions.region_cases import dataset

CARD = {"kind": "scan", "variant": "", "regions": "gold-v1", "seed": 0}
WORDS = Vocabulary([*SPECIAL, "dog"])


def weights(folder: Path, seen: CaptionDataset, **card: str) -> PretrainedWeights:
    torch.manual_seed(0)
    return save(folder, torch.nn.Linear(2, 3), WORDS, {**CARD, **card}, seen)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder used as the package's own weights."""
    monkeypatch.setattr(pretrained, "SHIPPED", tmp_path / "weights")
    return tmp_path / "weights"


def test_folder_and_back(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 3)
    exact = {k: v.clone() for k, v in model.state_dict().items()}
    half(model)
    found = save(tmp_path / "scan_tiny", model, WORDS, CARD, dataset())
    modes = {path.stat().st_mode for path in (tmp_path / "scan_tiny").iterdir()}
    assert len(modes) == 1  # who may read the card may read the weights
    again = read(tmp_path / "scan_tiny")
    assert again.label == found.label
    assert again.label.startswith("scan_tiny-")
    for name, value in again.state().items():
        assert value.dtype == torch.float32
        assert torch.equal(value, model.state_dict()[name])  # `half` had rounded it already
        # float16 has 11 bits
        torch.testing.assert_close(value, exact[name], rtol=2**-11, atol=1e-7)
        assert not torch.equal(value, exact[name])
    assert again.vocabulary().words == WORDS.words
    card = json.loads((tmp_path / "scan_tiny" / "card.json").read_text())
    assert {
        **CARD,
        "family": "coco",
        "words": 5,
        "parameters": 9,
        "images": 3,
    }.items() <= card.items()
    with pytest.raises(ValueError, match="variant"):
        save(tmp_path / "x", model, WORDS, {"kind": "scan", "regions": "gold"}, dataset())


def test_no_image_that_was_learned_from_is_scored(tmp_path: Path) -> None:
    found = weights(tmp_path / "w", dataset([1, 3, 5]))
    assert found.overlap(dataset([1, 2, 3])).tolist() == [True, False, True]
    # a photograph is its id, whatever captions it comes with, and whatever type its id has
    other = dataset([1, 2], captions=[["another caption"], ["and another"]])
    assert found.overlap(other).tolist() == [True, False]
    assert found.overlap(dataset(["1", "x"])).tolist() == [True, False]


def test_scenes_of_another_seed_are_other_images(tmp_path: Path) -> None:
    seen = load_scenes(split="dev", n=30)
    found = weights(tmp_path / "w", seen)
    assert found.card["family"] == "scenes"
    assert found.overlap(load_scenes(split="dev", n=30, n_references=2)).all()
    assert not found.overlap(load_scenes(split="dev", n=30, seed=1)).any()
    assert not found.overlap(load_scenes(split="val", n=30)).any()


def test_the_choice(place: Path) -> None:
    data = dataset(range(1, 11))
    weights(place / "scan_a", dataset([1, 2, 3, 4]))
    weights(place / "scan_b", dataset([9]))
    weights(place / "scan_neg", dataset([100]), variant="neg")
    weights(place / "scan_features", dataset([100]), regions="bottomup-2048-36-v1")
    weights(place / "faier_a", dataset([100]), kind="faier")
    weights(place / "scan_scenes", load_scenes(n=30, split="dev"))
    (place / "clip").mkdir()
    (place / "clip" / "card.json").write_text("{}")  # not one of these

    def name(*args: object, **options: str) -> str:
        found = choose(*args, **options)  # type: ignore[arg-type]
        return found.name

    assert name("scan", data) == "scan_b"  # one image learned from instead of four
    # a part of the dataset gets the same, whatever is in it
    assert name("scan", data.subset([7, 8])) == name("scan", data.limited(2)) == "scan_b"
    assert name("scan", data, variant="neg") == "scan_neg"
    assert name("scan", data, regions="bottomup") == "scan_features"
    assert name("faier", data) == "faier_a"
    assert name("scan", load_scenes(n=5)) == "scan_scenes"
    assert name("scan", data, "scan_a") == "scan_a"
    assert name("scan", data, str(place / "scan_a")) == "scan_a"


def test_invalid_choices_are_refused(place: Path) -> None:
    weights(place / "scan_a", dataset([1, 2, 3]))
    absent = choose("scan", dataset([1, 2, 3]))
    assert "have learned from every one of these images" in absent.reason
    assert isinstance(choose("scan", dataset([1, 2, 3]), "scan_a"), Absent)
    for missing in (
        choose("faier", dataset()),
        choose("scan", load_scenes(n=3)),
        choose("scan", dataset(), variant="neg"),
    ):
        assert "python -m metaeval experiment=train_" in missing.remedy
    unknown = choose("scan", dataset(), "scan_z")
    assert isinstance(unknown, Absent)
    assert str(unknown) == "no weights 'scan_z'; give a folder, or one of: scan_a"
    other = choose("faier", dataset(), "scan_a")
    assert "are of scan, not of faier" in other.reason
    kept = (place / "scan_a" / "model.safetensors").read_bytes()
    (place / "scan_a" / "model.safetensors").unlink()
    gone = choose("scan", dataset([7]))
    assert "model.safetensors: file not found" in gone.reason
    (place / "scan_a" / "model.safetensors").write_bytes(kept)
    (place / "scan_a" / "card.json").write_text("{")
    for which in ("auto", "scan_a"):
        damaged = choose("scan", dataset([7]), which)
        assert "card.json: invalid JSON" in damaged.reason


def test_mismatched_regions_are_reported(tmp_path: Path) -> None:
    found = weights(tmp_path / "w", dataset())
    assert found.misfit(GoldRegions(), 88) is None
    width = found.misfit(GoldRegions(), 6)
    assert "regions of 6 numbers, not of 88" in width.reason
    other = found.misfit(BottomUpRegions("x.npz"), 2048)
    assert "trained on gold-v1 regions, and these are bottomup-2048-36-v1" in other.reason
    assert other.remedy == "python -m metaeval experiment=train_scan regions=bottomup"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("card.json", b"[]", "should be an object, not a list"),
        ("card.json", b'{"kind": "scan"}', "'variant': should be a text"),
        ("card.json", b"{", "invalid JSON"),
        ("trained_on.npy", b"", "is not a NumPy array"),
        ("trained_on.npy", b"hello", "is not a NumPy array"),
        ("model.safetensors", b"hello hello hello", "not a safetensors file"),
        ("vocab.json", b"{}", "word2idx"),
    ],
)
def test_a_broken_folder_is_one_line(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    weights(tmp_path / "w", dataset())
    (tmp_path / "w" / name).write_bytes(content)

    def all_of_it() -> None:
        found = read(tmp_path / "w")
        found.vocabulary()
        found.state()

    with pytest.raises(InputError, match=message) as error:
        all_of_it()
    assert name in str(error.value)
    assert "\n" not in str(error.value)


def test_parts_of_different_trainings_do_not_go_together(tmp_path: Path) -> None:
    one = weights(tmp_path / "one", dataset([1]))
    torch.manual_seed(1)
    two = save(tmp_path / "two", torch.nn.Linear(2, 3), WORDS, CARD, dataset([2]))
    for name in ("model.safetensors", "trained_on.npy"):
        kept = (one.folder / name).read_bytes()
        (one.folder / name).write_bytes((two.folder / name).read_bytes())
        with pytest.raises(InputError, match=r"card\.json describes"):
            read(one.folder).state()
        (one.folder / name).write_bytes(kept)
    assert read(one.folder).state().keys() == {"weight", "bias"}
    # the same words in another order would be the same weights with other scores
    Vocabulary([*SPECIAL, "cat", "dog"]).save(one.folder / "vocab.json")
    with pytest.raises(InputError, match=r"vocab\.json"):
        read(one.folder).vocabulary()


@pytest.mark.coco
def test_the_593_images_that_two_files_share(coco_root: Path, tmp_path: Path) -> None:
    val = load_coco("coco_val2017", "val2017", data=coco_root)
    karpathy = load_coco("coco_karpathy_test", "karpathy_test", data=coco_root)
    on_val, on_karpathy = weights(tmp_path / "v", val), weights(tmp_path / "k", karpathy)
    assert on_val.overlap(karpathy).sum() == on_karpathy.overlap(val).sum() == 593
    shared = np.array(karpathy.image_ids)[on_val.overlap(karpathy)]
    assert set(shared.tolist()) == set(val.image_ids) & set(karpathy.image_ids)
    rest = load_coco("rest", "karpathy_test", data=coco_root, exclude="val2017")
    assert not weights(tmp_path / "r", rest).overlap(val).any()
    assert isinstance(choose("scan", val, str(tmp_path / "v")), Absent)


def test_every_shipped_card_is_whole() -> None:
    for found in pretrained.shipped():
        assert found.state()
        assert len(found.vocabulary()) == found.card["words"]
        assert len(found.seen) == found.card["images"] == len(set(found.seen.tolist()))
    lines = cards.shipped_lines()
    assert any(line.startswith("scenes_clip") and "MB, a small CLIP" in line for line in lines)


def test_doctors_lines(tmp_path: Path) -> None:
    weights(tmp_path / "scan_tiny", dataset(), variant="neg")
    (tmp_path / "broken").mkdir()
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "card.json").write_text("{}")
    broken, cut, tiny = cards.shipped_lines(tmp_path)
    assert broken.startswith("broken     cannot be used: ")
    assert "cut" in cut
    assert "model.safetensors is not there" in cut
    assert tiny == "scan_tiny  0.0 MB, scan neg, gold-v1 regions of photographs"
    assert cards.shipped_lines(tmp_path / "none") == []


def test_folders_share_a_list_of_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a list of its own has the shared one of its card's checksum, no other; so
    with words."""
    one, two = weights(tmp_path / "one", dataset([1, 2])), weights(tmp_path / "two", dataset([3]))
    monkeypatch.setattr(cards, "SHARED", tmp_path)
    for each in (one, two):
        checksum = str(each.card["trained_on_sha256"])
        (each.folder / "trained_on.npy").rename(tmp_path / f"trained_on-{checksum[:12]}.npy")
    assert read(one.folder).seen.tolist() == one.seen.tolist()
    assert read(two.folder).seen.tolist() == two.seen.tolist()
    (one.folder / "vocab.json").rename(tmp_path / f"vocab-{one.card['vocabulary']}.json")
    assert read(one.folder).vocabulary().words == WORDS.words
    (tmp_path / f"trained_on-{str(one.card['trained_on_sha256'])[:12]}.npy").unlink()
    with pytest.raises(InputError, match=r"trained_on\.npy"):
        read(one.folder)
