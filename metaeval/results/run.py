"""The result of a run (`statistics.json`), and facts of the run itself (`run.json`)."""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic.dataclasses import dataclass

from metaeval.results.base import Model, Number
from metaeval.stats.resampling.bootstrap import MIN_UNITS

SCHEMA: Final = 2


@dataclass(frozen=True)
class Measure:
    """A number of a metric that tables, sweeps and `trust` compare.

    Attributes
    ----------
    key
        Its name in sweep.csv.
    title
        Its name for readers.
    shown
        Whether the page and the printout show it.
    unit
        "share" (in [0, 1], shown as a percentage), "score" (three decimals), "percent" (a
        correlation times 100, as the field prints it), "count" or "p" (a p-value).
    best
        Which value is better; "neither" for what describes the data: it is never marked.
    group
        What it is a number of, where several things are measured alike: a dimension of ratings. The
        shown measures of a group are a table of their own; so are hidden ones, folded.
    primary
        Whether it answers the question of the experiment, as the first declared one of its group
        does.
    """

    key: str
    title: str
    shown: bool = True
    unit: Literal["share", "score", "percent", "count", "p"] = "score"
    best: Literal["highest", "lowest", "neither"] = "highest"
    group: str = ""
    primary: bool = False

    @property
    def full_title(self) -> str:
        """The title with the group, for where other groups are near."""
        return f"{self.title}, {self.group}" if self.group else self.title


class RecordCounts(Model):
    """How many records a file had, and how many were used or left out."""

    read: int
    used: int
    left_out: int
    refused: int


class LanguageInfo(Model):
    """The language of a dataset's captions.

    Attributes
    ----------
    code
        ISO 639-1: "de"; `None` where it was not detected.
    given
        Whether the dataset declares it (`dataset.language`); otherwise it was detected.
    """

    code: str | None
    given: bool


class DatasetInfo(Model):
    """The dataset of a run.

    Attributes
    ----------
    n_images, n_captions
        Its size; a run over a stream of captions counts these, the others count images.
    n_references
        The numbers of references that occur, ascending.
    sources
        File → SHA-256.
    notes
        What was changed or left out of the input.
    fallback
        Why it is another dataset than the requested one.
    records
        How many records of its files were used or left out.
    systems
        Captioner → how many of its captions were used or left out.
    language
        The language of its captions; `None` where the run did not ask for it.
    """

    name: str
    n_images: int | None = None
    n_captions: int | None = None
    n_empty: int | None = None
    n_references: tuple[int, ...] = ()
    sources: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()
    fallback: str | None = None
    records: RecordCounts | None = None
    systems: Mapping[str, RecordCounts] | None = None
    language: LanguageInfo | None = None

    @property
    def too_few(self) -> str | None:
        """Of a dataset with too few images for intervals and tests by resampling: how few."""
        if self.n_images is None or self.n_images >= MIN_UNITS:
            return None
        return f"too few images ({self.n_images} < {MIN_UNITS})"


class PublishedInfo(Model):
    """What a paper reports for this experiment, to compare with the run's numbers.

    `rank_order_rho` maps a metric's column to the published value, if the run is `comparable`;
    otherwise it is empty, and `why_not` says why (another dataset, other rates).
    """

    source: str
    comparable: bool
    why_not: str | None = None
    rank_order_rho: Mapping[str, float] = {}


class CorruptionInfo(Model):
    """How often one corruption could be applied, and why not elsewhere."""

    set: str
    name: str
    kind: str
    expected: str
    severity: str | None = None
    experimental: bool = False
    n: int
    n_applied: int
    mean_share_changed: Number
    median_edits: Number
    reasons: Mapping[str, int]


class ExperimentInfo(Model):
    """The experiment's name, its title and its question."""

    name: str
    title: str
    question: str


class StageInfo(Model):
    """A stage of the run, its wall-clock seconds, and why it failed, where it did."""

    name: str
    seconds: float
    error: str | None = None


class FamilyInfo(Model):
    """The work of one metric: seconds, items computed, from the cache, damaged in the cache; and
    what was found about its scores."""

    metric: str
    seconds: float | None = None
    n_scored: int = 0
    n_cached: int = 0
    n_damaged: int = 0
    note: str | None = None


class GitInfo(Model):
    """The commit of the checkout, and whether it had uncommitted changes."""

    commit: str
    dirty: bool


class RunInfo(Model):
    """`run.json`: the command, the machine, the data, the stages and how the run ended.

    Attributes
    ----------
    status
        "unfinished", "finished" or "failed".
    error
        Why it failed, in one line.
    files
        What runs wrote into the folder; the next one there removes it. `None` in earlier versions.
    corruption, corruptions
        Facts about the corruption of a graded run; one entry each of a sensitivity run.
    """

    schema_version: Literal[2] = SCHEMA
    status: Literal["unfinished", "finished", "failed"]
    error: str | None = None
    command: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    working_directory: str = ""
    started: str | None = None
    finished: str | None = None
    seed: int | None = None
    metaeval: str | None = None
    git: GitInfo | None = None
    python: str | None = None
    platform: str | None = None
    cpu_count: int | None = None
    packages: Mapping[str, str] = {}
    java: str | None = None
    cuda: str | None = None
    device: str | None = None
    experiment: ExperimentInfo | None = None
    dataset: DatasetInfo | None = None
    corruption: Mapping[str, str | int | float | bool | None] | None = None
    corruptions: tuple[CorruptionInfo, ...] | None = None
    published: PublishedInfo | None = None
    stages: tuple[StageInfo, ...] = ()
    metrics: tuple[FamilyInfo, ...] = ()
    files: tuple[str, ...] | None = None


class ColumnSum(Model):
    """The number of the scores of a column in a block, and their sum; NaN left out."""

    n: int
    sum: float


class BlockEntry(Model):
    """One scored block, as the manifest and the metadata of its file describe it.

    Attributes
    ----------
    part
        The name of its file.
    request
        The digest of the run's tables, block size and signatures.
    captions
        The digest of its rows.
    first_row, rows
        The number of its first row, and how many it has.
    failed
        Metric → the reason why it failed in this block.
    columns
        Column → its scores.
    """

    part: str
    request: str
    captions: str
    first_row: int
    rows: int
    failed: Mapping[str, str] = {}
    columns: Mapping[str, ColumnSum] = {}


class SourceFile(Model):
    """A table of captions that was scored."""

    file: str
    sha256: str


class Manifest(Model):
    """`scores/_manifest.json`: the blocks of a run in the order of their rows.

    `signatures` maps a column to the signature of its scores, `block` is the size of a block.
    """

    schema_version: Literal[1] = 1
    request: str
    block: int
    files: tuple[SourceFile, ...]
    signatures: Mapping[str, str]
    parts: tuple[BlockEntry, ...] = ()
