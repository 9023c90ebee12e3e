"""`make numbers`: marks in documents, stale numbers as a diff, and a real run behind a table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from benchmarks.numbers.__main__ import ROOT, TABLES, main
from benchmarks.numbers.documents import Result, Table, marked, rewritten
from benchmarks.numbers.pictures import stale, tables_in
from benchmarks.numbers.tables import SYSTEMS, by_equation_12
from benchmarks.numbers.writing import three
from metaeval.config import build, compose_config, metric_names
from metaeval.errors import InputError
from metaeval.experiments.forced_choice.task import measure_of
from metaeval.reproduce.compare import NEEDS
from metaeval.results.base import Estimate, Measured, MetricResult
from metaeval.results.files import write_result
from metaeval.results.measured import Extra, MeasuredResult, PublishedValues
from metaeval.results.run import Measure
from metaeval.runs import files
from metaeval.runs.records import ScoreColumn
from metaeval.stats.correlation.rank_order import rank_order

TABLE = {table.name: table for table in TABLES}
PAGE = "Before.\n\n<!-- numbers: T -->\nold\n<!-- end of T -->\n\nAfter.\n"


def hello(results: list[Result]) -> str:
    return f"| {results[0].printed.strip()} |"


HELLO = Table("T", ("-c \"print('hello')\"",), hello)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("No table.\n")
    (tmp_path / "docs" / "page.md").write_text(PAGE)
    return tmp_path


def make(root: Path, *arguments: str, tables: tuple[Table, ...] = (HELLO,)) -> int:
    return main([*arguments, "--out", str(root / "out")], tables, root, ROOT)


def test_a_figure_is_drawn_with_its_table(root: Path) -> None:
    def draw(results: list[Result], file: Path) -> None:
        Image.new("RGB", (40 * len(results[0].printed), 30), "red").save(file)

    tables = (Table("T", HELLO.commands, hello, figure=draw),)
    assert make(root, "--check", tables=tables) == 1
    assert not (root / "docs" / "T.png").exists()
    assert make(root, tables=tables) == 0
    with Image.open(root / "docs" / "T.png") as image:
        assert (image.width, image.height) == (240, 30)
    assert stale(root / "docs" / "T.png", tables_in(root)) is None
    page = root / "docs" / "page.md"
    page.write_text(page.read_text().replace("hello", "good day"))
    assert stale(root / "docs" / "T.png", tables_in(root)) == "is older than the table 'T'"


def test_a_table_is_written_between_its_marks_and_a_stale_one_is_a_diff(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = root / "docs" / "page.md"
    assert make(root, "--check") == 1
    assert page.read_text() == PAGE
    printed = capsys.readouterr().out
    assert [line in printed for line in ("-old", "+| hello |")] == [True, True]
    assert make(root) == make(root, "--check") == 0
    text = page.read_text()
    assert "\n| hello |\n" in text
    assert "python -c \"print('hello')\"" in text
    assert text.startswith("Before.\n\n<!-- numbers: T -->\n")
    assert text.endswith("<!-- end of T -->\n\nAfter.\n")
    page.write_text(text.replace("hello |", "hallo |"))
    assert make(root, "--check") == 1


def test_a_command_that_fails_costs_its_tables_alone(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = root / "docs" / "other.md"
    other.write_text(PAGE.replace("T -->", "OTHER -->"))
    wrong = "-c \"raise SystemExit('no data')\""
    tables = (Table("OTHER", (HELLO.commands[0], wrong), hello), HELLO)
    assert make(root, tables=tables) == 1
    assert "| hello |" in (root / "docs" / "page.md").read_text()
    assert other.read_text() == PAGE.replace("T -->", "OTHER -->")
    said = capsys.readouterr().err
    assert "no data" in said
    assert said.endswith("not made, a command failed: OTHER\n")
    assert make(root, "--check", tables=tables) == 1


def test_only_requested_parts_run(root: Path) -> None:
    broken = Table("U", ('-c "raise SystemExit(3)"',), hello, quick=True)
    (root / "README.md").write_text("<!-- numbers: U -->\n<!-- end of U -->\n")
    assert make(root, "T", tables=(HELLO, broken)) == 0
    assert "hello" in (root / "docs" / "page.md").read_text()
    assert make(root, "--quick", tables=(HELLO, broken)) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<!-- numbers: T -->\n", "the end of the table 'T' is missing"),
        ("<!-- numbers: T -->\n<!-- end of U -->\n", "the end of the table 'T' is missing"),
        (PAGE + PAGE, "the table 'T' occurs twice"),
    ],
)
def test_marks_that_do_not_fit_together(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        marked(text, Path("page.md"))


def test_a_table_without_place_and_a_place_without_table(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "README.md").write_text("<!-- numbers: U -->\n<!-- end of U -->\n")
    assert make(root) == 2
    assert "unknown table 'U'" in capsys.readouterr().err
    (root / "README.md").write_text("")
    (root / "docs" / "page.md").write_text("")
    assert make(root) == 2
    assert "the table 'T' is in no document" in capsys.readouterr().err


def test_other_tables_stay_as_they_are() -> None:
    text = PAGE + PAGE.replace(": T", ": U").replace("of T", "of U")
    assert rewritten(text, {"U": "new\n"}) == PAGE + PAGE.replace(": T", ": U").replace(
        "of T", "of U"
    ).replace("old", "new")


def test_every_table_has_its_place_in_the_documents(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(TABLES)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1284, ".128"), (-0.0351, "−.035"), (1.0, "1.000"), (-0.0001, ".000"), (None, "–")],
)
def test_three_places(value: float | None, text: str) -> None:
    assert three(value) == text


def paper(value: float, *keys: str) -> tuple[PublishedValues]:
    """A printed value of CIDEr, by default by both kinds of τ."""
    named = dict.fromkeys(keys or ("kendall_tau_c", "kendall_tau_b"), value)
    return (PublishedValues(source="A paper", values={"CIDEr": named}),)


CHOICE, HC = measure_of(5, ""), measure_of(5, "HC")


def result_of(
    metrics: Mapping[str, Measured], declared: Sequence[Measure], **fields: Any
) -> MeasuredResult:
    """A result with these statistics of each metric; `fields` are further ones of the result."""
    return MeasuredResult(
        **{"experiment": "retrieval", "dataset": "scenes"} | fields,
        declared=tuple(declared),
        metrics=tuple(
            MetricResult(column=ScoreColumn(name), family=name, statistics=statistics)
            for name, statistics in metrics.items()
        ),
    )


TAU = "kendall_tau_c"
RATED = result_of(
    {
        name: Measured(values={TAU: Estimate(value=value, n=n)}, facts={"n": n})
        for name, value, n in (("CIDEr", 0.4, 10), ("FAIEr", 0.5, 6))
    },
    [Measure(TAU, "τ-c", group="rating")],
    experiment="judgments",
    dataset="table",
    facts={"Captions": 10},
    settings={"statistic": TAU, "dimensions": ("rating",)},
    published=paper(0.377),
)
SPREAD = {"metric": "FAIEr", "rank_order_rho_mean": 0.25, "sd_seed": 0.0014, "n": 5}
SEEDS = Extra.of("seeds", "", [SPREAD])
OF_LENGTH = [
    {"metric": metric, "system": system, "words": words, "leverage": words / 100, "rank": rank}
    | {"rank_at_equal_length": equal, "per_doubling": -0.25, "r2": 0.5}
    for metric, system, words, rank, equal in (
        ("BLEU-4 (corpus)", "long", 40.0, 2.0, 1.5),
        ("BLEU-4 (corpus)", "short", 9.0, 1.0, 1.5),
        ("CHAIR-i", "long", 40.0, 1.0, 1.0),
    )
]
# what a table shows, its name, the results of its commands, its lines
WRITTEN: dict[str, tuple[str, list[MeasuredResult], list[str]]] = {
    "each run has its table, and says what was scored by some metrics alone": (
        "flickr8k",
        [RATED, RATED],
        [
            line
            for k in (1, 2)
            for line in (
                f"**Command {k}, judgments, table.**",
                "",
                "| Metric | τ-c | τ-c, published |",
                "| --- | ---: | ---: |",
                "| FAIEr | 0.500 | – |",
                "| CIDEr | 0.400 | 0.377 |",
                "",
                "Scored: FAIEr 6, all others 10.",
                "",
            )
        ][:-1],
    ),
    "captioners, shortest first; ρ of 2015 of the metric of that name; a system without a score": (
        "equal-length",
        [
            result_of({}, [], extras=(Extra.of("equal_length", "", OF_LENGTH),)),
            result_of(
                {"BLEU-4": Measured(values={"spearman_M2": Estimate(value=0.691)})},
                [Measure("spearman_M2", "ρ")],
            ),
        ],
        [
            "| rank → at equal length (words) | short (9.0) | long (40.0) | words twice | r² "
            "| ρ with people in 2015 |",
            "|---|---:|---:|---:|---:|---:|",
            "| BLEU-4 (corpus) | 1 → 1.5 | 2 → 1.5 | −0.25 | 0.5 | 0.691 |",
            "| CHAIR-i | – | 1 → 1 | −0.25 | 0.5 | – |",
            "| *leverage* | 0.09 | 0.4 | – | – | – |",
        ],
    ),
    "people are a row": (
        "pascal50s-direct",
        [
            result_of(
                {
                    "CIDEr": Measured(
                        values={
                            CHOICE.key: Estimate(value=0.75, low=0.7, high=0.8),
                            HC.key: Estimate(value=0.5387),
                        }
                    )
                },
                [CHOICE, HC],
                people={HC.key: Estimate(value=0.6616)},
                published=paper(0.546, HC.key),
            )
        ],
        [
            "**scenes: per cent.**",
            "",
            "| Metric | Mean accuracy | HC | HC, published |",
            "| --- | ---: | ---: | ---: |",
            "| CIDEr | 75.0 [70.0, 80.0] | 53.9 | 54.6 |",
            "| People | – | 66.2 | – |",
            "",
        ],
    ),
    "an extra with the columns that are asked for": (
        "seeds",
        [result_of({"FAIEr": Measured(values={})}, [], extras=(SEEDS,))],
        [
            "retrieval:",
            "",
            "| metric | rank_order_rho_mean | sd_image | sd_seed | sd_ties | published "
            "| published_sd |",
            "|---|---:|---:|---:|---:|---:|---:|",
            "| FAIEr | 0.25 | – | 0.0014 | – | – | – |",
        ],
    ),
    "published": (
        "published",
        [
            MeasuredResult(
                experiment="reproduce",
                dataset="several",
                metrics=(),
                declared=(),
                facts={},
                extras=(
                    Extra.of(
                        "overview",
                        "",
                        [
                            {
                                "metric": "A",
                                "X": "1 1.2 ✓ within",
                                "Y": "3 4 other model",
                                NEEDS: "",
                            },
                            {
                                "metric": "B",
                                "X": "5 –",
                                "Y": "",
                                NEEDS: "no image; looked in /a, /b",
                            },
                        ],
                    ),
                    Extra.of(
                        "values",
                        "",
                        [
                            {"metric": "A", "verdict": "within", "reason": "draws"},
                            {
                                "metric": "B",
                                "verdict": "not run",
                                "reason": "no image; looked in /a, /b; go",
                            },
                            {"metric": "B", "verdict": "not run", "reason": "no weights"},
                            {"metric": "C", "verdict": "not run", "reason": "no weights"},
                        ],
                    ),
                ),
            )
        ],
        [
            "| printed, ours | X | Y |",
            "|---|---:|---:|",
            "| A | 1 1.2 (✓) | 3 4 ° |",
            "| B | 5 – |  |",
            "",
            "- B: no image; go",
            "- B: no weights",
        ],
    ),
}


@pytest.mark.parametrize(("name", "results", "lines"), WRITTEN.values(), ids=list(WRITTEN))
def test_a_table_is_written_from_results(
    name: str, results: list[MeasuredResult], lines: list[str], tmp_path: Path
) -> None:
    folders = [tmp_path / str(k) for k in range(len(results))]
    for folder, result in zip(folders, results, strict=True):
        write_result(folder / files.STATISTICS, result)
    made = TABLE[name].write([Result(folder, "") for folder in folders])
    assert made.splitlines() == lines


def test_every_system_names_a_metric_or_says_why_not() -> None:
    known = set(metric_names())
    for name, system in SYSTEMS.items():
        assert system.get("metric") in {*known, None}
        assert "column" in system or "note" in system, name
        assert set(system["papers"]) <= set("GTVF")


def test_a_system_without_regions_on_pascal_is_read_from_its_text_column() -> None:
    """The names are those that the metric gives its columns."""
    system = SYSTEMS["LearnToEval"]
    for more, column in (((), "column"), (("metric.learn_to_eval.variant=text",), "pascal")):
        config = compose_config(["metric=[learn_to_eval]", *more])
        assert [c.name for c in build("learn_to_eval", config).columns] == [system[column]]


@pytest.mark.parametrize("k", [2, 4])
def test_equation_12_taken_literally_on_midranks(k: int) -> None:
    """The sum of the squared differences of scipy's midranks, put into the paper's formula."""
    rng = np.random.default_rng(k)
    ideal = np.repeat(np.arange(k), 30)
    n = len(ideal)
    order = rng.permutation(ideal)  # the levels read off in order of score
    table = np.empty((30, k))
    for level in range(k):
        table[:, level] = np.flatnonzero(order == level)  # an item's score is its place
    rho = rank_order(table, range(k)).rho
    squares = ((stats.rankdata(order) - stats.rankdata(ideal)) ** 2).sum()
    assert by_equation_12(rho, n, k) == pytest.approx(1 - 6 * squares / (n * (n**2 - 1)), abs=1e-12)
    assert by_equation_12(rho, n, k) > rho + 0.01
