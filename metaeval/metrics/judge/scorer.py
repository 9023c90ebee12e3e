"""A judge bound to a dataset: its requests, the recorded answers, and the scores in them."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from metaeval import progress
from metaeval.data import image_files
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import InputError
from metaeval.metrics.base import NotScored, Scorer, Scores, reference_digests, split_pair
from metaeval.metrics.judge.client import Endpoint, key_from
from metaeval.metrics.judge.reply import export_batch, import_batch
from metaeval.metrics.judge.requests import (
    Attachment,
    Cost,
    Ledger,
    Request,
    Subject,
    make_request,
    usage_of,
)
from metaeval.readers.files import user_path
from metaeval.runs.answers import SURROGATE, Answer, current_journal
from metaeval.runs.store import Store

if TYPE_CHECKING:
    from metaeval.metrics.judge.metric import Judge

log = logging.getLogger(__name__)

_NAMESPACE = "answers of judges"
_LEDGERS: WeakKeyDictionary[object, dict[str, Ledger]] = WeakKeyDictionary()  # by run
UNPARSED, UNANSWERED, TRUNCATED, ESCAPED = COUNTED = (
    "captions with an answer that cannot be parsed",
    "captions without an answer",
    "captions with an answer cut at max_tokens",
    "captions with an answer that is stored escaped",
)


class JudgeScorer(Scorer):
    """Asks a model about the captions of a dataset.

    Scores are not cached: they are read anew in the answers, and the answers are kept, in the
    score cache and in the run's folder.
    """

    cacheable = False
    saves_itself = True
    usual_ms = 200.0
    batch_size = 1_000_000_000
    counted = MappingProxyType(dict.fromkeys(COUNTED, "captions"))

    def __init__(self, metric: Judge, dataset: CaptionDataset, store: Store | None) -> None:
        super().__init__(metric.columns, metric.settings())
        self.metric, self.dataset, self.store = metric, dataset, store
        self._answers: dict[str, Answer] = {}
        self._counts: dict[tuple[str, int], tuple[bool, ...]] = {}

    def context(self, index: int) -> bytes:
        return reference_digests(self.dataset)[index]

    @cached_property
    def _paths(self) -> list[Path | None]:
        return image_files.paths_of(self.dataset)

    @cached_property
    def _digests(self) -> list[bytes | None]:
        return image_files.digests(self._paths, self.store)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        index = image_index.tolist()
        files = self.metric.files
        if files is not None and not files.by_request:
            return self._score_recorded(captions, index)
        items = [self._requests(c, i) for c, i in zip(captions, index, strict=True)]
        self._get_answers([request for item in items for request, _ in item])
        rows = [
            self._row(text, i, [(self._answers.get(r.key), swapped) for r, swapped in item])
            for text, i, item in zip(captions, index, items, strict=True)
        ]
        return np.array(rows, dtype=np.float64).reshape(len(captions), len(self.columns))

    def _score_recorded(self, captions: Sequence[str], index: Sequence[int]) -> Scores:
        """Scores from a foreign file, whose answers belong to images and captions."""
        files, rows = self.metric.files, []
        assert files is not None
        for caption, i in zip(captions, index, strict=True):
            image_id = str(self.dataset.image_ids[i])
            answers = files.of_item(image_id, caption)
            if not answers and self.metric.resolved_mode == "replay_or_fail":
                raise self._not_recorded(image_id, caption)
            rows.append(self._row(caption, i, [(a, False) for a in answers]))
        return np.array(rows, dtype=np.float64).reshape(len(captions), len(self.columns))

    def _row(
        self, text: str, index: int, answers: Sequence[tuple[Answer | None, bool]]
    ) -> list[float]:
        """The scores of one item: the mean of its answers, for each aspect and over all."""
        parser, n, journal = self.metric.answer_parser, len(self.columns), current_journal()
        low, high = self.metric.scale
        values, unparsed, cut, escaped, missing = [], False, False, False, not answers
        for answer, swapped in answers:
            if answer is None:
                missing = True
                continue
            parsed = parser.parse(answer)
            bad = any(map(math.isnan, parsed))
            unparsed |= bad
            cut |= answer.finish_reason == "length"
            escaped |= SURROGATE.search(answer.answer) is not None  # `storable` escapes it
            if journal is not None:  # pairwise, the score of the caption A
                score = math.nan if bad else float(np.mean(parsed))
                usd = usage_of(answer).usd(self.metric.price)
                journal.use(replace(answer, score=score, judge=self.columns[-1].name, usd=usd))
            if swapped:
                parsed = tuple(low + high - value for value in parsed)
            values.append(parsed)
        self._counts[text, index] = unparsed, missing, cut, escaped
        incomplete = missing or unparsed
        if not values or (self.metric.pairwise and incomplete):
            return [math.nan] * n  # one order alone would carry the order's bias
        table = np.array(values)
        table = table[~np.isnan(table).any(axis=1)]
        if missing or not len(table):
            return [math.nan] * n
        means = table.mean(axis=0).tolist()
        return [*means, float(np.mean(means))] if parser.aspects else means

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        counts = [self._counts[c, i] for c, i in zip(captions, image_index.tolist(), strict=True)]
        return np.array(counts, dtype=np.int64).reshape(len(captions), len(self.counted))

    def _requests(self, text: str, index: int) -> list[tuple[Request, bool]]:
        """The requests for a caption, or, pairwise, for a caption and its rival in both orders;
        each with whether the rival is first."""
        metric, image_id = self.metric, str(self.dataset.image_ids[index])
        caption, rival = split_pair(text)
        if metric.pairwise and rival is None:
            raise ValueError("a pairwise judge needs two captions")
        if not self._shows_something(index):
            return []
        orders = [(caption, rival), (rival, caption)] if rival is not None else [(caption, None)]
        return [
            (self._request(index, image_id, str(first), second, sample), bool(k))
            for k, (first, second) in enumerate(orders)
            for sample in range(metric.n_samples)
        ]

    def _shows_something(self, index: int) -> bool:
        """Whether the prompt has the references or the image that the options require."""
        if self.metric.references == 0 and self.metric.image == "none":
            return True
        references = self.metric.references != 0 and bool(self.dataset.references[index])
        return references or (self.metric.image != "none" and self._paths[index] is not None)

    def _request(
        self, index: int, image_id: str, first: str, second: str | None, sample: int
    ) -> Request:
        metric, image = self.metric, None
        if metric.image != "none" and (path := self._paths[index]) is not None:
            image = Attachment(path, self._digests[index] or b"", metric.image)
        references = list(self.dataset.references[index][: metric.references])
        captions = {"caption": first} if second is None else {"first": first, "second": second}
        prompt = metric.template.render(**captions, references=references, image=image is not None)
        messages = [{"role": "user", "content": prompt}]
        if metric.system:
            messages.insert(0, {"role": "system", "content": metric.system})
        parameters = metric.request_parameters
        if metric.seed is not None:
            parameters["seed"] = metric.seed + sample
        subject = Subject(image_id, first, second, sample)
        endpoint = str(metric.endpoint or metric.base_url)
        return make_request(messages, parameters, endpoint, subject, image)

    def _get_answers(self, requests: Sequence[Request]) -> None:
        """Fill `_answers`: from the files, the run's folder and the cache, then from the model."""
        metric = self.metric
        wanted: dict[str, Request] = {}  # of different keys, in the order in which they come
        for request in requests:
            if request.key not in self._answers:
                wanted.setdefault(request.key, request)
        for key in wanted:
            if (answer := self._recorded(key)) is not None:
                self._answers[key] = answer
        if metric.resolved_mode == "record":
            self._read_store([key for key in wanted if key not in self._answers])
            if metric.batch_import is not None:
                missing = {k: r for k, r in wanted.items() if k not in self._answers}
                self._save(import_batch(user_path(str(metric.batch_import)), missing))
        todo = [r for key, r in wanted.items() if key not in self._answers]
        if not todo:
            return
        if metric.resolved_mode == "replay_or_fail":
            raise self._not_recorded(todo[0].image_id, todo[0].caption)
        if metric.resolved_mode == "record" and metric.batch_import is None:
            self._ask(todo, [r for key, r in wanted.items() if key in self._answers])

    def _recorded(self, key: str) -> Answer | None:
        files, journal = self.metric.files, current_journal()
        answer = files.by_key.get(key) if files is not None else None
        if answer is None and journal is not None and self.metric.resolved_mode == "record":
            answer = journal.get(key)
        return answer

    def _read_store(self, keys: Sequence[str]) -> None:
        if self.store is None:
            return
        known = self.store.get_many(_NAMESPACE, [bytes.fromhex(key) for key in keys])
        for key, value in known.items():
            record = json.loads(value)
            self._answers[key.hex()] = Answer.from_record(record, file=None, where="the cache")

    def _ask(self, todo: Sequence[Request], answered: Sequence[Request]) -> None:
        metric, limits = self.metric, self.metric.limits
        # one budget for all of a run's requests to this judge, however often it is bound
        of_run = _LEDGERS.setdefault(current_journal() or self, {})
        ledger = of_run.setdefault(self.signatures[-1], Ledger(metric.budget or {}, metric.price))
        for request in answered:
            most = request.most_cost(limits.image_tokens, limits.max_tokens)
            ledger.record(most, usage_of(self._answers[request.key]), request.key)
        if metric.dry_run or metric.batch_export is not None:
            self._send_nothing(todo)
        key = key_from(metric.api_key_env)
        endpoint = Endpoint(str(metric.base_url), key, limits, ledger, lambda a: self._save([a]))
        done, line = 0, progress.current()
        with progress.progress_bar(total=len(todo), desc=metric.name, unit=" calls") as bar:

            def advance(n: int) -> None:
                nonlocal done
                done += n
                bar.update(n)
                line.report(done, len(todo))

            endpoint.ask_all(todo, advance)
        if endpoint.failures:
            reasons = list(endpoint.failures.values())
            log.warning(
                "%s: %s of %s requests have no answer, the last: %s; their captions are not "
                "scored; the same command requests them again",
                self.columns[-1].name,
                f"{len(reasons):,}",
                f"{len(todo):,}",
                reasons[-1],
            )

    def _send_nothing(self, todo: Sequence[Request]) -> None:
        """Write the batch file, or state the cost of the requests; then the metric is skipped."""
        metric = self.metric
        if metric.batch_export is not None:
            path = user_path(metric.batch_export)
            export_batch(path, todo)
            raise NotScored(
                f"{len(todo):,} requests are written to {path}",
                "run again with metric.judge.batch_import=FILE when they are answered",
            )
        tokens = sum(r.estimated_tokens(metric.chars_per_token, metric.image_tokens) for r in todo)
        cost = Cost(len(todo), tokens, len(todo) * metric.limits.max_tokens)
        usd = cost.usd(metric.price)
        price = "no price is declared" if usd is None else f"at most about {usd:,.2f} USD"
        raise NotScored(
            f"dry run: {cost.calls:,} calls, about {cost.input:,} tokens of prompts and at most "
            f"{cost.output:,} of answers, {price}; nothing was sent",
            "run again without metric.judge.dry_run",
        )

    def _save(self, answers: Iterable[Answer]) -> None:
        """Put answers on disk, in the run's folder and in the cache."""
        journal = current_journal()
        for answer in answers:
            if journal is not None:
                journal.append(answer)
            if self.store is not None:
                value = answer.to_json().encode()
                self.store.put_many(_NAMESPACE, {bytes.fromhex(answer.key): value})
            self._answers[answer.key] = answer

    def _not_recorded(self, image_id: str, caption: str) -> InputError:
        return InputError(
            f"no answer is recorded for {caption!r:.100} of image {image_id}; "
            "metric.judge.mode=replay leaves such captions unscored",
            field="metric.judge.replay",
        )
