"""The own forward pass of BERT and RoBERTa against transformers' modules, sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from metaeval.text.transformers import fast_bert  # noqa: E402
from metaeval.text.transformers.fast_bert import blocks, fast_version  # noqa: E402

SHAPE = {
    "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "vocab_size": 60,
    "intermediate_size": 48, "max_position_embeddings": 72,
}  # fmt: skip
# float32, products in another order: ten times the rounding seen
TOLERANCE = 1e-5


def network(kind: str, **options: Any) -> Any:
    """A random network whose biases and norms are random too: all of them must be used rightly."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**SHAPE, **options)
    model = getattr(transformers, f"{kind}Model")(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
    return model


def sentences(n: int, longest: int, words: int = 60) -> list[list[int]]:
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(2, longest + 1, (n,), generator=generator).tolist()
    return [torch.randint(0, words, (length,), generator=generator).tolist() for length in lengths]


def encoded(fast: Any, ids: list[list[int]]) -> list[Any]:
    found: dict[int, Any] = {}
    fast.encode(ids, lambda p, vectors: found.update(zip(p, vectors.clone(), strict=True)))
    assert sorted(found) == list(range(len(ids)))
    return [found[j] for j in range(len(ids))]


@pytest.mark.parametrize("kind", ["Bert", "Roberta", "XLMRoberta"])
def test_equals_the_module(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short and long sentences; RoBERTa's padding token (1) stands in some of them."""
    monkeypatch.setattr(fast_bert, "_TOKENS", 128)  # several blocks
    model = network(kind)
    fast = fast_version(model, 70)
    assert fast is not None
    ids = sentences(150, 60, words=12)
    assert (kind == "Bert") or any(1 in tokens for tokens in ids)
    with torch.inference_mode():
        for tokens, vectors in zip(ids, encoded(fast, ids), strict=True):
            batch = torch.tensor([tokens])
            expected = model(batch, attention_mask=torch.ones_like(batch))[0][0]
            expected = expected / expected.norm(dim=-1, keepdim=True)
            torch.testing.assert_close(vectors, expected, rtol=0, atol=TOLERANCE)


def test_company_does_not_change_a_bit() -> None:
    fast = fast_version(network("Bert"), 70)
    ids = sentences(300, 40)
    together = encoded(fast, ids)
    for j in (0, 7, 123, 299):
        assert torch.equal(encoded(fast, [ids[j]])[0], together[j])
    backwards = encoded(fast, ids[::-1])[::-1]
    assert all(torch.equal(a, b) for a, b in zip(backwards, together, strict=True))


def test_threads_do_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor the order in which vectors are handed over; blocks share no memory."""
    monkeypatch.setattr(fast_bert, "_TOKENS", 72)  # some forty blocks
    fast = fast_version(network("Bert"), 70)
    ids = sentences(150, 40)
    before = torch.get_num_threads()
    found = {}
    try:
        for threads in (1, 4):
            torch.set_num_threads(threads)
            order: list[int] = []
            fast.encode(ids, lambda positions, _, order=order: order.extend(positions))
            found[threads] = (encoded(fast, ids), order)
    finally:
        torch.set_num_threads(before)
    assert found[1][1] == found[4][1]
    assert all(torch.equal(a, b) for a, b in zip(found[1][0], found[4][0], strict=True))


def test_large_scores_do_not_overflow() -> None:
    model = network("Bert")
    with torch.no_grad():
        model.encoder.layer[0].attention.self.query.weight.mul_(1e4)
    (vectors,) = encoded(fast_version(model, 70), [[5, 6, 7]])
    assert torch.isfinite(vectors).all()


def test_nothing_to_encode() -> None:
    assert encoded(fast_version(network("Bert"), 70), []) == []


@pytest.mark.parametrize(
    ("kind", "options"),
    [("Bert", {"hidden_act": "relu"}), ("Electra", {"embedding_size": 16}), ("GPT2", {})],
)
def test_other_architectures_are_left_to_their_modules(kind: str, options: Any) -> None:
    shape = {} if kind != "GPT2" else {"n_embd": 32, "n_layer": 2, "n_head": 2}
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**(shape or {**SHAPE, **options}))
    assert fast_version(getattr(transformers, f"{kind}Model")(config).eval(), 70) is None


def test_a_network_that_computes_something_else_is_noticed() -> None:
    model = network("Bert")
    model.encoder.layer[1].output.register_forward_hook(lambda _m, _i, out: out + 1)
    assert fast_version(model, 70) is None


def test_blocks_hold_every_sentence_once_and_never_too_many_tokens() -> None:
    lengths = [5, 3, 9, 1, 5, 5, 2]
    found = list(blocks(lengths, 10))
    assert sorted(p for block in found for p in block) == list(range(7))
    assert all(sum(lengths[p] for p in block) <= 10 for block in found)
    order = [lengths[p] for block in found for p in block]
    assert order == sorted(lengths)
