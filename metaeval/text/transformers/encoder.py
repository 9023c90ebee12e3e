"""A transformer that turns sentences into token vectors, in padded batches sorted by length.

The network is transformers' own. On a processor several batches are computed in parallel, one on
each thread: the products of a short batch are too small to be worth dividing. A sentence's vectors
depend on its batch by float32 rounding alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import in_batches, inference, map_ordered, resolve
from metaeval.errors import ConfigError
from metaeval.progress import progress_bar
from metaeval.readers.files import native_errors
from metaeval.text.transformers.hub import TextModel, check_folder, check_layers

if TYPE_CHECKING:
    import torch

# Tokens per batch, padding included: enough for the matrix products, and little memory a thread.
_TOKENS = {"cpu": 512, "cuda": 32_768}
# Where architectures keep their layers, as bert-score cuts them.
_LAYER_LISTS = ("encoder.layer", "transformer.layer", "encoder.block", "encoder.layers", "layer")


class TextEncoder:
    """Token vectors of layer `layer`, of unit length, float32.

    Nothing but the model's own folder is looked at, least of all the network; layers above `layer`
    (counted from 1) are not computed.
    """

    def __init__(
        self, model: TextModel, layer: int, device: str = "auto", dtype: str = "float32"
    ) -> None:
        self.device: torch.device = resolve(device)
        self.tokenizer: Any
        self.max_tokens: int
        self._network: Any = None
        self._tokens = _TOKENS[self.device.type]
        self._load(model, layer, dtype)
        self.n_special = len(self.tokenizer("")["input_ids"])

    def _load(self, model: TextModel, layer: int, dtype: str) -> None:
        """Load tokenizer and network by transformers."""
        import torch

        transformers: Any = import_module("transformers")
        transformers.utils.logging.disable_progress_bar()
        check_folder(model)
        local = {"local_files_only": True, "trust_remote_code": False}
        config = transformers.AutoConfig.from_pretrained(model.folder, **local)
        # RoBERTa's and GPT-2's first word is a token of its own unless a space stands before it
        spaced = {"add_prefix_space": True} if config.model_type in ("roberta", "gpt2") else {}
        with native_errors(model.folder, "tokenizer"):
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(
                model.folder, **local, **spaced
            )
        kind = transformers.T5EncoderModel if config.model_type == "t5" else transformers.AutoModel
        network = kind.from_pretrained(model.folder, dtype=torch.float32, **local)
        self._network = keep_layers(network, layer).eval()
        self._network.to(device=self.device, dtype=getattr(torch, dtype))
        if self.device.type == "cpu":
            for part in self._network.modules():
                if type(part) is torch.nn.Linear:
                    part.forward = partial(_linear, part)  # type: ignore[method-assign]
        self._padding = int(getattr(config, "pad_token_id", None) or 0)
        positions = getattr(config, "max_position_embeddings", None) or 10**6
        if config.model_type in ("roberta", "xlm-roberta", "camembert"):
            positions -= 2  # their position numbers begin after the padding's
        self.max_tokens = int(min(self.tokenizer.model_max_length, positions))

    def tokenize(self, sentences: Sequence[str]) -> tuple[list[list[int]], list[bool]]:
        """Token ids with the special ones, and whether a sentence was cut at `max_tokens`."""
        texts = [sentence.strip() for sentence in sentences]
        if not texts:
            return [], []
        ids: list[list[int]] = self.tokenizer(
            texts,
            truncation=True,
            max_length=self.max_tokens,
            return_attention_mask=False,
            return_token_type_ids=False,
        )["input_ids"]
        full = [j for j, tokens in enumerate(ids) if len(tokens) == self.max_tokens]
        whole = self.tokenizer([texts[j] for j in full])["input_ids"] if full else []
        cut = [False] * len(texts)
        for j, tokens in zip(full, whole, strict=True):
            cut[j] = len(tokens) > self.max_tokens
        return ids, cut

    def encode(
        self,
        ids: Sequence[Sequence[int]],
        keep: Callable[[list[int], torch.Tensor], None],
        *,
        alone: bool = False,
    ) -> None:
        """Encode token sequences; `keep(positions, vectors [b, length, width])`, batch by batch.

        The vectors of one call of `keep` have one length. With `alone` each sequence is a batch of
        its own, so that its vectors do not depend on the others at all.
        """
        lengths = [len(tokens) for tokens in ids]
        batches = _batches(lengths, 0 if alone else self._tokens)
        with progress_bar(total=len(ids), desc="encoding", unit=" sentences") as bar:

            def keep_batch(batch: list[int], vectors: torch.Tensor) -> None:
                first = 0
                for length, same in groupby(batch, key=lengths.__getitem__):
                    positions = list(same)
                    keep(positions, vectors[first : first + len(positions), :length])
                    first += len(positions)
                bar.update(len(batch))

            if self.device.type == "cpu":
                forward = partial(self._vectors, ids)
                done = map_ordered(self.device, lambda batch: (batch, forward(batch)), batches)
                for batch, vectors in done:
                    keep_batch(batch, vectors)
                return
            for batch in batches:

                def work(start: int, stop: int, size: int, batch: list[int] = batch) -> None:
                    part = batch[start:stop]
                    keep_batch(part, self._vectors(ids, part))

                in_batches(len(batch), len(batch), work)

    def _vectors(self, ids: Sequence[Sequence[int]], batch: Sequence[int]) -> torch.Tensor:
        """The vectors [b, longest, width] of the sequences at some positions, on the device."""
        import torch

        longest = max(len(ids[p]) for p in batch)
        rows = [[*ids[p], *[self._padding] * (longest - len(ids[p]))] for p in batch]
        lengths = torch.tensor([len(ids[p]) for p in batch])
        mask = torch.arange(longest)[None, :] < lengths[:, None]
        tokens = torch.tensor(rows).to(self.device)
        with inference(self.device):
            return self.forward(tokens, mask.to(self.device, torch.int64))

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Device section: token ids and mask [b, longest] to vectors [b, longest, width]."""
        states = self._network(tokens, attention_mask=mask)[0].float()
        return self.vectors_of(states)

    def vectors_of(self, states: torch.Tensor) -> torch.Tensor:
        """What is kept of the layer's states [b, length, width]."""
        return states / states.norm(dim=-1, keepdim=True)


def _linear(layer: torch.nn.Linear, states: torch.Tensor) -> torch.Tensor:
    """What a layer gives for states [b, length, width], as a convolution with filters of one pixel.

    torch multiplies matrices with MKL, which uses half of what an AMD processor can do, and
    convolves with oneDNN, which uses all.
    """
    from torch.nn.functional import conv2d, linear

    if states.dim() != 3:
        return linear(states, layer.weight, layer.bias)
    image = states.unsqueeze(1).permute(0, 3, 1, 2)
    convolved = conv2d(image, layer.weight[:, :, None, None], layer.bias)
    return convolved.permute(0, 2, 3, 1).squeeze(1)


class MeanEncoder(TextEncoder):
    """Means of token vectors as the network gives them, not of vectors of unit length."""

    def vectors_of(self, states: torch.Tensor) -> torch.Tensor:
        return states

    def means(self, ids: Sequence[Sequence[int]]) -> npt.NDArray[np.float32]:
        """[n, width] of n token sequences."""
        means = np.empty((len(ids), self._network.config.hidden_size), dtype=np.float32)

        def keep(positions: list[int], vectors: torch.Tensor) -> None:
            means[positions] = vectors.mean(dim=1).cpu().numpy()

        self.encode(ids, keep)
        return means


def _batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Positions in order of length, in batches of at most `tokens` tokens with padding, or of one
    sequence where that is longer."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[position] > tokens:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def keep_layers(network: Any, layers: int) -> Any:
    """The network without the layers above `layers`; ConfigError where it has fewer."""
    import torch

    if hasattr(network, "decoder") and hasattr(network, "encoder"):
        network = network.encoder
    if hasattr(getattr(network, "encoder", None), "albert_layer_groups"):
        check_layers(layers, network.config.num_hidden_layers)
        network.encoder.config.num_hidden_layers = layers
        return network
    modules = dict(network.named_modules())
    for path in _LAYER_LISTS:
        if isinstance(layer_list := modules.get(path), torch.nn.ModuleList):
            check_layers(layers, len(layer_list))
            parent, _, last = path.rpartition(".")
            setattr(modules[parent], last, layer_list[:layers])
            return network
    raise ConfigError(
        f"metric.bertscore.model: the layers of {type(network).__name__} are not known"
    )
