"""BERTScore against bert-score's own BERTScorer; the bank of vectors; MoverScore against POT;
sentence similarity against transformers alone."""

import contextlib
import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bert_score
import numpy as np
import ot
import pytest
import torch
import transformers

from metaeval.config import build, compose_config
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.base import Scores
from metaeval.metrics.bertscore.metric import BertScore, SentenceSimilarity, baseline_f1
from metaeval.metrics.bertscore.moverscore import MoverScore
from metaeval.runs.records import Tally
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from metaeval.text.transformers import hub
from tests.metrics.metric_cases import images, ready, scores_of
from tests.precision import assert_same_scores
from tests.shared import write_texts

# float32 networks, products in another order: 1e-5 is forty times their rounding
TOLERANCE = 1e-5

REFERENCES = (
    ("a dog runs over the green grass", "A brown dog is running.", "dog"),
    ("two people ride horses on a beach", "Two riders at the sea", "horses, at dawn!"),
    ("a plate with a sandwich and fries on a wooden table",),
    ("a man in a suit", ""),
)
DATASET = images(REFERENCES, [group[0] for group in REFERENCES])
CAPTIONS = (
    ("a dog runs over the grass", 0),
    ("dog", 0),
    ("", 0),
    ("   ", 1),
    ("Two people on horses ride along the beach at sunset, far away from the town.", 1),
    ("a plate with a sandwich and fries on a wooden table", 2),
    ("naïve café — 100% ☃ unbelievableness", 2),
    ("A MAN IN A SUIT", 3),
    ("", 3),
)


def ours(captions: Sequence[tuple[str, int]], **options: Any) -> Scores:
    metric = BertScore(**{"model": "all-MiniLM-L6-v2", "device": "cpu", **options})
    return scores_of(metric, DATASET, *zip(*captions, strict=True))[:, 0]


def their_scorer(folder: Path, layer: int, **options: Any) -> bert_score.BERTScorer:
    """bert-score's own scorer. It gets the folder's name alone: it takes a model for T5 where "t5"
    is anywhere in the path."""
    given = {"device": "cpu", "lang": "en", "nthreads": 0, **options}
    with contextlib.chdir(folder.parent):
        return bert_score.BERTScorer(model_type=folder.name, num_layers=layer, **given)


def theirs(captions: Sequence[tuple[str, int]], layer: int, **options: Any) -> Scores:
    folder = options.pop("folder", None) or hub.locate_model("all-MiniLM-L6-v2").folder
    scorer = their_scorer(folder, layer, **options)
    tokenizer = scorer._tokenizer
    if not hasattr(tokenizer, "build_inputs_with_special_tokens"):
        # gone from transformers 5, and called by bert-score 0.3.13 for empty sentences only
        edges = [tokenizer.cls_token_id, tokenizer.sep_token_id]
        tokenizer.build_inputs_with_special_tokens = lambda _: edges
    if options.get("idf"):
        scorer.compute_idf([text for group in DATASET.references for text in group])
    _, _, f1 = scorer.score(
        [c for c, _ in captions], [list(DATASET.references[i]) for _, i in captions]
    )
    return np.asarray(f1, dtype=np.float64)


@pytest.mark.parametrize(("layer", "idf"), [(1, False), (5, True), (6, False)])
def test_equals_bert_score_on_odd_captions(layer: int, idf: bool) -> None:
    expected = theirs(CAPTIONS, layer, idf=idf)
    np.testing.assert_allclose(
        ours(CAPTIONS, layer=layer, idf=idf), expected, rtol=0, atol=TOLERANCE
    )
    assert expected[1] > expected[0] * 0.5  # the oracle has something to say, not only zeros


def test_no_number_depends_on_where_the_model_is(tmp_path: Path) -> None:
    """A folder below "t5" that is called as the packaged model: it is read, and read as BERT."""
    folder = tmp_path / "t5-base" / hub.MINILM
    shutil.copytree(hub.locate_model(hub.MINILM).folder, folder)
    expected = theirs(CAPTIONS[:3], 5, folder=folder)
    found = ours(CAPTIONS[:3], layer=5, model=str(folder))
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)
    assert hub.locate_model(str(folder)).folder == folder


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")  # bert_score's own
def test_rescaling_is_bert_scores(tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.tsv"
    rows = ["LAYER,P,R,F", *(f"{k},0.2,0.25,{0.3 + k / 100}" for k in range(7))]
    baseline.write_text("\n".join(rows) + "\n")
    expected = theirs(CAPTIONS, 5, rescale_with_baseline=True, baseline_path=str(baseline))
    found = ours(CAPTIONS, rescale=str(baseline))
    np.testing.assert_allclose(found, expected, rtol=0, atol=2 * TOLERANCE)
    # an empty caption: raw 0, then rescaled
    assert found[2] == pytest.approx(-0.35 / 0.65, abs=TOLERANCE)


def test_baselines_are_read_from_bert_scores_own_table(tmp_path: Path) -> None:
    # bert_score/rescale_baseline/en/roberta-large.tsv, line of layer 17
    assert baseline_f1(True, "roberta-large", 17) == pytest.approx(0.83122575)
    with pytest.raises(ConfigError, match="no baseline for all-MiniLM-L6-v2"):
        baseline_f1(True, "all-MiniLM-L6-v2", 5)
    table = tmp_path / "table.tsv"
    table.write_text("LAYER,P,R,F\n1,0.1,0.1,x\n")
    for layer in (1, 2):
        with pytest.raises(InputError, match=f"layer {layer}"):
            baseline_f1(str(table), "any", layer)


def test_explanation_is_what_bert_score_computes() -> None:
    """Precision, recall and F1 are bert-score's, and follow from the cosines (4 digits each)."""
    caption, image = CAPTIONS[4]
    bert = ready(BertScore(model="all-MiniLM-L6-v2", device="cpu"), DATASET)
    payload = bert.explain(caption, image)
    json.dumps(payload)
    references = list(DATASET.references[image])
    scorer = their_scorer(hub.locate_model("all-MiniLM-L6-v2").folder, bert.layer)
    expected = np.stack(scorer.score([caption] * len(references), references), axis=1)
    matched = payload["references"]
    scores = [[each[key] for key in ("precision", "recall", "f1")] for each in matched]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)
    assert payload["best"] == int(expected[:, 2].argmax())
    assert payload["values"] == {bert.columns[0].name: max(each["f1"] for each in matched)}
    for each in matched:
        similar = np.array(each["similarity"])
        assert similar.shape == (len(payload["words"]), len(each["words"]))
        for best, weights, key in (
            (similar.max(axis=1), payload["weights"], "precision"),
            (similar.max(axis=0), each["weights"], "recall"),
        ):
            assert np.average(best, weights=weights) == pytest.approx(each[key], abs=1e-4)
            assert [w for w in weights if w == 0] == [0, 0]  # [CLS] and [SEP]
    assert payload["words"][0] == "[CLS]"
    bert.close()


def test_vectors_of_a_batch_are_forgotten_and_scores_stay() -> None:
    texts, index = [c for c, _ in CAPTIONS], np.array([i for _, i in CAPTIONS], dtype=np.intp)
    # room for two or three of the sentences
    metric = BertScore(model="all-MiniLM-L6-v2", device="cpu", memory_gib=3e-5)
    scorer = ready(metric, DATASET)
    together = scorer.score(texts, index)
    own = {*DATASET.human, *(r for group in DATASET.references for r in group)}
    for start in (0, 3, 6, 0):
        batch = scorer.score(texts[start : start + 4], index[start : start + 4])
        assert_same_scores(batch, together[start : start + 4])
        assert 0 < len(scorer._sentences) < len(own)
        assert own.issuperset(scorer._sentences._encoded)
    scorer.close()


def test_roberta_is_preferred_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = tmp_path / "hub"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub))
    metric, snapshot = BertScore(cache=tmp_path), "snapshots/abc"
    for name, content, column in (
        ("refs/main", "abc", "BERTScore (MiniLM)"),
        (f"{snapshot}/config.json", "{}", "BERTScore (MiniLM)"),  # no weights yet
        (f"{snapshot}/model.safetensors", "", "BERTScore"),
    ):
        write_texts(hub / "models--FacebookAI--roberta-large", {name: content})
        assert metric.bind(DATASET).columns[0].name == column


def test_absent_model_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    plain, offline, asked = (
        BertScore(model="roberta-large", **options)
        for options in ({}, {"download": True, "offline": "1"}, {"download": True})
    )
    offline.fetch(DATASET)  # no request
    assert "roberta-large" in plain.bind(DATASET).reason
    assert "--install bertscore" in plain.bind(DATASET).remedy
    assert "offline" in offline.bind(DATASET).reason
    assert "a run downloads it" in asked.bind(DATASET).remedy  # who only binds does not


def test_damaged_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "MINILM_SHA256", "0" * 64)
    with pytest.raises(InputError, match="not the weights"):
        BertScore(model="all-MiniLM-L6-v2").bind(DATASET)


@pytest.mark.parametrize("name", ["bertscore", "moverscore", "sentence_similarity"])
def test_captions_that_the_model_cuts_are_counted(name: str) -> None:
    """MiniLM reads 512 tokens, two of them its own: 510 times "dog" fits, 511 times does not.

    A caption without a reference has no score and is not counted. The counts come from the cache,
    too.
    """
    metric = build(name, compose_config([f"metric=[{name}]"]))
    data, store = images((*REFERENCES, ())), MemoryStore()
    captions = ["dog " * 510, "dog " * 511, "a dog", "dog " * 600, "dog " * 600]
    for n, cut in ((5, 2), (5, 2), (1, 0)):
        index = np.array([0, 0, 1, 2, 4])[:n]
        scored = score_captions(metric, data, captions[:n], index, store)
        assert scored.counts == (Tally("captions cut to the model's length", "captions", cut, n),)
    assert scored.n_cached == n


TOY_REFERENCES = (
    ("A man swings a bat at a ball.", "A baseball player in a grey uniform."),
    ("two children stand in a grassy field", "kids outdoors, playing"),
    ("a skateboarder",),
    ("", "?!"),
)
TOY_HUMAN = ("a batter at home plate", "two kids", "skateboarding", "")
TOY = images(TOY_REFERENCES, TOY_HUMAN)
TOY_CAPTIONS = ["A man with a bat!", "two dogs in a field", "a skateboarder", "", "a man", "..."]
TOY_INDEX = np.array([0, 1, 2, 0, 3, 1])


def test_equals_pot() -> None:
    """The plain definition: idf from the references' word pieces, without punctuation and later
    pieces; Euclidean distances of unit vectors; POT's exact transport; the mean over references.
    Vectors are float32, their products float64 on both sides: 1e-6 is what the roots of small
    differences leave (√(2 - 2 cos) near 0)."""
    scorer = ready(MoverScore(device="cpu"), TOY)
    mine = scorer.score(TOY_CAPTIONS, TOY_INDEX)[:, 0]
    encoder = scorer._tokens.encoder
    names = {number: piece for piece, number in encoder.tokenizer.get_vocab().items()}
    flat = [text for group in TOY_REFERENCES for text in group]
    documents = [set(ids) for ids in encoder.tokenize(flat)[0]]

    def tokens(text: str) -> tuple[np.ndarray, np.ndarray]:
        (ids,), _ = encoder.tokenize([text])
        kept: list[np.ndarray] = []
        encoder.encode([ids], lambda _, vectors: kept.append(vectors[0].numpy()), alone=True)
        mass = np.array(
            [
                0.0
                if names[i].startswith("##") or not any(c.isalnum() for c in names[i])
                else math.log((len(flat) + 1) / (1 + sum(i in d for d in documents)))
                for i in ids
            ]
        )
        mass[[0, -1]] = 0  # [CLS] and [SEP] are in every document
        return kept[0].astype(np.float64)[mass > 0], mass[mass > 0] / max(mass.sum(), 1e-300)

    expected = []
    for caption, image in zip(TOY_CAPTIONS, TOY_INDEX.tolist(), strict=True):
        (a, m), each = tokens(caption), []
        for reference in TOY_REFERENCES[image]:
            b, n = tokens(reference)
            if len(n):
                cost = np.linalg.norm(a[:, None] - b[None], axis=2)
                each.append(1 - ot.emd2(m, n, cost) if len(m) else -1.0)
        expected.append(np.mean(each) if each else np.nan)
    np.testing.assert_allclose(mine, expected, rtol=0, atol=1e-6)
    assert mine[2] == pytest.approx(1, abs=1e-3)  # word for word the reference
    assert np.isnan(mine).tolist() == [False, False, False, False, True, False]
    assert mine[[3, 5]].tolist() == [-1, -1]
    assert scorer.signatures[0].startswith("moverscore (minilm)|model:all-MiniLM-L6-v2|weights:")
    assert scorer.training is not None  # MiniLM has learned from captions of COCO


def test_equals_mean_pooling_of_the_whole_network() -> None:
    """Each sentence alone through the whole network; float32 sums differ by less than 1e-5."""
    found = hub.locate_model(hub.MINILM)
    scorer = ready(SentenceSimilarity(device="cpu"), TOY)
    mine = scorer.score(TOY_CAPTIONS, TOY_INDEX)[:, 0]
    tokenizer = transformers.AutoTokenizer.from_pretrained(found.folder)
    network = transformers.AutoModel.from_pretrained(found.folder).eval()

    def vector(text: str) -> np.ndarray:
        with torch.inference_mode():
            states = network(**tokenizer(text, return_tensors="pt"))[0][0]
        mean = states.mean(dim=0).double().numpy()
        return mean / np.linalg.norm(mean)

    expected = [
        max(float(vector(c) @ vector(r)) for r in TOY_REFERENCES[i])
        for c, i in zip(TOY_CAPTIONS, TOY_INDEX, strict=True)
    ]
    assert mine == pytest.approx(expected, abs=1e-5)
    assert mine[2] == pytest.approx(1, abs=1e-6)  # its own reference
    assert scorer.columns[0].name == "Sentence similarity (MiniLM)"
    scorer.close()
