"""TIGEr and SCAN: arithmetic, what they need and refuse, signatures, real images; the network
against torch's own parts and the authors' code."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import expit, softmax
from scipy.stats import entropy

from metaeval.corruptions.graded.random import Random
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.scan.grounding import (
    Grounder,
    RegionBatch,
    encode_captions,
)
from metaeval.metrics.scan.metric import ScanSimilarity, Tiger
from metaeval.metrics.scan.network import (
    WAYS,
    Scan,
    ScanShape,
    WordEncoder,
    l2norm,
    load_checkpoint,
)
from metaeval.metrics.scan.tiger_score import RAW, tiger
from metaeval.runs.store import MemoryStore
from metaeval.stats.resampling.items import Floats
from metaeval.text.vocabulary import SPECIAL, Vocabulary
from metaeval.vision.regions.base import Regions
from metaeval.vision.regions.gold import GoldRegions
from research.train.networks import read_words, see_regions
from research.vocabulary import save_vocabulary
from tests.metrics.metric_cases import bound, ready
from tests.metrics.scan.attention_cases import cosines, random_sets
from tests.metrics.scan.scan_cases import REFERENCES, dataset, weights
from tests.precision import assert_same_scores

CAPTIONS = ["a dog", "two cats on a red car", "", "a man sleeps", "zebra zebra"]
INDEX = np.arange(5)


def test_tiger_is_its_parts(tmp_path: Path) -> None:
    metric = ready(Tiger(GoldRegions(), weights=str(weights(tmp_path))), dataset())
    scores = metric.score(CAPTIONS, INDEX)
    grounder = metric.grounder
    for i, caption in enumerate(CAPTIONS):
        own = np.array([i])
        one = [grounder.grounding([text], own)[0] for text in REFERENCES[i]]
        n = grounder.n_regions[i]
        mask = (np.arange(grounder.width) < n)[None]
        vector = grounder.grounding([caption], own)
        expected = tiger(*map(torch.from_numpy, (np.mean(one, axis=0)[None], vector, mask)))
        assert_same_scores(scores[i], torch.cat(expected).numpy())
    assert scores[3, 1] == 1  # an image without objects: one region, which every ranking gets right
    assert np.unique(scores[:, 0]).size == 5


def test_scan_is_the_mean_of_the_cosines(tmp_path: Path) -> None:
    metric = ready(ScanSimilarity(GoldRegions(), weights=str(weights(tmp_path))), dataset())
    scores = metric.score(CAPTIONS, INDEX)
    grounder = metric.grounder
    vectors = grounder.grounding(CAPTIONS, INDEX)
    assert_same_scores(scores[:, 0], vectors.sum(axis=1) / grounder.n_regions)
    np.testing.assert_allclose(scores[:, 2], scores[:, 0] + scores[:, 1], atol=1e-15)


def test_the_papers_rectifier_is_an_option(tmp_path: Path) -> None:
    """Where some similarities are below 0; where all are above, the two are the same."""
    mixed, high = (str(weights(tmp_path / s, sign=float(s))) for s in ("0", "1"))
    for kind, options in ((Tiger, {"clamp": True}), (ScanSimilarity, {})):
        leaky, relu = (
            [
                ready(
                    kind(GoldRegions(), weights=w, rectifier=rectifier, **options), dataset()
                ).score(CAPTIONS, INDEX)
                for w in (mixed, high)
            ]
            for rectifier in ("leaky", "relu")
        )
        assert not np.allclose(leaky[0], relu[0], atol=1e-6)
        assert_same_scores(leaky[1], relu[1])


@pytest.mark.parametrize("kind", [Tiger, ScanSimilarity])
def test_weights_trained_on_corruptions_are_marked(kind: Any, tmp_path: Path) -> None:
    place = weights(tmp_path, variant="corruptions", trained_on_corruptions=True)
    scorer = bound(kind(GoldRegions(), weights=str(place)), dataset())
    note = "(gold objects, trained on corruptions)"
    assert [(c.name, c.part_of, c.variant_of) for c in scorer.columns] == [
        (f"{plain.name} {note}", plain.part_of and f"{plain.part_of} {note}", plain.name)
        for plain in kind.plain_columns
    ]
    assert all(column.learned_from_corruptions for column in scorer.columns)
    assert "variant:trained-on-corruptions" in scorer.signatures[0]
    assert kind(GoldRegions(), variant="corruptions").columns == scorer.columns


@pytest.mark.parametrize("kind", [Tiger, ScanSimilarity])
def test_images_that_were_learned_from_are_not_scored(kind: Any, tmp_path: Path) -> None:
    metric = kind(GoldRegions(), weights=str(weights(tmp_path)))  # on the images 101 to 105
    scorer = ready(metric, dataset(103))  # 103 to 107
    seen = [True] * 3 + [False] * 2
    assert np.isnan(scorer.score(CAPTIONS, INDEX)).T.tolist() == [seen] * 3
    assert scorer.tally(CAPTIONS, INDEX).ravel().tolist() == seen
    assert "every one of these images" in metric.bind(dataset(101)).reason


def test_weights_under_which_humans_ground_negatively_are_refused(tmp_path: Path) -> None:
    bad = str(weights(tmp_path / "weights", sign=-1.0))
    absent = Tiger(GoldRegions(), weights=bad).bind(dataset())
    assert "mean cosine of -1.00" in absent.reason
    assert "task.losses.anchor_weight" in absent.remedy
    # a card that says otherwise does not help: the captions are grounded and looked at
    liar = str(weights(tmp_path / "untold", sign=-1.0, human_cosine=0.5))
    with pytest.raises(ConfigError, match="not positive"):
        ready(Tiger(GoldRegions(), weights=liar), dataset())
    # SCAN's own similarity has no norms, and clamped cosines have no sign
    bound(ScanSimilarity(GoldRegions(), weights=bad), dataset())
    clamped = ready(Tiger(GoldRegions(), weights=bad, clamp=True), dataset())
    assert "cosines:clamped" in clamped.signatures[0]


@pytest.mark.parametrize("grid", [0, 2])
def test_what_is_drawn_is_what_is_scored(tmp_path: Path, grid: int) -> None:
    metric = ready(Tiger(GoldRegions(), weights=str(weights(tmp_path, grid=grid))), dataset())
    explanation = metric.explain(CAPTIONS[1], 1)
    assert json.loads(json.dumps(explanation)) == explanation
    cells = ["top left", "top right", "bottom left", "bottom right"] if grid else []
    names = ["whole image", *cells, "cat", "cat", "bed"]
    regions = explanation["regions"]
    assert [(each["label"], "cell" in each) for each in regions] == [
        (name, name in cells) for name in names
    ]
    assert (regions[0]["box"], regions[-1]["box"]) == ([0, 0, 1, 1], [0.2, 0.2, 0.7, 0.9])
    assert (explanation["kind"], "+grid2" in metric.signatures[0]) == ("grounding", bool(grid))
    rows = [np.array([explanation[who]]) for who in ("references", "candidate")]
    mask = np.ones((1, len(names)), np.bool_)
    again = tiger(*map(torch.from_numpy, (*rows, mask)))  # from the rounded numbers that are drawn
    expected = dict(zip((c.name for c in metric.columns), (v.item() for v in again), strict=True))
    assert explanation["values"] == pytest.approx(expected, abs=2e-3)


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    file, words = tmp_path / "model_best.pth.tar", tmp_path / "vocab.json"
    file.write_bytes(b"no checkpoint")
    save_vocabulary(Vocabulary([*SPECIAL, "dog"]), words)
    for vocabulary, reason in (
        (None, "set metric.tiger.vocabulary=FILE"),
        (words, "is not a checkpoint of torch"),
        (tmp_path / "none.json", "none.json"),
    ):
        metric = Tiger(GoldRegions(), weights=str(file), vocabulary=vocabulary)
        assert reason in str(metric.bind(dataset(), MemoryStore()))


def test_an_official_checkpoint_scores(tmp_path: Path) -> None:
    path, words = official(tmp_path, Scan(ScanShape(dim=88, words=9, embed=5, word=4)))
    metric = ready(ScanSimilarity(GoldRegions(), weights=str(path), vocabulary=words), dataset())
    assert np.isfinite(metric.score(CAPTIONS, INDEX)).all()
    assert "weights:file-" in metric.signatures[0]
    wrong, words = official(tmp_path, Scan(ScanShape(dim=6, words=9, embed=5, word=4)))
    absent = ScanSimilarity(GoldRegions(), weights=str(wrong), vocabulary=words).bind(dataset())
    assert "regions of 6 numbers, not of 88" in absent.reason


# many images have few regions to rank
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("scenes", {"TIGEr": 0.9, "SCAN-i2t": 0.95}),
        pytest.param(
            *("val2017", {"TIGEr": 0.9, "TIGEr-WDS": 0.95, "SCAN-i2t": 0.95, "TIGEr-RRS": 0.6}),
            marks=pytest.mark.coco,
        ),
    ],
)
def test_human_captions_score_above_other_images(
    name: str, least: dict[str, float], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """By the shipped weights; many images have few regions to rank."""
    data = load_scenes(n=150, images=False, cache=tmp_path)
    data = data if name == "scenes" else request.getfixturevalue(name).limited(150)
    others = [each.text for each in Random().apply(data, seed=0)]
    index = np.arange(len(data))
    for kind in (Tiger, ScanSimilarity):
        scorer = ready(kind(GoldRegions(), device="cpu"), data)
        better = (scorer.score(data.human, index) > scorer.score(others, index)).mean(axis=0)
        for column, share in zip(scorer.columns, better, strict=True):
            assert share > least.get(str(column.variant_of), 0), column.name


REFERENCE = np.array([[0.1, 0.5, 0.3, 0.9]])
CANDIDATE = np.array([[0.2, 0.4, 0.6, 0.7]])
ALL = np.ones((1, 4), dtype=np.bool_)
ONE_REGION = 1 - 1 / (1 + (0.1 / 0.4) ** 1.5)  # WDS


def numbers(*arrays: Any) -> list[Any]:
    """TIGEr, RRS and WDS."""
    tensors = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arrays]
    return [column.numpy() for column in tiger(*tensors)]


def slow(ref: Floats, cand: Floats, tau: float, raw: bool = False) -> tuple[float, float]:
    """RRS and WDS of one caption, by the definitions."""
    gain = ref if raw else (ref - ref.min()) / np.ptp(ref)
    discounts = np.log2(np.arange(2, len(ref) + 2))
    order = np.argsort(-cand, kind="stable")
    rank = (gain[order] / discounts).sum() / (np.sort(gain)[::-1] / discounts).sum()
    x = tau * (
        entropy(softmax(ref), softmax(cand)) + math.log(np.linalg.norm(ref) / np.linalg.norm(cand))
    )
    return rank, expit(-x)


@pytest.mark.parametrize(
    ("reference", "candidate", "expected", "near"),
    [  # RRS, WDS and TIGEr
        # given to twelve places
        (REFERENCE, CANDIDATE, [0.977276475865, 0.474083746376, 0.725680111121], 1e-10),
        (REFERENCE, REFERENCE, [1, 0.5, 0.75], 1e-15),
        # no ranking can be wrong
        (np.array([[0.4]]), np.array([[0.1]]), [1, ONE_REGION, (1 + ONE_REGION) / 2], 1e-15),
    ],
)
def test_worked_by_hand(
    reference: np.ndarray, candidate: np.ndarray, expected: list[float], near: float
) -> None:
    found, ranks, weights = numbers(reference, candidate, ALL[:, : reference.size])
    assert [ranks[0], weights[0], found[0]] == pytest.approx(expected, abs=near)
    assert numbers(np.full((1, 4), 0.4), CANDIDATE, ALL)[1][0] == 1


@pytest.mark.parametrize("tau", [0.5, 1.5])
@pytest.mark.parametrize("gains", ["min-max", RAW])
def test_random_vectors_against_the_definitions(tau: float, gains: str) -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(2, 37, 300)
    mask = np.arange(36)[None, :] < counts[:, None]
    ref, cand = rng.uniform(0.01, 1, (2, 300, 36)).round(2)  # rounded: ties occur
    cand[::3] *= -1
    found, ranks, weights = numbers(ref, cand, mask, tau, gains)
    for k, n in enumerate(counts):
        expected = slow(ref[k, :n], cand[k, :n], tau, gains == RAW)
        # float64, summed in another order
        assert (ranks[k], weights[k]) == pytest.approx(expected, abs=1e-12)
    assert (found == (ranks + weights) / 2).all()


def test_a_vector_of_zeros_has_no_norm_term_and_raw_gains_below_0_no_best() -> None:
    assert math.isnan(numbers(-REFERENCE, CANDIDATE, ALL, 1.5, RAW)[1][0])
    assert math.isfinite(numbers(-REFERENCE, CANDIDATE, ALL)[1][0])
    zero = np.zeros((1, 4))
    assert numbers(zero, zero, ALL)[2][0] == 0.5
    kl = -math.log(4) - np.log(np.exp(CANDIDATE) / np.exp(CANDIDATE).sum()).mean()
    expected = pytest.approx(1 / (1 + math.exp(1.5 * kl)), abs=1e-12)
    assert numbers(zero, CANDIDATE, ALL)[2][0] == expected


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
    none, whole, every = [], [], []
    for found, hidden, whole_only in ((none, 0, False), (whole, 8, True), (every, 8, False)):
        torch.manual_seed(0)
        shape = ScanShape(dim=6, words=9, embed=5, word=4, hidden=hidden, whole_only=whole_only)
        vectors = see_regions(Scan(shape).image, features, mask)
        found += vectors.detach().transpose(0, 1)
    assert_same_scores(torch.stack(whole[1:]), torch.stack(none[1:]))
    assert_same_scores(whole[0], every[0])
    assert not torch.isclose(whole[0], none[0]).any()
    assert not torch.isclose(every[1], none[1]).any()


def _edited(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], Any]:
    """Change what a checkpoint contains: the states of two networks, and options."""

    def edit(path: Path) -> None:
        content = torch.load(path, weights_only=False)
        change(content)
        torch.save(content, path)

    return edit


@pytest.mark.parametrize(
    ("damage", "message"),
    [
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
        # of another vocabulary
        (
            lambda p: official(p.parent, Scan(ScanShape(dim=6, words=11, embed=5, word=4))),
            "9 words",
        ),
    ],
)
def test_a_bad_checkpoint_is_one_line(tmp_path: Path, damage: Any, message: str) -> None:
    path, words = official(tmp_path, Scan(SMALL))
    damage(path)
    with pytest.raises(InputError, match=message) as caught:
        load_checkpoint(path, words)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def captions(n: int, words: int = 40, most: int = 14) -> list[list[int]]:
    """Random sentences of which many begin or end alike, and some are the same."""
    rng = np.random.default_rng(5)
    found = [[1, *rng.integers(4, words, rng.integers(0, most)).tolist(), 2] for _ in range(n // 3)]
    for _ in range(n // 3):
        own = list(found[rng.integers(len(found))])
        own[rng.integers(len(own))] = int(rng.integers(4, words))
        found += [own, list(found[rng.integers(len(found))])]
    return found


def encoder(**shape: Any) -> WordEncoder:
    torch.manual_seed(0)
    return WordEncoder(ScanShape(dim=6, words=40, embed=24, word=10, **shape)).eval()


@pytest.mark.parametrize("shape", [{}, {"text_norm": False}])
def test_states_are_those_of_torch(shape: dict[str, Any]) -> None:
    text, ids = encoder(**shape), captions(60)
    found = encode_captions(text, [ids])[0]
    for row, own in enumerate(ids):
        with torch.no_grad():
            expected = read_words(text, torch.tensor([own]))[0]
        assert found.lengths[row] == len(own)
        states = found.of(np.array([row]), len(own))
        assert states.dtype == torch.float32
        # float32, summed in another order
        np.testing.assert_allclose(states[0], expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("smooth", [4.0, 9.0, 20.0, 30.0, 90.0])
@pytest.mark.parametrize("n_regions", [5, 24])  # the two ways to lengths of what is attended to
@pytest.mark.parametrize("leak", [0.1, 0.0])  # the authors' code, and Eq. 3 of TIGEr's paper
def test_cosines_are_the_papers(smooth: float, n_regions: int, leak: float) -> None:
    d = 40
    regions, n = random_sets(0, [n_regions, 1, n_regions - 2], d)
    words, m = random_sets(1, [4, 7, 2, 6], d)
    # captions describe their images, or λ would have little effect; the encoders' numbers are
    # float32
    rows = np.array([2, 0, 1, 0])
    own = (words + 0.5 * regions[rows, :1] * (words != 0)).float()
    own, vectors = l2norm(own) * (own != 0), (1.7 * regions).float()
    batch = RegionBatch.of(vectors)
    found = batch.attend(torch.from_numpy(rows), own, smooth, leak=leak)
    assert tuple(found) == WAYS
    for k, row in enumerate(rows.tolist()):
        v, w = vectors[row, : n[row]].double().numpy(), own[k, : m[k]].double().numpy()
        # lengths of what regions attend to are in float32
        i2t, t2i = cosines(v, w, smooth, leak), cosines(w, v, smooth, leak)
        np.testing.assert_allclose(found["i2t"][k, : n[row]], i2t, rtol=0, atol=3e-7)
        np.testing.assert_allclose(found["t2i"][k, : m[k]], t2i, rtol=0, atol=1e-12)
        assert (found["i2t"][k, n[row] :] == 0).all()
        assert (found["t2i"][k, m[k] :] == 0).all()
    for way in WAYS:  # each alone is the same
        assert_same_scores(
            batch.attend(torch.from_numpy(rows), own, smooth, (way,), leak)[way], found[way]
        )
