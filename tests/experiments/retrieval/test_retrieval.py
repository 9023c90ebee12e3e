"""Retrieval: ranks against counting by hand, the matrix against single scores, the command."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaeval.config import build, compose_config
from metaeval.data.scenes import load_scenes
from metaeval.experiments.retrieval import task
from metaeval.experiments.retrieval.task import MEASURES, hits_at, ranks_of, score_every_pair
from metaeval.runs import files
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from tests.shared import run_here


def test_ranks_count_what_is_at_least_as_high() -> None:
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 6, (40, 40)).astype(np.float64)  # with many ties
    ranks, own = ranks_of(scores), scores.diagonal()
    others = {  # how many are at least as high, except the own one
        "image_to_text": (scores >= own).sum(axis=0) - 1,  # [caption, image]
        "text_to_image": (scores >= own[:, None]).sum(axis=1) - 1,
    }
    assert {way: getattr(ranks, way).tolist() for way in others} == {
        way: n.tolist() for way, n in others.items()
    }
    for measure, way, depth in MEASURES:
        hits = hits_at({"A": ranks}, way, depth, 40)["A"]
        assert hits.mean() == (others[way] < depth).mean(), measure


def test_what_has_no_score_leaves_with_its_counterpart() -> None:
    scores = np.array([[3.0, 1.0, np.nan], [2.0, 2.5, np.nan], [1.0, 1.0, np.nan]])
    ranks = ranks_of(scores)  # the third image has no score with any caption
    assert (ranks.items.tolist(), ranks.image_to_text.tolist()) == ([0, 1], [0, 0])
    scores[0, 1] = np.nan
    with pytest.raises(ValueError, match="no score"):
        ranks_of(scores)


@pytest.mark.parametrize("name", ["rouge_l", "cider", "faier"])
def test_the_matrix_holds_single_scores_and_comes_back_from_the_cache(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "BLOCK", 36)  # three captions a block
    dataset = load_scenes(n=12, cache=tmp_path)
    metric, store = build(name, compose_config([f"metrics=[{name}]"])), MemoryStore()
    outcome, scores = score_every_pair(metric, dataset, dataset.human, store)
    assert outcome.status == "ok", outcome.reason
    texts = [caption for caption in dataset.human for _ in range(12)]
    single = score_captions(metric, dataset, texts, np.tile(np.arange(12), 12), MemoryStore())
    np.testing.assert_array_equal(scores.reshape(len(outcome.columns), -1).T, single.scores)
    np.testing.assert_array_equal(outcome.scores[:, 0], np.diag(scores[0]))
    again, same = score_every_pair(metric, dataset, dataset.human, store)
    assert (outcome.n_scored, again.n_scored, again.n_cached) == (144, 0, 144)
    np.testing.assert_array_equal(same, scores)


def test_a_run_writes_ranks_recalls_and_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run_here(
        tmp_path, "experiment=retrieval", "dataset=scenes", "dataset.limit=30",
        "metrics=[rouge_l,length]", "stats.replicates=50",
    )  # fmt: skip
    table = pd.read_parquet(tmp_path / "OUT" / files.SCORES)
    ranks = table.loc[table["metric"] == "ROUGE-L", "rank_of_caption"]
    recalls = {f"image_to_text_R{k}": (ranks <= k).mean() for k in (1, 5, 10)}
    numbers = result.metric("ROUGE-L").numbers
    assert {key: numbers.value(key) for key in recalls} == pytest.approx(recalls)
    # a length is the same with every image: all ties, so never found among the first
    assert result.metric("Length").numbers["text_to_image_R1"].value == 0
    assert "R@10" in capsys.readouterr().out
    html = (tmp_path / "OUT" / files.REPORT).read_text(encoding="utf-8")
    assert ("ROUGE-L: " in html, "No metric has a value." in html) == (True, False)
    rows = pd.read_csv(tmp_path / "OUT" / files.TABLES / "measures.csv")
    assert rows["Metric"].tolist() == ["ROUGE-L", "Length"]
