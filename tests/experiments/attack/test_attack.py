"""Attacks on metrics whose weakness is known, and the truth of what they find."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.corruption_audit.reader import judgement
from metaeval.config import compose_config
from metaeval.corruptions.base import Corrupted
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.experiments.attack.searches import attack, gather_material, swapped_dataset
from metaeval.experiments.attack.statistics import attack_statistics, best_false, usable
from metaeval.experiments.attack.task import Attack, _edits, refuse_replay
from metaeval.experiments.run import run_configured
from metaeval.metrics.adapters.function import FunctionMetric
from metaeval.metrics.base import Metric
from metaeval.metrics.controls.length import Length
from metaeval.metrics.controls.random_score import RandomScore
from metaeval.metrics.ngram.cider import Cider
from metaeval.results.files import read_result
from metaeval.runs.store import MemoryStore
from metaeval.search.beam import SearchLimits
from metaeval.search.target import Target

DATA = load_scenes(n=24)
LIMITS = SearchLimits(60, 3)


def exact_match(captions: list[str], references: list[list[str]]) -> list[float]:
    return [float(c in r) for c, r in zip(captions, references, strict=True)]


def attacked(metric: Metric, inflation: int = 6):
    store, material = MemoryStore(), gather_material(DATA, None, 0)
    target, swapped = Target(metric, DATA, store), Target(metric, swapped_dataset(DATA), store)
    found = attack(target, swapped, material, LIMITS, inflation)
    return material, found, attack_statistics(found, material, LIMITS, (0, 10, 60))


def test_length_gives_in_to_one_inserted_word_and_can_be_inflated_without_end() -> None:
    _, found, numbers = attacked(Length())
    assert numbers.final("unconstrained").value == 1.0
    # a false caption may be shorter than its source by a word: two insertions are enough for all
    assert numbers.by_edits[2].value.value == 1.0
    assert numbers.by_edits[1].value.value > 0.8
    words = [max(len(t.draft.words) for t in trace.trials) for trace in found.known]
    longest = [max(len(r.split()) for r in refs) * 5 for refs in DATA.references[:6]]
    assert all(n >= m for n, m in zip(words, longest, strict=True))
    assert numbers.inflation is not None
    assert numbers.inflation.known[-1].value.value > 10


def test_exact_match_never_prefers_a_false_caption() -> None:
    _, _, numbers = attacked(FunctionMetric(exact_match), 0)
    for points in numbers.success.values():
        assert all(point.value.value == 0 for point in points)


def test_a_random_score_gives_in_by_chance() -> None:
    _, _, numbers = attacked(RandomScore(), 0)
    unasked = numbers.success["unconstrained"][0].value
    assert unasked.low <= 0.5 <= unasked.high
    # the best of 10 draws exceeds one more draw with probability 10/11
    best_of_ten = numbers.success["unconstrained"][1].value
    assert best_of_ten.low <= 10 / 11 <= best_of_ten.high


def test_every_success_is_false_by_the_scene_graph() -> None:
    material, found, _ = attacked(Cider(), 0)
    graphs = DATA.part("scene_graphs")
    n = 0
    for i, trial in enumerate(best_false(found, material, LIMITS)):
        if i not in usable(found, material) or trial is None or trial.score <= found.human[i]:
            continue
        text = trial.draft.text
        result = Corrupted(text, True, _edits(DATA.human[i], text))
        assert judgement(graphs[DATA.image_ids[i]], DATA.human[i], result) == "false", text
        n += 1
    assert n >= 10


def test_a_run_gives_the_same_bytes_again_from_a_cache_that_is_there(tmp_path: Path) -> None:
    def run(name: str, cache: str) -> Path:
        config = compose_config(
            ["experiment=attack", "dataset.n=12", "task.images=12", "task.budgets=[0,10]",
             "task.inflation_images=2", "metrics=[cider,length]",
             f"paths.cache={tmp_path / cache}"]
        )  # fmt: skip
        run_configured(config, tmp_path / name)
        return tmp_path / name

    first, again, other = run("a", "c"), run("b", "c"), run("d", "e")
    for name in ("statistics.json", "captions.parquet", "scores.parquet"):
        assert (first / name).read_bytes() == (again / name).read_bytes()
        assert (first / name).read_bytes() == (other / name).read_bytes()
    result = read_result(first / "statistics.json")
    assert [m.name for m in result.metrics if m.ok] == ["CIDEr", "Length"]
    assert {(t.source, t.target) for t in result.transfer} == {
        (a, b) for a in ("CIDEr", "Length") for b in ("CIDEr", "Length")
    }
    own = [t.share for t in result.transfer if t.source == t.target and t.share.n]
    assert all(share.value == 1.0 for share in own)


def test_a_metric_computes_nothing_twice() -> None:
    store, index = MemoryStore(), np.arange(3)
    for calls in (3, 0):
        target = Target(Cider(), DATA, store)
        target.score(["a dog", "a cat", "a man"], index)
        assert target.calls == calls
        target.close()


class Recorded:
    replay, mode = "answers.parquet", None


def test_a_judge_that_replays_is_refused_with_the_reason() -> None:
    with pytest.raises(ConfigError, match=r"metric\.judge: .*recorded answers contain none"):
        refuse_replay("judge", Recorded())
    refuse_replay("cider", Cider())


@pytest.mark.parametrize("budgets", [[], [10, 0], [-1, 10], [0]])
def test_budgets_that_make_no_sense_are_refused(budgets: list[int]) -> None:
    with pytest.raises(ConfigError, match=r"task\.budgets"):
        Attack(budgets=budgets)
