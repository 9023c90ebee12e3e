"""Tokenisers: text in, lists of tokens out; one shared instance per name, with a memory.

BLEU, ROUGE-L, CIDEr and METEOR all see the same tokens of the same sentences, so a sentence is
tokenised once per process: `get("ptb")` returns the same object to every metric.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

from metaeval.data.dataset import Absent
from metaeval.errors import ConfigError

# module and class
_OWN = {
    "ptb": ("ptb", "PtbTokenizer"),
    "whitespace": ("base", "WhitespaceTokenizer"),
}
# signature, module and class in sacrebleu, and the packages that are needed
_SACREBLEU: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    # every character is a token
    "char": ("sacrebleu-char", "tokenizer_char", "TokenizerChar", ()),
    # every Chinese character is a token; other text is split as by 13a
    "zh": ("sacrebleu-zh", "tokenizer_zh", "TokenizerZh", ()),
    # MeCab's words, with the IPA dictionary
    "ja-mecab": (
        *("sacrebleu-ja-mecab", "tokenizer_ja_mecab", "TokenizerJaMecab"),
        ("MeCab", "ipadic"),
    ),
    # pieces of the SentencePiece model of FLORES-200, which sacrebleu downloads on first use
    "flores": ("sacrebleu-flores200", "tokenizer_spm", "Flores200Tokenizer", ("sentencepiece",)),
}

_shared: list[Tokenizer] = []  # those that `get` has made


class Tokenizer(ABC):
    """Splits texts into tokens; remembers what it has seen."""

    name: str  # by which `get` makes it
    signature: str
    needs_spaces: ClassVar[bool] = True  # between words, to find them

    def __init__(self) -> None:
        self._memory: dict[str, list[str]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled, a tokeniser is its name: in another process it is that process's shared one."""
        return get, (self.name,)

    def missing(self) -> Absent | None:
        """What keeps the tokeniser from running here (a package), or `None`."""
        return None

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        """One list of tokens per text, in order. Do not change the lists: they are shared."""
        new = [t for t in dict.fromkeys(texts) if t not in self._memory]
        if new:
            self._memory.update(zip(new, self.tokenize(new), strict=True))
        return [self._memory[t] for t in texts]

    def of_groups(self, groups: Sequence[Sequence[str]]) -> list[list[list[str]]]:
        """The tokens of the texts of each group, all of which are new to one call at most."""
        self([text for group in groups for text in group])
        return [self(group) for group in groups]

    @abstractmethod
    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """The actual work, for distinct texts not seen before."""


class WhitespaceTokenizer(Tokenizer):
    """`str.split()` and nothing else: for text that is tokenised already."""

    signature = "whitespace"

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        return [text.split() for text in texts]


@cache
def get(name: str) -> Tokenizer:
    """The tokeniser called "ptb" or "whitespace", or one of sacrebleu's: "char", "zh",
    "ja-mecab", "flores".

    Raises ConfigError for any other name.
    """
    if name not in (*_OWN, *_SACREBLEU):
        known = ", ".join((*_OWN, *_SACREBLEU))
        raise ConfigError(f"unknown tokenizer '{name}'; choose from {known}")
    tokenizer: Tokenizer
    if name in _SACREBLEU:
        tokenizer = SacreBleuTokenizer(*_SACREBLEU[name])
    else:
        module, kind = _OWN[name]
        tokenizer = getattr(import_module(f"metaeval.text.tokenizers.{module}"), kind)()
    tokenizer.name = name
    _shared.append(tokenizer)
    return tokenizer


def forget_texts(more_than: int = 0) -> None:
    """Empty the memories of the shared tokenisers that remember more texts than this."""
    for tokenizer in _shared:
        if len(tokenizer._memory) > more_than:
            tokenizer._memory.clear()


def joined_tokens(tokenizer: Tokenizer | None, texts: Sequence[str]) -> list[str]:
    """The tokens of each text, joined by spaces; without a tokeniser the texts as they are."""
    if tokenizer is None:
        return list(texts)
    return [" ".join(tokens) for tokens in tokenizer(texts)]


class SacreBleuTokenizer(Tokenizer):
    """The tokens of a tokenizer of sacrebleu; case stays as it is."""

    needs_spaces = False

    def __init__(self, signature: str, module: str, kind: str, needs: Sequence[str]) -> None:
        super().__init__()
        self.signature, self._module, self._kind, self._needs = signature, module, kind, needs

    def missing(self) -> Absent | None:
        lacking = [name for name in self._needs if find_spec(name) is None]
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
        return getattr(import_module(f"sacrebleu.tokenizers.{self._module}"), self._kind)()

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        return [self._tokenizer(text.rstrip()).split() for text in texts]
