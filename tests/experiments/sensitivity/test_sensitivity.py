"""`experiment=sensitivity`: its numbers by hand and image by image, and its files."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from metaeval.choices import list_choices
from metaeval.errors import ConfigError
from metaeval.experiments.measure import Outcomes
from metaeval.experiments.sensitivity.profile import (
    NO_OP,
    REFERENCE,
    REWRITE,
    MeanAuc,
    auc_of_sets,
    by_kind,
    cell_verdict,
    rewrites_above,
    severity_order,
    sort_of_rewrite,
    summarised,
)
from metaeval.experiments.sensitivity.statistics import KIND, POSITIVES, Tables
from metaeval.experiments.sensitivity.task import suite
from metaeval.reports.shared.run import load_run_files
from metaeval.results.base import Estimate
from metaeval.results.files import read_info
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import CorruptionInfo
from metaeval.runs import files as results
from metaeval.runs.records import HUMAN
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from tests.corruptions.language.captions import dataset
from tests.experiments.judgments.test_controls import p_of
from tests.shared import run_here

CHOSEN = "[wrong_colour,typos,repeat_caption,empty,lower_case,there_is,truth_replace_object,random]"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sensitivity")
    run_here(
        folder, "experiment=sensitivity", "dataset=scenes", "dataset.n=40",
        f"task.corruptions={CHOSEN}",
        "metrics=[bleu,rouge_l,length,bigram_model]", "stats.replicates=200", "report=none",
    )  # fmt: skip
    return folder / "OUT"


@pytest.fixture(scope="module")
def result(run: Path) -> MeasuredResult:
    return load_run_files(run).result


def profile(result: MeasuredResult, metric: str) -> dict[str, dict[str, Any]]:
    """Set → the numbers of a metric."""
    cells = result.extra("profile").records
    return {cell["set"]: cell for cell in cells if cell["metric"] == metric}


def test_the_profile_is_what_scores_say(run: Path, result: MeasuredResult) -> None:
    """AUC and detection of a cell, counted again from the two Parquet files."""
    captions = results.read_run_table(run / results.CAPTIONS).query("applied")
    scores = results.read_run_table(run / results.SCORES).query("metric == 'ROUGE-L'")
    rouge = scores.set_index(["image_id", "set"])["score"]
    for name in ("Typing errors 30%", "Colour", "Small letters"):
        changed = captions.loc[captions["set"] == name, "image_id"]
        gaps = np.array([rouge[i, HUMAN] - rouge[i, name] for i in changed])
        cell = profile(result, "ROUGE-L")[name]
        assert cell["n"] == len(gaps) > 5
        won, tied = (gaps > 0).mean(), (gaps == 0).mean()
        expected = {"detected": won, "tied": tied, "auc": won + tied / 2, "cost": gaps.mean()}
        assert {key: cell[key] for key in expected} == pytest.approx(expected, abs=1e-12)
    assert {"Length", "Bigram model"} < set(result.extra("auc").columns)


def test_p_values_are_corrected_over_the_whole_table(result: MeasuredResult) -> None:
    cells = result.extra("profile").records
    pairs = [(c["p"], c["p_adjusted"]) for c in cells if c["p"] is not None]
    assert all(adjusted >= p for p, adjusted in pairs)
    smallest, adjusted = min(pairs)
    assert adjusted == pytest.approx(min(1, len(pairs) * smallest))


def test_scenes_corruptions_are_in_it(run: Path, result: MeasuredResult) -> None:
    sets = read_info(run / results.RUN).corruptions or ()
    assert {entry.kind for entry in sets} >= {"truth", "harmless", "attributes"}
    captions = results.read_run_table(run / results.CAPTIONS)
    made = captions.groupby("set")["applied"].sum().drop(HUMAN).to_dict()
    assert {e.set: (e.n, e.n_applied, sum(e.reasons.values())) for e in sets} == {
        name: (40, n, 40 - n) for name, n in made.items()
    }
    shown = result.extra("sets").records
    assert {row["set"]: (row["n_applied"], bool(row["reasons"])) for row in shown} == {
        name: (n, n < 40) for name, n in made.items()
    }
    assert min(made.values()) < max(made.values()) == 40  # both kinds occur


def test_what_is_missed_is_counted_and_shown(result: MeasuredResult) -> None:
    kinds = {entry["set"]: entry["expected"] for entry in result.extra("sets").records}
    shown = {line["metric"]: line for line in result.extra("verdicts").records}
    for name in ("ROUGE-L", "Length"):
        cells, numbers = profile(result, name), result.metric(name).numbers
        missed = [kinds[n] for n, c in cells.items() if c["verdict"] in ("blind", "prefers")]
        undecided = [kinds[n] for n, c in cells.items() if c["verdict"] == "unsure"]
        counts = (numbers.value("missed"), missed.count("lower"), bool(shown[name]["misses"]))
        assert counts == (len(missed), len(missed), bool(missed))
        counts = [numbers.facts[f"undecided_{what}"] for what in ("harm", "harmless")]
        assert counts == [undecided.count("lower"), undecided.count("same")]


def test_every_mark_has_a_test_of_its_own_statistic(result: MeasuredResult) -> None:
    # no rewrite of these changes two content words: nothing to compare
    n_pairs = {key: len(compared.pairs) for key, compared in result.comparisons.items()}
    assert n_pairs == {"mean_auc": 10, "severity_order": 10}
    for key in n_pairs:
        value = {m.name: m.numbers.value(key) for m in result.metrics}
        for pair in result.comparisons[key].pairs:  # every metric scores every caption
            gap = value[pair.a] - value[pair.b]
            assert pair.difference.value == pytest.approx(gap, abs=1e-6)  # of 20 bits
    against = result.controls["mean_auc"]
    assert against.control_value == result.metric(against.control).numbers.value("mean_auc")


def entry(
    name: str,
    kind: str,
    expected: str = "lower",
    edits: float = 1.0,
    severity: str | None = "major",
    of: str | None = None,
    experimental: bool = False,
) -> CorruptionInfo:
    return CorruptionInfo(
        set=name, name=of or name, kind=kind, expected=expected, severity=severity,
        experimental=experimental, n=2, n_applied=2, mean_share_changed=None, median_edits=edits,
        reasons={},
    )  # fmt: skip


PAIR = [entry("a", "objects"), entry("c", "harmless", "same")]


@pytest.mark.parametrize(
    ("table", "sorts", "sort", "expected"),
    [
        # image 1: c above a, 2: equal, 3: below; the fourth column is of form, and no near-copy
        ([[9, 1, 2, 0], [9, 3, 3, 0], [9, 5, 4, 0]], [REWRITE] * 3, REWRITE, (3, 0.5)),
        ([[9, 1, 2, 0], [9, 3, 3, 0], [9, 5, 4, 0]], [REWRITE] * 3, NO_OP, (0, None)),
        ([[9, 1, 2, 0], [9, 3, 3, 0], [9, 5, np.nan, 0]], [REWRITE] * 3, REWRITE, (2, 0.75)),
        # image 1 has a no-op that costs nothing, image 2 a rewrite that loses: 0, not ½
        ([[9, 5, 9, 0], [9, 5, 1, 0]], [NO_OP, REWRITE], REWRITE, (1, 0)),
        ([[9, 5, 9, 0], [9, 5, 1, 0]], [NO_OP, REWRITE], NO_OP, (1, 1)),
    ],
)
def test_hard_positives_by_hand(
    table: list[list[float]], sorts: list[int], sort: int, expected: tuple[int, float | None]
) -> None:
    sets = [*PAIR, entry("b", "spelling")]
    of_sets = np.stack([np.full(len(sorts), -1), sorts, np.full(len(sorts), -1)], axis=1)
    made = rewrites_above(np.array(table, dtype=float), sets, of_sets, sort)
    known = made[~np.isnan(made)]
    assert (len(known), known.mean() if len(known) else None) == expected


@pytest.mark.parametrize(
    ("changed", "sort"),
    [
        ("a black dog runs on the grass", NO_OP),  # capitals and full stop
        ("“A black dog runs on the grass.”", NO_OP),  # quotes
        ("A black dog is running on the grass.", NO_OP),  # one content word
        ("There is a black dog which runs on grass.", NO_OP),  # function words
        ("On the grass a black dog runs.", REWRITE),
        ("A black puppy sprints on the grass.", REWRITE),
        ("a dog outside!", REFERENCE),
    ],
)
def test_sorts_of_rewrites_by_hand(changed: str, sort: int) -> None:
    human = "A black dog runs on the grass."
    assert sort_of_rewrite(human, changed, ["A dog outside"]) == sort


NAN = float("nan")


@pytest.mark.parametrize(
    ("auc", "low", "high", "p", "n", "expected", "said"),
    [
        (0.8, 0.7, 0.9, 0.01, 100, "lower", "sees"),
        (0.8, 0.45, 0.9, 0.2, 100, "lower", "unsure"),
        (0.5, 0.45, 0.59, 1.0, 100, "lower", "blind"),
        (0.56, 0.53, 0.59, 0.01, 100, "lower", "sees"),  # hardly, but significantly: never "blind"
        (0.56, 0.53, 0.59, 0.05, 100, "lower", "blind"),  # not below alpha
        (0.5, 0.5, 0.5, 1.0, 19, "lower", "unsure"),  # too few to say so
        (0.2, 0.1, 0.3, 0.01, 100, "lower", "prefers"),
        (0.8, 0.7, 0.9, 0.01, 100, "same", "punishes"),
        (0.56, 0.53, 0.59, 0.01, 100, "same", "punishes"),
        (0.2, 0.1, 0.3, 0.01, 100, "same", "rewards"),
        (0.5, 0.42, 0.58, 1.0, 100, "same", "spares"),
        (0.4, 0.3, 0.58, 1.0, 100, "same", "unsure"),
        (NAN, NAN, NAN, NAN, 0, "lower", "unsure"),
    ],
)
def test_verdicts_by_hand(
    auc: float, low: float, high: float, p: float, n: int, expected: str, said: str
) -> None:
    assert cell_verdict(Estimate(value=auc, low=low, high=high, n=n), p, expected, 0.05) == said


def test_every_kind_has_the_same_weight_and_experimental_sets_none() -> None:
    """Three sets of one kind with AUC 1, one of another with 0: 0.5, not 0.75."""
    sets = [entry(f"w{k}", "words") for k in range(3)]
    sets += [entry("p", "people"), entry("x", "logic", experimental=True)]
    table = np.array([[5.0, 1, 1, 1, 9, 1], [5.0, 1, 1, 1, 9, 1]])
    by_set = partial(auc_of_sets, counts=bootstrap_counts(2, 20, 0))
    groups = by_kind(sets, summarised(sets))
    of_kinds = {kind: MeanAuc(by_set, [group]).of(table).value for kind, group in groups.items()}
    of_kinds["mean"] = MeanAuc(by_set, groups.values()).of(table).value
    assert of_kinds == {"words": 1, "people": 0, "mean": 0.5}
    assert MeanAuc(by_set, []).estimate(table, 0.95).value is None


def test_the_order_of_severities_by_hand() -> None:
    """Image 1: milder above severer in both pairs; image 2: a tie and a loss."""
    sets = [
        entry("mild", "words", severity="mild"), entry("major", "objects"),
        entry("critical", "objects", severity="critical"),
        entry("same", "harmless", "same", severity="none"),
    ]  # fmt: skip
    table = np.array([[9.0, 5, 3, 1, 9], [9.0, 3, 3, 4, 9]])
    # words: (1 + 1) / 2 and (½ + 0) / 2; objects: major above critical 1 and 0
    expected = ((1 + 1) / 2 + (0.25 + 0) / 2) / 2
    assert severity_order(table, sets).mean() == pytest.approx(expected)
    one = [entry("a", "words"), entry("b", "objects")]
    assert np.isnan(severity_order(table[:, :3], one)).all()


def test_every_file_is_in_the_suite_of_scenes_alone_where_it_needs_the_truth() -> None:
    made, known = suite(dataset()), set(list_choices("corruption"))
    some = {"wrong_colour", "there_is", "replace", "random"}
    assert some < {c.name for c in made} < known - {"callable", "file", "mixture"}
    assert {c.kind for c in suite(dataset(), ["logic"])} == {"logic"}
    n_labels, needs = len({c.label for c in made}), [c.name for c in made if c.needs]
    assert (n_labels, needs) == (len(made), [])
    with pytest.raises(ConfigError, match="unknown corruption 'colour'"):
        suite(dataset(), ["colour"])


N, REPLICATES = 40, 200
COUNTS = bootstrap_counts(N, REPLICATES, 0)


SETS = [entry("a", "objects"), entry("b", "objects"), entry("c", "harmless", "same")]


def outcomes(tables: dict[str, np.ndarray]) -> dict[str, Outcomes]:
    sorts = np.full((N, 3), REWRITE, dtype=np.int8)
    by_set = partial(auc_of_sets, counts=COUNTS)
    made = Tables(tables, SETS, sorts, COUNTS, by_set, 0.95, {"objects": [0, 1]})
    return {each.measure.key: each for each in made.outcomes()}


def scores(seed: int, shift: float) -> np.ndarray:
    table = np.random.default_rng(seed).normal(size=(N, 4))
    table[:, 0] += shift
    return table


def drawn_auc(table: np.ndarray, images: np.ndarray) -> float:
    """The mean over the two sets of how often the human caption is above, over some images."""
    return float(np.mean([np.nanmean(
        np.where(np.isnan(table[images, k]), np.nan, table[images, 0] > table[images, k])
    ) for k in (1, 2)]))  # fmt: skip


@pytest.mark.parametrize("gaps", [False, True])
def test_a_difference_and_its_p_are_those_of_resampled_images(gaps: bool) -> None:
    """Without ties AUC is a share of images; a caption that one cannot score counts for neither."""
    a, b = scores(1, 1.0), scores(2, 0.4)
    if gaps:
        b[:7, 1] = np.nan
    test = outcomes({"A": a, "B": b})[KIND + "objects"].test("A", "B", 0.95)
    common = np.where(np.isnan(b), np.nan, a)
    draws = [np.repeat(np.arange(N), counts) for counts in COUNTS]
    replicates = [drawn_auc(common, d) - drawn_auc(b, d) for d in draws]
    expected = drawn_auc(common, np.arange(N)) - drawn_auc(b, np.arange(N))
    p = pytest.approx(p_of(expected, replicates, N), rel=1e-9)
    # sums of halves are exact
    assert (test.difference, test.p) == (pytest.approx(expected, abs=1e-12), p)


def test_rewrites_are_compared_on_the_same_images() -> None:
    """Two near-copies an image: its value is the mean of two comparisons."""
    a, b = scores(3, 0.0), scores(4, 0.0)
    test = outcomes({"A": a, "B": b})[POSITIVES].test("A", "B", 0.95)
    gaps = np.subtract(*((of[:, [3]] > of[:, 1:3]).mean(axis=1) for of in (a, b)))
    assert test.difference == pytest.approx(gaps.mean(), abs=1e-6)
    drawn = [np.average(gaps, weights=c) for c in COUNTS]
    error, moved = np.std(drawn, ddof=1) * np.sqrt(N / (N - 1)), np.count_nonzero(gaps)
    assert moved < N  # images in which both are right as often say nothing
    assert test.p == pytest.approx(2 * t.sf(abs(test.difference) / error, moved - 1))
