"""Battles: agreement by hand, rankings, PASCAL-50S and AudioCaps-Eval as battles, judges."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from metaeval.errors import ConfigError
from metaeval.experiments.trust.findings import evidence_of
from metaeval.reports.measured import write_report
from metaeval.results.files import CEILING, read_resampled
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files
from metaeval.runs.answers import ANSWERS
from metaeval.stats.preference.bradley_terry import bradley_terry
from tests.data.judgments.test_judgments import pascal50s
from tests.data.pairs import test_iiw
from tests.experiments.judgments.test_judgments import run_any
from tests.loopback import LoopbackEndpoint
from tests.shared import write_lines

SMALL = ("stats.replicates=200", "report=none")


def run_arena(folder: Path, *overrides: str, out: str = "OUT") -> MeasuredResult:
    return run_any(folder, *SMALL, *overrides, experiment="arena", out=out)


def battles_file(folder: Path) -> Path:
    """Six battles; ROUGE-L of a caption equal to the reference is 1, of one without its words 0."""
    rows = [
        ("i1", "a dog runs", "some cat", "first", "one", "two"),  # ROUGE-L right
        ("i1", "some cat", "a dog runs", "first", "two", "one"),  # wrong
        ("i2", "a dog runs", "some cat", "tie", "one", "three"),  # no winner: 1/2
        ("i2", "some cat", "other bird", "second", "two", "three"),  # ROUGE-L ties: 1/2
        ("i3", "a dog runs far away", "some cat", "first", "one", "three"),  # right
        ("i3", "a dog runs", "some cat", "", "one", "two"),  # not judged
    ]
    keys = ("image_id", "first", "second", "winner", "first_system", "second_system")
    records = [{**dict(zip(keys, row, strict=True)), "references": ["a dog runs"]} for row in rows]
    return write_lines(folder / "battles.jsonl", records)


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        # decided and equally long ones, too: captions within one word are all except the longest
        ("half", {"agreement": (3 / 5, 4), "decided": (2.5 / 4, 3), "ties": (1 / 5, None),
                  "equal_length": (2 / 4, 3)}),
        ("wrong", {"agreement": (2 / 5, 4)}),
        ("drop", {"agreement": (2.5 / 4, 3)}),
    ],
)  # fmt: skip
def test_agreement_by_hand(
    tmp_path: Path, ties: str, expected: dict[str, tuple[float, int | None]]
) -> None:
    path = battles_file(tmp_path)
    result = run_arena(
        tmp_path, "dataset=battles", f"dataset.file={path}", "dataset.own_captions=keep",
        "metrics=[rouge_l,length]", f"dataset.ties={ties}",
    )  # fmt: skip
    numbers = result.metric("ROUGE-L").numbers
    made = {name: (numbers.value(name), numbers[name].n) for name in expected}
    assert made == {name: (pytest.approx(value), n) for name, (value, n) in expected.items()}
    # the first two rows are two votes on one pair
    facts = {"Battles": 4, "Votes": 5, "Without a winner": 1}
    assert {name: result.facts[name] for name in facts} == facts
    table = pd.read_parquet(tmp_path / "OUT" / files.JUDGMENTS)
    assert table["first_system"].tolist()[:2] == ["one", "two"]
    assert np.isnan(table["winner"][5])


def random_battles(folder: Path, n: int = 300) -> Path:
    """Four systems of known strength; the longer caption is of the stronger system."""
    rng = np.random.default_rng(0)
    names = np.array(["p", "q", "r", "s"])
    strength = np.array([1.5, 0.5, -0.5, -1.5])
    rows = []
    for k in range(n):
        a, b = rng.choice(4, 2, replace=False)
        won = rng.random() < 1 / (1 + np.exp(strength[b] - strength[a]))
        texts = [" ".join(["word"] * int(6 + 2 * strength[s] + rng.integers(2))) for s in (a, b)]
        rows.append({
            "image_id": f"{k % 50}", "first": texts[0], "second": texts[1],
            "winner": "A" if won else "B", "first_system": str(names[a]),
            "second_system": str(names[b]), "references": ["a word"],
        })  # fmt: skip
    path = folder / "random.csv"
    table = pd.DataFrame(rows)
    table["references"] = table["references"].map(json.dumps)
    table.to_csv(path, index=False)
    return path


def test_the_ranking_of_systems_and_a_metrics(tmp_path: Path) -> None:
    path = random_battles(tmp_path)
    result = run_arena(
        tmp_path, "dataset=battles", f"dataset.file={path}", "dataset.image_source=other",
        "metrics=[rouge_l,length,brevity]",
    )  # fmt: skip
    systems = result.extra("systems").frame()
    assert systems[["system", "rank"]].values.tolist() == [["p", 1], ["q", 2], ["r", 3], ["s", 4]]
    assert systems["won"].sum() == systems["lost"].sum() == 300
    table, strengths = pd.read_csv(path), systems["strength"].tolist()
    won = (table["winner"] == "A").to_numpy(float)
    fit = bradley_terry(table["first_system"], table["second_system"], won, table["image_id"])
    assert strengths == pytest.approx(fit.strength.tolist())
    length, brevity = (result.metric(name).numbers for name in ("Length", "Brevity"))
    own = result.extra("strengths").frame().pivot(index="metric", columns="system")["strength"]
    of_length = own.loc["Length", list("pqrs")].tolist()
    rho = length.value("systems_spearman")
    assert rho == pytest.approx(stats.spearmanr(of_length, strengths).statistic)
    assert (rho, sum(of_length)) == (1, pytest.approx(0, abs=1e-9))
    keys = ("spearman", "kendall_tau_b", "accuracy")
    assert [brevity.value(f"systems_{key}") for key in keys] == [-1, -1, 0]
    page = write_report(tmp_path / "OUT", figures=False).read_text(encoding="utf-8")
    assert [part for part in ("Systems by the winners", "Systems ρ") if part not in page] == []
    csv = (tmp_path / "OUT" / files.TABLES / "systems.csv").read_text(encoding="utf-8")
    assert [line[0] for line in csv.splitlines()] == ["S", "p", "q", "r", "s"]


def agreements(result: MeasuredResult) -> dict[str, tuple[float | None, int | None]]:
    """The value and n of each measure of agreement of length."""
    values = result.metric("Length").numbers.values
    return {key: (e.value, e.n) for key, e in values.items() if key.startswith("agreement")}


def raters(result: MeasuredResult) -> object:
    """How far two ratings agree, of how many pairs of ratings; the number of raters; the note."""
    people = result.people["agreement"]
    return people.value, people.n, result.facts["Raters"], result.notes[-1]


NO_SYSTEMS = "Systems are not ranked: the systems of the battles are not known."


@pytest.mark.parametrize(
    ("lines", "read", "expected"),
    [
        # the same battle written in both orders is one battle: 1, 1 and 0 make 1/3 agreement
        ("rater\n1,a dog,a cat,first,ann\n1,a dog,a cat,first,bob\n1,a cat,a dog,first,eve\n"
         "2,a dog,a cat,tie,ann\n2,a dog,a cat,first,bob\n", raters,
         ((1 + 0 + 0 + 0.5) / 4, 4, 3, NO_SYSTEMS)),
        # Ann says first and tie (mean .75), Bob second: agreement 1 − .75, of one pair
        ("rater\n1,a dog,a cat,first,ann\n1,a cat,a dog,tie,ann\n1,a dog,a cat,second,bob\n"
         "2,a dog,a cat,first,ann\n2,a dog,a cat,first,ann\n", raters, (0.25, 1, 2, NO_SYSTEMS)),
        # categories in the order of the file
        ("category\n" + "".join(
            f"{k},a dog runs,a cat,{'first' if k % 2 else 'second'},"
            f"{'all battles' if k % 2 else 'other'}\n" for k in range(8)
        ), agreements, {"agreement": (0.5, 8), "agreement_other": (0.0, 4),
                        "agreement_all battles": (1.0, 4)}),
        # two parts of the systems, and no ranking
        ("first_system,second_system\n1,a dog,the cat sat,first,p,q\n"
         "2,a dog,the cat sat,first,r,s\n",
         lambda r: (r.notes[-1][:43], "systems_spearman" in r.metric("Length").numbers.values),
         ("Systems are not ranked: no battle connects ", False)),
        # one image has no interval
        ("first_system,second_system\n1,a dog runs,a cat,first,p,q\n",
         lambda r: (
             [(s["strength_low"], s["rank"]) for s in r.extra("systems").records],
             r.metric("Length").numbers["agreement"].interval,
         ), ([(None, 1), (None, 1)], None)),
    ],
    ids=["raters", "mean of a rater", "category", "unconnected", "one"],
)  # fmt: skip
def test_a_few_battles(
    lines: str, read: Callable[[MeasuredResult], object], expected: object, tmp_path: Path
) -> None:
    path = tmp_path / "b.csv"
    path.write_text(f"image_id,first,second,winner,{lines}")
    result = run_arena(
        tmp_path, "dataset=battles", f"dataset.file={path}", "dataset.image_source=other",
        "metrics=[length]",
    )  # fmt: skip
    assert read(result) == expected


def test_battles_without_a_winner_change_nothing(tmp_path: Path) -> None:
    """Unjudged battles of the same images, with a further system: only judged ones are counted."""
    rows = pd.read_csv(random_battles(tmp_path, 120))
    # in these the weaker system has the longer caption, and a system of no other battle
    more = rows.assign(
        first=rows["second"], second=rows["first"], winner=None,
        first_system=["new" if k % 2 else s for k, s in enumerate(rows["first_system"])],
    )  # fmt: skip
    results = []
    for name, table in (("judged", rows), ("more", pd.concat([rows, more]))):
        path = tmp_path / f"{name}.csv"
        table.to_csv(path, index=False)
        results.append(
            run_arena(tmp_path, "dataset=battles", f"dataset.file={path}",
                      "dataset.image_source=other", "metrics=[rouge_l,length]", out=name)
        )  # fmt: skip
    before, after = results
    assert after.facts == before.facts
    for name in ("systems", "ranking", "strengths"):
        assert after.extra(name) == before.extra(name)
    rho = [
        [r.metric(m).numbers["systems_spearman"] for m in ("ROUGE-L", "Length")] for r in results
    ]
    assert rho[0] == rho[1]


def test_pascal50s_as_battles_agrees_with_forced_choice(tmp_path: Path) -> None:
    pascal50s(tmp_path)
    options = ("dataset=pascal50s", f"dataset.root={tmp_path}", "dataset.labels=direct",
               "dataset.draws=2", "metrics=[rouge_l,length]")  # fmt: skip
    result = run_arena(tmp_path, *options)
    forced = run_any(tmp_path, *SMALL, *options, experiment="forced_choice", out="FORCED")
    for name in ("ROUGE-L", "Length"):
        for category in ("HC", "MM"):
            accuracy = forced.metric(name).numbers[f"agreement_5_{category}"]
            mine = result.metric(name).numbers[f"agreement_{category}"]
            assert mine.value == pytest.approx(accuracy.value, abs=1e-12)


def test_aspects_are_categories_of_both_experiments_and_tests_of_one_use(tmp_path: Path) -> None:
    """The second description is longer; the first one wins by two aspects, one is a tie."""
    lines = [{**test_iiw.DOCCI[0], "image": f"test_{k}"} for k in range(12)]
    write_lines(tmp_path / "docci_test.jsonl", lines)
    options = ("dataset=iiw", f"dataset.root={tmp_path}", "dataset.subsets=[docci_test]",
               "metrics=[length]")  # fmt: skip
    arena = run_arena(tmp_path, *options)
    forced = run_any(tmp_path, *SMALL, *options, experiment="forced_choice", out="FORCED")
    expected = dict(zip(test_iiw.ORDER, (0.0, 0.0, 0.5, 1.0, 1.0), strict=True))
    for result, key in ((arena, "agreement_"), (forced, "agreement_0_")):
        values = result.metric("Length").numbers.values
        assert {k: e.value for k, e in values.items() if k.startswith(key)} == {
            key + aspect: value for aspect, value in expected.items()
        }
        assert [m.title for m in result.declared if m.title in expected] == list(expected)
    assert "Equal length" not in [
        *(m.title for m in arena.declared),
        *(n[:12] for n in arena.notes),
    ]
    assert [(t.source, t.part, t.key) for t in evidence_of(arena)] == [
        ("arena.aspects", aspect, f"agreement_{aspect}") for aspect in expected
    ]
    resampled = read_resampled(tmp_path / "OUT" / files.REPLICATES)
    best = {r.measure: r.value for r in resampled if r.column == CEILING}
    assert [best[f"agreement_{aspect}"] for aspect in expected] == [1, 1, 0.5, 1, 1]


def test_what_is_not_for_battles_is_refused(tmp_path: Path) -> None:
    path = battles_file(tmp_path)
    with pytest.raises(ConfigError, match=r"task.winner: unknown column 'CIDEr'"):
        run_arena(tmp_path, "dataset=battles", f"dataset.file={path}", "metrics=[rouge_l]",
                  "task.winner=CIDEr")  # fmt: skip
    write_lines(path, [{**json.loads(line), "winner": None} for line in path.open()])
    with pytest.raises(ConfigError, match=r"no battle has a winner; task.winner=COLUMN"):
        run_arena(tmp_path, "dataset=battles", f"dataset.file={path}", "metrics=[rouge_l]")


def test_a_pairwise_judge_uses_both_orders_and_is_replayed(tmp_path: Path) -> None:
    path = battles_file(tmp_path)
    data = ("dataset=battles", f"dataset.file={path}", "dataset.own_captions=keep")
    with LoopbackEndpoint(0) as endpoint:
        options = ("metric=[judge,rouge_l]", f"metric.judge.base_url={endpoint.url}",
                   "metric.judge.model=m", "metric.judge.prompt=pairwise",
                   "metric.judge.parser=number", "metric.judge.bounds=[0,100]")  # fmt: skip
        result = run_arena(tmp_path, *data, *options)
        # three distinct pairs of captions (all images have the same reference), in both orders
        assert endpoint.requests == 2 * 3
        replay = (f"metric.judge.replay={tmp_path / 'OUT' / ANSWERS}",
                  "metric.judge.mode=replay_or_fail")  # fmt: skip
        again = run_arena(
            tmp_path, *data, *options, *replay, f"paths.cache={tmp_path / 'other'}", out="AGAIN"
        )
        assert endpoint.requests == 2 * 3
        # its preferences replace people's
        judged = run_arena(
            tmp_path, *data, *options, "task.winner='Judge pairwise (m)'", out="JUDGED"
        )
    name = "Judge pairwise (m)"
    assert result.metric(name).numbers == again.metric(name).numbers
    assert result.metric(name).numbers["agreement"].n == 4
    # the battle that people did not judge, too
    facts = {"Winner by": name, "Battles": 5, "Votes": 6}
    assert {fact: judged.facts[fact] for fact in facts} == facts
    assert [m.name for m in judged.metrics] == ["ROUGE-L"]
    page = write_report(tmp_path / "OUT", figures=False).read_text(encoding="utf-8")
    for line in ("Same preference in both orders", "First caption preferred"):
        assert f'<th scope="row">{line}' in page
    page = write_report(tmp_path / "JUDGED", figures=False).read_text(encoding="utf-8")
    assert f"<dd>{name}</dd>" in page
