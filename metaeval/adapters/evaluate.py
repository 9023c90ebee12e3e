"""BLEU, CIDEr and SPIDEr as modules of Hugging Face evaluate.

    from metaeval.adapters.evaluate import CiderModule
    CiderModule().compute(predictions=["a dog runs"], references=[["a dog is running"]])

`references` are lists. The results are the score of all captions together, under the metric's name,
and `scores`, the captions' own. Options go into `compute`: `idf="coco_val2017"`, `max_n=2`.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from metaeval.adapters import corpus
from metaeval.adapters.corpus import CorpusScore

try:
    import datasets
    import evaluate
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"metaeval.adapters.evaluate needs {error.name}; pip install evaluate", name=error.name
    ) from None

CITATIONS = {
    "bleu": "Papineni et al. (2002): BLEU. ACL.",
    "cider": "Vedantam et al. (2015): CIDEr. CVPR.",
    "spider": "Liu et al. (2017): Improved image captioning via policy gradient of SPIDEr. ICCV.",
}


class CaptionModule(evaluate.Metric):  # type: ignore[misc]
    """A metric of captions against lists of references."""

    metric: ClassVar[str]
    scored: ClassVar[Callable[..., CorpusScore]]

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

    def _compute(
        self, predictions: list[str], references: list[list[str]], **options: Any
    ) -> dict[str, object]:
        score = type(self).scored(predictions, references, **options)
        return {self.metric: score.together, "scores": score.each.tolist()}


class BleuModule(CaptionModule):
    """Corpus BLEU in [0, 1], as pycocoevalcap's; options `max_n`, `tokenizer`."""

    metric, scored = "bleu", staticmethod(corpus.bleu)


class CiderModule(CaptionModule):
    """CIDEr in [0, 10], as pycocoevalcap's, without Java; options `idf`, `tokenizer`."""

    metric, scored = "cider", staticmethod(corpus.cider)


class SpiderModule(CaptionModule):
    """SPIDEr: the mean of SPICE and CIDEr; options `idf`, `tokenizer`, `parser`."""

    metric, scored = "spider", staticmethod(corpus.spider)
