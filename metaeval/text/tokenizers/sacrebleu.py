"""sacrebleu's tokenizers for languages that are written without spaces, or for all languages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

from metaeval.data.dataset import Absent
from metaeval.text.tokenizers.base import Tokenizer


class SacreBleuTokenizer(Tokenizer):
    """The tokens of a tokenizer of sacrebleu; case stays as it is."""

    needs_spaces = False
    module: ClassVar[str]
    kind: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()  # packages

    def missing(self) -> Absent | None:
        lacking = [name for name in self.needs if find_spec(name) is None]
        if not lacking:
            return None
        return Absent(
            "tokenizer",
            f"the tokenizer {self.signature.removeprefix('sacrebleu-')} needs "
            f"{' and '.join(lacking)}, which is not installed",
            "pip install 'sacrebleu[ja]'" if "MeCab" in lacking else "pip install sentencepiece",
        )

    @cached_property
    def _tokenizer(self) -> Any:
        module = import_module(f"sacrebleu.tokenizers.{self.module}")
        return getattr(module, self.kind)()

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        return [self._tokenizer(text.rstrip()).split() for text in texts]


class CharTokenizer(SacreBleuTokenizer):
    """Every character is a token."""

    signature = "sacrebleu-char"
    module, kind = "tokenizer_char", "TokenizerChar"


class ChineseTokenizer(SacreBleuTokenizer):
    """Every Chinese character is a token; other text is split as by 13a."""

    signature = "sacrebleu-zh"
    module, kind = "tokenizer_zh", "TokenizerZh"


class JapaneseTokenizer(SacreBleuTokenizer):
    """MeCab's words, with the IPA dictionary."""

    signature = "sacrebleu-ja-mecab"
    module, kind = "tokenizer_ja_mecab", "TokenizerJaMecab"
    needs = ("MeCab", "ipadic")


class FloresTokenizer(SacreBleuTokenizer):
    """Pieces of the SentencePiece model of FLORES-200, which sacrebleu downloads on first use."""

    signature = "sacrebleu-flores200"
    module, kind = "tokenizer_spm", "Flores200Tokenizer"
    needs = ("sentencepiece",)
