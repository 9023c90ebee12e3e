"""The forward pass of a plain BERT or RoBERTa on a processor, for many short sentences.

It is fast because blocks of sentences are computed side by side, one on each thread, where a
network made of modules divides products that are not worth dividing; and because little is computed
that need not be: sentences lie one after another in blocks of always as many tokens, without
padding, and attention over a dozen tokens is written out as it is defined, for the usual routines
spend most of their time on softmaxes over rows that are shorter than a vector register. Against
transformers' own network in padded batches sorted by length, by processor time on two cores of 2.5
GHz, it gains 3.1 × on two threads and 1.1 × on one; against batches of one length, which give as it
does vectors that do not depend on company, 4.8 × and 1.3 × (`benchmarks/fast_bert.py`).

A token's vector depends, to the last bit, on its own sentence only (and, by a 10⁻⁷, on whether any
other sentence of its length shares its block: see `encode`), and not on the number of threads:
products with weights have the same shape in every block (what is left of the last one is zeros),
and the attention of a sentence is a product of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from metaeval.compute.threads import map_ordered

if TYPE_CHECKING:
    import torch

# Networks with BERT's layers. Another architecture or activation is left to its own module.
_KINDS = ("BertModel", "RobertaModel", "XLMRobertaModel", "CamembertModel")
# Tokens of a block, for narrow and wide networks: enough for fast products, not more than a lone
# caption should have to wait for.
_TOKENS, _TOKENS_WIDE, _WIDE = 2048, 512, 512
# From this length on the library's own attention is the faster one.
_LONG = 32


Tensors = Mapping[str, "torch.Tensor"]
Norm = Callable[["torch.Tensor"], "torch.Tensor"]


class _Layer(NamedTuple):
    """One layer; its matrices are [in, out].

    Keys have no bias (it adds the same to all scores of a query), and values neither (the weights
    of attention add up to 1, so theirs is in `mix_bias`). Queries are scaled in advance.
    """

    qkv: torch.Tensor
    query_bias: torch.Tensor
    mix: torch.Tensor
    mix_bias: torch.Tensor
    mix_norm: Norm
    up: torch.Tensor
    up_bias: torch.Tensor
    down: torch.Tensor
    down_bias: torch.Tensor
    norm: Norm


class _Room(NamedTuple):
    """Memory that is written over in every layer of every block: fresh memory would cost time."""

    wide: torch.Tensor
    narrow: torch.Tensor

    def product(self, x: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        """x · matrix, in the place of the last such product."""
        import torch

        tokens, width = len(self.narrow), matrix.shape[1]
        return torch.mm(x, matrix, out=self.wide[: tokens * width].view(tokens, width))


def fast_version(network: Any, max_tokens: int) -> FastBert | None:
    """The fast forward pass of a network, or `None` where its layers are not BERT's.

    That they are is not only read off its configuration: one sentence is put through both.
    """
    import torch

    config = network.config
    if type(network).__name__ not in _KINDS or config.hidden_act != "gelu":
        return None
    try:
        fast = FastBert(config, network.state_dict(), max_tokens)
        ids = torch.arange(9, 9 + min(7, max_tokens)).remainder(config.vocab_size)[None]
        computed: list[torch.Tensor] = []
        fast.encode(ids.tolist(), lambda _, vectors: computed.append(vectors[0]))
    except (AttributeError, KeyError):  # a release whose modules have other names
        return None
    with torch.inference_mode():
        expected = network(ids, attention_mask=torch.ones_like(ids))[0][0]
        expected = expected / expected.norm(dim=-1, keepdim=True)
        return fast if torch.allclose(computed[0], expected, rtol=0, atol=1e-4) else None


class FastBert:
    """Token vectors of a network with BERT's layers, float32, on the processor.

    Parameters
    ----------
    config
        The network's shape, under transformers' names.
    tensors
        Its weights, under the names of transformers' module.
    max_tokens
        No sentence may be longer.

    Attributes
    ----------
    tokens
        The size of a block.

    Raises KeyError where a weight is missing.
    """

    def __init__(self, config: Any, tensors: Tensors, max_tokens: int) -> None:
        import torch

        self._heads, self._width = int(config.num_attention_heads), int(config.hidden_size)
        # RoBERTa counts positions from behind the padding's, and a padding token in a text not
        self._padding = None if config.model_type == "bert" else int(config.pad_token_id)
        epsilon = float(config.layer_norm_eps)
        with torch.inference_mode():
            self._words = tensors["embeddings.word_embeddings.weight"]
            self._places = (
                tensors["embeddings.position_embeddings.weight"]
                + tensors["embeddings.token_type_embeddings.weight"][0]
            )
            head_width, count = self._width // self._heads, 0
            self._layers = []
            while f"encoder.layer.{count}.output.dense.weight" in tensors:
                self._layers.append(_layer(tensors, count, head_width, epsilon))
                count += 1
        self._norm = _norm(tensors, "embeddings.LayerNorm", epsilon)
        self.tokens = max(_TOKENS if self._width < _WIDE else _TOKENS_WIDE, max_tokens)
        middle = max(layer.up.shape[1] for layer in self._layers)
        self._wide = max(3 * self._width, middle)
        self._rooms: list[_Room] = []  # those that no thread is in

    def encode(
        self,
        ids: Sequence[Sequence[int]],
        keep: Callable[[list[int], torch.Tensor], None],
        *,
        alone: bool = False,
    ) -> None:
        """Encode token sequences; `keep(positions, vectors [b, length, width])`, block by block.

        The vectors are of unit length; those of one call have one length. Libraries may compute the
        attention of several short sentences otherwise than that of one, in the last bit: with
        `alone` it is that of one.
        """
        import torch

        with torch.inference_mode():
            words = torch.tensor(list(chain.from_iterable(ids)), dtype=torch.int64)
            places = self._numbers(ids)
            lengths = [len(tokens) for tokens in ids]
            starts = np.cumsum([0, *lengths])

            def compute(block: list[int]) -> list[tuple[list[int], torch.Tensor]]:
                groups = [list(each) for _, each in groupby(block, key=lengths.__getitem__)]
                if alone:
                    groups = [[position] for position in block]
                shapes = [(len(mine), lengths[mine[0]]) for mine in groups]
                tokens = np.concatenate([np.arange(starts[p], starts[p + 1]) for p in block])
                mine = torch.from_numpy(tokens)
                x = torch.zeros(self.tokens, self._width)
                x[: len(mine)] = self._words[words[mine]] + self._places[places[mine]]
                with self._room() as room:
                    vectors = self._forward(self._norm(x), shapes, room)
                return list(zip(groups, _split(vectors, shapes), strict=True))

            for groups in map_ordered(compute, blocks(lengths, self.tokens)):
                for positions, part in groups:
                    keep(positions, part)

    @contextmanager
    def _room(self) -> Iterator[_Room]:
        """Room for one block, which another thread must not write to meanwhile."""
        import torch

        try:
            room = self._rooms.pop()
        except IndexError:
            wide = torch.empty(self.tokens * self._wide)
            room = _Room(wide, torch.empty(self.tokens, self._width))
        yield room
        self._rooms.append(room)

    def _forward(
        self, x: torch.Tensor, shapes: Sequence[tuple[int, int]], room: _Room
    ) -> torch.Tensor:
        """Unit vectors [tokens, width] of sentences, [n, length] of one shape after another."""
        import torch

        mixed = torch.zeros_like(x)
        for layer in self._layers:
            qkv = room.product(x, layer.qkv)
            for part, out in zip(_split(qkv, shapes), _split(mixed, shapes), strict=True):
                self._attend(part, layer.query_bias, out)
            y = torch.addmm(x, mixed, layer.mix, out=room.narrow)
            x = layer.mix_norm(y.add_(layer.mix_bias))
            middle = torch.ops.aten.gelu_(room.product(x, layer.up).add_(layer.up_bias))
            y = torch.addmm(x, middle, layer.down, out=room.narrow)
            x = layer.norm(y.add_(layer.down_bias))
        return x.div_(x.norm(dim=-1, keepdim=True))

    def _attend(self, qkv: torch.Tensor, query_bias: torch.Tensor, out: torch.Tensor) -> None:
        """Write values mixed by attention [n, length, width] from qkv [n, length, 3 · width]."""
        import torch

        n, length, _ = qkv.shape
        query, key, value = qkv.view(n, length, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
        q = torch.empty(query.shape)
        torch.add(query, query_bias, out=q)
        if length >= _LONG:
            mixed = torch.nn.functional.scaled_dot_product_attention(q, key, value, scale=1.0)
        else:
            k = key.transpose(2, 3).reshape(n * self._heads, -1, length)
            weights = torch.bmm(q.view(n * self._heads, length, -1), k)
            weights.sub_(weights.amax(dim=2, keepdim=True)).exp_()
            weights.div_(weights.sum(dim=2, keepdim=True))
            mixed = torch.bmm(weights, value.reshape(n * self._heads, length, -1)).view(q.shape)
        out.view(n, length, self._heads, -1).copy_(mixed.transpose(1, 2))

    def _numbers(self, ids: Sequence[Sequence[int]]) -> torch.Tensor:
        """The number of each token's place, sentence after sentence."""
        import torch

        if self._padding is None:
            places = [np.arange(len(tokens)) for tokens in ids]
        else:
            real = [np.array(tokens) != self._padding for tokens in ids]
            places = [each.cumsum() * each + self._padding for each in real]
        return torch.from_numpy(np.concatenate([np.zeros(0, np.int64), *places]))


def blocks(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Positions in order of length, in blocks of as many as have at most `tokens` tokens."""
    block: list[int] = []
    filled = 0
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if filled + lengths[position] > tokens and block:
            yield block
            block, filled = [], 0
        block.append(position)
        filled += lengths[position]
    if block:
        yield block


def _split(rows: torch.Tensor, shapes: Sequence[tuple[int, int]]) -> Iterator[torch.Tensor]:
    """The rows that belong to each [n, length] sentences, as views [n, length, width]."""
    start = 0
    for n, length in shapes:
        yield rows[start : start + n * length].view(n, length, -1)
        start += n * length


def _norm(tensors: Tensors, name: str, epsilon: float) -> Norm:
    """The layer norm of that name."""
    import torch

    weight, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
    return partial(
        torch.nn.functional.layer_norm,
        normalized_shape=weight.shape, weight=weight, bias=bias, eps=epsilon,
    )  # fmt: skip


def _layer(tensors: Tensors, number: int, head_width: int, epsilon: float) -> _Layer:
    import torch

    root, scale = f"encoder.layer.{number}", head_width**-0.5
    attention = f"{root}.attention.self"
    query, key, value = (
        tensors[f"{attention}.{name}.weight"] for name in ("query", "key", "value")
    )
    mix, up, down = (
        tensors[f"{root}.{name}.dense.weight"]
        for name in ("attention.output", "intermediate", "output")
    )
    mix_bias, up_bias, down_bias = (
        tensors[f"{root}.{name}.dense.bias"]
        for name in ("attention.output", "intermediate", "output")
    )
    return _Layer(
        torch.cat([query * scale, key, value]).t().contiguous(),
        (tensors[f"{attention}.query.bias"] * scale).view(-1, 1, head_width),
        mix.t().contiguous(),
        mix_bias + mix @ tensors[f"{attention}.value.bias"],
        _norm(tensors, f"{root}.attention.output.LayerNorm", epsilon),
        up.t().contiguous(),
        up_bias,
        down.t().contiguous(),
        down_bias,
        _norm(tensors, f"{root}.output.LayerNorm", epsilon),
    )
