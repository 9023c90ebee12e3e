"""The files of scored blocks: one Parquet file per block, and the manifest of them all."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from metaeval.experiments.score.worker import BlockScores, CaptionRow, RowBlock
from metaeval.metrics.base import Metric
from metaeval.metrics.ngram.cider import DATASET, Cider
from metaeval.metrics.ngram.ngrams import (
    CountedCorpus,
    DocumentFrequencies,
    digest_document,
    digest_documents,
)
from metaeval.results.base import Estimate, Measured
from metaeval.results.files import write_info
from metaeval.results.measured import Extra
from metaeval.results.run import BlockEntry, ColumnSum, Manifest, Measure
from metaeval.runs import files, folder
from metaeval.runs.files import digest
from metaeval.runs.records import CAPTION, IMAGE_ID
from metaeval.runs.store import content_digest

PATTERN = "_idf-*.npz"  # pandas and pyarrow skip names that begin with "_"


class CorpusPass:
    """The document frequencies of all references of tables, for the metrics that want them.

    A document is an image: what rows with the same image id and the same references share. In
    memory are the distinct n-grams, and about 200 bytes a document, to know it again.

    Parameters
    ----------
    metrics
        Metrics by name; of these, CIDEr with the dataset as corpus of its idf is used.
    folder
        Where the frequencies are kept, in a file for each tokenizer.
    tables
        The digests of the tables: a file that is there already for the same is not counted again.
    """

    def __init__(self, metrics: Mapping[str, Metric], folder: Path, tables: Iterable[str]) -> None:
        self._metrics, key = dict(metrics), "|".join(tables)
        self._cider = {
            name: metric
            for name, metric in metrics.items()
            if isinstance(metric, Cider)
            and metric.idf == DATASET
            and not metric.tokenizer.missing()
        }
        # by tokenizer: the metric that splits into words, the file, and what it will hold
        self._counted: dict[str, tuple[Cider, Path, DocumentFrequencies]] = {}
        for metric in self._cider.values():
            signature = metric.tokenizer.signature
            file = folder / f"_idf-{digest(f'{signature}|{key}').hex()[:12]}.npz"
            self._counted[signature] = metric, file, DocumentFrequencies()
        self._digests: dict[bytes, bytes] = {}  # of an image with its references → of these

    @property
    def needed(self) -> bool:
        """Whether any frequencies are not there yet."""
        return any(not file.is_file() for _, file, _ in self._counted.values())

    def add(self, rows: Sequence[CaptionRow]) -> None:
        """Count the documents of some rows that were not there before."""
        documents = []
        for row in rows:
            references = row.references or ()
            key = content_digest([repr(row.image_id), *references])
            if key not in self._digests:
                self._digests[key] = digest_document(references)
                documents.append(references)
        flat = [text for references in documents for text in references]
        for metric, _, frequencies in self._counted.values():
            words = iter(metric.words(flat))
            frequencies.add([[next(words) for _ in references] for references in documents])

    def finish(self) -> dict[str, Metric]:
        """Write the frequencies, and return all metrics, these with the corpus of the tables."""
        combined = digest_documents(self._digests.values()) if self._digests else ""
        for signature, (_, file, frequencies) in self._counted.items():
            if not file.is_file():
                corpus = CountedCorpus(len(self._digests), combined, signature)
                files.atomic(file, lambda p, f=frequencies, c=corpus: f.save(p, c))  # type: ignore[misc]
        return {
            name: self._cider[name].of_corpus(
                self._counted[self._cider[name].tokenizer.signature][1]
            )
            if name in self._cider
            else metric
            for name, metric in self._metrics.items()
        }

    @property
    def written(self) -> set[str]:
        """The names of the files."""
        return {file.name for _, file, _ in self._counted.values()}


FOLDER, MANIFEST = files.BLOCKS, files.MANIFEST
_KEY = b"metaeval"


class Parts:
    """The scored blocks of a run's folder.

    A part is of a request (tables, block size, signatures, as a digest) and of a block's
    content. One of another request or content, or one that a metric broke in, is made again.
    """

    def __init__(self, out: Path, request: str) -> None:
        self.folder, self.request = out / FOLDER, request

    def path(self, number: int) -> Path:
        return self.folder / f"part-{number:05d}.parquet"

    def known(self, block: RowBlock) -> BlockEntry | None:
        """The manifest entry of a block that is scored already; `None` for one that is not."""
        try:
            metadata = pq.read_schema(self.path(block.number)).metadata or {}
            entry = BlockEntry.model_validate_json(metadata[_KEY])
        except (OSError, pa.ArrowException, KeyError, ValueError):
            return None  # it is not there, or half of it
        is_same = (entry.request, entry.captions) == (self.request, block.digest)
        return entry if is_same and not entry.failed else None

    def write(
        self,
        block: RowBlock,
        columns: Mapping[str, Sequence[str]],
        scores: Mapping[str, BlockScores],
    ) -> BlockEntry:
        """Write a block's scores, by metric, and return its manifest entry."""
        rows = block.rows
        table: dict[str, pa.Array] = {
            "row": pa.array(range(block.first, block.first + len(rows)), pa.int64()),
            IMAGE_ID: _ids(rows),
            CAPTION: pa.array([row.caption for row in rows], pa.string()),
        }
        sums: dict[str, ColumnSum] = {}
        for metric, names in columns.items():
            for c, name in enumerate(names):
                values = scores[metric].scores[:, c]
                numbers = values[~np.isnan(values)]
                sums[name] = ColumnSum(n=len(numbers), sum=math.fsum(numbers.tolist()))
                table[name] = pa.array(np.ascontiguousarray(values))
        entry = BlockEntry(
            part=self.path(block.number).name,
            request=self.request,
            captions=block.digest,
            first_row=block.first,
            rows=len(rows),
            failed={name: s.reason for name, s in scores.items() if s.reason},
            columns=sums,
        )
        schema = pa.table(table).schema.with_metadata({_KEY: entry.model_dump_json().encode()})
        arrow = pa.table(table).cast(schema)
        self.folder.mkdir(parents=True, exist_ok=True)
        files.write_arrow(self.path(block.number), arrow)
        return entry

    def finish(self, manifest: Manifest, keep: Collection[str] = ()) -> dict[str, float | None]:
        """Write the manifest, remove the run's files of other requests except `keep`, and return
        the mean of each column; `None` for a column without scores."""
        names = {entry.part for entry in manifest.parts} | set(keep)
        for path in (*self.folder.glob("*.parquet"), *self.folder.glob(PATTERN)):
            if path.name not in names and folder.wrote(path):
                path.unlink()
        write_info(self.folder / MANIFEST, manifest)
        columns = dict.fromkeys(name for entry in manifest.parts for name in entry.columns)
        return {name: _mean([entry.columns[name] for entry in manifest.parts]) for name in columns}


def _mean(sums: Sequence[ColumnSum]) -> float | None:
    n = sum(part.n for part in sums)
    return math.fsum(part.sum for part in sums) / n if n else None


def _ids(rows: Sequence[CaptionRow]) -> pa.Array:
    ids = [row.image_id for row in rows]
    whole = all(isinstance(i, int) for i in ids)
    return pa.array(ids if whole else [None if i is None else str(i) for i in ids],
                    pa.int64() if whole else pa.string())  # fmt: skip


# The distribution of the scores of a run, and the captions that its page shows.
#
# All numbers are exact. One column of all parts is in memory at a time: 24 bytes per caption.

BINS = 60
DRAWN, EXTREME = 400, 10  # captions drawn at random, and of each column the lowest and highest
QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]
_NUMBERS = {  # in the order of pandas' description
    "mean": "Mean", "sd": "Sd", "min": "Lowest", "p5": "5%", "p25": "25%", "median": "Median",
    "p75": "75%", "p95": "95%", "max": "Highest",
}  # fmt: skip
MEASURES = (
    *(Measure(key, title, best="neither") for key, title in _NUMBERS.items()),
    Measure("n", "Captions", unit="count", best="neither"),
    Measure("n_nan", "Not scored", unit="count", best="neither"),
)

Floats = npt.NDArray[np.float64]
Row = dict[str, Any]


def distribution(scores: Floats, mean: float | None, n_nan: int = 0) -> Measured:
    """The statistics of scores [n] without NaN, whose mean is known; `n_nan` captions have none.

    Standard deviation with n - 1, quantiles with linear interpolation.
    """
    described = pd.Series(scores).describe(percentiles=QUANTILES)
    numbers: dict[str, float | None] = dict(zip(("n", *_NUMBERS), described, strict=True))
    numbers |= {"n": len(scores), "mean": mean, "n_nan": n_nan}
    return Measured(values={key: Estimate(value=value) for key, value in numbers.items()})


def histogram(name: str, scores: Floats) -> list[Row]:
    """Counts of scores [n] in bins of equal width from the lowest to the highest; one bin of width
    1 where all are equal, a single one where they differ by rounding alone. The last bin includes
    its upper edge."""
    if not len(scores):
        return []
    counts, edges = np.histogram(scores, bins=BINS if _differ(scores) else 1)
    return [
        {"metric": name, "from": low, "to": high, "count": int(n)}
        for low, high, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]


def _differ(scores: Floats) -> bool:
    """Whether scores [n] differ by more than rounding (`without_rounding`), so that bins can."""
    low, high = float(scores.min()), float(scores.max())
    return high - low > 1e-12 * max(abs(low), abs(high))


def extremes(scores: Floats, most: int = EXTREME) -> list[list[int]]:
    """The places of the lowest and of the highest scores [n], from the farthest on; of equals the
    first. NaN, which is sorted last, is neither."""
    n = min(most, int((~np.isnan(scores)).sum()))
    return [np.argsort(sign * scores, kind="stable")[:n].tolist() for sign in (1, -1)]


def describe(
    parts: Sequence[Path], means: Mapping[str, float | None], seed: int
) -> tuple[dict[str, Measured], tuple[Extra, Extra]]:
    """Column of scored parts → its statistics; and the extras of the bins of all columns, and of
    the rows to show, with why each was chosen.

    `means` has the mean of each column; `None` for a column without scores.
    """
    n, statistics, bins, shown = 0, {}, [], []
    for name, mean in means.items():
        every = [files.read_columns(part, [name], [name])[name].to_numpy() for part in parts]
        scores = np.concatenate([np.empty(0), *every])
        n = len(scores)
        for why, rows in zip(("lowest", "highest"), extremes(scores), strict=True):
            shown += [{"row": row, "chosen": why, "metric": name} for row in rows]
        missing = np.isnan(scores)
        known = scores[~missing] if missing.any() else scores
        bins += histogram(name, known)
        statistics[name] = distribution(known, mean, n - len(known))
    drawn = np.random.default_rng(seed).choice(n, min(DRAWN, n), replace=False)
    at_random = [{"row": row, "chosen": "at random"} for row in np.sort(drawn).tolist()]
    return statistics, (
        Extra.of("histogram", "Scores of all captions", bins, kind="data"),
        Extra.of("shown", "Captions that the page shows", [*at_random, *shown], kind="data"),
    )
