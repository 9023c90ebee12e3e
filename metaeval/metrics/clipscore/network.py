"""An open_clip model that turns captions and images into unit vectors.

Batches always have the same number of rows (the last one is filled up), and texts are taken by
their length: so a text or an image gets the same vector whatever else is in the run.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import (
    Rows,
    fill_rows,
    group_rows_by_length,
    in_batches,
    inference,
    resolve,
)
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.clipscore.weights import OPENAI, ClipWeights, tag_config
from metaeval.readers.checkpoints import (
    check_numbers,
    load_safetensors,
    load_torch_checkpoint,
    load_weights,
)
from metaeval.readers.files import one_line
from metaeval.runs.files import file_sha256
from metaeval.text.transformers import hub
from metaeval.weights import pretrained

if TYPE_CHECKING:
    import torch
    from PIL import Image


WORD = re.compile(r"[a-z0-9']+")


class WordTokenizer:
    """Lower-case words to numbers, for a CLIP with a vocabulary of its own.

    0 pads, 1 begins, 2 stands for every unknown word, 3 … are the vocabulary's words, and the
    last number ends a text: the highest, for open_clip takes the features at the highest number.
    """

    def __init__(self, words: Sequence[str], context_length: int) -> None:
        self.words, self.context_length = tuple(words), context_length
        self._number = {word: 3 + i for i, word in enumerate(self.words)}
        self.end = 3 + len(self.words)

    @property
    def vocab_size(self) -> int:
        return self.end + 1

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's words, without beginning and end."""
        return [self._number.get(word, 2) for word in WORD.findall(text.lower())]

    def __call__(self, texts: Sequence[str]) -> torch.Tensor:
        """int64 [n, context_length]; what does not fit is cut off before the end token."""
        import torch

        ids = torch.zeros((len(texts), self.context_length), dtype=torch.int64)
        for row, text in enumerate(texts):
            tokens = [1, *self.encode(text)[: self.context_length - 2], self.end]
            ids[row, : len(tokens)] = torch.tensor(tokens)
        return ids


def can_be_short(model: Any) -> bool:
    """Whether nothing behind the end token can change a text's features.

    True for CLIP's own text tower: each token sees only those before it, and the features are read
    off at the end token. Then the padding up to 77 tokens, most of the work, need not be computed.
    """
    return (
        hasattr(model, "token_embedding")
        and getattr(model, "text_pool_type", "") == "argmax"
        and getattr(model, "attn_mask", None) is not None
    )


def text_features(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """Features [n, d] of texts [n, length], not normalised, for a model that `can_be_short`."""
    import torch

    length = ids.shape[1]
    dtype = model.transformer.get_cast_dtype()
    x = model.token_embedding(ids).to(dtype) + model.positional_embedding[:length].to(dtype)
    x = model.transformer(x, attn_mask=model.attn_mask[:length, :length])
    x = model.ln_final(x)
    x = x[torch.arange(len(ids), device=ids.device), ids.argmax(dim=-1)]
    projection = model.text_projection
    if projection is None:
        return x
    return projection(x) if callable(projection) else x @ projection


Vectors = npt.NDArray[np.float32]

# The channels' means and standard deviations over OpenAI's training images.
_MEAN = np.array((0.48145466, 0.4578275, 0.40821073), np.float32)
_STD = np.array((0.26862954, 0.26130258, 0.27577711), np.float32)
_TEXT_TOKENS = {"cpu": 512, "cuda": 8192}
# texts between two writes to the cache: on a GPU many, because each length fills batches of its own
TEXT_CHUNK = {"cpu": 2048, "cuda": 32_768}
# what OpenAI's archives keep next to the weights
_NO_WEIGHTS = ("input_resolution", "context_length", "vocab_size", "attn_mask")
_IMAGES = {"cpu": 16, "cuda": 256}


def squared(image: Image.Image, side: int) -> npt.NDArray[np.uint8]:
    """An image as uint8 [side, side, 3]: shorter side to `side` (bicubic), then the middle."""
    from PIL import Image

    rgb = image.convert("RGB")
    width, height = rgb.size
    scale = side / min(width, height)
    size = (max(side, round(width * scale)), max(side, round(height * scale)))
    rgb = rgb.resize(size, Image.Resampling.BICUBIC)
    left, top = (size[0] - side) // 2, (size[1] - side) // 2
    return np.asarray(rgb.crop((left, top, left + side, top + side)), dtype=np.uint8)


def normalise_pixels(pixels: npt.NDArray[np.uint8]) -> torch.Tensor:
    """uint8 [n, h, w, 3] as float32 [n, 3, h, w] around zero."""
    import torch

    scaled = (pixels.astype(np.float32) / 255 - _MEAN) / _STD
    return torch.from_numpy(np.ascontiguousarray(scaled.transpose(0, 3, 1, 2)))


class Clip:
    """Unit vectors of captions and images, float32 [n, d]."""

    def __init__(self, weights: ClipWeights, device: str = "auto", dtype: str = "float32") -> None:
        import torch

        self.device: torch.device = resolve(device)
        self._dtype: torch.dtype = getattr(torch, dtype)
        if weights.tag == "scenes" and weights.path is not None:
            self._model, self.tokenizer, self.preprocess = load_shipped(weights)
        else:
            self._model, self.tokenizer, self.preprocess = _open_clip(weights)
        self._model.eval().to(device=self.device, dtype=self._dtype)
        self._short = can_be_short(self._model)
        self._tokens, self.n_images = _TEXT_TOKENS[self.device.type], _IMAGES[self.device.type]

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts; those that are `too_long` are cut before their end token."""
        import torch

        ids = self.tokenizer(list(texts))
        lengths = (ids != 0).sum(dim=1).tolist() if self._short else len(ids) * [ids.shape[1]]
        encode: Callable[[Any], Any] = (
            (lambda batch: text_features(self._model, batch))
            if self._short
            else self._model.encode_text
        )
        out: Vectors | None = None
        for length, rows in group_rows_by_length(lengths):

            def work(start: int, stop: int, size: int, rows: Rows = rows, n: int = length) -> None:
                nonlocal out
                part = rows[start:stop]
                filled = torch.from_numpy(fill_rows(part, size))
                vectors = self._unit(encode, ids[filled, :n].to(self.device))[: len(part)]
                if out is None:
                    out = np.empty((len(texts), vectors.shape[1]), np.float32)
                out[part] = vectors

            size = max(1, self._tokens // length)
            if (fitted := in_batches(len(rows), size, work)) < size:
                self._tokens = fitted * length
        return np.empty((0, 0), np.float32) if out is None else out

    def images(self, pixels: torch.Tensor) -> Vectors:
        """Vectors of preprocessed images [n, 3, h, w]."""
        import torch

        out: list[Vectors] = []

        def work(start: int, stop: int, size: int) -> None:
            part = pixels[start:stop]
            missing = size - len(part)
            batch = torch.cat([part, part[:1].expand(missing, -1, -1, -1)]) if missing else part
            batch = batch.to(self.device, self._dtype, non_blocking=True)
            out.append(self._unit(self._model.encode_image, batch)[: len(part)])

        self.n_images = in_batches(len(pixels), self.n_images, work)
        return np.concatenate(out)

    def _unit(self, encode: Callable[[Any], Any], batch: torch.Tensor) -> Vectors:
        with inference(self.device):
            raw = encode(batch).float()
            return (raw / raw.norm(dim=-1, keepdim=True)).cpu().numpy()


def tokenizer_of(weights: ClipWeights) -> Any:
    """The tokeniser of a model, without its network."""
    if weights.tag == "scenes" and weights.path is not None:
        facts = pretrained.read_card(weights.path.parent)
        return WordTokenizer(facts["words"], facts["model_cfg"]["text_cfg"]["context_length"])
    try:
        with hub.unplugged():  # the vocabularies of some models are on the hub only
            return import_module("open_clip").get_tokenizer(weights.model)
    except OSError:
        raise InputError(f"the vocabulary of {weights.model} is not installed") from None


def too_long(tokenizer: Any, text: str) -> bool:
    """Whether a text has more tokens, beginning and end included, than the model reads."""
    if hasattr(tokenizer, "encode"):
        length = len(tokenizer.encode(text)) + 2
    else:
        length = len(tokenizer.tokenizer(text)["input_ids"])  # a Hugging Face tokeniser inside
    return bool(length > tokenizer.context_length)


def load_shipped(weights: ClipWeights) -> tuple[Any, Any, Callable[[Any], Any]]:
    """The small CLIP of the scenes: model, tokeniser, preprocessing."""
    assert weights.path is not None
    facts = pretrained.read_card(weights.path.parent)
    configuration = facts["model_cfg"]
    model = import_module("open_clip.model").CLIP(**configuration)
    state = load_safetensors(weights.path)
    if file_sha256(weights.path) != facts.get("weights_sha256"):
        raise InputError("is not the file that its card.json describes", file=weights.path)
    load_weights(model, {name: _full(value) for name, value in state.items()}, weights.path)
    side = int(configuration["vision_cfg"]["image_size"])
    return (
        model,
        tokenizer_of(weights),
        lambda image: normalise_pixels(squared(image, side)[None])[0],
    )


def _full(value: torch.Tensor) -> torch.Tensor:
    return value.float() if value.is_floating_point() else value


def _open_clip(weights: ClipWeights) -> tuple[Any, Any, Callable[[Any], Any]]:
    """A model of open_clip, its tokeniser and its preprocessing; nothing is downloaded."""
    import torch

    open_clip = import_module("open_clip")
    transform = import_module("open_clip.transform")
    if open_clip.get_model_config(weights.model) is None:
        raise ConfigError(f"unknown model '{weights.model}' of open_clip")
    known = tag_config(weights.model, weights.tag) if weights.known else {}
    with torch.random.fork_rng(devices=[]), _without_warnings():
        torch.manual_seed(0)  # of the random weights
        model = open_clip.create_model(
            weights.model,
            load_weights=False,
            pretrained_text=False,
            force_quick_gelu=bool(known.get("quick_gelu")) or weights.tag == "openai",
        )
    if weights.path is not None:
        _load(model, weights)
    settings = transform.merge_preprocess_dict(model.visual.preprocess_cfg, known)
    preprocess = transform.image_transform_v2(transform.PreprocessCfg(**settings), is_train=False)
    return model, tokenizer_of(weights), preprocess


@contextmanager
def _without_warnings() -> Iterator[None]:
    """open_clip warns of a model without weights while we have yet to load them."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def _load(model: Any, weights: ClipWeights) -> None:
    """Put the tensors of a file into a model of open_clip; InputError where they do not fit.

    Files are opened by `metaeval.readers` alone, whatever their format; what open_clip does to the
    weights of older or other packages (names, sizes of embeddings) it does to the tensors.
    """
    path = weights.path
    assert path is not None
    state = _tensors(path)
    factory: Any = import_module("open_clip.factory")
    # open_clip's own function opens the file, too: here it is handed what was read
    reader, factory.load_state_dict = factory.load_state_dict, lambda *_, **__: state
    try:
        factory.load_checkpoint(model, path.with_suffix(".pt"))
    except (RuntimeError, KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        first = one_line(str(error).strip().splitlines()[0] if str(error) else type(error).__name__)
        raise InputError(f"are not weights of {weights.model} ({first})", file=path) from None
    finally:
        factory.load_state_dict = reader


def _tensors(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a file of weights by name, in float32, all of them finite."""
    state: Any
    if path.suffix == ".safetensors":
        state = load_safetensors(path)
    else:
        state = load_torch_checkpoint(path, OPENAI.values())
        if isinstance(state, Mapping) and "state_dict" in state:
            state = state["state_dict"]
    if not isinstance(state, Mapping) or not state:
        raise InputError("holds no weights by name", file=path)
    names = {name: str(name).removeprefix("module.") for name in state}
    named = {name: state[key] for key, name in names.items() if name not in _NO_WEIGHTS}
    for name, value in named.items():
        check_numbers(name, value, path)
    return {name: _full(value) for name, value in named.items()}
