"""CLIPScore and RefCLIPScore against the definition, one caption and one image at a time."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image

from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.image_files import ImageFiles
from metaeval.data.scenes import load_scenes
from metaeval.metrics.base import Scores
from metaeval.metrics.clipscore import weights as clip_weights
from metaeval.metrics.clipscore.metric import (
    ClipScore,
    ClipScorer,
    PacScore,
    RefClipScore,
    RefClipScorer,
    RefPacScore,
    harmonic_mean,
)
from metaeval.runs.records import ScoreColumn, Tally
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from metaeval.weights import cards
from tests.precision import assert_same_scores

MODEL = "ViT-S-32-alt"
LONG = "a dog and a cat and " * 30 + "a very last word"
# float32 networks; texts without padding: 1e-5 is some forty times the rounding
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a small open_clip model with weights drawn at random."""
    torch.manual_seed(1)
    model = open_clip.create_model(MODEL)
    with torch.no_grad():  # biases and gains start at 0 and 1: a slip there would not be seen
        for parameter in model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    path = tmp_path_factory.mktemp("clip") / "some.pt"
    torch.save(model.state_dict(), path)
    return path


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> CaptionDataset:
    """Eight scenes; the image of the last is not there, the one before is not an image."""
    folder = tmp_path_factory.mktemp("images")
    scenes = load_scenes(n=8, cache=folder)
    images = scenes.part("images")
    for k, image_id in enumerate(scenes.image_ids[:6]):  # wide, tall, grey: not only squares
        with Image.open(images.path(image_id)) as image:
            box = (0, 20 * k, 336, 336) if k % 2 else (20 * k, 0, 336, 336)
            image.crop(box).convert("L" if k == 3 else "RGB").save(folder / f"{image_id}.png")
    (folder / f"{scenes.image_ids[6]}.png").write_bytes(b"no image at all")
    names = {image_id: f"{image_id}.png" for image_id in scenes.image_ids}
    references = (*scenes.references[:5], (), *scenes.references[6:])
    return replace(
        scenes,
        name="pictures",
        references=references,
        parts={"images": lambda: ImageFiles(folder, names)},
        _loaded={},
    )


def captions_of(dataset: CaptionDataset) -> list[tuple[str, int]]:
    own = [(text, i) for i, text in enumerate(dataset.human)]
    return [*own, (dataset.human[3], 0), ("", 1), (LONG, 2), (LONG + " x", 2), ("a DOG!", 4)]


def ours(
    kind: type[ClipScore],
    dataset: CaptionDataset,
    captions: list[tuple[str, int]],
    store: Any = None,
    **options: Any,
) -> Scores:
    metric = kind(device="cpu", **options)
    index = np.array([i for _, i in captions], dtype=np.intp)
    texts = [text for text, _ in captions]
    done = score_captions(metric, dataset, texts, index, store or MemoryStore())
    assert done.status == "ok", done.reason
    return done.scores[:, 0]


def by_definition(
    weights: Path, dataset: CaptionDataset, captions: list[tuple[str, int]]
) -> tuple[list[float], list[float]]:
    """One caption at a time through open_clip, formulas as in the paper."""
    model, _, preprocess = open_clip.create_model_and_transforms(MODEL, pretrained=str(weights))
    model.eval()
    tokenizer = open_clip.get_tokenizer(MODEL)

    def text(caption: str) -> Any:
        with torch.no_grad():
            return model.encode_text(tokenizer(["A photo depicts " + caption]))[0]

    def cosine(a: Any, b: Any) -> float:
        return float(torch.nn.functional.cosine_similarity(a.double(), b.double(), dim=0))

    images, plain, with_references = dataset.part("images"), [], []
    for caption, i in captions:
        path = images.path(dataset.image_ids[i])
        if path is None or i == 6:
            plain.append(np.nan)
            with_references.append(np.nan)
            continue
        with Image.open(path) as image, torch.no_grad():
            picture = model.encode_image(preprocess(image.convert("RGB"))[None])[0]
        score = 2.5 * max(cosine(picture, text(caption)), 0.0)
        plain.append(score)
        if not dataset.references[i]:
            with_references.append(np.nan)
            continue
        best = max(0.0, *(cosine(text(caption), text(r)) for r in dataset.references[i]))
        both = score + best
        with_references.append(2 * score * best / both if both else 0.0)
    return plain, with_references


def test_equals_the_definition(weights: Path, dataset: CaptionDataset) -> None:
    # index 7 has no file at all
    path = dataset.part("images").path(dataset.image_ids[7])
    assert path is None
    captions = captions_of(dataset)
    plain, with_references = by_definition(weights, dataset, captions)
    store = MemoryStore()
    options = {"model": MODEL, "pretrained": str(weights), "store": store}
    found = ours(ClipScore, dataset, captions, **options)
    np.testing.assert_allclose(found, plain, rtol=0, atol=TOLERANCE)
    assert np.isnan(found).sum() == 2
    found = ours(RefClipScore, dataset, captions, **options)
    np.testing.assert_allclose(found, with_references, rtol=0, atol=TOLERANCE)
    assert np.nanstd(found) > 100 * TOLERANCE  # not one number for everything
    assert np.isnan(found).sum() == 3  # no image, no readable image, no reference


def test_a_score_does_not_depend_on_other_captions(weights: Path, dataset: CaptionDataset) -> None:
    captions = captions_of(dataset)
    options = {"model": MODEL, "pretrained": str(weights)}
    together = ours(RefClipScore, dataset, captions, **options)
    order = np.random.default_rng(0).permutation(len(captions))
    shuffled = ours(RefClipScore, dataset, [captions[j] for j in order], **options)
    assert_same_scores(shuffled, together[order])
    few = dataset.limited(2)
    alone = ours(RefClipScore, few, [captions[1]], **options)
    assert_same_scores(alone, together[1:2])


def test_vectors_are_found_in_the_cache(
    weights: Path, dataset: CaptionDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RefCLIPScore after CLIPScore, references known: no network is loaded at all."""
    store, options = MemoryStore(), {"model": MODEL, "pretrained": str(weights)}
    captions = [(text, i) for i, text in enumerate(dataset.human)]
    first = ours(RefClipScore, dataset, captions, store=store, **options)
    monkeypatch.setattr("metaeval.metrics.clipscore.metric.Clip", None)
    plain = ours(ClipScore, dataset, captions, store=store, **options)
    assert np.isfinite(plain).sum() >= np.isfinite(first).sum() > 0


@pytest.mark.parametrize("kind", [ClipScore, RefClipScore])
def test_what_was_cut_or_not_there_is_counted_from_the_cache_too(
    kind: type[ClipScore], weights: Path, dataset: CaptionDataset, caplog: pytest.LogCaptureFixture
) -> None:
    captions, store = captions_of(dataset), MemoryStore()
    # two long captions, of which one twice; image 7 has no file, another's file is not an image
    captions.append(next(each for each in captions if each[0] == LONG))
    texts, images = zip(*captions, strict=True)
    for _ in range(2):
        metric = kind(model=MODEL, pretrained=str(weights), device="cpu")
        with caplog.at_level(logging.WARNING):
            done = score_captions(metric, dataset, texts, np.array(images), store)
        assert done.reason is None
        assert done.counts == (
            Tally("captions cut to the model's length", "captions", 3, len(captions)),
            Tally("images not there or not readable", "images", 2, 8),
        )
    assert done.n_scored == 0
    assert "1 of 8 image files are missing" in caplog.text
    assert "cannot be read as an image" in caplog.text


def test_end_token_is_kept(weights: Path) -> None:
    from metaeval.metrics.clipscore.network import Clip, too_long

    clip = Clip(clip_weights.ClipWeights(MODEL, "some", weights), "cpu")
    ids = clip.tokenizer([LONG])[0]
    assert len(ids) == 77
    assert ids[-1] == clip.tokenizer.eot_token_id
    assert [too_long(clip.tokenizer, text) for text in (LONG, "a dog")] == [True, False]


def test_random_weights_are_declared(dataset: CaptionDataset) -> None:
    for metric in (ClipScore(MODEL, "random"), RefClipScore(MODEL, "random", weight=1.0)):
        scorer = metric.bind(dataset)
        assert scorer.columns == metric.columns
        (column,) = scorer.columns
        assert column == ScoreColumn(
            f"{metric.title} (random)",
            bounds=(0.0, 2.5 if type(metric) is ClipScore else 1.0),
            variant_of=metric.title,
            model="random",
            untrained=True,
            precision=1e-5,
        )
        assert "|weights:random|" in scorer.signatures[0]


def test_signature_holds_the_weights_hash(weights: Path, dataset: CaptionDataset) -> None:
    import hashlib

    scorer = ClipScore(model=MODEL, pretrained=str(weights)).bind(dataset)
    (signature,) = scorer.signatures
    assert hashlib.sha256(weights.read_bytes()).hexdigest()[:12] in signature
    assert "random" not in signature
    assert not scorer.columns[0].untrained
    assert "'A photo depicts '" in signature
    assert "float32" in signature


@pytest.mark.parametrize(
    ("kind", "bound"), [(ClipScore, ClipScorer), (RefClipScore, RefClipScorer)]
)
def test_binding_and_scoring_leave_the_metric_as_it_is(
    kind: type[ClipScore], bound: type[ClipScorer], weights: Path, dataset: CaptionDataset
) -> None:
    metric = kind(model=MODEL, pretrained=str(weights), device="cpu")
    before = pickle.dumps(metric)
    scorer, again = pickle.loads(before).bind(dataset), metric.bind(dataset, MemoryStore())
    assert type(scorer) is type(again) is bound
    assert scorer.signatures == again.signatures
    assert [scorer.context(i) for i in range(8)] == [again.context(i) for i in range(8)]
    scorer.close()  # also of one that was never prepared
    again.prepare()
    again.score(["a dog"], np.array([0]))
    again.close()
    assert pickle.dumps(metric) == before


def test_columns_are_known_from_the_options_alone() -> None:
    def column(**options: Any) -> tuple[str, str | None]:
        (column,) = RefClipScore(**options).columns
        return column.name, column.model

    assert column() == column(pretrained="openai") == ("RefCLIPScore", None)
    assert column(pretrained="scenes") == ("RefCLIPScore (scenes)", "scenes")
    laion = "ViT-L-14 laion2b_s32b_b82k"
    name, model = column(model="ViT-L-14", pretrained="laion2b_s32b_b82k")
    assert (name, model) == (f"RefCLIPScore ({laion})", laion)
    assert column(pretrained="weights/of_mine.pt")[1] == "ViT-B-32 of_mine"


def test_harmonic_mean_is_defined_at_zero() -> None:
    a = np.array([0.0, 0.0, 1.0, 0.5, np.nan])
    b = np.array([0.0, 1.0, 0.0, 1.0, 0.3])
    np.testing.assert_allclose(harmonic_mean(a, b), [0, 0, 0, 2 / 3, np.nan])


def absent(metric: ClipScore, dataset: CaptionDataset) -> Absent:
    scorer = metric.bind(dataset)
    assert isinstance(scorer, Absent)
    return scorer


def test_without_weights_or_images(
    tmp_path: Path, dataset: CaptionDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    assert "--install clip" in absent(ClipScore(cache=tmp_path), dataset).remedy
    asked = ClipScore(cache=tmp_path, download=True)
    assert "a run downloads it" in absent(asked, dataset).remedy  # who only binds does not
    offline = ClipScore(cache=tmp_path, download=True, offline="1")
    offline.fetch(dataset)  # no request
    assert "offline" in absent(offline, dataset).reason
    missing = ClipScore(pretrained="no/such.pt", download=True)
    missing.fetch(dataset)  # a file cannot be downloaded
    assert absent(missing, dataset).reason == "no file no/such.pt"
    bare = replace(dataset, parts={}, _loaded={})
    absent(ClipScore(pretrained="random"), bare)
    nothing = ImageFiles(tmp_path, {})
    empty = replace(dataset, parts={"images": lambda: nothing}, _loaded={})
    assert "coco-images" in absent(ClipScore(pretrained="random"), empty).remedy


def test_weights_in_hugging_face_s_cache(
    tmp_path: Path, dataset: CaptionDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    model = tmp_path / "models--timm--vit_base_patch32_clip_224.openai"
    (model / "snapshots" / "abc").mkdir(parents=True)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("abc")
    (model / "snapshots" / "abc" / "open_clip_model.safetensors").write_bytes(b"weights")
    scorer = ClipScore(cache=tmp_path).bind(dataset)
    assert scorer.columns == (ScoreColumn("CLIPScore", bounds=(0.0, 2.5), precision=1e-5),)
    assert "|weights:openai-" in scorer.signatures[0]
    ClipScore(cache=tmp_path, download=True).fetch(dataset)  # nothing to do


def test_own_weights_refuse_images_they_were_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = load_scenes(split="train", n=5, cache=tmp_path)
    torch.manual_seed(0)
    cards.write_card(tmp_path / "own", torch.nn.Linear(2, 2), {}, cards.trained_on(train))
    monkeypatch.setattr(clip_weights, "SCENES_CLIP", tmp_path / "own")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    val = load_scenes(split="val", n=5, cache=tmp_path)
    other_seed = load_scenes(split="train", seed=1, n=5, cache=tmp_path)  # the same ids
    for name in ("auto", "scenes"):
        assert isinstance(ClipScore(pretrained=name).bind(val), ClipScorer)
        assert isinstance(ClipScore(pretrained=name).bind(other_seed), ClipScorer)
        seen = absent(ClipScore(pretrained=name), train.limited(3))
        assert "trained on 3 of these 3" in seen.reason
    photographs = replace(val, name="coco_val2017")
    absent(ClipScore(pretrained="auto"), photographs)  # never the default there


def test_the_hub_is_used_only_without_suitable_weights(
    tmp_path: Path, dataset: CaptionDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    asked: list[str] = []
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **_: asked.append(name))
    metric, scenes = ClipScore(cache=tmp_path, download=True), load_scenes(n=3, cache=tmp_path)
    metric.fetch(scenes)
    assert isinstance(metric.bind(scenes), ClipScorer)
    assert asked == []  # the small CLIP serves drawn scenes
    metric.fetch(replace(scenes, name="photographs"))
    monkeypatch.setattr(clip_weights, "SCENES_CLIP", tmp_path / "not here")
    metric.fetch(scenes)
    assert asked == 2 * ["timm/vit_base_patch32_clip_224.openai"]


def test_importing_and_looking_needs_no_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from metaeval.metrics.clipscore.metric import RefClipScore as R; "
        "from metaeval.data.scenes import load_scenes; "
        f"R(cache={str(tmp_path)!r}).bind(load_scenes(n=3, cache={str(tmp_path)!r})).context(0); "
        "sys.exit('torch' in sys.modules or 'open_clip' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.coco
def test_photographs_with_random_weights(coco_root: Path) -> None:
    """The images that are there are scored, the others are not a number."""
    dataset = load_coco("coco_val2017", data=coco_root)
    images = dataset.part("images")
    there = [i for i, image_id in enumerate(dataset.image_ids) if image_id in images][:24]
    gone = [i for i, image_id in enumerate(dataset.image_ids) if image_id not in images][:3]
    captions = [(dataset.human[i], i) for i in [*there, *gone]]
    small = replace(dataset, parts={"images": lambda: images}, _loaded={})
    found = ours(ClipScore, small, captions, model=MODEL, pretrained="random")
    assert np.isfinite(found[: len(there)]).all()
    assert np.isnan(found[len(there) :]).all()


def openai() -> bool:
    nothing = CaptionDataset("x", (1,), ("a",), (("a",),), (1,), ("a",))
    found = clip_weights.locate(
        "ViT-B-32", "openai", nothing, Path("~/.cache/metaeval").expanduser()
    )
    return isinstance(found, clip_weights.ClipWeights)


@pytest.mark.skipif(not openai(), reason="OpenAI's ViT-B/32 is not on this machine")
def test_example_of_the_paper_s_code() -> None:
    """jmhessel/clipscore's README: means over its two images, to 1e-3."""
    import os

    root = os.environ.get("METAEVAL_CLIPSCORE_EXAMPLE")
    if not root:
        pytest.skip("METAEVAL_CLIPSCORE_EXAMPLE does not name the folder `example` of clipscore")
    import json

    folder = Path(root)
    references = json.loads((folder / "refs.json").read_text())
    ids = tuple(sorted(references))
    names = {image_id: f"{image_id}.jpg" for image_id in ids}
    for name, expected in (("good", (0.8584, 0.8450)), ("bad", (0.7153, 0.7253))):
        candidates = json.loads((folder / f"{name}_captions.json").read_text())
        human = tuple(candidates[i] for i in ids)
        refs = tuple(tuple(references[i]) for i in ids)
        dataset = CaptionDataset(
            "example",
            ids,
            human,
            refs,
            ids,
            human,
            parts={"images": lambda: ImageFiles(folder / "images", names)},
        )
        captions = [(text, i) for i, text in enumerate(human)]
        for kind, value in zip((ClipScore, RefClipScore), expected, strict=True):
            scores = ours(kind, dataset, captions, pretrained="openai")
            assert scores.mean() == pytest.approx(value, abs=1e-3)


@pytest.mark.slow
def test_pac_s_is_clipscore_with_another_factor(weights: Path, dataset: CaptionDataset) -> None:
    """In the layout of PAC-S' authors, the weights under "state_dict"; 2 instead of 2.5."""
    wrapped = weights.with_name("pac.pth")
    torch.save({"epoch": 1, "state_dict": torch.load(weights)}, wrapped)
    captions = captions_of(dataset)
    plain = ours(ClipScore, dataset, captions, model=MODEL, pretrained=str(weights))
    pac = ours(PacScore, dataset, captions, model=MODEL, checkpoint=str(wrapped))
    assert_same_scores(pac, plain * (2 / 2.5))
    cosine = ours(RefClipScore, dataset, captions, model=MODEL, pretrained=str(weights), weight=2.0)
    ref = ours(RefPacScore, dataset, captions, model=MODEL, checkpoint=str(wrapped))
    assert_same_scores(ref, cosine)
    assert not np.isnan(ref).all()
    (column,) = PacScore(checkpoint="some.pth").columns
    assert (column.name, column.bounds) == ("PAC-S", (0, 2))
    absent = PacScore().bind(dataset)
    assert "metric.pacscore.checkpoint=" in absent.remedy
