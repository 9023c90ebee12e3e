"""BERTScore (Zhang et al., 2020), with every distinct sentence encoded once.

The numbers are bert-score's (`BERTScorer`, version 0.3.13, to 1e-5); how they are computed is not:
references, Human and Random captions of a run share most sentences, so token vectors of the
dataset's own sentences are computed once and kept (`metaeval.metrics.bertscore.sentences`); those
of any other caption are kept as long as its batch is scored.

BERTScore with another model is another metric. Only with roberta-large, bert-score's default for
English and the one of the papers, is the column called "BERTScore"; with any other model the
model's name is part of it: "BERTScore (MiniLM)".

Sentence-BERT similarity (Reimers and Gurevych, 2019): cosine of mean-pooled sentence vectors.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import load_once, missing_packages, precision_of, truthy
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.base import CUT, Metric, ReferenceScorer, Scores, best_of_groups
from metaeval.metrics.bertscore.sentences import EncodedSentences, count_cut
from metaeval.options import DataType, Device, Positive, PositiveInt, checked
from metaeval.readers.files import read_text, user_path
from metaeval.readers.tables import read_csv, read_number
from metaeval.runs.files import file_sha256
from metaeval.runs.records import ScoreColumn, TrainingFacts
from metaeval.runs.store import Store, content_digest
from metaeval.text.transformers import hub
from metaeval.text.transformers.encoder import MeanEncoder, TextEncoder
from metaeval.text.transformers.hub import TextModel

_DIGITS = 4  # of a cosine in an explanation, which has one for each pair of tokens


def baseline_f1(table: bool | str, model: str, layer: int) -> float:
    """The baseline's F1 of a layer of a model.

    `table` is `True` for bert-score's own table of an English model, or the path of a table like
    it (comma-separated columns LAYER, P, R, F). Raises ConfigError if the table is missing,
    InputError if the table has no row for the layer.
    """
    if isinstance(table, str):
        path = user_path(table)
    else:
        spec = find_spec("bert_score")
        root = Path((spec.submodule_search_locations or ["."])[0] if spec else ".")
        path = root / "rescale_baseline" / "en" / f"{model.split('/')[-1]}.tsv"
    if not path.is_file():
        raise ConfigError(
            f"metric.bertscore.rescale: no baseline for {model} ({path}); give the file "
            "of one, or set rescale=false"
        )
    try:
        rows = {row["LAYER"]: row for _, row in read_csv(read_text(path))}
        where = f"layer {layer}"
        return read_number(rows[str(layer)]["F"], path, where, "F", low=-1, high=1)
    except KeyError:
        raise InputError(
            "no baseline for this layer", file=path, record=f"layer {layer}", field="F"
        ) from None


class BertScore(Metric):
    """BERTScore's F1 of each caption, the highest over the references of its image.

    An empty caption is 0, and so is any caption against an empty reference (before rescaling), as
    in bert-score. Not a number only where the image has no reference.

    Parameters
    ----------
    model
        "auto", the id of a Hugging Face model, or a folder: see `hub.locate_model`.
    layer
        The layer whose vectors are compared; `None`: bert-score's choice for the model.
    idf
        Weight tokens by their inverse document frequency in all references of the dataset.
    rescale
        Rescale with bert-score's baseline for the model, or with that of the given TSV file.
    device, dtype
        "auto", "cpu", "cuda", "cuda:1"; "float32", "bfloat16", "float16".
    memory_gib
        Token vectors kept in memory between batches; sentences beyond are encoded again.
    download, offline
        Whether a model that is not on this machine may be fetched from the Hugging Face hub;
        `offline` (and HF_HUB_OFFLINE=1) forbids it.
    cache
        The cache folder, where `doctor --install bertscore` puts roberta-large.
    """

    name = "bertscore"
    runs_network = True

    @checked
    def __init__(
        self,
        model: str = "auto",
        layer: PositiveInt | None = None,
        idf: bool = False,
        rescale: bool | str = False,
        device: Device = "auto",
        dtype: DataType = "float32",
        memory_gib: Positive = 1.0,
        download: bool = False,
        offline: bool | str | int = False,
        cache: str | Path | None = None,
    ) -> None:
        self.model, self.layer, self.idf, self.rescale = model, layer, idf, rescale
        if model == "auto":  # models of English
            self.languages = frozenset({"en"})
        self.device, self.dtype = device, dtype
        self.memory_gib = memory_gib
        self.download, self.offline = download, truthy(offline)
        self.cache = user_path(cache) if cache is not None else None

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        return (self.column_of(hub.ROBERTA if self.model == "auto" else self.model),)

    def fetch(self, dataset: CaptionDataset) -> None:
        if (
            hub.may_download(self.download, self.offline)
            and self._missing_packages() is None
            and isinstance(hub.locate_model(self.model, self.cache), Absent)
        ):
            hub.fetch_model(hub.ROBERTA if self.model == "auto" else self.model)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> BertScorer | Absent:
        if (absent := self.missing_part(dataset) or self._missing_packages()) is not None:
            return absent
        model = hub.locate_model(self.model, self.cache)
        if isinstance(model, Absent):
            return hub.explain_absence(model, self.download, self.offline)
        weights = file_sha256(model.weights, store)
        if hub.is_packaged(model) and weights != hub.MINILM_SHA256:
            problem = f"these are not the weights of {hub.MINILM}: SHA-256 {weights}"
            raise InputError(problem, file=model.weights)
        layer = self.layer or hub.layer_of(model.name)
        baseline = baseline_f1(self.rescale, model.name, layer) if self.rescale else None
        references = [text for texts in dataset.corpus() for text in texts]
        settings = {
            "model": model.name,
            "weights": weights[:12],
            "layer": layer,
            "idf": content_digest(references).hex()[:12] if self.idf else "none",
            "baseline": "none" if baseline is None else f"{baseline:.6g}",
            "f": "max-over-refs",
            "dtype": self.dtype,
            "transformers": version("transformers"),
            "v": 2,
        }
        return BertScorer(self, settings, dataset, model, layer, baseline)

    def column_of(self, model: str) -> ScoreColumn:
        """ "BERTScore" for roberta-large, and "BERTScore (NAME)" for any other model."""
        bounds = (-np.inf if self.rescale else -1.0, 1.0)
        precision = precision_of(self.dtype)
        short = hub.short_name(model)
        if short == hub.ROBERTA:
            return ScoreColumn("BERTScore", bounds=bounds, precision=precision)
        label = "MiniLM" if short == hub.MINILM else short
        name = f"BERTScore ({label})"
        return ScoreColumn(
            name, bounds=bounds, variant_of="BERTScore", model=label, precision=precision
        )

    @staticmethod
    def _missing_packages() -> Absent | None:
        return missing_packages("bertscore", "torch", "transformers", "bert_score")


class TokenMetric(Metric):
    """A metric over the token vectors of BERTScore, whose options `tokens` are."""

    runs_network = True
    title: ClassVar[str]
    scorer_class: ClassVar[type[TokenScorer]]
    tokens: BertScore

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        return (self.column_of(self.tokens.columns[0]),)

    def column_of(self, of_tokens: ScoreColumn) -> ScoreColumn:
        """The column, which always carries the model's name, from that of the tokens."""
        label = of_tokens.model or "roberta-large"
        return ScoreColumn(
            f"{self.title} ({label})",
            bounds=(-1.0, 1.0),
            variant_of=self.title,
            model=label,
            precision=of_tokens.precision,
        )

    def fetch(self, dataset: CaptionDataset) -> None:
        self.tokens.fetch(dataset)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> TokenScorer | Absent:
        bound = self.tokens.bind(dataset, store)
        return bound if isinstance(bound, Absent) else self.scorer_class(self, dataset, bound)


class EncodingScorer(ReferenceScorer):
    """A scorer whose network reads captions; counts those that are longer than it reads."""

    counted = MappingProxyType({CUT: "captions"})

    @property
    @abstractmethod
    def encoder(self) -> TextEncoder:
        """The network that reads captions."""

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        has_score = [bool(self.dataset.references[i]) for i in image_index.tolist()]
        return count_cut(self.encoder, captions, has_score)


class BertScorer(EncodingScorer):
    """BERTScore against the references of a dataset, by a layer of a model.

    `baseline` is the F1 that becomes 0 by rescaling; `None`: no rescaling.
    """

    metric: BertScore
    usual_ms = 1.6

    def __init__(
        self,
        metric: BertScore,
        settings: Mapping[str, object],
        dataset: CaptionDataset,
        model: TextModel,
        layer: int,
        baseline: float | None,
    ) -> None:
        super().__init__(metric, settings, dataset, [metric.column_of(model.name)])
        self.layer, self.model, self._baseline = layer, model, baseline
        if models := hub.known_caption_models(model.name):
            self.training = TrainingFacts(models)

    @cached_property
    def encoder(self) -> TextEncoder:
        """The network, loaded on first use."""
        options = (self.model, self.layer, self.metric.device, self.metric.dtype)
        key = ("bertscore", self.model.folder, *options[1:])
        return load_once(key, lambda: TextEncoder(*options))

    def prepare(self) -> None:
        references = (text for texts in self.dataset.references for text in texts)
        self._sentences = self._encoded()
        self._kept = {*references, *self.dataset.human}  # these come again, of other images

    def _encoded(self) -> EncodedSentences:
        """The sentences that this network's scorers of several runs share; with idf its own.

        The same captions come again with other references (PASCAL-50S draws them), and the same
        references with other captions.
        """
        memory = self.metric.memory_gib * 2**30
        if self.metric.idf:
            return EncodedSentences(self.encoder, memory, self._corpus())
        key = ("encoded sentences", self.encoder, memory)
        return load_once(key, lambda: EncodedSentences(self.encoder, memory), by_runs=True)

    def _corpus(self) -> list[str]:
        """The sentences over which the idf of a token is counted."""
        return [text for texts in self.dataset.corpus() for text in texts]

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        groups = [self.dataset.references[i] for i in image_index.tolist()]
        self._sentences.add([text for group in groups for text in group])
        self._sentences.add(captions)
        f1 = self._sentences.scores(_pairs(captions, groups))[:, 2]
        self._sentences.trim(but=self._kept)
        counts = np.array([len(group) for group in groups], dtype=np.intp)
        return self._rescaled(best_of_groups(f1, counts)[:, None])

    def explain_all(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> list[Mapping[str, object] | None]:
        """Which token of the caption met which token of each reference, and how alike they are."""
        groups = [self.dataset.references[i] for i in image_index.tolist()]
        # sentences of their own: what others have encoded before does not show
        corpus = self._corpus() if self.metric.idf else None
        sentences = EncodedSentences(self.encoder, np.inf, corpus)
        sentences.add([text for group in groups for text in group])
        sentences.add(captions, alone=True)
        scores = iter(sentences.scores(_pairs(captions, groups)))
        return [
            self._payload(sentences, caption, group, np.array([next(scores) for _ in group]))
            if group
            else None
            for caption, group in zip(captions, groups, strict=True)
        ]

    def _payload(
        self, sentences: EncodedSentences, caption: str, references: Sequence[str], scores: Scores
    ) -> dict[str, object]:
        """Of one caption, with its precision, recall and F1 [r, 3] by each of r references."""
        value = float(self._rescaled(scores[:, 2].max()))
        words, weights, vectors = zip(
            *(sentences.tokens(text) for text in (caption, *references)), strict=True
        )
        return {
            "kind": "alignment",
            "words": words[0],
            "weights": weights[0].tolist(),
            "references": [
                {
                    "words": words[k],
                    "weights": weights[k].tolist(),
                    "similarity": np.round(
                        (vectors[0] @ vectors[k].T).astype(np.float64), _DIGITS
                    ).tolist(),
                    "precision": precision,
                    "recall": recall,
                    "f1": f1,
                }
                for k, (precision, recall, f1) in enumerate(scores.tolist(), start=1)
            ],
            "best": int(np.argmax(scores[:, 2])),
            "values": {self.columns[0].name: value},
        }

    def _rescaled(self, scores: Scores) -> Scores:
        return (
            scores if self._baseline is None else (scores - self._baseline) / (1 - self._baseline)
        )

    def close(self) -> None:
        self.__dict__.pop("encoder", None)
        self.__dict__.pop("_sentences", None)


def _pairs(captions: Sequence[str], groups: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Each caption with each of its references."""
    return [(text, r) for text, group in zip(captions, groups, strict=True) for r in group]


class TokenScorer(EncodingScorer):
    """A scorer over the token vectors of BERTScore.

    `token_settings` are BERTScore's settings that are in its signature, `form` are its own.
    """

    metric: TokenMetric
    token_settings: ClassVar[tuple[str, ...]]
    form: ClassVar[Mapping[str, object]]

    def __init__(self, metric: TokenMetric, dataset: CaptionDataset, tokens: BertScorer) -> None:
        settings = {key: tokens.settings[key] for key in self.token_settings} | dict(self.form)
        super().__init__(metric, settings, dataset, [metric.column_of(tokens.columns[0])])
        self.training, self._tokens = tokens.training, tokens

    @property
    def encoder(self) -> TextEncoder:
        """The network that reads captions."""
        return self._tokens.encoder


Floats = npt.NDArray[np.float64]


class SentenceScorer(TokenScorer):
    """Sentence similarity against the references of a dataset."""

    metric: SentenceSimilarity
    usual_ms = 1.0
    token_settings = ("model", "weights", "layer", "dtype", "transformers")
    form = MappingProxyType({"pooling": "mean", "refs": "max", "v": 1})

    @cached_property
    def encoder(self) -> MeanEncoder:
        options = self.metric.tokens
        return MeanEncoder(self._tokens.model, self._tokens.layer, options.device, options.dtype)

    def prepare(self) -> None:
        self._vectors: dict[str, Floats] = {}
        self._add([text for texts in self.dataset.references for text in texts])

    def _add(self, texts: Sequence[str]) -> None:
        """Encode those of the texts that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        means = self.encoder.means(self.encoder.tokenize(new)[0])
        unit = means / np.linalg.norm(means, axis=1, keepdims=True)
        self._vectors.update(zip(new, unit.astype(np.float64), strict=True))

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        self._add(captions)
        return np.clip(super().score(captions, image_index), -1, 1)

    def score_caption(self, caption: str, image_index: int) -> float:
        vectors = [self._vectors[text] for text in self.dataset.references[image_index]]
        return (np.stack(vectors) @ self._vectors[caption]).max() if vectors else np.nan

    def close(self) -> None:
        self._vectors = {}
        self._tokens.close()
        self.__dict__.pop("encoder", None)


class SentenceSimilarity(TokenMetric):
    """Cosine of two sentence vectors, each the mean of the last layer's token vectors.

    The score is the highest over the references, in [-1, 1].

    Parameters
    ----------
    layer
        The number of the model's last layer: 6 for all-MiniLM-L6-v2.
    model, device, download, offline, cache
        As of `BertScore`; "auto" is all-MiniLM-L6-v2, which comes with metaeval.
    """

    name = "sentence_similarity"
    title = "Sentence similarity"
    scorer_class = SentenceScorer

    def __init__(
        self,
        model: str = "auto",
        layer: int = 6,
        device: str = "auto",
        download: bool = False,
        offline: bool | str | int = False,
        cache: str | None = None,
    ) -> None:
        self.tokens = BertScore(
            model=hub.MINILM if model == "auto" else model,
            layer=layer,
            device=device,
            download=download,
            offline=offline,
            cache=cache,
        )
