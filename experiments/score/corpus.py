"""CIDEr's idf of tables whose rows contain their references: counted in a first pass over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from metaeval.experiments.score.rows import CaptionRow
from metaeval.metrics.base import Metric
from metaeval.metrics.ngram.cider import DATASET, Cider
from metaeval.metrics.ngram.document_frequencies import (
    CountedCorpus,
    DocumentFrequencies,
    digest_document,
    digest_documents,
)
from metaeval.runs import files
from metaeval.runs.digests import digest
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
