"""Transformers without their upper layers, and tokenising as bert-score does."""

from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
import transformers

from metaeval.errors import ConfigError
from metaeval.text.transformers.encoder import TextEncoder, keep_layers
from metaeval.text.transformers.hub import layer_of, locate_model

SMALL = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 2, "vocab_size": 99}
WIDE = {**SMALL, "intermediate_size": 64, "max_position_embeddings": 40}


def models() -> dict[str, Any]:
    t = transformers
    return {
        "bert": t.BertModel(t.BertConfig(**WIDE)),
        "roberta": t.RobertaModel(t.RobertaConfig(**WIDE)),
        "electra": t.ElectraModel(t.ElectraConfig(**WIDE, embedding_size=32)),
        "distilbert": t.DistilBertModel(
            t.DistilBertConfig(dim=32, n_layers=4, n_heads=2, hidden_dim=64, vocab_size=99)
        ),
        "albert": t.AlbertModel(t.AlbertConfig(**WIDE, embedding_size=16)),
    }


@pytest.mark.parametrize("name", ["bert", "roberta", "electra", "distilbert", "albert"])
def test_the_cached_value_is_the_hidden_state_of_the_layer(name: str) -> None:
    torch.manual_seed(0)
    model = models()[name].eval()
    ids = torch.randint(5, 99, (3, 7))
    with torch.inference_mode():
        expected = model(ids, output_hidden_states=True).hidden_states
        found = keep_layers(model, 2)(ids)[0]
    torch.testing.assert_close(found, expected[2], rtol=0, atol=1e-5)
    assert (expected[2] - expected[3]).abs().max() > 1e-2  # another layer would be noticed


def sentences(n: int, longest: int) -> list[list[int]]:
    """Random token ids; some contain RoBERTa's padding token (1)."""
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(2, longest + 1, (n,), generator=generator).tolist()
    return [torch.randint(0, 12, (length,), generator=generator).tolist() for length in lengths]


def encoder_of(model: Any, tokens: int) -> TextEncoder:
    encoder = TextEncoder.__new__(TextEncoder)
    encoder.device, encoder._network, encoder._tokens = torch.device("cpu"), model, tokens
    encoder._padding = int(model.config.pad_token_id or 0)
    return encoder


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert"])
@pytest.mark.parametrize("alone", [False, True])
def test_batches_give_each_sentence_its_own_vectors(name: str, alone: bool) -> None:
    """On 1 and 3 threads, in many batches and in one: what the network gives a sentence alone."""
    torch.manual_seed(0)
    model = models()[name].eval()
    with torch.no_grad():
        for parameter in model.parameters():  # or positions and padding would hardly matter
            parameter.add_(0.3 * torch.randn(parameter.shape))
    ids, expected = sentences(24, 30), []
    with torch.inference_mode():
        for sentence in ids:
            batch = torch.tensor([sentence])
            states = model(batch, attention_mask=torch.ones_like(batch))[0][0]
            expected.append(states / states.norm(dim=-1, keepdim=True))
    before = torch.get_num_threads()
    try:
        for threads, tokens in ((1, 64), (3, 64), (3, 10_000)):
            torch.set_num_threads(threads)
            vectors: dict[int, Any] = {}
            encoder_of(model, tokens).encode(
                ids,
                lambda at, of, kept=vectors: kept.update(zip(at, of, strict=True)),
                alone=alone,
            )
            found = [vectors[j] for j in range(len(ids))]
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("function", "given", "problem"),
    [
        *((keep_layers, (models()["bert"], layers), "1…4") for layers in (0, 5)),
        (keep_layers, (torch.nn.Linear(2, 2), 1), "layers of Linear are not known"),
        (layer_of, ("my-own-model",), "layer"),
    ],
)
def test_layers_that_are_not_there(function: Any, given: tuple[Any, ...], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        function(*given)


def test_layers_of_bert_scores_table() -> None:
    known = {
        "roberta-large": 17,
        "FacebookAI/roberta-large": 17,
        "microsoft/deberta-xlarge-mnli": 40,
        "all-MiniLM-L6-v2": 5,
    }
    assert {name: layer_of(name) for name in known} == known


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny RoBERTa: random weights, a byte-level vocabulary of its own."""
    folder = tmp_path_factory.mktemp("roberta")
    byte_pairs = tokenizers.ByteLevelBPETokenizer()
    byte_pairs.train_from_iterator(
        ["a dog and a cat", "the dog"] * 20,
        vocab_size=300,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    )
    byte_pairs.save_model(str(folder))
    torch.manual_seed(0)
    config = transformers.RobertaConfig(
        **{**WIDE, "vocab_size": 300, "max_position_embeddings": 20}
    )
    transformers.RobertaModel(config).save_pretrained(folder)
    return folder


def test_the_first_word_is_a_word_like_any_other(roberta: Path) -> None:
    encoder = TextEncoder(locate_model(str(roberta)), 2, "cpu")
    (ids, same, empty, long), cut = encoder.tokenize(["dog", "  dog ", "", "dog " * 50])
    assert ids == same
    assert encoder.tokenizer.convert_ids_to_tokens(ids) == ["<s>", "Ġdog", "</s>"]
    assert len(empty) == encoder.n_special == 2
    # 20 positions, of which RoBERTa's numbering leaves 18
    assert (len(long), cut, encoder.max_tokens) == (18, [False, False, False, True], 18)
    kept: dict[int, Any] = {}
    encoder.encode([ids, long], lambda p, v: kept.update(zip(p, v, strict=True)))
    assert kept[1].shape == (18, 32)
    torch.testing.assert_close(kept[1].norm(dim=-1), torch.ones(18))
