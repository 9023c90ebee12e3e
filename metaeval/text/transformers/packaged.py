"""The packaged MiniLM, read without transformers, whose models take three seconds to import.

Its weights are known (`locate.MINILM_SHA256`), and so is all there is to know of its folder; any
other model goes through transformers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from metaeval.readers.checkpoints import load_safetensors
from metaeval.text.transformers.fast_bert import FastBert
from metaeval.text.transformers.locate import check_layers


class WordPieces:
    """A tokenizer that answers as transformers' does, as far as it is asked here."""

    def __init__(self, folder: Path) -> None:
        options = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        self._pieces: Any = import_module("tokenizers").Tokenizer.from_file(
            str(folder / "tokenizer.json")
        )
        self._pieces.no_padding()
        self.model_max_length = int(options["model_max_length"])
        self.cls_token_id: int = self._pieces.token_to_id(options["cls_token"])
        self.sep_token_id: int = self._pieces.token_to_id(options["sep_token"])

    def __call__(
        self, texts: str | Sequence[str], max_length: int | None = None, **_: bool
    ) -> dict[str, Any]:
        """{"input_ids": …} of one text or of several, with the special tokens."""
        if max_length is None:
            self._pieces.no_truncation()
        else:
            self._pieces.enable_truncation(max_length)
        if isinstance(texts, str):
            return {"input_ids": self._pieces.encode(texts).ids}
        return {"input_ids": [each.ids for each in self._pieces.encode_batch(list(texts))]}

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some tokens, special ones too."""
        text: str = self._pieces.decode(list(ids), skip_special_tokens=False)
        return text

    def get_vocab(self) -> dict[str, int]:
        """Token → id."""
        vocabulary: dict[str, int] = self._pieces.get_vocab()
        return vocabulary


def read_minilm(folder: Path, layers: int) -> tuple[WordPieces, FastBert, int]:
    """Its tokenizer, its first layers in float32, and how many tokens a sentence may have.

    ConfigError where there are not so many layers.
    """
    config = SimpleNamespace(**json.loads((folder / "config.json").read_text(encoding="utf-8")))
    check_layers(layers, config.num_hidden_layers)
    tokenizer = WordPieces(folder)
    tensors = {
        name: tensor
        for name, tensor in load_safetensors(folder / "model.safetensors").items()
        if not name.startswith("encoder.layer.") or int(name.split(".")[2]) < layers
    }
    longest = min(tokenizer.model_max_length, int(config.max_position_embeddings))
    return tokenizer, FastBert(config, tensors, longest), longest
