"""Battles: agreement by hand, rankings, PASCAL-50S and AudioCaps-Eval as battles, judges."""

import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from metaeval.errors import ConfigError
from metaeval.reports.measured import write_report
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files
from metaeval.runs.answers import ANSWERS
from tests.data.judgments.test_battles import caparena
from tests.data.judgments.test_judgments import pascal50s
from tests.experiments.judgments.test_judgments import run_any
from tests.loopback import LoopbackEndpoint
from tests.shared import write_lines

SMALL = ("stats.replicates=200", "report=none")


def run_arena(folder: Path, *overrides: str, out: str = "OUT") -> MeasuredResult:
    return run_any(folder, *SMALL, *overrides, experiment="arena", out=out)


def run_on_battles(folder: Path, lines: str) -> MeasuredResult:
    """The result of one cheap metric on these lines of a file of battles."""
    (folder / "b.csv").write_text(lines)
    return run_arena(
        folder, "dataset=battles", f"dataset.file={folder / 'b.csv'}",
        "dataset.image_source=other", "metrics=[length]",
    )  # fmt: skip


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


def test_agreement_by_hand(tmp_path: Path) -> None:
    path = battles_file(tmp_path)
    options = ("dataset=battles", f"dataset.file={path}", "dataset.own_captions=keep",
               "metrics=[rouge_l,length]")  # fmt: skip
    result = run_arena(tmp_path, *options)
    numbers = result.metric("ROUGE-L").numbers
    # the first two rows are two votes on one pair
    facts = {"Battles": 4, "Votes": 5, "Without a winner": 1}
    assert {name: result.facts[name] for name in facts} == facts
    # captions within one word: all except the longest
    expected = {"agreement": (3 / 5, 4), "decided": (2.5 / 4, 3), "ties": (1 / 5, None),
                "equal_length": (2 / 4, None)}  # fmt: skip
    for name, (value, n) in expected.items():
        assert numbers.value(name) == pytest.approx(value), name
        assert n in (None, numbers[name].n)
    wrong = run_arena(tmp_path, *options, "dataset.ties=wrong", out="WRONG")
    assert wrong.metric("ROUGE-L").numbers.value("agreement") == pytest.approx(2 / 5)
    drop = run_arena(tmp_path, *options, "dataset.ties=drop", out="DROP").metric("ROUGE-L").numbers
    assert (drop.value("agreement"), drop["agreement"].n) == (pytest.approx(2.5 / 4), 3)
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
    assert systems["system"].tolist() == ["p", "q", "r", "s"]
    assert systems["rank"].tolist() == [1, 2, 3, 4]
    assert systems["won"].sum() == systems["lost"].sum() == 300
    # the strengths are those of a logistic regression by scipy
    table = pd.read_csv(path)
    design = np.stack([
        (table["first_system"] == s).to_numpy(float) - (table["second_system"] == s).to_numpy(float)
        for s in "pqrs"
    ], axis=1)  # fmt: skip
    y = (table["winner"] == "A").to_numpy(float)

    from scipy import optimize

    def loss(beta: np.ndarray) -> float:
        d = design @ beta
        return float((np.logaddexp(0, d) - y * d).sum() + 1e-4 * (beta @ beta) / 2)

    expected = optimize.minimize(loss, np.zeros(4), method="BFGS", tol=1e-10).x
    strengths = systems["strength"].tolist()
    assert strengths == pytest.approx(expected - expected.mean(), abs=1e-4)
    length, brevity = (result.metric(name).numbers for name in ("Length", "Brevity"))
    own = result.extra("strengths").frame().pivot(index="metric", columns="system")["strength"]
    of_length = own.loc["Length", list("pqrs")].tolist()
    rho = length.value("systems_spearman")
    assert rho == pytest.approx(stats.spearmanr(of_length, strengths).statistic)
    assert (rho, sum(of_length)) == (1, pytest.approx(0, abs=1e-9))
    keys = ("systems_spearman", "systems_kendall_tau_b", "systems_accuracy")
    assert [brevity.value(key) for key in keys] == [-1, -1, 0]
    page = write_report(tmp_path / "OUT").read_text(encoding="utf-8")
    assert [part for part in ("Systems by the winners", "Systems ρ") if part not in page] == []
    csv = (tmp_path / "OUT" / files.TABLES / "systems.csv").read_text(encoding="utf-8")
    assert [line[0] for line in csv.splitlines()] == ["S", "p", "q", "r", "s"]


def test_battles_that_do_not_connect_systems_have_no_ranking(tmp_path: Path) -> None:
    result = run_on_battles(
        tmp_path,
        "image_id,first,second,winner,first_system,second_system\n"
        "1,a dog,the cat sat,first,p,q\n2,a dog,the cat sat,first,r,s\n",
    )
    assert "no battle connects" in result.notes[-1]
    assert "systems_spearman" not in result.metric("Length").numbers.values


def test_a_metric_whose_gaps_are_all_alike_has_no_unit_for_them(tmp_path: Path) -> None:
    """Examples are shown with a dash for their size; before, numpy warned of a division by 0."""
    records = [
        {"image_id": side, "first": "a dog runs", "second": "some cat", "winner": side,
         "first_system": "a", "second_system": "b", "references": ["a dog runs"]}
        for side in ("first", "second")
    ]  # fmt: skip
    path = write_lines(tmp_path / "battles.jsonl", records)
    options = ("dataset=battles", f"dataset.file={path}", "dataset.own_captions=keep")
    run_arena(tmp_path, *options, "metrics=[rouge_l]")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = write_report(tmp_path / "OUT").read_text(encoding="utf-8")
    assert "some cat" in page


@pytest.mark.parametrize(
    ("lines", "agreement", "raters"),
    [
        # the same battle written in both orders is one battle: 1, 1 and 0 make 1/3 agreement
        ("1,a dog,a cat,first,ann\n1,a dog,a cat,first,bob\n1,a cat,a dog,first,eve\n"
         "2,a dog,a cat,tie,ann\n2,a dog,a cat,first,bob\n", ((1 + 0 + 0 + 0.5) / 4, 4), 3),
        # Ann says first and tie (mean .75), Bob second: agreement 1 − .75, of one pair
        ("1,a dog,a cat,first,ann\n1,a cat,a dog,tie,ann\n1,a dog,a cat,second,bob\n"
         "2,a dog,a cat,first,ann\n2,a dog,a cat,first,ann\n", (0.25, 1), 2),
    ],
)  # fmt: skip
def test_raters_of_one_battle(
    lines: str, agreement: tuple[float, int], raters: int, tmp_path: Path
) -> None:
    result = run_on_battles(tmp_path, "image_id,first,second,winner,rater\n" + lines)
    people = result.people["agreement"]
    assert (people.value, people.n) == (pytest.approx(agreement[0]), agreement[1])
    assert result.facts["Raters"] == raters
    assert "the systems of the battles are not known" in result.notes[-1]


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


def test_a_category_called_all_battles_is_one_of_the_categories(tmp_path: Path) -> None:
    result = run_on_battles(
        tmp_path,
        "image_id,first,second,winner,category\n"
        + "".join(
            f"{k},a dog runs,a cat,{'first' if k % 2 else 'second'},"
            f"{'all battles' if k % 2 else 'other'}\n"
            for k in range(8)
        ),
    )
    numbers = result.metric("Length").numbers.values
    assert {key: (e.value, e.n) for key, e in numbers.items() if key.startswith("agreement")} == {
        "agreement": (0.5, 8), "agreement_other": (0.0, 4),
        "agreement_all battles (category)": (1.0, 4),
    }  # fmt: skip


def test_one_battle_has_no_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run_on_battles(
        tmp_path,
        "image_id,first,second,winner,first_system,second_system\n1,a dog runs,a cat,first,p,q\n",
    )
    systems = result.extra("systems").records
    assert [(s["strength_low"], s["rank"]) for s in systems] == [(None, 1), (None, 1)]
    assert result.metric("Length").numbers["agreement"].interval is None
    assert "too few images (1 < 10)" in capsys.readouterr().out


def test_the_layout_of_caparena_in_a_run(tmp_path: Path) -> None:
    path = caparena(tmp_path)
    result = run_arena(
        tmp_path, "dataset=caparena", f"dataset.file={path}", "metrics=[rouge_l,length]"
    )
    assert result.title == "CapArena"
    assert {"agreement", "agreement_level 1", "agreement_level 2"} <= {
        m.key for m in result.declared
    }
    assert result.facts["Systems"] == 4


needs_data = pytest.mark.skipif("METAEVAL_DATA" not in os.environ, reason="needs METAEVAL_DATA")


@needs_data
def test_audiocaps_eval_as_battles_has_the_published_values(tmp_path: Path) -> None:
    """The micro average of FENSE: CIDEr 71.0, ROUGE-L 64.9; length 74.4 on HC."""
    result = run_arena(tmp_path, "dataset=audiocaps_eval", "metrics=[cider,rouge_l,length]")
    values = {m.name: m.numbers for m in result.metrics}
    of = (("CIDEr", "agreement"), ("ROUGE-L", "agreement"), ("Length", "agreement_HC"))
    assert [round(100 * values[m].value(key), 1) for m, key in of] == [71.0, 64.9, 74.4]


def test_pascal50s_as_battles_agrees_with_forced_choice(tmp_path: Path) -> None:
    pascal50s(tmp_path, "cells")
    options = ("dataset=pascal50s", f"dataset.root={tmp_path}", "dataset.labels=direct",
               "dataset.draws=2", "metrics=[rouge_l,length]")  # fmt: skip
    result = run_arena(tmp_path, *options)
    forced = run_any(tmp_path, *SMALL, *options, experiment="forced_choice", out="FORCED")
    for name in ("ROUGE-L", "Length"):
        for category in ("HC", "MM"):
            accuracy = forced.metric(name).numbers[f"agreement_5_{category}"]
            mine = result.metric(name).numbers[f"agreement_{category}"]
            assert mine.value == pytest.approx(accuracy.value, abs=1e-12)


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
    page = write_report(tmp_path / "OUT").read_text(encoding="utf-8")
    for line in ("Same preference in both orders", "First caption preferred"):
        assert f'<th scope="row">{line}' in page
    page = write_report(tmp_path / "JUDGED").read_text(encoding="utf-8")
    assert f"<dd>{name}</dd>" in page
