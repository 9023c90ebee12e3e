"""A transformer that turns sentences into token vectors, in batches without padding.

On a processor, a BERT or RoBERTa in float32 goes through `fast_bert`. All else runs in its own
module, where every batch holds sentences of one length, and always the same number of them for that
length (the last one is filled up with repetitions). So no padding is computed, and each matrix
product has a shape that depends on the sentence alone: a sentence gets the same vectors, to the
last bit, whatever else is encoded with it. Matrix libraries choose their kernels by shape, which is
why a smaller last batch would change the sixth decimal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from metaeval.compute.batching import Rows, fill_rows, group_rows_by_length
from metaeval.compute.device import check_dtype, in_batches, resolve
from metaeval.errors import ConfigError
from metaeval.progress import progress_bar
from metaeval.text.transformers.fast_bert import FastBert, fast_version
from metaeval.text.transformers.locate import TextModel, check_folder, check_layers, is_packaged
from metaeval.text.transformers.packaged import read_minilm

if TYPE_CHECKING:
    import torch

# Tokens per batch: enough for the matrix products, little enough that filling up costs nothing.
_TOKENS, _MORE = {"cpu": 512, "cuda": 32_768}, 4
# Where architectures keep their layers, as bert-score cuts them.
_LAYER_LISTS = ("encoder.layer", "transformer.layer", "encoder.block", "encoder.layers", "layer")


class TextEncoder:
    """Token vectors of layer `layer`, of unit length, float32.

    Nothing but the model's own folder is looked at, least of all the network; layers above `layer`
    (counted from 1) are not computed.

    Class attributes
    ----------------
    uses_fast_bert
        Whether `fast_bert` may take the network's place, which is then dropped.
    common_lengths
        Those that most sentences have, in tokens: their batches are larger, and so faster.
    """

    uses_fast_bert: ClassVar[bool] = True
    common_lengths: ClassVar[Sequence[int]] = range(11, 17)

    def __init__(
        self, model: TextModel, layer: int, device: str = "auto", dtype: str = "float32"
    ) -> None:
        self.device: torch.device = resolve(device)
        self.tokenizer: Any
        self.max_tokens: int
        self._network: Any = None
        self._fast: FastBert | None = None
        self._tokens = _TOKENS[self.device.type]
        plain = (
            self.uses_fast_bert and self.device.type == "cpu" and check_dtype(dtype) == "float32"
        )
        if plain and is_packaged(model):
            self.tokenizer, self._fast, self.max_tokens = read_minilm(model.folder, layer)
        else:
            self._load(model, layer, dtype)
            if plain and (fast := fast_version(self._network, self.max_tokens)) is not None:
                self._fast, self._network = fast, None  # not twice the weights in memory
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
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(model.folder, **local, **spaced)
        kind = transformers.T5EncoderModel if config.model_type == "t5" else transformers.AutoModel
        network = kind.from_pretrained(model.folder, dtype=torch.float32, **local)
        self._network = keep_layers(network, layer).eval()
        self._network.to(device=self.device, dtype=getattr(torch, check_dtype(dtype)))
        positions = getattr(config, "max_position_embeddings", None) or 10**6
        if config.model_type in ("roberta", "xlm-roberta", "camembert"):
            positions -= 2  # their position numbers begin after the padding's
        self.max_tokens = int(min(self.tokenizer.model_max_length, positions))

    def tokenize(self, sentences: Sequence[str]) -> tuple[list[list[int]], int]:
        """Token ids with the special ones, and how many sentences were cut at `max_tokens`."""
        texts = [sentence.strip() for sentence in sentences]
        if not texts:
            return [], 0
        ids: list[list[int]] = self.tokenizer(
            texts, truncation=True, max_length=self.max_tokens,
            return_attention_mask=False, return_token_type_ids=False,
        )["input_ids"]  # fmt: skip
        full = [j for j, tokens in enumerate(ids) if len(tokens) == self.max_tokens]
        whole = self.tokenizer([texts[j] for j in full])["input_ids"] if full else []
        return ids, sum(len(tokens) > self.max_tokens for tokens in whole)

    def encode(
        self,
        ids: Sequence[Sequence[int]],
        keep: Callable[[list[int], torch.Tensor], None],
        *,
        alone: bool = False,
    ) -> None:
        """Encode token sequences; `keep(positions, vectors [b, length, width])`, batch by batch.

        With `alone` each sequence has the vectors, to the last bit, of a call with it alone.
        """
        with progress_bar(total=len(ids), desc="encoding", unit=" sentences") as bar:

            def kept(part: list[int], vectors: torch.Tensor) -> None:
                keep(part, vectors)
                bar.update(len(part))

            if self._fast is None:
                self._encode(ids, kept)
            else:
                self._fast.encode(ids, kept, alone=alone)

    def _encode(
        self, ids: Sequence[Sequence[int]], keep: Callable[[list[int], torch.Tensor], None]
    ) -> None:
        """Batches of one length through the network's own module."""
        import torch

        for length, positions in group_rows_by_length([len(tokens) for tokens in ids]):

            def work(start: int, stop: int, size: int, positions: Rows = positions) -> None:
                part = positions[start:stop]
                rows = [ids[p] for p in fill_rows(part, size).tolist()]
                batch = torch.tensor(rows, device=self.device)
                keep(part.tolist(), self._forward(batch)[: len(part)])

            more = _MORE if length in self.common_lengths else 1
            rows = max(1, more * self._tokens // length)
            if (fitted := in_batches(len(positions), rows, work)) < rows:
                self._tokens = max(1, fitted * length // more)

    def _forward(self, ids: torch.Tensor) -> torch.Tensor:
        import torch

        with torch.inference_mode():
            states = self._network(ids, attention_mask=torch.ones_like(ids))[0].float()
            return self.vectors_of(states)

    def vectors_of(self, states: torch.Tensor) -> torch.Tensor:
        """What is kept of the layer's states [b, length, width]."""
        vectors: torch.Tensor = states / states.norm(dim=-1, keepdim=True)
        return vectors


def keep_layers(network: Any, layers: int) -> Any:
    """The network without the layers above `layers`; ConfigError where there are not so many."""
    import torch

    if hasattr(network, "decoder") and hasattr(network, "encoder"):
        network = network.encoder
    if hasattr(getattr(network, "encoder", None), "albert_layer_groups"):
        check_layers(layers, network.config.num_hidden_layers)
        network.encoder.config.num_hidden_layers = layers
        return network
    for path in _LAYER_LISTS:
        *parents, last = path.split(".")
        holder = network
        for name in parents:
            holder = getattr(holder, name, None)
        modules = getattr(holder, last, None)
        if isinstance(modules, torch.nn.ModuleList):
            check_layers(layers, len(modules))
            setattr(holder, last, modules[:layers])
            return network
    raise ConfigError(
        f"metric.bertscore.model: the layers of {type(network).__name__} are not known"
    )
