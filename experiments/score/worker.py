"""A metric that scores block by block, bound once to a dataset or to each block's references."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.data.fields import rename_fields
from metaeval.data.identity import ImageIdRegistry, is_decimal
from metaeval.data.own.given import given_captions
from metaeval.data.own.tables import TEXTS, read_table
from metaeval.data.records import check_id
from metaeval.data.system_captions import known_image_id
from metaeval.data.tidy import Tidy
from metaeval.errors import InputError
from metaeval.metrics.base import Metric, Scorer, Scores
from metaeval.readers.tables import read_parquet
from metaeval.runs.files import digest
from metaeval.runs.store import MemoryStore, Store
from metaeval.scoring import MetricScores, bind, checked_scores, distinct, with_verdict
from metaeval.text.tokenizers.base import forget_texts


class CaptionRow(NamedTuple):
    """A caption to be scored: of which image, and its references if the table has them."""

    image_id: ImageId | None
    caption: str
    references: tuple[str, ...] | None


class RowBlock(NamedTuple):
    """Some rows that stand together; the first of all tables is row 0."""

    number: int
    first: int
    rows: list[CaptionRow]

    @property
    def digest(self) -> str:
        """32 hexadecimal digits of the block's content."""
        return digest(json.dumps(self.rows, ensure_ascii=False)).hex()


def read_rows(
    files: Iterable[Path], known: Set[ImageId] | None, tidy: Tidy
) -> Iterator[CaptionRow]:
    """The rows of tables (CSV, JSON lines, JSON, Parquet), one after another.

    A row has a `caption` and an `image_id`, one of `known`; where `known` is `None` it has
    `references` (a list of strings), and the id may be missing. Common names of them are
    recognised, which is logged. Of a Parquet file few rows are in memory at a time, of others a
    file at a time.

    Raises InputError, naming file, row and field, for anything else.
    """
    for path in files:
        untyped = path.suffix.lower() in TEXTS  # whose cells are all text
        registry = ImageIdRegistry(path, "image_id") if untyped else None
        names = ("image_id", "caption", "references")
        is_parquet = path.suffix.lower() == ".parquet"
        records = read_parquet(path, most=None) if is_parquet else read_table(path).rows
        for where, fields in rename_fields(records, None, (), path, [], names, option=""):
            yield _row(path, where, fields, known, tidy, registry)


def split_rows(rows: Iterable[CaptionRow], size: int) -> Iterator[RowBlock]:
    """Blocks of `size` rows, the last perhaps smaller."""
    iterator, number = iter(rows), 0
    while some := list(islice(iterator, size)):
        yield RowBlock(number, number * size, some)
        number += 1


def own_dataset(rows: Sequence[CaptionRow]) -> tuple[CaptionDataset, npt.NDArray[np.intp]]:
    """A dataset of the rows' references, and the place [n] of each row's in it.

    Rows with the same image id and references share an image of it. Ids are those of the rows or,
    where not all rows have one, places. Which photographs they are is not known to any weights.
    """
    ids: list[Any] = [row.image_id for row in rows]
    references = [row.references or () for row in rows]
    if None in ids or len(set(map(type, ids))) > 1:
        place = {texts: k for k, texts in enumerate(dict.fromkeys(references))}
        ids = [place[texts] for texts in references]
    table = pd.DataFrame({"image_id": ids, "caption": "", "references": references})
    given = given_captions(table, image_source="other")
    return given.dataset, given.image_index


def _row(
    path: Path,
    where: str,
    fields: Mapping[str, Any],
    known: Set[ImageId] | None,
    tidy: Tidy,
    registry: ImageIdRegistry | None,
) -> CaptionRow:
    """The caption of a record; with a `registry` of a file without types, digits are a number."""
    needed = ("caption",) if known is None else ("caption", "image_id")
    if missing := [column for column in needed if column not in fields]:
        problem = f"has no column '{missing[0]}', but {', '.join(map(repr, fields))}"
        raise InputError(problem, file=path, record=where)
    caption = tidy.read(fields["caption"], file=path, record=where, field="caption")
    given = fields.get("image_id")
    if known is None:
        if given is not None:
            check_id(given, path, where, "image_id")
        return CaptionRow(given, caption, _references(path, where, fields, tidy))
    image_id = given
    if registry is not None and isinstance(given, str) and given not in known and is_decimal(given):
        image_id = int(given)
    image_id = known_image_id(image_id, known, path, where)
    if registry is not None:
        registry.add(image_id, str(given), where)
    return CaptionRow(image_id, caption, None)


def _references(path: Path, where: str, fields: Mapping[str, Any], tidy: Tidy) -> tuple[str, ...]:
    texts = tidy.read_several(fields.get("references"), file=path, record=where, field="references")
    if not texts:
        problem = "holds no reference; give a list of them, or dataset=NAME with image ids"
        raise InputError(problem, file=path, record=where, field="references")
    return texts


log = logging.getLogger(__name__)


class BlockScores(NamedTuple):
    """float64 [n, columns] of a block, all NaN where the metric broke, and then why."""

    scores: Scores
    reason: str | None = None


class Worker:
    """One metric over blocks.

    Parameters
    ----------
    metric
        It is pickled where blocks are scored in other processes; this object never is.
    dataset
        Whose images the rows name; `None` if each has its references.
    store
        Where intermediate results are kept. Scores are not: a finished block is a file.
    """

    def __init__(self, metric: Metric, dataset: CaptionDataset | None, store: Store) -> None:
        self.metric, self.dataset, self.store = metric, dataset, store
        self._scorer: Scorer | None = None
        self._place = {} if dataset is None else dataset.positions()

    def score(self, rows: Sequence[CaptionRow]) -> BlockScores:
        """The scores of some rows. A metric that breaks is logged, with its traceback."""
        try:
            return BlockScores(self._score(rows))
        except Exception as error:
            log.info("%s failed", self.metric.name, exc_info=error)
            reason = f"{type(error).__name__}: {' '.join(str(error).split()) or 'no message'}"
            return BlockScores(np.full((len(rows), len(self.metric.columns)), np.nan), reason)

    def _score(self, rows: Sequence[CaptionRow]) -> Scores:
        if self.dataset is None:
            dataset, index = own_dataset(rows)
            scorer = self._prepared(dataset)
            try:
                return _scores(scorer, rows, index)
            finally:
                scorer.close()
        if self._scorer is None:
            self._scorer = self._prepared(self.dataset)
        return _scores(self._scorer, rows, _places(rows, self._place))

    def _prepared(self, dataset: CaptionDataset) -> Scorer:
        bound = bind(self.metric, dataset, self.store)
        if bound.scorer is None:
            raise RuntimeError(bound.reason)
        bound.scorer.prepare()
        bound.scorer.batch_checked = True  # by `bound_to`
        return bound.scorer

    def close(self) -> None:
        if self._scorer is not None:
            self._scorer.close()
            self._scorer = None


def _places(rows: Sequence[CaptionRow], place: Mapping[ImageId, int]) -> npt.NDArray[np.intp]:
    """The place [n] of each row's image in a dataset."""
    return np.array([place[row.image_id] for row in rows], dtype=np.intp)  # type: ignore[index]


def empty_caches(store: Store) -> None:
    """Empty a store in memory, and what tokenizers remember, after a block: neither must grow with
    the number of captions."""
    forget_texts()
    if isinstance(store, MemoryStore):
        store.close()


def _scores(scorer: Scorer, rows: Sequence[CaptionRow], index: npt.NDArray[np.intp]) -> Scores:
    """Each distinct caption of an image once, in batches as the scorer likes them."""
    distinct_items = distinct([row.caption for row in rows], index)
    items = distinct_items.items
    captions = [caption for caption, _ in items]
    images = np.array([image for _, image in items], dtype=np.intp)
    size, width = scorer.batch_size, len(scorer.columns)
    parts = [
        checked_scores(scorer, captions[k : k + size], images[k : k + size])[:, :width]
        for k in range(0, len(items), size)
    ]
    return np.concatenate(parts)[distinct_items.inverse]


def bound_to(
    metric: Metric, dataset: CaptionDataset | None, rows: Sequence[CaptionRow], store: Store
) -> MetricScores:
    """A metric's own description before any score; its scorer is closed.

    If each row has its references, "skipped" if its signature is another on another block:
    such a score depends on all captions together, and blocks do not have them.
    """
    if dataset is None:
        whole, index = own_dataset(rows)
    else:
        whole, index = dataset, _places(rows, {i: k for k, i in enumerate(dataset.image_ids)})
    bound = _bound(metric, whole, store, rows, index)
    if dataset is None and bound.status == "skipped":
        return replace(bound, remedy="give dataset=NAME, whose images the rows name by image_id")
    if dataset is not None or bound.status != "ok" or len(whole) < 2:
        return bound
    other = _bound(metric, whole.subset(range(len(whole) // 2)), store)
    if other.signatures == bound.signatures:
        return bound
    return MetricScores(
        bound.family,
        bound.columns,
        (None,) * len(bound.columns),
        "skipped",
        "a score depends on all captions of a dataset, which a block of a table does not have",
        "give dataset=NAME and image ids, or for CIDEr metric.cider.idf=coco_val2014 or a file",
    )


def _bound(
    metric: Metric,
    dataset: CaptionDataset,
    store: Store,
    rows: Sequence[CaptionRow] = (),
    index: npt.NDArray[np.intp] | None = None,
) -> MetricScores:
    bound = bind(metric, dataset, store, fetch=True)
    if (scorer := bound.scorer) is not None:
        if scorer.foreign and index is not None:  # do its scores depend on the batch?
            few = [row.caption for row in rows[: scorer.batch_size]]
            with suppress(Exception):  # one that breaks does so on its blocks, which say why
                scorer.prepare()
                checked_scores(scorer, few, index[: len(few)])
                bound = with_verdict(bound, scorer, store)
        scorer.close()
    return bound
