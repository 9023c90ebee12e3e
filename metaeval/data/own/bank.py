"""The score bank: metrics' scores that others computed, each file with a description next to it.

`NAME.csv` has a record for each caption: `image_id`, `caption` and `score`. `NAME.yaml` says which
metric it is, on which benchmark, what to cite, where the scores are from, their licence, and what
the metric reads. Some files that authors published are described in `bank_entries/`.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from metaeval.data.download import data_folder
from metaeval.errors import InputError
from metaeval.readers.files import user_path
from metaeval.readers.tables import check_name
from metaeval.readers.yaml_text import read_declared
from metaeval.results.base import Model

FOLDER = "scores"  # in the data folder
PUBLISHED = Path(__file__).with_name("bank_entries")

Text = Annotated[str, Field(min_length=1)]


def _below(path: str) -> str:
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise ValueError("is not below the data folder; give a path within it, without '..'")
    return path


DataFile = Annotated[Text, AfterValidator(_below)]


class BankEntry(Model):
    """The description of a file of the score bank.

    Attributes
    ----------
    metric
        What tables call the scores; files with the same name are of one metric.
    benchmark
        The dataset that the scores were computed on, as `dataset=` calls it.
    citation
        What a paper that uses the scores cites: BibTeX entries, or keys of metaeval's.
    source, licence
        Where the scores are from, and their licence ("not stated" where there is none).
    reads
        What the metric reads besides the caption.
    column
        The column of the scores.
    higher_is_better
        Whether a better caption has the higher score.
    file
        A file or folder in the data folder, where the scores are not in `scores/NAME.csv`.
    fields, captions
        What the file calls its columns, and a file in the data folder with the captions of its
        systems, as `metaeval.data.own.score_files.read_scores` takes them.
    answers
        Whether the column has a model's answers, each of which begins with its score.
    """

    metric: Text
    benchmark: Text
    citation: Annotated[tuple[Text, ...], Field(min_length=1)]
    source: Text
    licence: Text
    reads: tuple[Literal["image", "references"], ...]
    column: Text = "score"
    higher_is_better: bool = True
    file: DataFile | None = None
    fields: dict[str, str] = Field(default_factory=dict)
    captions: DataFile | None = None
    answers: bool = False


def description_of(file: Path) -> Path | None:
    """The description of a file of scores: next to it, or one that metaeval has."""
    places = file.with_suffix(".yaml"), PUBLISHED / f"{file.stem}.yaml"
    return next((path for path in places if path.is_file()), None)


def read_entry(file: Path) -> BankEntry:
    """The entry of a file of scores. Raises InputError for a description that is not there, or not
    as it should be."""
    path = description_of(file)
    if path is None:
        raise InputError(f"{file.stem}.yaml, which describes it, is not next to it", file=file)
    entry = read_declared(path, BankEntry)
    check_name(entry.metric, file=path, record=None, field="metric")
    return entry


def bank_files(
    folder: str | Path | None = None, data: str | Path | None = None
) -> list[tuple[Path, BankEntry]]:
    """The files of scores that are described: those of a folder (default: `scores` in the data
    folder), and those elsewhere in the data folder that metaeval's own descriptions name. One file
    can have several metrics.

    Raises InputError for a description that is not as it should be.
    """
    top = data_folder(data)
    files: list[tuple[Path, BankEntry]] = []
    if folder is None and top is not None:
        folder = top / FOLDER
        described = map(read_entry, sorted(PUBLISHED.glob("*.yaml")))
        files = [(top / e.file, e) for e in described if e.file and (top / e.file).exists()]
    if folder is None:
        return []
    tables = sorted(user_path(folder).glob("*.csv"))
    return [(file, read_entry(file)) for file in tables if description_of(file)] + files
