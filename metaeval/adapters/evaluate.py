"""BLEU, CIDEr and SPIDEr as modules of Hugging Face evaluate.

    from metaeval.adapters.evaluate import CiderModule
    CiderModule().compute(predictions=["a dog runs"], references=[["a dog is running"]])

`references` are lists. The results are the score of all captions together, under the metric's name,
and `scores`, the captions' own. Options go into `compute`: `idf="coco_val2017"`, `max_n=2`.
"""

from __future__ import annotations

from typing import Any

import datasets
import evaluate

from metaeval.adapters import corpus
from metaeval.adapters.corpus import CorpusScore

CITATIONS = {
    "bleu": "Papineni et al. (2002): BLEU. ACL.",
    "cider": "Vedantam et al. (2015): CIDEr. CVPR.",
    "spider": "Liu et al. (2017): Improved image captioning via policy gradient of SPIDEr. ICCV.",
}


class CaptionModule(evaluate.Metric):  # type: ignore[misc]
    """A metric of captions against lists of references."""

    metric = ""

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=type(self).__doc__ or "",
            citation=CITATIONS[self.metric],
            inputs_description="predictions: captions; references: a list of references each",
            features=datasets.Features(
                {"predictions": text, "references": datasets.Sequence(text)}
            ),
        )

    def _told(self, found: CorpusScore) -> dict[str, Any]:
        return {self.metric: found.together, "scores": found.each.tolist()}


class BleuModule(CaptionModule):
    """Corpus BLEU in [0, 1], as pycocoevalcap's."""

    metric = "bleu"

    def _compute(
        self,
        predictions: list[str],
        references: list[list[str]],
        max_n: int = 4,
        tokenizer: str = "ptb",
    ) -> dict[str, Any]:
        return self._told(corpus.bleu(predictions, references, max_n, tokenizer))


class CiderModule(CaptionModule):
    """CIDEr in [0, 10], as pycocoevalcap's, without Java."""

    metric = "cider"

    def _compute(
        self,
        predictions: list[str],
        references: list[list[str]],
        idf: str = "dataset",
        tokenizer: str = "ptb",
    ) -> dict[str, Any]:
        return self._told(corpus.cider(predictions, references, idf, tokenizer))


class SpiderModule(CaptionModule):
    """SPIDEr: the mean of SPICE and CIDEr."""

    metric = "spider"

    def _compute(
        self,
        predictions: list[str],
        references: list[list[str]],
        idf: str = "dataset",
        tokenizer: str = "ptb",
        parser: str = "auto",
    ) -> dict[str, Any]:
        return self._told(corpus.spider(predictions, references, idf, tokenizer, parser))
