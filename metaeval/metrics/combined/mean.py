"""The mean of other metrics' scores: VIFIDEL+CIDEr, VIFIDEL+LM, SPIDEr, and any other.

A metric sentence by sentence: for captions that are longer than what it was made for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.language import split_sentences
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric, Scorer, Scores, WrappedScorer, round_scores
from metaeval.options import checked
from metaeval.runs.records import ScoreColumn, TrainingFacts, with_notes
from metaeval.runs.store import Store, content_digest

Scale = Literal["none", "standard", "rank"]
COLUMN = "/"  # between a metric and one of its columns: "vifidel/VIFIDEL-ref"
_POOL = 1000  # images, at most, whose human captions give the scales

Floats = npt.NDArray[np.float64]


class Mean(Metric):
    """The mean of one column of each of several metrics; a metric whose lower scores are better
    enters with its sign changed.

    Not a number where one of them is not. Where one cannot run, the mean cannot.

    Parameters
    ----------
    of
        The metrics, by their names in the configuration, with their options there: "cider", or
        "vifidel/VIFIDEL-ref" for another column than the metric's first headline.
    scale
        "none": scores as they are (VIFIDEL's and SPIDEr's papers; the metric with the widest range
        weighs most). "standard": each metric's scores less their mean, over their standard
        deviation. "rank": the share of scores below this one, ties counting half. The last two are
        taken over a pool that does not depend on what is scored: the human captions of the first
        1,000 images, each for its own image and for the next one.
    title
        What tables call it; `None`: the columns' names with "+" between them.
    name
        The metric's name.
    parts
        The metrics, given by the reader of the configuration.
    """

    @checked
    def __init__(
        self,
        of: Sequence[str],
        scale: Scale = "none",
        title: str | None = None,
        name: str = "mean",
        parts: Sequence[Metric] = (),
    ) -> None:
        self.name = name  # type: ignore[misc]  # of this object: there may be several in a run
        if len(of) < 2:
            raise ConfigError(f"metric.{name}.of must name at least two metrics: [vifidel,cider]")
        self.of, self.scale, self.title = tuple(map(str, of)), scale, title
        self.weights, self.over = [1.0] * len(self.of), len(self.of)
        self.parts = tuple(parts)
        if len(self.parts) != len(self.of):
            raise ConfigError(f"metric.{name}: its {len(self.of)} metrics were not given")
        self.needs = frozenset().union(*(part.needs for part in parts))  # type: ignore[misc]
        self.runs_network = any(part.runs_network for part in parts)

    @property
    def reads(self) -> frozenset[str]:
        return frozenset().union(*(part.reads for part in self.parts))

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        return (self.column_of([part.columns for part in self.parts]),)

    def column_of(self, columns: Sequence[Sequence[ScoreColumn]]) -> ScoreColumn:
        """The mean's column, from those of the parts."""
        chosen = [each[k] for each, k in zip(columns, self.chosen(columns), strict=True)]
        title = self.title or "+".join(column.variant_of or column.name for column in chosen)
        models = list(dict.fromkeys(column.model for column in chosen if column.model))
        if self.scale != "none":
            models.append("ranks" if self.scale == "rank" else "standardised")
        model = ", ".join(models) or None
        sees = " and ".join(dict.fromkeys(c.sees for c in chosen if c.sees)) or None
        return ScoreColumn(
            with_notes(title, sees, model),
            bounds=self._bounds(chosen),
            variant_of=title if model or sees else None,
            model=model,
            untrained=any(column.untrained for column in chosen),
            learned_from_corruptions=any(column.learned_from_corruptions for column in chosen),
            control=all(column.control for column in chosen),
            precision=max((c.precision for c in chosen if c.precision is not None), default=None),
            sees=sees,
            signature_name=with_notes(title, model),  # the parts are in the signature
        )

    def _bounds(self, chosen: Sequence[ScoreColumn]) -> tuple[float, float]:
        if self.scale == "rank":
            return 0.0, 1.0
        if self.scale == "standard":
            return float("-inf"), float("inf")
        ends = [c.bounds if c.higher_is_better else (-c.bounds[1], -c.bounds[0]) for c in chosen]
        low, high = (sum(end) / len(chosen) for end in zip(*ends, strict=True))
        return low, high

    def chosen(self, columns: Sequence[Sequence[ScoreColumn]]) -> list[int]:
        """Which column of each part counts; ConfigError for a name that it has not."""
        places = []
        for asked, of_metric in zip(self.of, columns, strict=True):
            names = [column.name for column in of_metric]
            _, _, wanted = asked.partition(COLUMN)
            headlines = [k for k, column in enumerate(of_metric) if column.headline]
            if not wanted:
                places.append(headlines[0] if headlines else 0)
            elif wanted in names:
                places.append(names.index(wanted))
            elif wanted in (published := [column.variant_of for column in of_metric]):
                places.append(published.index(wanted))
            else:
                raise ConfigError(
                    f"metric.{self.name}.of: '{asked}' has no such column: {', '.join(names)}"
                )
        return places

    def fetch(self, dataset: CaptionDataset) -> None:
        for part in self.parts:
            part.fetch(dataset)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> MeanScorer | Absent:
        scorers: list[Scorer] = []
        for name, part in zip(self.of, self.parts, strict=True):
            scorer = part.scorer(dataset, store)
            if isinstance(scorer, Absent):
                reason = f"it needs {name.partition(COLUMN)[0]}: {scorer.reason}"
                return Absent(scorer.part, reason, scorer.remedy)
            scorers.append(scorer)
        return MeanScorer(self, dataset, scorers)


class MeanScorer(Scorer):
    """The scorers of several metrics, and the mean of their scores."""

    def __init__(self, metric: Mean, dataset: CaptionDataset, scorers: Sequence[Scorer]) -> None:
        columns = [scorer.columns for scorer in scorers]
        self._place = metric.chosen(columns)
        self._sign = [
            1.0 if of_metric[k].higher_is_better else -1.0
            for of_metric, k in zip(columns, self._place, strict=True)
        ]
        self.metric, self._scorers = metric, tuple(scorers)
        settings: dict[str, object] = {
            f"of{k + 1}": scorer.signatures[place].replace("|", ";")
            for k, (scorer, place) in enumerate(zip(scorers, self._place, strict=True))
        }
        settings["scale"] = metric.scale
        if set(metric.weights) != {1.0}:
            settings["weights"] = hashlib.sha256(repr(metric.weights).encode()).hexdigest()[:12]
        self._pool: tuple[list[str], npt.NDArray[np.intp]] | None = None
        if metric.scale != "none":
            images = np.arange(min(len(dataset), _POOL))
            captions = [dataset.human[i] for i in images] * 2
            images = np.concatenate([images, np.roll(images, -1)])
            pairs = zip(images.tolist(), captions, strict=True)
            facts = content_digest([f"{dataset.image_ids[i]}\0{text}" for i, text in pairs])
            self._pool = captions, images
            settings["pool"] = f"{len(captions)}-{hashlib.sha256(facts).hexdigest()[:8]}"
        super().__init__([metric.column_of(columns)], settings | {"v": 1})
        self.batch_size = min(scorer.batch_size for scorer in scorers)
        self.foreign = any(scorer.foreign for scorer in scorers)
        times = [scorer.usual_ms for scorer in scorers]
        self.usual_ms = None if None in times else sum(t or 0.0 for t in times)  # type: ignore[misc]
        self.cacheable = all(scorer.cacheable for scorer in scorers)
        self.training = _united([s.training for s in scorers if s.training is not None])

    def context(self, index: int) -> bytes:
        return content_digest([scorer.context(index).hex() for scorer in self._scorers])

    def prepare(self) -> None:
        for scorer in self._scorers:
            scorer.prepare()
        self._scales: list[Floats] = []
        if self._pool is not None:
            scores = self._scores(*self._pool)
            self._scales = [np.sort(each[~np.isnan(each)]) for each in scores.T]

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = self._scores(captions, image_index)
        for k, pool in enumerate(self._scales):
            scores[:, k] = _scaled(scores[:, k], pool, self.metric.scale)
        total = np.zeros(len(captions))
        for k in range(scores.shape[1]):  # one after the other: the same whatever else is there
            total += self.metric.weights[k] * scores[:, k]
        return (total / self.metric.over)[:, None]

    def _scores(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        """[n, parts] Each part's score, higher for the better caption."""
        parts = zip(self._scorers, self._place, self._sign, strict=True)
        return np.stack(
            [
                sign * round_scores(scorer.columns, scorer.score(captions, image_index))[:, k]
                for scorer, k, sign in parts
            ],
            axis=1,
        )

    def close(self) -> None:
        for scorer in self._scorers:
            scorer.close()


def _scaled(scores: Floats, pool: Floats, scale: str) -> Floats:
    """Scores by what is usual in the sorted pool; NaN stays, and everything where it is empty."""
    known = ~np.isnan(scores)
    out = np.full(len(scores), np.nan)
    if not len(pool):
        return out
    if scale == "rank":
        below, to = (np.searchsorted(pool, scores[known], side=s) for s in ("left", "right"))
        out[known] = (below + to) / (2 * len(pool))
        return out
    spread = float(pool.std())
    out[known] = (scores[known] - float(pool.mean())) / (spread if spread > 0 else 1.0)
    return out


def _united(facts: Sequence[TrainingFacts]) -> TrainingFacts | None:
    """What the models of all parts have learned from."""
    if not facts:
        return None
    return TrainingFacts(
        caption_models=tuple({m.model: m for fact in facts for m in fact.caption_models}.values()),
        chosen_on=tuple(dict.fromkeys(each for fact in facts for each in fact.chosen_on)),
        drawn=tuple(dict.fromkeys(each for fact in facts for each in fact.drawn)),
    )


Take = Literal["mean", "worst"]
_NOTES: dict[Take, str] = {"mean": "by sentence", "worst": "worst sentence"}


class BySentence(Metric):
    """The mean, or the worst, of a metric's scores of a caption's sentences.

    Each sentence is scored for itself with the image and the whole references. A sentence without a
    score is left out; a caption has none only if all of its sentences have none. A caption of one
    sentence has the metric's own score.

    Parameters
    ----------
    of
        The metric, by its name in the configuration, with its options there: `[bertscore]`.
    take
        "mean" over the sentences, or the "worst" of them.
    name
        The metric's name.
    parts
        The metric itself, given by the reader of the configuration.
    """

    @checked
    def __init__(
        self,
        of: Sequence[str],
        take: Take = "mean",
        name: str = "by_sentence",
        parts: Sequence[Metric] = (),
    ) -> None:
        self.name = name  # type: ignore[misc]  # of this object: there may be several in a run
        if len(of) != 1 or len(parts) != 1:
            raise ConfigError(f"metric.{name}.of must name one metric: [bertscore]")
        self.take: Take = take
        (self.part,) = parts
        self.needs = self.part.needs  # type: ignore[misc]
        self.languages = self.part.languages
        self.runs_network = self.part.runs_network

    @property
    def pairwise(self) -> bool:
        return self.part.pairwise

    @property
    def reads(self) -> frozenset[str]:
        return self.part.reads

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        return self.columns_of(self.part.columns)

    def columns_of(self, columns: Sequence[ScoreColumn]) -> tuple[ScoreColumn, ...]:
        """The columns by sentence, from those of the metric."""
        note = _NOTES[self.take]

        def named(column: ScoreColumn) -> str:
            published = column.variant_of or column.name
            return with_notes(published, column.sees, column.model, note)

        names = {column.name: named(column) for column in columns}
        return tuple(
            replace(
                column,
                name=names[column.name],
                part_of=names.get(column.part_of or ""),
                variant_of=column.variant_of or column.name,
                model=", ".join(part for part in (column.model, note) if part),
                signature_name=with_notes(column.signature_name or column.name, note),
            )
            for column in columns
        )

    def fetch(self, dataset: CaptionDataset) -> None:
        self.part.fetch(dataset)

    def bind(
        self, dataset: CaptionDataset, store: Store | None = None
    ) -> BySentenceScorer | Absent:
        scorer = self.part.scorer(dataset, store)
        return scorer if isinstance(scorer, Absent) else BySentenceScorer(self, scorer)


class BySentenceScorer(WrappedScorer):
    """A metric's scorer, called with the sentences of captions."""

    def __init__(self, metric: BySentence, scorer: Scorer) -> None:
        settings = {"of": scorer.signatures[0].replace("|", ";"), "take": metric.take, "v": 1}
        super().__init__(metric.columns_of(scorer.columns), settings, scorer)
        self.metric = metric
        self.usual_ms = scorer.usual_ms  # type: ignore[misc]
        self.cacheable, self.training = scorer.cacheable, scorer.training
        self.counted = MappingProxyType(dict(scorer.counted))

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        sentences, image, caption = _sentences(captions, image_index)
        inner = self.inner.columns
        scores = round_scores(inner, self.inner.score(sentences, image))
        found = np.full((len(captions), len(inner)), np.nan)
        for k, column in enumerate(inner):
            known = ~np.isnan(scores[:, k])
            values, of = scores[known, k], caption[known]
            counts = np.bincount(of, minlength=len(captions))
            if self.metric.take == "mean":
                sums = np.bincount(of, values, minlength=len(captions))
                found[counts > 0, k] = sums[counts > 0] / counts[counts > 0]
            else:
                worst = np.minimum if column.higher_is_better else np.maximum
                extreme = np.full(len(captions), np.inf if column.higher_is_better else -np.inf)
                worst.at(extreme, of, values)
                found[counts > 0, k] = extreme[counts > 0]
        return found

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        sentences, image, caption = _sentences(captions, image_index)
        of_sentences = self.inner.tally(sentences, image)
        counts = np.zeros((len(captions), len(self.counted)), dtype=np.int64)
        np.add.at(counts, caption, of_sentences)
        once = [unit == "captions" for unit in self.counted.values()]
        counts[:, once] = counts[:, once] > 0
        return counts


def _sentences(
    captions: Sequence[str], image_index: npt.NDArray[np.intp]
) -> tuple[list[str], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """All sentences, the image of each, and the caption that it is of."""
    split = [split_sentences(caption) for caption in captions]
    sizes = [len(sentences) for sentences in split]
    caption = np.repeat(np.arange(len(captions)), sizes)
    return [s for sentences in split for s in sentences], np.asarray(image_index)[caption], caption
