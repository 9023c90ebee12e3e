"""How often `experiment=trust` calls a skill "shown", by simulation: level and power of its rule.

    python -m research.trust_level

A test has n images; a metric and six equally good blind controls are right or wrong on each, with
correlated errors. The metric's skill differs between the k tests of a use with this standard
deviation, and its mean over them is exactly the true one. Prints a Markdown table: how often in %
the word is "shown", how often "below"; and the coverage of the interval against one control.
"""

from functools import cache

import numpy as np
from scipy.stats import norm

from metaeval.experiments.trust.findings import DeclaredTest
from metaeval.experiments.trust.verdicts import (
    Evidence,
    Rules,
    hardest_control,
    read_uses,
    skill,
    word,
)
from metaeval.results.files import Resampled
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.items import Floats

RULES: Rules = read_uses(None).rules
WORLDS, REPLICATES, CONTROLS, RIGHT = 300, 300, 6, 0.6  # RIGHT: how often a control is right
SHARED = 0.49  # of the variance of errors, that all columns have in common
Rng = np.random.Generator
NAMES = ["metric", *(f"control {k}" for k in range(CONTROLS))]


def world(rng: Rng, k: int, n: int, mean: float, spread: float) -> list[Evidence]:
    """The k tests of a use, of a metric with this mean of true skills."""
    deviation = rng.normal(0, spread, k)
    skills = np.clip(mean + deviation - deviation.mean(), -1.2, 1)
    skills += mean - skills.mean()
    tests = []
    for number, of_test in enumerate(skills):
        counts = drawn_counts(n, int(rng.integers(25)))
        right = np.r_[RIGHT + of_test * (1 - RIGHT), np.full(CONTROLS, RIGHT)]
        drawn = rng.normal(size=(n, 1)) * SHARED**0.5
        drawn = drawn + rng.normal(size=(n, len(NAMES))) * (1 - SHARED) ** 0.5
        outcomes = (drawn < norm.ppf(np.clip(right, 1e-6, 1 - 1e-6))).astype(np.float64)
        rows = {
            (name, ""): Resampled("", name, "", value, n, n, replicates)
            for name, value, replicates in zip(
                NAMES, outcomes.mean(axis=0), (counts @ outcomes / n).T, strict=True
            )
        }
        declared = DeclaredTest("", str(number), "", "", "", "images")
        tests.append(Evidence(declared, rows, {}, tuple(NAMES[1:])))
    return tests


@cache
def drawn_counts(n: int, seed: int) -> Floats:
    """[replicates, n]"""
    return bootstrap_counts(n, REPLICATES, seed).astype(np.float64)


def words_of(k: int, n: int, mean: float, spread: float) -> tuple[float, float, float]:
    """How often in % "shown", "below", and the interval against the first control holds `mean`."""
    words, held = [], 0
    for seed in range(WORLDS):
        tests = world(np.random.default_rng([k, n, seed]), k, n, mean, spread)
        _, hardest = hardest_control(tests, "metric", RULES.confidence)
        words.append(word(hardest, RULES))
        one = skill(tests, "metric", NAMES[1], RULES.confidence)
        held += (one.low or 0.0) <= mean <= (one.high or 0.0)
    shown, below = (100 * words.count(name) / WORLDS for name in ("shown", "below"))
    return shown, below, 100 * held / WORLDS


def main() -> None:
    print("| images a test | true skill | sd between tests | tests | shown | below | coverage |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for n in (100, 1000):
        for mean in (0.0, RULES.minimal_skill, 0.3):
            for spread in (0.0, 0.2, 0.4):
                for k in (1, 2, 3, 8):
                    if k > 1 or not spread:
                        found = " | ".join(f"{x:.1f}" for x in words_of(k, n, mean, spread))
                        print(f"| {n} | {mean} | {spread} | {k} | {found} |", flush=True)


if __name__ == "__main__":
    main()
