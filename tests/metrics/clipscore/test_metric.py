"""CLIPScore and RefCLIPScore against the definition, one caption and one image at a time; CLIP's
weights in every form, and the list of CLIPs."""

import hashlib
import json
import logging
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import open_clip.model as open_clip_model
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from metaeval.cli.main import run_verb
from metaeval.data.annotated_images import ImageFiles
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.errors import InputError
from metaeval.metrics.base import Scores
from metaeval.metrics.clipscore import weights as clip_weights
from metaeval.metrics.clipscore.metric import (
    ClipScore,
    ClipScorer,
    PacScore,
    RefClipScore,
    RefPacScore,
)
from metaeval.metrics.clipscore.network import (
    WordTokenizer,
    _load,
)
from metaeval.metrics.clipscore.weights import OPENAI, ClipWeights
from metaeval.runs.records import ScoreColumn, Tally
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from metaeval.weights import pretrained
from research.train.clip import vocabulary_of
from research.weights import write_card
from tests.precision import assert_same_scores
from tests.shared import write_texts

MODEL = "tiny-plain"
# SigLIP: no causal mask, the last token's state, an attention pool over the picture, no projection
# of it; EVA-CLIP: timm's EVA02 tower with its own class token
TEXT = {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2}
TOWERS = {
    "plain": {
        "embed_dim": 64,
        "vision_cfg": {"image_size": 224, "patch_size": 32, "width": 64, "layers": 2},
        "text_cfg": {**TEXT, "context_length": 77, "width": 64},
    },
    "sigmoid": {  # open_clip would look for SigLIP's vocabulary by that name
        "embed_dim": 192,
        "init_logit_bias": -10,
        "custom_text": True,
        "vision_cfg": {
            "image_size": 224,
            "timm_model_name": "vit_tiny_patch16_224",
            "timm_model_pretrained": False,
            "timm_pool": "map",
            "timm_proj": "none",
        },
        "text_cfg": {
            **TEXT,
            "no_causal_mask": True,
            "proj_bias": True,
            "pool_type": "last",
            "norm_kwargs": {"eps": 1e-6},
        },
    },
    "eva": {
        "embed_dim": 24,
        "custom_text": True,
        "vision_cfg": {
            "image_size": 224,
            "timm_model_name": "eva02_tiny_patch14_224",
            "timm_model_pretrained": False,
            "timm_pool": "token",
            "timm_proj": None,
        },
        "text_cfg": TEXT,
    },
}
LONG = "a dog and a cat and " * 30 + "a very last word"
# float32 networks; texts without padding: 1e-5 is some forty times the rounding
TOLERANCE = 1e-5


@pytest.fixture(scope="module", autouse=True)
def _tiny(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Adds small models to those that open_clip knows."""
    folder = tmp_path_factory.mktemp("models")
    for name, config in TOWERS.items():
        (folder / f"tiny-{name}.json").write_text(json.dumps(config))
    open_clip.add_model_config(folder)


def random_weights(model_name: str, path: Path) -> Path:
    torch.manual_seed(1)
    model = open_clip.create_model(model_name)
    with torch.no_grad():  # biases and gains start at 0 and 1: a slip there would not be seen
        for parameter in model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    torch.save(model.state_dict(), path)
    return path


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_weights(MODEL, tmp_path_factory.mktemp("clip") / "some.pt")


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
    model_name: str, weights: Path, dataset: CaptionDataset, captions: list[tuple[str, int]]
) -> np.ndarray:
    """CLIPScore and RefCLIPScore [n, 2], one caption at a time through open_clip."""
    created = open_clip.create_model_and_transforms(model_name, pretrained=str(weights))
    model, preprocess, tokenizer = (
        created[0].eval(),
        created[2],
        open_clip.get_tokenizer(model_name),
    )

    @cache
    def text(caption: str) -> Any:
        with torch.no_grad():
            return model.encode_text(tokenizer(["A photo depicts " + caption]))[0]

    def cosine(a: Any, b: Any) -> float:
        return float(torch.nn.functional.cosine_similarity(a.double(), b.double(), dim=0))

    images, rows = dataset.part("images"), []
    for caption, i in captions:
        path = images.path(dataset.image_ids[i])
        if path is None or i == 6:
            rows.append([np.nan, np.nan])
            continue
        with Image.open(path) as image, torch.no_grad():
            picture = model.encode_image(preprocess(image.convert("RGB"))[None])[0]
        score = 2.5 * max(cosine(picture, text(caption)), 0.0)
        cosines = [cosine(text(caption), text(r)) for r in dataset.references[i]]
        best = max(0.0, *cosines) if cosines else np.nan
        rows.append([score, 2 * score * best / (score + best) if score + best else 0.0])
    return np.array(rows)


@pytest.mark.parametrize(
    "name", ["plain", *(pytest.param(n, marks=pytest.mark.slow) for n in ("sigmoid", "eva"))]
)
def test_equals_the_definition(name: str, dataset: CaptionDataset, tmp_path: Path) -> None:
    """Of random weights of small networks; float32 on both sides."""
    model, weights = f"tiny-{name}", random_weights(f"tiny-{name}", tmp_path / "some.pt")
    # index 7 has no file at all
    assert dataset.part("images").path(dataset.image_ids[7]) is None
    captions = captions_of(dataset)
    plain, with_references = by_definition(model, weights, dataset, captions).T
    options = {"model": model, "pretrained": str(weights), "store": MemoryStore()}
    found = ours(ClipScore, dataset, captions, **options)
    np.testing.assert_allclose(found, plain, rtol=0, atol=TOLERANCE)
    assert np.isnan(found).sum() == 2
    found = ours(RefClipScore, dataset, captions, **options)
    np.testing.assert_allclose(found, with_references, rtol=0, atol=TOLERANCE)
    assert np.nanstd(found) > 100 * TOLERANCE  # not one number for everything
    assert np.isnan(found).sum() == 3  # no image, no readable image, no reference


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


@pytest.mark.parametrize(
    ("metric", "highest"),
    [(ClipScore(MODEL, "random"), 2.5), (RefClipScore(MODEL, "random", weight=1.0), 1.0)],
)
def test_random_weights_are_declared(
    metric: ClipScore, highest: float, dataset: CaptionDataset
) -> None:
    scorer = metric.bind(dataset)
    column = ScoreColumn(
        f"{metric.title} (random)",
        bounds=(0.0, highest),
        variant_of=metric.title,
        model="random",
        untrained=True,
        precision=1e-5,
    )
    assert scorer.columns == metric.columns == (column,)
    assert "|weights:random|" in scorer.signatures[0]


def test_signature_holds_the_weights_hash(weights: Path, dataset: CaptionDataset) -> None:
    scorer = ClipScore(model=MODEL, pretrained=str(weights)).bind(dataset)
    (signature,) = scorer.signatures
    parts = hashlib.sha256(weights.read_bytes()).hexdigest()[:12], "'A photo depicts '", "float32"
    assert [part in signature for part in (*parts, "random")] == [True] * 3 + [False]
    assert not scorer.columns[0].untrained


@pytest.fixture
def empty_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No weights in the caches of this machine, which is not offline."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


def absent(metric: ClipScore, dataset: CaptionDataset) -> Absent:
    scorer = metric.bind(dataset)
    assert isinstance(scorer, Absent)
    return scorer


@pytest.mark.usefixtures("empty_hub")
def test_without_weights_or_images(tmp_path: Path, dataset: CaptionDataset) -> None:
    def fetched_and_absent(data: CaptionDataset = dataset, **options: Any) -> str:
        metric = ClipScore(cache=tmp_path, **options)
        metric.fetch(data)
        return str(absent(metric, data))

    assert "--install clip" in fetched_and_absent()
    # who only binds does not download; offline there is no request, and of a file neither
    assert "a run downloads it" in str(absent(ClipScore(cache=tmp_path, download=True), dataset))
    assert "offline" in fetched_and_absent(download=True, offline="1")
    assert "no file no/such.pt" in fetched_and_absent(download=True, pretrained="no/such.pt")
    nothing = ImageFiles(tmp_path, {})
    for parts, reason in (({}, "no images"), ({"images": lambda: nothing}, "coco-images")):
        bare = replace(dataset, parts=parts, _loaded={})
        assert reason in fetched_and_absent(bare, pretrained="random")


@pytest.mark.usefixtures("empty_hub")
def test_weights_in_hugging_face_s_cache(tmp_path: Path, dataset: CaptionDataset) -> None:
    files = {"refs/main": "abc", "snapshots/abc/open_clip_model.safetensors": "weights"}
    write_texts(tmp_path / "models--timm--vit_base_patch32_clip_224.openai", files)
    scorer = ClipScore(cache=tmp_path).bind(dataset)
    assert scorer.columns == (ScoreColumn("CLIPScore", bounds=(0.0, 2.5), precision=1e-5),)
    assert "|weights:openai-" in scorer.signatures[0]
    ClipScore(cache=tmp_path, download=True).fetch(dataset)  # nothing to do


@pytest.mark.usefixtures("empty_hub")
def test_own_weights_refuse_images_they_were_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = load_scenes(split="train", n=5, cache=tmp_path)
    torch.manual_seed(0)
    write_card(tmp_path / "own", torch.nn.Linear(2, 2), {}, pretrained.trained_on(train))
    monkeypatch.setattr(clip_weights, "SCENES_CLIP", tmp_path / "own")
    val = load_scenes(split="val", n=5, cache=tmp_path)
    for name in ("auto", "scenes"):
        assert isinstance(ClipScore(pretrained=name).bind(val), ClipScorer)
        seen = absent(ClipScore(pretrained=name), train.limited(3))
        assert "trained on 3 of these 3" in seen.reason
    photographs = replace(val, name="coco_val2017")
    absent(ClipScore(pretrained="auto"), photographs)  # never the default there


@pytest.mark.usefixtures("empty_hub")
def test_the_hub_is_used_only_without_suitable_weights(
    tmp_path: Path, dataset: CaptionDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert "metric.pacscore.checkpoint=" in PacScore().bind(dataset).remedy


SHAPE = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "patch_size": 16, "width": 64, "layers": 1},
    "text_cfg": {"context_length": 8, "vocab_size": 50, "width": 64, "heads": 1, "layers": 1},
}


def small(seed: int) -> Any:
    torch.manual_seed(seed)
    return open_clip_model.CLIP(**SHAPE)


def save(form: str, trained: Any, path: Path) -> None:
    """The weights of a model in one of the forms in which CLIPs are published."""
    state = trained.state_dict()
    if form == "safetensors":
        save_file({name: value.contiguous() for name, value in state.items()}, path)
    elif form == "torchscript":
        # as OpenAI's archive: traced, and three sizes are next to the weights
        for name, size in (("input_resolution", 32), ("context_length", 8), ("vocab_size", 50)):
            vars(trained).pop(name, None)
            trained.register_buffer(name, torch.tensor(size))
        images = {"encode_image": torch.ones(1, 3, 32, 32)}
        torch.jit.trace_module(trained, images).save(str(path))
    else:
        wrapped = {f"module.{name}": value for name, value in state.items()}
        torch.save({"epoch": 3, "state_dict": wrapped} if form == "wrapped" else state, path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["pt", "wrapped", "safetensors", "torchscript"])
def test_every_form_gives_the_same_weights(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained, model = small(1), small(2)
    path = tmp_path / ("w.safetensors" if form == "safetensors" else "w.pt")
    save(form, trained, path)
    # as if OpenAI had published it
    monkeypatch.setitem(OPENAI, "small", hashlib.sha256(path.read_bytes()).hexdigest())
    _load(model, ClipWeights("small", "own", path))
    for name, value in model.state_dict().items():
        assert torch.equal(value, trained.state_dict()[name]), name


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (lambda s: {**s, "logit_scale": torch.tensor(float("inf"))}, "'logit_scale': .*not finite"),
        (
            lambda s: {**s, "positional_embedding": torch.ones(8, 64) * 1j},
            "holds numbers of torch.c",
        ),
        (lambda s: {k: v for k, v in s.items() if k != "logit_scale"}, "are not weights of small"),
        (lambda s: {}, "holds no weights by name"),
        (lambda s: [1, 2], "holds no weights by name"),
    ],
)
def test_what_is_no_clip_is_one_line(tmp_path: Path, harm: Any, problem: str) -> None:
    torch.save(harm(small(1).state_dict()), tmp_path / "w.pt")
    with pytest.raises(InputError, match=rf"w\.pt.*{problem}") as error:
        _load(small(2), ClipWeights("small", "own", tmp_path / "w.pt"))
    assert "\n" not in str(error.value)


def test_words() -> None:
    words = vocabulary_of(["A dog's life.", "two dogs"])
    assert words == ["a", "dog's", "dogs", "life", "two"]
    tokenizer = WordTokenizer(words, 6)
    assert tokenizer.vocab_size == 9
    ids = tokenizer(["Two DOGS, two zebras", "a a a a a a a", ""]).tolist()
    assert ids == [[1, 7, 5, 7, 2, 8], [1, 3, 3, 3, 3, 8], [1, 8, 0, 0, 0, 0]]


@cache
def count_parameters(model: str) -> int:
    """How many numbers an architecture's weights are; none of them is made."""
    shape = open_clip.get_model_config(model)
    kind = open_clip.CustomTextCLIP if shape.pop("custom_text", False) else open_clip.CLIP
    with torch.device("meta"):
        network = kind(**shape)
    return sum(parameter.numel() for parameter in network.parameters())


def facts(model: str, tag: str) -> list[str]:
    """What open_clip says of a checkpoint, as the list of CLIPs has it."""
    shape = open_clip.get_model_config(model)
    size, length = shape["vision_cfg"]["image_size"], shape["text_cfg"].get("context_length", 77)
    n = count_parameters(model)
    facts = [
        f"  {n / 1e6:,.0f} M parameters ({4 * n / 1e9:.1f} GB in float32), ",
        f"pictures of {size}, {length} tokens, ",
    ]
    if tag:
        known = open_clip.get_pretrained_cfg(model, tag)
        checked = re.search("/([0-9a-f]{64})/", known.get("url", ""))
        check = f"OpenAI's file: SHA-256 {checked[1]}" if checked else "SHA-256: the hub's, of each"
        facts.append(f"; {known['hf_hub'].rstrip('/')}; {check}")
    return facts


def test_the_list_of_clips_is_open_clip_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_verb(["doctor", "--clips"]) == 0
    head, *listed, _ = capsys.readouterr().out.splitlines()  # the last are several, not read
    assert "metric.clipscore.pretrained=TAG" in head
    for line in listed:
        model, tag = line.split()[:2]
        if model == "PAC-S":
            model, tag = re.search("metric.pacscore.model=([^;]+)", line)[1], ""
        assert [fact for fact in facts(model, tag) if fact not in line] == [], line
    assert len({tuple(line.split()[:2]) for line in listed}) == 16


def test_sizes_and_checksums_are_those_of_the_published_files() -> None:
    # parameters of OpenAI's ViT-B/32 as the paper's code prints them; the SHA-256 by which
    # OpenAI's own loader checks the file
    assert count_parameters("ViT-B-32") == 151_277_313
    sha256 = "40d365715913c9da98579312b702a82c18be219cc2a73407c4526f58eba950af"
    assert sha256 in clip_weights.lines()[0]
