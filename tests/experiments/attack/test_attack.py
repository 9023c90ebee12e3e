"""Attacks on metrics whose weakness is known, and the truth of what they find."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

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
from metaeval.metrics.adapters.function import FunctionMetric
from metaeval.metrics.base import Metric
from metaeval.metrics.controls import Length, RandomScore
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from metaeval.runs.store import MemoryStore
from metaeval.search.beam import SearchLimits
from metaeval.search.target import Fluency, Target
from tests.loopback import LoopbackEndpoint
from tests.shared import run_here

DATA = load_scenes(n=24)
FALSE = Path(__file__).with_name("false_captions.txt")
LIMITS = SearchLimits(60, 3)


def exact_match(captions: list[str], references: list[list[str]]) -> list[float]:
    return [float(c in r) for c, r in zip(captions, references, strict=True)]


def attacked(metric: Metric):
    store, material = MemoryStore(), gather_material(DATA, None, 0)
    target, swapped = Target(metric, DATA, store), Target(metric, swapped_dataset(DATA), store)
    found = attack(target, swapped, material, LIMITS)
    return found, attack_statistics(found, material, LIMITS, (0, 10, 60))


def test_length_gives_in_to_one_inserted_word() -> None:
    _, numbers = attacked(Length())
    by_edits, values = numbers.curves["words"][""], numbers.values
    # a false caption may be shorter than its source by a word: two insertions are enough for all
    assert (values["fooled_unconstrained"].value, by_edits[2].value) == (1, 1)
    assert by_edits[1].value > 0.8


def test_exact_match_never_prefers_a_false_caption() -> None:
    numbers = attacked(FunctionMetric(exact_match))[1]
    values = {e.value for curve in numbers.curves["calls"].values() for e in curve.values()}
    # neither is a reference: both captions have 0
    assert (values, set(numbers.resisted)) == ({0}, {0.5})


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
    # 60 draws against one: fooled with probability 60/61
    assert n - 3 <= sum(fooled["random"]) <= len(fooled.pop("random")) == n
    assert fooled == {"exact match": [False] * n, "length": [True] * n}
    scores = exact_match_score(DATA)([DATA.references[0][0].upper(), "a dog"], np.array([0, 0]))
    assert scores.tolist() == [1.0, 0.0]


def test_a_language_model_that_learned_from_every_image_is_not_used() -> None:
    fluency = Fluency(DATA, MemoryStore())
    refusal = (None, "the language model has learned from all of these images")
    for seen, usable in (
        (fluency.seen, (fluency, None)),
        (np.arange(len(DATA)) > 0, (fluency, None)),  # one image is new to it
        (np.ones(len(DATA), dtype=bool), refusal),
    ):
        fluency.seen = seen
        assert usable_fluency(lambda: fluency) == usable

    def absent() -> Fluency:
        raise ValueError("no weights")

    assert usable_fluency(absent) == (None, "no weights")


def test_a_random_score_gives_in_by_chance() -> None:
    curve = attacked(RandomScore())[1].curves["calls"]["images fooled, unconstrained"]
    # the best of 10 draws exceeds one more draw with probability 10/11
    for calls, chance in ((0, 0.5), (10, 10 / 11)):
        assert curve[calls].low <= chance <= curve[calls].high


@pytest.mark.parametrize("metric", [Cider(), RougeL(), Length(), RandomScore()])
def test_every_counted_success_is_false_by_the_scene_graph(metric: Metric) -> None:
    """By the verdicts of a reader that shared no code with the search: `false_captions.txt` has
    the digests of the pairs of captions, source and found, that it judged to be false."""
    found, numbers = attacked(metric)
    false = set(FALSE.read_text(encoding="utf-8").split())
    for goal, sources in (
        ("unconstrained", [(human,) for human in DATA.human]),
        ("references copied", DATA.references),
    ):
        won = [
            [t.draft.text for t in trace.trials if t.score > found.human[i]]
            for i, trace in enumerate(found.false[goal])
        ]
        for texts, of_image in zip(won, sources, strict=True):
            for text in texts:
                pairs = (f"{source}\0{text}".encode() for source in of_image)
                assert false & {sha256(pair).hexdigest()[:16] for pair in pairs}, text
        estimate = numbers.values[fooled_key(goal)]
        assert 10 <= sum(map(bool, won)) == round(estimate.value * estimate.n)


@pytest.mark.slow
def test_a_run_gives_the_same_bytes_again_from_a_cache_that_is_there(tmp_path: Path) -> None:
    given = (
        "experiment=attack", "dataset.n=12", "task.images=12", "task.budgets=[0,10]",
        "metrics=[cider,length]", "report=none",
    )  # fmt: skip
    result, _ = (run_here(tmp_path, *given, out=out) for out in "ab")
    for name in ("statistics.json", "captions.parquet", "scores.parquet", "replicates.parquet"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    assert [m.name for m in result.metrics if m.ok] == ["CIDEr", "Length"]
    shares = result.extra("transfer").frame().set_index("metric")
    assert set(shares) == set(shares.index) == {"CIDEr", "Length"}
    assert {shares.loc[name, name] for name in shares} <= {1.0, None}
    cider = result.metric("CIDEr").numbers
    tied = 1 - cider["fooled_fluent"].value - cider["resists"].value  # half of the equal scores
    assert 0 <= tied <= (1 - cider["fooled_fluent"].value) / 2
    against = result.controls["resists"]
    assert (against.control, [c.a for c in against.comparisons]) == ("Length", ["CIDEr"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("calls", "status", "reason"),
    [(2000, "ok", "None"), (20, "failed", "budget.calls=20 is reached")],
)
def test_a_judge_at_an_endpoint_is_attacked_within_its_budget(
    calls: int, status: str, reason: str, tmp_path: Path
) -> None:
    with LoopbackEndpoint(0.0) as endpoint:
        result = run_here(
            tmp_path, "experiment=attack", "dataset.n=4", "task.images=4", "task.budgets=[0,5]",
            "task.edits=1", "report=none",
            "metric=[judge,cider]", "metrics=[cider,judge]",
            f"metric.judge.base_url={endpoint.url}", "metric.judge.model=m",
            f"+metric.judge.budget.calls={calls}",
        )  # fmt: skip
    judge, cider = result.metrics
    assert (judge.status, cider.status, reason in str(judge.reason)) == (status, "ok", True)
    # no caption is paid for twice: searches, human captions in two roles
    facts = judge.numbers.facts if judge.ok else {"n_images": 4, "n_calls": calls}
    most = min(calls, facts["n_calls"] + 4 * (2 + 2))
    assert (facts["n_images"], 0 < endpoint.requests <= most) == (4, True)


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


@pytest.mark.parametrize("budgets", [[], [10, 0], [-1, 10], [0]])
def test_budgets_that_make_no_sense_are_refused(budgets: list[int]) -> None:
    with pytest.raises(ConfigError, match=r"task\.budgets"):
        Attack(budgets=budgets)
