"""Attacks on metrics whose weakness is known, and the truth of what they find."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from omegaconf import OmegaConf

from metaeval.config import compose_config
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.experiments.attack.searches import (
    attack,
    attack_control,
    exact_match as exact_match_score,
    gather_material,
    swapped_dataset,
)
from metaeval.experiments.attack.statistics import attack_statistics, fooled_key
from metaeval.experiments.attack.task import Attack, refuse_replay, usable_fluency
from metaeval.experiments.run import run_configured
from metaeval.metrics.adapters.function import FunctionMetric
from metaeval.metrics.base import Metric
from metaeval.metrics.controls import Length, RandomScore
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from metaeval.results.files import read_info, read_result
from metaeval.results.measured import MeasuredResult
from metaeval.runs.store import MemoryStore
from metaeval.search.beam import SearchLimits
from metaeval.search.pool import SIZE, chance_of_choice
from metaeval.search.target import Fluency, Target
from tests.forked import run_command
from tests.loopback import LoopbackEndpoint

DATA = load_scenes(n=24)
FALSE = Path(__file__).with_name("false_captions.txt")
LIMITS = SearchLimits(60, 3)
STATS = OmegaConf.create({"replicates": 200, "seed": 0, "confidence": 0.95})


def exact_match(captions: list[str], references: list[list[str]]) -> list[float]:
    return [float(c in r) for c, r in zip(captions, references, strict=True)]


def attacked(metric: Metric, inflation: int = 6):
    store, material = MemoryStore(), gather_material(DATA, None, 0)
    target, swapped = Target(metric, DATA, store), Target(metric, swapped_dataset(DATA), store)
    found = attack(target, swapped, material, LIMITS, inflation)
    return material, found, attack_statistics(found, material, LIMITS, (0, 10, 60), STATS)


def test_length_gives_in_to_one_inserted_word_and_can_be_inflated_without_end() -> None:
    _, found, numbers = attacked(Length())
    by_edits = numbers.curves["words"][""]
    # a false caption may be shorter than its source by a word: two insertions are enough for all
    assert (numbers.values["fooled_unconstrained"].value, by_edits[2].value) == (1, 1)
    assert by_edits[1].value > 0.8
    words = [max(len(t.draft.words) for t in trace.trials) for trace in found.known]
    longest = [max(len(r.split()) for r in refs) * 5 for refs in DATA.references[:6]]
    assert all(n >= m for n, m in zip(words, longest, strict=True))
    assert numbers.values["inflation"].value > 10


def test_exact_match_never_prefers_a_false_caption() -> None:
    _, _, numbers = attacked(FunctionMetric(exact_match), 0)
    curves = numbers.curves["calls"].values()
    assert {estimate.value for curve in curves for estimate in curve.values()} == {0}
    assert set(numbers.resisted) == {0.5}  # neither is a reference: both captions have 0


def test_the_controls_of_a_result_have_their_known_values() -> None:
    material = gather_material(DATA, None, 0)
    target = Target(RandomScore(), DATA, MemoryStore())
    n = len(DATA)
    fooled = {
        "exact match": attack_control(exact_match_score(DATA), material, LIMITS),
        "random": attack_control(target.score, material, LIMITS),
        "length": attack_control(lambda texts, _: np.array([len(t.split()) for t in texts], float),
                                 material, LIMITS),
    }  # fmt: skip
    fixed = {name: fooled[name] for name in ("exact match", "length")}
    assert fixed == {"exact match": [False] * n, "length": [True] * n}
    # 60 draws against one: fooled with probability 60/61
    assert n - 3 <= sum(fooled["random"]) <= len(fooled["random"]) == n
    scores = exact_match_score(DATA)([DATA.references[0][0].upper(), "a dog"], np.array([0, 0]))
    assert scores.tolist() == [1.0, 0.0]


def test_a_language_model_that_learned_from_every_image_is_not_used() -> None:
    fluency = Fluency(DATA, MemoryStore())
    assert usable_fluency(lambda: fluency) == (fluency, None)
    fluency.seen = np.arange(len(DATA)) > 0
    assert usable_fluency(lambda: fluency)[0] is fluency  # one image is new to it
    fluency.seen = np.ones(len(DATA), dtype=bool)
    assert usable_fluency(lambda: fluency) == (
        None, "the language model has learned from all of these images"
    )  # fmt: skip

    def absent() -> Fluency:
        raise ValueError("no weights")

    assert usable_fluency(absent) == (None, "no weights")


def test_a_random_score_gives_in_by_chance() -> None:
    _, _, numbers = attacked(RandomScore(), 0)
    curve = numbers.curves["calls"]["images fooled, unconstrained"]
    unasked, best_of_ten = curve[0], curve[10]
    assert unasked.low <= 0.5 <= unasked.high
    # the best of 10 draws exceeds one more draw with probability 10/11
    assert best_of_ten.low <= 10 / 11 <= best_of_ten.high


def key_of(source: str, made: str) -> str:
    """What a verdict is about: both texts."""
    return hashlib.sha256(f"{source}\0{made}".encode()).hexdigest()[:16]


@pytest.mark.parametrize("metric", [Cider(), RougeL(), Length(), RandomScore()])
def test_every_counted_success_is_false_by_the_scene_graph(metric: Metric) -> None:
    """By the verdicts of a reader that shared no code with the search: `false_captions.txt` has
    the digests of the pairs of captions, source and found, that it judged to be false."""
    _, found, numbers = attacked(metric, 0)
    false = set(FALSE.read_text(encoding="utf-8").split())

    def is_false(text: str, sources: Sequence[str]) -> bool:
        return any(key_of(source, text) in false for source in sources)

    for goal, sources in (
        ("unconstrained", [(human,) for human in DATA.human]),
        ("references copied", DATA.references),
    ):
        n = 0
        for i, trace in enumerate(found.false[goal]):
            won = [t.draft.text for t in trace.trials if t.score > found.human[i]]
            n += bool(won)
            assert [text for text in won if not is_false(text, sources[i])] == []
        estimate = numbers.values[fooled_key(goal)]
        assert n == round(estimate.value * estimate.n)
        assert n >= 10


@pytest.mark.slow
def test_a_run_gives_the_same_bytes_again_from_a_cache_that_is_there(tmp_path: Path) -> None:
    def run(name: str, cache: str) -> Path:
        config = compose_config(
            ["experiment=attack", "dataset.n=12", "task.images=12", "task.budgets=[0,10]",
             "task.inflation_images=2", "metrics=[cider,length]", "report=none",
             f"paths.cache={tmp_path / cache}"]
        )  # fmt: skip
        run_configured(config, tmp_path / name)
        return tmp_path / name

    first, again = run("a", "c"), run("b", "c")
    for name in ("statistics.json", "captions.parquet", "scores.parquet", "replicates.parquet"):
        assert (first / name).read_bytes() == (again / name).read_bytes()
    result = read_result(first / "statistics.json")
    assert [m.name for m in result.metrics if m.ok] == ["CIDEr", "Length"]
    shares = {(t["source"], t["target"]): t for t in result.extra("transfer_intervals").records}
    assert set(shares) == {(a, b) for a in ("CIDEr", "Length") for b in ("CIDEr", "Length")}
    own = [t["share"] for (a, b), t in shares.items() if a == b and t["n"]]
    assert all(share == 1.0 for share in own)
    cider = result.metric("CIDEr").numbers
    tied = 1 - cider["fooled_fluent"].value - cider["resists"].value  # half of the equal scores
    assert 0 <= tied <= (1 - cider["fooled_fluent"].value) / 2
    against = result.controls["resists"]
    assert (against.control, [c.a for c in against.comparisons]) == ("Length", ["CIDEr"])


COMMAND = (
    "experiment=attack", "dataset.n=12", "task.images=6", "task.budgets=[0,10,20]",
    "task.inflation_images=2", "task.pool_images=2", "report=none",
    "metrics=[cider,rouge_l,length]", "task.pairs=1",
)  # fmt: skip


@pytest.mark.slow
def test_a_killed_run_continues_with_the_same_bytes(tmp_path: Path) -> None:
    def command(folder: str) -> list[str]:
        return [sys.executable, "-m", "metaeval", *COMMAND, f"paths.cache={tmp_path / folder}",
                f"hydra.run.dir={tmp_path / folder / 'OUT'}"]  # fmt: skip

    done = run_command("metaeval", *command("whole")[3:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    process = subprocess.Popen(
        command("killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    cache = tmp_path / "killed" / "content.sqlite"
    while not _searched(cache):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert not (tmp_path / "killed" / "OUT" / "statistics.json").exists()
    done = run_command("metaeval", *command("killed")[3:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("statistics.json", "captions.parquet", "scores.parquet"):
        whole, killed = (tmp_path / folder / "OUT" / name for folder in ("whole", "killed"))
        assert whole.read_bytes() == killed.read_bytes(), name
    runs = [read_info(tmp_path / f / "OUT" / "run.json") for f in ("whole", "killed")]
    first, resumed = (sum(m.n_scored for m in run.metrics) for run in runs)
    assert resumed < first  # what was scored before the kill is not scored again


def _searched(cache: Path) -> bool:
    """Whether the cache holds scores of the search against ROUGE-L, the second metric."""
    if not cache.is_file():
        return False
    with contextlib.closing(sqlite3.connect(f"file:{cache}?mode=ro", uri=True)) as db:
        try:
            query = "SELECT count(*) FROM namespace WHERE name LIKE 'search:%rouge-l%'"
            return bool(db.execute(query).fetchone()[0])
        except sqlite3.OperationalError:
            return False  # being made


def judged(tmp_path: Path, url: str, calls: int) -> MeasuredResult:
    config = compose_config(
        ["experiment=attack", "dataset.n=4", "task.images=4", "task.budgets=[0,5]", "task.edits=1",
         "task.inflation_images=0", "task.pool_images=0", "report=none", "metric=[judge,cider]",
         "metrics=[cider,judge]", f"metric.judge.base_url={url}", "metric.judge.model=m",
         "+metric.judge.budget.calls=" + str(calls), f"paths.cache={tmp_path / 'cache'}"]
    )  # fmt: skip
    run_configured(config, tmp_path / "OUT")
    return read_result(tmp_path / "OUT" / "statistics.json")


@pytest.mark.slow
def test_a_judge_at_an_endpoint_is_attacked_within_its_budget(tmp_path: Path) -> None:
    with LoopbackEndpoint(0.0) as endpoint:
        result = judged(tmp_path / "enough", endpoint.url, 2000)
        assert [m.status for m in result.metrics] == ["ok", "ok"]
        judge = result.metrics[0].numbers
        assert judge.facts["n_images"] == 4
        # no caption is paid for twice: searches, generic captions, human captions in two roles
        assert 0 < endpoint.requests <= judge.facts["n_calls"] + 4 * (30 + 2 + len(result.metrics))
        endpoint.requests = 0
        result = judged(tmp_path / "little", endpoint.url, 20)
        assert endpoint.requests <= 20
        assert [m.status for m in result.metrics] == ["failed", "ok"]
        assert "budget.calls=20 is reached" in str(result.metrics[0].reason)


def test_a_metric_computes_nothing_twice() -> None:
    store, index = MemoryStore(), np.arange(3)
    for calls in (3, 0):
        target = Target(Cider(), DATA, store)
        target.score(["a dog", "a cat", "a man"], index)
        assert target.calls == calls
        target.close()


def test_a_judge_that_replays_is_refused_with_the_reason() -> None:
    recorded = SimpleNamespace(replay="answers.parquet", mode=None)
    with pytest.raises(ConfigError, match=r"metric\.judge: .*recorded answers contain none"):
        refuse_replay("judge", recorded)
    refuse_replay("cider", Cider())


def test_captions_of_systems_join_the_pools(tmp_path: Path) -> None:
    """A file that covers all images serves a run on the first ones."""
    file = tmp_path / "system.json"
    captions = [{"image_id": i, "caption": f"caption number {i}"} for i in DATA.image_ids]
    file.write_text(json.dumps(captions))
    task = Attack(images=3)
    data = task.load(compose_config(["experiment=attack", "dataset.n=24", f"captions={file}"]))
    material = gather_material(data, None, 0, 3, task._systems)
    assert len(material.pool.index) == 3
    for i, texts, true in zip(
        material.pool.index, material.pool.captions, material.pool.true, strict=True
    ):
        false = [texts.index(d.text) for d in material.false[i] if d.text in texts]
        assert (len(set(texts)), texts[0], true[0]) == (SIZE, data.human[i], True)
        assert true[texts.index(f"caption number {data.image_ids[i]}")]
        assert not true[false].any()


@pytest.mark.parametrize("n", [1, 3, 5])
def test_the_chance_of_a_choice_is_that_of_all_draws(n: int) -> None:
    """By enumeration of all sets of n captions; of equal scores each is chosen equally often."""
    scores = np.array([0.5, 0.1, 0.5, np.nan, 0.9, 0.1])
    expected, order = np.zeros(6), np.nan_to_num(scores, nan=-1.0)
    draws = list(combinations(range(6), n))
    for draw in draws:
        best = [k for k in draw if order[k] == max(order[list(draw)])]
        expected[best] += 1 / len(best) / len(draws)
    assert chance_of_choice(scores, n) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("budgets", [[], [10, 0], [-1, 10], [0]])
def test_budgets_that_make_no_sense_are_refused(budgets: list[int]) -> None:
    with pytest.raises(ConfigError, match=r"task\.budgets"):
        Attack(budgets=budgets)
